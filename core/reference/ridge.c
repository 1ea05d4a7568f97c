/* Ridge regression by a blocked Cholesky factorisation. */
#include "core/reference/ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

struct ridge {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct ridge_rows train, validation;
    int columns, outputs;
    int order;             /* number of equations: the smaller of rows and columns */
    real *mean, *scale;    /* [columns] */
    real *centre;          /* [outputs] mean of y */
    real *gram, *factor;   /* [order][order] lower triangles: sums of products; its Cholesky factor */
    real *solution;        /* [order][outputs] */
    real *weights, *tried; /* [columns][outputs] the best so far; of the penalty in progress */
    real *answers;         /* [validation rows][outputs] */
    double least;          /* sum of squares of `weights` on the validation rows */
    int piece;             /* 0: the sums of products are due; i: penalty i - 1 */
    int block;             /* first row of the block of the factorisation in progress */
};

void ridge_destroy(struct ridge *r)
{
    if (r == NULL)
        return;
    free(r->mean);
    free(r->scale);
    free(r->centre);
    free(r->gram);
    free(r->factor);
    free(r->solution);
    free(r->weights);
    free(r->tried);
    free(r->answers);
    free(r);
}

static void measure_columns(struct ridge *r)
{
    int rows = r->train.rows;
    for (int j = 0; j < r->columns; j++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < rows; i++)
            sum += (double)r->train.x[(size_t)i * (size_t)r->columns + (size_t)j];
        double mean = sum / rows;
        for (int i = 0; i < rows; i++) {
            double d = (double)r->train.x[(size_t)i * (size_t)r->columns + (size_t)j] - mean;
            squares += d * d;
        }
        double deviation = sqrt(squares / rows);
        r->mean[j] = (real)mean;
        r->scale[j] = deviation > 1e-6 * (fabs(mean) + 1e-6) ? (real)(1 / deviation) : 0;
    }
    for (int k = 0; k < r->outputs; k++) {
        double sum = 0;
        for (int i = 0; i < rows; i++)
            sum += (double)r->train.y[(size_t)i * (size_t)r->outputs + (size_t)k];
        r->centre[k] = (real)(sum / rows);
    }
}

static void standardise(const struct ridge *r, int rows, real *x)
{
    for (int i = 0; i < rows; i++, x += r->columns)
        for (int j = 0; j < r->columns; j++)
            x[j] = (x[j] - r->mean[j]) * r->scale[j];
}

enum status ridge_create(const struct ridge_rows *train, const struct ridge_rows *validation, int columns, int outputs,
                         const struct kernels *kernels, struct thread_pool *pool, struct ridge **out, struct error *err)
{
    struct ridge *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL)
        return error_memory(err, "a ridge regression");
    int order = train->rows < columns ? train->rows : columns;
    size_t square = (size_t)order * (size_t)order, wide = (size_t)columns * (size_t)outputs;
    *r = (struct ridge){.kernels = kernels,
                        .pool = pool,
                        .train = *train,
                        .validation = *validation,
                        .columns = columns,
                        .outputs = outputs,
                        .order = order,
                        .least = INFINITY,
                        .mean = calloc((size_t)columns, sizeof(real)),
                        .scale = calloc((size_t)columns, sizeof(real)),
                        .centre = calloc((size_t)outputs, sizeof(real)),
                        .gram = calloc(square, sizeof(real)),
                        .factor = calloc(square, sizeof(real)),
                        .solution = calloc((size_t)order * (size_t)outputs, sizeof(real)),
                        .weights = calloc(wide, sizeof(real)),
                        .tried = calloc(wide, sizeof(real)),
                        .answers = calloc((size_t)validation->rows * (size_t)outputs + 1, sizeof(real))};
    if (!r->mean || !r->scale || !r->centre || !r->gram || !r->factor || !r->solution || !r->weights || !r->tried ||
        !r->answers) {
        ridge_destroy(r);
        return error_memory(err, "a ridge regression");
    }
    measure_columns(r);
    standardise(r, train->rows, r->train.x);
    standardise(r, validation->rows, r->validation.x);
    *out = r;
    return STATUS_OK;
}

/* ---- the equations ---------------------------------------------------------------------------------------- */

static bool dual(const struct ridge *r)
{
    return r->order < r->columns;
}

