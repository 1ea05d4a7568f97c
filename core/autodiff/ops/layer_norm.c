/* Layer norm over the columns of rows, of x or of s = x + dropout(y).
 *
 * The forward pass stores s. The backward pass computes the gradient of s once. The gradient of s is also the gradient
 * of x. With the dropout mask applied, it is the gradient of y. */
#include "core/autodiff/tape_int.h"

#define LAYER_NORM_EPSILON R(1e-5)

struct layer_node {
    struct node node;
    struct tensor *x, *y; /* y NULL: layer norm of x alone */
    struct weight *gain, *bias;
    double dropout;
    struct random_at at;
    real *sum, *mean, *inv_std; /* sum: the input of the norm, x + dropout(y), or the data of x if y is NULL; mean,
                                   inv_std: moments of each row of `sum` */
};

struct layer_task {
    const struct kernels *kernels;
    const struct layer_node *node;
    struct row_split split;
    int rows, cols;
    real *out;
    const real *dout;
    real *dx, *dy;
    bool add;
    real *partials; /* [chunks][2][cols] gradients of gain and bias */
};

static void layer_forward_task(void *context, int chunk, int worker)
{
    const struct layer_task *task = context;
    const struct layer_node *n = task->node;
    int first = chunk * task->split.rows, rows = row_split_count(&task->split, task->rows, chunk);
    size_t at = (size_t)first * (size_t)task->cols;
    if (n->y != NULL) {
        struct dropout_call call = {.count = (size_t)rows * (size_t)task->cols,
                                    .p = n->dropout,
                                    .at = n->at,
                                    .x = n->y->data + at,
                                    .add = n->x->data + at,
                                    .y = n->sum + at};
        call.at.index += at;
        task->kernels->dropout(&call);
    }
    struct layer_norm_call call = {.rows = rows,
                                   .columns = task->cols,
                                   .epsilon = LAYER_NORM_EPSILON,
                                   .x = n->sum + at,
                                   .gamma = n->gain->value,
                                   .beta = n->bias->value,
                                   .y = task->out + at,
                                   .mean = n->mean + first,
                                   .inv_std = n->inv_std + first,
                                   .ld_x = task->cols,
                                   .ld_y = task->cols};
    task->kernels->layer_norm_forward(&call);
}

static void layer_backward_task(void *context, int chunk, int worker)
{
    const struct layer_task *task = context;
    const struct layer_node *n = task->node;
    int first = chunk * task->split.rows, rows = row_split_count(&task->split, task->rows, chunk);
    size_t at = (size_t)first * (size_t)task->cols;
    real *partial = task->partials + (size_t)chunk * 2 * (size_t)task->cols;
    struct layer_norm_call call = {.rows = rows,
                                   .columns = task->cols,
                                   .epsilon = LAYER_NORM_EPSILON,
                                   .x = n->sum + at,
                                   .gamma = n->gain->value,
                                   .beta = n->bias->value,
                                   .dy = task->dout + at,
                                   .add = task->add ? task->dx + at : NULL,
                                   .mean = n->mean + first,
                                   .inv_std = n->inv_std + first,
                                   .dx = task->dx + at,
                                   .dgamma = partial,
                                   .dbeta = partial + task->cols,
                                   .ld_x = task->cols,
                                   .ld_dy = task->cols,
                                   .ld_dx = task->cols,
                                   .ld_add = task->cols};
    task->kernels->layer_norm_backward(&call);
    if (task->dy == NULL)
        return;
    struct dropout_call drop = {.count = (size_t)rows * (size_t)task->cols,
                                .p = n->dropout,
                                .at = n->at,
                                .x = task->dx + at,
                                .y = task->dy + at};
    drop.at.index += at;
    task->kernels->dropout(&drop);
}

