/* Tables of rows that belong to nodes of a tree, and outcomes planted in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/philox.h"
#include "core/formats/delimited.h"
#include "core/data/trees/environments_int.h"

enum { STREAM_GROUPS = 0x67727073, STREAM_NOISE, COUNTS_ABOVE = 30, COLUMNS_MOST = 1 << 20 };

/* A table as it is in a file. The first column is text, others by their first value. */
struct sheet {
    int rows, columns, room;
    char **header; /* [columns] */
    bool *is_text; /* [columns] */
    float *x;      /* [rows][columns], 0 for text */
    char **text;   /* [rows][columns], NULL for numbers */
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
        return error_set(err, STATUS_INVALID, NULL, "%s needs two columns at least", d->name);
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
    if (!status && (int)d->count != s->columns)
        status = error_set(err, STATUS_INVALID, NULL, "line %ld of %s has %zu fields, not %d", d->number, d->name,
                           d->count, s->columns);
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

static enum status sheet_read(const char *folder, const char *name, struct sheet *s, struct error *err)
{
    struct delimited d;
    bool more = false;
    *s = (struct sheet){0};
    enum status status = delimited_open(&d, folder, name, '\t', err);
    if (!status)
        status = delimited_next(&d, &more, err);
    if (!status)
        status = more ? read_header(&d, s, err) : error_set(err, STATUS_INVALID, NULL, "%s is empty", name);
    while (!status && !(status = delimited_next(&d, &more, err)) && more)
        status = read_row(&d, s, err);
    if (!status && s->rows < 2)
        status = error_set(err, STATUS_INVALID, NULL, "%s has fewer than two lines", name);
    delimited_close(&d);
    return status;
}

/* The first of two files that is there; *found NULL when neither is. */
static enum status read_either(const char *folder, const char *first, const char *second, struct sheet *s,
                               const char **found, struct error *err)
{
    struct error missing = {0};
    enum status status = sheet_read(folder, first, s, &missing);
    *found = first;
    if (status == STATUS_NOT_FOUND) {
        sheet_close(s);
        error_clear(&missing);
        status = sheet_read(folder, second, s, &missing);
        *found = second;
    }
    if (status == STATUS_NOT_FOUND) {
        *found = NULL;
        return STATUS_OK;
    }
    return status ? error_set(err, status, NULL, "%s", missing.message) : STATUS_OK;
}

/* ---- places ------------------------------------------------------------------------------------------- */

/* How many different nodes a column names; met: room for all nodes. */
static int nodes_named(const struct sheet *s, int column, const struct tree *tree, bool *met)
{
    int count = 0;
    memset(met, 0, (size_t)tree->nodes * sizeof *met);
    for (int i = 0; i < s->rows; i++) {
        int v = tree_find(tree, s->text[(ptrdiff_t)i * s->columns + column]);
        count += v >= 0 && !met[v];
        if (v >= 0)
            met[v] = true;
    }
    return count;
}

/* The text column that names the most nodes, so that of two levels it is the lower; node: [rows]. */
static enum status find_places(const struct sheet *s, const struct tree *tree, int *node, struct error *err)
{
    int best = 0, column = -1;
    bool *met = malloc((size_t)tree->nodes * sizeof *met);
    if (!met)
        return environments_no_memory(err);
    for (int j = 0; j < s->columns; j++) {
        int named = s->is_text[j] ? nodes_named(s, j, tree, met) : 0;
        column = named > best ? j : column;
        best = named > best ? named : best;
    }
    free(met);
    if (best < 2)
        return error_set(err, STATUS_INVALID, NULL, "no column of the table names nodes of the tree");
    for (int i = 0; i < s->rows; i++)
        node[i] = tree_find(tree, s->text[(ptrdiff_t)i * s->columns + column]);
    return STATUS_OK;
}

bool environments_outcome_name(const char *name)
{
    static const char *const names[] = {"y", "outcome", "label", "resistant"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (strcmp(name, names[n]) == 0)
            return true;
    return false;
}

static int outcome_column(const struct sheet *s)
{
    for (int j = 1; j < s->columns; j++)
        if (!s->is_text[j] && environments_outcome_name(s->header[j]))
            return j;
    return -1;
}

/* ---- features ----------------------------------------------------------------------------------------- */

static bool are_counts(const struct environments *e)
{
    float most = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)e->rows * e->features; i++) {
        if (e->x[i] < 0 || e->x[i] > floorf(e->x[i]))
            return false;
        most = e->x[i] > most ? e->x[i] : most;
    }
    return most > COUNTS_ABOVE;
}

