/* Trees: generators, the Newick parser, and the assembly of a tree from a list of edges in any order. */
#include "core/data/trees/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/formats/delimited.h"

enum { STREAM_TREE = 0x74726565, NAME_BYTES = 256 };

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

/* Adds a node; the memory doubles when it is full. */
static enum status add_node(struct tree *t, int parent, const char *name, struct error *err)
{
    int n = t->nodes;
    if (n == TREE_NODES_MOST)
        return error_set(err, STATUS_LIMIT, NULL, "a tree has at most %d nodes", TREE_NODES_MOST);
    if ((n & (n - 1)) == 0) {
        size_t room = n ? 2 * (size_t)n : 1;
        int *parents = realloc(t->parent, room * sizeof *parents);
        if (parents)
            t->parent = parents;
        char **names = parents ? realloc(t->names, room * sizeof *names) : NULL;
        if (!names)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
        t->names = names;
    }
    t->names[n] = strdup(name);
    if (!t->names[n])
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
    t->parent[n] = parent;
    t->nodes = n + 1;
    return STATUS_OK;
}

static enum status start(struct tree **tree, const char *root, struct error *err)
{
    *tree = calloc(1, sizeof **tree);
    return *tree ? add_node(*tree, -1, root, err)
                 : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
}

static enum status finish(enum status status, struct tree **tree)
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
    enum status status = start(tree, "n0", err);
    int first = 0, end = 1;
    for (int d = 0; !status && d < depth; d++) {
        for (int v = first; v < end; v++)
            for (int c = 0; !status && c < children; c++)
                status = add_numbered(*tree, v, err);
        first = end;
        end = status ? end : (*tree)->nodes;
    }
    return finish(status, tree);
}

enum status tree_caterpillar(int leaves, struct tree **tree, struct error *err)
{
    enum status status = start(tree, "n0", err);
    for (int at = 0, left = leaves; !status && left > 1; left--) {
        int inner = (*tree)->nodes + 1;
        status = add_numbered(*tree, at, err);
        if (!status)
            status = add_numbered(*tree, at, err);
        at = inner;
    }
    return finish(status, tree);
}

enum status tree_random(uint64_t seed, int leaves, struct tree **tree, struct error *err)
{
    struct philox from = philox_stream(seed, STREAM_TREE, 0);
    int *leaf = calloc((size_t)leaves + 1, sizeof *leaf);
    enum status status =
        leaf ? start(tree, "n0", err) : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
    for (int count = 1; !status && count < leaves; count++) {
        int chosen = (int)((uint64_t)philox_u32(&from, (uint64_t)count) * (uint64_t)count >> 32), at = leaf[chosen];
        leaf[chosen] = (*tree)->nodes;
        leaf[count] = (*tree)->nodes + 1;
        status = add_numbered(*tree, at, err);
        if (!status)
            status = add_numbered(*tree, at, err);
    }
    free(leaf);
    return leaf ? finish(status, tree) : status;
}

/* ---- Newick ------------------------------------------------------------------------------------------- */

static const char *skip(const char *at)
{
    while (isspace((unsigned char)*at) || *at == '[') {
        const char *close = *at == '[' ? strchr(at, ']') : at;
        if (!close)
            return at + strlen(at);
        at = close + 1;
    }
    return at;
}

/* Reads a label and skips its branch length. */
static const char *read_label(const char *at, char name[NAME_BYTES])
{
    size_t bytes = 0;
    at = skip(at);
    if (*at == '\'') {
        for (at++; *at && (*at != '\'' || at[1] == '\''); at++) {
            at += *at == '\'';
            if (bytes + 1 < NAME_BYTES)
                name[bytes++] = *at;
        }
        at += *at == '\'';
    } else {
        for (; *at && !strchr("(),:;[", *at) && !isspace((unsigned char)*at); at++)
            if (bytes + 1 < NAME_BYTES)
                name[bytes++] = *at;
    }
    name[bytes] = '\0';
    at = skip(at);
    if (*at == ':')
        for (at = skip(at + 1); *at && !strchr("(),;[", *at) && !isspace((unsigned char)*at);)
            at++;
    return skip(at);
}

static enum status rename_node(struct tree *t, int node, const char *name, struct error *err)
{
    char *copy = strdup(name);
    if (!copy)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
    free(t->names[node]);
    t->names[node] = copy;
    return STATUS_OK;
}

