/* TIFF files in memory, read with libtiff. The bytes are untrusted: sizes are checked before anything is allocated, the
 * library may allocate a limited amount, and its errors become STATUS_CORRUPT. No state; any thread. */
#ifndef MOTIF_CORE_FORMATS_TIFF_H
#define MOTIF_CORE_FORMATS_TIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/raster.h"

/* Whether the bytes begin like a TIFF file. */
bool tiff_begins(const void *bytes, size_t count);
/* Reads a TIFF of one picture; the caller closes *raster. Samples of 1 to 32 and 64 bits, in strips or tiles, keep
 * their precision, with a plane for each sample: unsigned numbers become 0 to 1 by their largest possible value, a
 * palette becomes red, green and blue signed numbers and floating-point numbers stay as they are CMYK, YCbCr and CIE
 * L*a*b* are read with 8 bits through libtiff's conversion. Transparent pixels of unsigned numbers are laid on white;
 * the opacity of other numbers stays a plane. The picture is turned as its orientation tag says. STATUS_LIMIT: a side
 * above max_side, or too many planes. STATUS_INVALID: several pages, a sample format that cannot be read, or a value
 * that is not finite or beyond single precision. STATUS_CORRUPT: the bytes are no TIFF, or libtiff cannot decode them.
 */
enum status tiff_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err);

#endif
