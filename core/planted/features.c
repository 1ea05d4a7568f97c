/* Creates the generator of planted data: rates, trees, thresholds of firing, values, and directions (planted.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/planted/planted.h"
#include "core/planted/planted_int.h"

static const double BIAS_NORM = 0.5;
static const double MEAN_FIRST = 5, MEAN_LAST = 4, DEVIATION = 0.5;
static const double LOADING_DEVIATION = 0.1;   /* standard deviation of the entries of the loadings A (planted.h) */
static const double LEAST_OWN_VARIANCE = 0.01; /* smallest entry of the variances D (planted.h) */
static const double RATE_OF_ADAM = 3e-4;

int planted_tree_features(const struct planted_shape *shape)
{
    int64_t level = shape->roots, all = 0;
    for (int depth = 0; depth <= PLANTED_DEPTH; depth++, level *= PLANTED_CHILDREN)
        all += level;
    return shape->kind != PLANTED_TREES ? 0 : all < shape->features ? (int)all : shape->features;
}

int64_t planted_bytes(const struct planted_shape *shape)
{
    int64_t n = shape->features, d = shape->inputs;
    int64_t adam = shape->kind == PLANTED_TREES && shape->rounds > 0 ? 12 * n * d + 4 * n * PLANTED_BLOCK : 0;
    int64_t each = shape->kind == PLANTED_TREES     ? 8 + 4 + 12 + 4 * PLANTED_RANK
                   : shape->kind == PLANTED_UNIFORM ? 4
                                                    : 0;
    return 4 * n * d + 4 * d + adam + n * each;
}

double planted_work(const struct planted_shape *shape)
{
    double n = shape->features;
    return shape->kind == PLANTED_TREES ? (double)shape->rounds * 4 * n * n * shape->inputs : 0;
}

/* ---- rates, trees, thresholds -------------------------------------------------------------------------------- */

static double rate_of(const struct planted_shape *shape, int i)
{
    double last = pow(shape->features, -shape->zipf), r = pow(i + 1, -shape->zipf);
    double share = 1 > last ? (r - last) / (1 - last) : 1;
    return PLANTED_RATE_LEAST + (PLANTED_RATE_MOST - PLANTED_RATE_LEAST) * share;
}

static void set_rates(struct planted *p)
{
    for (int i = 0; i < p->shape.features; i++)
        p->rate[i] = rate_of(&p->shape, i);
}

double planted_rates(const struct planted_shape *shape)
{
    double sum = 0;
    for (int i = 0; i < shape->features; i++)
        sum += rate_of(shape, i);
    return sum;
}

/* Sets the parent of each feature. The features of trees are numbered breadth first: the children of feature i are
 * consecutive, in the order of their parents. */
static void set_parents(struct planted *p)
{
    int inside = planted_tree_features(&p->shape);
    for (int i = 0; i < p->shape.features; i++)
        p->parent[i] = i < p->shape.roots || i >= inside ? -1 : (i - p->shape.roots) / PLANTED_CHILDREN;
}

/* The rate with which a feature fires before hierarchy and exclusion take effect. */
static double firing_rate(const struct planted *p, int i)
{
    int parent = p->parent[i];
    if (parent < 0)
        return p->rate[i];
    double siblings = 0, above = p->rate[parent];
    int first = p->shape.roots + parent * PLANTED_CHILDREN, end = first + PLANTED_CHILDREN;
    for (int k = first; k < end && k < p->shape.features; k++)
        if (k != i && p->parent[k] == parent)
            siblings += p->rate[k];
    return fmin(1, p->rate[i] / above * (1 + siblings / above));
}

