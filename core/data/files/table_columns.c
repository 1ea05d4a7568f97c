/* Finds the columns of a table by their names (table_columns.h). */
#include "core/data/files/table_columns.h"

#include <stdio.h>
#include <string.h>

/* Reports that the table has no column of this name. The message lists the first columns, so that the user can find the
 * name that was meant. */
static enum status no_column(const struct csv *csv, const char *wanted, struct error *err)
{
    char names[120] = "";
    size_t used = 0;
    int i = 0;
    for (; i < csv->count && used + strlen(csv->field[i]) + 6 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", csv->field[i]);
    return error_set(err, STATUS_INVALID, NULL, "row 1: no column is called '%.60s'; the columns are %s%s", wanted,
                     names, i < csv->count ? ", ..." : "");
}

static enum status find_role(const struct csv *csv, const char *wanted, const char *const *usual, int *column,
                             struct error *err)
{
    *column = -1;
    if (wanted && wanted[0] != '\0') {
        *column = csv_find(csv, wanted);
        return *column >= 0 ? STATUS_OK : no_column(csv, wanted, err);
    }
    for (; *usual && *column < 0; usual++)
        *column = csv_find(csv, *usual);
    return STATUS_OK;
}

enum status table_columns_find(const struct csv *csv, const char *label, const char *group,
                               struct table_columns *columns, struct error *err)
{
    static const char *const labels[] = {"label", "labels", "class", "target", NULL}, *const groups[] = {"group",
                                                                                                         "split", NULL};
    const char *first = csv->field[0];
    bool named =
        first[0] == '\0' || strcmp(first, "id") == 0 || strcmp(first, "name") == 0 || strcmp(first, "sample") == 0;
    enum status status = find_role(csv, label, labels, &columns->label, err);
    if (!status)
        status = find_role(csv, group, groups, &columns->group, err);
    columns->id = named && columns->label != 0 && columns->group != 0 ? 0 : -1;
    return status;
}

bool table_columns_feature(const struct table_columns *columns, int column)
{
    return column != columns->label && column != columns->group && column != columns->id;
}
