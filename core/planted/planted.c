/* Creates the generator of planted data and draws its samples (planted.h). A chunk of work is PLANTED_BLOCK samples.
 *
 * A feature of PLANTED_TREES fires if a uniform number is below Q(c), the probability that a standard normal number
 * exceeds c. Here c = bound - loading . e, where bound and loading are the feature's (struct planted), and e is the
 * random vector that all features of a sample share. Few features fire. So the exact Q(c) is computed only if the
 * uniform number is below exp(-c^2 / 2) / 2, an upper bound of Q(c). */
#include "core/planted/planted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum {
    /* streams of the generator itself */
    PLANTED_STREAM_DIRECTIONS = 0x5000,
    PLANTED_STREAM_BIAS,
    PLANTED_STREAM_LOADING,
    PLANTED_STREAM_DEVIATION,
    /* Streams of samples: the caller's stream s uses the PLANTED_SAMPLE_STREAMS streams from PLANTED_SAMPLES + s *
     * PLANTED_SAMPLE_STREAMS on. */
    PLANTED_SAMPLES = 0x5100,
    PLANTED_SAMPLE_STREAMS = 4
};

/* Indices of the PLANTED_SAMPLE_STREAMS streams that draw samples, relative to the first of them. */
enum { SAMPLE_COMMON, SAMPLE_FIRING, SAMPLE_VALUE, SAMPLE_WINNER };

enum { PLANTED_BLOCK = 64 }; /* rows of a chunk of work */

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

static size_t tree_reals(const struct planted_shape *s)
{
    size_t n = (size_t)s->features;
    return s->kind == PLANTED_TREES ? (PLANTED_BLOCK + 3) * n + PLANTED_BLOCK * PLANTED_RANK : 0;
}

static int row_width(const struct planted_shape *s)
{
    return s->features < PLANTED_MOST_ACTIVE ? s->features : PLANTED_MOST_ACTIVE;
}

int64_t planted_codes_bytes(const struct planted_shape *shape, int room, int threads)
{
    return 8 * (int64_t)room * (1 + row_width(shape)) + 4 * (int64_t)threads * (int64_t)tree_reals(shape);
}

enum status planted_codes_create(const struct planted_shape *shape, int room, int threads, struct planted_codes *out,
                                 struct error *err)
{
    size_t rows = (size_t)room;
    out->width = row_width(shape);
    out->start = calloc(rows, sizeof *out->start);
    out->count = calloc(rows, sizeof *out->count);
    out->index = malloc(rows * (size_t)out->width * sizeof *out->index);
    out->value = malloc(rows * (size_t)out->width * sizeof *out->value);
    out->scratch = calloc((size_t)threads * tree_reals(shape) + 1, sizeof *out->scratch);
    return out->start && out->count && out->index && out->value && out->scratch
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the codes of %d samples", room);
}

void planted_codes_close(struct planted_codes *codes)
{
    free(codes->start);
    free(codes->count);
    free(codes->index);
    free(codes->value);
    free(codes->scratch);
    *codes = (struct planted_codes){0};
}

struct drawing {
    const struct planted *p;
    const struct planted_samples *samples;
    float *x;
    struct planted_codes *codes;
};

static struct philox stream_of(const struct drawing *d, int row, uint32_t what)
{
    int64_t index = d->samples->first + row;
    if (d->samples->distinct > 0)
        index %= d->samples->distinct;
    uint32_t stream = PLANTED_SAMPLES + PLANTED_SAMPLE_STREAMS * d->samples->stream + what;
    return philox_stream(d->p->shape.seed, stream, (uint64_t)index);
}

/* ---- PLANTED_TREES ------------------------------------------------------------------------------------------- */

/* Scratch of one worker. */
struct tree_scratch {
    /* pulls: [PLANTED_BLOCK][features] loading . e; common: [PLANTED_BLOCK][PLANTED_RANK];
     * bounds, values: [features] of one row */
    float *pulls, *common, *bounds, *values;
    uint32_t *words; /* [features] of one row */
};

static struct tree_scratch tree_scratch(const struct drawing *d, int worker)
{
    size_t n = (size_t)d->p->shape.features;
    float *at = d->codes->scratch + (size_t)worker * tree_reals(&d->p->shape);
    return (struct tree_scratch){.pulls = at + 3 * n,
                                 .common = at + (PLANTED_BLOCK + 3) * n,
                                 .bounds = at + n,
                                 .values = at,
                                 .words = (uint32_t *)(void *)(at + 2 * n)};
}

