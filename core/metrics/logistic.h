/* Multinomial logistic regression with a ridge on all but the intercepts: the least of
 *     sum over rows of -log softmax(B x + b)[label] + 1 / (2 c) ||B||^2
 * by L-BFGS; scikit-learn's LogisticRegression with its defaults at c = 1. */
#ifndef MOTIF_CORE_METRICS_LOGISTIC_H
#define MOTIF_CORE_METRICS_LOGISTIC_H

#include "core/base/error.h"

struct logistic {
    int columns, classes;
    double *weights; /* [classes][columns + 1]: the intercept last */
    double objective;
    int iterations;
};

/* x: [rows][columns], rows chosen by `which` (NULL: the first `count`); label of each row in [0, classes). */
enum status logistic_fit(const float *x, const int *label, const int *which, int count, int columns, int classes,
                         double c, struct logistic *out, struct error *err);
void logistic_close(struct logistic *logistic); /* zeroed is fine */

/* Accuracy over all rows, each predicted by a fit to the other folds (row i is in fold (i mod folds) of a permutation
 * by numpy's legacy generator at seed 42). */
enum status logistic_accuracy(const float *x, const int *label, int rows, int columns, int classes, int folds,
                              double *accuracy, struct error *err);

#endif
