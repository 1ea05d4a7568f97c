/* A byte buffer that grows up to a bound.
 *
 * The first append that would pass `limit` (or finds no memory) sets `failed` and frees the
 * contents; later appends do nothing. So a writer can append without looking and check once.
 * `data` is always NUL-terminated one past `size` when not NULL. One thread at a time. */
#ifndef MOTIF_CORE_BASE_BUF_H
#define MOTIF_CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t size, capacity, limit;
    bool failed;
};

void buf_init(struct buf *buf, size_t limit);
void buf_close(struct buf *buf);
void buf_append(struct buf *buf, const void *bytes, size_t count);
void buf_text(struct buf *buf, const char *text);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_clear(struct buf *buf); /* size 0, memory kept, failed reset */
/* Gives the memory to the caller (free() it) and empties the buffer; NULL when failed. */
char *buf_take(struct buf *buf, size_t *size);

#endif
