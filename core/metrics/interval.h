/* Confidence intervals of a share, of the difference of two shares, and of a correlation. Pure functions; any thread.
 */
#ifndef MOTIF_CORE_METRICS_INTERVAL_H
#define MOTIF_CORE_METRICS_INTERVAL_H

#include "core/base/error.h"

struct interval {
    double low, high;
};

/* Wilson's confidence interval of a share (E. B. Wilson, Probable inference, JASA 22, 1927). share: in [0, 1],
 * measured on `count` independent samples. z: the normal quantile, 1.96 for 95 %. With count <= 0 the interval is
 * [0, 1]. */
struct interval interval_share(double share, double count, double z);

/* Newcombe's interval of the difference of two shares, first - second, of independent samples (R. G. Newcombe, Interval
 * estimation for the difference between independent proportions, Statistics in Medicine 17, 1998, method 10). It is
 * narrower than the difference of the ends of two Wilson intervals. Arguments as those of interval_share(). */
struct interval interval_difference(double first, double first_count, double second, double second_count, double z);

/* Fisher's interval of a correlation coefficient r, measured on `count` samples: tanh(atanh r -+ z / sqrt(count - 3)).
 * With count <= 3, or r NaN, the interval is [-1, 1]. */
struct interval interval_correlation(double r, double count, double z);

/* The 97.5 % quantile of Student's distribution: exact for one and two degrees of freedom, else Fisher's expansion,
 * whose error is below 0.004. */
double interval_student(double freedom);
/* Student's 95 % interval of a mean: values: [count], independent. *mean: their mean. With fewer than two values the
 * ends are NaN. */
struct interval interval_mean(const double *values, int count, double *mean);

/* Means with 95 % bootstrap intervals as in SPARLING's figures: 1000 resamples with numpy's legacy generator at seed 0,
 * percentiles 2.5 and 97.5 with linear interpolation. */

#define BOOTSTRAP_RESAMPLES 1000

struct bootstrap {
    int count;              /* number of values used; NaN are left out */
    double mean, low, high; /* NaN when count is 0 */
};

/* Computes the mean of values: [count] and its interval. Fails with STATUS_NO_MEMORY only. */
enum status bootstrap_mean(const double *values, int count, struct bootstrap *out, struct error *err);

#endif
