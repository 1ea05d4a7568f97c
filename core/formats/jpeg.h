/* JPEG files in memory, read with libjpeg-turbo. The bytes are untrusted: sizes are checked before anything is
 * allocated, the number of scans is limited, and the library's errors become STATUS_CORRUPT. No state; any thread. */
#ifndef MOTIF_CORE_FORMATS_JPEG_H
#define MOTIF_CORE_FORMATS_JPEG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/raster.h"

/* Whether the bytes begin like a JPEG file. */
bool jpeg_begins(const void *bytes, size_t count);
/* Reads a grey or colour JPEG as values 0 to 1 and turns it as its EXIF data say; the caller closes *raster. Bytes
 * before a marker are skipped, as every viewer does, and set raster->stray. STATUS_LIMIT: a side above max_side.
 * STATUS_INVALID: another colour space, such as CMYK. STATUS_CORRUPT: the bytes are no JPEG, or they are damaged. */
enum status jpeg_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err);

#endif
