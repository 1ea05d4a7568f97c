/* Ridge regression for several outputs: minimises, for each output, sum over rows of (x w + b - y)^2 + penalty ||w||^2.
 * The penalty is the one of RIDGE_PENALTIES values that predicts the rows of a validation part best, in the sum of
 * squares over all outputs. Columns are standardised by the training rows. With fewer rows than columns the dual
 * equations are solved. One thread at a time. */
#ifndef MOTIF_CORE_REFERENCE_RIDGE_H
#define MOTIF_CORE_REFERENCE_RIDGE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/base/real.h"
#include "core/kernels/kernels.h"

/* Penalty i is the mean over columns (dual: rows) of the squares of standardised values, summed over rows (columns),
 * times 10^(-3 + 5 i / (RIDGE_PENALTIES - 1)). */
enum { RIDGE_PENALTIES = 8 };

/* x: [rows][columns], y: [rows][outputs]. */
struct ridge_rows {
    int rows;
    real *x;
    const real *y;
};

struct ridge;

/* Standardises the columns of both parts in place; a column that is constant in the training rows becomes 0. The arrays
 * must outlive the ridge. The caller destroys the result (NULL is allowed). STATUS_NO_MEMORY. */
enum status ridge_create(const struct ridge_rows *train, const struct ridge_rows *validation, int columns, int outputs,
                         const struct kernels *kernels, struct thread_pool *pool, struct ridge **out,
                         struct error *err);
void ridge_destroy(struct ridge *ridge);

/* Does one piece of the fit: the sums of products, or one penalty. STATUS_CANCELLED: the pool was stopped.
 * STATUS_NUMERIC: no penalty has a finite solution. */
enum status ridge_step(struct ridge *ridge, bool *done, struct error *err);
/* Predicts after the fit. x: [rows][columns]; standard: the rows are those of ridge_create(), which has standardised
 * them; otherwise this call does it, in place. y: [rows][outputs]. */
void ridge_predict(const struct ridge *ridge, int rows, bool standard, real *x, real *y);

#endif
