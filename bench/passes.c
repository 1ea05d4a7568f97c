/* Times the passes of a network that memory bandwidth limits, such as batch norm and max pooling (one image per chunk).
 * The counted bytes are those that a pass must move if no data stays in a cache between passes. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_int.h"

enum { SIZE = 100, MOTIFS = 10, POOL = 8, FEATURES = 64 };

struct passes {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct map_shape shape, motifs;
    real *x, *dy, *y, *vector, *planar, *motif, *tokens, *packed, *partials;
    double *sums;
    uint16_t *arg;
    void *scratch;
    int pass;
};

enum { AFFINE, MOMENTS, NORM_SUMS, NORM_BACKWARD, PLANAR, THRESHOLD, EMBED, EMBED_BACKWARD, KTH, PASSES };
static const char *const names[PASSES] = {
    "normalise_relu", "moments",   "norm_gradient_sums", "norm_gradient_apply",
    "first_layer",    "threshold", "embed_max_pool",     "embed_max_pool_backward",
    "quantile"};

static void embed(struct passes *p, int image)
{
    size_t tokens = (size_t)(SIZE / POOL) * (SIZE / POOL) * FEATURES, partial = (size_t)FEATURES * MAP_LANES;
    struct embed_call call = {.blocks = 1,
                              .rows = SIZE / POOL,
                              .width = SIZE / POOL,
                              .max_pool_h = POOL,
                              .max_pool_w = POOL,
                              .features = FEATURES,
                              .in = map_strip_at(&p->motifs, p->motif, image, 0),
                              .packed = p->packed,
                              .tokens = p->tokens + (size_t)image * tokens,
                              .ld_tokens = FEATURES,
                              .arg = p->arg + (size_t)image * tokens,
                              .dtokens = p->tokens + (size_t)image * tokens,
                              .din = map_strip_at(&p->motifs, p->y, image, 0),
                              .din_rows = SIZE,
                              .din_width = SIZE,
                              .dweights = p->partials + (size_t)image * partial};
    (p->pass == EMBED ? p->kernels->embed_max_pool_forward : p->kernels->embed_max_pool_backward)(&call);
}

static void pass_task(void *context, int image, int worker)
{
    struct passes *p = context;
    const struct kernels *k = p->kernels;
    int blocks = map_blocks(p->shape.channels), padded = blocks * MAP_LANES;
    struct map_strip x = map_strip_at(&p->shape, p->x, image, 0), y = map_strip_at(&p->shape, p->y, image, 0);
    double *sums = p->sums + (ptrdiff_t)image * 2 * padded;
    const real *v = p->vector;
    struct affine_call affine = {blocks, SIZE, SIZE, true, x, y, v, v};
    struct norm_call norm = {
        blocks, SIZE, SIZE, true, x,   map_strip_at(&p->shape, p->dy, image, 0), y, {NULL, 0, 0}, v, v, v,
        v,      v,    v,    v,    sums};
    struct planar_call planar = {1, blocks, SIZE, SIZE, p->planar, SIZE * SIZE, SIZE, y, v, v, sums, NULL, NULL};
    struct threshold_call threshold = {
        1, SIZE, SIZE, map_strip_at(&p->motifs, p->motif, image, 0), map_strip_at(&p->motifs, p->y, image, 0), v, NULL};
    if (p->pass == AFFINE)
        k->map_affine(&affine);
    else if (p->pass == MOMENTS)
        k->map_moments(blocks, SIZE, SIZE, x, sums);
    else if (p->pass == NORM_SUMS)
        k->norm_sums(&norm);
    else if (p->pass == NORM_BACKWARD)
        k->norm_backward(&norm);
    else if (p->pass == PLANAR)
        k->planar_forward(&planar);
    else if (p->pass == THRESHOLD)
        k->map_threshold(&threshold);
    else
        embed(p, image);
}

static void pass_work(void *context)
{
    struct passes *p = context;
    if (p->pass != KTH) {
        bench_pool_run(p->pool, pass_task, p, p->shape.images);
        return;
    }
    struct map_shape shape = p->shape, *s = &shape;
    s->channels = MOTIFS;
    struct kth_set set = {p->x + map_offset(s, 0, 0, 0, 0),
                          s->images,
                          s->channels,
                          s->height,
                          s->width,
                          map_image_stride(s),
                          map_block_stride(s),
                          map_row_stride(s)};
    real out[MAP_LANES];
    p->kernels->kth_block(&set, 0, (int64_t)s->images * SIZE * SIZE / 2, out, p->scratch);
}

static void passes_close(struct passes *p)
{
    real *all[] = {p->x, p->dy, p->y, p->vector, p->planar, p->motif, p->tokens, p->packed, p->partials};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(p->sums);
    free(p->arg);
    free(p->scratch);
}

static enum status passes_open(struct passes *p, int batch, int channels, double density, struct error *err)
{
    p->shape = (struct map_shape){batch, channels, SIZE, SIZE, 1, 1};
    p->motifs = (struct map_shape){batch, MOTIFS, SIZE, SIZE, 1, 1};
    size_t padded = (size_t)map_padded(channels), tokens = (size_t)(SIZE / POOL) * (SIZE / POOL) * FEATURES;
    p->sums = calloc((size_t)batch * 2 * padded, sizeof *p->sums);
    p->arg = calloc((size_t)batch * tokens, sizeof *p->arg);
    p->scratch = malloc(KTH_SCRATCH_BYTES);
    if (!(p->x = bench_reals(map_size(&p->shape), R(0.5), err)) ||
        !(p->dy = bench_reals(map_size(&p->shape), R(0.25), err)) ||
        !(p->y = bench_reals(map_size(&p->shape), 0, err)) || !(p->vector = bench_reals(padded, R(0.1), err)) ||
        !(p->planar = bench_reals((size_t)SIZE * SIZE, 1, err)) ||
        !(p->motif = bench_reals(map_size(&p->motifs), 0, err)) ||
        !(p->tokens = bench_reals((size_t)batch * tokens, 0, err)) ||
        !(p->packed = bench_reals(embed_packed_size(FEATURES, MOTIFS), R(0.1), err)) ||
        !(p->partials = bench_reals((size_t)batch * FEATURES * MAP_LANES, 0, err)) || !p->sums || !p->arg ||
        !p->scratch)
        return error_memory(err, "the maps");
    for (size_t i = 0; i < map_size(&p->shape); i++)
        p->x[i] = (real)sin((double)(i % 99991) * 0.7);
    /* an element is active if its value in a low-discrepancy sequence is below the density */
    for (int n = 0; n < batch; n++)
        for (int i = 0; i < SIZE * SIZE * MOTIFS; i++) {
            double u = fmod((n * SIZE * SIZE * MOTIFS + i) * 0.6180339887498949, 1.0);
            if (u < density)
                p->motif[map_offset(&p->motifs, n, 0, i / MOTIFS / SIZE, i / MOTIFS % SIZE) + i % MOTIFS] =
                    (real)(u + 0.01);
        }
    return STATUS_OK;
}