/* pulls[r][i] = loading_i . e_r */
static void pull_rows(const struct drawing *d, int first, int rows, const struct tree_scratch *s)
{
    const int n = d->p->shape.features;
    for (int r = 0; r < rows; r++) {
        struct philox from = stream_of(d, first + r, SAMPLE_COMMON);
        double e[PLANTED_RANK];
        philox_fill_normal(&from, 0, e, PLANTED_RANK);
        for (int k = 0; k < PLANTED_RANK; k++)
            s->common[r * PLANTED_RANK + k] = (float)e[k];
    }
    struct gemm_call call = {.transpose_b = true,
                             .m = rows,
                             .n = n,
                             .k = PLANTED_RANK,
                             .alpha = 1,
                             .a = s->common,
                             .b = d->p->loading,
                             .c = s->pulls,
                             .lda = PLANTED_RANK,
                             .ldb = PLANTED_RANK,
                             .ldc = n};
    d->p->kernels->gemm(&call);
}

/* A row that is being drawn; `s` contains its random numbers and upper bounds of its firing probabilities. */
struct tree_row {
    const struct drawing *d;
    const struct tree_scratch *s;
    const float *pull;
    int row;
    struct philox value;
};

static void begin_row(const struct tree_row *t)
{
    const struct planted *p = t->d->p;
    size_t n = (size_t)p->shape.features;
    struct philox from = stream_of(t->d, t->row, SAMPLE_FIRING);
    philox_fill_u32(&from, 0, t->s->words, n);
    for (size_t i = 0; i < n; i++) {
        float c = p->bound[i] - t->pull[i];
        t->s->bounds[i] = -0.5f * c * c;
    }
    p->kernels->vector_exp(n, t->s->bounds, t->s->bounds);
}

static bool fires(const struct tree_row *t, int i)
{
    double uniform = ((double)t->s->words[i] + 0.5) * 0x1p-32;
    float c = t->d->p->bound[i] - t->pull[i];
    if (c >= 0 && uniform > 0.501 * (double)t->s->bounds[i])
        return false;
    return uniform < 0.5 * erfc((double)c * 0.70710678118654752440);
}

static float draw_value(const struct tree_row *t, int i)
{
    const struct planted *p = t->d->p;
    float value = p->mean[i] + p->deviation[i] * (float)philox_normal(&t->value, (uint64_t)i);
    return value > 0 ? value : 0;
}

/* Draws which of the children [first, end) of an active feature are active. If several are active, keeps one of
 * them. */
static void draw_siblings(const struct tree_row *t, int first, int end)
{
    int parent = t->d->p->parent[first], active = 0;
    float *values = t->s->values, share = values[parent] / t->d->p->mean[parent];
    for (int i = first; i < end; i++) {
        values[i] = fires(t, i) ? draw_value(t, i) * share : 0;
        active += values[i] > 0;
    }
    if (active < 2)
        return;
    struct philox random = stream_of(t->d, t->row, SAMPLE_WINNER);
    int winner = (int)((uint64_t)philox_u32(&random, (uint64_t)parent) * (uint64_t)active >> 32);
    for (int i = first; i < end; i++)
        if (values[i] > 0 && winner-- != 0)
            values[i] = 0;
}

/* Parents have smaller indices than their children, so one pass in the order of indices sees every parent first. */
static void tree_row(const struct drawing *d, int row, const float *pull, const struct tree_scratch *s)
{
    const struct planted *p = d->p;
    const struct tree_row t = {d, s, pull, row, stream_of(d, row, SAMPLE_VALUE)};
    int32_t *list = d->codes->index + (ptrdiff_t)row * d->codes->width;
    float *out = d->codes->value + (ptrdiff_t)row * d->codes->width;
    int n = p->shape.features, active = 0;
    begin_row(&t);
    for (int i = 0; i < n;) {
        int end = i + 1, parent = p->parent[i];
        if (parent < 0) {
            s->values[i] = fires(&t, i) ? draw_value(&t, i) : 0;
        } else {
            while (end < n && p->parent[end] == parent)
                end++;
            if (s->values[parent] > 0)
                draw_siblings(&t, i, end);
            else
                memset(s->values + i, 0, (size_t)(end - i) * sizeof(float));
        }
        for (; i < end; i++)
            if (s->values[i] > 0 && active < d->codes->width) {
                list[active] = i;
                out[active++] = s->values[i];
            }
    }
    d->codes->count[row] = active;
}

/* ---- PLANTED_EXACTLY ----------------------------------------------------------------------------------------- */

