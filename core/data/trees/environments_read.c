/* Reads environments from the folder of a data set. The folder has a tree, and one or two tab-separated tables whose
 * rows belong to nodes of the tree (environments.h describes the files). environments_upload.c reads data sets that a
 * user uploaded. */
#include <stdlib.h>
#include <string.h>

#include "core/formats/delimited.h"
#include "core/data/trees/environments_int.h"

enum { COLUMNS_MOST = 1 << 20 };

/* A table as the file contains it. The first column is text. Another column is text if its first value is not a
 * number. */
struct sheet {
    int rows, columns, room;
    char **header; /* [columns] */
    bool *is_text; /* [columns] */
    float *x;      /* [rows][columns], 0 where a column is text */
    char **text;   /* [rows][columns], NULL where a column contains numbers */
};

static void sheet_close(struct sheet *s)
{
    for (int j = 0; s->header && j < s->columns; j++)
        free(s->header[j]);
    for (ptrdiff_t i = 0; s->text && i < (ptrdiff_t)s->rows * s->columns; i++)
        free(s->text[i]);
    free(s->header);
    free(s->is_text);
    free(s->x);
    free(s->text);
    *s = (struct sheet){0};
}

static enum status read_header(struct delimited *d, struct sheet *s, struct error *err)
{
    s->columns = (int)d->count;
    if (d->count < 2 || d->count > COLUMNS_MOST)
        return error_set(err, STATUS_INVALID, NULL, "%s needs at least two columns, an id and a feature", d->name);
    s->header = calloc(d->count, sizeof *s->header);
    s->is_text = calloc(d->count, sizeof *s->is_text);
    for (size_t j = 0; s->header && s->is_text && j < d->count; j++)
        if (!(s->header[j] = strdup(d->fields[j])))
            return environments_no_memory(err);
    return s->header && s->is_text ? STATUS_OK : environments_no_memory(err);
}

static enum status grow(struct sheet *s, struct error *err)
{
    if (s->rows < s->room)
        return STATUS_OK;
    int room = s->room ? 2 * s->room : 128;
    size_t cells = (size_t)room * (size_t)s->columns;
    float *x = realloc(s->x, cells * sizeof *x);
    s->x = x ? x : s->x;
    char **text = x ? realloc(s->text, cells * sizeof *text) : NULL;
    if (!text)
        return environments_no_memory(err);
    s->text = text;
    s->room = room;
    return STATUS_OK;
}

static enum status read_row(struct delimited *d, struct sheet *s, struct error *err)
{
    enum status status = grow(s, err);
    if (status != STATUS_OK)
        return status;
    if ((int)d->count != s->columns)
        status = error_set(err, STATUS_INVALID, NULL, "line %ld of %s has %zu fields, but the header has %d", d->number,
                           d->name, d->count, s->columns);
    if (status)
        return status;
    ptrdiff_t at = (ptrdiff_t)s->rows++ * s->columns;
    memset(s->text + at, 0, (size_t)s->columns * sizeof *s->text);
    memset(s->x + at, 0, (size_t)s->columns * sizeof *s->x);
    for (int j = 0; !status && j < s->columns; j++) {
        double value = 0;
        struct error ignored = {0};
        if (s->rows == 1)
            s->is_text[j] = j == 0 || delimited_number(d, (size_t)j, &value, &ignored) != STATUS_OK;
        if (s->is_text[j]) {
            s->text[at + j] = strdup(d->fields[j]);
            status = s->text[at + j] ? STATUS_OK : environments_no_memory(err);
        } else {
            status = delimited_number(d, (size_t)j, &value, err);
            s->x[at + j] = (float)value;
        }
    }
    return status;
}

static enum status sheet_read(const char *folder, const char *name, struct thread_pool *pool, struct sheet *s,
                              struct error *err)
{
    struct delimited d;
    bool more = false;
    *s = (struct sheet){0};
    enum status status = delimited_open(&d, folder, name, '\t', pool, err);
    if (!status)
        status = delimited_next(&d, &more, err);
    if (!status)
        status = more ? read_header(&d, s, err) : error_set(err, STATUS_INVALID, NULL, "%s is empty", name);
    while (!status && !(status = delimited_next(&d, &more, err)) && more)
        status = read_row(&d, s, err);
    if (!status && s->rows < 2)
        status = error_set(err, STATUS_INVALID, NULL, "%s has fewer than two lines below its header", name);
    delimited_close(&d);
    return status;
}