/* Sums of products for BLOCK rows of the lower triangle. */
static void gram_block(void *context, int chunk, int worker)
{
    struct ridge *r = context;
    int first = chunk * BLOCK, rows = r->order - first < BLOCK ? r->order - first : BLOCK;
    (void)worker;
    struct gemm_call call = {.m = rows,
                             .n = first + rows,
                             .k = dual(r) ? r->columns : r->train.rows,
                             .alpha = 1,
                             .transpose_a = !dual(r),
                             .transpose_b = dual(r),
                             .a = dual(r) ? r->train.x + (size_t)first * (size_t)r->columns : r->train.x + first,
                             .b = r->train.x,
                             .c = r->gram + (size_t)first * (size_t)r->order,
                             .lda = r->columns,
                             .ldb = r->columns,
                             .ldc = r->order};
    r->kernels->gemm(&call);
}

/* Factors the square of BLOCK rows on the diagonal. false: the matrix is not positive definite in this precision. */
static bool factor_diagonal(struct ridge *r, int first, int size)
{
    for (int i = first; i < first + size; i++) {
        real *row = r->factor + (size_t)i * (size_t)r->order;
        for (int j = first; j <= i; j++) {
            const real *other = r->factor + (size_t)j * (size_t)r->order;
            double sum = (double)row[j];
            for (int k = first; k < j; k++)
                sum -= (double)row[k] * (double)other[k];
            if (i == j && !(sum > 0 && isfinite(sum)))
                return false;
            row[j] = (real)(i == j ? sqrt(sum) : sum / (double)other[j]);
        }
    }
    return true;
}

/* Completes the factor in BLOCK rows below the block that was factored last, and subtracts its products from the rest
 * of these rows. */
static void factor_below(void *context, int chunk, int worker)
{
    struct ridge *r = context;
    int block = r->block, first = block + BLOCK * (chunk + 1),
        rows = r->order - first < BLOCK ? r->order - first : BLOCK;
    (void)worker;
    for (int i = first; i < first + rows; i++) {
        real *row = r->factor + (size_t)i * (size_t)r->order;
        for (int j = block; j < block + BLOCK; j++) {
            const real *other = r->factor + (size_t)j * (size_t)r->order;
            row[j] = (row[j] - r->kernels->dot((size_t)(j - block), row + block, other + block)) / other[j];
        }
    }
}

static void subtract_below(void *context, int chunk, int worker)
{
    struct ridge *r = context;
    int block = r->block, next = block + BLOCK, first = next + BLOCK * chunk,
        rows = r->order - first < BLOCK ? r->order - first : BLOCK;
    (void)worker;
    struct gemm_call call = {.m = rows,
                             .n = first + rows - next,
                             .k = BLOCK,
                             .alpha = -1,
                             .beta = 1,
                             .transpose_b = true,
                             .a = r->factor + (size_t)first * (size_t)r->order + block,
                             .b = r->factor + (size_t)next * (size_t)r->order + block,
                             .c = r->factor + (size_t)first * (size_t)r->order + next,
                             .lda = r->order,
                             .ldb = r->order,
                             .ldc = r->order};
    r->kernels->gemm(&call);
}

static int blocks(int rows)
{
    return (rows + BLOCK - 1) / BLOCK;
}

/* Factors gram + penalty. *sound: the factor exists in this precision. */
static enum status factorise(struct ridge *r, double penalty, bool *sound, struct error *err)
{
    memcpy(r->factor, r->gram, (size_t)r->order * (size_t)r->order * sizeof(real));
    for (int i = 0; i < r->order; i++)
        r->factor[(size_t)i * (size_t)r->order + (size_t)i] += (real)penalty;
    *sound = true;
    for (r->block = 0; r->block < r->order; r->block += BLOCK) {
        int left = r->order - r->block, size = left < BLOCK ? left : BLOCK, below = blocks(left - size);
        if (!factor_diagonal(r, r->block, size)) {
            *sound = false;
            return STATUS_OK;
        }
        if (!thread_pool_run(r->pool, factor_below, r, below) || !thread_pool_run(r->pool, subtract_below, r, below))
            return thread_pool_check(r->pool, err);
    }
    return STATUS_OK;
}

/* Writes the right side of the equations to `solution`: y - mean (dual), or X' (y - mean). Standardised columns have
 * the sum 0, so X' mean is 0. */
