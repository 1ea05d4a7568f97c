/* Filters and normalises the genes of a table of counts, after Zeisel et al. (2015). */
#include "core/data/tables/genes.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for genes");
}

/* ---- normalisation ------------------------------------------------------------------------------------ */

struct placed {
    float value;
    int column;
};

static int by_value(const void *a, const void *b)
{
    float x = ((const struct placed *)a)->value, y = ((const struct placed *)b)->value;
    return (x > y) - (x < y);
}

static void sort_row(const float *x, int columns, struct placed *row)
{
    for (int j = 0; j < columns; j++)
        row[j] = (struct placed){x[j], j};
    qsort(row, (size_t)columns, sizeof *row, by_value);
}

enum status genes_quantile_normalise(float *x, int rows, int columns, struct thread_pool *pool, struct error *err)
{
    struct placed *row = malloc((size_t)columns * sizeof *row);
    double *mean = calloc((size_t)columns, sizeof *mean);
    for (int i = 0; row && mean && i < rows && !thread_pool_stopped(pool); i++) {
        sort_row(x + (ptrdiff_t)i * columns, columns, row);
        for (int j = 0; j < columns; j++)
            mean[j] += (double)row[j].value / rows;
    }
    for (int i = 0; row && mean && i < rows && !thread_pool_stopped(pool); i++) {
        int to;
        sort_row(x + (ptrdiff_t)i * columns, columns, row);
        for (int from = 0; from < columns; from = to) {
            for (to = from + 1; to < columns && row[to].value <= row[from].value; to++)
                ;
            double rank = 0.5 * (from + to - 1);
            int low = (int)rank;
            double value = rank > low ? 0.5 * (mean[low] + mean[low + 1]) : mean[low];
            for (int j = from; j < to; j++)
                x[(ptrdiff_t)i * columns + row[j].column] = (float)value;
        }
    }
    enum status status = row && mean ? thread_pool_check(pool, err) : no_memory(err);
    free(row);
    free(mean);
    return status;
}

/* ---- measures ----------------------------------------------------------------------------------------- */

/* Copies the columns, centred and scaled to norm 1, as [columns][rows]; a constant column becomes all 0. The caller
 * frees the copy. */
static float *standardised(const struct features *f, struct thread_pool *pool)
{
    int n = f->rows;
    float *unit = malloc((size_t)f->columns * (size_t)n * sizeof *unit);
    for (int j = 0; unit && j < f->columns && !thread_pool_stopped(pool); j++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < n; i++)
            mean += (double)f->x[(ptrdiff_t)i * f->columns + j] / n;
        for (int i = 0; i < n; i++) {
            double off = (double)f->x[(ptrdiff_t)i * f->columns + j] - mean;
            squares += off * off;
        }
        for (int i = 0; i < n; i++)
            unit[(ptrdiff_t)j * n + i] =
                squares > 0 ? (float)(((double)f->x[(ptrdiff_t)i * f->columns + j] - mean) / sqrt(squares)) : 0;
    }
    return unit;
}

static void plain_products(int rows, int columns, int depth, const float *a, const float *b, float *out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            float sum = 0;
            for (int p = 0; p < depth; p++)
                sum += a[(ptrdiff_t)i * depth + p] * b[(ptrdiff_t)j * depth + p];
            out[(ptrdiff_t)i * columns + j] = sum;
        }
}

enum status genes_neighbours(const struct features *f, double limit, cells_products *products, struct thread_pool *pool,
                             int *count, struct error *err)
{
    enum { BLOCK = 128 };
    int g = f->columns, n = f->rows;
    float *unit = standardised(f, pool), *out = malloc((size_t)BLOCK * (size_t)g * sizeof *out);
    if (!unit || !out) {
        free(unit);
        free(out);
        return no_memory(err);
    }
    for (int from = 0; from < g && !thread_pool_stopped(pool); from += BLOCK) {
        int rows = g - from < BLOCK ? g - from : BLOCK;
        (products ? products : plain_products)(rows, g, n, unit + (ptrdiff_t)from * n, unit, out);
        for (int r = 0; r < rows; r++) {
            count[from + r] = 0;
            for (int j = 0; j < g; j++)
                count[from + r] += j == from + r || (double)out[(ptrdiff_t)r * g + j] > limit;
        }
    }
    free(unit);
    free(out);
    return thread_pool_check(pool, err);
}

