/* The alphabets of nucleic acids, and the other strand of a sequence. */
#ifndef MOTIF_CORE_GENOMICS_LETTERS_H
#define MOTIF_CORE_GENOMICS_LETTERS_H

#include <stdint.h>

#include "core/data/alphabet.h"

extern const struct alphabet alphabet_dna, alphabet_rna;

/* Replaces columns [from, to) of one-hot bases in the order A, C, G, T, [4][cols], by their reverse complement. */
void letters_turn(float *planes, int cols, int64_t from, int64_t to);

#endif
