/* Rooted trees of any shape, as a list of nodes in which parents come before their children. Plain values. */
#ifndef MOTIF_CORE_DATA_TREES_TREE_H
#define MOTIF_CORE_DATA_TREES_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum { TREE_NODES_MOST = 20000 };

struct tree {
    int nodes;
    int *parent;  /* [nodes]; node 0 is the root and has -1 */
    char **names; /* [nodes], never NULL once made; may be "" */
};

void tree_destroy(struct tree *tree); /* NULL is fine */

/* Every inner node has `children`; leaves lie `depth` arcs below the root. */
enum status tree_complete(int depth, int children, struct tree **tree, struct error *err);
/* Leaves hang one by one from a line of inner nodes. */
enum status tree_caterpillar(int leaves, struct tree **tree, struct error *err);
/* Grown by splitting a leaf chosen at random until there are `leaves`; a function of the seed. */
enum status tree_random(uint64_t seed, int leaves, struct tree **tree, struct error *err);
/* "((a,b)c:0.5,'d e')root;": quoted names, lengths and comments are read, lengths and comments not kept. */
enum status tree_newick(const char *text, struct tree **tree, struct error *err);
/* From pairs of names; the order does not matter. STATUS_INVALID naming the node when they make no tree. */
enum status tree_edges(const char *const *parents, const char *const *children, int count, struct tree **tree,
                       struct error *err);
/* tree_edges.tsv (columns parent and child) or, without it, tree.nwk of a data set's folder. */
enum status tree_load(const char *folder, struct tree **tree, struct error *err);

bool tree_leaf(const struct tree *tree, int node);
int tree_leaves(const struct tree *tree, int *leaves); /* how many; writes them, ascending, unless NULL */
int tree_depth(const struct tree *tree, int node);     /* arcs from the root */
/* The node called so or, where names are LEVEL:NAME, of that NAME; -1: none. */
int tree_find(const struct tree *tree, const char *name);

#endif
