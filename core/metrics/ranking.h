/* Measures how well scores rank the items that a user liked. */
#ifndef MOTIF_CORE_METRICS_RANKING_H
#define MOTIF_CORE_METRICS_RANKING_H

#include <stdint.h>

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

/* Top-k accuracy of a rare class (Jaganathan et al. 2019): the share of the k true positions whose score exceeds the
 * scores of all but k positions. Scores are probabilities.
 *
 * The bound is the quantile at 1 - k / n of the scores of all n positions, with linear interpolation as in numpy. A
 * struct topk sums over any number of positions in bounded memory: it counts logits in steps of 1/256 (about 0.4 %
 * of a small probability). A position in the same step as the bound is tied with it and does not count. To join two
 * structs topk, add their counts. One thread at a time. */

enum { TOPK_STEPS = 8192 }; /* logits from -16 to 16 */

struct topk {
    int64_t all[TOPK_STEPS], true_[TOPK_STEPS]; /* all: number of positions at each step of the logit; true_: number of
                                                   true ones among them */
};

void topk_clear(struct topk *topk);
/* Adds one position. is_true: 0 or 1. A probability outside [0, 1], and NaN, counts as 0. */
void topk_add(struct topk *topk, double probability, int is_true);
/* The accuracy; NaN without true positions. */
double topk_share(const struct topk *topk);

#endif
