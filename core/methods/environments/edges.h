/* Which parameters the heads of a tree's nodes have: w_0 at the root and a change for every arc that data can tell
 * apart.
 *
 * Nodes without data below them have no arc of their own: their weights are their parent's, which is how an unseen
 * environment is predicted. Arcs in a row, with no data and no branch between, are one: the data see their sum, and
 * the nodes between lie at even steps. With `merge` so are the two edges of a root that has no data: shifting both of
 * them and w_0 together would change nothing, so w_0 lies half way and the change is that from the one side to the
 * other. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_EDGES_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_EDGES_H

#include "core/autodiff/ops.h"
#include "core/data/trees/tree.h"

enum edge_shape {
    EDGES_TREE,
    EDGES_STAR, /* every node with data a head of its own, from 0; others: the mean of these */
    EDGES_NONE  /* one head for all */
};

struct tree_edges {
    enum edge_shape shape;
    int nodes, count; /* of the tree; edges with a change */
    int offset;       /* the head of node v is offset + v */
    bool based;       /* there is a w_0 */
    bool *seen;       /* [nodes] has data */
    int *parent, *arc;
    real *share;
    struct tree_heads heads;
};

enum status tree_edges_create(const struct tree *tree, const bool *seen, enum edge_shape shape, bool merge,
                              struct tree_edges *edges, struct error *err);
void tree_edges_close(struct tree_edges *edges); /* zeroed is fine */

/* Of each arc: the sum of the changes along it. by_node: [nodes][latent]; by_edge: [count][latent]. EDGES_TREE only. */
void tree_edges_gather(const struct tree_edges *edges, const double *by_node, int latent, double *by_edge);
/* Weights of every node. w: [nodes][latent]. */
void tree_edges_weights(const struct tree_edges *edges, const struct weight *base, const struct weight *changes,
                        int latent, float *w);

#endif
