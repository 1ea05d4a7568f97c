/* Sorts numbers, and computes quantiles of sorted numbers. Any thread. */
#ifndef MOTIF_CORE_BASE_SORTED_H
#define MOTIF_CORE_BASE_SORTED_H

#include <stddef.h>
#include <stdlib.h>

static inline int sorted_order(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts `count` values in ascending order. No value may be NaN. */
static inline void sorted_make(double *values, size_t count)
{
    qsort(values, count, sizeof *values, sorted_order);
}

/* The quantile `fraction` (0 to 1) of `count` >= 1 sorted values, linearly interpolated as in numpy. */
static inline double sorted_quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

#endif
