/* A byte buffer that doubles its capacity when it is full, up to a limit. */
#include "core/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t limit)
{
    *buf = (struct buf){.limit = limit};
}

void buf_close(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.limit = buf->limit};
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    buf->full = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

static void buf_fail(struct buf *buf)
{
    buf_close(buf);
    buf->failed = true;
}

/* Grows the buffer so that `count` more bytes and a NUL fit. */
static bool reserve(struct buf *buf, size_t count)
{
    if (buf->failed)
        return false;
    if (count > buf->limit - buf->size || buf->size + count == SIZE_MAX) {
        buf_fail(buf);
        buf->full = true;
        return false;
    }
    size_t needed = buf->size + count + 1;
    if (needed <= buf->capacity)
        return true;
    size_t most = buf->limit < SIZE_MAX ? buf->limit + 1 : SIZE_MAX;
    size_t capacity = buf->capacity < most / 2 ? 2 * buf->capacity : most;
    if (capacity < 64)
        capacity = most < 64 ? most : 64;
    if (capacity < needed)
        capacity = needed;
    char *data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf_fail(buf);
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void buf_append(struct buf *buf, const void *bytes, size_t count)
{
    if (reserve(buf, count)) {
        if (count > 0)
            memcpy(buf->data + buf->size, bytes, count);
        buf->size += count;
        buf->data[buf->size] = '\0';
    }
}

void buf_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        buf_fail(buf);
    } else if (reserve(buf, (size_t)length)) {
        (void)vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    va_end(again);
}

void buf_wrap(struct buf *buf, const char *text, size_t bytes, int at, int indent, int columns)
{
    const char *end = text + bytes;
    bool first = true;
    while (text < end) {
        size_t length = 0;
        int width = 0;
        for (; text + length < end && text[length] != ' ' && text[length] != '\n'; length++)
            width += ((unsigned char)text[length] & 0xc0) != 0x80; /* a character counts at its first byte only */
        if (length > 0) {
            bool breaks = !first && at + 1 + width > columns;
            if (breaks)
                buf_format(buf, "\n%*s", indent, "");
            else if (!first)
                buf_text(buf, " ");
            buf_append(buf, text, length);
            at = (breaks ? indent : at + !first) + width;
            first = false;
        }
        text += text + length < end ? length + 1 : length;
    }
}

enum status buf_status(const struct buf *buf, const char *what, struct error *err)
{
    if (!buf->failed)
        return STATUS_OK;
    return buf->full ? error_set(err, STATUS_LIMIT, NULL, "%s is larger than the limit of %zu bytes", what, buf->limit)
                     : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %s", what);
}

char *buf_take(struct buf *buf, size_t *size)
{
    buf_append(buf, "", 0); /* gives an empty buffer an empty string, which is returned instead of NULL */
    char *data = buf->data;
    if (size != NULL)
        *size = buf->size;
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
    return data;
}
