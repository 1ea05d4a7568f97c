/* Top-k accuracy, exactly and from counts of logits. */
#include "core/metrics/topk.h"

#include <math.h>
#include <stdlib.h>
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

/* The bound of topk_accuracy() is between the (k + 1)-th and the k-th largest score. The loop goes from the highest
 * step down and adds the counts while they contain at most k positions together. So it stops at the step of the (k +
 * 1)-th largest score. Positions in that step count as tied with the bound. */
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

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

enum status topk_accuracy(const double *scores, const uint8_t *is_true, size_t n, double *out, struct error *err)
{
    size_t k = 0, found = 0;
    for (size_t i = 0; i < n; i++)
        k += is_true[i] != 0;
    *out = NAN;
    if (k == 0)
        return STATUS_OK;
    double *sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %zu scores", n);
    memcpy(sorted, scores, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    double at = (1 - (double)k / (double)n) * (double)(n - 1);
    size_t below = (size_t)at;
    double bound =
        below + 1 < n ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
    for (size_t i = 0; i < n; i++)
        found += is_true[i] != 0 && scores[i] > bound;
    free(sorted);
    *out = (double)found / (double)k;
    return STATUS_OK;
}
