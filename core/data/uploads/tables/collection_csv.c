/* Reads tables. The header says which columns are features (csv.h). Every row must have a number in each of
 * these columns. Names of rows are ignored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_build.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/formats/csv.h"

/* The roles of the columns: feature, label, group or target. With target=number several columns may be targets. */
struct roles {
    struct table_columns usual;
    int targets;
    int part; /* index of the column `part` or `split` with parts; -1: there is none, or it is a feature */
    const char *part_name;
    int *target; /* [targets] indices of columns; NULL: the column usual.label alone has the label */
};

static bool is_feature(const struct roles *roles, int column)
{
    for (int i = 0; i < roles->targets; i++)
        if (roles->target[i] == column)
            return false;
    return column != roles->part && table_columns_feature(&roles->usual, column);
}

/* Finds the columns that `names` lists, with commas between them. The numbers of a sample get the names of these
 * columns. */
static enum status find_targets(struct builder *b, const struct csv *csv, const char *names, struct roles *roles,
                                struct error *err)
{
    char name[NAME_BYTES];
    enum status status = STATUS_OK;
    roles->target = calloc((size_t)csv->columns, sizeof *roles->target);
    if (!roles->target)
        return error_memory(err, "columns");
    for (const char *at = names; !status && *at; at += *at == ',') {
        size_t bytes = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(bytes < sizeof name ? bytes : sizeof name - 1), at);
        int column = csv_find(csv, name);
        if (column < 0 || !is_feature(roles, column))
            return error_set(err, STATUS_INVALID, NULL,
                             column < 0 ? "row 1: no column is called '%.60s'"
                                        : "label: column '%.60s' is named twice, or is also the group",
                             name);
        roles->target[roles->targets++] = column;
        status = builder_value_name(b, name, err);
        at += bytes;
    }
    return status;
}

/* Notes which of the columns that the user has named are those that the reader would have used. */
static enum status note_columns(struct collection *c, const struct csv *csv, const struct table_columns *named,
                                struct error *err)
{
    struct table_columns usual;
    enum status status = table_columns_find(csv, NULL, NULL, &usual, err);
    if (usual.label == named->label)
        c->implied |= OPTION_LABEL;
    if (usual.group == named->group)
        c->implied |= OPTION_GROUP;
    return status;
}

static enum status find_roles(struct builder *b, const struct csv *csv, const struct collection_options *options,
                              struct roles *roles, struct error *err)
{
    bool several = options->target == TARGET_NUMBER && options->label && strchr(options->label, ',');
    enum status status = table_columns_find(csv, several ? "" : options->label, options->group, &roles->usual, err);
    if (!status && !several)
        status = note_columns(b->c, csv, &roles->usual, err);
    if (status || options->target != TARGET_NUMBER)
        return status;
    if (several) {
        roles->usual.label = -1;
        return find_targets(b, csv, options->label, roles, err);
    }
    return roles->usual.label < 0 ? error_set(err, STATUS_INVALID, NULL,
                                              "row 1: target=number needs a column of numbers, which label names; "
                                              "several names have commas between them")
                                  : builder_value_name(b, csv->field[roles->usual.label], err);
}

static enum status take_header(const struct csv *csv, const struct roles *roles, bool signals, struct collection *c,
                               struct error *err)
{
    c->kind = signals ? COLLECTION_SEQUENCES : COLLECTION_TABLE;
    c->channels = c->rows = 1;
    c->columns.name = calloc((size_t)csv->columns, sizeof *c->columns.name);
    for (int i = 0; c->columns.name && i < csv->columns; i++) {
        if (!is_feature(roles, i))
            continue;
        if (strlen(csv->field[i]) >= NAME_BYTES)
            return error_set(err, STATUS_INVALID, NULL, "row 1: column %d has a name of more than %d bytes", i + 1,
                             NAME_BYTES - 1);
        if (!(c->columns.name[c->columns.count] = strdup(csv->field[i])))
            break;
        c->columns.count++;
    }
    if (c->columns.count == 0)
        return error_set(err, c->columns.name ? STATUS_INVALID : STATUS_NO_MEMORY, NULL,
                         "row 1: there is no column of features besides label, group and row names");
    return STATUS_OK;
}