/* Draws `active` different features by Floyd's algorithm, and sorts them. */
static void exact_row(const struct drawing *d, int row)
{
    const struct planted_shape *s = &d->p->shape;
    struct planted_codes *codes = d->codes;
    int32_t *list = codes->index + (ptrdiff_t)row * codes->width;
    struct philox which = stream_of(d, row, SAMPLE_FIRING), values = stream_of(d, row, SAMPLE_VALUE);
    for (int k = 0; k < s->active; k++) {
        int last = s->features - s->active + k;
        int32_t feature = (int32_t)((uint64_t)philox_u32(&which, (uint64_t)k) * (uint64_t)(last + 1) >> 32);
        for (int i = 0; i < k; i++)
            if (list[i] == feature) {
                feature = last;
                break;
            }
        int at = k;
        for (; at > 0 && list[at - 1] > feature; at--)
            list[at] = list[at - 1];
        list[at] = feature;
    }
    for (int k = 0; k < s->active; k++)
        codes->value[(ptrdiff_t)row * codes->width + k] = (float)fabs(philox_normal(&values, (uint64_t)list[k]));
    codes->count[row] = s->active;
}

/* ---- PLANTED_UNIFORM ----------------------------------------------------------------------------------------- */

/* A feature is active if its random word is below probability * 2^32; the word then gives its value, as in the samples
 * of the toy models (core/superposed/data.h). */
static void uniform_row(const struct drawing *d, int row)
{
    enum { PIECE = 256 };
    const struct planted_shape *s = &d->p->shape;
    struct planted_codes *codes = d->codes;
    int32_t *list = codes->index + (ptrdiff_t)row * codes->width;
    float *values = codes->value + (ptrdiff_t)row * codes->width;
    struct philox from = stream_of(d, row, SAMPLE_FIRING);
    uint32_t words[PIECE];
    double limit = s->probability * 4294967296.0;
    uint32_t below = limit >= 4294967295.0 ? UINT32_MAX : (uint32_t)limit;
    int active = 0;
    for (int at = 0; at < s->features; at += PIECE) {
        int count = s->features - at < PIECE ? s->features - at : PIECE;
        philox_fill_u32(&from, (uint64_t)at, words, (size_t)count);
        for (int i = 0; i < count && active < codes->width; i++) {
            float value = (float)((words[i] >> 8) * 256.0 / limit) * d->p->length[at + i];
            if (words[i] >= below || !(value > 0))
                continue;
            list[active] = at + i;
            values[active++] = value;
        }
    }
    codes->count[row] = active;
}

/* ---- all kinds ----------------------------------------------------------------------------------------------- */

static void draw_task(void *context, int chunk, int worker)
{
    const struct drawing *d = context;
    const struct planted *p = d->p;
    int inputs = p->shape.inputs, first = chunk * PLANTED_BLOCK, left = d->samples->count - first;
    int rows = left < PLANTED_BLOCK ? left : PLANTED_BLOCK;
    float *x = d->x + (ptrdiff_t)first * inputs;
    if (p->shape.kind == PLANTED_TREES) {
        struct tree_scratch scratch = tree_scratch(d, worker);
        pull_rows(d, first, rows, &scratch);
        for (int r = 0; r < rows; r++)
            tree_row(d, first + r, scratch.pulls + (ptrdiff_t)r * p->shape.features, &scratch);
    } else {
        for (int r = 0; r < rows; r++)
            (p->shape.kind == PLANTED_EXACTLY ? exact_row : uniform_row)(d, first + r);
    }
    for (int r = 0; r < rows; r++) {
        d->codes->start[first + r] = (first + r) * d->codes->width;
        memcpy(x + (ptrdiff_t)r * inputs, p->bias, (size_t)inputs * sizeof *x);
    }
    struct sparse_call call = {.rows = rows,
                               .columns = inputs,
                               .add = true,
                               .start = d->codes->start + first,
                               .count = d->codes->count + first,
                               .index = d->codes->index,
                               .value = d->codes->value,
                               .t = p->directions,
                               .c = x,
                               .ld_t = inputs,
                               .ld_c = inputs};
    p->kernels->sparse_gemm(&call);
}

bool planted_draw(const struct planted *planted, struct thread_pool *pool, const struct planted_samples *samples,
                  float *x, struct planted_codes *codes)
{
    struct drawing d = {.p = planted, .samples = samples, .x = x, .codes = codes};
    return thread_pool_run(pool, draw_task, &d, (samples->count + PLANTED_BLOCK - 1) / PLANTED_BLOCK);
}