void genes_noise(const struct features *f, double power, double offset, double *noise)
{
    for (int j = 0; j < f->columns; j++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < f->rows; i++)
            mean += (double)f->x[(ptrdiff_t)i * f->columns + j] / f->rows;
        for (int i = 0; i < f->rows; i++) {
            double off = (double)f->x[(ptrdiff_t)i * f->columns + j] - mean;
            squares += off * off / f->rows;
        }
        noise[j] = mean > 0 ? log2(sqrt(squares) / mean) - log2(pow(mean, power) + offset) : -HUGE_VAL;
    }
}

/* ---- choice ------------------------------------------------------------------------------------------- */

/* Keeps the columns with keep[j], in place. `what` names the filter in the error message for fewer than two columns. */
static enum status keep_columns(struct features *f, const bool *keep, const char *what, struct error *err)
{
    int kept = 0;
    for (int j = 0; j < f->columns; j++)
        kept += keep[j];
    if (kept < 2)
        return error_set(err, STATUS_INVALID, NULL, "fewer than 2 genes %s; loosen the filter", what);
    for (int i = 0; i < f->rows; i++)
        for (int j = 0, at = 0; j < f->columns; j++)
            if (keep[j])
                f->x[(ptrdiff_t)i * kept + at++] = f->x[(ptrdiff_t)i * f->columns + j];
    for (int j = 0, at = 0; j < f->columns; j++)
        if (keep[j])
            f->names[at++] = f->names[j];
        else
            free(f->names[j]);
    f->columns = kept;
    return STATUS_OK;
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Keeps the `most` columns of the largest score; ties go to the first column. */
static enum status keep_largest(struct features *f, const double *score, int most, bool *keep, struct error *err)
{
    if (f->columns <= most)
        return STATUS_OK;
    double *sorted = malloc((size_t)f->columns * sizeof *sorted);
    if (!sorted)
        return no_memory(err);
    memcpy(sorted, score, (size_t)f->columns * sizeof *sorted);
    qsort(sorted, (size_t)f->columns, sizeof *sorted, falling);
    double least = sorted[most - 1];
    int left = most;
    for (int j = 0; j < f->columns; j++)
        left -= score[j] > least;
    for (int j = 0; j < f->columns; j++) {
        bool last = score[j] >= least && score[j] <= least && left > 0;
        keep[j] = score[j] > least || last;
        left -= last;
    }
    free(sorted);
    return keep_columns(f, keep, "would stay", err);
}

enum status genes_keep_varied(struct features *f, int most, struct error *err)
{
    bool *keep = malloc((size_t)f->columns * sizeof *keep);
    double *deviation = malloc((size_t)f->columns * sizeof *deviation);
    enum status status = keep && deviation ? STATUS_OK : no_memory(err);
    if (!status) {
        features_moments(f, NULL, deviation);
        status = keep_largest(f, deviation, most, keep, err);
    }
    free(keep);
    free(deviation);
    return status;
}

static enum status keep_correlated(struct features *f, const struct cells_filter *filter, bool *keep, struct error *err)
{
    int *count = malloc((size_t)f->columns * sizeof *count);
    enum status status =
        count ? genes_neighbours(f, filter->correlation, filter->products, filter->pool, count, err) : no_memory(err);
    for (int j = 0; !status && j < f->columns; j++)
        keep[j] = count[j] >= filter->neighbours;
    free(count);
    return status ? status : keep_columns(f, keep, "are correlated", err);
}

enum status genes_choose(struct features *f, const struct cells_filter *filter, struct error *err)
{
    size_t g = (size_t)f->columns;
    bool *keep = malloc(g * sizeof *keep);
    double *score = malloc(g * sizeof *score);
    enum status status = keep && score ? STATUS_OK : no_memory(err);
    if (!status) {
        features_moments(f, score, NULL);
        for (size_t j = 0; j < g; j++)
            keep[j] = score[j] * f->rows >= filter->least_molecules;
        status = keep_columns(f, keep, "have enough molecules", err);
    }
    if (!status && filter->neighbours > 0)
        status = keep_correlated(f, filter, keep, err);
    if (!status && filter->noisiest > 0) {
        genes_noise(f, filter->power, filter->offset, score);
        status = keep_largest(f, score, filter->noisiest, keep, err);
    }
    if (!status)
        status = genes_quantile_normalise(f->x, f->rows, f->columns, filter->pool, err);
    if (!status)
        status = genes_keep_varied(f, filter->genes, err);
    free(keep);
    free(score);
    return status;
}