/* The number that a standard normal number exceeds with this probability, by bisection. */
static double upper_quantile(double probability)
{
    double low = -40, high = 40;
    if (probability >= 1)
        return -INFINITY;
    for (int round = 0; round < 100; round++) {
        double middle = 0.5 * (low + high);
        if (0.5 * erfc(middle * 0.70710678118654752440) > probability)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static void set_firing(struct planted *p)
{
    struct philox from = philox_stream(p->shape.seed, PLANTED_STREAM_LOADING, 0);
    for (int i = 0; i < p->shape.features; i++) {
        float *row = p->loading + (ptrdiff_t)i * PLANTED_RANK;
        double square = 0, shrink = 1;
        for (int k = 0; k < PLANTED_RANK; k++) {
            row[k] = (float)(LOADING_DEVIATION * philox_normal(&from, (uint64_t)i * PLANTED_RANK + (uint64_t)k));
            square += (double)row[k] * (double)row[k];
        }
        if (1 - square < LEAST_OWN_VARIANCE)
            shrink = sqrt((1 - LEAST_OWN_VARIANCE) / square);
        double own = sqrt(1 - shrink * shrink * square);
        for (int k = 0; k < PLANTED_RANK; k++)
            row[k] = (float)((double)row[k] * shrink / own);
        p->bound[i] = (float)(upper_quantile(firing_rate(p, i)) / own);
    }
}

static void set_values(struct planted *p)
{
    struct philox from = philox_stream(p->shape.seed, PLANTED_STREAM_DEVIATION, 0);
    int n = p->shape.features;
    for (int i = 0; i < n; i++) {
        double along = n > 1 ? (double)i / (n - 1) : 0;
        p->mean[i] = (float)(MEAN_FIRST + (MEAN_LAST - MEAN_FIRST) * along);
        p->deviation[i] = (float)fabs(DEVIATION + DEVIATION * philox_normal(&from, (uint64_t)i));
    }
}

/* ---- directions ---------------------------------------------------------------------------------------------- */

static void unit_row(float *row, int d, double length)
{
    double square = 0;
    for (int k = 0; k < d; k++)
        square += (double)row[k] * (double)row[k];
    float factor = (float)(length / sqrt(square));
    for (int k = 0; k < d; k++)
        row[k] *= factor;
}

static void draw_rows(const struct planted *p, uint32_t stream, int rows, double length, float *out)
{
    struct philox from = philox_stream(p->shape.seed, stream, 0);
    int d = p->shape.inputs;
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < d; k++)
            out[(ptrdiff_t)i * d + k] = (float)philox_normal(&from, (uint64_t)i * (uint64_t)d + (uint64_t)k);
        unit_row(out + (ptrdiff_t)i * d, d, length);
    }
}

struct spreading {
    const struct planted *p;
    float *gradient, *m, *v; /* [features][inputs] */
    float *gram;             /* [workers][PLANTED_BLOCK][features] */
};

/* Gradient of sum_{i != j} (f_i . f_j)^2 + N sum_i (|f_i|^2 - 1)^2 for a block of rows. */
static void spread_task(void *context, int chunk, int worker)
{
    struct spreading *s = context;
    int n = s->p->shape.features, d = s->p->shape.inputs, first = chunk * PLANTED_BLOCK;
    int rows = n - first < PLANTED_BLOCK ? n - first : PLANTED_BLOCK;
    float *gram = s->gram + (ptrdiff_t)worker * PLANTED_BLOCK * n;
    const float *own = s->p->directions + (ptrdiff_t)first * d;
    struct gemm_call inner = {.transpose_b = true,
                              .m = rows,
                              .n = n,
                              .k = d,
                              .alpha = 4,
                              .a = own,
                              .b = s->p->directions,
                              .c = gram,
                              .lda = d,
                              .ldb = d,
                              .ldc = n};
    s->p->kernels->gemm(&inner);
    for (int r = 0; r < rows; r++) {
        float *diagonal = &gram[(ptrdiff_t)r * n + first + r];
        *diagonal = (float)n * (*diagonal - 4);
    }
    struct gemm_call outer = {.m = rows,
                              .n = d,
                              .k = n,
                              .alpha = 1,
                              .a = gram,
                              .b = s->p->directions,
                              .c = s->gradient + (ptrdiff_t)first * d,
                              .lda = n,
                              .ldb = d,
                              .ldc = d};
    s->p->kernels->gemm(&outer);
}

static enum status spread_directions(struct planted *p, struct thread_pool *pool, struct error *err)
{
    int n = p->shape.features, d = p->shape.inputs, blocks = (n + PLANTED_BLOCK - 1) / PLANTED_BLOCK;
    size_t size = (size_t)n * (size_t)d, table = (size_t)n * PLANTED_BLOCK * (size_t)thread_pool_threads(pool);
    float *memory = calloc(3 * size + table, sizeof *memory);
    if (!memory)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the directions of %d features", n);
    struct spreading s = {p, memory, memory + size, memory + 2 * size, memory + 3 * size};
    bool done = true;
    for (int round = 1; done && round <= p->shape.rounds; round++) {
        struct adam_call adam = {size, round, RATE_OF_ADAM, 0.9, 0.999, 1e-8, 1, s.gradient, p->directions, s.m, s.v};
        done = thread_pool_run(pool, spread_task, &s, blocks);
        if (done)
            p->kernels->adam(&adam);
    }
    for (int i = 0; i < n; i++)
        unit_row(p->directions + (ptrdiff_t)i * d, d, 1);
    free(memory);
    return thread_pool_check(pool, err);
}

