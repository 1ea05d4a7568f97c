/* Measures how well scores rank the items that a user liked. */
#ifndef MOTIF_CORE_METRICS_RANKING_H
#define MOTIF_CORE_METRICS_RANKING_H

#include "core/base/error.h"

/* Scores one row. scores, likes: [count]; an item is liked if its entry is > 0. Ties are ranked in the order of items.
 * recall: the number of liked items among the first r items, divided by the smaller of r and the number of all liked
 * items. ndcg: sum of 1 / log2(rank + 1) over the likes among the first k items, divided by the largest possible sum.
 * Both are NaN if no item is liked. */
struct ranking {
    double recall, ndcg;
};
enum status ranking_row(const float *scores, const float *likes, int count, int r, int k, struct ranking *out,
                        struct error *err);

#endif
