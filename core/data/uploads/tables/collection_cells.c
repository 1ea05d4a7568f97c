/* Reads a sparse matrix with the names of its features and cells (collection_cells.h) and adds each cell as a row of
 * a table. */
#include "core/data/uploads/tables/collection_cells.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/formats/text_lines.h"

/* Sparse matrices in the format of Matrix Market (math.nist.gov/MatrixMarket/formats.html):
 * - the line "%%MatrixMarket matrix coordinate FIELD general";
 * - comments, which begin with '%';
 * - a line with the numbers of rows, columns and entries;
 * - a line "ROW COLUMN VALUE" for each entry; ROW and COLUMN are counted from 1.
 * FIELD is real, integer or pattern. The entries of a pattern have no value and count as 1. */

enum { MATRIX_MARKET_SIDE = 1 << 22 }; /* largest number of rows or columns */

struct matrix_market {
    int32_t rows, cols;
    int64_t count;
    struct rounded rounded; /* whole numbers that lost digits */
    struct matrix_entry {
        int32_t row, col; /* from 0 */
        float value;
    } * entry; /* [count] in the order of the file */
};

struct reader {
    struct plain_lines lines;
    size_t size;
    bool pattern;
};

static enum status matrix_market_fault(const struct reader *r, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "Matrix Market, line %lld: %s", (long long)r->lines.number, detail);
}

/* Whether a word of the header equals `text`; upper and lower case count as the same. */
static bool is_word(struct plain_line word, const char *text)
{
    size_t size = 0;
    while (text[size] != '\0')
        size++;
    return word.size == size && strncasecmp(word.at, text, size) == 0;
}

static enum status read_header(struct reader *r, struct error *err)
{
    struct plain_line line, word[5];
    int count = 0;
    if (!plain_next(&r->lines, &line))
        return matrix_market_fault(r, "the file is empty", err);
    while (count < 5 && plain_word(&line, &word[count]))
        count++;
    if (count < 5 || !is_word(word[0], "%%MatrixMarket") || !is_word(word[1], "matrix"))
        return matrix_market_fault(r, "must be %%MatrixMarket matrix coordinate real|integer|pattern general", err);
    if (!is_word(word[2], "coordinate"))
        return matrix_market_fault(r, "only coordinate matrices can be read; write a dense one as .npy or .csv", err);
    if (!is_word(word[4], "general"))
        return matrix_market_fault(r, "only general matrices can be read", err);
    r->pattern = is_word(word[3], "pattern");
    return r->pattern || is_word(word[3], "real") || is_word(word[3], "integer")
               ? STATUS_OK
               : matrix_market_fault(r, "the field must be real, integer or pattern", err);
}

/* Returns the next line that is neither empty nor a comment; false at the end. */
static bool next_line(struct reader *r, struct plain_line *line)
{
    while (plain_next(&r->lines, line))
        if (line->size > 0 && line->at[0] != '%')
            return true;
    return false;
}

static int64_t next_integer(struct plain_line *line, int64_t most)
{
    struct plain_line word;
    return plain_word(line, &word) ? plain_integer(word, most) : -1;
}

static enum status read_sizes(struct reader *r, struct matrix_market *m, struct error *err)
{
    struct plain_line line, word;
    if (!next_line(r, &line))
        return matrix_market_fault(r, "the file ends before the line with the numbers of rows, columns and entries",
                                   err);
    int64_t rows = next_integer(&line, MATRIX_MARKET_SIDE), cols = next_integer(&line, MATRIX_MARKET_SIDE);
    m->count = next_integer(&line, INT64_MAX / 64);
    if (rows < 1 || cols < 1 || m->count < 0 || plain_word(&line, &word))
        return matrix_market_fault(
            r, "must be the numbers of rows, columns and entries, with 1 to 4194304 rows and columns", err);
    if (m->count > rows * cols || (uint64_t)m->count > r->size / 4) /* an entry has at least four bytes */
        return matrix_market_fault(r, "has more entries than the matrix or the file can have", err);
    m->rows = (int32_t)rows;
    m->cols = (int32_t)cols;
    m->entry = malloc(((size_t)m->count + 1) * sizeof *m->entry);
    return m->entry ? STATUS_OK : error_memory(err, "a matrix");
}

