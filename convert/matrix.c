/* Reads the values of a table (matrix.h).
 *
 * A dense array is read in blocks of rows. The entries of compressed rows are read in pieces. Compressed columns must
 * be turned into rows. A first pass counts the entries of each row. Each further pass collects the entries of some
 * rows, until the memory of a block is full. */
#include "convert/matrix.h"

#include <stdlib.h>
#include <string.h>

/* Limits of memory. BLOCK_VALUES: values in a block of dense rows. PIECE_ENTRIES: entries of a sparse matrix that are
 * read at once. TURN_ENTRIES: entries in a block of rows that is collected from compressed columns. Tests compile this
 * file with small sizes, so that small files have many blocks. */
#ifdef MOTIF_SMALL_BLOCKS
enum { BLOCK_VALUES = 64, PIECE_ENTRIES = 16, TURN_ENTRIES = 40 };
#else
enum { BLOCK_VALUES = 4 << 20, PIECE_ENTRIES = 1 << 20, TURN_ENTRIES = 16 << 20 };
#endif

/* The entries of a sparse matrix, read from the first to the last. */
struct entries {
    struct hdf5_array data, index;
    int64_t count;      /* all entries */
    int64_t begin, end; /* the entries in memory */
    float *value;       /* [PIECE_ENTRIES] */
    /* [PIECE_ENTRIES] the column of each entry (compressed rows), or its row (compressed columns). */
    int64_t *number;
};

struct matrix {
    int64_t rows, cols, row; /* row: the next row */
    /* dense */
    struct hdf5_array dense;
    float *block; /* rows [block_begin, block_end) */
    int64_t block_begin, block_end;
    /* sparse */
    bool sparse, by_rows;
    struct entries entries;
    int64_t *start; /* the array `indptr`: [rows + 1] for compressed rows, [cols + 1] for compressed columns */
    /* for compressed columns only: */
    int64_t *first;             /* [rows + 1] number of entries in all rows before each row */
    struct table_entry *turned; /* the entries of rows [block_begin, block_end), sorted by row */
    int64_t *next;              /* [rows] index in `turned` at which the next entry of each row will be stored */
};

int64_t matrix_rows(const struct matrix *matrix)
{
    return matrix->rows;
}

int64_t matrix_cols(const struct matrix *matrix)
{
    return matrix->cols;
}

bool matrix_single(const struct matrix *matrix)
{
    const struct hdf5_array *values = matrix->sparse ? &matrix->entries.data : &matrix->dense;
    return H5Tget_size(values->type) <= (values->class == H5T_FLOAT ? 4 : 2);
}

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "the table needs more memory than a conversion may use");
}

static enum status check_sides(const struct matrix *m, struct error *err)
{
    if (m->rows < 1 || m->cols < 1)
        return error_set(err, STATUS_INVALID, NULL, "the table has %lld rows and %lld columns; it needs at least one",
                         (long long)m->rows, (long long)m->cols);
    return m->rows <= TABLE_ROWS && m->cols <= TABLE_COLUMNS
               ? STATUS_OK
               : error_set(err, STATUS_LIMIT, NULL,
                           "the table has %lld rows and %lld columns; %d rows and %d columns are allowed",
                           (long long)m->rows, (long long)m->cols, TABLE_ROWS, TABLE_COLUMNS);
}

/* ---- dense ------------------------------------------------------------------------------------------------- */

static int64_t rows_of_block(const struct matrix *m)
{
    int64_t rows = BLOCK_VALUES / m->cols;
    return rows < 1 ? 1 : rows < m->rows ? rows : m->rows;
}

static enum status open_dense(struct matrix *m, hid_t group, const char *name, struct error *err)
{
    enum status status = hdf5_open_array(group, name, &m->dense, err);
    if (status)
        return status;
    if (m->dense.rank != 2 || !hdf5_is_number(&m->dense))
        return error_set(err, STATUS_INVALID, NULL, "'%s' must be a matrix of numbers", m->dense.name);
    m->rows = m->dense.dim[0];
    m->cols = m->dense.dim[1];
    status = check_sides(m, err);
    if (status)
        return status;
    m->block = malloc((size_t)rows_of_block(m) * (size_t)m->cols * sizeof *m->block);
    return m->block ? STATUS_OK : no_memory(err);
}

static enum status next_dense(struct matrix *m, struct table_writer *to, struct error *err)
{
    if (m->row == m->block_end) {
        int64_t count = rows_of_block(m), left = m->rows - m->row;
        count = count < left ? count : left;
        enum status status = hdf5_read(&m->dense, m->row, count, H5T_NATIVE_FLOAT, m->block, err);
        if (status)
            return status;
        m->block_begin = m->row;
        m->block_end = m->row + count;
    }
    table_write_dense(to, m->block + (m->row - m->block_begin) * m->cols, (size_t)m->cols);
    return STATUS_OK;
}

/* ---- entries ----------------------------------------------------------------------------------------------- */

