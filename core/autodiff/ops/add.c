/* Adds two tensors, with optional dropout of the second; adds positional encodings or a number to a tensor; multiplies
 * a tensor by a number. Element-wise operations work on rows and on maps alike. */
#include <string.h>

#include "core/autodiff/tape_int.h"

struct add_node {
    struct node node;
    struct tensor *x, *y;
    struct weight *table;
    int divisor, period;
    double dropout, factor;
    struct random_at at;
};

struct add_task {
    const struct kernels *kernels;
    size_t count;
    const real *x, *y; /* out = x + dropout(y); in a backward pass x is NULL, and out = dropout(y) */
    real *out;
    double dropout;
    struct random_at at;
    /* only for op_add_rows: */
    const real *table;
    int rows, cols, divisor, period;
    struct row_split split;
};

static void dropout_piece(const struct add_task *task, size_t at, size_t count)
{
    struct dropout_call call = {.count = count,
                                .p = task->dropout,
                                .at = task->at,
                                .x = task->y + at,
                                .add = task->x == NULL ? NULL : task->x + at,
                                .y = task->out + at};
    call.at.index += at;
    task->kernels->dropout(&call);
}

static void dropout_task(void *context, int chunk, int worker)
{
    const struct add_task *task = context;
    dropout_piece(task, (size_t)chunk * FLAT_CHUNK, flat_count(task->count, chunk));
}

/* Applies the dropout mask to dy and writes the result to `to`, which may be dy itself. */
static void drop_gradient(struct exec *e, const struct add_node *n, struct tensor *out, real *to)
{
    if (n->dropout <= 0.0 && to == out->grad)
        return;
    struct add_task task = {
        .kernels = e->kernels, .count = out->count, .y = out->grad, .out = to, .dropout = n->dropout, .at = n->at};
    (void)op_run(e, dropout_task, &task, flat_chunks(out->count));
}

static void residual_backward(struct exec *e, struct node *node)
{
    struct add_node *n = (struct add_node *)node;
    struct tensor *out = node->out;
    if (n->y->wants_grad) {
        if (!n->x->wants_grad) {
            drop_gradient(e, n, out, out->grad);
            grad_pass(e, out, n->y);
            return;
        }
        real *dy = grad_buffer(e, n->y);
        if (dy == NULL)
            return;
        drop_gradient(e, n, out, dy);
        grad_give(e, n->y, dy);
    }
    grad_pass(e, out, n->x);
}

static struct tensor *residual(struct exec *e, const char *name, struct tensor *x, struct tensor *y, double dropout)
{
    double since = op_clock(e);
    if (x == NULL || y == NULL || e->error.code)
        return NULL;
    if (!tensor_same(x, y)) {
        op_fail(e, STATUS_INTERNAL, "%s: shapes do not fit", name);
        return NULL;
    }
    struct random_at at = op_random(e, y->count, e->training && dropout > 0.0);
    struct tensor *out = op_out_like(e, y, y->wants_grad || x->wants_grad);
    struct add_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct add_node){.x = x, .y = y, .at = at, .dropout = e->training && dropout > 0.0 ? dropout : 0.0};
    struct add_task task = {.kernels = e->kernels,
                            .count = y->count,
                            .y = y->data,
                            .out = out->data,
                            .x = x->data,
                            .dropout = n->dropout,
                            .at = at};
    (void)op_run(e, dropout_task, &task, flat_chunks(y->count));
    return op_done(e, &n->node, name, residual_backward, out, since);
}

struct tensor *op_residual(struct exec *e, struct tensor *x, struct tensor *y, double dropout)
{
    return residual(e, "residual", x, y, dropout);
}

struct tensor *op_add(struct exec *e, struct tensor *x, struct tensor *y)
{
    return residual(e, "add", x, y, 0.0);
}

/* --- multiples ---------------------------------------------------------------------------------- */

/* Allocates the output of an operation on x, and its node; NULL after a failure. */
static struct add_node *element_wise(struct exec *e, struct tensor *x, struct tensor **out)
{
    if (x == NULL || e->error.code)
        return NULL;
    *out = op_out_like(e, x, x->wants_grad);
    struct add_node *n = op_alloc(e, sizeof(*n));
    if (*out == NULL || n == NULL)
        return NULL;
    *n = (struct add_node){.x = x};
    return n;
}

