/* Draws a tree with marks on its edges with cairo: the root at the left, one row for each leaf. Any thread. */
#ifndef MOTIF_CORE_DATA_TREES_TREE_PLOT_H
#define MOTIF_CORE_DATA_TREES_TREE_PLOT_H

#include "core/base/buf.h"
#include "core/data/trees/tree.h"

enum { TREE_PLOT_LEAVES = 300 };

struct tree_mark {
    int node;    /* the mark is on the edge above this node */
    int colour;  /* index of chart_colour() */
    double size; /* size of a change; the area of the mark grows with it */
    bool open;   /* true: the mark is a ring; false: a disc */
};

struct tree_plot {
    const struct tree *tree;
    const bool *pale; /* [nodes] true: the leaf's name is in grey and marked "held out"; NULL: none is */
    const struct tree_mark *marks;
    int mark_count;
    const char *title, *note; /* note: text below the tree; may contain newlines */
    const char **legend;      /* [legend_count] names of the colours 0, 1, ... */
    int legend_count;
};

/* Appends a PNG to `out`. STATUS_LIMIT: the tree has more than TREE_PLOT_LEAVES leaves. */
enum status tree_plot_png(const struct tree_plot *plot, struct buf *out, struct error *err);

#endif