/* Reads the first of two files, or the second if the first does not exist. *found: the name of the file that was read;
 * NULL: neither exists. */
static enum status read_either(const char *folder, const char *first, const char *second, struct thread_pool *pool,
                               struct sheet *s, const char **found, struct error *err)
{
    struct error missing = {0};
    enum status status = sheet_read(folder, first, pool, s, &missing);
    *found = first;
    if (status == STATUS_NOT_FOUND) {
        sheet_close(s);
        error_clear(&missing);
        status = sheet_read(folder, second, pool, s, &missing);
        *found = second;
    }
    if (status == STATUS_NOT_FOUND) {
        *found = NULL;
        return STATUS_OK;
    }
    return status ? error_set(err, status, NULL, "%s", missing.message) : STATUS_OK;
}

/* ---- places ------------------------------------------------------------------------------------------- */

/* Number of different nodes that a column names. met: [tree->nodes] scratch. */
static int nodes_named(const struct sheet *s, int column, const struct tree *tree, struct thread_pool *pool, bool *met)
{
    int count = 0;
    memset(met, 0, (size_t)tree->nodes * sizeof *met);
    for (int i = 0; i < s->rows && !thread_pool_stopped(pool); i++) {
        int v = tree_find(tree, s->text[(ptrdiff_t)i * s->columns + column]);
        count += v >= 0 && !met[v];
        if (v >= 0)
            met[v] = true;
    }
    return count;
}

/* Finds each row's node from the text column that names the most different nodes. If two columns name nodes of two
 * levels, this is the column of the lower level. node: [rows], -1 for a row without a node. */
static enum status find_places(const struct sheet *s, const struct tree *tree, struct thread_pool *pool, int *node,
                               struct error *err)
{
    int best = 0, column = -1;
    bool *met = malloc((size_t)tree->nodes * sizeof *met);
    if (!met)
        return environments_no_memory(err);
    for (int j = 0; j < s->columns; j++) {
        int named = s->is_text[j] ? nodes_named(s, j, tree, pool, met) : 0;
        column = named > best ? j : column;
        best = named > best ? named : best;
    }
    free(met);
    if (thread_pool_stopped(pool))
        return thread_pool_check(pool, err);
    if (best < 2)
        return error_set(
            err, STATUS_INVALID, NULL,
            "no text column of the table names at least two nodes of the tree; one column must hold names of nodes");
    for (int i = 0; i < s->rows && !thread_pool_stopped(pool); i++)
        node[i] = tree_find(tree, s->text[(ptrdiff_t)i * s->columns + column]);
    return thread_pool_check(pool, err);
}

static int outcome_column(const struct sheet *s)
{
    for (int j = 1; j < s->columns; j++)
        if (!s->is_text[j] && environments_outcome_name(s->header[j]))
            return j;
    return -1;
}

/* ---- tables ------------------------------------------------------------------------------------------- */

/* Where a data set's values come from. Without a matrix, features are columns of `table`. With a matrix, features are
 * lines of the matrix, and its columns are the rows of `table`. */
struct layout {
    const struct sheet *table, *matrix; /* matrix: NULL if the data set has no matrix */
    const int *node;                    /* [table->rows] node of each row; -1: the row is left out */
    int outcome;                        /* index of the outcome's column in `table`; -1: there is none */
};

static bool is_feature(const struct layout *l, int line)
{
    return l->matrix || (line > 0 && !l->table->is_text[line] && line != l->outcome);
}

/* Number of candidates for features: lines of the matrix, or columns of the table. */
static int line_count(const struct layout *l)
{
    return l->matrix ? l->matrix->rows : l->table->columns;
}

static const char *line_name(const struct layout *l, int line)
{
    return l->matrix ? l->matrix->text[(ptrdiff_t)line * l->matrix->columns] : l->table->header[line];
}

static float value_at(const struct layout *l, int row, int line)
{
    return l->matrix ? l->matrix->x[(ptrdiff_t)line * l->matrix->columns + row + 1]
                     : l->table->x[(ptrdiff_t)row * l->table->columns + line];
}

static enum status copy_names(const struct layout *l, struct environments *e, struct error *err)
{
    int feature = 0;
    e->names = calloc((size_t)e->features + 1, sizeof *e->names);
    if (!e->names)
        return environments_no_memory(err);
    for (int line = 0; line < line_count(l); line++)
        if (is_feature(l, line) && !(e->names[feature++] = strdup(line_name(l, line))))
            return environments_no_memory(err);
    return STATUS_OK;
}

