/* Gives the columns of a table their roles, by their names and by what the user has stated. */
#include "core/formats/table/table_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char
    *const label_names[] = {"label", "labels", "class", "target", NULL},
           *const group_names[] = {"group", "split", NULL}, *const id_names[] = {"id", "Unnamed: 0", NULL},
           *const first_names[] = {"",      "name",  "sample", "sampleid", "sampleno", "index",      "idx",     "row",
                                   "rowid", "rowno", "no",     "nr",       "rowname",  "rownames",   "barcode", "cell",
                                   "uid",   "uuid",  "cellid", "#",        "level0",   "identifier", NULL};

/* Whether a name is one of the list, if case, blanks and the characters _ - . do not count. */
static bool listed(const char *const *names, const char *name)
{
    char plain[16] = "";
    size_t bytes = 0;
    for (; *name && bytes + 1 < sizeof plain; name++)
        if (!strchr(" _-.", *name))
            plain[bytes++] = *name;
    for (plain[bytes] = '\0'; *names; names++)
        if (!*name && strcasecmp(*names, plain) == 0)
            return true;
    return false;
}

int table_column_called(const struct csv *csv, const char *name)
{
    static const char *const usual[][7] = {{"file", "filename", "path", "filepath", "image", "name", NULL},
                                           {"label", "class", "target", NULL}};
    int found = csv_find(csv, name);
    for (int k = 0; k < 2; k++)
        for (int i = 0; found < 0 && strcmp(usual[k][0], name) == 0 && i < csv->columns; i++)
            found = listed(usual[k], csv->name[i]) ? i : -1;
    return found;
}

bool table_label_name(const char *name)
{
    static const char *const more[] = {"classes",  "targets",   "y",       "outcome",   "response", "species",
                                       "category", "diagnosis", "isfraud", "phenotype", "celltype", NULL};
    return listed(label_names, name) || listed(more, name);
}

/* Reports that the table has no column of this name. The message lists the first columns, so that the user can find the
 * name that was meant. */
