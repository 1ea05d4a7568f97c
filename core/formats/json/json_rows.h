/* Tables in JSON Lines: each line is an object, whose members are the fields of a row. The first line names the
 * columns. The rows are those of a struct csv, so that functions for tables serve both formats. A later line may lack
 * columns; these fields are empty, as those with null are. A number, true or false is a field with this text. A list or
 * an object is a field with its JSON, and csv->list says that it is a list. Empty lines are skipped.
 *
 * The bytes are untrusted. STATUS_INVALID, naming the line: it is no object or not UTF-8, has a member twice or one
 * that the first line lacks, a NUL in a text, or a whole number of 2^53 or more, which JSON readers round.
 * STATUS_LIMIT: a line of more than CSV_RECORD bytes, or CSV_FIELDS members. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_JSON_JSON_ROWS_H
#define MOTIF_CORE_FORMATS_JSON_JSON_ROWS_H

#include "core/base/buf.h"
#include "core/formats/csv.h"
#include "core/formats/text_lines.h"

struct json_rows {
    struct csv *csv;
    struct text_stream lines;
    bool read;    /* the line of `object` was read, but not returned yet */
    void *object; /* the object of the current line */
    struct json_rows_field {
        char *made; /* the text of a list or an object; NULL: the field has none of these */
        char number[32];
    } * field; /* [csv->columns] */
    struct json_rows_name {
        const char *name;
        int column;
    } * sorted; /* [csv->columns] by name */
};

/* Reads the first line. csv: zeroed; the caller calls csv_close() after json_rows_close(), after an error too. */
enum status json_rows_open(struct json_rows *rows, struct csv *csv, const struct byte_source *from, struct error *err);
void json_rows_close(struct json_rows *rows); /* a zeroed struct is allowed */
/* As csv_next(). */
enum status json_rows_next(struct json_rows *rows, bool *more, struct error *err);
/* Writes the texts of a list, with a tab between them. STATUS_INVALID: an item is no
 * text or number, is blank, or contains a tab or a line end; the message begins with "item N". */
enum status json_list_tabs(const char *list, struct buf *out, struct error *err);

#endif
