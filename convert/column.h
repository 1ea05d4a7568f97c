/* A column of texts, numbers, booleans or categories in an HDF5 file, read as text from its first row to its last.
 * Memory does not grow with the number of rows. Errors as in hdf5_read.h; one thread. */
#ifndef MOTIF_CONVERT_COLUMN_H
#define MOTIF_CONVERT_COLUMN_H

#include "convert/hdf5_read.h"
#include "core/formats/table/table_stream.h"

enum column_kind { COLUMN_TEXT, COLUMN_INTEGER, COLUMN_FLOAT, COLUMN_BOOLEAN, COLUMN_CATEGORIES };

struct column {
    char name[TABLE_TEXT];
    enum column_kind kind;
    int64_t rows;
    struct hdf5_array values, mask; /* mask: whether the value of a row is missing; mask.set is not above 0 without */
    bool borrowed;                  /* `values` belongs to somebody else */
    hid_t element;                  /* type of an element in memory */
    size_t bytes;                   /* of an element in memory */
    bool variable;                  /* elements are pointers to texts */
    char **category;                /* [categories] */
    int64_t categories;
    /* the block in memory */
    int64_t row, end;     /* the next row, and the end of the block */
    char *block, *at;     /* elements of the block, and that of the next row */
    signed char *missing; /* for each row of the block */
    char text[TABLE_TEXT];
};

/* Sets a zeroed column up for elements of a type of the file. STATUS_INVALID: neither text nor number nor boolean. */
enum status column_set_type(struct column *column, hid_t type, struct error *err);
/* The same for the array that is in `values` already, which must have one dimension. */
enum status column_take_values(struct column *column, struct error *err);
/* Reads the names that the column's integers stand for. */
enum status column_set_categories(struct column *column, hid_t group, const char *name, struct error *err);
/* Opens an array that is a child of a group. The caller calls column_close(), also after an error. */
enum status column_open_list(hid_t group, const char *name, struct column *column, struct error *err);

/* Returns the text of the next row, which is valid until the next call; "" where the value is missing. STATUS_INVALID:
 * the text has TABLE_TEXT bytes or more, or a code has no name. */
enum status column_next(struct column *column, const char **text, struct error *err);
void column_close(struct column *column); /* a zeroed struct is allowed */

#endif
