/* Writes and reads tables as streams (table_stream.h). Both sides have a buffer, so that a table of many short rows
 * needs few system calls. */
#include "core/formats/table/table_stream.h"

#include <string.h>

#include "core/base/utf8.h"

static const char magic[8] = "motiftbl", last[4] = "end.";

enum {
    HEAD_BYTES = 32,
    BLOCK = 1024 /* number of floats that are copied at a time */,
    FLAGS = TABLE_LABELS | TABLE_GROUPS | TABLE_NAMES | TABLE_IDS | TABLE_PARTS | TABLE_SINGLE | TABLE_ROLES
};

/* put_integer() writes an integer of `bytes` bytes, little-endian; get_integer() reads one. */
static void put_integer(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_integer(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void put_float(unsigned char *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_integer(to, bits, 4);
}

static float get_float(const unsigned char *from)
{
    uint32_t bits = (uint32_t)get_integer(from, 4);
    float value = 0;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

static void table_stream_flush(struct table_writer *w)
{
    if (!w->failed && w->used > 0)
        w->failed = !w->write(w->context, w->buffer, w->used);
    w->used = 0;
}

/* Returns memory for `count` bytes, at most 4096, which the caller fills before the next call. */
static unsigned char *room(struct table_writer *w, size_t count)
{
    if (w->used + count > sizeof w->buffer)
        table_stream_flush(w);
    w->used += count;
    return w->buffer + w->used - count;
}

void table_write_head(struct table_writer *w, const struct table_head *head)
{
    unsigned char *to = room(w, HEAD_BYTES);
    memcpy(to, magic, sizeof magic);
    put_integer(to + 8, head->flags, 4);
    put_integer(to + 12, head->labels, 4);
    put_integer(to + 16, (uint64_t)head->rows, 8);
    put_integer(to + 24, (uint64_t)head->cols, 8);
}

void table_write_text(struct table_writer *w, const char *text)
{
    size_t length = strnlen(text, TABLE_TEXT - 1);
    unsigned char *to = room(w, 2 + length);
    put_integer(to, length, 2);
    memcpy(to + 2, text, length);
}

void table_write_dense(struct table_writer *w, const float *values, size_t count)
{
    put_integer(room(w, 4), TABLE_DENSE, 4);
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t now = count - begin < BLOCK ? count - begin : BLOCK;
        unsigned char *to = room(w, 4 * now);
        for (size_t i = 0; i < now; i++)
            put_float(to + 4 * i, values[begin + i]);
    }
}

void table_write_count(struct table_writer *w, uint32_t count)
{
    put_integer(room(w, 4), count, 4);
}

void table_write_entry(struct table_writer *w, struct table_entry entry)
{
    unsigned char *to = room(w, 8);
    put_integer(to, entry.column, 4);
    put_float(to + 4, entry.value);
}

void table_write_end(struct table_writer *w)
{
    memcpy(room(w, sizeof last), last, sizeof last);
    table_stream_flush(w);
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

/* Makes `count` bytes, at most 4096, available at *bytes until the next call. */
static enum status table_stream_take(struct table_reader *r, size_t count, const unsigned char **bytes,
                                     struct error *err)
{
    if (r->filled - r->at < count) {
        memmove(r->buffer, r->buffer + r->at, r->filled - r->at);
        r->filled -= r->at;
        r->at = 0;
    }
    while (r->filled < count) {
        size_t got = 0;
        enum status status = byte_source_read(r->from, r->buffer + r->filled, sizeof r->buffer - r->filled, &got, err);
        if (status)
            return status;
        if (got == 0)
            return error_set(err, STATUS_CORRUPT, NULL, "the table ends early");
        r->filled += got;
    }
    *bytes = r->buffer + r->at;
    r->at += count;
    return STATUS_OK;
}

enum status table_read_head(struct table_reader *r, struct error *err)
{
    const unsigned char *bytes;
    enum status status = table_stream_take(r, HEAD_BYTES, &bytes, err);
    if (status)
        return status;
    r->head = (struct table_head){(uint32_t)get_integer(bytes + 8, 4), (int64_t)get_integer(bytes + 16, 8),
                                  (int64_t)get_integer(bytes + 24, 8), (uint32_t)get_integer(bytes + 12, 4)};
    bool labelled = (r->head.flags & TABLE_LABELS) != 0;
    if (labelled && r->head.labels == 0)
        r->head.labels = 1;
    if (memcmp(bytes, magic, sizeof magic) != 0 || (r->head.flags & ~(uint32_t)FLAGS) != 0 ||
        (!labelled && r->head.labels > 0) || r->head.labels > TABLE_LABEL_COLUMNS || r->head.rows < 0 ||
        r->head.cols < 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the bytes are not a table");
    if (r->head.rows == 0 || r->head.cols == 0)
        return error_set(err, STATUS_INVALID, NULL, "the table has %s; it needs at least one",
                         r->head.rows == 0 ? "no rows" : "no columns");
    if (r->head.rows > TABLE_ROWS || r->head.cols > TABLE_COLUMNS)
        return error_set(err, STATUS_LIMIT, NULL,
                         "the table has %lld rows and %lld columns; %d rows and %d columns are allowed",
                         (long long)r->head.rows, (long long)r->head.cols, TABLE_ROWS, TABLE_COLUMNS);
    return STATUS_OK;
}

enum status table_read_text(struct table_reader *r, const char *what, char text[TABLE_TEXT], struct error *err)
{
    const unsigned char *bytes;
    enum status status = table_stream_take(r, 2, &bytes, err);
    if (status)
        return status;
    size_t length = (size_t)get_integer(bytes, 2);
    if (length >= TABLE_TEXT)
        return error_set(err, STATUS_CORRUPT, NULL, "%s is longer than %d bytes", what, TABLE_TEXT - 1);
    status = table_stream_take(r, length, &bytes, err);
    if (status)
        return status;
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (memchr(bytes, '\0', length) || !utf8_printable(text, length))
        return error_set(err, STATUS_INVALID, NULL, "%s is not UTF-8 or contains control characters", what);
    return STATUS_OK;
}

static enum status read_dense(struct table_reader *r, float *values, struct error *err)
{
    for (int64_t begin = 0; begin < r->head.cols; begin += BLOCK) {
        const unsigned char *bytes;
        size_t now = r->head.cols - begin < BLOCK ? (size_t)(r->head.cols - begin) : BLOCK;
        enum status status = table_stream_take(r, 4 * now, &bytes, err);
        if (status)
            return status;
        for (size_t i = 0; i < now; i++)
            values[begin + (int64_t)i] = get_float(bytes + 4 * i);
    }
    return STATUS_OK;
}

enum status table_read_values(struct table_reader *r, float *values, struct error *err)
{
    const unsigned char *bytes;
    enum status status = table_stream_take(r, 4, &bytes, err);
    if (status)
        return status;
    uint32_t count = (uint32_t)get_integer(bytes, 4);
    if (count == TABLE_DENSE)
        return read_dense(r, values, err);
    memset(values, 0, (size_t)r->head.cols * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        status = table_stream_take(r, 8, &bytes, err);
        if (status)
            return status;
        uint64_t column = get_integer(bytes, 4);
        if (column >= (uint64_t)r->head.cols)
            return error_set(err, STATUS_CORRUPT, NULL, "an entry has the column %llu, but there are %lld columns",
                             (unsigned long long)column, (long long)r->head.cols);
        values[column] += get_float(bytes + 4);
    }
    return STATUS_OK;
}

enum status table_read_end(struct table_reader *r, struct error *err)
{
    const unsigned char *bytes;
    enum status status = table_stream_take(r, sizeof last, &bytes, err);
    if (status)
        return status;
    if (memcmp(bytes, last, sizeof last) != 0 || r->at != r->filled)
        return error_set(err, STATUS_CORRUPT, NULL, "the table does not end after its last row");
    return byte_source_end(r->from, "the table", err);
}
