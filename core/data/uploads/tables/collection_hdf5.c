/* Reads the tables of AnnData and 10x files. The files are HDF5, which the daemon itself cannot read: the program
 * motif-convert reads an upload and writes its table as a stream (core/formats/table/table_stream.h), and this reader
 * reads the stream.
 *
 * Each row is a cell, and the name of the cell becomes the name of the record. Each column is a feature, and gets
 * the feature's name (collection_cells.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_build.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/data/uploads/tables/collection_cells.h"
#include "core/formats/table/table_columns.h"

struct table {
    struct builder b;
    struct table_reader reader;
    struct feature_columns columns;
    bool parted;                                 /* the column `part` states parts */
    bool *ignored;                               /* [features] the user leaves them out; NULL: none */
    int64_t kept;                                /* number of the other features */
    float *row;                                  /* [features] a row, if some are ignored */
    char label[TABLE_LABEL_COLUMNS][TABLE_TEXT]; /* the labels of a row */
    bool indicators;                             /* they say whether the row has the name of the column */
};

static enum status read_column(struct table *t, int64_t column, struct error *err)
{
    char what[48], name[TABLE_TEXT], id[TABLE_TEXT] = "";
    (void)snprintf(what, sizeof what, "the name of feature %lld", (long long)column + 1);
    enum status status = table_read_text(&t->reader, what, name, err);
    if (status)
        return status;
    if (t->reader.head.flags & TABLE_IDS)
        status = table_read_text(&t->reader, "the id of a feature", id, err);
    if (status)
        return status;
    if (name[0] == '\0')
        memcpy(name, id, sizeof name);
    if (name[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "%s is empty", what);
    return feature_columns_add(&t->columns, name, id, err);
}

/* Marks the features that the user leaves out. */
static enum status mark_ignored(struct table *t, const char *list, struct error *err)
{
    const struct name_list *names = &t->columns.names;
    int64_t cols = t->reader.head.cols;
    char name[TABLE_TEXT];
    enum status status = STATUS_OK;
    t->kept = cols;
    if (!list || list[0] == '\0')
        return STATUS_OK;
    t->ignored = calloc((size_t)cols, sizeof *t->ignored);
    t->row = malloc((size_t)cols * sizeof *t->row);
    if (!t->ignored || !t->row)
        return error_memory(err, "a table");
    bool whole = name_list_find(names, list, strlen(list)) >= 0;
    while (!status && table_list_next(&list, whole, name, sizeof name)) {
        int32_t at = name_list_find(names, name, strlen(name));
        if (at < 0)
            return error_set(err, STATUS_INVALID, NULL, "ignore: no feature is called '%.60s'", name);
        t->kept -= !t->ignored[at];
        t->ignored[at] = true;
        status = builder_column(&t->b, "ignored", name, err);
    }
    return !status && t->kept == 0 ? error_set(err, STATUS_INVALID, NULL, "ignore leaves no features") : status;
}

/* Takes the names of the features that were left out from the collection. */
static void drop_ignored(const struct table *t, struct collection *c)
{
    int count = c->columns.count;
    c->columns.count = 0;
    for (int i = 0; i < count; i++)
        if (t->ignored && t->ignored[i])
            free(c->columns.name[i]);
        else
            c->columns.name[c->columns.count++] = c->columns.name[i];
}

/* Reads the names of the columns that are no features. */
static enum status read_roles(struct table *t, struct error *err)
{
    const struct table_head *head = &t->reader.head;
    const struct {
        const char *role;
        uint32_t count;
    } roles[] = {{"label", head->labels},
                 {"group", (head->flags & TABLE_GROUPS) != 0},
                 {"part", (head->flags & TABLE_PARTS) != 0},
                 {"id", (head->flags & TABLE_NAMES) != 0}};
    char name[TABLE_TEXT];
    enum status status = STATUS_OK;
    for (size_t k = 0; head->flags & TABLE_ROLES && k < sizeof roles / sizeof roles[0]; k++)
        for (uint32_t i = 0; !status && i < roles[k].count; i++) {
            status = table_read_text(&t->reader, "the name of a column", name, err);
            if (!status)
                status = builder_column(&t->b, roles[k].role, name, err);
        }
    enum collection_target target = t->b.options->target;
    if (status || head->labels < 2 || target == TARGET_NONE || target == TARGET_LABELS)
        return status;
    return error_set(err, STATUS_INVALID, NULL,
                     "several columns of labels make a set of names; leave target out, or name one column");
}

/* Reads the labels of a row. Several columns make a set; the first row decides of what. */
static enum status read_labels(struct table *t, int64_t row, struct error *err)
{
    const uint32_t columns = t->reader.head.labels;
    char what[48];
    enum status status = STATUS_OK;
    (void)snprintf(what, sizeof what, "the label of row %lld", (long long)row + 1);
    for (uint32_t i = 0; !status && i < columns; i++)
        status = table_read_text(&t->reader, what, t->label[i], err);
    if (status)
        return status;
    if (columns == 1)
        return builder_label(&t->b, t->label[0], strlen(t->label[0]), "row", row + 1, err);
    if (row == 0) {
        t->indicators = t->reader.head.flags & TABLE_ROLES;
        for (uint32_t i = 0; i < columns; i++)
            t->indicators = t->indicators && builder_indicator(t->label[i]) >= 0;
        builder_label_columns(&t->b, (int)columns, t->indicators);
        if (t->b.wanted == TARGET_NONE)
            t->b.wanted = t->b.usual;
    }
    for (uint32_t i = 0; !status && i < columns; i++)
        status = builder_cell(&t->b, t->indicators, t->indicators ? t->b.c->recognised.column[i].name : "label",
                              t->label[i], row + 1, err);
    return status;
}

static enum status read_group(struct table *t, int64_t row, struct error *err)
{
    char what[48], text[TABLE_TEXT];
    (void)snprintf(what, sizeof what, "the group of row %lld", (long long)row + 1);
    enum status status = table_read_text(&t->reader, what, text, err);
    return status ? status : builder_group(&t->b, text, err);
}

/* The column `part` has another meaning if the first row has another word than the name of a part. */
static enum status read_part(struct table *t, int64_t row, struct error *err)
{
    char what[48], text[TABLE_TEXT];
    (void)snprintf(what, sizeof what, "the part of row %lld", (long long)row + 1);
    enum status status = table_read_text(&t->reader, what, text, err);
    if (row == 0)
        t->parted = !status && collection_part_named(text) >= 0;
    return status || !t->parted ? status : builder_part(&t->b, text, err);
}

static enum status read_row(struct table *t, int64_t row, struct error *err)
{
    const struct table_head *head = &t->reader.head;
    char name[TABLE_TEXT];
    float *values;
    enum status status = builder_sample(&t->b, t->kept, &values, err);
    if (!status && head->flags & TABLE_NAMES) {
        status = table_read_text(&t->reader, "the name of a row", name, err);
        if (!status)
            status = builder_record(&t->b, name, err);
    }
    if (!status && head->flags & TABLE_LABELS)
        status = read_labels(t, row, err);
    if (!status && head->flags & TABLE_GROUPS)
        status = read_group(t, row, err);
    if (!status && head->flags & TABLE_PARTS)
        status = read_part(t, row, err);
    float *all = t->ignored ? t->row : values;
    if (!status)
        status = table_read_values(&t->reader, all, err);
    for (int64_t i = 0, at = 0; !status && i < head->cols; i++) {
        if (t->ignored && t->ignored[i])
            continue;
        if (!isfinite(all[i]))
            return error_set(err, STATUS_INVALID, NULL,
                             "row %lld, feature '%.60s': the value is not a number, or it is beyond single precision "
                             "(3.4e38)",
                             (long long)row + 1, t->columns.names.names.name[i]);
        if (fabsf(all[i]) >= ROUNDED_FROM && !(head->flags & TABLE_SINGLE))
            rounded_add(&t->b.rounded, "row %lld, feature '%.60s', now %.0f (all numbers from %d on are counted)",
                        (long long)row + 1, t->columns.names.names.name[i], (double)all[i], ROUNDED_FROM);
        values[at++] = all[i];
    }
    return status;
}

/* Refuses a table that is too large. The caller checks the size before it reads the first row. */
static enum status check_size(const struct table *t, struct error *err)
{
    const struct table_head *head = &t->reader.head;
    const struct collection_limits *limits = &t->b.limits;
    if (head->rows > limits->samples)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld samples, the most that is allowed",
                         (long long)limits->samples);
    if (head->rows > limits->bytes / head->cols) /* a value takes one byte at least (value_store.h) */
        return error_set(err, STATUS_LIMIT, NULL,
                         "%lld rows of %lld features take more than %lld bytes, the most that is allowed; choose "
                         "features before the upload",
                         (long long)head->rows, (long long)head->cols, (long long)limits->bytes);
    return STATUS_OK;
}

