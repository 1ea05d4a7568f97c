/* Gradient boosted regression trees (Friedman 2001), which measure how much each column of x predicts y.
 *
 * The method is that of scikit-learn's GradientBoostingRegressor with its defaults, except that the first column
 * wins ties between splits. The loss is the squared error, the first prediction is the mean of y, and every tree
 * uses all rows. Splits are exact and maximise Friedman's improvement, n_l n_r / (n_l + n_r) (mean_l - mean_r)^2,
 * where n and mean are the number of rows and the mean residual of the left and of the right child. The importance
 * of a column is the decrease of the squared error at its splits, summed over trees and divided by the sum over
 * columns. */
#ifndef MOTIF_CORE_METRICS_BOOSTING_H
#define MOTIF_CORE_METRICS_BOOSTING_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct boosting {
    int trees, depth;
    double rate;
};
#define BOOSTING_DEFAULT ((struct boosting){100, 3, 0.1})
enum { BOOSTING_DEPTH_MAX = 8 };

/* Fits the trees. x: [rows][columns], y: [rows], finite. importance: [columns], all 0 when no split helps. `error` (may
 * be NULL): final mean squared error on these rows. STATUS_INVALID: the depth is out of range.
 * STATUS_CANCELLED when `pool` is stopped (NULL: never). */
enum status boosting_importance(const struct boosting *how, int rows, int columns, const float *x, const double *y,
                                struct thread_pool *pool, double *importance, double *error, struct error *err);

#endif
