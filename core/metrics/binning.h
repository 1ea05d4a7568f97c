/* Replaces activations by the mean of their bin, which measures how many bits of an activation a model uses (SPARLING,
 * Appendix H).
 *
 * For each channel, the upper limits of `bins` bins are the quantiles at 1/bins to 1 of its calibration values,
 * linearly interpolated. A value belongs to the first bin whose limit is strictly greater. As in the published
 * experiment, a value that reaches the largest limit belongs to the lowest bin; the largest calibration value is such a
 * value. Any number of threads may call binning_apply(). */
#ifndef MOTIF_CORE_METRICS_BINNING_H
#define MOTIF_CORE_METRICS_BINNING_H

#include <stddef.h>

#include "core/base/error.h"

#define BINNING_BINS 16

struct binning {
    int bins;
    double limit[BINNING_BINS], mean[BINNING_BINS]; /* mean of a bin without calibration values: that of its limits */
};

/* Builds the bins. sorted: [count] in ascending order, count >= 1; bins in [1, BINNING_BINS]. */
void binning_make(struct binning *binning, int bins, const float *sorted, size_t count);
double binning_apply(const struct binning *binning, double value);

/* Most bits that a map of `elements` can carry when a share `density` of it is active and an activation has `bits`
 * bits: elements (H_b(density) + bits density) with the binary entropy H_b. */
double binning_information(double elements, double density, double bits);

#endif
