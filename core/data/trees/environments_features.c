/* The last steps of the reader of environments: they choose and standardise the features for training. If a data set
 * has no outcome, they plant latent variables and an outcome with known weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/tables/features.h"
#include "core/data/trees/environments_int.h"

enum { STREAM_GROUPS = 0x67727073, STREAM_NOISE, COUNTS_ABOVE = 30 };

bool environments_outcome_name(const char *name)
{
    static const char *const names[] = {"y", "outcome", "label", "resistant"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (strcmp(name, names[n]) == 0)
            return true;
    return false;
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

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Keeps and standardises the columns of the largest variance, in place; removes constant columns. */
static enum status choose_features(struct environments *e, int most, struct error *err)
{
    int d = e->features, kept = 0;
    double *deviation = malloc(3 * (size_t)d * sizeof *deviation);
    if (!deviation)
        return environments_no_memory(err);
    double *mean = deviation + d, *sorted = mean + d;
    features_moments(&(struct features){.rows = e->rows, .columns = d, .x = e->x}, mean, deviation);
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
    return kept > 0 ? STATUS_OK
                    : error_set(err, STATUS_INVALID, NULL, "no feature varies: every column has one value in all rows");
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

static enum status plant(const struct tree *tree, const struct environments_outcome *o, struct thread_pool *pool,
                         struct environments *e, struct error *err)
{
    int d = e->features, k = o->latent, size = d / k;
    struct drawn *order = malloc((size_t)d * sizeof *order);
    if (!order)
        return environments_no_memory(err);
    struct philox from = philox_stream(o->seed, STREAM_GROUPS, 0), noise = philox_stream(o->seed, STREAM_NOISE, 0);
    for (int j = 0; j < d; j++)
        order[j] = (struct drawn){philox_u32(&from, (uint64_t)j), j};
    qsort(order, (size_t)d, sizeof *order, by_value);
    for (int i = 0; i < e->rows && !thread_pool_stopped(pool); i++)
        for (int c = 0; c < k; c++) {
            double sum = 0;
            for (int j = 0; j < size; j++)
                sum += (double)e->x[(ptrdiff_t)i * d + order[c * size + j].feature];
            e->z[(ptrdiff_t)i * k + c] = (float)tanh(size > 0 ? sum / size : 0);
        }
    free(order);
    for (int c = 0; c < k && !thread_pool_stopped(pool); c++)
        standardise_latent(e, c);
    environments_weights(tree, o, e);
    for (int i = 0; i < e->rows && !thread_pool_stopped(pool); i++)
        e->y[i] = environments_outcome_at(e, e->node[i], e->z + (ptrdiff_t)i * k,
                                          o->noise * philox_normal(&noise, (uint64_t)i));
    return size > 0 ? STATUS_OK
                    : error_set(err, STATUS_INVALID, NULL,
                                "%d features are too few for %d latent variables; each needs at least one", d, k);
}

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
    enum status status = thread_pool_check(r->pool, err);
    if (!status)
        status = choose_features(e, r->features, err);
    if (!status && e->latent > 0)
        status = plant(tree, &r->outcome, r->pool, e, err);
    return status ? status : thread_pool_check(r->pool, err);
}