static void scale_backward(struct exec *e, struct node *node)
{
    struct add_node *n = (struct add_node *)node;
    e->kernels->scale(node->out->count, (real)n->factor, node->out->grad);
    grad_pass(e, node->out, n->x);
}

struct tensor *op_scale(struct exec *e, struct tensor *x, double factor)
{
    double since = op_clock(e);
    struct tensor *out = NULL;
    struct add_node *n = element_wise(e, x, &out);
    if (n == NULL)
        return NULL;
    n->factor = factor;
    memcpy(out->data, x->data, x->count * sizeof(real));
    e->kernels->scale(x->count, (real)factor, out->data);
    return op_done(e, &n->node, "scale", scale_backward, out, since);
}

static void raise_backward(struct exec *e, struct node *node)
{
    grad_pass(e, node->out, ((struct add_node *)node)->x);
}

struct tensor *op_raise(struct exec *e, struct tensor *x, double rise)
{
    double since = op_clock(e);
    struct tensor *out = NULL;
    struct add_node *n = element_wise(e, x, &out);
    if (n == NULL)
        return NULL;
    for (size_t i = 0; i < x->count; i++)
        out->data[i] = x->data[i] > R(0.0) ? x->data[i] + (real)rise : x->data[i];
    return op_done(e, &n->node, "raise", raise_backward, out, since);
}

/* --- positions ---------------------------------------------------------------------------------- */

static void add_rows_task(void *context, int chunk, int worker)
{
    const struct add_task *task = context;
    int first = chunk * task->split.rows, rows = row_split_count(&task->split, task->rows, chunk);
    size_t cols = (size_t)task->cols, at = (size_t)first * cols, count = (size_t)rows * cols;
    memcpy(task->out + at, task->y + at, count * sizeof(real));
    for (int r = first; r < first + rows; r++)
        task->kernels->add(cols, task->table + (size_t)(r / task->divisor % task->period) * cols,
                           task->out + (size_t)r * cols);
    if (task->dropout <= 0.0)
        return;
    struct dropout_call call = {
        .count = count, .p = task->dropout, .at = task->at, .x = task->out + at, .y = task->out + at};
    call.at.index += at;
    task->kernels->dropout(&call);
}

static void add_rows_backward(struct exec *e, struct node *node)
{
    struct add_node *n = (struct add_node *)node;
    struct tensor *out = node->out;
    drop_gradient(e, n, out, out->grad);
    if (weight_wants(e, n->table)) {
        bool add;
        real *dtable = weight_open(n->table, true, &add);
        size_t cols = (size_t)out->cols;
        for (int r = 0; r < out->rows; r++)
            e->kernels->add(cols, out->grad + (size_t)r * cols, dtable + (size_t)(r / n->divisor % n->period) * cols);
    }
    grad_pass(e, out, n->x);
}

struct tensor *op_add_rows(struct exec *e, struct tensor *x, struct weight *table, int divisor, int period,
                           double dropout)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || divisor < 1 || period < 1 || table->dim[0] < period || table->dim[1] != x->cols) {
        op_fail(e, STATUS_INTERNAL, "positions: shapes do not fit");
        return NULL;
    }
    struct random_at at = op_random(e, x->count, e->training && dropout > 0.0);
    struct tensor *out = op_out_rows(e, x->rows, x->cols, x->wants_grad || weight_wants(e, table));
    struct add_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct add_node){.x = x,
                           .table = table,
                           .divisor = divisor,
                           .period = period,
                           .at = at,
                           .dropout = e->training && dropout > 0.0 ? dropout : 0.0};
    struct add_task task = {.kernels = e->kernels,
                            .y = x->data,
                            .out = out->data,
                            .dropout = n->dropout,
                            .at = at,
                            .table = table->value,
                            .rows = x->rows,
                            .cols = x->cols,
                            .divisor = divisor,
                            .period = period,
                            .split = row_split(x->rows, x->cols)};
    (void)op_run(e, add_rows_task, &task, task.split.chunks);
    return op_done(e, &n->node, "add_rows", add_rows_backward, out, since);
}
