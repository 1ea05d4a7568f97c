/* A small RGB raster for pictures of results. Drawing outside it has no effect. One thread at a time for each picture.
 */
#ifndef MOTIF_CORE_DRAW_PICTURE_H
#define MOTIF_CORE_DRAW_PICTURE_H

#include <stdint.h>

#include "core/base/error.h"

#define PICTURE_MAX_SIDE 16384
#define PICTURE_GLYPH_ROWS 7 /* rows of a character at scale 1; characters are PICTURE_ADVANCE columns apart */
#define PICTURE_GLYPH_COLS 5
#define PICTURE_ADVANCE 6

struct colour {
    uint8_t red, green, blue;
};

struct picture {
    int rows, cols;
    uint8_t *pixels; /* [rows][cols][3] */
};

/* Creates a picture filled with `ground`; the caller destroys it. STATUS_LIMIT: a side outside [1, PICTURE_MAX_SIDE],
 * or more than 64 Mi pixels. */
enum status picture_create(int rows, int cols, struct colour ground, struct picture **picture, struct error *err);
void picture_destroy(struct picture *picture); /* NULL is allowed */

/* Fills a rectangle of rows x cols pixels whose upper left corner is (row, col). */
void picture_fill(struct picture *picture, int row, int col, int rows, int cols, struct colour colour);
/* Draws a frame of `thickness` pixels just inside the rectangle. */
void picture_outline(struct picture *picture, int row, int col, int rows, int cols, int thickness,
                     struct colour colour);
/* Draws each value as a square of scale x scale pixels. values: [rows][cols], from 0 (drawn in the colour `low`) to 1
 * (drawn in `high`). */
void picture_grey(struct picture *picture, int row, int col, const float *values, int rows, int cols, int scale,
                  struct colour low, struct colour high);

/* Draw a mark centred at (row, col) with a diameter of 2 * radius + 1 pixels. */
void picture_disc(struct picture *picture, int row, int col, int radius, struct colour colour);
void picture_cross(struct picture *picture, int row, int col, int radius, struct colour colour);

/* Draws printable ASCII in a 5 x 7 font with the upper left corner at (row, col); other bytes become a box. A newline
 * begins a new line PICTURE_GLYPH_ROWS + 2 rows below (times `scale`). Returns the column after the text. */
int picture_text(struct picture *picture, int row, int col, const char *text, int scale, struct colour colour);
int picture_text_width(const char *text, int scale); /* number of pixel columns of the longest line */

/* A colour for each index. Colour-blind readers can distinguish the colours 0 to 7. Further indices give further hues.
 */
struct colour picture_palette(int index);
/* Black or white: the one with more contrast to `ground`. */
struct colour picture_contrast(struct colour ground);

#endif
