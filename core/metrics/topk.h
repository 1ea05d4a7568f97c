/* Top-k accuracy of a rare class (Jaganathan et al. 2019): of its k true positions, the share whose score exceeds that
 * of all but k positions. Scores are probabilities.
 *
 * topk_accuracy() is the definition. A struct topk sums over any number of positions in bounded memory: it counts
 * logits in steps of 1/256 (about 0.4 % of a small probability), so positions within a step of the bound tie. A tie
 * does not exceed. Parts are joined by adding the counts; one thread at a time. */
#ifndef MOTIF_CORE_METRICS_TOPK_H
#define MOTIF_CORE_METRICS_TOPK_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { TOPK_STEPS = 8192 }; /* logits from -16 to 16 */

struct topk {
    int64_t all[TOPK_STEPS], true_[TOPK_STEPS]; /* positions, and true ones, at each step */
};

void topk_clear(struct topk *topk);
/* is_true: 0 or 1. A probability outside [0, 1] or NaN counts as 0. */
void topk_add(struct topk *topk, double probability, int is_true);
/* NaN without true positions. */
double topk_share(const struct topk *topk);

/* The same exactly: the bound is the quantile at 1 - k / n with linear interpolation, as numpy has it.
 * scores, is_true: [n]. NaN without true positions. STATUS_NO_MEMORY. */
enum status topk_accuracy(const double *scores, const uint8_t *is_true, size_t n, double *out, struct error *err);

#endif