/* ---- creation ------------------------------------------------------------------------------------------------ */

static enum status planted_features_check(const struct planted_shape *s, struct error *err)
{
    bool sound = s->features >= 1 && s->inputs >= 1 && s->roots >= 0 && s->roots <= s->features && s->zipf >= 0;
    if (s->kind == PLANTED_EXACTLY)
        sound = sound && s->active >= 1 && s->active <= s->features && s->active <= PLANTED_MOST_ACTIVE;
    if (s->kind == PLANTED_UNIFORM)
        sound = sound && s->probability > 0 && s->probability <= 1 && s->vectors &&
                (s->features <= PLANTED_MOST_ACTIVE || s->features * s->probability <= PLANTED_MOST_ACTIVE / 2.0);
    return sound ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "a planted data set of this shape does not exist");
}

static enum status planted_features_allocate(struct planted *p, struct error *err)
{
    size_t n = (size_t)p->shape.features, d = (size_t)p->shape.inputs;
    p->directions = malloc(n * d * sizeof *p->directions);
    p->bias = calloc(d, sizeof *p->bias);
    bool full = p->directions && p->bias;
    if (p->shape.kind == PLANTED_TREES) {
        p->rate = malloc(n * sizeof *p->rate);
        p->parent = malloc(n * sizeof *p->parent);
        p->mean = malloc(n * sizeof *p->mean);
        p->deviation = malloc(n * sizeof *p->deviation);
        p->bound = malloc(n * sizeof *p->bound);
        p->loading = malloc(n * PLANTED_RANK * sizeof *p->loading);
        full = full && p->rate && p->parent && p->mean && p->deviation && p->bound && p->loading;
    }
    if (p->shape.kind == PLANTED_UNIFORM) {
        p->length = malloc(n * sizeof *p->length);
        full = full && p->length;
    }
    return full ? STATUS_OK
                : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d features", p->shape.features);
}

/* Copies the caller's vectors as lengths and directions. A vector of zeros has direction 0. */
static enum status take_vectors(struct planted *p, struct error *err)
{
    int d = p->shape.inputs;
    for (int i = 0; i < p->shape.features; i++) {
        const float *from = p->shape.vectors + (ptrdiff_t)i * d;
        float *to = p->directions + (ptrdiff_t)i * d;
        double square = 0;
        for (int k = 0; k < d; k++)
            square += (double)from[k] * (double)from[k];
        if (!isfinite(square))
            return error_set(err, STATUS_NUMERIC, NULL, "the vector of feature %d is not finite", i);
        p->length[i] = (float)sqrt(square);
        for (int k = 0; k < d; k++)
            to[k] = square > 0 ? (float)((double)from[k] / sqrt(square)) : 0;
    }
    p->shape.vectors = NULL;
    return STATUS_OK;
}

/* Fills the arrays that planted_features_allocate() has made: draws them, or copies the vectors of the caller. */
static enum status planted_features_fill(struct planted *p, struct thread_pool *pool, struct error *err)
{
    if (p->shape.kind == PLANTED_UNIFORM)
        return take_vectors(p, err);
    draw_rows(p, PLANTED_STREAM_DIRECTIONS, p->shape.features, 1, p->directions);
    if (p->shape.kind == PLANTED_EXACTLY)
        return STATUS_OK;
    set_rates(p);
    set_parents(p);
    set_firing(p);
    set_values(p);
    draw_rows(p, PLANTED_STREAM_BIAS, 1, BIAS_NORM, p->bias);
    return spread_directions(p, pool, err);
}

enum status planted_create(const struct planted_shape *shape, const struct kernels *kernels, struct thread_pool *pool,
                           struct planted *out, struct error *err)
{
    struct planted p = {.shape = *shape, .kernels = kernels};
    *out = (struct planted){0};
    enum status status = planted_features_check(shape, err);
    if (status)
        return status;
    status = planted_features_allocate(&p, err);
    if (!status)
        status = planted_features_fill(&p, pool, err);
    if (status) {
        planted_close(&p);
        return status;
    }
    *out = p;
    return STATUS_OK;
}

void planted_close(struct planted *p)
{
    free(p->directions);
    free(p->bias);
    free(p->rate);
    free(p->parent);
    free(p->mean);
    free(p->deviation);
    free(p->bound);
    free(p->loading);
    free(p->length);
    *p = (struct planted){0};
}