/* Returns the bytes that a call reads and writes. */
static double pass_bytes(const struct passes *p)
{
    /* number of whole maps that each pass reads or writes */
    static const double maps[PASSES] = {2, 1, 2, 3, 1, 2, 1, 1, 1};
    const struct map_shape *s = p->pass >= THRESHOLD ? &p->motifs : &p->shape;
    return maps[p->pass] * (double)map_size(s) * sizeof(real);
}

enum status bench_passes(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    static const int channels[] = {16, 64};
    double seconds = options->seconds > 0 ? options->seconds : 0.2;
    struct passes p = {.kernels = bench_kernels(options, err)};
    if (!p.kernels)
        return STATUS_INVALID;
    enum status status = thread_pool_create(options->threads ? options->threads : 2, &p.pool, err);
    if (status)
        return status;
    sink_begin_list(sink, "results");
    for (int i = 0; i < 2 && !status; i++) {
        status = passes_open(&p, options->batch ? options->batch : 10, channels[i],
                             options->density > 0 ? options->density : 0.5, err);
        for (p.pass = 0; p.pass < (i == 0 ? PASSES : PLANAR + 1) && !status; p.pass++) {
            sink_begin_object(sink, NULL);
            sink_integer(sink, "threads", thread_pool_threads(p.pool));
            sink_integer(sink, "channels", p.pass >= THRESHOLD ? MOTIFS : channels[i]);
            bench_write_timing(sink, names[p.pass], bench_time(pass_work, &p, seconds), 0, pass_bytes(&p));
            sink_end_object(sink);
        }
        passes_close(&p);
        p = (struct passes){.kernels = p.kernels, .pool = p.pool};
    }
    sink_end_list(sink);
    thread_pool_destroy(p.pool);
    return status;
}
