/* Describes a collection to people: figures as JSON members, and a preview picture. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H

#include "core/base/sink.h"
#include "core/data/alphabet.h"
#include "core/data/uploads/collection.h"
#include "core/draw/picture.h"

/* The first samples of a collection as text: the letters of sequences, the values of tables. */

/* Returns the alphabet of a collection of sequences of symbols, or of motifs; NULL: the collection has other
 * samples. Any thread. */
const struct alphabet *collection_alphabet(const struct collection *c);

/* Writes the letters of the first `most` positions of a sample, and a NUL. The letters of a motif are its consensus:
 * lower-case letters stand for symbols with at most half of the counts. text: room for most + 1 bytes. Returns the
 * number of letters, or 0 if there is not enough memory. */
size_t collection_spell(const struct collection *c, const struct alphabet *alphabet, int64_t sample, size_t most,
                        char *text);

/* Writes the members kind, target, samples, shape, lengths, values, vocabulary, columns, groups, boxes, recognised and
 * warnings into an object that the caller has opened. */
void collection_describe(const struct collection *c, const struct sink *out);
/* Draws the first samples: images side by side, sequences and recordings below each other, a table as a map of its
 * standardised columns. The caller destroys *picture. */
enum status collection_preview(const struct collection *c, struct picture **picture, struct error *err);

#endif
