/* A byte buffer that grows up to a bound.
 *
 * The first append that would pass `limit` (or finds no memory) sets `failed` and frees the
 * contents; later appends do nothing. So a writer can append without looking and check once.
 * `data` is always NUL-terminated one past `size` when not NULL. One thread at a time. */
#ifndef MOTIF_CORE_BASE_BUF_H
#define MOTIF_CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct buf {
    char *data;
    size_t size, capacity, limit;
    bool failed;
    bool full; /* why: it would have passed `limit` */
};

void buf_init(struct buf *buf, size_t limit);
void buf_close(struct buf *buf);
void buf_append(struct buf *buf, const void *bytes, size_t count);
void buf_text(struct buf *buf, const char *text);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* OK, STATUS_LIMIT (`what` is too large) or STATUS_NO_MEMORY. */
enum status buf_status(const struct buf *buf, const char *what, struct error *err);
void buf_clear(struct buf *buf); /* size 0, memory kept, failed reset */
/* Gives the memory to the caller (free() it) and empties the buffer; NULL when failed. */
char *buf_take(struct buf *buf, size_t *size);

#endif
