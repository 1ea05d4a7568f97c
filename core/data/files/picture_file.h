/* Pictures from clients: PNG, JPEG and TIFF files. The content decides what a file is, not its name. The bytes are
 * untrusted. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DATA_FILES_PICTURE_FILE_H
#define MOTIF_CORE_DATA_FILES_PICTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/raster.h"

/* Whether a name ends like that of a picture: .png, .jpg, .jpeg, .tif or .tiff, in small or large letters. */
bool picture_file_named(const char *name);
/* Reads a picture. A grey picture gets one plane, even if the file stores three equal planes; all others get three. The
 * caller closes *raster. STATUS_LIMIT: a side above RASTER_SIDE. STATUS_CORRUPT, STATUS_INVALID: the bytes are no
 * picture that can be read. */
enum status picture_file_read(const void *bytes, size_t count, struct raster *raster, struct error *err);

#endif
