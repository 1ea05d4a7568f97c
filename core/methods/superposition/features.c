/* Reads, checks, scales and measures uploaded features (features.h).
 *
 * Only a few rows are checked when a job is submitted, because data sets may be larger than memory. All others are
 * checked when they are read. */
#include "core/methods/superposition/features.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static const char *const FIELD = "/config/dataset_name";
enum { MEASURED = 1 << 24, ROWS_OF_CHUNK = 32 };

/* Reads an unscaled row. Refuses values that are negative or not finite, because no sparse feature has them. */
static enum status read_row(const struct rows *r, int64_t row, float *x, struct error *err)
{
    enum status status = rows_read(r, row, x, err);
    for (int i = 0; !status && i < r->inputs; i++)
        if (!(x[i] >= 0 && isfinite(x[i])))
            return error_set(
                err, STATUS_INVALID, FIELD,
                "has the value %g in row %lld, column %d; features must be at least 0, because the "
                "activations of this kind give no others; shift the column, or split it into its positive and its "
                "negative part",
                (double)x[i], (long long)row, i);
    return status;
}

/* ---- measures ---------------------------------------------------------------------------------------------- */

struct sums {
    double *of_feature; /* [inputs] */
    double squares, nonzeros;
    int64_t rows;
};

static enum status add_rows(const struct features *f, float *x, struct sums *s, struct error *err)
{
    const struct rows *r = &f->rows;
    int64_t most = MEASURED / r->inputs, step = (r->count + most - 1) / most;
    for (int64_t row = 0; row < r->count; row += step) {
        enum status status = read_row(r, row, x, err);
        if (!status)
            status = scale_row(&f->columns, x, err);
        if (status)
            return status;
        for (int i = 0; i < r->inputs; i++) {
            double value = (double)x[i];
            s->of_feature[i] += value;
            s->squares += value * value;
            s->nonzeros += x[i] > 0;
        }
        s->rows++;
    }
    return STATUS_OK;
}

static void take_sums(const struct sums *s, struct features *f)
{
    int n = f->rows.inputs;
    double values = (double)s->rows * n, mean_squares = 0;
    f->p = s->nonzeros / values;
    f->scale = sqrt(s->nonzeros / (3 * s->squares));
    for (int i = 0; i < n; i++)
        mean_squares += pow(s->of_feature[i] / (double)s->rows, 2) / n;
    f->variance = (s->squares / values - mean_squares) * f->scale * f->scale;
}

static enum status superposition_features_measure(struct features *f, const char *name, struct error *err)
{
    int n = f->rows.inputs;
    struct sums s = {.of_feature = calloc((size_t)n, sizeof(double))};
    float *x = malloc((size_t)n * sizeof *x);
    enum status status = s.of_feature && x
                             ? add_rows(f, x, &s, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a row of %d features", n);
    if (!status && !(s.squares > 0 && isfinite(s.squares)))
        status = error_set(err, STATUS_INVALID, FIELD,
                           "%s must have values that are not zero and whose squares have a finite sum", name);
    if (!status)
        take_sums(&s, f);
    if (!status && !(isnormal((float)f->scale) && f->scale <= 1e30))
        status =
            error_set(err, STATUS_INVALID, FIELD, "%s has values that are too small or too large for floats", name);
    free(s.of_feature);
    free(x);
    return status;
}

enum status features_open(const struct rows_request *request, enum collection_scale scaling, struct features *out,
                          struct error *err)
{
    const char *name = request->name;
    *out = (struct features){.scale = 1};
    enum status status = rows_open(request, &out->rows, err);
    if (!status && out->rows.count < FEATURES_ROWS)
        status = error_set(err, STATUS_INVALID, FIELD, "%s has %lld rows; there must be at least %d", name,
                           (long long)out->rows.count, FEATURES_ROWS);
    if (!status)
        status = rows_fit_scale(&out->rows, scaling, false, &out->columns, err);
    return status ? status : superposition_features_measure(out, name, err);
}

void features_close(struct features *features)
{
    rows_close(&features->rows);
    scale_close(&features->columns);
}

/* ---- samples ----------------------------------------------------------------------------------------------- */

struct reading {
    const struct features *features;
    bool training;
    int64_t first;
    int count;
    float *x;
    atomic_bool failed;
};

static enum status read_sample(const struct reading *r, int sample, struct error *err)
{
    const struct rows *rows = &r->features->rows;
    int64_t index = r->first + sample, row = r->training ? rows_train(rows, index) : rows_test(rows, index);
    float *x = r->x + (ptrdiff_t)sample * rows->inputs, scale = (float)r->features->scale;
    enum status status = read_row(rows, row, x, err);
    if (!status)
        status = scale_row(&r->features->columns, x, err);
    for (int i = 0; !status && i < rows->inputs; i++)
        x[i] *= scale;
    return status;
}

static void read_task(void *context, int chunk, int worker)
{
    struct reading *r = context;
    struct error unused = {0};
    int end = (chunk + 1) * ROWS_OF_CHUNK < r->count ? (chunk + 1) * ROWS_OF_CHUNK : r->count;
    (void)worker;
    for (int sample = chunk * ROWS_OF_CHUNK; sample < end; sample++)
        if (read_sample(r, sample, &unused))
            atomic_store(&r->failed, true);
}

enum status features_read(const struct features *features, bool training, int64_t first, int count,
                          struct thread_pool *pool, float *x, struct error *err)
{
    struct reading r = {.features = features, .training = training, .first = first, .count = count, .x = x};
    for (int sample = 0; training && sample < count; sample++)
        rows_expect(&features->rows, first + sample);
    if (!thread_pool_run(pool, read_task, &r, (count + ROWS_OF_CHUNK - 1) / ROWS_OF_CHUNK))
        return thread_pool_check(pool, err);
    enum status status = STATUS_OK;
    /* finds the first sample that failed, for its message */
    for (int sample = 0; atomic_load(&r.failed) && !status && sample < count; sample++)
        status = read_sample(&r, sample, err);
    return status;
}

enum status features_test(const struct features *features, int64_t index, float *x, struct error *err)
{
    return read_row(&features->rows, rows_test(&features->rows, index), x, err);
}
