/* Linear layer with bias, ReLU and dropout in one pass.
 *
 * Backward: elements that ReLU or dropout discarded are zero in the result, and all others are positive, so the
 * backward pass uses the result as the mask. The values that dropout kept were multiplied by 1 / (1 - dropout); the
 * matrix products of the backward pass multiply their results by this factor (the alpha of a GEMM). One pass over
 * columns of dy applies the mask and sums the bias gradient; then both products run together. */
#include "core/autodiff/tape_int.h"

struct linear_node {
    struct node node;
    struct tensor *x;
    struct weight *w, *b;
    bool relu;
    real keep; /* factor of the values that dropout kept: 1 / (1 - dropout) */
};

enum { COLUMN_CHUNK = 128 };

struct column_task {
    const struct kernels *kernels;
    const struct linear_node *node;
    real *db; /* [cols] gradient of the bias, overwritten; NULL: not needed */
};

static void column_task(void *context, int chunk, int worker)
{
    const struct column_task *task = context;
    const struct tensor *out = task->node->node.out;
    int col = chunk * COLUMN_CHUNK, cols = out->cols - col < COLUMN_CHUNK ? out->cols - col : COLUMN_CHUNK;
    for (int r = 0; r < out->rows && task->node->relu; r++) {
        ptrdiff_t at = (ptrdiff_t)r * out->cols + col;
        task->kernels->relu_backward((size_t)cols, out->data + at, out->grad + at, out->grad + at);
    }
    if (task->db == NULL)
        return;
    for (int j = col; j < col + cols; j++)
        task->db[j] = R(0.0);
    task->kernels->column_sums(out->rows, cols, out->grad + col, out->cols, task->db + col);
}

static void linear_backward(struct exec *e, struct node *node)
{
    struct linear_node *n = (struct linear_node *)node;
    struct tensor *out = node->out, *x = n->x;
    bool db = weight_wants(e, n->b), add = false;
    struct column_task columns = {e->kernels, n, db ? op_reals(e, (size_t)out->cols) : NULL};
    if (db && columns.db == NULL)
        return;
    if (db || n->relu)
        (void)op_run(e, column_task, &columns, (out->cols + COLUMN_CHUNK - 1) / COLUMN_CHUNK);
    if (db)
        e->kernels->axpy((size_t)out->cols, n->keep, columns.db, weight_open(n->b, true, &add));
    struct gemm_job jobs[2];
    int count = 0;
    if (x->wants_grad) {
        real *dx = grad_open(e, x, &add);
        if (dx == NULL)
            return;
        jobs[count++] = (struct gemm_job){.call = {.m = x->rows,
                                                   .n = x->cols,
                                                   .k = out->cols,
                                                   .alpha = n->keep,
                                                   .beta = add ? R(1.0) : R(0.0),
                                                   .a = out->grad,
                                                   .lda = out->cols,
                                                   .b = n->w->value,
                                                   .ldb = x->cols,
                                                   .c = dx,
                                                   .ldc = x->cols}};
    }
    if (weight_wants(e, n->w)) {
        real *dw = weight_open(n->w, false, &add);
        jobs[count++] = (struct gemm_job){.call = {.transpose_a = true,
                                                   .m = out->cols,
                                                   .n = x->cols,
                                                   .k = x->rows,
                                                   .alpha = n->keep,
                                                   .beta = add ? R(1.0) : R(0.0),
                                                   .a = out->grad,
                                                   .lda = out->cols,
                                                   .b = x->data,
                                                   .ldb = x->cols,
                                                   .c = dw,
                                                   .ldc = x->cols}};
    }
    gemm_run(e, jobs, count);
}

struct tensor *op_linear(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, bool relu,
                         double dropout)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || w->rank != 2 || w->dim[1] != x->cols ||
        (b != NULL && b->count != (size_t)w->dim[0]) || (relu && b == NULL) || (dropout > 0.0 && !relu)) {
        op_fail(e, STATUS_INTERNAL, "linear: shapes do not fit");
        return NULL;
    }
    struct random_at at = op_random(e, (uint64_t)x->rows * (((uint64_t)w->dim[0] + 3) / 4 * 4), false);
    if (!e->training || dropout < 0.0)
        dropout = 0.0;
    struct tensor *out = op_out_rows(e, x->rows, w->dim[0], x->wants_grad || weight_wants(e, w) || weight_wants(e, b));
    struct linear_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct linear_node){.x = x, .w = w, .b = b, .relu = relu, .keep = (real)(1.0 / (1.0 - dropout))};
    struct gemm_job job = {.call = {.transpose_b = true,
                                    .m = x->rows,
                                    .n = out->cols,
                                    .k = x->cols,
                                    .alpha = R(1.0),
                                    .a = x->data,
                                    .lda = x->cols,
                                    .b = w->value,
                                    .ldb = x->cols,
                                    .c = out->data,
                                    .ldc = out->cols},
                           .bias = b == NULL ? NULL : b->value,
                           .relu = relu,
                           .dropout = dropout,
                           .at = at};
    gemm_run(e, &job, 1);
    return op_done(e, &n->node, "linear", linear_backward, out, since);
}