static enum status read_entry(struct reader *r, struct matrix_market *m, struct matrix_entry *entry, struct error *err)
{
    struct plain_line line, word;
    if (!next_line(r, &line))
        return matrix_market_fault(r, "the file ends before its last entry", err);
    int64_t row = next_integer(&line, m->rows), col = next_integer(&line, m->cols);
    double value = r->pattern ? 1 : plain_word(&line, &word) ? plain_number(word) : NAN;
    if (row < 1 || col < 1)
        return matrix_market_fault(r, "the row or the column is outside of the matrix; both are counted from 1", err);
    if (fabs(value) > FLT_MAX)
        return matrix_market_fault(r, "the value is beyond single precision (3.4e38)", err);
    if (isnan(value) || plain_word(&line, &word))
        return matrix_market_fault(
            r, r->pattern ? "must have a row and a column" : "must have a row, a column and a finite number", err);
    if (rounded_double(value))
        rounded_add(&m->rounded, "matrix.mtx, line %lld: %.17g became %.0f", (long long)r->lines.number, value,
                    (double)(float)value);
    *entry = (struct matrix_entry){(int32_t)row - 1, (int32_t)col - 1, (float)value};
    return STATUS_OK;
}

/* Parses a whole file. The caller calls matrix_market_close() also after a failure. STATUS_INVALID: a fault of the
 * file; the message names the line. STATUS_NO_MEMORY. */
static enum status matrix_market_parse(const char *text, size_t size, struct matrix_market *out, struct error *err)
{
    struct reader r = {.lines = plain_lines(text, size), .size = size};
    struct plain_line line;
    *out = (struct matrix_market){.rows = 0};
    enum status status = read_header(&r, err);
    if (status)
        return status;
    status = read_sizes(&r, out, err);
    for (int64_t i = 0; !status && i < out->count; i++)
        status = read_entry(&r, out, &out->entry[i], err);
    return !status && next_line(&r, &line)
               ? matrix_market_fault(&r, "there are more entries than the line of sizes states", err)
               : status;
}

/* a zeroed struct is allowed */
static void matrix_market_close(struct matrix_market *matrix)
{
    free(matrix->entry);
    *matrix = (struct matrix_market){.rows = 0};
}

struct cells {
    struct builder *b;
    struct matrix_market matrix;
    struct feature_columns columns;
    bool turned;    /* the matrix has a row for each cell */
    int64_t *start; /* [cells + 1] index in `order` of the first entry of each cell */
    int64_t *order; /* [entries] indices of the entries, sorted by cell */
};

/* ---- columns ------------------------------------------------------------------------------------------------- */

static bool taken(const struct feature_columns *columns, const char *name)
{
    return name_list_find(&columns->names, name, strlen(name)) >= 0;
}

enum status feature_columns_add(struct feature_columns *columns, const char *name, const char *id, struct error *err)
{
    enum { TRIES = 1000 }; /* features of one name; more are refused */
    char own[TABLE_TEXT + 16];
    int32_t number;
    (void)snprintf(own, sizeof own, "%s", name);
    if (taken(columns, name)) {
        collection_list_add(&columns->renamed, name);
        if (id[0] != '\0')
            (void)snprintf(own, sizeof own, "%s", id);
        for (int i = 1; taken(columns, own) && i <= TRIES; i++)
            (void)snprintf(own, sizeof own, "%s-%d", name, i);
    }
    return taken(columns, own) || strlen(own) >= TABLE_TEXT
               ? error_set(err, STATUS_INVALID, NULL, "two features are called '%.60s'", name)
               : name_list_add(&columns->names, own, strlen(own), &number, err);
}

enum status feature_columns_finish(struct feature_columns *columns, struct collection *c, struct error *err)
{
    enum status status = STATUS_OK;
    if (columns->renamed.count > 0)
        status = collection_warn(c, err, "renamed-columns",
                                 "%d features with the name of an earlier feature were renamed: %s",
                                 columns->renamed.count, columns->renamed.text);
    c->columns = columns->names.names; /* from here on, the collection owns the names */
    columns->names.names = (struct collection_names){0};
    return status;
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

static enum status check_name(struct plain_line name, const char *file, int64_t line, struct error *err)
{
    if (name.size > 0 && name.size < NAME_BYTES && !memchr(name.at, '\0', name.size))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, NULL, "%s, line %lld: a name must have 1 to %d bytes", file, (long long)line,
                     NAME_BYTES - 1);
}

/* Adds a feature from a line with its id and, perhaps, its name. */
static enum status add_feature(struct cells *c, struct plain_line line, int64_t number, struct error *err)
{
    struct plain_line part[2] = {{0}, {0}}; /* id, name */
    char text[2][TABLE_TEXT];
    (void)plain_field(&line, '\t', &part[0]);
    if (!plain_field(&line, '\t', &part[1]) || part[1].size == 0)
        part[1] = part[0];
    for (int i = 0; i < 2; i++) {
        enum status status = check_name(part[i], "features.tsv", number, err);
        if (status)
            return status;
        memcpy(text[i], part[i].at, part[i].size);
        text[i][part[i].size] = '\0';
    }
    return feature_columns_add(&c->columns, text[1], text[0], err);
}

