/* A byte buffer that grows up to a limit.
 *
 * An append that would exceed `limit`, or for which there is no memory, sets `failed` and frees the contents. Later
 * appends then do nothing, so a writer appends without checks and asks buf_status() once at the end. If `data` is not
 * NULL, a NUL byte follows the `size` bytes. One thread at a time may use a buffer. */
#ifndef MOTIF_CORE_BASE_BUF_H
#define MOTIF_CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct buf {
    char *data;
    size_t size, capacity, limit;
    bool failed;
    bool full; /* reason of a failure: an append would exceed `limit` (true), or there was no memory (false) */
};

/* Prepares an empty buffer. limit: maximum size in bytes. buf_close() frees the contents; the buffer may be used
 * again. */
void buf_init(struct buf *buf, size_t limit);
void buf_close(struct buf *buf);
/* buf_append() appends `count` bytes, buf_text() a string, and buf_format() formatted text. */
void buf_append(struct buf *buf, const void *bytes, size_t count);
void buf_text(struct buf *buf, const char *text);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends `bytes` bytes of text, from column `at` of the current line on. Breaks lines between words, so that a line
 * has at most `columns` characters; the new lines begin at column `indent`. A word that is too long for a line stays
 * whole. Spaces and line feeds separate words. Columns count characters of UTF-8. */
void buf_wrap(struct buf *buf, const char *text, size_t bytes, int at, int indent, int columns);
/* Whether all appends succeeded: STATUS_OK, STATUS_LIMIT or STATUS_NO_MEMORY. `what` names the contents in the message.
 */
enum status buf_status(const struct buf *buf, const char *what, struct error *err);
/* Empties the buffer and clears `failed`; keeps the memory. */
void buf_clear(struct buf *buf);
/* Returns the contents, which the caller frees with free(), and empties the buffer. Returns NULL after a failure.
 * `size` may be NULL. */
char *buf_take(struct buf *buf, size_t *size);

#endif
