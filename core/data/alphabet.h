/* Alphabets: the symbols of sequences whose positions are one-hot vectors, with their letters, colours and unit.
 *
 * The server sends an alphabet to clients as data (alphabet_write), so a client can show sequences of any alphabet.
 * To add an alphabet, add a constant. */
#ifndef MOTIF_CORE_DATA_ALPHABET_H
#define MOTIF_CORE_DATA_ALPHABET_H

#include <stddef.h>

#include "core/base/sink.h"
#include "core/draw/hue.h"

struct alphabet {
    const char *name;     /* "DNA" */
    const char *symbols;  /* one letter for each channel, in the order of the channels */
    const enum hue *hues; /* [symbols] the colour of each letter */
    char unknown;         /* letter for a position without a known symbol */
    const char *unit;     /* unit of positions: "nt" */
    int strands;          /* number of strands on which a motif can be: 1 or 2 */
};

/* Writes the alphabet as the member `key` of an open object: name, symbols and colours as lists, unknown, unit. If
 * `alphabet` is NULL, the member is null. */
void alphabet_write(const struct alphabet *alphabet, const char *key, const struct sink *out);

/* Writes the letters of a sequence, up to the last known one, and a NUL. planes: [symbols][length]; a position is known
 * if one of its values is 1 and the others are 0. text: room for length + 1 bytes. Returns the number of letters. */
size_t alphabet_spell(const struct alphabet *alphabet, const float *planes, size_t length, char *text);

#endif
