/* Quickselect: finds an order statistic and partitions the values around it. */
#include "core/nn/select_kth.h"

static void swap(real *a, real *b)
{
    real t = *a;
    *a = *b;
    *b = t;
}

real select_kth(real *values, size_t n, size_t k)
{
    size_t low = 0, high = n, at = k - 1;
    while (high - low > 1) {
        real *middle = &values[low + (high - low) / 2], *first = &values[low], *last = &values[high - 1];
        if (*middle < *first)
            swap(middle, first);
        if (*last < *first)
            swap(last, first);
        if (*last < *middle)
            swap(last, middle);
        real pivot = *middle;
        /* [low, less) is below the pivot, [less, next) is equal to it, [greater, high) is above it */
        size_t less = low, next = low, greater = high;
        while (next < greater)
            if (values[next] < pivot)
                swap(&values[less++], &values[next++]);
            else if (values[next] > pivot)
                swap(&values[next], &values[--greater]);
            else
                next++;
        if (at < less)
            high = less;
        else if (at >= greater)
            low = greater;
        else
            return pivot;
    }
    return values[low];
}
