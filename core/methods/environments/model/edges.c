/* Builds the parameters of a tree's heads (edges.h): finds the edges whose changes the data can tell apart, and maps
 * parameters to the weights of every node. */
#include "core/methods/environments/model/edges.h"

#include <stdlib.h>
#include <string.h>

/* Counts over the subtree of a node, including the node. */
struct below {
    int seen, branches; /* seen: number of nodes with data; branches: number of children whose subtrees have data */
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

/* Finds the top, the lowest node whose subtree contains all nodes with data. w_0 at the top gives the same predictions
 * as w_0 at the root. */
static int find_top(const struct tree *tree, const bool *seen, const struct below *below)
{
    int top = 0;
    for (int v = 1; v < tree->nodes; v++)
        if (tree->parent[v] == top && !seen[top] && below[top].branches == 1 && below[v].seen > 0)
            top = v;
    return top;
}

/* Numbers the edges of a tree. length: [edges], the number of tree nodes that each edge spans. */
static void number_edges(const struct tree *tree, const bool *seen, bool merge, const struct below *below,
                         struct tree_edges *a, int *length)
{
    int top = find_top(tree, seen, below), joint = -1;
    bool joined = merge && !seen[top] && below[top].branches == 2;
    for (int v = top + 1; v < tree->nodes; v++) {
        int p = tree->parent[v];
        if (below[v].seen == 0 || p < top)
            continue;
        bool through = p != top && !seen[p] && below[p].branches == 1, first = joined && p == top && joint < 0;
        if (through)
            a->edge[v] = a->edge[p];
        else if (joined && p == top && joint >= 0)
            a->edge[v] = joint;
        else
            a->edge[v] = a->count++;
        joint = first ? a->edge[v] : joint;
        a->share[v] = first || (through && a->share[p] < 0) ? -1 : 1;
        length[a->edge[v]]++;
    }
}

static enum status take_memory(int nodes, struct tree_edges *a, struct error *err)
{
    size_t n = (size_t)nodes + 1;
    a->seen = calloc(n, sizeof *a->seen);
    a->parent = calloc(n, sizeof *a->parent);
    a->edge = calloc(n, sizeof *a->edge);
    a->share = calloc(n, sizeof *a->share);
    return a->seen && a->parent && a->edge && a->share ? STATUS_OK : error_memory(err, "edges");
}

static enum status edges_of_tree(const struct tree *tree, const bool *seen, bool merge, struct tree_edges *a,
                                 struct error *err)
{
    struct below *below = calloc((size_t)tree->nodes, sizeof *below);
    int *length = calloc((size_t)tree->nodes, sizeof *length);
    if (below && length) {
        count_below(tree, seen, below);
        number_edges(tree, seen, merge, below, a, length);
        for (int v = 0; v < tree->nodes; v++)
            a->share[v] /= (real)(a->edge[v] >= 0 ? length[a->edge[v]] : 1);
    }
    enum status status = below && length ? STATUS_OK : error_memory(err, "edges");
    free(below);
    free(length);
    return status;
}

enum status tree_edges_create(const struct tree *tree, const bool *seen, enum edge_shape shape, bool merge,
                              struct tree_edges *edges, struct error *err)
{
    *edges = (struct tree_edges){
        .shape = shape, .nodes = tree->nodes, .based = shape != EDGES_STAR, .offset = shape == EDGES_STAR};
    enum status status = take_memory(tree->nodes, edges, err);
    if (status)
        return status;
    memcpy(edges->seen, seen, (size_t)tree->nodes * sizeof *seen);
    for (int h = 0; h <= tree->nodes; h++) {
        edges->edge[h] = -1;
        edges->parent[h] = shape == EDGES_STAR ? 0 : h < tree->nodes ? tree->parent[h] : 0;
    }
    for (int v = 0; v < tree->nodes && shape == EDGES_STAR; v++) {
        edges->edge[v + 1] = seen[v] ? edges->count++ : -1;
        edges->share[v + 1] = 1;
    }
    if (shape == EDGES_TREE)
        status = edges_of_tree(tree, seen, merge, edges, err);
    edges->heads = (struct tree_heads){tree->nodes + edges->offset, edges->parent, edges->edge, edges->share};
    return status;
}

void tree_edges_close(struct tree_edges *edges)
{
    free(edges->seen);
    free(edges->parent);
    free(edges->edge);
    free(edges->share);
    *edges = (struct tree_edges){0};
}

void tree_edges_gather(const struct tree_edges *edges, const double *by_node, int latent, double *by_edge)
{
    memset(by_edge, 0, (size_t)edges->count * (size_t)latent * sizeof *by_edge);
    for (int v = 0; v < edges->nodes; v++)
        for (int c = 0; c < latent && edges->edge[v] >= 0; c++)
            by_edge[(ptrdiff_t)edges->edge[v] * latent + c] +=
                (edges->share[v] < 0 ? -1 : 1) * by_node[(ptrdiff_t)v * latent + c];
}

void tree_edges_weights(const struct tree_edges *edges, const struct weight *base, const struct weight *changes,
                        int latent, float *w)
{
    if (edges->shape != EDGES_STAR) {
        tree_heads_expand(&edges->heads, base, changes, latent, w);
        return;
    }
    for (int c = 0; c < latent; c++) {
        double mean = 0;
        for (int i = 0; i < edges->count; i++)
            mean += (double)changes->value[(ptrdiff_t)i * latent + c] / edges->count;
        for (int v = 0; v < edges->nodes; v++)
            w[(ptrdiff_t)v * latent + c] =
                edges->seen[v] ? changes->value[(ptrdiff_t)edges->edge[v + 1] * latent + c] : (float)mean;
    }
}
