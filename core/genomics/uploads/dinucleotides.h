/* Shuffles a sequence and keeps the number of each pair of neighbouring bases. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_DINUCLEOTIDES_H
#define MOTIF_CORE_GENOMICS_UPLOADS_DINUCLEOTIDES_H

#include <stdint.h>

#include "core/base/random/philox.h"

/* Writes a random sequence with the same counts of all pairs of neighbours as base[count], and with the same first and
 * last base. Every such sequence has the same probability (the shuffle of Altschul and Erickson 1985, which draws a
 * random tree; Wilson's algorithm draws the tree). base: values in [0, 5), 4 for an unknown base, which is a letter of
 * its own. The random numbers are those of the stream `from`, from index *at on. */
void dinucleotides_shuffle(const uint8_t *base, int64_t count, const struct philox *from, uint64_t *at, uint8_t *out);

#endif
