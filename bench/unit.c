/* Times a residual unit, x + conv(relu(bn(conv(relu(bn(x)))))), forward and backward as in training, including
 * statistics, packing of weights and all gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_int.h"
#include "core/nn/layers.h"

enum { SIZE = 100, MOST = 512 };

struct unit {
    struct map_shape shape;
    struct params *params;
    struct residual_unit layers;
    struct arena arena;
    struct exec exec;
    struct exec_profile profile;
    real *x, *dy;
};

static enum status unit_open(struct unit *u, const struct bench_options *options, struct thread_pool *pool,
                             int channels, struct error *err)
{
    u->shape = (struct map_shape){options->batch ? options->batch : 10, channels, SIZE, SIZE, 1, 1};
    arena_init(&u->arena, (size_t)16 << 20, 0);
    enum status status = params_create(&u->params, err);
    if (status)
        return status;
    residual_unit_build(&u->layers, u->params, "unit", channels, 3, 3);
    status = params_seal(u->params, true, err);
    if (status)
        return status;
    params_init(u->params, 1, NULL);
    if (!(u->x = bench_reals(map_size(&u->shape), 0, err)) || !(u->dy = bench_reals(map_size(&u->shape), 0, err)))
        return STATUS_NO_MEMORY;
    for (int row = 0; row < u->shape.images * map_blocks(channels) * SIZE; row++) {
        int image = row / (map_blocks(channels) * SIZE), block = row / SIZE % map_blocks(channels);
        ptrdiff_t at = map_offset(&u->shape, image, block, row % SIZE, 0);
        for (int i = 0; i < SIZE * MAP_LANES; i++) {
            bool padding = block * MAP_LANES + i % MAP_LANES >= channels;
            u->x[at + i] = padding ? 0 : (real)sin((double)((row * 31 + i) % 997));
            u->dy[at + i] = padding ? 0 : (real)cos((double)((row * 37 + i) % 991));
        }
    }
    exec_init(&u->exec, bench_kernels(options, err), pool, &u->arena, 1);
    u->profile.processor_time = options->processor_time;
    u->exec.profile = &u->profile;
    return STATUS_OK;
}

static void unit_close(struct unit *u)
{
    params_destroy(u->params);
    arena_close(&u->arena);
    free(u->x);
    free(u->dy);
}

/* Runs one step. took[0] becomes the time of the forward pass and took[1] that of the backward pass, in seconds. */
static enum status unit_step(struct unit *u, double took[2], struct error *err)
{
    struct exec *e = &u->exec;
    u->profile.count = 0;
    params_begin_step(u->params);
    exec_begin(e, true, 0);
    struct tensor *x = tensor_map(e, &u->shape);
    if (x != NULL) {
        memcpy(x->data, u->x, x->count * sizeof(real));
        x->wants_grad = true;
    }
    struct tensor *y = residual_unit_forward(e, &u->layers, x);
    enum status status = tape_backward(e, y, u->dy, err);
    took[0] = took[1] = 0;
    for (int i = 0; i < u->profile.count; i++) {
        took[0] += u->profile.entries[i].forward_seconds;
        took[1] += u->profile.entries[i].backward_seconds;
    }
    return status;
}

static enum status unit_time(struct unit *u, double seconds, struct bench_timing timing[2], struct error *err)
{
    double took[2][MOST], end = 0;
    int calls = -2; /* the first two calls warm up and are not counted */
    for (; calls < MOST && (calls < 3 || bench_now() < end); calls++) {
        double step[2];
        if (calls == 0)
            end = bench_now() + seconds;
        enum status status = unit_step(u, step, err);
        if (status)
            return status;
        for (int pass = 0; pass < 2 && calls >= 0; pass++)
            took[pass][calls] = step[pass];
    }
    for (int pass = 0; pass < 2; pass++)
        timing[pass] = bench_summary(took[pass], calls);
    return STATUS_OK;
}

static void write_unit(const struct bench_timing timing[2], int threads, int channels, const struct sink *sink)
{
    static const char *const names[] = {"forward", "backward", "both"};
    for (int pass = 0; pass < 3; pass++) {
        double best = pass < 2 ? timing[pass].best : timing[0].best + timing[1].best;
        double median = pass < 2 ? timing[pass].median : timing[0].median + timing[1].median;
        sink_begin_object(sink, NULL);
        sink_integer(sink, "threads", threads);
        sink_integer(sink, "channels", channels);
        sink_text(sink, "pass", names[pass]);
        sink_number(sink, "best_ms", best * 1e3);
        sink_number(sink, "median_ms", median * 1e3);
        sink_end_object(sink);
    }
}

enum status bench_unit(const struct bench_options *options, struct thread_pool *pool, int channels, double seconds,
                       const struct sink *sink, struct error *err)
{
    struct unit u = {.params = NULL};
    struct bench_timing timing[2];
    int threads = thread_pool_threads(pool);
    enum status status = unit_open(&u, options, pool, channels, err);
    if (!status)
        status = unit_time(&u, seconds, timing, err);
    if (!status)
        write_unit(timing, threads, channels, sink);
    unit_close(&u);
    return status;
}
