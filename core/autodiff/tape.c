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
    if (e->error.code)
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
    if (!exec->error.code && (root == NULL || !exec->training))
        op_fail(exec, STATUS_INTERNAL, "backward pass without a recorded result");
    if (!exec->error.code && root != NULL && root->wants_grad)
        seed_root(exec, root, seed);
    for (struct node *node = exec->tape == NULL ? NULL : exec->tape->last; node != NULL && !exec->error.code;
         node = node->before)
        backward_node(exec, node);
    if (exec->tape != NULL)
        exec->tape->last = NULL;
    return exec_status(exec, err);
}

/* Manages the gradient buffers of tensors and weights: decides whether an operation writes a gradient or adds to it,
 * and reuses free buffers.
 *
 * The first operation that has a gradient for a tensor writes it to the buffer, later operations add to it. A gradient
 * that is zero outside a region is defined inside that region only. Before an operation that needs the whole
 * map runs, the rest is filled with zeros. Buffers that are no longer read go into a list of free buffers (tape.spare)
 * and are used again, so a backward pass needs few buffers. */

void grad_fill(struct exec *e, struct tensor *x)
{
    if (x->where == NULL)
        return;
    region_clear(e, &x->map, x->grad, NULL, x->where);
    x->where = NULL;
}

real *grad_buffer(struct exec *e, const struct tensor *x)
{
    struct tape *tape = e->tape;
    real *at = NULL;
    for (int i = tape->spares; i-- > 0 && at == NULL;) {
        if (tape->spare[i].count == x->count) {
            at = tape->spare[i].at;
            tape->spare[i] = tape->spare[--tape->spares];
        }
    }
    if (at == NULL)
        at = op_reals(e, x->count);
    if (at != NULL && x->kind == TENSOR_MAP)
        (void)op_clear_halo(e, &x->map, at);
    return at;
}

void grad_release(struct exec *e, real *at, size_t count)
{
    struct tape *tape = e->tape;
    if (tape->spares < TAPE_SPARES) {
        tape->spare[tape->spares].at = at;
        tape->spare[tape->spares++].count = count;
    }
}

real *grad_open(struct exec *e, struct tensor *x, bool *add)
{
    *add = x->grad_ready;
    if (x->norm != NULL)
        x->norm->writers++;
    if (x->grad == NULL)
        x->grad = grad_buffer(e, x);
    grad_fill(e, x);
    x->grad_ready = x->grad != NULL;
    return x->grad;
}

void grad_give(struct exec *e, struct tensor *x, real *buffer)
{
    if (x->norm != NULL)
        x->norm->writers++;
    if (!x->grad_ready) {
        x->grad = buffer;
        x->grad_ready = true;
        return;
    }
    grad_fill(e, x);
    flat_add(e, x->count, buffer, x->grad);
    grad_release(e, buffer, x->count);
}

void grad_pass(struct exec *e, struct tensor *from, struct tensor *to)
{
    if (to == NULL || !to->wants_grad)
        return;
    if (to->grad_ready)
        grad_fill(e, from);
    to->where = to->grad_ready ? to->where : from->where;
    real *buffer = from->grad;
    from->grad = NULL;
    grad_give(e, to, buffer);
}

void grad_give_region(struct exec *e, struct tensor *x, real *buffer, struct region *region)
{
    bool first = !x->grad_ready;
    if (!first)
        region_clear(e, &x->map, buffer, NULL, region);
    grad_give(e, x, buffer);
    if (first)
        x->where = region;
}

real *grad_open_region(struct exec *e, struct tensor *x, struct region *region, bool *add)
{
    struct region *where = x->where;
    bool whole = x->grad_ready && where == NULL;
    if (region == NULL)
        return NULL;
    x->where = NULL; /* while this is NULL, grad_open() does not fill the rest of the buffer with zeros */
    real *grad = grad_open(e, x, add);
    if (grad == NULL || whole)
        return grad;
    x->where = region;
    if (*add) {
        x->where = region_unite(e, where, region);
        if (x->where == NULL)
            return NULL;
        region_clear(e, &x->map, grad, x->where, where);
    }
    return grad;
}

real *weight_open(struct weight *w, bool zero, bool *add)
{
    *add = w->grad_ready;
    if (zero && !w->grad_ready)
        memset(w->grad, 0, w->count * sizeof(real));
    w->grad_ready = true;
    return w->grad;
}