static void right_side(struct ridge *r)
{
    size_t outputs = (size_t)r->outputs;
    struct gemm_call call = {.m = r->columns,
                             .n = r->outputs,
                             .k = r->train.rows,
                             .alpha = 1,
                             .transpose_a = true,
                             .a = r->train.x,
                             .b = r->train.y,
                             .c = r->solution,
                             .lda = r->columns,
                             .ldb = r->outputs,
                             .ldc = r->outputs};
    if (!dual(r))
        r->kernels->gemm(&call);
    for (int i = 0; dual(r) && i < r->train.rows; i++)
        for (size_t k = 0; k < outputs; k++)
            r->solution[(size_t)i * outputs + k] = r->train.y[(size_t)i * outputs + k] - r->centre[k];
}

/* Solves L L' z = solution, in place, and writes the weights of the columns to `tried`. */
static void solve(struct ridge *r)
{
    size_t outputs = (size_t)r->outputs, order = (size_t)r->order;
    right_side(r);
    for (size_t i = 0; i < order; i++) {
        real *z = r->solution + i * outputs;
        for (size_t j = 0; j < i; j++)
            r->kernels->axpy(outputs, -r->factor[i * order + j], r->solution + j * outputs, z);
        r->kernels->scale(outputs, 1 / r->factor[i * order + i], z);
    }
    for (size_t i = order; i-- > 0;) {
        real *z = r->solution + i * outputs;
        r->kernels->scale(outputs, 1 / r->factor[i * order + i], z);
        for (size_t j = 0; j < i; j++)
            r->kernels->axpy(outputs, -r->factor[i * order + j], z, r->solution + j * outputs);
    }
    if (!dual(r)) {
        memcpy(r->tried, r->solution, order * outputs * sizeof(real));
        return;
    }
    struct gemm_call call = {.m = r->columns,
                             .n = r->outputs,
                             .k = r->train.rows,
                             .alpha = 1,
                             .transpose_a = true,
                             .a = r->train.x,
                             .b = r->solution,
                             .c = r->tried,
                             .lda = r->columns,
                             .ldb = r->outputs,
                             .ldc = r->outputs};
    r->kernels->gemm(&call);
}

static void predict(const struct ridge *r, const real *weights, int rows, const real *x, real *y)
{
    for (int i = 0; i < rows; i++)
        memcpy(y + (size_t)i * (size_t)r->outputs, r->centre, (size_t)r->outputs * sizeof(real));
    struct gemm_call call = {.m = rows,
                             .n = r->outputs,
                             .k = r->columns,
                             .alpha = 1,
                             .beta = 1,
                             .a = x,
                             .b = weights,
                             .c = y,
                             .lda = r->columns,
                             .ldb = r->outputs,
                             .ldc = r->outputs};
    if (rows > 0)
        r->kernels->gemm(&call);
}

/* Returns the sum of squares of `tried` on the validation rows; without such rows the norm of the weights decides, so
 * the largest penalty wins. */
static double validate(const struct ridge *r)
{
    size_t count = (size_t)r->validation.rows * (size_t)r->outputs;
    double sum = 0;
    if (count == 0)
        return r->kernels->sum_squares((size_t)r->columns * (size_t)r->outputs, r->tried);
    predict(r, r->tried, r->validation.rows, r->validation.x, r->answers);
    for (size_t i = 0; i < count; i++) {
        double d = (double)r->answers[i] - (double)r->validation.y[i];
        sum += d * d;
    }
    return sum;
}

enum status ridge_step(struct ridge *r, bool *done, struct error *err)
{
    bool sound = false;
    *done = false;
    if (r->piece == 0) {
        if (!thread_pool_run(r->pool, gram_block, r, blocks(r->order)))
            return thread_pool_check(r->pool, err);
        r->piece++;
        return STATUS_OK;
    }
    double diagonal = 0;
    for (int i = 0; i < r->order; i++)
        diagonal += (double)r->gram[(size_t)i * (size_t)r->order + (size_t)i] / r->order;
    enum status status =
        factorise(r, diagonal * pow(10, -3 + 5.0 * (r->piece - 1) / (RIDGE_PENALTIES - 1)), &sound, err);
    if (status)
        return status;
    if (sound) {
        solve(r);
        double error = validate(r);
        if (error < r->least) {
            real *better = r->tried;
            r->tried = r->weights;
            r->weights = better;
            r->least = error;
        }
    }
    *done = r->piece++ == RIDGE_PENALTIES;
    if (*done && !isfinite(r->least) && diagonal > 0)
        return error_set(err, STATUS_NUMERIC, NULL, "the ridge regression has no finite solution");
    return STATUS_OK;
}

void ridge_predict(const struct ridge *r, int rows, bool standard, real *x, real *y)
{
    if (!standard)
        standardise(r, rows, x);
    predict(r, r->weights, rows, x, y);
}
