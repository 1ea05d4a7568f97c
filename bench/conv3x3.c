/* Times the three passes of a convolution (one image per chunk): 3x3 over a batch of 100x100 maps, and 1x3 over a batch
 * of sequences. Also times residual units. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_int.h"

enum { SIZE = 100 };

struct conv {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct map_shape shape;
    int kernel_h, pass;
    real *x, *y, *weights, *transformed, *bias, *partials;
    struct conv_call call; /* arguments for an image; strips and moments are added for each image */
    size_t packed;
    double *moments;
};

static void conv_task(void *context, int image, int worker)
{
    struct conv *c = context;
    int blocks = map_blocks(c->shape.channels), lanes = map_lanes(c->shape.channels);
    struct map_strip x = map_strip_at(&c->shape, c->x, image, 0), y = map_strip_at(&c->shape, c->y, image, 0);
    if (c->pass == 2) {
        struct conv_gradient_call call = {blocks,
                                          blocks,
                                          c->kernel_h,
                                          3,
                                          c->shape.height,
                                          c->shape.width,
                                          x,
                                          y,
                                          c->partials + (size_t)image * c->packed,
                                          NULL,
                                          {0},
                                          0,
                                          lanes,
                                          lanes};
        c->kernels->conv_gradient(&call);
    } else {
        struct conv_call call = c->call;
        call.in = x;
        call.out = y;
        if (c->pass == 0)
            call.moments = c->moments +
                           /* in training, the forward pass also computes moments for the next batch norm */
                           (ptrdiff_t)image * 2 * blocks * MAP_LANES;
        c->kernels->conv_forward(&call);
    }
}

static void conv_work(void *context)
{
    struct conv *c = context;
    int blocks = map_blocks(c->shape.channels), lanes = map_lanes(c->shape.channels);
    c->call = (struct conv_call){.in_blocks = blocks,
                                 .out_blocks = blocks,
                                 .kernel_h = c->kernel_h,
                                 .kernel_w = 3,
                                 .rows = c->shape.height,
                                 .width = c->shape.width,
                                 .weights = c->weights,
                                 .bias = c->bias,
                                 .in_lanes = lanes,
                                 .out_lanes = lanes};
    if (c->kernels->conv_transform && c->pass < 2 && c->kernel_h == 3) {
        c->kernels->conv_transform(&c->call, 0, blocks, c->transformed);
        c->call.transformed = c->transformed;
    }
    bench_pool_run(c->pool, conv_task, c, c->shape.images);
}

static void conv_close(struct conv *c)
{
    free(c->x);
    free(c->y);
    free(c->weights);
    free(c->transformed);
    free(c->bias);
    free(c->partials);
    free(c->moments);
}

/* Allocates the arrays of `c`; the caller has set c->shape and c->kernel_h. */
static enum status conv_open(struct conv *c, struct error *err)
{
    int channels = c->shape.channels, batch = c->shape.images, width = c->shape.width;
    c->packed = conv_packed_size(channels, channels, c->kernel_h, 3);
    size_t padded = (size_t)map_padded(channels);
    c->moments = calloc((size_t)batch * 2 * padded, sizeof *c->moments);
    if (!(c->x = bench_reals(map_size(&c->shape), 0, err)) || !(c->y = bench_reals(map_size(&c->shape), 0, err)) ||
        !(c->weights = bench_reals(c->packed, R(0.01), err)) || !(c->bias = bench_reals(padded, R(0.1), err)) ||
        !(c->transformed =
              bench_reals((size_t)(map_blocks(channels) * map_blocks(channels)) * CONV_TRANSFORMED, 0, err)) ||
        !(c->partials = bench_reals((size_t)batch * c->packed, 0, err)) || !c->moments)
        return error_memory(err, "the maps");
    for (int n = 0; n < batch; n++)
        for (int b = 0; b < map_blocks(channels); b++)
            for (int i = 0; i < c->shape.height * width * MAP_LANES; i++) {
                ptrdiff_t at =
                    map_offset(&c->shape, n, b, i / MAP_LANES / width, i / MAP_LANES % width) + i % MAP_LANES;
                bool padding = b * MAP_LANES + i % MAP_LANES >= channels;
                c->x[at] = padding ? 0 : real_fabs((real)sin((double)(i % 997)));
                c->y[at] = padding ? 0 : (real)cos((double)(i % 991));
            }
    return STATUS_OK;
}

