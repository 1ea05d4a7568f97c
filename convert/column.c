/* Reads a column in blocks of rows and turns each element into text (column.h). */
#include "convert/column.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MOTIF_SMALL_BLOCKS /* small sizes for tests, as in matrix.c */
enum { BLOCK_ROWS = 8 };
#else
enum { BLOCK_ROWS = 1024 };
#endif
enum {
    ELEMENT_BYTES = 4096, /* upper limit of the bytes of a text of fixed size */
    CATEGORIES = 1 << 20  /* upper limit of the categories of a column */
};

/* ---- types ------------------------------------------------------------------------------------------------- */

static void describe(struct column *c, hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_STRING:
        c->kind = COLUMN_TEXT;
        c->variable = H5Tis_variable_str(type) > 0;
        c->bytes = c->variable ? sizeof(char *) : H5Tget_size(type);
        c->element = H5Tcopy(type);
        break;
    case H5T_FLOAT:
        c->kind = COLUMN_FLOAT;
        c->bytes = sizeof(double);
        c->element = H5Tcopy(H5T_NATIVE_DOUBLE);
        break;
    case H5T_INTEGER:
    case H5T_ENUM:
        c->kind = H5Tget_class(type) == H5T_ENUM && H5Tget_nmembers(type) == 2 ? COLUMN_BOOLEAN : COLUMN_INTEGER;
        c->bytes = sizeof(int64_t);
        c->element = H5Tcopy(H5T_NATIVE_INT64);
        break;
    default:
        break;
    }
}

enum status column_set_type(struct column *column, hid_t type, struct error *err)
{
    describe(column, type);
    if (column->bytes == 0)
        return error_set(err, STATUS_INVALID, NULL, "the column '%.60s' is neither text, number nor category",
                         column->name);
    if (column->bytes > ELEMENT_BYTES)
        return error_set(err, STATUS_LIMIT, NULL, "the column '%.60s' has texts of %zu bytes; %d are allowed",
                         column->name, column->bytes, TABLE_TEXT - 1);
    column->block = calloc(BLOCK_ROWS, column->bytes);
    return column->element > 0 && column->block ? STATUS_OK : error_memory(err, "a column");
}

enum status column_take_values(struct column *column, struct error *err)
{
    if (column->values.rank != 1)
        return error_set(err, STATUS_INVALID, NULL, "the column '%.60s' must have one dimension", column->name);
    column->rows = column->values.dim[0];
    return column_set_type(column, column->values.type, err);
}

enum status column_open_masked(struct column *c, hid_t group, struct error *err)
{
    enum status status = hdf5_open_array(group, "values", &c->values, err);
    if (status)
        return status;
    status = column_take_values(c, err);
    if (status)
        return status;
    status = hdf5_open_array(group, "mask", &c->mask, err);
    if (status)
        return status;
    return c->mask.rank == 1 && c->mask.dim[0] == c->rows && hdf5_is_number(&c->mask)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "the mask of the column '%.60s' must have a boolean for each row",
                           c->name);
}

