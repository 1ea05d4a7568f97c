/* Times matrix products with the shapes of SPARLING's head. Every thread computes its own product. */
#include <stdlib.h>

#include "bench/bench_int.h"

struct shape {
    const char *what;
    int m, n, k;
    bool transpose_a, transpose_b;
    int repeats; /* number of products per call; large for small products: attention computes one for each head */
};

static const struct shape shapes[] = {
    {"square 1024", 1024, 1024, 1024, false, false, 1},
    {"paper projection: 720 tokens x 1536, 512 deep", 720, 1536, 512, false, true, 1},
    {"paper feed-forward in: 720 x 2048, 512 deep", 720, 2048, 512, false, true, 1},
    {"paper feed-forward, gradient of weights", 2048, 512, 720, true, false, 1},
    {"paper LSTM step: 120 rows x 1024, 256 deep", 120, 1024, 256, false, true, 4},
    {"paper attention scores: 144 x 144, 64 deep", 144, 144, 64, false, true, 40},
    {"paper attention values: 144 x 64, 144 deep", 144, 64, 144, false, false, 40},
    {"paper attention, gradient of values", 144, 64, 144, true, false, 40},
    {"small projection: 720 tokens x 192, 64 deep", 720, 192, 64, false, true, 8},
    {"small feed-forward in: 720 x 256, 64 deep", 720, 256, 64, false, true, 8},
    {"small feed-forward, gradient of weights", 256, 64, 720, true, false, 8},
    {"small attention scores: 144 x 144, 16 deep", 144, 144, 16, false, true, 40},
    {"small attention values: 144 x 16, 144 deep", 144, 16, 144, false, false, 40},
    {"small decoder scores: 7 x 144, 16 deep", 7, 144, 16, false, true, 200},
};

struct product {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct shape shape;
    bool bf16;
    real *a, *b, *c; /* c: results of all threads */
};

static void product_task(void *context, int chunk, int worker)
{
    struct product *p = context;
    const struct shape *s = &p->shape;
    struct gemm_call call = {s->transpose_a,
                             s->transpose_b,
                             s->m,
                             s->n,
                             s->k,
                             1,
                             0,
                             p->a,
                             p->b,
                             p->c + (ptrdiff_t)chunk * s->m * s->n,
                             s->transpose_a ? s->m : s->k,
                             s->transpose_b ? s->k : s->n,
                             s->n};
    for (int i = 0; i < s->repeats; i++)
        (p->bf16 ? p->kernels->gemm_bf16 : p->kernels->gemm)(&call);
}

static void product_work(void *context)
{
    struct product *p = context;
    bench_pool_run(p->pool, product_task, p, thread_pool_threads(p->pool));
}

static enum status bench_gemm_measure(struct product *p, double peak, double seconds, const struct sink *sink,
                                      struct error *err)
{
    const struct shape *s = &p->shape;
    int threads = thread_pool_threads(p->pool);
    enum status status = STATUS_NO_MEMORY;
    p->a = bench_reals((size_t)s->m * (size_t)s->k, R(0.5), err);
    p->b = bench_reals((size_t)s->k * (size_t)s->n, R(0.25), err);
    p->c = bench_reals((size_t)threads * (size_t)s->m * (size_t)s->n, 0, err);
    if (p->a && p->b && p->c) {
        double flops = 2.0 * s->m * s->n * s->k * s->repeats * threads;
        p->bf16 = false;
        struct bench_timing t = bench_time(product_work, p, seconds);
        p->bf16 = true;
        struct bench_timing half = bench_time(product_work, p, seconds);
        sink_begin_object(sink, NULL);
        sink_integer(sink, "threads", threads);
        sink_text(sink, "what", s->what);
        sink_number(sink, "best_us", t.best * 1e6 / s->repeats);
        sink_number(sink, "gflops", flops / t.best * 1e-9);
        sink_number(sink, "share_of_peak", flops / t.best * 1e-9 / peak);
        sink_number(sink, "bf16_gflops", flops / half.best * 1e-9);
        sink_number(sink, "bf16_gain", t.best / half.best);
        sink_end_object(sink);
        status = STATUS_OK;
    }
    free(p->a);
    free(p->b);
    free(p->c);
    return status;
}

enum status bench_gemm(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    double seconds = options->seconds > 0 ? options->seconds : 0.2;
    struct product p = {.kernels = bench_kernels(options, err)};
    if (!p.kernels)
        return STATUS_INVALID;
    int threads = options->threads ? options->threads : 1;
    enum status status = thread_pool_create(threads, &p.pool, err);
    if (status)
        return status;
    double peak = bench_fma_peak(p.pool, seconds);
    sink_begin_list(sink, "results");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        p.shape = shapes[i];
        status = bench_gemm_measure(&p, peak, seconds, sink, err);
    }
    sink_end_list(sink);
    thread_pool_destroy(p.pool);
    return status;
}
