/* PNG files in memory, written and read. The bytes to read are untrusted: sizes are checked before anything is
 * allocated, and libpng's errors become STATUS_CORRUPT. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DRAW_PNG_H
#define MOTIF_CORE_DRAW_PNG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/raster.h"
#include "core/draw/picture.h"

#define PNG_MAX_SIDE RASTER_SIDE

/* Appends the file to `out`. STATUS_LIMIT: it exceeds the limit of `out`. */
enum status png_encode(const struct picture *picture, struct buf *out, struct error *err);

/* Whether the bytes begin like a PNG file. */
bool png_begins(const void *bytes, size_t count);
/* Reads any PNG (grey, RGB, palette, 1 to 16 bits, interlaced) with its full precision as values 0 to 1: three planes
 * if it has colours, else one. Transparent pixels are laid on white, and the picture is turned as its chunk eXIf says.
 * The caller closes *raster. STATUS_LIMIT: a side above max_side (at most PNG_MAX_SIDE). STATUS_CORRUPT: the bytes are
 * no PNG. */
enum status png_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err);
/* Like png_decode(), but colours become grey with the luma weights .2126 .7152 .0722. *values: [*rows][*cols]; the
 * caller frees it. */
enum status png_decode_grey(const void *bytes, size_t count, int max_side, float **values, int *rows, int *cols,
                            struct error *err);

#endif