static void column_moments(const struct environments *e, int column, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < e->rows; i++)
        sum += (double)e->x[(ptrdiff_t)i * e->features + column];
    *mean = sum / e->rows;
    for (int i = 0; i < e->rows; i++) {
        double d = (double)e->x[(ptrdiff_t)i * e->features + column] - *mean;
        squares += d * d;
    }
    *deviation = sqrt(squares / e->rows);
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Columns in place: those of the largest variance, standardised; constant ones go. */
static enum status choose_features(struct environments *e, int most, struct error *err)
{
    int d = e->features, kept = 0;
    double *deviation = malloc(3 * (size_t)d * sizeof *deviation);
    if (!deviation)
        return environments_no_memory(err);
    double *mean = deviation + d, *sorted = mean + d;
    for (int j = 0; j < d; j++)
        column_moments(e, j, &mean[j], &deviation[j]);
    memcpy(sorted, deviation, (size_t)d * sizeof *sorted);
    qsort(sorted, (size_t)d, sizeof *sorted, falling);
    double least = most < d ? sorted[most - 1] : 0;
    for (int j = 0; j < d; j++) {
        bool keep = kept < most && deviation[j] > 0 && deviation[j] >= least;
        if (!keep) {
            free(e->names[j]);
            continue;
        }
        mean[kept] = mean[j];
        deviation[kept] = deviation[j];
        e->names[kept] = e->names[j];
        sorted[kept++] = j;
    }
    for (int i = 0; i < e->rows; i++)
        for (int j = 0; j < kept; j++) {
            double value = (double)e->x[(ptrdiff_t)i * d + (int)sorted[j]];
            e->x[(ptrdiff_t)i * kept + j] = (float)((value - mean[j]) / deviation[j]);
        }
    e->features = kept;
    free(deviation);
    return kept > 0 ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "no feature varies");
}

/* ---- tables ------------------------------------------------------------------------------------------- */

/* The rows that have a place, from a table with a column a feature, or (matrix) with a line a feature. */
static enum status collect(const struct sheet *table, const struct sheet *matrix, const struct tree *tree,
                           const int *node, const struct environments_reading *r, struct environments **environments,
                           struct error *err)
{
    int rows = 0, y = outcome_column(table), d = 0, at = 0;
    for (int i = 0; i < table->rows; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): assemble() has it */
        rows += node[i] >= 0;
    for (int j = 1; j < table->columns; j++)
        d += !table->is_text[j] && j != y;
    d = matrix ? matrix->rows : d;
    bool plant = r->plant || y < 0;
    enum status status = environments_table(rows, d, plant ? r->outcome.latent : 0, tree->nodes, environments, err);
    if (status)
        return status;
    struct environments *e = *environments;
    e->names = calloc((size_t)d + 1, sizeof *e->names);
    if (!e->names)
        return environments_no_memory(err);
    for (int j = matrix ? 0 : 1; !status && j < (matrix ? d : table->columns); j++) {
        if (!matrix && (table->is_text[j] || j == y))
            continue;
        const char *name = matrix ? matrix->text[(ptrdiff_t)j * matrix->columns] : table->header[j];
        status = (e->names[at] = strdup(name)) ? STATUS_OK : environments_no_memory(err);
        for (int i = 0, row = 0; i < table->rows; i++)
            if (node[i] >= 0)
                e->x[(ptrdiff_t)row++ * d + at] = matrix ? matrix->x[(ptrdiff_t)j * matrix->columns + i + 1]
                                                         : table->x[(ptrdiff_t)i * table->columns + j];
        at++;
    }
    for (int i = 0, row = 0; i < table->rows; i++)
        if (node[i] >= 0) {
            e->node[row] = node[i];
            e->y[row++] = y >= 0 ? table->x[(ptrdiff_t)i * table->columns + y] : 0;
        }
    return status;
}

