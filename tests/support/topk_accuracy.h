/* Exact top-k accuracy of a rare class, to compare with the sums of core/metrics/ranking.h. */
#ifndef MOTIF_TESTS_SUPPORT_TOPK_ACCURACY_H
#define MOTIF_TESTS_SUPPORT_TOPK_ACCURACY_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int topk_ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns the share of the true positions that have a score above a threshold. If k of the n positions are true, the
 * threshold is the quantile at 1 - k / n of all scores, with linear interpolation as in numpy. scores, is_true: [n].
 * NaN without true positions. */
static inline double topk_accuracy(const double *scores, const uint8_t *is_true, size_t n)
{
    size_t k = 0, found = 0;
    for (size_t i = 0; i < n; i++)
        k += is_true[i] != 0;
    double *sorted = k > 0 ? malloc(n * sizeof *sorted) : NULL;
    if (sorted == NULL)
        return NAN;
    memcpy(sorted, scores, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, topk_ascending);
    double at = (1 - (double)k / (double)n) * (double)(n - 1);
    size_t below = (size_t)at;
    double bound =
        below + 1 < n ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
    for (size_t i = 0; i < n; i++)
        found += is_true[i] != 0 && scores[i] > bound;
    free(sorted);
    return (double)found / (double)k;
}

#endif
