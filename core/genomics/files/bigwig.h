/* Writes bigWig files (libBigWig). A build without the library (meson option bigwig) refuses with STATUS_CONFLICT. */
#ifndef MOTIF_CORE_GENOMICS_FILES_BIGWIG_H
#define MOTIF_CORE_GENOMICS_FILES_BIGWIG_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/work.h"

struct bigwig_interval {
    int chromosome;
    uint32_t start, end;
    float value;
};

/* Appends a whole file to `out`. names, lengths: [chromosomes]. intervals: [count] sorted by chromosome and start,
 * without overlaps. work: the budget, or NULL. STATUS_CANCELLED, STATUS_CONFLICT, STATUS_NO_MEMORY, STATUS_IO,
 * STATUS_LIMIT. Any thread. */
enum status bigwig_write(const char *const *names, const uint32_t *lengths, int chromosomes,
                         const struct bigwig_interval *intervals, size_t count, struct work *work, struct buf *out,
                         struct error *err);

#endif
