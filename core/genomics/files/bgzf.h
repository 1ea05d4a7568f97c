/* Random access to a file that `bgzip` compressed: the file consists of blocks of at most 64 KiB. Each block is a
 * gzip member whose header contains its length. The index FILE.gzi, which `bgzip --reindex` and `samtools faidx`
 * write, contains the place of each block. One thread at a time. */
#ifndef MOTIF_CORE_GENOMICS_FILES_BGZF_H
#define MOTIF_CORE_GENOMICS_FILES_BGZF_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct bgzf;

/* Reads the index `path`. file: the compressed file, borrowed. Messages call it `shown`. STATUS_NOT_FOUND: there is
 * no index. STATUS_CORRUPT: the index is incomplete, or its offsets are not in ascending order. STATUS_LIMIT: the
 * index has more than 64 MiB. STATUS_IO, STATUS_NO_MEMORY. */
enum status bgzf_open(int file, const char *path, const char *shown, struct bgzf **bgzf, struct error *err);
void bgzf_close(struct bgzf *bgzf); /* NULL is allowed */

/* Reads up to `count` bytes from byte `at` of the decompressed file. *got is 0 only at its end. STATUS_CORRUPT: a block
 * is damaged or the index does not fit. STATUS_IO. */
enum status bgzf_read(struct bgzf *bgzf, int64_t at, void *to, size_t count, size_t *got, struct error *err);

#endif
