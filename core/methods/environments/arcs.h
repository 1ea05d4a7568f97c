/* Which parameters the heads of a tree's nodes have: w_0 at the root and a change for every arc that data can tell
 * apart.
 *
 * Nodes without data below them have no arc of their own: their weights are their parent's, which is how an unseen
 * environment is predicted. Arcs in a row, with no data and no branch between, are one: the data see their sum, and
 * the nodes between lie at even steps. With `merge` so are the two arcs of a root that has no data: shifting both of
 * them and w_0 together would change nothing, so w_0 lies half way and the change is that from the one side to the
 * other. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_ARCS_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_ARCS_H

#include "core/autodiff/ops.h"
#include "core/data/tree.h"

enum arcs_shape {
    ARCS_TREE,
    ARCS_STAR, /* every node with data a head of its own, from 0; others: the mean of these */
    ARCS_NONE  /* one head for all */
};

struct arcs {
    enum arcs_shape shape;
    int nodes, count; /* of the tree; arcs with a change */
    int offset;       /* the head of node v is offset + v */
    bool based;       /* there is a w_0 */
    bool *seen;       /* [nodes] has data */
    int *parent, *arc;
    real *share;
    struct tree_heads heads;
};

enum status arcs_create(const struct tree *tree, const bool *seen, enum arcs_shape shape, bool merge,
                        struct arcs *arcs, struct error *err);
void arcs_close(struct arcs *arcs); /* zeroed is fine */

/* Of each arc: the sum of the changes along it. by_node: [nodes][latent]; by_arc: [count][latent]. ARCS_TREE only. */
void arcs_gather(const struct arcs *arcs, const double *by_node, int latent, double *by_arc);
/* Weights of every node. w: [nodes][latent]. */
void arcs_weights(const struct arcs *arcs, const struct weight *base, const struct weight *changes, int latent,
                  float *w);

#endif
