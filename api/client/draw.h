/* Pictures made of characters: a motif map over its image, and a line of a metric.
 *
 * Pure functions that write UTF-8 into a struct buf. */
#ifndef MOTIF_API_CLIENT_DRAW_H
#define MOTIF_API_CLIENT_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct draw_image {
    int rows, columns;
    const float *grey; /* [rows][columns], 0 black .. 1 white */
};

struct draw_motif {
    double row, column; /* position in pixels of the image */
    int channel;
    double value;
    bool maximal; /* the strongest of its footprint */
};

/* Two rows of pixels a line of text (Unicode half blocks in true colour), no wider than `columns`: larger
 * images are shrunk by a whole factor. Without colour a ramp of ASCII characters is used instead. Each motif
 * is a letter of its channel at its place; where several fall into one cell, the strongest is shown. */
void draw_motif_map(struct buf *out, const struct draw_image *image, const struct draw_motif *motifs, size_t count,
                    int columns, bool colour);
/* The factor by which draw_motif_map() shrinks an image. */
int draw_shrink(int image_columns, int columns);

struct draw_point {
    double x, y;
};

/* A line plot in braille dots, two by four a cell, with labelled axes. `columns` and `rows` are of the
 * whole picture, labels included (at least 24 by 6). log_y: points at or below zero are left out.
 * Points that are not finite are gaps. */
void draw_plot(struct buf *out, const struct draw_point *points, size_t count, int columns, int rows, bool log_y);

#endif
