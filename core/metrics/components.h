/* How many directions of a table vary more than noise would. */
#ifndef MOTIF_CORE_METRICS_COMPONENTS_H
#define MOTIF_CORE_METRICS_COMPONENTS_H

#include "core/base/error.h"

/* Standardises the columns of x: [rows][columns], finite, and counts the principal components that have a variance
 * above (1 + sqrt(columns / rows))^2. The correlation matrix of many independent columns has this largest eigenvalue
 * (Marchenko and Pastur, 1967). Constant columns do not count. Takes about rows * columns^2 / 2 operations.
 * STATUS_NO_MEMORY. Pure; any thread. */
enum status components_count(const float *x, int rows, int columns, int *count, struct error *err);

#endif
