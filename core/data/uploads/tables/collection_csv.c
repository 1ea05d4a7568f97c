/* Reads tables. The header says which columns are features (table_columns.h); these are numbers in every row. Names of
 * rows are ignored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_int.h"
#include "core/data/files/table_columns.h"

static enum status take_header(const struct csv *csv, const struct table_columns *roles, bool signals,
                               struct collection *c, struct error *err)
{
    c->kind = signals ? COLLECTION_SEQUENCES : COLLECTION_TABLE;
    c->channels = c->rows = 1;
    c->columns.name = calloc((size_t)csv->columns, sizeof *c->columns.name);
    for (int i = 0; c->columns.name && i < csv->columns; i++) {
        if (!table_columns_feature(roles, i))
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

static enum status take_row(struct builder *b, const struct csv *csv, const struct table_columns *roles,
                            struct error *err)
{
    float *values;
    int at = 0;
    enum status status = builder_sample(b, b->c->columns.count, &values, err);
    for (int i = 0; !status && i < csv->count; i++) {
        if (table_columns_feature(roles, i) && !csv_number(csv->field[i], &values[at]))
            return error_set(err, STATUS_INVALID, NULL, "row %lld, column '%.60s': '%.40s' is not a number",
                             (long long)csv->row, b->c->columns.name[at], csv->field[i]);
        at += table_columns_feature(roles, i);
    }
    if (status != STATUS_OK)
        return status;
    if (roles->label >= 0) {
        if (csv->field[roles->label][0] == '\0')
            return error_set(err, STATUS_INVALID, NULL, "row %lld has no label; every row needs one",
                             (long long)csv->row);
        status = builder_label(b, csv->field[roles->label], err);
    }
    if (status != STATUS_OK)
        return status;
    if (roles->group >= 0)
        return builder_group(b, csv->field[roles->group], err);
    return STATUS_OK;
}

static enum status read_csv(const struct byte_source *from, const struct collection_options *options,
                            const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct csv csv;
    struct builder b;
    struct table_columns roles = {-1, -1, -1};
    builder_init(&b, c, options, limits);
    enum status status = csv_open(&csv, from, err);
    if (!status)
        status = table_columns_find(&csv, options->label, options->group, &roles, err);
    if (!status)
        status = take_header(&csv, &roles, options->layout == LAYOUT_SIGNALS, c, err);
    for (bool more = true; !status;) {
        status = csv_next(&csv, &more, err);
        if (status || !more)
            break;
        status = take_row(&b, &csv, &roles, err);
    }
    if (!status)
        status = builder_finish(&b, false, err);
    csv_close(&csv);
    builder_close(&b);
    return status;
}

const struct collection_format csv_format = {.name = "csv",
                                             .media_type = "text/csv",
                                             .text = true,
                                             .reads = OPTION_LABEL | OPTION_GROUP | OPTION_LAYOUT | OPTION_TARGET,
                                             .layouts = 1u << LAYOUT_SIGNALS,
                                             .read = read_csv};