enum status column_open_list(hid_t group, const char *name, struct column *column, struct error *err)
{
    *column = (struct column){.rows = 0};
    (void)snprintf(column->name, sizeof column->name, "%s", name);
    hid_t parts;
    bool masked = hdf5_is_group(group, name);
    enum status status =
        masked ? hdf5_open_group(group, name, &parts, err) : hdf5_open_array(group, name, &column->values, err);
    if (!status)
        status = masked ? column_open_masked(column, parts, err) : column_take_values(column, err);
    if (masked && parts >= 0)
        H5Gclose(parts);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

/* Frees the texts of the block, which libhdf5 allocated. */
static void free_texts(struct column *c)
{
    hsize_t rows = BLOCK_ROWS;
    hid_t space = c->variable && c->block ? H5Screate_simple(1, &rows, NULL) : -1;
    if (space < 0)
        return;
    (void)H5Dvlen_reclaim(c->element, space, H5P_DEFAULT, c->block);
    H5Sclose(space);
    memset(c->block, 0, BLOCK_ROWS * c->bytes);
}

static enum status read_block(struct column *c, struct error *err)
{
    int64_t count = c->rows - c->row < BLOCK_ROWS ? c->rows - c->row : BLOCK_ROWS;
    free_texts(c);
    enum status status = hdf5_read(&c->values, c->row, count, c->element, c->block, err);
    if (status)
        return status;
    c->end = c->row + count;
    c->at = c->block;
    if (c->mask.set <= 0)
        return STATUS_OK;
    if (!c->missing && !(c->missing = malloc(BLOCK_ROWS)))
        return error_memory(err, "a column");
    return hdf5_read(&c->mask, c->row, count, H5T_NATIVE_SCHAR, c->missing, err);
}

static enum status copy_text(struct column *c, const char *from, size_t length, struct error *err)
{
    if (length >= sizeof c->text)
        return error_set(err, STATUS_INVALID, NULL, "row %lld of the column '%.60s' is longer than %d bytes",
                         (long long)c->row + 1, c->name, TABLE_TEXT - 1);
    memcpy(c->text, from, length);
    c->text[length] = '\0';
    return STATUS_OK;
}

static enum status text_of(struct column *c, struct error *err)
{
    char *pointer;
    if (c->variable) {
        memcpy(&pointer, c->at, sizeof pointer);
        return pointer ? copy_text(c, pointer, strlen(pointer), err) : STATUS_OK;
    }
    size_t length = strnlen(c->at, c->bytes);
    while (length > 0 && c->at[length - 1] == ' ' && H5Tget_class(c->element) == H5T_STRING &&
           H5Tget_strpad(c->element) == H5T_STR_SPACEPAD)
        length--;
    return copy_text(c, c->at, length, err);
}

static enum status integer_of(struct column *c, struct error *err)
{
    int64_t value;
    memcpy(&value, c->at, sizeof value);
    if (c->kind == COLUMN_BOOLEAN)
        return copy_text(c, value ? "True" : "False", value ? 4 : 5, err);
    if (c->kind == COLUMN_INTEGER) {
        (void)snprintf(c->text, sizeof c->text, "%lld", (long long)value);
        return STATUS_OK;
    }
    if (value >= c->categories || value < -1)
        return error_set(err, STATUS_INVALID, NULL,
                         "row %lld of the column '%.60s' has the code %lld, but there is no such category",
                         (long long)c->row + 1, c->name, (long long)value);
    return value < 0 ? STATUS_OK : copy_text(c, c->category[value], strlen(c->category[value]), err);
}

static void float_of(struct column *c)
{
    double value;
    memcpy(&value, c->at, sizeof value);
    if (isnan(value))
        return;
    /* Whole numbers keep all their digits. Nine digits tell apart the other values of single precision, and 17 those of
     * double precision. */
    bool whole = fabs(value) < 1e15 && value == trunc(value), single = (double)(float)value == value;
    (void)snprintf(c->text, sizeof c->text, whole ? "%.0f" : single ? "%.9g" : "%.15g", value);
    if (!whole && !single && strtod(c->text, NULL) != value)
        (void)snprintf(c->text, sizeof c->text, "%.17g", value);
}

enum status column_next(struct column *column, const char **text, struct error *err)
{
    struct column *c = column;
    enum status status = STATUS_OK;
    if (c->row >= c->rows)
        return error_set(err, STATUS_INVALID, NULL, "the column '%.60s' has only %lld rows", c->name,
                         (long long)c->rows);
    if (c->row >= c->end)
        status = read_block(c, err);
    if (status)
        return status;
    c->text[0] = '\0';
    *text = c->text;
    if (c->mask.set > 0 && c->missing[(c->at - c->block) / (ptrdiff_t)c->bytes])
        status = STATUS_OK;
    else if (c->kind == COLUMN_TEXT)
        status = text_of(c, err);
    else if (c->kind == COLUMN_FLOAT)
        float_of(c);
    else
        status = integer_of(c, err);
    c->at += c->bytes;
    c->row++;
    return status;
}

void column_close(struct column *column)
{
    free_texts(column);
    for (int64_t i = 0; column->category && i < column->categories; i++)
        free(column->category[i]);
    free(column->category);
    if (column->element > 0)
        H5Tclose(column->element);
    if (!column->borrowed)
        hdf5_close_array(&column->values);
    hdf5_close_array(&column->mask);
    free(column->block);
    free(column->missing);
    *column = (struct column){.rows = 0};
}

/* ---- categories ---------------------------------------------------------------------------------------------- */

static enum status read_names(struct column *list, char **names, struct error *err)
{
    for (int64_t i = 0; i < list->rows; i++) {
        const char *text;
        enum status status = column_next(list, &text, err);
        if (status)
            return status;
        if (!(names[i] = strdup(text)))
            return error_memory(err, "a column");
    }
    return STATUS_OK;
}

enum status column_set_categories(struct column *column, hid_t group, const char *name, struct error *err)
{
    struct column list;
    if (column->kind != COLUMN_INTEGER)
        return error_set(err, STATUS_INVALID, NULL, "the codes of the column '%.60s' must be integers", column->name);
    enum status status = column_open_list(group, name, &list, err);
    if (!status && list.rows > CATEGORIES)
        status = error_set(err, STATUS_LIMIT, NULL, "the column '%.60s' has %lld categories; %d are allowed",
                           column->name, (long long)list.rows, CATEGORIES);
    if (!status && !(column->category = calloc((size_t)list.rows + 1, sizeof *column->category)))
        status = error_memory(err, "a column");
    if (!status) {
        column->kind = COLUMN_CATEGORIES;
        column->categories = list.rows;
        status = read_names(&list, column->category, err);
    }
    column_close(&list);
    return status;
}