/* Parses the text from left to right. `at` is the current node: the text that follows is its children or its label. */
enum status tree_newick(const char *text, struct tree **tree, struct error *err)
{
    char name[NAME_BYTES];
    int at = 0;
    const char *c = skip(text);
    enum status status = start(tree, "", err);
    while (!status && *c && *c != ';') {
        if (*c == '(' || (*c == ',' && at > 0)) {
            int parent = *c == '(' ? at : (*tree)->parent[at];
            at = (*tree)->nodes;
            status = add_node(*tree, parent, "", err);
            c = skip(c + 1);
        } else if (*c == ')' && at > 0) {
            at = (*tree)->parent[at];
            c = skip(c + 1);
        } else if (*c == ')' || *c == ',') {
            break;
        }
        if (!status && *c != '(' && *c != ',' && *c != ')' && *c != ';' && *c) {
            const char *before = c;
            c = read_label(c, name);
            bool ends = *c == '\0' || strchr(",);", *c) != NULL;
            status = c == before || !ends
                         ? error_set(err, STATUS_INVALID, NULL, "the Newick tree has a syntax error at \"%.20s\"", c)
                         : rename_node(*tree, at, name, err);
        }
    }
    if (!status && (at != 0 || *c != ';' || (*tree)->nodes < 2))
        status = error_set(err, STATUS_INVALID, NULL, "the Newick tree has an open bracket or only one node");
    return finish(status, tree);
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
static enum status grow(struct tree *t, const char *const *children, const int *parent_edge, const int *order,
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
    enum status status =
        sorted && above ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
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
        status = start(tree, root, err);
    if (!status)
        status = grow(*tree, children, above, order, count, node, err);
    if (!status && (*tree)->nodes != count + 1)
        status = error_set(err, STATUS_INVALID, NULL, "%d edges of the tree are not connected to its root %.80s",
                           count + 1 - (*tree)->nodes, root);
    free(sorted);
    free(above);
    return finish(status, tree);
}

/* ---- files -------------------------------------------------------------------------------------------- */

struct pairs {
    char **names; /* [2 count] names of the parent and the child of each edge */
    int count, room;
};

static enum status read_pairs(struct delimited *d, struct pairs *p, struct error *err)
{
    bool more;
    enum status status = delimited_next(d, &more, err);
    int from = status || !more ? -1 : delimited_find(d, "parent"), to = from < 0 ? -1 : delimited_find(d, "child");
    if (!status && (from < 0 || to < 0))
        status = error_set(err, STATUS_INVALID, NULL, "%s needs columns parent and child", d->name);
    while (!status && !(status = delimited_next(d, &more, err)) && more) {
        if (p->count == p->room) {
            int room = p->room ? 2 * p->room : 256;
            char **names = realloc(p->names, 2 * (size_t)room * sizeof *names);
            if (!names)
                return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
            p->names = names;
            p->room = room;
        }
        if ((size_t)from >= d->count || (size_t)to >= d->count || p->count == TREE_NODES_MOST)
            return error_set(
                err, STATUS_INVALID, NULL,
                "line %ld of %s is not an edge with a parent and a child, or exceeds the 20000 nodes that are allowed",
                d->number, d->name);
        char **pair = p->names + 2 * (size_t)p->count++;
        pair[0] = strdup(d->fields[from]);
        pair[1] = strdup(d->fields[to]);
        if (!pair[0] || !pair[1])
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
    }
    return status;
}

static enum status from_pairs(struct pairs *p, struct tree **tree, struct error *err)
{
    const char **names = calloc(2 * (size_t)p->count + 1, sizeof *names);
    if (!names)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a tree");
    for (int i = 0; i < p->count; i++) {
        names[i] = p->names[2 * i];
        names[p->count + i] = p->names[2 * i + 1];
    }
    enum status status = tree_edges(names, names + p->count, p->count, tree, err);
    free(names);
    return status;
}

static enum status load_newick(const char *folder, struct tree **tree, struct error *err)
{
    struct delimited d;
    bool more = false;
    enum status status = delimited_open(&d, folder, "tree.nwk", '\n', NULL, err);
    if (!status)
        status = delimited_raw(&d, &more, err);
    if (!status)
        status = tree_newick(more ? d.line : "", tree, err);
    delimited_close(&d);
    return status;
}

enum status tree_load(const char *folder, struct tree **tree, struct error *err)
{
    struct delimited d;
    struct pairs pairs = {0};
    struct error missing = {0};
    enum status status = delimited_open(&d, folder, "tree_edges.tsv", '\t', NULL, &missing);
    if (status)
        return load_newick(folder, tree, err);
    status = read_pairs(&d, &pairs, err);
    if (!status)
        status = from_pairs(&pairs, tree, err);
    for (int i = 0; i < 2 * pairs.count; i++)
        free(pairs.names[i]);
    free(pairs.names);
    delimited_close(&d);
    return status;
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
    for (int v = 0; v < tree->nodes; v++) {
        const char *colon = strchr(tree->names[v], ':');
        if (strcmp(tree->names[v], name) == 0 || (colon && strcmp(colon + 1, name) == 0))
            return v;
    }
    return -1;
}
