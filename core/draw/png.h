/* PNG, both ways, in memory. The bytes read may be hostile: sizes are bounded before anything is
 * allocated, and libpng's errors come back as STATUS_CORRUPT. */
#ifndef MOTIF_CORE_DRAW_PNG_H
#define MOTIF_CORE_DRAW_PNG_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/draw/picture.h"

#define PNG_MAX_SIDE 4096

/* Appends the file to `out` (its limit applies: STATUS_LIMIT). */
enum status png_encode(const struct picture *picture, struct buf *out, struct error *err);

/* Any PNG (grey, RGB, palette, 1 to 16 bits, alpha laid over black, interlaced) as grey values
 * 0..1 with luma weights .2126 .7152 .0722. *values: [*rows][*cols], malloc'ed: free() it.
 * STATUS_LIMIT when a side is above max_side (at most PNG_MAX_SIDE), STATUS_CORRUPT when the
 * bytes are no such file. */
enum status png_decode_grey(const void *bytes, size_t count, int max_side, float **values, int *rows, int *cols,
                            struct error *err);

#endif
