/* Rooted trees of any shape, as an array of nodes in which parents precede their children. Read-only once created. */
#ifndef MOTIF_CORE_DATA_TREES_TREE_H
#define MOTIF_CORE_DATA_TREES_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum { TREE_NODES_MOST = 20000 };

struct tree {
    int nodes;
    int *parent;  /* [nodes]; node 0 is the root and has -1 */
    char **names; /* [nodes]; no entry is NULL, entries may be "" */
};

void tree_destroy(struct tree *tree); /* NULL is allowed */

/* The following functions create a tree; the caller calls tree_destroy(). STATUS_LIMIT: it would have more than
 * TREE_NODES_MOST nodes. */

/* Every inner node has `children` children; leaves are `depth` edges below the root. */
enum status tree_complete(int depth, int children, struct tree **tree, struct error *err);
/* A path of inner nodes with one leaf at each. */
enum status tree_caterpillar(int leaves, struct tree **tree, struct error *err);
/* Splits randomly chosen leaves until there are `leaves`; a function of the seed. */
enum status tree_random(uint64_t seed, int leaves, struct tree **tree, struct error *err);
/* Creates a tree from its edges (parents[i], children[i]), [count] each, in any order. STATUS_INVALID: the edges are no
 * tree; the message names the node. */
enum status tree_edges(const char *const *parents, const char *const *children, int count, struct tree **tree,
                       struct error *err);

bool tree_leaf(const struct tree *tree, int node);
/* Returns the number of leaves. leaves: NULL, or receives their nodes in ascending order. */
int tree_leaves(const struct tree *tree, int *leaves);
/* The node of this name; -1: there is none. */
int tree_find(const struct tree *tree, const char *name);

#endif
