/* libdnnl's convolution in its own blocked layout, for comparison; compiled only with -Ddnnl=enabled. Its direct and
 * its Winograd algorithm are timed, and the faster one counts. */
#include "bench/bench_int.h"

#ifdef MOTIF_DNNL

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct dnnl_run {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
    int count;
    void *buffers[4];
    dnnl_memory_t memories[4];
};

static void run_work(void *context)
{
    struct dnnl_run *r = context;
    dnnl_primitive_execute(r->primitive, r->stream, r->count, r->args);
    dnnl_stream_wait(r->stream);
}

static void add_memory(struct dnnl_run *r, const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index, int arg)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, index);
    size_t bytes = dnnl_memory_desc_get_size(md);
    if (bytes == 0 || !(r->buffers[r->count] = aligned_alloc(64, (bytes + 63) / 64 * 64)))
        return;
    memset(r->buffers[r->count], 0, bytes);
    dnnl_memory_create(&r->memories[r->count], md, r->engine, r->buffers[r->count]);
    r->args[r->count].arg = arg;
    r->args[r->count].memory = r->memories[r->count];
    r->count++;
}

static bool build(struct dnnl_run *r, dnnl_alg_kind_t algorithm, int pass, int images, int channels, int size)
{
    dnnl_dims_t map = {images, channels, size, size}, weights = {channels, channels, 3, 3}, bias = {channels};
    dnnl_dims_t ones = {1, 1}, pad = {1, 1};
    dnnl_memory_desc_t m, w, b;
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    if (dnnl_memory_desc_init_by_tag(&m, 4, map, dnnl_f32, dnnl_format_tag_any) ||
        dnnl_memory_desc_init_by_tag(&w, 4, weights, dnnl_f32, dnnl_format_tag_any) ||
        dnnl_memory_desc_init_by_tag(&b, 1, bias, dnnl_f32, dnnl_format_tag_any) ||
        dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, algorithm, &m, &w, &b, &m, ones, pad, pad) ||
        dnnl_primitive_desc_create(&hint, &d, NULL, r->engine, NULL))
        return false;
    dnnl_status_t status = dnnl_success;
    if (pass == 1)
        status = dnnl_convolution_backward_data_desc_init(&d, algorithm, &m, &w, &m, ones, pad, pad);
    else if (pass == 2)
        status = dnnl_convolution_backward_weights_desc_init(&d, algorithm, &m, &w, &b, &m, ones, pad, pad);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&pd, &d, NULL, r->engine, pass ? hint : NULL);
    dnnl_primitive_desc_destroy(hint);
    if (status != dnnl_success)
        return false;
    if (pass == 0) {
        add_memory(r, pd, dnnl_query_src_md, 0, DNNL_ARG_SRC);
        add_memory(r, pd, dnnl_query_weights_md, 0, DNNL_ARG_WEIGHTS);
        add_memory(r, pd, dnnl_query_weights_md, 1, DNNL_ARG_BIAS);
        add_memory(r, pd, dnnl_query_dst_md, 0, DNNL_ARG_DST);
    } else if (pass == 1) {
        add_memory(r, pd, dnnl_query_diff_src_md, 0, DNNL_ARG_DIFF_SRC);
        add_memory(r, pd, dnnl_query_weights_md, 0, DNNL_ARG_WEIGHTS);
        add_memory(r, pd, dnnl_query_diff_dst_md, 0, DNNL_ARG_DIFF_DST);
    } else {
        add_memory(r, pd, dnnl_query_src_md, 0, DNNL_ARG_SRC);
        add_memory(r, pd, dnnl_query_diff_weights_md, 0, DNNL_ARG_DIFF_WEIGHTS);
        add_memory(r, pd, dnnl_query_diff_weights_md, 1, DNNL_ARG_DIFF_BIAS);
        add_memory(r, pd, dnnl_query_diff_dst_md, 0, DNNL_ARG_DIFF_DST);
    }
    status = dnnl_primitive_create(&r->primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    return status == dnnl_success;
}

static double algorithm_time(dnnl_alg_kind_t algorithm, int pass, int images, int channels, int size, double seconds)
{
    struct dnnl_run r = {0};
    double best = -1;
    if (dnnl_engine_create(&r.engine, dnnl_cpu, 0) != dnnl_success)
        return -1;
    if (dnnl_stream_create(&r.stream, r.engine, dnnl_stream_default_flags) == dnnl_success &&
        build(&r, algorithm, pass, images, channels, size))
        best = bench_time(run_work, &r, seconds).best;
    for (int i = 0; i < r.count; i++) {
        dnnl_memory_destroy(r.memories[i]);
        free(r.buffers[i]);
    }
    dnnl_primitive_destroy(r.primitive);
    dnnl_stream_destroy(r.stream);
    dnnl_engine_destroy(r.engine);
    return best;
}

double bench_dnnl_conv(int pass, int images, int channels, int size, int threads, double seconds)
{
    omp_set_num_threads(threads);
    double direct = algorithm_time(dnnl_convolution_direct, pass, images, channels, size, seconds);
    double winograd = algorithm_time(dnnl_convolution_winograd, pass, images, channels, size, seconds);
    return winograd > 0 && (winograd < direct || direct < 0) ? winograd : direct;
}

#else

double bench_dnnl_conv(int pass, int images, int channels, int size, int threads, double seconds)
{
    return -1;
}

#endif
