/* Comma- or tab-separated records from a byte source (RFC 4180). A field in double quotes may contain separators, ends
 * of lines and doubled quotes. The first record is the header, and every other record has the same number of fields as
 * the header. The separator is a tab if the header contains one, otherwise a comma. A byte order mark before the header
 * and empty lines are skipped.
 *
 * The bytes are untrusted. STATUS_INVALID, naming the row (the header is row 1): a wrong number of fields, a misplaced
 * or open quote, a NUL, bytes that are not UTF-8. STATUS_LIMIT: a record of more than CSV_RECORD bytes or CSV_FIELDS
 * fields. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_CSV_H
#define MOTIF_CORE_FORMATS_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/formats/byte_source.h"

enum { CSV_RECORD = 16 << 20, CSV_FIELDS = 100000 };

struct csv {
    struct byte_source from;
    char separator;
    int64_t row;        /* number of the current record, from 1; line ends inside quotes do not count */
    char **field;       /* [count] texts of the fields, NUL-terminated; valid until the next record */
    int count, columns; /* count: number of fields of the current record; columns: number of fields of the header */
    /* private */
    char *record;
    size_t used, room, *start;
    int fields_room;
    unsigned char *block;
    size_t at, filled;
    bool ended;
};

/* Reads the header; csv->field contains the column names until csv_next(). STATUS_INVALID also if two names are equal
 * or a name other than the first is empty. The caller calls csv_close(), after an error too. */
enum status csv_open(struct csv *csv, const struct byte_source *from, struct error *err);
void csv_close(struct csv *csv); /* a zeroed struct is allowed */
/* Reads the next record; *more is false at the end. */
enum status csv_next(struct csv *csv, bool *more, struct error *err);
/* Returns the index of the column with this name; -1 if no column has it. Call it between csv_open() and csv_next()
 * only. */
int csv_find(const struct csv *csv, const char *name);
/* Parses a field as a finite float; false: it is not a number. */
bool csv_number(const char *field, float *value);

/* Finds the columns of a table that contain labels, groups and names of rows; all other columns are features. The
 * same rules apply to uploads and to inputs of queries. */

struct table_columns {
    int label, group, id; /* index of the column with labels, with groups, with names of rows; -1: there is none */
};

/* Finds the columns by the header, between csv_open() and csv_next(). Every column is a feature, except:
 * - a column of labels: called label, labels, class or target, or as `label` says;
 * - a column of groups for splits: called group or split, or as `group` says;
 * - the first column, if it contains names of rows: it has no name, or is called id, name or sample.
 * label, group: the name of the column; NULL or "" for the usual names. STATUS_INVALID: no column has this name. */
enum status table_columns_find(const struct csv *csv, const char *label, const char *group,
                               struct table_columns *columns, struct error *err);
bool table_columns_feature(const struct table_columns *columns, int column);

#endif
