/* Reads the HDF5 files of 10x Genomics. They contain a sparse matrix in compressed columns, with a column for each
 * cell. The same bytes are read here as compressed rows, with a row for each cell. Since Cell Ranger 3, the matrix is
 * in the group `matrix` and the names of the features are in the group `features`. In older files, each genome has a
 * group of its own, with `genes` and `gene_names`. */
#include "convert/convert.h"

#include <stdio.h>
#include <string.h>

#include "convert/column.h"
#include "convert/matrix.h"

struct tenx {
    hid_t group, features; /* features: the group with the names; -1 until it is open */
    struct matrix *matrix;
    struct column cells, names, ids;
};

/* Finds the group of the genome that the user has named, or of the only genome. */
static enum status open_genome(hid_t file, const char *wanted, hid_t *group, struct error *err)
{
    char name[256], found[256] = "", list[160] = "";
    size_t used = 0;
    int count = 0;
    for (unsigned i = 0;
         i < 100 && H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) > 0;
         i++) {
        if (!hdf5_is_group(file, name) || (wanted[0] != '\0' && strcmp(name, wanted) != 0))
            continue;
        int wrote = snprintf(list + used, sizeof list - used, "%s%.30s", count > 0 ? ", " : "", name);
        used += wrote > 0 && (size_t)wrote < sizeof list - used ? (size_t)wrote : 0;
        memcpy(found, name, sizeof found);
        count++;
    }
    if (count == 0 && wanted[0] != '\0')
        return error_set(err, STATUS_INVALID, NULL, "there is no genome '%.60s'", wanted);
    if (count > 1)
        return error_set(err, STATUS_INVALID, NULL, "the file has several genomes: %s; select one with layer", list);
    return count == 1
               ? hdf5_open_group(file, found, group, err)
               : error_set(err, STATUS_INVALID, NULL, "the file has no group 'matrix', so it is not a file of 10x");
}

static enum status open_names(struct tenx *t, struct error *err)
{
    if (!hdf5_has(t->group, "features")) {
        enum status status = column_open_list(t->group, "gene_names", &t->names, err);
        return status ? status : column_open_list(t->group, "genes", &t->ids, err);
    }
    enum status status = hdf5_open_group(t->group, "features", &t->features, err);
    if (status)
        return status;
    status = column_open_list(t->features, "name", &t->names, err);
    return status ? status : column_open_list(t->features, "id", &t->ids, err);
}

/* Reads `shape`: the numbers of features and of cells. */
static enum status read_shape(hid_t group, int64_t shape[2], struct error *err)
{
    struct hdf5_array a;
    enum status status = hdf5_open_array(group, "shape", &a, err);
    if (status)
        return status;
    status = a.rank == 1 && a.dim[0] == 2 && a.class == H5T_INTEGER
                 ? hdf5_read(&a, 0, 2, H5T_NATIVE_INT64, shape, err)
                 : error_set(err, STATUS_INVALID, NULL, "'shape' must be two integers");
    hdf5_close_array(&a);
    return status;
}

static enum status write_table(struct tenx *t, struct table_writer *to, struct error *err)
{
    const struct table_head head = {.flags = TABLE_NAMES | TABLE_IDS | (matrix_single(t->matrix) ? TABLE_SINGLE : 0u),
                                    .rows = matrix_rows(t->matrix),
                                    .cols = matrix_cols(t->matrix)};
    const char *text;
    enum status status = STATUS_OK;
    table_write_head(to, &head);
    for (int64_t i = 0; i < head.cols; i++)
        for (int k = 0; k < 2; k++) {
            status = column_next(k == 0 ? &t->names : &t->ids, &text, err);
            if (status)
                return status;
            table_write_text(to, text);
        }
    for (int64_t i = 0; !to->failed && i < head.rows; i++) {
        status = column_next(&t->cells, &text, err);
        if (status)
            return status;
        table_write_text(to, text);
        status = matrix_next(t->matrix, to, err);
        if (status)
            return status;
    }
    table_write_end(to);
    return STATUS_OK;
}

static enum status tenx_convert(hid_t file, const struct convert_options *options, struct tenx *t,
                                struct table_writer *to, struct error *err)
{
    int64_t shape[2];
    if (options->label[0] != '\0' || options->group[0] != '\0')
        return error_set(err, STATUS_INVALID, NULL, "files of 10x have no labels and no groups; leave %s out",
                         options->label[0] != '\0' ? "label" : "group");
    if (hdf5_has(file, "obs") && hdf5_has(file, "var"))
        return error_set(err, STATUS_INVALID, NULL, "it looks like an AnnData file: use the format h5ad");
    enum status status = hdf5_is_group(file, "matrix") ? hdf5_open_group(file, "matrix", &t->group, err)
                                                       : open_genome(file, options->layer, &t->group, err);
    if (status)
        return status;
    status = read_shape(t->group, shape, err);
    if (status)
        return status;
    status = matrix_open_sparse(t->group, shape[1], shape[0], true, &t->matrix, err);
    if (status)
        return status;
    status = column_open_list(t->group, "barcodes", &t->cells, err);
    if (status)
        return status;
    status = open_names(t, err);
    if (status)
        return status;
    if (t->cells.rows != shape[1] || t->names.rows != shape[0] || t->ids.rows != shape[0])
        return error_set(err, STATUS_INVALID, NULL,
                         "the matrix has %lld features and %lld cells, but there are %lld names of features, %lld ids "
                         "and %lld barcodes",
                         (long long)shape[0], (long long)shape[1], (long long)t->names.rows, (long long)t->ids.rows,
                         (long long)t->cells.rows);
    return write_table(t, to, err);
}

enum status convert_10x(hid_t file, const struct convert_options *options, struct table_writer *to, struct error *err)
{
    struct tenx t = {.group = -1, .features = -1};
    enum status status = tenx_convert(file, options, &t, to, err);
    column_close(&t.cells);
    column_close(&t.names);
    column_close(&t.ids);
    matrix_close(t.matrix);
    if (t.features > 0)
        H5Gclose(t.features);
    if (t.group > 0)
        H5Gclose(t.group);
    return status;
}