static enum status open_entries(struct entries *e, hid_t group, struct error *err)
{
    enum status status = hdf5_open_array(group, "data", &e->data, err);
    if (status)
        return status;
    status = hdf5_open_array(group, "indices", &e->index, err);
    if (status)
        return status;
    if (e->data.rank != 1 || e->index.rank != 1 || e->data.dim[0] != e->index.dim[0] || !hdf5_is_number(&e->data) ||
        e->index.class != H5T_INTEGER)
        return error_set(err, STATUS_INVALID, NULL,
                         "'data' and 'indices' of a sparse matrix must be lists of numbers of the same length");
    e->count = e->data.dim[0];
    e->value = malloc(PIECE_ENTRIES * sizeof *e->value);
    e->number = malloc(PIECE_ENTRIES * sizeof *e->number);
    return e->value && e->number ? STATUS_OK : no_memory(err);
}

/* Reads entry `at` into memory if it is not there yet, and checks that the index of its column (compressed rows) or of
 * its row (compressed columns) is below `numbers`. The entries are visited in ascending order. */
static enum status find_entry(struct entries *e, int64_t at, int64_t numbers, struct error *err)
{
    if (at < e->begin || at >= e->end) {
        int64_t count = e->count - at < PIECE_ENTRIES ? e->count - at : PIECE_ENTRIES;
        enum status status = hdf5_read(&e->data, at, count, H5T_NATIVE_FLOAT, e->value, err);
        if (status)
            return status;
        status = hdf5_read(&e->index, at, count, H5T_NATIVE_INT64, e->number, err);
        if (status)
            return status;
        e->begin = at;
        e->end = at + count;
    }
    int64_t number = e->number[at - e->begin];
    return number >= 0 && number < numbers
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "entry %lld of 'indices' is %lld; it must be from 0 to %lld",
                           (long long)at, (long long)number, (long long)numbers - 1);
}

/* Reads indptr: `count` + 1 elements in ascending order, from 0 to the number of entries. */
static enum status read_start(struct matrix *m, hid_t group, int64_t count, struct error *err)
{
    struct hdf5_array a;
    enum status status = hdf5_open_array(group, "indptr", &a, err);
    if (status)
        return status;
    if (a.rank != 1 || a.class != H5T_INTEGER || a.dim[0] != count + 1)
        status = error_set(err, STATUS_INVALID, NULL, "'indptr' must be a list of %lld integers", (long long)count + 1);
    if (!status && !(m->start = malloc((size_t)(count + 1) * sizeof *m->start)))
        status = no_memory(err);
    if (!status)
        status = hdf5_read(&a, 0, count + 1, H5T_NATIVE_INT64, m->start, err);
    hdf5_close_array(&a);
    if (status)
        return status;
    bool good = m->start[0] == 0 && m->start[count] == m->entries.count;
    for (int64_t i = 0; good && i < count; i++)
        good = m->start[i] <= m->start[i + 1];
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, NULL, "'indptr' must grow from 0 to %lld, the length of 'data'",
                            (long long)m->entries.count);
}

/* ---- compressed rows ---------------------------------------------------------------------------------------- */

static enum status next_compressed(struct matrix *m, struct table_writer *to, struct error *err)
{
    int64_t begin = m->start[m->row], end = m->start[m->row + 1];
    if (end - begin >= TABLE_DENSE)
        return error_set(err, STATUS_LIMIT, NULL, "a row has too many entries");
    table_write_count(to, (uint32_t)(end - begin));
    for (int64_t i = begin; i < end; i++) {
        enum status status = find_entry(&m->entries, i, m->cols, err);
        if (status)
            return status;
        int64_t at = i - m->entries.begin;
        table_write_entry(to, (struct table_entry){(uint32_t)m->entries.number[at], m->entries.value[at]});
    }
    return STATUS_OK;
}

/* ---- compressed columns -------------------------------------------------------------------------------------- */

static enum status count_rows(struct matrix *m, struct error *err)
{
    m->first = calloc((size_t)m->rows + 1, sizeof *m->first);
    m->next = calloc((size_t)m->rows, sizeof *m->next);
    if (!m->first || !m->next)
        return no_memory(err);
    for (int64_t i = 0; i < m->entries.count; i++) {
        enum status status = find_entry(&m->entries, i, m->rows, err);
        if (status)
            return status;
        m->first[m->entries.number[i - m->entries.begin] + 1]++;
    }
    int64_t most = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        most = m->first[i + 1] > most ? m->first[i + 1] : most;
        m->first[i + 1] += m->first[i];
    }
    if (most > TURN_ENTRIES)
        return error_set(err, STATUS_LIMIT, NULL, "a row has %lld entries, more than %d", (long long)most,
                         TURN_ENTRIES);
    int64_t room = m->entries.count < TURN_ENTRIES ? m->entries.count : TURN_ENTRIES;
    m->turned = malloc(((size_t)room + 1) * sizeof *m->turned);
    return m->turned ? STATUS_OK : no_memory(err);
}