static enum status same_ids(const struct sheet *matrix, const struct sheet *table, struct error *err)
{
    if (matrix->columns != table->rows + 1)
        return error_set(err, STATUS_INVALID, NULL, "the matrix has %d columns for %d rows of the table",
                         matrix->columns - 1, table->rows);
    for (int i = 0; i < table->rows; i++)
        if (strcmp(matrix->header[i + 1], table->text[(ptrdiff_t)i * table->columns]) != 0)
            return error_set(err, STATUS_INVALID, NULL, "row %d is %.60s in the matrix and %.60s in the table", i + 1,
                             matrix->header[i + 1], table->text[(ptrdiff_t)i * table->columns]);
    return STATUS_OK;
}

/* ---- planting ----------------------------------------------------------------------------------------- */

struct drawn {
    uint32_t value;
    int feature;
};

static int by_value(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : x->feature - y->feature;
}

static void standardise_latent(struct environments *e, int c)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < e->rows; i++)
        mean += (double)e->z[(ptrdiff_t)i * e->latent + c] / e->rows;
    for (int i = 0; i < e->rows; i++) {
        double d = (double)e->z[(ptrdiff_t)i * e->latent + c] - mean;
        squares += d * d / e->rows;
    }
    double scale = squares > 0 ? 1 / sqrt(squares) : 0;
    for (int i = 0; i < e->rows; i++) {
        float *z = &e->z[(ptrdiff_t)i * e->latent + c];
        *z = (float)(((double)*z - mean) * scale);
    }
}

static enum status plant(const struct tree *tree, const struct environments_outcome *o, struct environments *e,
                         struct error *err)
{
    int d = e->features, k = o->latent, size = d / k;
    struct drawn *order = malloc((size_t)d * sizeof *order);
    if (!order)
        return environments_no_memory(err);
    struct philox from = philox_stream(o->seed, STREAM_GROUPS, 0), noise = philox_stream(o->seed, STREAM_NOISE, 0);
    for (int j = 0; j < d; j++)
        order[j] = (struct drawn){philox_u32(&from, (uint64_t)j), j};
    qsort(order, (size_t)d, sizeof *order, by_value);
    for (int i = 0; i < e->rows; i++)
        for (int c = 0; c < k; c++) {
            double sum = 0;
            for (int j = 0; j < size; j++)
                sum += (double)e->x[(ptrdiff_t)i * d + order[c * size + j].feature];
            e->z[(ptrdiff_t)i * k + c] = (float)tanh(size > 0 ? sum / size : 0);
        }
    free(order);
    for (int c = 0; c < k; c++)
        standardise_latent(e, c);
    environments_weights(tree, o, e);
    for (int i = 0; i < e->rows; i++)
        e->y[i] = environments_outcome_at(e, e->node[i], e->z + (ptrdiff_t)i * k,
                                          o->noise * philox_normal(&noise, (uint64_t)i));
    return size > 0 ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "%d features for %d latent variables", d, k);
}

/* ---- data sets ---------------------------------------------------------------------------------------- */

static bool are_labels(const struct environments *e)
{
    for (int i = 0; i < e->rows; i++)
        if (e->y[i] < 0 || (e->y[i] > 0 && e->y[i] < 1) || e->y[i] > 1)
            return false;
    return true;
}

enum status environments_finish(const struct tree *tree, const struct environments_reading *r, struct environments *e,
                                struct error *err)
{
    bool counts = are_counts(e);
    for (ptrdiff_t i = 0; counts && i < (ptrdiff_t)e->rows * e->features; i++)
        e->x[i] = log1pf(e->x[i]);
    e->labels = e->latent == 0 && are_labels(e);
    enum status status = choose_features(e, r->features, err);
    return !status && e->latent > 0 ? plant(tree, &r->outcome, e, err) : status;
}

static enum status assemble(const struct sheet *table, const struct sheet *matrix, const struct tree *tree,
                            const struct environments_reading *r, struct environments **environments, struct error *err)
{
    int *node = malloc((size_t)table->rows * sizeof *node);
    enum status status = node ? find_places(table, tree, node, err) : environments_no_memory(err);
    if (!status)
        status = collect(table, matrix, tree, node, r, environments, err);
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
        status = read_either(folder, "expression.tsv", "counts.tsv", &matrix, &found, err);
    bool across = !status && found && matrix.header[0][0] == '\0';
    if (!status && (!found || across))
        status = read_either(folder, "samples.tsv", "cells.tsv", &table, &second, err);
    if (!status && ((!found && !second) || (across && !second)))
        status = error_set(err, STATUS_INVALID, NULL, "the data set has no samples.tsv and no cells.tsv");
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