static void layer_collect(struct exec *e, const struct layer_node *n, const struct layer_task *task)
{
    size_t cols = (size_t)task->cols;
    bool add;
    real *dgain = weight_wants(e, n->gain) ? weight_open(n->gain, true, &add) : NULL;
    real *dbias = weight_wants(e, n->bias) ? weight_open(n->bias, true, &add) : NULL;
    for (int chunk = 0; chunk < task->split.chunks; chunk++) {
        if (dgain != NULL)
            e->kernels->add(cols, task->partials + (size_t)chunk * 2 * cols, dgain);
        if (dbias != NULL)
            e->kernels->add(cols, task->partials + ((size_t)chunk * 2 + 1) * cols, dbias);
    }
}

static void layer_backward(struct exec *e, struct node *node)
{
    struct layer_node *n = (struct layer_node *)node;
    struct tensor *out = node->out;
    struct layer_task task = {.kernels = e->kernels,
                              .node = n,
                              .split = row_split(out->rows, out->cols),
                              .rows = out->rows,
                              .cols = out->cols,
                              .dout = out->grad,
                              .dx = out->grad};
    task.partials = op_zeros(e, (size_t)task.split.chunks * 2 * (size_t)out->cols);
    /* The task writes dx over dout. Only if there is no y and x already has a gradient, it adds dx to that gradient. If
     * y needs a gradient, dy gets a buffer of its own. */
    if (n->y != NULL && n->y->wants_grad)
        task.dy = grad_buffer(e, n->y);
    else if (n->y == NULL && n->x->grad_ready) {
        task.dx = n->x->grad;
        task.add = true;
    }
    if (e->error.code)
        return;
    (void)op_run(e, layer_backward_task, &task, task.split.chunks);
    layer_collect(e, n, &task);
    if (task.dy != NULL)
        grad_give(e, n->y, task.dy);
    if (!task.add)
        grad_pass(e, out, n->x);
}

static struct tensor *layer_norm(struct exec *e, const char *name, struct tensor *x, struct tensor *y, double dropout,
                                 struct weight *gain, struct weight *bias)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || gain->count != (size_t)x->cols || bias->count != (size_t)x->cols ||
        (y != NULL && !tensor_same(x, y))) {
        op_fail(e, STATUS_INTERNAL, "%s: shapes do not fit", name);
        return NULL;
    }
    bool wants = x->wants_grad || (y != NULL && y->wants_grad) || weight_wants(e, gain) || weight_wants(e, bias);
    struct tensor *out = op_out_rows(e, x->rows, x->cols, wants);
    struct layer_node *n = op_alloc(e, sizeof(*n));
    real *kept = op_reals(e, 2 * (size_t)x->rows);
    if (out == NULL || n == NULL || kept == NULL)
        return NULL;
    *n = (struct layer_node){
        .x = x, .y = y, .gain = gain, .bias = bias, .mean = kept, .inv_std = kept + x->rows, .sum = x->data};
    if (y != NULL) {
        n->dropout = e->training && dropout > 0.0 ? dropout : 0.0;
        n->at = op_random(e, x->count, n->dropout > 0.0);
        n->sum = op_reals(e, x->count);
        if (n->sum == NULL)
            return NULL;
    }
    struct layer_task task = {.kernels = e->kernels,
                              .node = n,
                              .split = row_split(x->rows, x->cols),
                              .rows = x->rows,
                              .cols = x->cols,
                              .out = out->data};
    (void)op_run(e, layer_forward_task, &task, task.split.chunks);
    return op_done(e, &n->node, name, layer_backward, out, since);
}

struct tensor *op_layer_norm(struct exec *e, struct tensor *x, struct weight *gain, struct weight *bias)
{
    return layer_norm(e, "layer_norm", x, NULL, 0.0, gain, bias);
}

struct tensor *op_residual_norm(struct exec *e, struct tensor *x, struct tensor *y, double dropout, struct weight *gain,
                                struct weight *bias)
{
    return y == NULL ? NULL : layer_norm(e, "residual_norm", x, y, dropout, gain, bias);
}
