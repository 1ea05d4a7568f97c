/* Replaces activations by the mean of their bin, which measures how many bits of an activation a model uses
 * (SPARLING, Appendix H).
 *
 * For each channel, the upper limits of the bins are quantiles of the channel's calibration values: with B bins, the
 * quantiles at 1/B, 2/B, ..., 1, linearly interpolated. A value belongs to the first bin whose limit is strictly
 * greater. A value that reaches the largest limit, such as the largest calibration value, belongs to the lowest bin,
 * as in the published experiment. Any number of threads may call binning_apply(). */
#ifndef MOTIF_CORE_METRICS_BINNING_H
#define MOTIF_CORE_METRICS_BINNING_H

#include <stddef.h>

#include "core/base/error.h"

#define BINNING_BINS 16

struct binning {
    int bins;
    double limit[BINNING_BINS], mean[BINNING_BINS]; /* mean: of the calibration values in the bin; if there are none,
                                                     * of the bin's two limits */
};

/* Builds the bins. sorted: [count] in ascending order, count >= 1; bins in [1, BINNING_BINS]. */
void binning_make(struct binning *binning, int bins, const float *sorted, size_t count);
double binning_apply(const struct binning *binning, double value);

/* Returns elements * (H_b(density) + bits * density), where H_b is the binary entropy. A map of `elements` elements can
 * carry at most this number of bits if the share `density` of them is active and each activation has `bits` bits. */
double binning_information(double elements, double density, double bits);

#endif
