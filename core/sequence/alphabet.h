/* Alphabets: the symbols of sequences whose positions are one-hot vectors, with what a client needs to show them.
 *
 * Clients and the page receive an alphabet as data (alphabet_write), so they show sequences of any alphabet alike. A
 * new alphabet is one more constant. */
#ifndef MOTIF_CORE_SEQUENCE_ALPHABET_H
#define MOTIF_CORE_SEQUENCE_ALPHABET_H

#include <stddef.h>

#include "core/base/sink.h"
#include "core/draw/hue.h"

struct alphabet {
    const char *name;     /* "DNA" */
    const char *symbols;  /* one letter for each channel, in the order of the channels */
    const enum hue *hues; /* [symbols] the colour of each letter */
    char unknown;         /* letter of a position that has none of the symbols */
    const char *unit;     /* unit of positions: "nt" */
    int strands;          /* number of strands on which a motif can be: 1 or 2 */
};

extern const struct alphabet alphabet_dna, alphabet_rna;

/* Writes the member `key`: name, symbols and colours as lists, unknown, unit. alphabet NULL: null. */
void alphabet_write(const struct alphabet *alphabet, const char *key, const struct sink *out);

/* Writes the letters of a sequence, up to the last known one, and a NUL. planes: [symbols][length]; a position is known
 * if one of its values is 1 and the others are 0. text: room for length + 1 bytes. Returns the number of letters. */
size_t alphabet_spell(const struct alphabet *alphabet, const float *planes, size_t length, char *text);

#endif
