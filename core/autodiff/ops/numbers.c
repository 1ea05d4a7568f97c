/* Operations for numbers as targets: the squared error; the sum over each group of rows, which counts motifs; and the
 * probability that a channel has a motif. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"

/* ---- squared error ------------------------------------------------------------------------------------------ */

struct squared_node {
    struct node node;
    struct tensor *y;
    real *error; /* [rows][cols] derivative of the loss */
};

static void squared_backward(struct exec *e, struct node *node)
{
    struct squared_node *n = (struct squared_node *)node;
    real *buffer = grad_buffer(e, n->y);
    if (buffer == NULL)
        return;
    for (size_t i = 0; i < n->y->count; i++)
        buffer[i] = node->out->grad[0] * n->error[i];
    grad_give(e, n->y, buffer);
}

struct tensor *op_squared_error(struct exec *e, struct tensor *y, const real *x)
{
    double since = op_clock(e);
    if (y == NULL || e->error.code)
        return NULL;
    if (y->kind != TENSOR_ROWS) {
        op_fail(e, STATUS_INTERNAL, "squared-error: the input does not consist of rows");
        return NULL;
    }
    struct tensor *out = op_out_rows(e, 1, 1, y->wants_grad);
    struct squared_node *n = op_alloc(e, sizeof *n);
    real *error = op_reals(e, y->count);
    if (out == NULL || n == NULL || error == NULL)
        return NULL;
    double scale = 1 / op_total(e, (double)y->count), sum = 0;
    for (size_t i = 0; i < y->count; i++) {
        double difference = (double)y->data[i] - (double)x[i];
        sum += difference * difference;
        error[i] = (real)(2 * scale * difference);
    }
    if (!op_ranks_sum(e, &sum, 1))
        return NULL;
    out->data[0] = (real)(scale * sum);
    n->y = y;
    n->error = error;
    return op_done(e, &n->node, "squared_error", squared_backward, out, since);
}

/* ---- sums of groups of rows --------------------------------------------------------------------------------- */

struct groups_node {
    struct node node;
    struct tensor *x;
    int each;
};

static void groups_backward(struct exec *e, struct node *node)
{
    struct groups_node *n = (struct groups_node *)node;
    size_t cols = (size_t)n->x->cols;
    real *buffer = grad_buffer(e, n->x);
    if (buffer == NULL)
        return;
    for (int row = 0; row < n->x->rows; row++)
        memcpy(buffer + (size_t)row * cols, node->out->grad + (size_t)(row / n->each) * cols, cols * sizeof *buffer);
    grad_give(e, n->x, buffer);
}

struct tensor *op_sum_groups(struct exec *e, struct tensor *x, int each)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || each < 1 || x->rows % each != 0) {
        op_fail(e, STATUS_INTERNAL, "sum-groups: the rows cannot be divided into groups of %d", each);
        return NULL;
    }
    struct tensor *out = op_out_rows(e, x->rows / each, x->cols, x->wants_grad);
    struct groups_node *n = op_alloc(e, sizeof *n);
    double *sums = op_doubles(e, (size_t)x->cols);
    if (out == NULL || n == NULL || sums == NULL)
        return NULL;
    for (int group = 0; group < out->rows; group++) {
        memset(sums, 0, (size_t)x->cols * sizeof *sums);
        for (int row = group * each; row < (group + 1) * each; row++)
            for (int c = 0; c < x->cols; c++)
                sums[c] += (double)x->data[(size_t)row * (size_t)x->cols + (size_t)c];
        for (int c = 0; c < x->cols; c++)
            out->data[(size_t)group * (size_t)x->cols + (size_t)c] = (real)sums[c];
    }
    n->x = x;
    n->each = each;
    return op_done(e, &n->node, "sum_groups", groups_backward, out, since);
}

/* ---- probabilities of columns ------------------------------------------------------------------------------- */

struct odds_node {
    struct node node;
    struct tensor *x;
    struct weight *gain, *bias;
};

static void odds_backward(struct exec *e, struct node *node)
{
    struct odds_node *n = (struct odds_node *)node;
    const struct tensor *x = n->x, *out = node->out;
    bool add;
    real *dgain = weight_wants(e, n->gain) ? weight_open(n->gain, true, &add) : NULL;
    real *dbias = weight_wants(e, n->bias) ? weight_open(n->bias, true, &add) : NULL;
    real *buffer = x->wants_grad ? grad_buffer(e, x) : NULL;
    if (x->wants_grad && buffer == NULL)
        return;
    for (size_t i = 0; i < x->count; i++) {
        size_t c = i % (size_t)x->cols;
        real d = out->grad[i] * out->data[i] * (R(1.0) - out->data[i]);
        if (dgain != NULL)
            dgain[c] += d * x->data[i];
        if (dbias != NULL)
            dbias[c] += d;
        if (buffer != NULL)
            buffer[i] = d * n->gain->value[c];
    }
    if (buffer != NULL)
        grad_give(e, n->x, buffer);
}

struct tensor *op_odds(struct exec *e, struct tensor *x, struct weight *gain, struct weight *bias)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || gain->count != (size_t)x->cols || bias->count != (size_t)x->cols) {
        op_fail(e, STATUS_INTERNAL, "odds: the weights do not fit the %d columns", x->cols);
        return NULL;
    }
    struct tensor *out =
        op_out_rows(e, x->rows, x->cols, x->wants_grad || weight_wants(e, gain) || weight_wants(e, bias));
    struct odds_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    for (size_t i = 0; i < x->count; i++) {
        size_t c = i % (size_t)x->cols;
        out->data[i] = (real)(1 / (1 + exp(-(double)(gain->value[c] * x->data[i] + bias->value[c]))));
    }
    n->x = x;
    n->gain = gain;
    n->bias = bias;
    return op_done(e, &n->node, "odds", odds_backward, out, since);
}
