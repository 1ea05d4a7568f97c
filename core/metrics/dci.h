/* DCI disentanglement (Eastwood and Williams 2018): the degree to which each code depends on one factor only. */
#ifndef MOTIF_CORE_METRICS_DCI_H
#define MOTIF_CORE_METRICS_DCI_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

/* Gradient boosted regression trees (Friedman 2001), which measure how much each column of x predicts y.
 *
 * The method is that of scikit-learn's GradientBoostingRegressor with its defaults, except that the first column
 * wins ties between splits. The loss is the squared error, the first prediction is the mean of y, and every tree
 * uses all rows. Splits are exact and maximise Friedman's improvement, n_l n_r / (n_l + n_r) (mean_l - mean_r)^2,
 * where n and mean are the number of rows and the mean residual of the left and of the right child. The importance
 * of a column is the decrease of the squared error at its splits, summed over trees and divided by the sum over
 * columns. */

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

/* The disentanglement of importance: [codes][factors] >= 0. For each code it is 1 - the entropy (base `factors`) of the
 * code's importances over the factors. The result is the mean over codes, weighted by each code's share of all
 * importances. In [0, 1]; 0 when all importances are 0; NaN for fewer than two factors. */
double dci_disentanglement(const double *importance, int codes, int factors);

/* The disentanglement, computed from the importances of boosted trees that predict each factor from the
 * codes. codes: [rows][code_count]; truth: [rows][factors]; importance: [code_count][factors] receives the importances
 * and may be NULL. STATUS_CANCELLED when `pool` is stopped (NULL: never). */
enum status dci_score(const float *codes, const float *truth, int rows, int code_count, int factors,
                      struct thread_pool *pool, double *importance, double *score, struct error *err);

#endif
