/* Softmax cross-entropy. The forward pass also computes the gradient; the backward pass only scales it. */
#include "core/autodiff/tape_int.h"

struct loss_node {
    struct node node;
    struct tensor *logits;
    real *dlogits;
};

struct loss_task {
    const struct kernels *kernels;
    const struct tensor *logits;
    struct row_split split;
    const int32_t *targets;
    real scale, *loss, *dlogits;
};

static void loss_task(void *context, int chunk, int worker)
{
    const struct loss_task *task = context;
    int first = chunk * task->split.rows, classes = task->logits->cols;
    ptrdiff_t at = (ptrdiff_t)first * classes;
    struct cross_entropy_call call = {.rows = row_split_count(&task->split, task->logits->rows, chunk),
                                      .classes = classes,
                                      .scale = task->scale,
                                      .logits = task->logits->data + at,
                                      .targets = task->targets + first,
                                      .ld_logits = classes,
                                      .ld_dlogits = classes,
                                      .loss = task->loss + first,
                                      .dlogits = task->dlogits == NULL ? NULL : task->dlogits + at};
    task->kernels->cross_entropy(&call);
}

static void loss_backward(struct exec *e, struct node *node)
{
    struct loss_node *n = (struct loss_node *)node;
    real factor = node->out->grad[0];
    if (factor != R(1.0))
        e->kernels->scale(n->logits->count, factor, n->dlogits);
    grad_give(e, n->logits, n->dlogits);
}

struct tensor *op_cross_entropy(struct exec *e, struct tensor *logits, const int32_t *targets)
{
    double since = op_clock(e);
    if (logits == NULL || e->error.code)
        return NULL;
    double counted = 0;
    for (int r = 0; r < logits->rows; r++) {
        if (targets[r] >= logits->cols) {
            op_fail(e, STATUS_INTERNAL, "cross-entropy: target %d of %d classes", (int)targets[r], logits->cols);
            return NULL;
        }
        counted += targets[r] >= 0;
    }
    if (!op_ranks_sum(e, &counted, 1))
        return NULL;
    struct tensor *out = op_out_rows(e, 1, 1, logits->wants_grad);
    struct loss_node *n = op_alloc(e, sizeof(*n));
    real *loss = op_reals(e, (size_t)logits->rows);
    real *dlogits = e->training && logits->wants_grad ? grad_buffer(e, logits) : NULL;
    if (out == NULL || n == NULL || loss == NULL || e->error.code)
        return NULL;
    double scale = counted > 0 ? 1.0 / counted : 0.0, sum = 0.0;
    struct loss_task task = {.kernels = e->kernels,
                             .logits = logits,
                             .targets = targets,
                             .scale = (real)scale,
                             .split = row_split(logits->rows, logits->cols),
                             .loss = loss,
                             .dlogits = dlogits};
    (void)op_run(e, loss_task, &task, task.split.chunks);
    for (int r = 0; r < logits->rows; r++)
        sum += (double)loss[r];
    op_ranks_sum(e, &sum, 1);
    out->data[0] = (real)(sum * scale);
    n->logits = logits;
    n->dlogits = dlogits;
    return op_done(e, &n->node, "cross_entropy", loss_backward, out, since);
}
