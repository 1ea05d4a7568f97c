/* Top-k accuracy of a rare class (Jaganathan et al. 2019): the share of the k true positions whose score exceeds the
 * scores of all but k positions. Scores are probabilities.
 *
 * topk_accuracy() is the definition. A struct topk sums over any number of positions in bounded memory: it counts
 * logits in steps of 1/256 (about 0.4 % of a small probability). A position in the same step as the bound is tied with
 * it and does not count. To join the sums of parts, add their counts. One thread at a time. */
#ifndef MOTIF_CORE_METRICS_TOPK_H
#define MOTIF_CORE_METRICS_TOPK_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { TOPK_STEPS = 8192 }; /* logits from -16 to 16 */

struct topk {
    int64_t all[TOPK_STEPS], true_[TOPK_STEPS]; /* number of all positions, and of true positions, at each step */
};

void topk_clear(struct topk *topk);
/* is_true: 0 or 1. A probability outside [0, 1], and NaN, counts as 0. */
void topk_add(struct topk *topk, double probability, int is_true);
/* The accuracy; NaN without true positions. */
double topk_share(const struct topk *topk);

/* The exact accuracy: the bound is the quantile at 1 - k / n with linear interpolation, as in numpy. scores, is_true:
 * [n]. NaN without true positions. */
enum status topk_accuracy(const double *scores, const uint8_t *is_true, size_t n, double *out, struct error *err);

#endif