static enum status read_features(struct cells *c, const struct cells_text *text, struct error *err)
{
    struct plain_lines lines = plain_lines(text->features, text->feature_bytes);
    struct plain_line line;
    enum status status = STATUS_OK;
    while (!status && plain_next(&lines, &line))
        if (line.size > 0)
            status = add_feature(c, line, lines.number, err);
    return status;
}

static enum status read_barcodes(const struct cells_text *text, struct name_list *cells, struct error *err)
{
    struct plain_lines lines = plain_lines(text->barcodes, text->barcode_bytes);
    struct plain_line line, name;
    enum status status = STATUS_OK;
    while (!status && plain_next(&lines, &line)) {
        int32_t number;
        if (line.size == 0)
            continue;
        (void)plain_field(&line, '\t', &name);
        status = check_name(name, "barcodes.tsv", lines.number, err);
        if (!status && name_list_find(cells, name.at, name.size) >= 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "barcodes.tsv, line %lld: a cell occurs twice; if several runs were joined, "
                             "add the name of the run to its cells",
                             (long long)lines.number);
        if (!status)
            status = name_list_add(cells, name.at, name.size, &number, err);
    }
    return status;
}

/* Decides whether the rows of the matrix are features or cells. */
static enum status find_sides(struct cells *c, int cells, struct error *err)
{
    const struct matrix_market *m = &c->matrix;
    int features = c->columns.names.names.count;
    c->turned = !(m->rows == features && m->cols == cells);
    if (!c->turned || (m->rows == cells && m->cols == features))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, NULL,
                     "matrix.mtx has %d rows and %d columns, but there are %d features and %d cells", (int)m->rows,
                     (int)m->cols, features, cells);
}

static int32_t cell_of(const struct cells *c, int64_t entry)
{
    return c->turned ? c->matrix.entry[entry].row : c->matrix.entry[entry].col;
}

/* Sorts the entries by cell. The entries of one cell stay in their order. */
static enum status sort_entries(struct cells *c, int cells, struct error *err)
{
    c->start = calloc((size_t)cells + 2, sizeof *c->start);
    c->order = malloc(((size_t)c->matrix.count + 1) * sizeof *c->order);
    if (!c->start || !c->order)
        return error_memory(err, "a matrix");
    for (int64_t i = 0; i < c->matrix.count; i++)
        c->start[cell_of(c, i) + 2]++;
    for (int i = 0; i < cells; i++)
        c->start[i + 2] += c->start[i + 1];
    for (int64_t i = 0; i < c->matrix.count; i++)
        c->order[c->start[cell_of(c, i) + 1]++] = i;
    return STATUS_OK;
}

static enum status add_cell(struct cells *c, int cell, const char *name, struct error *err)
{
    float *values;
    int features = c->columns.names.names.count;
    enum status status = builder_sample(c->b, features, &values, err);
    if (status)
        return status;
    memset(values, 0, (size_t)features * sizeof *values);
    for (int64_t i = c->start[cell]; i < c->start[cell + 1]; i++) {
        const struct matrix_entry *entry = &c->matrix.entry[c->order[i]];
        float *to = &values[c->turned ? entry->col : entry->row];
        if (*to < 0 || *to > 0)
            return error_set(err, STATUS_INVALID, NULL, "matrix.mtx: the cell '%.60s' has two entries of one feature",
                             name);
        *to = entry->value;
    }
    return STATUS_OK;
}

static enum status collection_cells_fill(struct cells *c, const struct cells_text *text, struct name_list *cells,
                                         struct error *err)
{
    enum status status = matrix_market_parse(text->matrix, text->matrix_bytes, &c->matrix, err);
    if (status)
        return status;
    status = read_features(c, text, err);
    if (status)
        return status;
    status = read_barcodes(text, cells, err);
    if (status)
        return status;
    status = find_sides(c, cells->names.count, err);
    if (status)
        return status;
    status = sort_entries(c, cells->names.count, err);
    for (int i = 0; !status && i < cells->names.count; i++)
        status = add_cell(c, i, cells->names.name[i], err);
    c->b->rounded = c->matrix.rounded;
    for (int i = 0; !status && i < cells->names.count; i++) /* the names of the cells are the ids of the samples */
        status = collection_names_add(&c->b->c->records, cells->names.name[i], err);
    return status ? status : feature_columns_finish(&c->columns, c->b->c, err);
}

enum status cells_add(struct builder *b, const struct cells_text *text, struct name_list *cells, struct error *err)
{
    struct cells c = {.b = b};
    b->c->kind = COLLECTION_TABLE;
    b->c->channels = b->c->rows = 1;
    enum status status = collection_cells_fill(&c, text, cells, err);
    name_list_close(&c.columns.names);
    matrix_market_close(&c.matrix);
    free(c.start);
    free(c.order);
    return status;
}
