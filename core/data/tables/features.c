/* The table that tabular methods train on: memory, names, folds and moments; read from an upload, or synthetic. */
#include "core/data/tables/features.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"
#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/data/uploads/collection.h"

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

/* Reads an uploaded table as features. */

/* ---- the largest columns ---------------------------------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Removes the columns without keep[j], in place. */
static void keep_columns(struct features *f, const bool *keep, int kept)
{
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
}

/* Keeps the `most` columns of the largest deviation, in their order; ties go to the first column. */
static enum status keep_varied(struct features *f, int most, struct error *err)
{
    if (f->columns <= most)
        return STATUS_OK;
    bool *keep = malloc((size_t)f->columns * sizeof *keep);
    double *deviation = malloc(2 * (size_t)f->columns * sizeof *deviation), *sorted = deviation + f->columns;
    enum status status = keep && deviation ? STATUS_OK : error_memory(err, "a table");
    if (!status) {
        features_moments(f, NULL, deviation);
        memcpy(sorted, deviation, (size_t)f->columns * sizeof *sorted);
        qsort(sorted, (size_t)f->columns, sizeof *sorted, falling);
        double least = sorted[most - 1];
        int left = most; /* columns that stay although their deviation is `least` */
        for (int j = 0; j < f->columns; j++)
            left -= deviation[j] > least;
        for (int j = 0; j < f->columns; j++) {
            bool last = deviation[j] >= least && deviation[j] <= least && left > 0;
            keep[j] = deviation[j] > least || last;
            left -= last;
        }
        keep_columns(f, keep, most);
    }
    free(keep);
    free(deviation);
    return status;
}

/* ---- the upload ------------------------------------------------------------------------------------- */

static enum status copy_names(char ***names, const struct collection_names *from, struct error *err)
{
    *names = calloc((size_t)from->count + 1, sizeof **names);
    for (int i = 0; *names && i < from->count; i++)
        if (!((*names)[i] = strdup(from->name[i])))
            return error_memory(err, "a table");
    return *names ? STATUS_OK : error_memory(err, "a table");
}

static enum status take_collection(const struct collection *c, bool titles, struct features **features,
                                   struct error *err)
{
    if (c->kind != COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "the data set contains %s; this method needs a table",
                         collection_kinds[c->kind]);
    if (c->count < 2 || c->count > 1 << 30)
        return error_set(err, STATUS_INVALID, NULL, "the table has fewer than two rows");
    enum status status = features_create((int)c->count, c->cols, 0, features, err);
    if (status)
        return status;
    struct features *f = *features;
    collection_copy(c, 0, (int64_t)f->rows * f->columns, f->x);
    status = copy_names(&f->names, &c->columns, err);
    if (!status && titles && c->records.count == c->count)
        status = copy_names(&f->titles, &c->records, err);
    if (status || c->target != TARGET_CLASS)
        return status;
    f->classes = c->vocabulary.count;
    f->label = malloc((size_t)f->rows * sizeof *f->label);
    status = f->label ? copy_names(&f->class_names, &c->vocabulary, err) : error_memory(err, "a table");
    for (int i = 0; !status && i < f->rows; i++)
        f->label[i] = c->label[i];
    return status;
}

enum status features_of_upload(const char *folder, int most, bool titles, struct features **features, struct error *err)
{
    char path[DATASET_PATH + sizeof COLLECTION_FILE];
    struct collection c;
    struct features *made = NULL;
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    enum status status = collection_open(path, &c, err);
    if (status)
        return status;
    status = take_collection(&c, titles, &made, err);
    collection_close(&c);
    if (!status)
        status = keep_varied(made, most, err);
    if (status) {
        features_destroy(made);
        return status;
    }
    *features = made;
    return STATUS_OK;
}

enum { STREAM_SYNTHETIC = 0x73796e74, DRAWS = SYNTHETIC_FACTORS + SYNTHETIC_FEATURES };

void synthetic_means(const double z[SYNTHETIC_FACTORS], double mean[SYNTHETIC_FEATURES])
{
    mean[0] = z[0];
    mean[1] = 2 * z[0];
    mean[2] = 3 * z[0] * z[0];
    mean[3] = 4 * z[1];
    mean[4] = 5 * z[1];
    mean[5] = 6 * sin(z[1]);
    mean[6] = 7 * z[0] * z[1];
}

enum status synthetic_features(uint64_t seed, uint32_t set, double rho, double deviation, int rows,
                               struct thread_pool *pool, struct features **features, struct error *err)
{
    static const unsigned char support[SYNTHETIC_FEATURES][SYNTHETIC_FACTORS] = {{1, 0}, {1, 0}, {1, 0}, {0, 1},
                                                                                 {0, 1}, {0, 1}, {1, 1}};
    struct features *f;
    enum status status = features_create(rows, SYNTHETIC_FEATURES, SYNTHETIC_FACTORS, &f, err);
    if (status)
        return status;
    struct philox from = philox_stream(seed, STREAM_SYNTHETIC, set);
    for (int i = 0; i < rows && !thread_pool_stopped(pool); i++) {
        double draw[DRAWS], mean[SYNTHETIC_FEATURES];
        philox_fill_normal(&from, (uint64_t)i * (DRAWS + 1), draw, DRAWS);
        double z[SYNTHETIC_FACTORS] = {draw[0], rho * draw[0] + sqrt(1 - rho * rho) * draw[1]};
        synthetic_means(z, mean);
        for (int k = 0; k < SYNTHETIC_FACTORS; k++)
            f->truth[i * SYNTHETIC_FACTORS + k] = (float)z[k];
        for (int j = 0; j < SYNTHETIC_FEATURES; j++)
            f->x[i * SYNTHETIC_FEATURES + j] = (float)(mean[j] + deviation * draw[SYNTHETIC_FACTORS + j]);
    }
    for (int j = 0; j < SYNTHETIC_FEATURES; j++)
        for (int k = 0; k < SYNTHETIC_FACTORS; k++)
            f->support[j * SYNTHETIC_FACTORS + k] = support[j][k];
    status = thread_pool_check(pool, err);
    if (status)
        features_destroy(f);
    else
        *features = f;
    return status;
}
