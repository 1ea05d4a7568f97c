/* A small RGB raster for pictures of results. Drawing outside it has no effect. One thread at a time for each picture.
 */
#ifndef MOTIF_CORE_DRAW_PICTURE_H
#define MOTIF_CORE_DRAW_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

#define PICTURE_MAX_SIDE 16384
#define PICTURE_GLYPH_ROWS                                                                                             \
    7 /* rows of a capital letter at scale 1; parts of small letters are PICTURE_BELOW rows lower */
#define PICTURE_BELOW 3
#define PICTURE_LINE (PICTURE_GLYPH_ROWS + PICTURE_BELOW + 1) /* rows from one line of text to the next */
#define PICTURE_ADVANCE 6                                     /* columns of a character, with its gap */

struct colour {
    uint8_t red, green, blue;
};

struct picture {
    int rows, cols;
    uint32_t *pixels; /* [rows][cols], 0x00RRGGBB: cairo's format RGB24 */
    bool incomplete;  /* a text is missing for lack of memory; png_encode() then fails */
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

/* Draws UTF-8 in DejaVu Sans Mono, whose characters have the same width; the upper left corner of a capital letter is
 * at (row, col). U+FFFD stands for a byte that is no UTF-8. A newline begins a new line PICTURE_LINE rows below (times
 * `scale`). Returns the column after the text. */
int picture_text(struct picture *picture, int row, int col, const char *text, int scale, struct colour colour);
int picture_text_width(const char *text, int scale); /* number of pixel columns of the longest line */

/* A colour for each index. Colour-blind readers can distinguish the colours 0 to 7. Further indices give further hues.
 */
struct colour picture_palette(int index);
/* Black or white: the one with more contrast to `ground`. */
struct colour picture_contrast(struct colour ground);

#endif
