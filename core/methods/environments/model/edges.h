/* The parameters of the heads of a tree's nodes: weights w_0 at the root, and one change for every edge whose effect
 * the data can identify.
 *
 * A node has no edge if neither the node nor its descendants have data; such a node has the weights of its parent. In
 * this way the model predicts an unseen environment. Consecutive edges count as one edge if the nodes between them have
 * neither data nor a branch, because the data determine only the sum of the changes on these edges. Each step along the
 * joined edge gets an equal part of that sum.
 *
 * If the root has two edges and no data, the data cannot identify both changes: w_0 and both changes could be shifted
 * together without changing any prediction. `merge` then makes the two edges one. Its change is the difference of the
 * weights on the two sides, and w_0 is between them.
 */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_EDGES_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_EDGES_H

#include "core/autodiff/ops.h"
#include "core/data/trees/tree.h"

enum edge_shape {
    EDGES_TREE,
    EDGES_STAR, /* every node with data has a head of its own; the other nodes get the mean of these heads */
    EDGES_NONE  /* one head for all nodes */
};

struct tree_edges {
    enum edge_shape shape;
    int nodes, count; /* nodes: number of nodes of the tree; count: number of edges that have a change */
    int offset;       /* entry offset + v of `heads` belongs to node v */
    bool based;       /* the heads include w_0 */
    bool *seen;       /* [nodes] whether the node has data */
    int *parent, *edge;
    real *share;
    struct tree_heads heads;
};

enum status tree_edges_create(const struct tree *tree, const bool *seen, enum edge_shape shape, bool merge,
                              struct tree_edges *edges, struct error *err);
void tree_edges_close(struct tree_edges *edges); /* accepts a zeroed struct */

/* For each edge, adds up the changes of the nodes that the edge spans. by_node: [nodes][latent]; by_edge:
 * [count][latent]. For EDGES_TREE only. */
void tree_edges_gather(const struct tree_edges *edges, const double *by_node, int latent, double *by_edge);
/* Writes the weights of every node. w: [nodes][latent]. */
void tree_edges_weights(const struct tree_edges *edges, const struct weight *base, const struct weight *changes,
                        int latent, float *w);

#endif
