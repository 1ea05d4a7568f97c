/* Reads AnnData files (.h5ad): the matrix X, a layer, or raw/X; the names of cells and features from the indices of
 * obs and var; and columns of obs as labels and groups. If the user has not named these columns, the usual names are
 * tried (label, labels, class, target; group, split; part). */
#include "convert/convert.h"

#include <string.h>

#include "convert/frame.h"
#include "convert/matrix.h"
#include "core/formats/table/table_columns.h"

struct anndata {
    struct frame obs, var;
    struct matrix *matrix;
    struct column cells, features, label[TABLE_LABEL_COLUMNS], group, part;
    int labels; /* columns of labels */
    bool grouped, parted;
};

static enum status open_layer(hid_t file, const char *layer, struct matrix **matrix, struct error *err)
{
    hid_t layers;
    if (!hdf5_is_group(file, "layers"))
        return error_set(err, STATUS_INVALID, NULL, "there is no layer '%.60s'; the file has no layers", layer);
    enum status status = hdf5_open_group(file, "layers", &layers, err);
    if (status)
        return status;
    status = hdf5_has(layers, layer) ? matrix_open(layers, layer, matrix, err)
                                     : error_set(err, STATUS_INVALID, NULL, "there is no layer '%.60s'", layer);
    H5Gclose(layers);
    return status;
}

/* Returns whether the file has a layer of this name. */
static bool has_layer(hid_t file, const char *layer)
{
    hid_t layers;
    if (!hdf5_is_group(file, "layers") || hdf5_open_group(file, "layers", &layers, NULL))
        return false;
    bool found = hdf5_has(layers, layer);
    H5Gclose(layers);
    return found;
}

/* Opens `raw`: the values before features were selected and values were scaled. It has its own list of features. */
static enum status open_raw(hid_t file, struct anndata *a, struct error *err)
{
    hid_t raw;
    if (!hdf5_is_group(file, "raw"))
        return error_set(err, STATUS_INVALID, NULL, "there is neither a layer 'raw' nor a group 'raw'");
    enum status status = hdf5_open_group(file, "raw", &raw, err);
    if (status)
        return status;
    status = matrix_open(raw, "X", &a->matrix, err);
    if (!status)
        status = frame_open(file, raw, "var", &a->var, err);
    H5Gclose(raw);
    return status;
}

static enum status open_values(hid_t file, const struct convert_options *options, struct anndata *a, struct error *err)
{
    if (strcmp(options->layer, "raw") == 0 && !has_layer(file, "raw"))
        return open_raw(file, a, err);
    enum status status =
        options->layer[0] != '\0' ? open_layer(file, options->layer, &a->matrix, err)
        : hdf5_has(file, "X")
            ? matrix_open(file, "X", &a->matrix, err)
            : error_set(err, STATUS_INVALID, NULL, "the file has no X; state the layer that contains the values");
    return status ? status : frame_open(file, file, "var", &a->var, err);
}

/* Opens the column of obs that the user has named, or else the first one with a usual name. */
static enum status open_role(const struct anndata *a, const char *wanted, const char *const *usual, bool *found,
                             struct column *column, struct error *err)
{
    char name[TABLE_TEXT];
    *found = wanted[0] != '\0';
    if (*found)
        (void)frame_find(&a->obs, wanted, name); /* column_open() refuses a name that is not there */
    for (; !*found && *usual; usual++)
        *found = frame_find(&a->obs, *usual, name);
    if (!*found)
        return STATUS_OK;
    enum status status = column_open(&a->obs, name, column, err);
    if (status || column->rows == matrix_rows(a->matrix))
        return status;
    return error_set(err, STATUS_INVALID, NULL, "the column '%.60s' has %lld rows, but the matrix has %lld", name,
                     (long long)column->rows, (long long)matrix_rows(a->matrix));
}

/* Opens the columns of labels. The user's text is the name of a column, or a list of names with commas between them. */
static enum status open_labels(struct anndata *a, const char *list, struct error *err)
{
    static const char *const usual[] = {"label", "labels", "class", "target", NULL};
    char name[TABLE_TEXT];
    bool found, whole = list[0] == '\0' || frame_find(&a->obs, list, name) || !strchr(list, ',');
    enum status status = whole ? open_role(a, list, usual, &found, &a->label[0], err) : STATUS_OK;
    a->labels = whole && !status && found;
    while (!whole && !status && table_list_next(&list, false, name, sizeof name)) {
        if (a->labels == TABLE_LABEL_COLUMNS)
            return error_set(err, STATUS_LIMIT, NULL, "more than %d columns of labels", TABLE_LABEL_COLUMNS);
        status = open_role(a, name, usual, &found, &a->label[a->labels++], err);
        for (int i = 0; !status && i + 1 < a->labels; i++)
            if (strcmp(a->label[i].name, a->label[a->labels - 1].name) == 0)
                status = error_set(err, STATUS_INVALID, NULL, "label names the column '%.60s' twice", name);
    }
    return status;
}

