/* The penalty of KL sparsity (SPARLING §J.1): the KL divergence of the mean activation from a target rate. */
#include <math.h>

#include "core/autodiff/tape_int.h"

struct divergence_node {
    struct node node;
    struct tensor *x;
    double slope;
};

static void divergence_backward(struct exec *e, struct node *node)
{
    struct divergence_node *n = (struct divergence_node *)node;
    real *buffer = grad_buffer(e, n->x);
    if (buffer == NULL)
        return;
    buffer[0] = (real)(n->slope * (double)node->out->grad[0]);
    grad_give(e, n->x, buffer);
}

struct tensor *op_rate_divergence(struct exec *e, struct tensor *mean, double rate)
{
    double since = op_clock(e);
    if (mean == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_rows(e, 1, 1, mean->wants_grad);
    struct divergence_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    double least = 1e-12, p = fmin(fmax((double)mean->data[0], least), 1.0 - least);
    n->x = mean;
    n->slope = (1.0 - rate) / (1.0 - p) - rate / p;
    out->data[0] = (real)(rate * log(rate / p) + (1.0 - rate) * log((1.0 - rate) / (1.0 - p)));
    return op_done(e, &n->node, "rate_divergence", divergence_backward, out, since);
}
