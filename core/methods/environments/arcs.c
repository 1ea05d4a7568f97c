#include "core/methods/environments/arcs.h"

#include <stdlib.h>
#include <string.h>

/* What a node has below it, itself included. */
struct below {
    int seen, branches; /* nodes with data; children with data below them */
};

static void count_below(const struct tree *tree, const bool *seen, struct below *below)
{
    for (int v = 0; v < tree->nodes; v++)
        below[v] = (struct below){seen[v], 0};
    for (int v = tree->nodes - 1; v > 0; v--) {
        below[tree->parent[v]].seen += below[v].seen;
        below[tree->parent[v]].branches += below[v].seen > 0;
    }
}

/* Down from the root as long as there is neither data nor a branch: w_0 is as well the top's. */
static int find_top(const struct tree *tree, const bool *seen, const struct below *below)
{
    int top = 0;
    for (int v = 1; v < tree->nodes; v++)
        if (tree->parent[v] == top && !seen[top] && below[top].branches == 1 && below[v].seen > 0)
            top = v;
    return top;
}

/* Arcs of a tree; length: [arcs] nodes of each. */
static void name_arcs(const struct tree *tree, const bool *seen, bool merge, const struct below *below,
                      struct arcs *a, int *length)
{
    int top = find_top(tree, seen, below), joint = -1;
    bool joined = merge && !seen[top] && below[top].branches == 2;
    for (int v = top + 1; v < tree->nodes; v++) {
        int p = tree->parent[v];
        if (below[v].seen == 0 || p < top)
            continue;
        bool through = p != top && !seen[p] && below[p].branches == 1, first = joined && p == top && joint < 0;
        if (through)
            a->arc[v] = a->arc[p];
        else if (joined && p == top && joint >= 0)
            a->arc[v] = joint;
        else
            a->arc[v] = a->count++;
        joint = first ? a->arc[v] : joint;
        a->share[v] = first || (through && a->share[p] < 0) ? -1 : 1;
        length[a->arc[v]]++;
    }
}

static enum status take_memory(int nodes, struct arcs *a, struct error *err)
{
    size_t n = (size_t)nodes + 1;
    a->seen = calloc(n, sizeof *a->seen);
    a->parent = calloc(n, sizeof *a->parent);
    a->arc = calloc(n, sizeof *a->arc);
    a->share = calloc(n, sizeof *a->share);
    return a->seen && a->parent && a->arc && a->share ? STATUS_OK
                                                      : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for arcs");
}

static enum status tree_arcs(const struct tree *tree, const bool *seen, bool merge, struct arcs *a, struct error *err)
{
    struct below *below = calloc((size_t)tree->nodes, sizeof *below);
    int *length = calloc((size_t)tree->nodes, sizeof *length);
    if (below && length) {
        count_below(tree, seen, below);
        name_arcs(tree, seen, merge, below, a, length);
        for (int v = 0; v < tree->nodes; v++)
            a->share[v] /= (real)(a->arc[v] >= 0 ? length[a->arc[v]] : 1);
    }
    enum status status = below && length ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for arcs");
    free(below);
    free(length);
    return status;
}

enum status arcs_create(const struct tree *tree, const bool *seen, enum arcs_shape shape, bool merge,
                        struct arcs *arcs, struct error *err)
{
    *arcs = (struct arcs){
        .shape = shape, .nodes = tree->nodes, .based = shape != ARCS_STAR, .offset = shape == ARCS_STAR};
    enum status status = take_memory(tree->nodes, arcs, err);
    if (status)
        return status;
    memcpy(arcs->seen, seen, (size_t)tree->nodes * sizeof *seen);
    for (int h = 0; h <= tree->nodes; h++) {
        arcs->arc[h] = -1;
        arcs->parent[h] = shape == ARCS_STAR ? 0 : h < tree->nodes ? tree->parent[h] : 0;
    }
    for (int v = 0; v < tree->nodes && shape == ARCS_STAR; v++) {
        arcs->arc[v + 1] = seen[v] ? arcs->count++ : -1;
        arcs->share[v + 1] = 1;
    }
    if (shape == ARCS_TREE)
        status = tree_arcs(tree, seen, merge, arcs, err);
    arcs->heads = (struct tree_heads){tree->nodes + arcs->offset, arcs->parent, arcs->arc, arcs->share};
    return status;
}

void arcs_close(struct arcs *arcs)
{
    free(arcs->seen);
    free(arcs->parent);
    free(arcs->arc);
    free(arcs->share);
    *arcs = (struct arcs){0};
}

void arcs_gather(const struct arcs *arcs, const double *by_node, int latent, double *by_arc)
{
    memset(by_arc, 0, (size_t)arcs->count * (size_t)latent * sizeof *by_arc);
    for (int v = 0; v < arcs->nodes; v++)
        for (int c = 0; c < latent && arcs->arc[v] >= 0; c++)
            by_arc[(ptrdiff_t)arcs->arc[v] * latent + c] +=
                (arcs->share[v] < 0 ? -1 : 1) * by_node[(ptrdiff_t)v * latent + c];
}

void arcs_weights(const struct arcs *arcs, const struct weight *base, const struct weight *changes, int latent,
                  float *w)
{
    if (arcs->shape != ARCS_STAR) {
        tree_heads_expand(&arcs->heads, base, changes, latent, w);
        return;
    }
    for (int c = 0; c < latent; c++) {
        double mean = 0;
        for (int i = 0; i < arcs->count; i++)
            mean += (double)changes->value[(ptrdiff_t)i * latent + c] / arcs->count;
        for (int v = 0; v < arcs->nodes; v++)
            w[(ptrdiff_t)v * latent + c] =
                arcs->seen[v] ? changes->value[(ptrdiff_t)arcs->arc[v + 1] * latent + c] : (float)mean;
    }
}
