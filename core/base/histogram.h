/* How often durations of a kind were seen, by length: what Prometheus calls a histogram. Adding is two relaxed atomic
 * additions. Any thread. A zeroed one is empty. */
#ifndef MOTIF_CORE_BASE_HISTOGRAM_H
#define MOTIF_CORE_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 14
/* Upper bounds in seconds: reads take below a millisecond, submits a disk flush, queries and steps seconds. */
extern const double histogram_bounds[HISTOGRAM_BOUNDS];

struct histogram {
    _Atomic uint64_t bucket[HISTOGRAM_BOUNDS + 1]; /* not cumulated; the last is what is longer than all bounds */
    _Atomic uint64_t nanoseconds;
};

struct histogram_counts {
    uint64_t below[HISTOGRAM_BOUNDS]; /* of a duration up to histogram_bounds[i]: cumulated */
    uint64_t count;
    double sum;
};

void histogram_add(struct histogram *histogram, double seconds);
void histogram_read(const struct histogram *histogram, struct histogram_counts *out);

#endif
