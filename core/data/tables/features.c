/* The table that tabular methods train on: memory, names, folds and moments. */
#include "core/data/tables/features.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"

/* Returns false if memory is lacking; features_destroy() frees what was allocated. */
static bool tables_features_allocate(struct features *f)
{
    f->x = calloc((size_t)f->rows * (size_t)f->columns, sizeof *f->x);
    if (f->factors <= 0)
        return f->x != NULL;
    f->truth = calloc((size_t)f->rows * (size_t)f->factors, sizeof *f->truth);
    f->support = calloc((size_t)f->columns * (size_t)f->factors, 1);
    return f->x && f->truth && f->support;
}

enum status features_create(int rows, int columns, int factors, struct features **features, struct error *err)
{
    struct features *f = rows > 0 && columns > 0 ? calloc(1, sizeof *f) : NULL;
    if (f)
        *f = (struct features){.rows = rows, .columns = columns, .factors = factors};
    if (!f || !tables_features_allocate(f)) {
        features_destroy(f);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a table of %d rows and %d features", rows,
                         columns);
    }
    *features = f;
    return STATUS_OK;
}

static void free_names(char **names, int count)
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void features_destroy(struct features *features)
{
    if (!features)
        return;
    free_names(features->names, features->columns);
    free_names(features->titles, features->rows);
    free_names(features->class_names, features->classes);
    free(features->x);
    free(features->truth);
    free(features->support);
    free(features->label);
    free(features);
}

enum status features_name(struct features *features, char *const *names, struct error *err)
{
    int count = features->columns;
    char **copies = names ? calloc((size_t)count, sizeof *copies) : NULL;
    bool whole = !names || copies;
    for (int j = 0; copies && j < count; j++)
        whole = (copies[j] = strdup(names[j])) && whole;
    if (!whole) {
        free_names(copies, count);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the names of %d features", count);
    }
    features->names = copies;
    return STATUS_OK;
}

void features_folds(int rows, int folds, int *fold)
{
    struct mt19937 rng;
    mt19937_init(&rng, 42);
    for (int i = 0; i < rows; i++)
        fold[i] = (int)mt19937_integer(&rng, 0, folds);
}

/* Processes a block of columns at a time. A block is one cache line of each row, so each cache line is read from memory
 * only twice. If the columns were processed one by one, it would be read twice for each of its columns. Each column is
 * added up in the order of the rows. */
void features_moments(const struct features *features, double *mean, double *deviation)
{
    enum { BLOCK = 16 };
    int columns = features->columns, rows = features->rows;
    for (int from = 0; from < columns; from += BLOCK) {
        double sum[BLOCK] = {0}, squares[BLOCK] = {0};
        int count = columns - from < BLOCK ? columns - from : BLOCK;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < count; j++)
                sum[j] += (double)features->x[(ptrdiff_t)i * columns + from + j];
        for (int j = 0; j < count; j++)
            sum[j] /= rows;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < count; j++) {
                double off = (double)features->x[(ptrdiff_t)i * columns + from + j] - sum[j];
                squares[j] += off * off;
            }
        for (int j = 0; j < count; j++) {
            if (mean)
                mean[from + j] = sum[j];
            if (deviation)
                deviation[from + j] = sqrt(squares[j] / rows);
        }
    }
}