/* Adds the label of a row or, if the target is numbers, the numbers of the row. */
static enum status take_label(struct builder *b, const struct csv *csv, const struct roles *roles, struct error *err)
{
    enum status status = STATUS_OK;
    int label = roles->usual.label;
    for (int i = 0; !status && i < (b->wanted == TARGET_NUMBER ? csv->count : 0); i++) {
        float value;
        bool target = i == label;
        for (int t = 0; t < roles->targets; t++)
            target = target || roles->target[t] == i;
        if (target && !csv_number(csv->field[i], &value))
            status = error_set(err, STATUS_INVALID, NULL,
                               "row %lld, column %d: '%.40s' is not a number from -3.4e38 to 3.4e38",
                               (long long)csv->row, i + 1, csv->field[i]);
    }
    for (int t = 0; !status && t < roles->targets; t++)
        status = builder_values(b, csv->field[roles->target[t]], strlen(csv->field[roles->target[t]]), err);
    return status || label < 0 ? status
                               : builder_label(b, csv->field[label], strlen(csv->field[label]), "row", csv->row, err);
}

/* Makes the column of parts a feature if the first row has something else there than the name of a part. */
static enum status check_part(struct builder *b, const struct csv *csv, struct roles *roles, struct error *err)
{
    int at = 0, part = roles->part;
    if (part < 0 || b->c->count > 0 || collection_part_named(csv->field[part]) >= 0)
        return STATUS_OK;
    struct collection_names *columns = &b->c->columns;
    char *name = strdup(roles->part_name);
    if (!name)
        return error_memory(err, "names");
    for (int i = 0; i < part; i++)
        at += is_feature(roles, i);
    memmove(columns->name + at + 1, columns->name + at, (size_t)(columns->count - at) * sizeof *columns->name);
    columns->name[at] = name;
    columns->count++;
    roles->part = -1;
    return STATUS_OK;
}

static enum status take_row(struct builder *b, const struct csv *csv, const struct roles *roles, struct error *err)
{
    float *values;
    int at = 0;
    enum status status = builder_sample(b, b->c->columns.count, &values, err);
    for (int i = 0; !status && i < csv->count; i++) {
        if (is_feature(roles, i) && !csv_number(csv->field[i], &values[at]))
            return error_set(err, STATUS_INVALID, NULL, "row %lld, column '%.60s': '%.40s' is not a number",
                             (long long)csv->row, b->c->columns.name[at], csv->field[i]);
        at += is_feature(roles, i);
    }
    if (!status)
        status = take_label(b, csv, roles, err);
    if (!status && roles->usual.group >= 0)
        status = builder_group(b, csv->field[roles->usual.group], err);
    if (status || roles->part < 0)
        return status;
    return collection_part_named(csv->field[roles->part]) < 0
               ? error_set(err, STATUS_INVALID, NULL,
                           "row %lld, column '%s': '%.40s' must be train, validation or test, as in the first row",
                           (long long)csv->row, roles->part_name, csv->field[roles->part])
               : builder_part(b, csv->field[roles->part], err);
}

enum status collection_read_csv(const struct byte_source *from, const struct collection_options *options,
                                const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct csv csv;
    struct builder b;
    struct roles roles = {.usual = {-1, -1, -1}, .part = -1};
    builder_init(&b, c, options, limits);
    b.cells = true;
    enum status status = csv_open(&csv, from, err);
    if (!status)
        status = find_roles(&b, &csv, options, &roles, err);
    for (int i = 0; !status && roles.part < 0 && i < 2; i++) {
        roles.part_name = i == 0 ? "part" : "split";
        int column = csv_find(&csv, roles.part_name);
        roles.part = column >= 0 && is_feature(&roles, column) ? column : -1;
    }
    bool signals = options->layout == LAYOUT_SIGNALS;
    if (!status)
        status = take_header(&csv, &roles, signals, c, err);
    if (!status && signals && roles.usual.label >= 0 && strcmp(csv.field[roles.usual.label], "labels") == 0)
        b.usual = TARGET_LABELS; /* as in labels.csv of an archive */
    if (b.wanted == TARGET_NONE)
        b.wanted = b.usual;
    for (bool more = true; !status;) {
        status = csv_next(&csv, &more, err);
        if (status || !more)
            break;
        status = check_part(&b, &csv, &roles, err);
        if (!status)
            status = take_row(&b, &csv, &roles, err);
    }
    if (!status)
        status = builder_finish(&b, false, err);
    free(roles.target);
    csv_close(&csv);
    builder_close(&b);
    return status;
}
