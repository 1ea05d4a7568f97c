/* Functions that change uploaded sequences of letters during training. In such a sequence each position is one-hot, as
 * for bases, amino acids or events. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LETTERS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LETTERS_H

#include "core/data/uploads/collection.h"

/* Returns whether the values of a collection with one row are one-hot. Up to a tenth of the positions may have no
 * letter. */
bool dataset_has_letters(const struct collection *c, const struct collection_moments *m);

/* Replaces each letter of a sample by a random one with probability `share`. planes: [channels][cols], of which the
 * first `length` columns are used. The result depends only on the sample, the seed and the index. */
void dataset_replace_letters(float *planes, int channels, int cols, int64_t length, double share, int64_t seed,
                             int64_t index);

/* Finds out whether the order of names in labels may be the order of positions, and sets *follows. It cannot be if
 * every pair of names has the same order in all labels, as when labels list names alphabetically. A sample that is read
 * from the other strand then keeps its label; otherwise its label is reversed. Error: STATUS_NO_MEMORY. */
enum status dataset_order_follows_positions(const struct collection *c, bool *follows, struct error *err);

#endif