static void copy_row(const struct layout *l, int row, int to, struct environments *e)
{
    float *x = e->x + (ptrdiff_t)to * e->features;
    for (int line = 0; line < line_count(l); line++)
        if (is_feature(l, line))
            *x++ = value_at(l, row, line);
    e->node[to] = l->node[row];
    e->y[to] = l->outcome >= 0 ? l->table->x[(ptrdiff_t)row * l->table->columns + l->outcome] : 0;
}

/* Copies the rows that have a node, and the names of the features. The result has room for latent variables if the data
 * set has no outcome or the caller requests a planted one; the caller fills them in. */
static enum status collect(const struct layout *l, int nodes, const struct environments_reading *reading,
                           struct environments **environments, struct error *err)
{
    int rows = 0, features = 0, to = 0;
    for (int row = 0; row < l->table->rows; row++)
        rows += l->node[row] >= 0;
    for (int line = 0; line < line_count(l); line++)
        features += is_feature(l, line);
    int latent = reading->plant || l->outcome < 0 ? reading->outcome.latent : 0;
    enum status status = environments_table(rows, features, latent, nodes, environments, err);
    if (!status)
        status = copy_names(l, *environments, err);
    for (int row = 0; !status && row < l->table->rows && !thread_pool_stopped(reading->pool); row++)
        if (l->node[row] >= 0)
            copy_row(l, row, to++, *environments);
    return status;
}

static enum status same_ids(const struct sheet *matrix, const struct sheet *table, struct error *err)
{
    if (matrix->columns != table->rows + 1)
        return error_set(
            err, STATUS_INVALID, NULL,
            "the matrix has %d columns of values, but the table has %d rows; there must be one column for each row",
            matrix->columns - 1, table->rows);
    for (int i = 0; i < table->rows; i++)
        if (strcmp(matrix->header[i + 1], table->text[(ptrdiff_t)i * table->columns]) != 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "id %d is %.60s in the matrix but %.60s in the table; both must be in the same order",
                             i + 1, matrix->header[i + 1], table->text[(ptrdiff_t)i * table->columns]);
    return STATUS_OK;
}

/* ---- data sets ---------------------------------------------------------------------------------------- */

static enum status assemble(const struct sheet *table, const struct sheet *matrix, const struct tree *tree,
                            const struct environments_reading *r, struct environments **environments, struct error *err)
{
    int *node = malloc((size_t)table->rows * sizeof *node);
    enum status status = node ? find_places(table, tree, r->pool, node, err) : environments_no_memory(err);
    if (!status) {
        struct layout layout = {table, matrix, node, outcome_column(table)};
        status = collect(&layout, tree->nodes, r, environments, err);
    }
    free(node);
    return status ? status : environments_finish(tree, r, *environments, err);
}

static enum status read_files(const char *folder, const struct environments_reading *reading, struct tree **tree,
                              struct environments **environments, struct error *err)
{
    struct sheet matrix = {0}, table = {0};
    const char *found = NULL, *second = NULL;
    enum status status = tree_load(folder, tree, err);
    if (!status)
        status = read_either(folder, "expression.tsv", "counts.tsv", reading->pool, &matrix, &found, err);
    bool across = !status && found && matrix.header[0][0] == '\0';
    if (!status && (!found || across))
        status = read_either(folder, "samples.tsv", "cells.tsv", reading->pool, &table, &second, err);
    if (!status && ((!found && !second) || (across && !second)))
        status = error_set(err, STATUS_INVALID, NULL,
                           "the data set has no samples.tsv and no cells.tsv; it needs one of them");
    if (!status && across)
        status = same_ids(&matrix, &table, err);
    if (!status)
        status =
            assemble(across || !found ? &table : &matrix, across ? &matrix : NULL, *tree, reading, environments, err);
    sheet_close(&matrix);
    sheet_close(&table);
    return status;
}

enum status environments_read(const char *folder, const struct environments_reading *reading, struct tree **tree,
                              struct environments **environments, struct error *err)
{
    struct error missing = {0};
    *environments = NULL;
    *tree = NULL;
    enum status status = environments_uploaded(folder, reading, tree, environments, &missing);
    if (status == STATUS_NOT_FOUND)
        status = read_files(folder, reading, tree, environments, err);
    else if (status)
        error_set(err, status, NULL, "%s", missing.message);
    if (status) {
        environments_free(*environments);
        tree_destroy(*tree);
        *environments = NULL;
        *tree = NULL;
    }
    return status;
}
