/* TIFF files in memory, read with libtiff. The bytes are untrusted: sizes are checked before anything is allocated, the
 * library may allocate a limited amount, and its errors become STATUS_CORRUPT. No state; any thread. */
#ifndef MOTIF_CORE_FORMATS_TIFF_H
#define MOTIF_CORE_FORMATS_TIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/raster.h"

/* Whether the bytes begin like a TIFF file. */
bool tiff_begins(const void *bytes, size_t count);
/* Reads a TIFF of one page; the caller closes *raster. Grey and RGB pictures in strips keep their precision: values of
 * 16 bits become 0 to 1, and 32-bit floats stay as they are. All other kinds that libtiff knows (palettes, 1 to 8 bits,
 * tiles, CMYK) are read with 8 bits. Transparent pixels are blended with black. STATUS_LIMIT: a side above max_side.
 * STATUS_INVALID: several pages, or a value that is not finite. STATUS_CORRUPT: the bytes are no TIFF, or libtiff
 * cannot decode them. */
enum status tiff_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err);

#endif
