/* How many directions of a table vary more than noise would. */
#ifndef MOTIF_CORE_METRICS_COMPONENTS_H
#define MOTIF_CORE_METRICS_COMPONENTS_H

#include "core/base/error.h"

/* Counts the principal components of x: [rows][columns], finite, whose variance exceeds (1 + sqrt(columns / rows))^2.
 * This is the largest eigenvalue of many independent columns of variance 1 (Marchenko and Pastur, 1967). Constant
 * columns do not count. Takes about rows * columns^2 / 2 operations. STATUS_NO_MEMORY. Pure; any thread. */
enum status components_count(const float *x, int rows, int columns, int *count, struct error *err);

#endif
