/* Reads tables. Every column is a feature, except:
 * - a column of labels: called label, labels, class or target, or named by the upload;
 * - a column of groups for splits: called group or split, or named by the upload;
 * - a first column of row names, which is ignored: it has no name or is called id, name or sample.
 *
 * Features are numbers in every row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_int.h"
#include "core/formats/csv.h"

struct roles {
    int label, group, id; /* indices of columns; -1: there is no such column */
};

static enum status find_role(const struct csv *csv, const char *wanted, const char *const *usual, int *column,
                             struct error *err)
{
    *column = -1;
    if (wanted && wanted[0] != '\0') {
        *column = csv_find(csv, wanted);
        return *column >= 0 ? STATUS_OK
                            : error_set(err, STATUS_INVALID, NULL, "row 1: no column is called '%.60s'", wanted);
    }
    for (; *usual && *column < 0; usual++)
        *column = csv_find(csv, *usual);
    return STATUS_OK;
}

static enum status read_roles(const struct csv *csv, const struct collection_options *options, struct roles *roles,
                              struct error *err)
{
    static const char *const labels[] = {"label", "labels", "class", "target", NULL}, *const groups[] = {"group",
                                                                                                         "split", NULL};
    const char *first = csv->field[0];
    bool named =
        first[0] == '\0' || strcmp(first, "id") == 0 || strcmp(first, "name") == 0 || strcmp(first, "sample") == 0;
    enum status status = find_role(csv, options->label, labels, &roles->label, err);
    if (!status)
        status = find_role(csv, options->group, groups, &roles->group, err);
    roles->id = named && roles->label != 0 && roles->group != 0 ? 0 : -1;
    return status;
}

static bool is_feature(const struct roles *roles, int column)
{
    return column != roles->label && column != roles->group && column != roles->id;
}

static enum status take_header(const struct csv *csv, const struct roles *roles, struct collection *c,
                               struct error *err)
{
    c->kind = COLLECTION_TABLE;
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
    if (status != STATUS_OK)
        return status;
    if (roles->label >= 0) {
        if (csv->field[roles->label][0] == '\0')
            return error_set(err, STATUS_INVALID, NULL, "row %lld has no label; every row needs one",
                             (long long)csv->row);
        /* In a table, a label is one name, also if it contains spaces, unless the user says that it is several. */
        const char *text = csv->field[roles->label];
        bool several = b->wanted != TARGET_NONE && b->wanted != TARGET_CLASS;
        status = several ? builder_words(b, text, err) : builder_token(b, text, strlen(text), err);
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
    struct roles roles = {-1, -1, -1};
    builder_init(&b, c, options, limits);
    enum status status = csv_open(&csv, from, err);
    if (!status)
        status = read_roles(&csv, options, &roles, err);
    if (!status)
        status = take_header(&csv, &roles, c, err);
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

const struct collection_format csv_format = {"csv", "text/csv", true, read_csv};
