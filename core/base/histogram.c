/* Histogram of durations with atomic buckets. */
#include "core/base/histogram.h"

#include <math.h>

const double histogram_bounds[HISTOGRAM_BOUNDS] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,    0.25,  0.5,    1,     2.5,  5,     10};

void histogram_add(struct histogram *histogram, double seconds)
{
    int b = 0;
    while (b < HISTOGRAM_BOUNDS && seconds > histogram_bounds[b])
        b++;
    atomic_fetch_add_explicit(&histogram->bucket[b], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->nanoseconds, (uint64_t)(fmax(seconds, 0) * 1e9), memory_order_relaxed);
}

/* The count is the sum of the buckets that were read. A separate counter could differ from this sum, because other
 * threads may add between two reads. */
void histogram_read(const struct histogram *histogram, struct histogram_counts *out)
{
    uint64_t below = 0;
    for (int b = 0; b < HISTOGRAM_BOUNDS; b++) {
        below += atomic_load_explicit(&histogram->bucket[b], memory_order_relaxed);
        out->below[b] = below;
    }
    out->count = below + atomic_load_explicit(&histogram->bucket[HISTOGRAM_BOUNDS], memory_order_relaxed);
    out->sum = (double)atomic_load_explicit(&histogram->nanoseconds, memory_order_relaxed) * 1e-9;
}
