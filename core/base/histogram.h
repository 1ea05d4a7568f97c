/* Histogram of durations, as Prometheus defines it. Any thread may add or read at any time; adding takes two relaxed
 * atomic additions. A zeroed histogram is empty. */
#ifndef MOTIF_CORE_BASE_HISTOGRAM_H
#define MOTIF_CORE_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 14
/* Upper bounds of the buckets in seconds. They cover reads (less than a millisecond), submits (the time of a disk
 * flush), and queries and steps (seconds). */
extern const double histogram_bounds[HISTOGRAM_BOUNDS];

struct histogram {
    _Atomic uint64_t bucket[HISTOGRAM_BOUNDS + 1]; /* number of durations in each bucket alone, without the buckets
                                                      before it; the last bucket counts durations above all bounds */
    _Atomic uint64_t nanoseconds;
};

struct histogram_counts {
    uint64_t below[HISTOGRAM_BOUNDS]; /* durations up to histogram_bounds[i], cumulative */
    uint64_t count;
    double sum;
};

/* Adds one duration in seconds; a negative duration counts as 0. histogram_read() copies the counts. */
void histogram_add(struct histogram *histogram, double seconds);
void histogram_read(const struct histogram *histogram, struct histogram_counts *out);

#endif