static enum status open_columns(const struct convert_options *options, struct anndata *a, struct error *err)
{
    static const char *const groups[] = {"group", "split", NULL}, *const parts[] = {"part", NULL};
    char id[TABLE_TEXT];
    (void)frame_find(&a->obs, options->id[0] != '\0' ? options->id : a->obs.index, id);
    enum status status = column_open(&a->obs, id, &a->cells, err);
    if (status)
        return status;
    status = column_open(&a->var, a->var.index, &a->features, err);
    if (status)
        return status;
    if (a->cells.rows != matrix_rows(a->matrix) || a->features.rows != matrix_cols(a->matrix))
        return error_set(err, STATUS_INVALID, NULL,
                         "the matrix has %lld rows and %lld columns, but there are %lld names of cells and %lld of "
                         "features",
                         (long long)matrix_rows(a->matrix), (long long)matrix_cols(a->matrix), (long long)a->cells.rows,
                         (long long)a->features.rows);
    status = open_labels(a, options->label, err);
    if (!status)
        status = open_role(a, options->group, groups, &a->grouped, &a->group, err);
    return status ? status : open_role(a, "", parts, &a->parted, &a->part, err);
}

static enum status write_texts(struct column *column, int64_t count, struct table_writer *to, struct error *err)
{
    for (int64_t i = 0; i < count; i++) {
        const char *text;
        enum status status = column_next(column, &text, err);
        if (status)
            return status;
        table_write_text(to, text);
    }
    return STATUS_OK;
}

static enum status write_row(struct anndata *a, struct table_writer *to, struct error *err)
{
    enum status status = write_texts(&a->cells, 1, to, err);
    if (status)
        return status;
    for (int i = 0; !status && i < a->labels; i++)
        status = write_texts(&a->label[i], 1, to, err);
    if (status)
        return status;
    status = a->grouped ? write_texts(&a->group, 1, to, err) : STATUS_OK;
    if (!status && a->parted)
        status = write_texts(&a->part, 1, to, err);
    return status ? status : matrix_next(a->matrix, to, err);
}

static enum status write_table(struct anndata *a, struct table_writer *to, struct error *err)
{
    const unsigned flags = TABLE_NAMES | TABLE_ROLES | (a->labels > 0 ? TABLE_LABELS : 0u) |
                           (a->grouped ? TABLE_GROUPS : 0u) | (a->parted ? TABLE_PARTS : 0u) |
                           (matrix_single(a->matrix) ? TABLE_SINGLE : 0u);
    const struct table_head head = {flags, matrix_rows(a->matrix), matrix_cols(a->matrix), (uint32_t)a->labels};
    table_write_head(to, &head);
    for (int i = 0; i < a->labels; i++)
        table_write_text(to, a->label[i].name);
    if (a->grouped)
        table_write_text(to, a->group.name);
    if (a->parted)
        table_write_text(to, a->part.name);
    table_write_text(to, a->cells.name);
    enum status status = write_texts(&a->features, head.cols, to, err);
    for (int64_t i = 0; !status && !to->failed && i < head.rows; i++)
        status = write_row(a, to, err);
    if (!status)
        table_write_end(to);
    return status;
}

static enum status anndata_convert(hid_t file, const struct convert_options *options, struct anndata *a,
                                   struct table_writer *to, struct error *err)
{
    if (!hdf5_has(file, "obs") || !hdf5_has(file, "var"))
        return error_set(err, STATUS_INVALID, NULL, "the file has no obs and var, so it is not an AnnData file%s",
                         hdf5_has(file, "matrix") ? "; it looks like a file of 10x: use the format 10x-h5" : "");
    enum status status = open_values(file, options, a, err);
    if (status)
        return status;
    status = frame_open(file, file, "obs", &a->obs, err);
    if (status)
        return status;
    status = open_columns(options, a, err);
    return status ? status : write_table(a, to, err);
}

enum status convert_h5ad(hid_t file, const struct convert_options *options, struct table_writer *to, struct error *err)
{
    struct anndata a = {.labels = 0};
    enum status status = anndata_convert(file, options, &a, to, err);
    column_close(&a.cells);
    column_close(&a.features);
    for (int i = 0; i < a.labels || i == 0; i++)
        column_close(&a.label[i]);
    column_close(&a.group);
    column_close(&a.part);
    frame_close(&a.obs);
    frame_close(&a.var);
    matrix_close(a.matrix);
    return status;
}
