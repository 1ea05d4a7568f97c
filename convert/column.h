/* Reads a column of texts, numbers, booleans or categories in an HDF5 file, row by row, as text. Memory does not
 * grow with the number of rows. Errors as in hdf5_read.h; one thread. */
#ifndef MOTIF_CONVERT_COLUMN_H
#define MOTIF_CONVERT_COLUMN_H

#include "convert/hdf5_read.h"
#include "core/formats/table/table_stream.h"

enum column_kind { COLUMN_TEXT, COLUMN_INTEGER, COLUMN_FLOAT, COLUMN_BOOLEAN, COLUMN_CATEGORIES };

struct column {
    char name[TABLE_TEXT];
    enum column_kind kind;
    int64_t rows;
    /* `mask` says for each row whether its value is missing. If there is no mask, mask.set is 0 or negative. */
    struct hdf5_array values, mask;
    bool borrowed;   /* the caller owns `values` */
    hid_t element;   /* type of an element in memory */
    size_t bytes;    /* of an element in memory */
    bool variable;   /* elements are pointers to texts of any length */
    char **category; /* [categories] */
    int64_t categories;
    /* the block in memory */
    int64_t row, end;     /* row: the next row to return; end: the first row after the block */
    char *block, *at;     /* block: the elements of the block; at: the element of the next row */
    signed char *missing; /* [rows of the block] whether the value is missing */
    char text[TABLE_TEXT];
};

/* Prepares a zeroed column for elements that have this type in the file. STATUS_INVALID: neither text nor number nor
 * boolean. */
enum status column_set_type(struct column *column, hid_t type, struct error *err);
/* Prepares a column whose array the caller has put into `values`. The array must have one dimension. */
enum status column_take_values(struct column *column, struct error *err);
/* Reads the names of the categories. The column's integers are indices of these names. */
enum status column_set_categories(struct column *column, hid_t group, const char *name, struct error *err);
/* Opens the arrays `values` and `mask` of a group: a column with missing values. */
enum status column_open_masked(struct column *column, hid_t group, struct error *err);
/* Opens a child of a group: an array, or a group of values and mask. The caller calls column_close(), also after an
 * error. */
enum status column_open_list(hid_t group, const char *name, struct column *column, struct error *err);

/* Returns the text of the next row, which is valid until the next call; "" if the value is missing. STATUS_INVALID: the
 * text has TABLE_TEXT bytes or more, or the number of a category has no name. */
enum status column_next(struct column *column, const char **text, struct error *err);
void column_close(struct column *column); /* a zeroed struct is allowed */

#endif
