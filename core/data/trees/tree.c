/* Trees: generators, and the assembly of a tree from a list of edges in any order. */
#include "core/data/trees/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/random/philox.h"

enum { STREAM_TREE = 0x74726565 };

/* ---- making ------------------------------------------------------------------------------------------- */

void tree_destroy(struct tree *tree)
{
    if (!tree)
        return;
    for (int i = 0; tree->names && i < tree->nodes; i++)
        free(tree->names[i]);
    free(tree->names);
    free(tree->parent);
    free(tree);
}

/* Adds a node. */
static enum status add_node(struct tree *t, int parent, const char *name, struct error *err)
{
    int n = t->nodes;
    if (n == TREE_NODES_MOST)
        return error_set(err, STATUS_LIMIT, NULL, "a tree has at most %d nodes", TREE_NODES_MOST);
    int *parents = grown(t->parent, (size_t)n, sizeof *parents);
    t->parent = parents ? parents : t->parent;
    char **names = parents ? grown(t->names, (size_t)n, sizeof *names) : NULL;
    if (!names)
        return error_memory(err, "a tree");
    t->names = names;
    t->names[n] = strdup(name);
    if (!t->names[n])
        return error_memory(err, "a tree");
    t->parent[n] = parent;
    t->nodes = n + 1;
    return STATUS_OK;
}

static enum status tree_start(struct tree **tree, const char *root, struct error *err)
{
    *tree = calloc(1, sizeof **tree);
    return *tree ? add_node(*tree, -1, root, err) : error_memory(err, "a tree");
}

static enum status tree_finish(enum status status, struct tree **tree)
{
    if (status) {
        tree_destroy(*tree);
        *tree = NULL;
    }
    return status;
}

static enum status add_numbered(struct tree *t, int parent, struct error *err)
{
    char name[16];
    snprintf(name, sizeof name, "n%d", t->nodes);
    return add_node(t, parent, name, err);
}

enum status tree_complete(int depth, int children, struct tree **tree, struct error *err)
{
    enum status status = tree_start(tree, "n0", err);
    int first = 0, end = 1;
    for (int d = 0; !status && d < depth; d++) {
        for (int v = first; v < end; v++)
            for (int c = 0; !status && c < children; c++)
                status = add_numbered(*tree, v, err);
        first = end;
        end = status ? end : (*tree)->nodes;
    }
    return tree_finish(status, tree);
}

enum status tree_caterpillar(int leaves, struct tree **tree, struct error *err)
{
    enum status status = tree_start(tree, "n0", err);
    for (int at = 0, left = leaves; !status && left > 1; left--) {
        int inner = (*tree)->nodes + 1;
        status = add_numbered(*tree, at, err);
        if (!status)
            status = add_numbered(*tree, at, err);
        at = inner;
    }
    return tree_finish(status, tree);
}

enum status tree_random(uint64_t seed, int leaves, struct tree **tree, struct error *err)
{
    struct philox from = philox_stream(seed, STREAM_TREE, 0);
    int *leaf = calloc((size_t)leaves + 1, sizeof *leaf);
    enum status status = leaf ? tree_start(tree, "n0", err) : error_memory(err, "a tree");
    for (int count = 1; !status && count < leaves; count++) {
        int chosen = (int)((uint64_t)philox_u32(&from, (uint64_t)count) * (uint64_t)count >> 32), at = leaf[chosen];
        leaf[chosen] = (*tree)->nodes;
        leaf[count] = (*tree)->nodes + 1;
        status = add_numbered(*tree, at, err);
        if (!status)
            status = add_numbered(*tree, at, err);
    }
    free(leaf);
    return leaf ? tree_finish(status, tree) : status;
}

/* ---- edges -------------------------------------------------------------------------------------------- */

/* A name and its index; look_up() searches an array of these that is sorted by name. */
struct entry {
    const char *name;
    int at;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int look_up(const struct entry *sorted, int count, const char *name)
{
    const struct entry key = {name, 0}, *found = bsearch(&key, sorted, (size_t)count, sizeof key, by_name);
    return found ? found->at : -1;
}

/* Adds the child of each edge whose parent is in the tree, and repeats this until a pass adds no node. parent_edge: for
 * each edge, the index of the edge that leads to its parent; -1: its parent is the root. order: the order in which a
 * pass visits the edges. */
static enum status tree_grow(struct tree *t, const char *const *children, const int *parent_edge, const int *order,
                             int count, int *node_of_edge, struct error *err)
{
    enum status status = STATUS_OK;
    int added = 1;
    while (!status && added) {
        added = 0;
        for (int i = 0; !status && i < count; i++) {
            int edge = order[i], above = parent_edge[edge];
            if (node_of_edge[edge] >= 0 || (above >= 0 && node_of_edge[above] < 0))
                continue;
            node_of_edge[edge] = t->nodes;
            status = add_node(t, above < 0 ? 0 : node_of_edge[above], children[edge], err);
            added = 1;
        }
    }
    return status;
}

enum status tree_edges(const char *const *parents, const char *const *children, int count, struct tree **tree,
                       struct error *err)
{
    struct entry *sorted = calloc((size_t)count + 1, sizeof *sorted);
    int *above = calloc(3 * (size_t)count + 1, sizeof *above), *node = above + count, *order = node + count;
    const char *root = NULL;
    enum status status = sorted && above ? STATUS_OK : error_memory(err, "a tree");
    for (int i = 0; !status && i < count; i++)
        sorted[i] = (struct entry){children[i], i};
    if (!status)
        qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int i = 1; !status && i < count; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            status = error_set(err, STATUS_INVALID, NULL, "node %.80s of the tree has two parents; only one is allowed",
                               sorted[i].name);
    for (int i = 0; !status && i < count; i++) {
        node[i] = -1;
        order[i] = i;
        above[i] = look_up(sorted, count, parents[i]);
        if (above[i] < 0 && root && strcmp(root, parents[i]) != 0)
            status = error_set(err, STATUS_INVALID, NULL,
                               "the tree has two roots, %.80s and %.80s; exactly one node may have no parent", root,
                               parents[i]);
        root = above[i] < 0 ? parents[i] : root;
    }
    if (!status && !root)
        status = error_set(err, STATUS_INVALID, NULL, "the tree has no root: every node has a parent");
    *tree = NULL;
    if (!status)
        status = tree_start(tree, root, err);
    if (!status)
        status = tree_grow(*tree, children, above, order, count, node, err);
    if (!status && (*tree)->nodes != count + 1)
        status = error_set(err, STATUS_INVALID, NULL, "%d edges of the tree are not connected to its root %.80s",
                           count + 1 - (*tree)->nodes, root);
    free(sorted);
    free(above);
    return tree_finish(status, tree);
}

/* ---- asking ------------------------------------------------------------------------------------------- */

bool tree_leaf(const struct tree *tree, int node)
{
    for (int v = node + 1; v < tree->nodes; v++)
        if (tree->parent[v] == node)
            return false;
    return true;
}

int tree_leaves(const struct tree *tree, int *leaves)
{
    int count = 0;
    for (int v = 0; v < tree->nodes; v++)
        if (tree_leaf(tree, v)) {
            if (leaves)
                leaves[count] = v;
            count++;
        }
    return count;
}

int tree_find(const struct tree *tree, const char *name)
{
    for (int v = 0; v < tree->nodes; v++)
        if (strcmp(tree->names[v], name) == 0)
            return v;
    return -1;
}
