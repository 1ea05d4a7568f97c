/* The first samples of a collection as text: the letters of sequences of symbols, the values of tables. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_FIRST_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_FIRST_H

#include "core/base/sink.h"
#include "core/data/uploads/collection.h"
#include "core/sequence/alphabet.h"

/* The alphabet of a collection whose samples are sequences of symbols, or motifs; NULL: they are neither. Any
 * thread. */
const struct alphabet *collection_alphabet(const struct collection *c);

/* Writes the letters of the first `most` positions of a sample and a NUL, of a motif its most frequent symbols (small
 * letters: at most half of the counts); text: room for most + 1 bytes. Returns the
 * number of letters; 0 also when memory is short. */
size_t collection_spell(const struct collection *c, const struct alphabet *alphabet, int64_t sample, size_t most,
                        char *text);

/* Writes the list "first" with at most 8 samples: the text or the values, the label, the group. Writes nothing for
 * images, recordings and other signals. */
void collection_write_first(const struct collection *c, const struct sink *out);

#endif
