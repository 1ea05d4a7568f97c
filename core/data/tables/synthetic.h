/* Seven features of two correlated factors (Moran et al. 2022, section 4.1): means z1, 2 z1, 3 z1^2, 4 z2, 5 z2,
 * 6 sin z2, 7 z1 z2 with z ~ N(0, [[1, rho], [rho, 1]]), and independent noise. */
#ifndef MOTIF_CORE_DATA_TABLES_SYNTHETIC_H
#define MOTIF_CORE_DATA_TABLES_SYNTHETIC_H

#include "core/data/tables/features.h"

enum { SYNTHETIC_FEATURES = 7, SYNTHETIC_FACTORS = 2 };

/* Draws a table that depends on the arguments alone. Tables with the same seed and set are made from the same normal
 * numbers, also if rho differs. deviation: standard deviation of the noise, 0.5 in the published code and sqrt(0.5) in
 * the paper. |rho| < 1. The caller destroys *features. STATUS_CANCELLED when `pool` is stopped; with NULL, it cannot be
 * stopped. */
enum status synthetic_features(uint64_t seed, uint32_t set, double rho, double deviation, int rows,
                               struct thread_pool *pool, struct features **features, struct error *err);
/* The means of the features at the factors z. */
void synthetic_means(const double z[SYNTHETIC_FACTORS], double mean[SYNTHETIC_FEATURES]);

#endif
