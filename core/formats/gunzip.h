/* A byte source that decompresses gzip files, also those of several members, such as bgzip's. Bytes that do not begin
 * like a gzip file pass unchanged, except that files of other compressors are refused. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_GUNZIP_H
#define MOTIF_CORE_FORMATS_GUNZIP_H

#include <stdint.h>

#include "core/formats/byte_source.h"

struct gunzip;

/* Opens a decompressor. `from` is copied; what it refers to must outlive the decompressor. STATUS_NO_MEMORY. */
enum status gunzip_open(const struct byte_source *from, struct gunzip **gunzip, struct error *err);
void gunzip_close(struct gunzip *gunzip); /* NULL is allowed */
/* Refuses to unpack more than `most` bytes of a compressed file (STATUS_LIMIT), whatever its size is. */
void gunzip_limit(struct gunzip *gunzip, int64_t most);
/* Returns a source of the decompressed bytes. Its errors are STATUS_CORRUPT, STATUS_INVALID (another compressor),
 * STATUS_LIMIT (gunzip_limit(), byte_source_ratio()) and the errors of the original source. */
struct byte_source gunzip_source(struct gunzip *gunzip);

#endif
