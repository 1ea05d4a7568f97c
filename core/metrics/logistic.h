/* Multinomial logistic regression with a ridge penalty on all weights but the intercepts: minimises
 *     sum over rows of -log softmax(B x + b)[label] + 1 / (2 c) ||B||^2
 * with L-BFGS; at c = 1 this is scikit-learn's LogisticRegression with its defaults. */
#ifndef MOTIF_CORE_METRICS_LOGISTIC_H
#define MOTIF_CORE_METRICS_LOGISTIC_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct logistic {
    int columns, classes;
    double *weights; /* [classes][columns + 1]; the last column is the intercept */
    double objective;
    int iterations;
};

/* Fits `count` rows of x: [rows][columns]. which: [count] indices of these rows; NULL: the first `count` rows. label:
 * [rows], in [0, classes). The caller closes `out`. STATUS_CANCELLED when `pool` is stopped (NULL: never). */
enum status logistic_fit(const float *x, const int *label, const int *which, int count, int columns, int classes,
                         double c, struct thread_pool *pool, struct logistic *out, struct error *err);
void logistic_close(struct logistic *logistic); /* a zeroed struct is allowed */

/* Cross-validated accuracy: for each fold, a fit to the other folds predicts the fold's rows. numpy's legacy
 * generator with seed 42 permutes the rows; the row at place i of the permutation is in fold i mod folds. */
enum status logistic_accuracy(const float *x, const int *label, int rows, int columns, int classes, int folds,
                              struct thread_pool *pool, double *accuracy, struct error *err);

#endif
