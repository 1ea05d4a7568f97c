/* Features of random convolutions, after ROCKET (Dempster, Petitjean and Webb, Data Mining and Knowledge Discovery 34,
 * 2020, arXiv 1910.13051).
 *
 * A kernel has normal weights whose mean is zero in each channel, a bias from [-1, 1], a dilation 2^u with u uniform
 * up to the largest that fits, and with probability 1/2 zero padding. In one row it has 7, 9 or 11 taps; in pictures it
 * is a square with sides of 3 or 5. With several channels it reads 2^u of them, u uniform. Its two features are the
 * share of positions with a positive result, and the largest result. Every second kernel reads the sample with mean 0
 * and deviation 1 in each channel, the others read it as it is: the first see shapes only, the others sizes too.
 *
 * The kernels are a pure function of shape, count and seed. Features of different samples may be computed by several
 * threads at the same time. */
#ifndef MOTIF_CORE_REFERENCE_RANDOM_CONVOLUTIONS_H
#define MOTIF_CORE_REFERENCE_RANDOM_CONVOLUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/real.h"
#include "core/kernels/kernels.h"

struct random_convolutions;

/* Samples are planes [channels][rows][cols]. unordered: the columns are items without order, so a kernel has one tap.
 * The caller destroys the result (NULL is allowed). STATUS_NO_MEMORY. */
enum status random_convolutions_create(int channels, int rows, int cols, bool unordered, int count, uint64_t seed,
                                       struct random_convolutions **out, struct error *err);
void random_convolutions_destroy(struct random_convolutions *convolutions);

/* Mean number of multiplications that a kernel needs for a sample, to choose a count for a given time. */
double random_convolutions_cost(int channels, int rows, int cols);
/* Number of values of scratch memory that a call of random_convolutions_features() needs. */
size_t random_convolutions_scratch(const struct random_convolutions *convolutions);
/* Writes the features of a sample. features: [2 * count]. */
void random_convolutions_features(const struct random_convolutions *convolutions, const struct kernels *kernels,
                                  const float *planes, real *scratch, real *features);

#endif
