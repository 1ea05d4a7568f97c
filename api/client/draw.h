/* Pictures made of characters: a motif map over its image, and the plot of a metric. Pure functions that append UTF-8
 * to a struct buf. */
#ifndef MOTIF_API_CLIENT_DRAW_H
#define MOTIF_API_CLIENT_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct draw_image {
    int rows, columns;
    const float *grey; /* [rows][columns], 0 black to 1 white */
};

struct draw_motif {
    double row, column; /* position of the motif, in pixels of the image */
    int channel;
    double value;
    bool maximal; /* whether no motif of any channel within five positions is stronger */
};

/* Draws two rows of pixels per line of text (Unicode half blocks in true colour). The picture is at most `columns`
 * wide; a larger image is shrunk by an integer factor. Without colour, the pixels are ASCII characters of increasing
 * darkness. A motif is drawn as the letter of its channel at its position. If several motifs are in one cell, only the
 * strongest maximal motif is drawn (struct draw_motif); if none of them is maximal, the strongest motif. */
void draw_motif_map(struct buf *out, const struct draw_image *image, const struct draw_motif *motifs, size_t count,
                    int columns, bool colour);
/* Returns the factor by which draw_motif_map() shrinks an image. */
int draw_shrink(int image_columns, int columns);

struct draw_point {
    double x, y;
};

/* Draws a line plot in braille dots, two by four per cell, with labelled axes. `columns` and `rows` include the labels
 * (at least 24 by 6). With log_y, points at or below zero are left out. Points that are not finite make a gap. */
void draw_plot(struct buf *out, const struct draw_point *points, size_t count, int columns, int rows, bool log_y);

#endif
