/* Functions that change uploaded sequences of letters during training. In such a sequence each position is one-hot, as
 * for bases, amino acids or events. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LETTERS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LETTERS_H

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/domains/domain.h"

/* Returns whether the samples of a collection are texts, or sequences of letters: one row, and in each position at most
 * one channel, which is 1. */
bool dataset_in_letters(const struct collection *c, const struct collection_moments *m);
/* Returns whether, in addition, nearly every position has a letter. Up to a tenth of the positions may have no
 * letter. */
bool dataset_has_letters(const struct collection *c, const struct collection_moments *m);

/* How training changes letters and words: with which probability each is replaced by a random one, or left out. */
struct letter_changes {
    double replaced, dropped;
};
/* Changes the letters, or words, of a sample. The place of one that is left out stays empty. planes: of the shape, of
 * which the first `length` columns are used. The result depends only on the sample, the seed and the index. */
void dataset_change_letters(float *planes, const struct domain_shape *shape, int64_t length,
                            const struct letter_changes *changes, int64_t seed, int64_t index);

/* Sets *follows to whether labels may list names in the order of their positions. They do not if every pair of names
 * has the same order in all labels, for example because labels list names alphabetically. When a sample is read from
 * the other strand, its label is reversed if *follows is true, and otherwise stays as it is. Error: STATUS_NO_MEMORY.
 */
enum status dataset_order_follows_positions(const struct collection *c, bool *follows, struct error *err);

#endif
