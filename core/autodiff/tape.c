/* The tape: records nodes in a chain and runs their backward passes in reverse.
 *
 * A tensor's gradient buffer is in use from the first backward pass that writes to it until the backward pass of the
 * operation that computed the tensor. Then the buffer is free for the next tensor of exactly that size. The backward
 * pass of a deep stack of equal layers therefore needs only a few buffers. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct tensor *op_done(struct exec *e, struct node *node, const char *name,
                       void (*backward)(struct exec *e, struct node *node), struct tensor *out, double since)
{
    if (e->profile != NULL) {
        struct exec_profile_entry *entry = op_profile_entry(e->profile, name);
        entry->forward_seconds += op_clock(e) - since;
        entry->calls++;
    }
    if (e->error.code != STATUS_OK)
        return NULL;
    if (e->training && out->wants_grad) {
        node->name = name;
        node->backward = backward;
        node->out = out;
        node->before = e->tape->last;
        e->tape->last = node;
    }
    return out;
}

static void backward_node(struct exec *e, struct node *node)
{
    struct tensor *out = node->out;
    if (out == NULL) /* the node is a mark (exec_done_from), not an operation */
        node->backward(e, node);
    if (out == NULL || !out->grad_ready)
        return;
    double since = op_clock(e);
    if (!node->regions)
        grad_fill(e, out);
    node->backward(e, node);
    if (out->grad != NULL)
        grad_release(e, out->grad, out->count);
    out->grad = NULL;
    out->grad_ready = false;
    out->where = NULL;
    if (e->profile != NULL)
        op_profile_entry(e->profile, node->name)->backward_seconds += op_clock(e) - since;
}

static void seed_root(struct exec *e, struct tensor *root, const real *seed)
{
    bool add;
    real *grad = grad_open(e, root, &add);
    if (grad == NULL)
        return;
    for (size_t i = 0; i < root->count && seed == NULL; i++)
        grad[i] = R(1.0);
    if (seed != NULL)
        memcpy(grad, seed, root->count * sizeof(real));
}

enum status tape_backward(struct exec *exec, struct tensor *root, const real *seed, struct error *err)
{
    if (exec->error.code == STATUS_OK && (root == NULL || !exec->training))
        op_fail(exec, STATUS_INTERNAL, "backward pass without a recorded result");
    if (exec->error.code == STATUS_OK && root != NULL && root->wants_grad)
        seed_root(exec, root, seed);
    for (struct node *node = exec->tape == NULL ? NULL : exec->tape->last;
         node != NULL && exec->error.code == STATUS_OK; node = node->before)
        backward_node(exec, node);
    if (exec->tape != NULL)
        exec->tape->last = NULL;
    return exec_status(exec, err);
}
