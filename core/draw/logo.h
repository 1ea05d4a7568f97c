/* Sequence logos: at each position a stack of letters, the largest on top, whose heights are bits of information. */
#ifndef MOTIF_CORE_DRAW_LOGO_H
#define MOTIF_CORE_DRAW_LOGO_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/error.h"

enum { LOGO_LETTERS = 4, LOGO_WIDTH = 400, LOGO_SHEET = 256, LOGO_BYTES = 16 << 20 };

struct logo {
    const char *title;                    /* UTF-8 text; NULL: none */
    int width;                            /* positions, in [0, LOGO_WIDTH] */
    const double (*height)[LOGO_LETTERS]; /* [width] bits of A, C, G and T, at least 0; their sum is at most 2 */
};

/* Append a sheet of `count` logos below each other, in [1, LOGO_SHEET], all with the same scale. rna: the fourth letter
 * is U. STATUS_INVALID, STATUS_LIMIT, STATUS_NO_MEMORY. Any thread. */
enum status logo_png(const struct logo *logos, int count, bool rna, struct buf *out, struct error *err);
enum status logo_svg(const struct logo *logos, int count, bool rna, struct buf *out, struct error *err);

#endif
