/* Scales columns to unit variance and does not shift them, so that latent variables cannot grow while their weights
 * shrink. */
#include "core/autodiff/tape_int.h"

#include <math.h>

static const double EPSILON = 1e-8;

struct unit_node {
    struct node node;
    struct tensor *x;
    double *mean, *deviation;
};

/* For a column of n rows with mean and variance v, let s = sqrt(v + epsilon), and let g be the gradient of the result.
 * Then dx = g / s - (sum g x) (x - mean) / (n s^3). */
static void unit_backward(struct exec *e, struct node *node)
{
    struct unit_node *n = (struct unit_node *)node;
    const struct tensor *x = n->x, *out = node->out;
    int rows = x->rows, cols = x->cols;
    double total = op_total(e, rows);
    bool add;
    double *sums = op_doubles(e, (size_t)cols);
    real *dx = grad_open(e, n->x, &add);
    if (dx == NULL || sums == NULL)
        return;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            sums[c] += (double)out->grad[(ptrdiff_t)r * cols + c] * (double)x->data[(ptrdiff_t)r * cols + c];
    if (!op_ranks_sum(e, sums, (size_t)cols))
        return;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            ptrdiff_t at = (ptrdiff_t)r * cols + c;
            double s = n->deviation[c], slope = sums[c] / (total * s * s * s);
            double d = (double)out->grad[at] / s - slope * ((double)x->data[at] - n->mean[c]);
            dx[at] = (add ? dx[at] : R(0.0)) + (real)d;
        }
}

static void moments(struct exec *e, const struct tensor *x, double *mean, double *deviation)
{
    int rows = x->rows, cols = x->cols;
    double total = op_total(e, rows);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            mean[c] += (double)x->data[(ptrdiff_t)r * cols + c] / total;
    op_ranks_sum(e, mean, (size_t)cols);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            double d = (double)x->data[(ptrdiff_t)r * cols + c] - mean[c];
            deviation[c] += d * d / total;
        }
    op_ranks_sum(e, deviation, (size_t)cols);
    for (int c = 0; c < cols; c++)
        deviation[c] = sqrt(deviation[c] + EPSILON);
}

struct tensor *op_unit_columns(struct exec *e, struct tensor *x, const struct weight *deviation)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_rows(e, x->rows, x->cols, x->wants_grad);
    struct unit_node *n = op_alloc(e, sizeof *n);
    double *numbers = op_doubles(e, 2 * (size_t)x->cols);
    if (out == NULL || n == NULL || numbers == NULL)
        return NULL;
    n->x = x;
    n->mean = numbers;
    n->deviation = numbers + x->cols;
    if (e->training)
        moments(e, x, n->mean, n->deviation);
    for (int c = 0; c < x->cols && !e->training; c++)
        n->deviation[c] = (double)deviation->value[c];
    for (int r = 0; r < x->rows; r++)
        for (int c = 0; c < x->cols; c++) {
            ptrdiff_t at = (ptrdiff_t)r * x->cols + c;
            out->data[at] = (real)((double)x->data[at] / n->deviation[c]);
        }
    return op_done(e, &n->node, "unit_columns", unit_backward, out, since);
}
