/* Top-k accuracy from counts of logits. */
#include "core/metrics/topk.h"

#include <math.h>
#include <string.h>

void topk_clear(struct topk *topk)
{
    memset(topk, 0, sizeof *topk);
}

static int step_of(double p)
{
    if (!(p > 0 && p <= 1))
        return 0;
    double logit = p < 1 ? log(p) - log1p(-p) : INFINITY;
    double step = floor((logit + 16) * (TOPK_STEPS / 32.0));
    return step < 0 ? 0 : step >= TOPK_STEPS ? TOPK_STEPS - 1 : (int)step;
}

void topk_add(struct topk *topk, double probability, int is_true)
{
    int step = step_of(probability);
    topk->all[step]++;
    topk->true_[step] += is_true;
}

/* The bound (topk.h) is between the (k + 1)-th and the k-th largest score. The loop adds the counts of the steps, from
 * the highest step down, as long as the sum is at most k. So it stops at the step of the (k + 1)-th largest score.
 * Positions in that step count as tied with the bound. */
double topk_share(const struct topk *topk)
{
    int64_t k = 0, above = 0, found = 0;
    for (int i = 0; i < TOPK_STEPS; i++)
        k += topk->true_[i];
    if (k == 0)
        return NAN;
    for (int i = TOPK_STEPS - 1; i >= 0 && above + topk->all[i] <= k; i--) {
        above += topk->all[i];
        found += topk->true_[i];
    }
    return (double)found / (double)k;
}
