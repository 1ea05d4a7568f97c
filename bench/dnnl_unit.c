/* A residual unit from libdnnl's primitives, for comparison.
 *
 * The forward pass has two batch norms (statistics; then normalisation with ReLU), each followed by a convolution with
 * bias, and then the sum. The backward pass has the gradients of all of these. All data stays in libdnnl's own layouts,
 * so no time is spent on conversions. The direct and the Winograd convolutions are timed, and for each direction the
 * faster one counts. */
#include "bench/bench_int.h"

#ifdef MOTIF_DNNL

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 12, ARGS = 10, MEMORIES = 48 };

struct stage {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[ARGS];
    int count;
};

struct unit {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct stage stages[STAGES];
    int count, from, to; /* count: number of stages; a run executes the stages [from, to) */
    dnnl_memory_t memories[MEMORIES];
    void *buffers[MEMORIES];
    int held;
    bool failed;
    dnnl_memory_desc_t map, vector, pair, bias;
    int images, channels, size;
    dnnl_alg_kind_t algorithm;
};

static dnnl_memory_t make(struct unit *u, const dnnl_memory_desc_t *md)
{
    size_t bytes = dnnl_memory_desc_get_size(md);
    float *buffer = u->held < MEMORIES ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    dnnl_memory_t memory = NULL;
    if (!buffer || dnnl_memory_create(&memory, md, u->engine, buffer) != dnnl_success) {
        free(buffer);
        u->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < bytes / sizeof *buffer; i++)
        buffer[i] = (float)(i % 997) * 0.001f - 0.4f;
    u->buffers[u->held] = buffer;
    u->memories[u->held++] = memory;
    return memory;
}

static struct stage *add_stage(struct unit *u, dnnl_primitive_desc_t pd)
{
    struct stage *stage = &u->stages[u->count];
    if (u->count == STAGES || dnnl_primitive_create(&stage->primitive, pd) != dnnl_success) {
        u->failed = true;
        return &u->stages[STAGES - 1];
    }
    u->count++;
    return stage;
}

static void bind(struct stage *stage, int arg, dnnl_memory_t memory)
{
    if (stage->count < ARGS)
        stage->args[stage->count++] = (dnnl_exec_arg_t){arg, memory};
}

static dnnl_primitive_desc_t describe(struct unit *u, const_dnnl_op_desc_t what, const_dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_t pd = NULL;
    u->failed |= dnnl_primitive_desc_create(&pd, what, NULL, u->engine, hint) != dnnl_success;
    return pd;
}

struct norm {
    dnnl_primitive_desc_t pd;
    dnnl_memory_t x, y, mean, variance, pair, workspace;
};

static struct norm norm_forward(struct unit *u, dnnl_memory_t x)
{
    dnnl_batch_normalization_desc_t d;
    struct norm n = {.x = x,
                     .y = make(u, &u->map),
                     .mean = make(u, &u->vector),
                     .variance = make(u, &u->vector),
                     .pair = make(u, &u->pair)};
    u->failed |= dnnl_batch_normalization_forward_desc_init(&d, dnnl_forward_training, &u->map, 1e-5f,
                                                            dnnl_use_scaleshift | dnnl_fuse_norm_relu) != dnnl_success;
    n.pd = describe(u, &d, NULL);
    if (u->failed)
        return n;
    n.workspace = make(u, dnnl_primitive_desc_query_md(n.pd, dnnl_query_workspace_md, 0));
    struct stage *s = add_stage(u, n.pd);
    bind(s, DNNL_ARG_SRC, n.x);
    bind(s, DNNL_ARG_DST, n.y);
    bind(s, DNNL_ARG_MEAN, n.mean);
    bind(s, DNNL_ARG_VARIANCE, n.variance);
    bind(s, DNNL_ARG_SCALE_SHIFT, n.pair);
    bind(s, DNNL_ARG_WORKSPACE, n.workspace);
    return n;
}

