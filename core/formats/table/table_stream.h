/* A table as a stream of bytes. motif-convert (convert/) writes it to a pipe, and the daemon reads it.
 *
 * All numbers are little-endian. A text is its length in two bytes, followed by that many bytes of UTF-8; it has at
 * most TABLE_TEXT - 1 bytes.
 *
 * The stream has these parts, in this order:
 * - "motiftbl"; flags (4 bytes); number of columns of labels (4 bytes; 0 with TABLE_LABELS means 1); number of rows (8
 * bytes); number of columns (8 bytes). TABLE_SINGLE: the values of the file need no more than single precision.
 * - With TABLE_ROLES: the names of the columns of labels, groups, parts and names of rows, as far as there are such.
 * - For each column: its name. With TABLE_IDS also its id, which may be empty.
 * - For each row: with TABLE_NAMES its name, with TABLE_LABELS its labels, with TABLE_GROUPS its group, with
 * TABLE_PARTS its part. Then the number of entries (4 bytes), and for each entry its column (4 bytes) and its value (4
 * bytes, a float). If the number of entries is TABLE_DENSE, the values of all columns follow instead.
 * - "end."
 *
 * The entries of a row may come in any order. If a column has several entries, their values are added, as in SciPy. */
#ifndef MOTIF_CORE_FORMATS_TABLE_TABLE_STREAM_H
#define MOTIF_CORE_FORMATS_TABLE_TABLE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/byte_source.h"

enum {
    TABLE_LABELS = 1,
    TABLE_GROUPS = 2,
    TABLE_NAMES = 4,
    TABLE_IDS = 8,
    TABLE_PARTS = 16,
    TABLE_SINGLE = 32,
    TABLE_ROLES = 64
};
enum {
    TABLE_LABEL_COLUMNS = 64, /* largest number of columns of labels */
    TABLE_TEXT = 256,         /* bytes of a text with its NUL */
    TABLE_ROWS = 1 << 22,     /* largest number of rows */
    TABLE_COLUMNS = 1 << 20   /* largest number of columns */
};
#define TABLE_DENSE UINT32_MAX

/* Exit codes of motif-convert after a failure. The program then writes one line with the reason to its standard
 * error. */
enum { TABLE_EXIT_USAGE = 2, TABLE_EXIT_FAULT, TABLE_EXIT_LIMIT, TABLE_EXIT_OTHER };

struct table_head {
    uint32_t flags;
    int64_t rows, cols;
    uint32_t labels; /* columns of labels */
};

struct table_entry {
    uint32_t column; /* from 0 */
    float value;
};

/* ---- writing: one thread, in the order of the stream ----
 * Texts must have at most TABLE_TEXT - 1 bytes. table_write_end() also writes what is in the buffer. The first failed
 * write() sets `failed`; later calls have no effect. */
struct table_writer {
    void *context;
    bool (*write)(void *context, const void *bytes, size_t count);
    bool failed;
    size_t used;
    unsigned char buffer[1 << 16];
};
void table_write_head(struct table_writer *w, const struct table_head *head);
void table_write_text(struct table_writer *w, const char *text);
void table_write_dense(struct table_writer *w, const float *values, size_t count);
/* table_write_count() writes the number of entries of a row, which must be below TABLE_DENSE. table_write_entry() then
 * writes one entry. */
void table_write_count(struct table_writer *w, uint32_t count);
void table_write_entry(struct table_writer *w, struct table_entry entry);
void table_write_end(struct table_writer *w);

/* ---- reading: the bytes are untrusted ----
 * Zero the struct and set `from`. STATUS_CORRUPT: the bytes are no such stream or end early. STATUS_LIMIT: more rows or
 * columns than TABLE_ROWS and TABLE_COLUMNS. Also any error of the source. */
struct table_reader {
    const struct byte_source *from;
    struct table_head head;
    size_t at, filled;
    unsigned char buffer[1 << 16];
};
enum status table_read_head(struct table_reader *r, struct error *err);
/* Reads a text; `what` names it in messages. STATUS_INVALID: the text is not UTF-8 or contains control characters. */
enum status table_read_text(struct table_reader *r, const char *what, char text[TABLE_TEXT], struct error *err);
/* Reads the values of a row. values: [cols]; they may be infinite or NaN. */
enum status table_read_values(struct table_reader *r, float *values, struct error *err);
enum status table_read_end(struct table_reader *r, struct error *err);

#endif
