/* The first samples of a collection as text: the letters of sequences, the values of tables. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_FIRST_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_FIRST_H

#include "core/base/sink.h"
#include "core/data/uploads/collection.h"
#include "core/data/alphabet.h"

/* Returns the alphabet of a collection of sequences of symbols, or of motifs; NULL: the collection has other
 * samples. Any thread. */
const struct alphabet *collection_alphabet(const struct collection *c);

/* Writes the letters of the first `most` positions of a sample, and a NUL. The letters of a motif are its consensus:
 * lower-case letters stand for symbols with at most half of the counts. text: room for most + 1 bytes. Returns the
 * number of letters, or 0 if there is not enough memory. */
size_t collection_spell(const struct collection *c, const struct alphabet *alphabet, int64_t sample, size_t most,
                        char *text);

/* Writes the list "first" of at most 8 samples, each with its text or values, its label and its group. Writes
 * nothing for images, recordings and other signals. */
void collection_write_first(const struct collection *c, const struct sink *out);

#endif
