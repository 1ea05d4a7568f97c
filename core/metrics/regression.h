/* How well predicted numbers explain true ones: sums over samples, and the figures that follow from them. Pure
 * functions; any thread. */
#ifndef MOTIF_CORE_METRICS_REGRESSION_H
#define MOTIF_CORE_METRICS_REGRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/metrics/interval.h"

/* Sums over samples of a true number y, its prediction p, the error e = y - p, and their products. The sums are precise
 * if the true numbers are standardised. */
struct regression {
    double y, p, yy, pp, yp, ee;
    double eeee, eeyy, yyyy; /* sums of e^4, e^2 y^2 and y^4, for the interval of R squared */
    int64_t n;               /* number of samples */
};

void regression_add(struct regression *sums, double y, double p);
/* Adds one sample that consists of `count` numbers. y, p: [count]. The sample's e^2 and y^2 are the sums over its
 * numbers. Only regression_r2() and regression_r2_interval() can read sums with such samples. */
void regression_add_all(struct regression *sums, const double *y, const double *p, int count);

/* Share of the variance that the predictions explain: 1 - sum of e^2 / sum of (y - mean of y)^2. It is negative if the
 * predictions are worse than the mean. NaN: y does not vary. For samples from regression_add_all(), the mean of y is
 * taken as 0, so the numbers must be standardised. */
double regression_r2(const struct regression *sums);
/* Confidence interval of R squared by the delta method: R2 -+ z sqrt(V / n). With A the mean of e^2 and B the mean of
 * y^2, R2 is 1 - A / B. V is the mean over samples of (-(e^2 - A) / B + A (y^2 - B) / B^2)^2. The mean of y is taken as
 * 0. With fewer than 3 samples the interval is [-infinity, 1]. cluster: for samples in groups (clusters.h), the sums of
 * each cluster, [CLUSTERS], of which `sums` is the sum; NULL: samples are independent. */
struct interval regression_r2_interval(const struct regression *sums, const struct regression *cluster, double z);
/* Pearson's correlation of y and p; NaN if one of them does not vary. */
double regression_pearson(const struct regression *sums);
/* Effective number of samples of this correlation; cluster: as above. */
double regression_pearson_samples(const struct regression *sums, const struct regression *cluster);

/* Ordinary least squares from sums of products, with the t-values of the coefficients. Pure function; any thread. */

/* Sums over `samples` samples of the terms x and of the numbers y. The caller owns the arrays. */
struct least_squares {
    int terms, numbers;
    double samples;
    double *gram;     /* [terms][terms] sums of x_i x_j; becomes the inverse */
    double *products; /* [terms][numbers] sums of x_i y_k */
    double *squares;  /* [numbers] sums of y_k^2 */
};
/* Fits each number y. Writes the coefficients of the terms and their t-values, [terms][numbers] each. A term that does
 * not vary, or depends on others, has a t-value near 0, because a small ridge keeps the sums invertible. false: there
 * are not more samples than terms, or the sums are not finite; then all results are 0. */
bool least_squares_solve(struct least_squares *sums, double *coefficient, double *t);

#endif
