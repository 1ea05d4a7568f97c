/* A linear head for every node of a tree: the parent's head plus the change on the edge between them. One thread
 * processes all rows, one after another, because heads are short and most of the work is in the encoder. */
#include "core/autodiff/tape_int.h"

#include <string.h>

struct heads_node {
    struct node node;
    struct tensor *z;
    const int32_t *at;
    struct weight *base, *changes;
    const struct tree_heads *heads;
    real *weights; /* [nodes][cols] heads of all nodes */
};

void tree_heads_expand(const struct tree_heads *heads, const struct weight *base, const struct weight *changes,
                       int cols, real *weights)
{
    for (int c = 0; c < cols; c++)
        weights[c] = base != NULL ? base->value[c] : R(0.0);
    for (int v = 1; v < heads->nodes; v++) {
        const real *from = weights + (ptrdiff_t)heads->parent[v] * cols;
        real *to = weights + (ptrdiff_t)v * cols;
        const real *change = heads->edge[v] < 0 ? NULL : changes->value + (ptrdiff_t)heads->edge[v] * cols;
        for (int c = 0; c < cols; c++)
            to[c] = from[c] + (change != NULL ? heads->share[v] * change[c] : R(0.0));
    }
}

/* Computes the gradients of the changes and of `base`, the head of the root. A node's head is its parent's head plus a
 * share of the change on its edge. So the loop goes from the children to the parents and adds each node's gradient to
 * that of its parent. sums: [nodes][cols], on entry the gradient of each node's own head. */
static void to_changes(const struct heads_node *n, int cols, real *sums)
{
    bool add;
    real *dbase = n->base != NULL && n->base->grad != NULL ? weight_open(n->base, true, &add) : NULL;
    real *dchanges = n->changes != NULL && n->changes->grad != NULL ? weight_open(n->changes, true, &add) : NULL;
    for (int v = n->heads->nodes - 1; v > 0; v--) {
        real *to = sums + (ptrdiff_t)n->heads->parent[v] * cols;
        const real *from = sums + (ptrdiff_t)v * cols;
        int edge = n->heads->edge[v];
        for (int c = 0; c < cols; c++) {
            to[c] += from[c];
            if (dchanges != NULL && edge >= 0)
                dchanges[(ptrdiff_t)edge * cols + c] += n->heads->share[v] * from[c];
        }
    }
    for (int c = 0; dbase != NULL && c < cols; c++)
        dbase[c] += sums[c];
}

static void heads_backward(struct exec *e, struct node *node)
{
    struct heads_node *n = (struct heads_node *)node;
    struct tensor *z = n->z;
    int cols = z->cols;
    bool add;
    real *dz = z->wants_grad ? grad_open(e, z, &add) : NULL;
    real *sums = op_zeros(e, (size_t)n->heads->nodes * (size_t)cols);
    if (sums == NULL || (z->wants_grad && dz == NULL))
        return;
    for (int r = 0; r < z->rows; r++) {
        real g = node->out->grad[r];
        const real *w = n->weights + (ptrdiff_t)n->at[r] * cols, *x = z->data + (ptrdiff_t)r * cols;
        real *dw = sums + (ptrdiff_t)n->at[r] * cols;
        for (int c = 0; c < cols; c++)
            dw[c] += g * x[c];
        for (int c = 0; dz != NULL && c < cols; c++)
            dz[(ptrdiff_t)r * cols + c] = (add ? dz[(ptrdiff_t)r * cols + c] : R(0.0)) + g * w[c];
    }
    to_changes(n, cols, sums);
}

struct tensor *op_tree_heads(struct exec *e, struct tensor *z, const int32_t *node, struct weight *base,
                             struct weight *changes, const struct tree_heads *heads)
{
    double since = op_clock(e);
    if (z == NULL || e->error.code)
        return NULL;
    bool wants = z->wants_grad || weight_wants(e, base) || weight_wants(e, changes);
    struct tensor *out = op_out_rows(e, z->rows, 1, wants);
    struct heads_node *n = op_alloc(e, sizeof *n);
    real *weights = op_reals(e, (size_t)heads->nodes * (size_t)z->cols);
    if (out == NULL || n == NULL || weights == NULL)
        return NULL;
    n->z = z;
    n->at = node;
    n->base = base;
    n->changes = changes;
    n->heads = heads;
    n->weights = weights;
    tree_heads_expand(heads, base, changes, z->cols, weights);
    for (int r = 0; r < z->rows; r++) {
        const real *w = weights + (ptrdiff_t)node[r] * z->cols, *x = z->data + (ptrdiff_t)r * z->cols;
        real sum = R(0.0);
        for (int c = 0; c < z->cols; c++)
            sum += w[c] * x[c];
        out->data[r] = sum;
    }
    return op_done(e, &n->node, "tree_heads", heads_backward, out, since);
}
