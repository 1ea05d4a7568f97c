/* Sequence logos: at each position a stack of letters, the largest on top, whose heights are bits of information. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_LOGO_H
#define MOTIF_CORE_GENOMICS_MATRICES_LOGO_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/draw/hue.h"

enum { LOGO_LETTERS = 32, LOGO_WIDTH = 400, LOGO_SHEET = 256, LOGO_BYTES = 16 << 20 };

/* The letters that the logos of a sheet can contain. If all sites have the same letter at a position, this letter has a
 * height of log2(count) bits. */
struct logo_letters {
    const char *letter;  /* [count] */
    const enum hue *hue; /* [count] */
    int count;           /* in [2, LOGO_LETTERS] */
};

struct logo {
    const char *title;    /* UTF-8 text; NULL: none */
    int width;            /* positions, in [0, LOGO_WIDTH] */
    const double *height; /* [width][letters] height of each letter in bits, at least 0; the sum at a position is at
                             most log2(letters) */
};

/* Append a sheet of `count` logos, one below the other, all with the same scale. count: in [1, LOGO_SHEET].
 * STATUS_INVALID, STATUS_LIMIT, STATUS_NO_MEMORY. Any thread. */
enum status logo_png(const struct logo *logos, int count, const struct logo_letters *letters, struct buf *out,
                     struct error *err);
enum status logo_svg(const struct logo *logos, int count, const struct logo_letters *letters, struct buf *out,
                     struct error *err);

#endif