static void conv_measure(struct conv *c, double peak, double seconds, int threads, const struct sink *sink)
{
    static const char *const names[] = {"forward", "backward_data", "backward_weights"};
    int channels = c->shape.channels;
    double flops = 2.0 * 3 * c->kernel_h * channels * channels * c->shape.height * c->shape.width * c->shape.images;
    for (c->pass = 0; c->pass < 3; c->pass++) {
        struct bench_timing t = bench_time(conv_work, c, seconds);
        sink_begin_object(sink, NULL);
        sink_integer(sink, "threads", threads);
        sink_integer(sink, "channels", channels);
        sink_integer(sink, "width", c->shape.width);
        sink_text(sink, "pass", names[c->pass]);
        sink_number(sink, "best_ms", t.best * 1e3);
        sink_number(sink, "median_ms", t.median * 1e3);
        sink_number(sink, "gflops", flops / t.best * 1e-9);
        sink_number(sink, "share_of_peak", flops / t.best * 1e-9 / peak);
        sink_end_object(sink);
    }
}

/* 24 and 40 channels fill half of their last block. 96 and 128 channels have more blocks than a kernel computes at
 * once. */
static const int widths[] = {16, 24, 32, 40, 64, 96, 128};
enum { WIDTHS = sizeof widths / sizeof *widths };

static enum status conv_shape(struct map_shape shape, int kernel_h, double peak, const struct bench_options *options,
                              struct thread_pool *pool, double seconds, const struct sink *sink, struct error *err)
{
    struct conv c = {.kernels = bench_kernels(options, err), .pool = pool, .shape = shape, .kernel_h = kernel_h};
    enum status status = conv_open(&c, err);
    if (!status)
        conv_measure(&c, peak, seconds, thread_pool_threads(pool), sink);
    conv_close(&c);
    return status;
}

static enum status conv_passes(const struct bench_options *options, struct thread_pool *pool, double seconds,
                               const struct sink *sink, struct error *err)
{
    enum status status = STATUS_OK;
    double peak = bench_fma_peak(pool, seconds);
    int batch = options->batch ? options->batch : 10;
    for (size_t i = 0; i < WIDTHS && !status; i++)
        status = conv_shape((struct map_shape){batch, widths[i], SIZE, SIZE, 1, 1}, 3, peak, options, pool, seconds,
                            sink, err);
    return status;
}

static enum status line_passes(const struct bench_options *options, struct thread_pool *pool, double seconds,
                               const struct sink *sink, struct error *err)
{
    static const int channels[] = {16, 32}, columns[] = {300, 512};
    enum status status = STATUS_OK;
    double peak = bench_fma_peak(pool, seconds);
    int batch = options->batch ? options->batch : 10;
    for (int i = 0; i < 4 && !status; i++)
        status = conv_shape((struct map_shape){batch, channels[i / 2], 1, columns[i % 2], 0, 1}, 1, peak, options, pool,
                            seconds, sink, err);
    return status;
}

static enum status conv_units(const struct bench_options *options, struct thread_pool *pool, double seconds,
                              const struct sink *sink, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < WIDTHS && !status; i++)
        status =
            widths[i] % 16 || widths[i] > 64 ? STATUS_OK : bench_unit(options, pool, widths[i], seconds, sink, err);
    return status;
}

static enum status conv_lists(const struct bench_options *options, const char *name,
                              enum status (*run)(const struct bench_options *options, struct thread_pool *pool,
                                                 double seconds, const struct sink *sink, struct error *err),
                              const struct sink *sink, struct error *err)
{
    int first = options->threads ? options->threads : 1, last = options->threads ? options->threads : 2;
    double seconds = options->seconds > 0 ? options->seconds : 0.5;
    enum status status = STATUS_OK;
    sink_begin_list(sink, name);
    for (int threads = first; threads <= last && !status; threads++) {
        struct thread_pool *pool;
        status = thread_pool_create(threads, &pool, err);
        if (status)
            break;
        status = run(options, pool, seconds, sink, err);
        thread_pool_destroy(pool);
    }
    sink_end_list(sink);
    return status;
}

enum status bench_conv3x3(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    if (!bench_kernels(options, err))
        return STATUS_INVALID;
    enum status status = conv_lists(options, "results", conv_passes, sink, err);
    return !status ? conv_lists(options, "residual_units", conv_units, sink, err) : status;
}

enum status bench_conv1x3(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    return bench_kernels(options, err) ? conv_lists(options, "results", line_passes, sink, err) : STATUS_INVALID;
}
