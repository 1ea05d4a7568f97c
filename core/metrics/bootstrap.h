/* Means with 95 % bootstrap intervals as in SPARLING's figures: 1000 resamples with numpy's legacy generator at seed 0,
 * percentiles 2.5 and 97.5 with linear interpolation. */
#ifndef MOTIF_CORE_METRICS_BOOTSTRAP_H
#define MOTIF_CORE_METRICS_BOOTSTRAP_H

#include "core/base/error.h"

#define BOOTSTRAP_RESAMPLES 1000

struct bootstrap {
    int count;              /* number of values used; NaN are left out */
    double mean, low, high; /* NaN when count is 0 */
};

/* Computes the mean of values: [count] and its interval. Fails with STATUS_NO_MEMORY only. */
enum status bootstrap_mean(const double *values, int count, struct bootstrap *out, struct error *err);

#endif
