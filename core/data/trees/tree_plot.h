/* A tree with marks on its arcs: the root at the left, a row a leaf. Drawn with cairo; any thread. */
#ifndef MOTIF_CORE_DATA_TREES_TREE_PLOT_H
#define MOTIF_CORE_DATA_TREES_TREE_PLOT_H

#include "core/base/buf.h"
#include "core/data/trees/tree.h"

enum { TREE_PLOT_LEAVES = 300 };

struct tree_mark {
    int node;    /* on the arc above it */
    int colour;  /* 0..7 of chart_colour(), which repeats */
    double size; /* of a change: its area in the picture */
    bool open;   /* a ring instead of a disc */
};

struct tree_plot {
    const struct tree *tree;
    const bool *pale; /* [nodes] leaves whose names are grey; NULL: none */
    const struct tree_mark *marks;
    int mark_count;
    const char *title, *note; /* the note below may have several lines */
    const char **legend;      /* [legend_count] names of colours */
    int legend_count;
};

/* Appends a PNG. STATUS_LIMIT for more than TREE_PLOT_LEAVES leaves. */
enum status tree_plot_png(const struct tree_plot *plot, struct buf *out, struct error *err);

#endif