/* Adds the backward stage of a norm; returns the gradient of its input. */
static dnnl_memory_t norm_backward(struct unit *u, const struct norm *n, dnnl_memory_t dy)
{
    dnnl_batch_normalization_desc_t d;
    dnnl_memory_t dx = make(u, &u->map), dpair = make(u, &u->pair);
    u->failed |= dnnl_batch_normalization_backward_desc_init(&d, dnnl_backward, &u->map, &u->map, 1e-5f,
                                                             dnnl_use_scaleshift | dnnl_fuse_norm_relu) != dnnl_success;
    dnnl_primitive_desc_t pd = u->failed ? NULL : describe(u, &d, n->pd);
    if (u->failed)
        return NULL;
    struct stage *s = add_stage(u, pd);
    bind(s, DNNL_ARG_SRC, n->x);
    bind(s, DNNL_ARG_MEAN, n->mean);
    bind(s, DNNL_ARG_VARIANCE, n->variance);
    bind(s, DNNL_ARG_SCALE_SHIFT, n->pair);
    bind(s, DNNL_ARG_WORKSPACE, n->workspace);
    bind(s, DNNL_ARG_DIFF_DST, dy);
    bind(s, DNNL_ARG_DIFF_SRC, dx);
    bind(s, DNNL_ARG_DIFF_SCALE_SHIFT, dpair);
    dnnl_primitive_desc_destroy(pd);
    return dx;
}

struct conv {
    dnnl_primitive_desc_t pd;
    dnnl_memory_t x, y, weights;
};

/* Creates weights in the layout that libdnnl prefers for this pass. */
static bool conv_layout(struct unit *u, dnnl_memory_desc_t *weights)
{
    dnnl_dims_t dims = {u->channels, u->channels, 3, 3};
    return dnnl_memory_desc_init_by_tag(weights, 4, dims, dnnl_f32, dnnl_format_tag_any) == dnnl_success;
}

static struct conv conv_forward(struct unit *u, dnnl_memory_t x)
{
    dnnl_dims_t ones = {1, 1};
    dnnl_memory_desc_t w;
    dnnl_convolution_desc_t d;
    struct conv c = {.x = x, .y = make(u, &u->map)};
    u->failed |=
        !conv_layout(u, &w) || dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, u->algorithm, &u->map, &w,
                                                                  &u->bias, &u->map, ones, ones, ones);
    c.pd = u->failed ? NULL : describe(u, &d, NULL);
    if (u->failed)
        return c;
    struct stage *s = add_stage(u, c.pd);
    bind(s, DNNL_ARG_SRC, x);
    bind(s, DNNL_ARG_WEIGHTS, make(u, dnnl_primitive_desc_query_md(c.pd, dnnl_query_weights_md, 0)));
    bind(s, DNNL_ARG_BIAS, make(u, &u->bias));
    bind(s, DNNL_ARG_DST, c.y);
    return c;
}

/* Adds the stages of the gradients of weights and of input; returns the gradient of the input. */
static dnnl_memory_t conv_backward(struct unit *u, const struct conv *c, dnnl_memory_t dy)
{
    dnnl_dims_t ones = {1, 1};
    dnnl_memory_desc_t w;
    dnnl_convolution_desc_t by_weights, by_data;
    dnnl_memory_t dx = make(u, &u->map);
    u->failed |=
        !conv_layout(u, &w) ||
        dnnl_convolution_backward_weights_desc_init(&by_weights, u->algorithm, &u->map, &w, &u->bias, &u->map, ones,
                                                    ones, ones) ||
        dnnl_convolution_backward_data_desc_init(&by_data, u->algorithm, &u->map, &w, &u->map, ones, ones, ones);
    if (u->failed)
        return NULL;
    dnnl_primitive_desc_t weights = describe(u, &by_weights, c->pd), data = describe(u, &by_data, c->pd);
    if (!u->failed) {
        struct stage *s = add_stage(u, weights);
        bind(s, DNNL_ARG_SRC, c->x);
        bind(s, DNNL_ARG_DIFF_DST, dy);
        bind(s, DNNL_ARG_DIFF_WEIGHTS, make(u, dnnl_primitive_desc_query_md(weights, dnnl_query_diff_weights_md, 0)));
        bind(s, DNNL_ARG_DIFF_BIAS, make(u, &u->bias));
        s = add_stage(u, data);
        bind(s, DNNL_ARG_DIFF_DST, dy);
        bind(s, DNNL_ARG_WEIGHTS, make(u, dnnl_primitive_desc_query_md(data, dnnl_query_weights_md, 0)));
        bind(s, DNNL_ARG_DIFF_SRC, dx);
    }
    dnnl_primitive_desc_destroy(weights);
    dnnl_primitive_desc_destroy(data);
    return dx;
}