static enum status no_column(const struct csv *csv, const char *wanted, struct error *err)
{
    char names[120] = "";
    size_t used = 0;
    int i = 0;
    for (; i < csv->columns && used + strlen(csv->name[i]) + 6 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", csv->name[i]);
    return error_set(err, STATUS_INVALID, NULL, "%s 1: no column is called '%.60s'; the columns are %s%s", csv->what,
                     wanted, names, i < csv->columns ? ", ..." : "");
}

static enum status give(const struct csv *csv, struct table_columns *columns, int column, enum table_role role,
                        struct error *err)
{
    static const char *const names[] = {"a feature", "the label", "the group", "the id", "ignored", "an identifier"};
    if (columns->role[column] != TABLE_FEATURE)
        return error_set(err, STATUS_INVALID, NULL, "%s 1: column '%.60s' cannot be both %s and %s; name it once",
                         csv->what, csv->name[column], names[columns->role[column]], names[role]);
    columns->role[column] = (unsigned char)role;
    int *first = role == TABLE_LABEL   ? &columns->label
                 : role == TABLE_GROUP ? &columns->group
                 : role == TABLE_ID    ? &columns->id
                                       : NULL;
    if (first && *first < 0)
        *first = column;
    if (role == TABLE_LABEL)
        columns->label_column[columns->labels++] = column;
    return STATUS_OK;
}

static enum status give_named(const struct csv *csv, struct table_columns *columns, const char *name,
                              enum table_role role, bool optional, struct error *err)
{
    int column = csv_find(csv, name);
    if (column < 0 && optional)
        return STATUS_OK;
    return column < 0 ? no_column(csv, name, err) : give(csv, columns, column, role, err);
}

bool table_list_next(const char **list, bool whole, char *name, size_t room)
{
    name[0] = '\0';
    while (**list && name[0] == '\0') {
        size_t bytes = whole ? strlen(*list) : strcspn(*list, ","), begin = strspn(*list, " "), end = bytes;
        while (end > begin && (*list)[end - 1] == ' ')
            end--;
        (void)snprintf(name, room, "%.*s", (int)(end > begin ? end - begin : 0), *list + begin);
        *list += bytes + ((*list)[bytes] == ',');
    }
    return name[0] != '\0';
}

/* Gives a role to the columns that a text names. */
static enum status give_list(const struct csv *csv, struct table_columns *columns, const char *names,
                             enum table_role role, bool optional, struct error *err)
{
    char name[1024];
    bool whole = csv_find(csv, names) >= 0;
    enum status status = STATUS_OK;
    while (!status && table_list_next(&names, whole, name, sizeof name))
        status = give_named(csv, columns, name, role, optional, err);
    return status;
}

/* Tries the usual names in their order. The first one that is the name of a column without a role gives that column the
 * role. */
static enum status give_usual(const struct csv *csv, struct table_columns *columns, const char *const *usual,
                              enum table_role role, struct error *err)
{
    for (; *usual; usual++) {
        int column = csv_find(csv, *usual);
        if (column >= 0 && columns->role[column] == TABLE_FEATURE)
            return give(csv, columns, column, role, err);
    }
    return STATUS_OK;
}

static bool stated(const char *text)
{
    return text && text[0] != '\0';
}

enum status table_columns_find(const struct csv *csv, const struct table_wanted *wanted, struct table_columns *columns,
                               struct error *err)
{
    *columns = (struct table_columns){.label = -1, .group = -1, .id = -1, .count = csv->columns};
    columns->role = calloc((size_t)csv->columns, sizeof *columns->role);
    columns->label_column = calloc((size_t)csv->columns, sizeof *columns->label_column);
    if (!columns->role || !columns->label_column)
        return error_memory(err, "columns");
    const struct {
        const char *name;
        enum table_role role;
        const char *const *usual;
    } rows[] = {{wanted->label, TABLE_LABEL, label_names},
                {wanted->group, TABLE_GROUP, group_names},
                {wanted->id, TABLE_ID, id_names},
                {wanted->ignore, TABLE_IGNORED, NULL}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < ROWS; i++) {
        bool list = rows[i].role == TABLE_LABEL || rows[i].role == TABLE_IGNORED;
        if (stated(rows[i].name))
            status = list ? give_list(csv, columns, rows[i].name, rows[i].role, wanted->optional, err)
                          : give_named(csv, columns, rows[i].name, rows[i].role, wanted->optional, err);
    }
    for (int i = 0; !status && i < ROWS; i++)
        if (!stated(rows[i].name) && rows[i].usual)
            status = give_usual(csv, columns, rows[i].usual, rows[i].role, err);
    if (status || columns->id >= 0 || stated(wanted->id) || columns->role[0] != TABLE_FEATURE ||
        !listed(first_names, csv->name[0]))
        return status;
    return give(csv, columns, 0, TABLE_ID, err);
}

/* Whether a field begins like a number, so that a fault in it is a fault of the number. */
static bool like_number(const char *field)
{
    field += strspn(field, " \t+-.,");
    return (*field >= '0' && *field <= '9') || csv_missing(field) || strcasecmp(field, "inf") == 0 ||
           strcasecmp(field, "infinity") == 0 || strcasecmp(field, "true") == 0 || strcasecmp(field, "false") == 0;
}

void table_columns_first(const struct csv *csv, struct table_columns *columns)
{
    float value;
    for (int i = 0; i < columns->count; i++)
        if (columns->role[i] == TABLE_FEATURE && !csv_number(csv->field[i], &value) && !like_number(csv->field[i]))
            columns->role[i] = TABLE_IDENTIFIER;
}

void table_columns_close(struct table_columns *columns)
{
    free(columns->role);
    free(columns->label_column);
    *columns = (struct table_columns){.count = 0};
}
