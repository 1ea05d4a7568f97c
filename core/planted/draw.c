/* Draws samples of planted data (planted.h). A chunk of work is PLANTED_BLOCK samples.
 *
 * A feature of PLANTED_TREES fires if a uniform number is below Q(c), the probability that a standard normal number
 * exceeds c. Here c = bound - loading . e, where bound and loading are the feature's (struct planted), and e is the
 * random vector that all features of a sample share. Few features fire. So the exact Q(c) is computed only if the
 * uniform number is below exp(-c^2 / 2) / 2, an upper bound of Q(c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/planted/planted.h"
#include "core/planted/planted_int.h"

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
