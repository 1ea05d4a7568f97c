/* A small RGB raster for pictures of results. Drawing outside it is clipped. One thread at a time. */
#ifndef MOTIF_CORE_DRAW_PICTURE_H
#define MOTIF_CORE_DRAW_PICTURE_H

#include <stdint.h>

#include "core/base/error.h"

#define PICTURE_MAX_SIDE 16384
#define PICTURE_GLYPH_ROWS 7 /* of one character at scale 1; advance is PICTURE_ADVANCE */
#define PICTURE_GLYPH_COLS 5
#define PICTURE_ADVANCE 6

struct colour {
    uint8_t red, green, blue;
};

struct picture {
    int rows, cols;
    uint8_t *pixels; /* [rows][cols][3] */
};

/* Filled with `ground`. Sides in [1, PICTURE_MAX_SIDE], at most 64 Mi pixels (STATUS_LIMIT). */
enum status picture_create(int rows, int cols, struct colour ground, struct picture **picture, struct error *err);
void picture_destroy(struct picture *picture); /* NULL is fine */

void picture_set(struct picture *picture, int row, int col, struct colour colour);
struct colour picture_get(const struct picture *picture, int row, int col); /* black outside */

void picture_fill(struct picture *picture, int row, int col, int rows, int cols, struct colour colour);
/* A frame of `thickness` pixels just inside the rectangle. */
void picture_outline(struct picture *picture, int row, int col, int rows, int cols, int thickness,
                     struct colour colour);
/* Values 0 (low) to 1 (high) of a [rows][cols] array, each drawn as a scale x scale square. */
void picture_grey(struct picture *picture, int row, int col, const float *values, int rows, int cols, int scale,
                  struct colour low, struct colour high);
/* Another picture, each pixel scale x scale. */
void picture_blit(struct picture *picture, int row, int col, const struct picture *from, int scale);

void picture_line(struct picture *picture, int row0, int col0, int row1, int col1, struct colour colour);
/* Marks of odd diameter 2 * radius + 1 around (row, col). */
void picture_disc(struct picture *picture, int row, int col, int radius, struct colour colour);
void picture_ring(struct picture *picture, int row, int col, int radius, struct colour colour);
void picture_cross(struct picture *picture, int row, int col, int radius, struct colour colour);

/* Printable ASCII in a 5 x 7 font, (row, col) the upper left corner; other bytes are drawn as a box.
 * A newline starts a new line PICTURE_GLYPH_ROWS + 2 rows below. Returns the column after the text. */
int picture_text(struct picture *picture, int row, int col, const char *text, int scale, struct colour colour);
int picture_text_width(const char *text, int scale); /* of the longest line */

/* Colours that are easy to tell apart, also with colour-blind eyes for the first eight; any index. */
struct colour picture_palette(int index);
/* Black or white, whichever reads better on `ground`. */
struct colour picture_contrast(struct colour ground);

#endif