static enum status read_table(struct table *t, const char *ignore, struct error *err)
{
    enum status status = table_read_head(&t->reader, err);
    if (status)
        return status;
    status = check_size(t, err);
    if (status)
        return status;
    status = read_roles(t, err);
    for (int64_t i = 0; !status && i < t->reader.head.cols; i++)
        status = read_column(t, i, err);
    if (!status)
        status = mark_ignored(t, ignore, err);
    for (int64_t i = 0; !status && i < t->reader.head.rows; i++)
        status = read_row(t, i, err);
    if (status)
        return status;
    status = table_read_end(&t->reader, err);
    if (!status)
        status = feature_columns_finish(&t->columns, t->b.c, err);
    return status ? status : builder_finish(&t->b, false, err);
}

enum status collection_read_hdf5(const struct byte_source *from, const struct collection_options *options,
                                 const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct table *t = calloc(1, sizeof *t); /* on the heap, because the reader has a large buffer */
    if (!t)
        return error_memory(err, "a data set");
    builder_init(&t->b, c, options, limits);
    t->b.cells = true;
    t->reader.from = from;
    c->kind = COLLECTION_TABLE;
    c->channels = c->rows = 1;
    enum status status = read_table(t, options->ignore, err);
    /* motif-convert looks for columns of these names first. Whether it would have found other columns that the user has
     * named, this reader does not know. */
    if (options->label && strcmp(options->label, "label") == 0)
        c->implied |= OPTION_LABEL;
    if (options->group && strcmp(options->group, "group") == 0)
        c->implied |= OPTION_GROUP;
    if (!status)
        drop_ignored(t, c);
    free(t->ignored);
    free(t->row);
    name_list_close(&t->columns.names);
    builder_close(&t->b);
    free(t);
    return status;
}