/* Collects the entries of the rows from m->row on, as many rows as fit into the memory of a block. */
static enum status turn_block(struct matrix *m, struct error *err)
{
    int64_t base = m->first[m->row], end = m->row;
    while (end < m->rows && m->first[end + 1] - base <= TURN_ENTRIES) {
        m->next[end] = m->first[end] - base;
        end++;
    }
    m->block_begin = m->row;
    m->block_end = end;
    for (int64_t col = 0; col < m->cols; col++)
        for (int64_t i = m->start[col]; i < m->start[col + 1]; i++) {
            enum status status = find_entry(&m->entries, i, m->rows, err);
            if (status)
                return status;
            int64_t at = i - m->entries.begin, row = m->entries.number[at];
            if (row < m->block_begin || row >= end)
                continue;
            if (m->next[row] >= m->first[row + 1] - base) /* the file has changed since the first pass */
                return error_set(err, STATUS_CORRUPT, NULL, "the file has changed while it was read");
            m->turned[m->next[row]++] = (struct table_entry){(uint32_t)col, m->entries.value[at]};
        }
    return STATUS_OK;
}

static enum status next_turned(struct matrix *m, struct table_writer *to, struct error *err)
{
    if (m->row == m->block_end) {
        enum status status = turn_block(m, err);
        if (status)
            return status;
    }
    int64_t base = m->first[m->block_begin];
    table_write_count(to, (uint32_t)(m->first[m->row + 1] - m->first[m->row]));
    for (int64_t i = m->first[m->row]; i < m->first[m->row + 1]; i++)
        table_write_entry(to, m->turned[i - base]);
    return STATUS_OK;
}

/* ---- any form ------------------------------------------------------------------------------------------------ */

static enum status fill_sparse(struct matrix *m, hid_t group, int64_t rows, int64_t cols, bool by_rows,
                               struct error *err)
{
    m->sparse = true;
    m->by_rows = by_rows;
    m->rows = rows;
    m->cols = cols;
    enum status status = check_sides(m, err);
    if (status)
        return status;
    status = open_entries(&m->entries, group, err);
    if (status)
        return status;
    status = read_start(m, group, by_rows ? rows : cols, err);
    if (status)
        return status;
    return by_rows ? STATUS_OK : count_rows(m, err);
}

static enum status create(struct matrix **matrix, struct error *err)
{
    *matrix = calloc(1, sizeof **matrix);
    return *matrix ? STATUS_OK : no_memory(err);
}

enum status matrix_open_sparse(hid_t group, int64_t rows, int64_t cols, bool by_rows, struct matrix **matrix,
                               struct error *err)
{
    enum status status = create(matrix, err);
    return status ? status : fill_sparse(*matrix, group, rows, cols, by_rows, err);
}

/* Opens a sparse matrix by the attributes of its group: encoding-type and shape, or h5sparse_format and h5sparse_shape
 * before AnnData 0.7. */
static enum status open_described(struct matrix *m, hid_t group, const char *name, struct error *err)
{
    char form[32];
    int64_t shape[2];
    bool known = hdf5_text_attribute(group, "encoding-type", form, sizeof form) ||
                 hdf5_text_attribute(group, "h5sparse_format", form, sizeof form);
    bool csr = known && (strcmp(form, "csr_matrix") == 0 || strcmp(form, "csr") == 0);
    bool csc = known && (strcmp(form, "csc_matrix") == 0 || strcmp(form, "csc") == 0);
    if (!csr && !csc)
        return error_set(err, STATUS_INVALID, NULL,
                         "'%.60s' must be an array or a sparse matrix, csr_matrix or "
                         "csc_matrix",
                         name);
    if (!hdf5_pair_attribute(group, "shape", shape) && !hdf5_pair_attribute(group, "h5sparse_shape", shape))
        return error_set(err, STATUS_INVALID, NULL, "the sparse matrix '%.60s' has no shape", name);
    return fill_sparse(m, group, shape[0], shape[1], csr, err);
}

enum status matrix_open(hid_t group, const char *name, struct matrix **matrix, struct error *err)
{
    hid_t child;
    enum status status = create(matrix, err);
    if (status)
        return status;
    if (!hdf5_is_group(group, name))
        return open_dense(*matrix, group, name, err);
    status = hdf5_open_group(group, name, &child, err);
    if (status)
        return status;
    status = open_described(*matrix, child, name, err);
    H5Gclose(child);
    return status;
}

enum status matrix_next(struct matrix *matrix, struct table_writer *to, struct error *err)
{
    if (matrix->row >= matrix->rows)
        return error_set(err, STATUS_INTERNAL, NULL, "there are no more rows");
    enum status status = !matrix->sparse   ? next_dense(matrix, to, err)
                         : matrix->by_rows ? next_compressed(matrix, to, err)
                                           : next_turned(matrix, to, err);
    matrix->row++;
    return status;
}

void matrix_close(struct matrix *matrix)
{
    if (!matrix)
        return;
    hdf5_close_array(&matrix->dense);
    hdf5_close_array(&matrix->entries.data);
    hdf5_close_array(&matrix->entries.index);
    free(matrix->entries.value);
    free(matrix->entries.number);
    free(matrix->block);
    free(matrix->start);
    free(matrix->first);
    free(matrix->next);
    free(matrix->turned);
    free(matrix);
}
