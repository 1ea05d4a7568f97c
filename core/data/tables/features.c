/* The table that tabular methods train on: memory, names, folds and moments. */
#include "core/data/tables/features.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mt19937.h"

enum status features_create(int rows, int columns, int factors, struct features **features, struct error *err)
{
    struct features *f = calloc(1, sizeof *f);
    if (!f || rows < 1 || columns < 1)
        goto no_memory;
    f->rows = rows;
    f->columns = columns;
    f->x = calloc((size_t)rows * (size_t)columns, sizeof *f->x);
    if (!f->x)
        goto no_memory;
    f->factors = factors;
    if (factors > 0) {
        f->truth = calloc((size_t)rows * (size_t)factors, sizeof *f->truth);
        f->support = calloc((size_t)columns * (size_t)factors, 1);
        if (!f->truth || !f->support)
            goto no_memory;
    }
    *features = f;
    return STATUS_OK;
no_memory:
    features_destroy(f);
    return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a table of %d rows and %d features", rows, columns);
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
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the names of %d features", count);
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

void features_moments(const struct features *features, double *mean, double *deviation)
{
    for (int j = 0; j < features->columns; j++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < features->rows; i++)
            sum += (double)features->x[(ptrdiff_t)i * features->columns + j];
        double centre = sum / features->rows;
        for (int i = 0; i < features->rows; i++) {
            double off = (double)features->x[(ptrdiff_t)i * features->columns + j] - centre;
            squares += off * off;
        }
        if (mean)
            mean[j] = centre;
        if (deviation)
            deviation[j] = sqrt(squares / features->rows);
    }
}