static void sum(struct unit *u, dnnl_memory_t a, dnnl_memory_t b)
{
    dnnl_binary_desc_t d;
    u->failed |= dnnl_binary_desc_init(&d, dnnl_binary_add, &u->map, &u->map, &u->map) != dnnl_success;
    dnnl_primitive_desc_t pd = u->failed ? NULL : describe(u, &d, NULL);
    if (u->failed)
        return;
    struct stage *s = add_stage(u, pd);
    bind(s, DNNL_ARG_SRC_0, a);
    bind(s, DNNL_ARG_SRC_1, b);
    bind(s, DNNL_ARG_DST, a);
    dnnl_primitive_desc_destroy(pd);
}

/* Adds the forward and then the backward stages; returns the index of the first backward stage. */
static int build(struct unit *u)
{
    dnnl_dims_t map = {u->images, u->channels, u->size, u->size}, vector = {u->channels}, pair = {2, u->channels};
    if (dnnl_memory_desc_init_by_tag(&u->map, 4, map, dnnl_f32, dnnl_nChw16c) ||
        dnnl_memory_desc_init_by_tag(&u->vector, 1, vector, dnnl_f32, dnnl_a) ||
        dnnl_memory_desc_init_by_tag(&u->bias, 1, vector, dnnl_f32, dnnl_a) ||
        dnnl_memory_desc_init_by_tag(&u->pair, 2, pair, dnnl_f32, dnnl_ab)) {
        u->failed = true;
        return 0;
    }
    dnnl_memory_t x = make(u, &u->map), dy = make(u, &u->map);
    struct norm norm1 = norm_forward(u, x);
    struct conv conv1 = conv_forward(u, norm1.y);
    struct norm norm2 = norm_forward(u, conv1.y);
    struct conv conv2 = conv_forward(u, norm2.y);
    sum(u, conv2.y, x);
    int forward = u->count;
    if (!u->failed) {
        dnnl_memory_t d = conv_backward(u, &conv2, dy);
        d = norm_backward(u, &norm2, d);
        d = conv_backward(u, &conv1, d);
        sum(u, norm_backward(u, &norm1, d), dy);
    }
    dnnl_primitive_desc_destroy(norm1.pd);
    dnnl_primitive_desc_destroy(norm2.pd);
    dnnl_primitive_desc_destroy(conv1.pd);
    dnnl_primitive_desc_destroy(conv2.pd);
    return forward;
}

static void unit_work(void *context)
{
    struct unit *u = context;
    for (int i = u->from; i < u->to; i++)
        u->failed |= dnnl_primitive_execute(u->stages[i].primitive, u->stream, u->stages[i].count, u->stages[i].args) !=
                     dnnl_success;
    dnnl_stream_wait(u->stream);
}

static bool unit_run(dnnl_alg_kind_t algorithm, int images, int channels, int size, double seconds,
                     struct bench_timing timing[2])
{
    struct unit u = {.images = images, .channels = channels, .size = size, .algorithm = algorithm};
    if (dnnl_engine_create(&u.engine, dnnl_cpu, 0) != dnnl_success)
        return false;
    u.failed = dnnl_stream_create(&u.stream, u.engine, dnnl_stream_default_flags) != dnnl_success;
    int forward = u.failed ? 0 : build(&u);
    for (int pass = 0; pass < 2 && !u.failed; pass++) {
        u.from = pass ? forward : 0;
        u.to = pass ? u.count : forward;
        timing[pass] = bench_time(unit_work, &u, seconds);
    }
    for (int i = 0; i < u.count; i++)
        dnnl_primitive_destroy(u.stages[i].primitive);
    for (int i = 0; i < u.held; i++) {
        dnnl_memory_destroy(u.memories[i]);
        free(u.buffers[i]);
    }
    dnnl_stream_destroy(u.stream);
    dnnl_engine_destroy(u.engine);
    return !u.failed;
}

bool bench_dnnl_unit(int images, int channels, int size, int threads, double seconds, struct bench_timing timing[2])
{
    struct bench_timing winograd[2];
    omp_set_num_threads(threads);
    bool direct_runs = unit_run(dnnl_convolution_direct, images, channels, size, seconds, timing);
    bool winograd_runs = unit_run(dnnl_convolution_winograd, images, channels, size, seconds, winograd);
    for (int pass = 0; pass < 2 && winograd_runs; pass++)
        if (!direct_runs || winograd[pass].best < timing[pass].best)
            timing[pass] = winograd[pass];
    return direct_runs || winograd_runs;
}

#else

bool bench_dnnl_unit(int images, int channels, int size, int threads, double seconds, struct bench_timing timing[2])
{
    return false;
}

#endif
