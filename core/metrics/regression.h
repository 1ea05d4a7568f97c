/* How well predicted numbers explain true ones: sums over samples, and the figures that follow from them. Pure
 * functions; any thread. */
#ifndef MOTIF_CORE_METRICS_REGRESSION_H
#define MOTIF_CORE_METRICS_REGRESSION_H

#include "core/metrics/interval.h"

/* Sums over samples of a true number y, its prediction p, the error e = y - p, and their products. The sums are precise
 * if the true numbers are standardised. Only doubles, because checkpoints save them as a row. */
struct regression {
    double n, y, p, yy, pp, yp, ee;
    double eeee, eeyy, yyyy; /* for the interval of R squared */
};
enum { REGRESSION_NUMBERS = 10 };

void regression_add(struct regression *sums, double y, double p);
/* Adds a sample of several numbers, as one whose squared error and square are the sums of theirs. y, p: [count].
 * Figures of such sums are regression_r2() and its interval only. */
void regression_add_all(struct regression *sums, const double *y, const double *p, int count);

/* Share of the variance that the predictions explain: 1 - sum of e^2 / sum of (y - mean of y)^2. It is negative if the
 * predictions are worse than the mean. NaN: y does not vary. regression_add_all(): the mean of y counts as 0, which it
 * is for standardised numbers. */
double regression_r2(const struct regression *sums);
/* Confidence interval of R squared by the delta method: R2 -+ z sqrt(mean of squared influences / n), where the
 * influence of a sample on 1 - A / B, with A the mean of e^2 and B that of y^2, is -(e^2 - A) / B + A (y^2 - B) / B^2.
 * The mean of y counts as 0. [-infinity, 1] with fewer than 3 samples. */
struct interval regression_r2_interval(const struct regression *sums, double z);
/* Pearson's correlation of y and p; NaN if one of them does not vary. */
double regression_pearson(const struct regression *sums);

#endif
