/* Top-k accuracy of a rare class (Jaganathan et al. 2019): the share of the k true positions whose score exceeds the
 * scores of all but k positions. Scores are probabilities.
 *
 * The bound is the quantile at 1 - k / n of the scores of all n positions, with linear interpolation as in numpy. A
 * struct topk sums over any number of positions in bounded memory: it counts logits in steps of 1/256 (about 0.4 %
 * of a small probability). A position in the same step as the bound is tied with it and does not count. To join two
 * structs topk, add their counts. One thread at a time. */
#ifndef MOTIF_CORE_METRICS_TOPK_H
#define MOTIF_CORE_METRICS_TOPK_H

#include <stdint.h>

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
