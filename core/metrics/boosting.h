/* Gradient boosted regression trees (Friedman 2001), for how much each column of x tells about y.
 *
 * Squared loss, start at the mean, every row in every tree, exact splits by Friedman's improvement
 * (n_l n_r / (n_l + n_r) (mean_l - mean_r)^2): scikit-learn's GradientBoostingRegressor with its defaults, but that
 * ties between equal splits go to the first column. Importance: the fall of the squared error at a column's splits,
 * summed over trees, of all columns together 1. */
#ifndef MOTIF_CORE_METRICS_BOOSTING_H
#define MOTIF_CORE_METRICS_BOOSTING_H

#include "core/base/error.h"

struct boosting {
    int trees, depth;
    double rate;
};
#define BOOSTING_DEFAULT ((struct boosting){100, 3, 0.1})
enum { BOOSTING_DEPTH_MAX = 8 };

/* x: [rows][columns], y: [rows], finite. importance: [columns], all 0 when no split helps. `error` (may be NULL):
 * mean squared error on these rows in the end. STATUS_NO_MEMORY, STATUS_INVALID for a depth out of range. */
enum status boosting_importance(const struct boosting *how, int rows, int columns, const float *x, const double *y,
                                double *importance, double *error, struct error *err);

#endif
