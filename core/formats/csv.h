/* Tables of text from a byte source (RFC 4180, and what programs write instead). A field in double quotes may contain
 * separators, ends of lines and doubled quotes. The first record is the header, and every other record has the same
 * number of fields as the header.
 *
 * The dialect is recognised by the first two records:
 * - The separator is a tab, ';' or ',': the one that splits both records into equally many fields. Where none of them
 *   does, it is '|' or blanks. A line "sep=;" before the header states it.
 * - Lines before the header that begin with '#' are comments, if they have another number of fields than the next line.
 * - If the header has one name less than the first record, and the last field of this record is not empty, the first
 *   field of each record is the name of a row, as R writes it. Its column gets the name "".
 * - The text may be UTF-16 (text_source.h). Lines end in LF, CR LF or CR.
 * - Blanks around fields are removed, but not those inside quotes. Empty lines are skipped.
 * - Numbers have a decimal point or a decimal comma, all of them the same; csv_value() decides. "true" and "false" are
 * 1 and 0.
 *
 * The bytes are untrusted. STATUS_INVALID, naming the row (the header is row 1): a wrong number of fields, a misplaced
 * or open quote, a NUL, bytes that are not UTF-8. STATUS_LIMIT: a record of more than CSV_RECORD bytes or CSV_FIELDS
 * fields. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_CSV_H
#define MOTIF_CORE_FORMATS_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rounded.h"
#include "core/formats/text_source.h"

enum { CSV_RECORD = 16 << 20, CSV_FIELDS = 100000, CSV_NUMBER = 64 };

struct csv {
    struct text_source text;
    char separator;
    bool stated;            /* a line "sep=" states the separator */
    bool row_names;         /* the header has no name for the first column */
    char decimal;           /* '.' or ','; NUL: no number so far has a decimal sign */
    const char *what;       /* what messages call a record: "row", or "line" in JSON Lines (json/json_rows.h) */
    int64_t row;            /* number of the current record, from 1; line ends inside quotes do not count */
    char **field;           /* [count] texts of the fields, NUL-terminated; valid until the next record */
    bool *list;             /* [columns] whether a field is a list in JSON; NULL: none is */
    bool booleans;          /* a field was read as true or false */
    bool comments;          /* lines before the header were skipped */
    int count, columns;     /* count: number of fields of the current record; columns: number of fields of the header */
    char **name;            /* [columns] names of the columns, all different */
    struct rounded rounded; /* whole numbers that lost digits in csv_value() */
    /* private */
    char *record, *names;
    size_t used, room, *start;
    int fields_room;
    unsigned char *block;
    size_t at, filled, block_room;
    bool ended;
    bool clear;          /* a number shows that the comma is a decimal sign */
    int64_t decimal_row; /* row of the first number with a decimal sign */
    int64_t unclear_row; /* row of the first number whose comma may separate thousands; 0: there is none */
    int unclear_column;
    char unclear[CSV_NUMBER];
};

/* Reads the header; csv->field contains the column names until csv_next(). STATUS_INVALID also if two names are equal
 * or a name other than the first is empty. The table must stay where it is. The caller calls csv_close(), after an
 * error too. */
enum status csv_open(struct csv *csv, const struct byte_source *from, struct error *err);
void csv_close(struct csv *csv); /* a zeroed struct is allowed */
/* Reads the next record; *more is false at the end. STATUS_INVALID at the end: the commas of all numbers with commas
 * can be decimal signs or separate thousands ("1,234"). */
enum status csv_next(struct csv *csv, bool *more, struct error *err);
/* Returns the index of the column with this name or, if no column has it, of the only column whose name differs just
 * in the case of ASCII letters; -1 if there is none. */
int csv_find(const struct csv *csv, const char *name);
/* Whether a text says that there is no value: empty, NaN, NA, None, null and the like, in any case. */
bool csv_missing(const char *field);
/* Parses a field as a finite float with a decimal point; false: it is not such a number. */
bool csv_number(const char *field, float *value);
/* Whether such a text is a whole number that `value`, its nearest float, does not equal. */
bool csv_rounds(const char *field, float value);
/* Parses a field of the current record as a finite float with the decimal sign of the table. STATUS_INVALID, naming
 * row, column, text and remedy: it is no number, contains separators of thousands, or has another decimal sign than
 * earlier numbers. */
enum status csv_value(struct csv *csv, int column, float *value, struct error *err);
/* Describes what is unusual in the dialect, for people: "';' between fields, decimal commas". "": nothing is. */
enum { CSV_DIALECT = 192 };
void csv_dialect(const struct csv *csv, char out[CSV_DIALECT]);

#endif
