/* Activations replaced by the mean of their bin: how many bits of an activation are used (SPARLING, Appendix H).
 *
 * For each channel the upper limits of `bins` bins are the quantiles at 1/bins .. 1 of its calibration values, linearly
 * interpolated. A value falls in the first bin whose limit is strictly greater; one that reaches the largest limit
 * falls in the lowest bin, as in the published experiment, and that is where the largest calibration value lies itself.
 * Any thread may apply; one builds. */
#ifndef MOTIF_CORE_METRICS_BINNING_H
#define MOTIF_CORE_METRICS_BINNING_H

#include <stddef.h>

#include "core/base/error.h"

#define BINNING_BINS 16

struct binning {
    int bins;
    double limit[BINNING_BINS], mean[BINNING_BINS]; /* a bin without calibration values has the mean of its limits */
};

/* `values` are sorted ascending, at least one; bins in [1, BINNING_BINS]. */
void binning_make(struct binning *binning, int bins, const float *sorted, size_t count);
double binning_apply(const struct binning *binning, double value);

/* Bits that a map of `elements` can carry at most when a share `density` of it is active and an activation has `bits`:
 * elements (H_b(density) + bits density), H_b the binary entropy. */
double binning_information(double elements, double density, double bits);

#endif
