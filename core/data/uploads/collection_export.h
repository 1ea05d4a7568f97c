/* A stored data set as an .npz file that states how it must be read (collection_stated.h), so that an upload of the
 * file gives the same stored form, byte by byte. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_EXPORT_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct collection;
struct collection_export;

/* Plans the file. `c` is borrowed until the export is closed; the caller closes *file, also after a failure.
 * STATUS_CONFLICT: labels or boxes need an array that is larger than uploads may contain. STATUS_NO_MEMORY. */
enum status collection_export_open(const struct collection *c, struct collection_export **file, struct error *err);
void collection_export_close(struct collection_export *file); /* NULL is allowed */

/* collection_export_bytes() returns the size of the file. collection_export_read() reads bytes of the file from
 * `offset` on, like npz_stream_read(). One thread at a time. */
uint64_t collection_export_bytes(const struct collection_export *file);
size_t collection_export_read(struct collection_export *file, uint64_t offset, void *to, size_t count);

#endif
