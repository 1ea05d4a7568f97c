/* Times the superposition method: a training step compared with a matrix product, and the application of a Persian rug.
 *
 * superposition-step: n_s = 2048 features, n_d = 512 dimensions, a feature is active with probability p = 0.044, batch
 * 1024 (or --batch N). The five products of a dense step take 10 batch n_s n_d operations; the reported rate always
 * counts these, even if sparsity saves some. Steps alternate with a square product of size 2048, for comparison. With
 * one thread, processor time is measured, so that other load does not matter. The step includes sampling and Adam.
 *
 * rug: W x for n_s = 2^20 features and a quarter as many dimensions; tests/bench/rug_numpy.py does the same with
 * NumPy. */
#include <stdlib.h>
#include <time.h>

#include "bench/bench_int.h"
#include "core/kernels/hadamard.h"
#include "core/superposed/batch.h"
#include "core/superposed/data.h"
#include "core/superposed/rug.h"
#include "core/nn/adam.h"

enum { WIDE = 2048, DEEP = 512, SQUARE = 2048, BLOCK = 512, BATCH = 1024 };

struct bench_step {
    struct thread_pool *pool;
    const struct kernels *kernels;
    struct arena arena;
    struct exec exec;
    struct autoencoder *model;
    struct adam *adam;
    struct batch *batch[2]; /* batch[0] multiplies with sparse products, batch[1] with dense ones */
    real *a, *b, *c;
    int64_t samples;
    int rows;
};

static void close_step(struct bench_step *s)
{
    batch_destroy(s->batch[0]);
    batch_destroy(s->batch[1]);
    adam_destroy(s->adam);
    autoencoder_destroy(s->model);
    arena_close(&s->arena);
    thread_pool_destroy(s->pool);
    free(s->a);
    free(s->b);
    free(s->c);
}

static enum status open_step(struct bench_step *s, const struct bench_options *options, struct error *err)
{
    const struct autoencoder_shape shape = {WIDE, DEEP, false, false, ACTIVATION_RELU, 0, 0};
    const struct adam_config adam = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-7};
    size_t square = (size_t)SQUARE * SQUARE;
    *s = (struct bench_step){.kernels = bench_kernels(options, err), .rows = options->batch ? options->batch : BATCH};
    arena_init(&s->arena, (size_t)1 << 16, 0);
    enum status status = s->kernels ? STATUS_OK : STATUS_INVALID;
    if (!status)
        status = thread_pool_create(options->threads ? options->threads : 2, &s->pool, err);
    if (!status)
        status = autoencoder_create(&shape, true, &s->model, err);
    if (!status)
        status = adam_create(s->model->params, &adam, &s->adam, err);
    for (int i = 0; !status && i < 2; i++)
        status = batch_create(s->model, s->pool, s->kernels, s->rows, NULL, i == 1, &s->batch[i], err);
    if (!status && !((s->a = bench_reals(square, R(0.5), err)) && (s->b = bench_reals(square, R(0.25), err)) &&
                     (s->c = bench_reals(square, 0, err))))
        status = STATUS_NO_MEMORY;
    if (!status) {
        exec_init(&s->exec, s->kernels, s->pool, &s->arena, 1);
        params_init(s->model->params, 1, NULL);
    }
    return status;
}

static enum status take_step(struct bench_step *s, int kind, struct error *err)
{
    struct batch_samples samples = {1, STREAM_TRAINING, s->samples, s->rows, 0.044, 0, NULL};
    params_begin_step(s->model->params);
    batch_run(s->batch[kind], &samples, true);
    s->samples += s->rows;
    return adam_step(s->adam, &s->exec, 1e-2 / 45.25, NULL, err);
}

static void square_task(void *context, int chunk, int worker)
{
    const struct bench_step *s = context;
    ptrdiff_t row = (ptrdiff_t)chunk * BLOCK * SQUARE;
    struct gemm_call call = {.m = BLOCK,
                             .n = SQUARE,
                             .k = SQUARE,
                             .alpha = 1,
                             .a = s->a + row,
                             .b = s->b,
                             .c = s->c + row,
                             .lda = SQUARE,
                             .ldb = SQUARE,
                             .ldc = SQUARE};
    s->kernels->gemm(&call);
}

static double bench_superposition_now(const struct bench_step *s)
{
    struct timespec t;
    clock_gettime(thread_pool_threads(s->pool) == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

enum status bench_superposition_step(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    enum { MOST = 512, SETTLE = 300 };
    struct bench_step s;
    double took[3][MOST];
    int rounds = 0;
    enum status status = open_step(&s, options, err);
    /* Trains the model before the measurement, because the sparsity of a step changes at the start of a training. */
    for (int i = 0; !status && i < (options->seconds > 0.1 || options->seconds <= 0 ? SETTLE : 1); i++)
        status = take_step(&s, 0, err);
    double end = bench_now() + (options->seconds > 0 ? options->seconds : 15);
    while (!status && rounds < MOST && (rounds < 3 || bench_now() < end)) {
        for (int kind = 0; !status && kind < 3; kind++) {
            double began = bench_superposition_now(&s);
            if (kind < 2)
                status = take_step(&s, kind, err);
            else
                bench_pool_run(s.pool, square_task, &s, SQUARE / BLOCK);
            took[kind][rounds] = bench_superposition_now(&s) - began;
        }
        rounds++;
    }
    if (!status) {
        static const char *const names[] = {"step", "dense_step", "square_product"};
        double flops = 10.0 * s.rows * WIDE * DEEP, rate[3];
        sink_integer(sink, "threads", thread_pool_threads(s.pool));
        sink_integer(sink, "batch", s.rows);
        sink_number(sink, "active_outputs", batch_active(s.batch[0]));
        for (int kind = 0; kind < 3; kind++) {
            double seconds = median(took[kind], rounds);
            rate[kind] = (kind < 2 ? flops : 2.0 * SQUARE * SQUARE * SQUARE) / seconds * 1e-9;
            sink_begin_object(sink, names[kind]);
            sink_number(sink, "median_ms", seconds * 1e3);
            sink_number(sink, "gflops", rate[kind]);
            sink_end_object(sink);
        }
        sink_number(sink, "share_of_sgemm", rate[0] / rate[2]);
        sink_number(sink, "dense_share_of_sgemm", rate[1] / rate[2]);
    }
    close_step(&s);
    return status;
}

struct bench_rug {
    struct rug rug;
    struct thread_pool *pool;
    const struct kernels *kernels;
    float *x, *scratch;
};

static void bench_superposition_apply(void *context)
{
    struct bench_rug *b = context;
    bool done = rug_apply(&b->rug, b->pool, b->kernels, b->x, b->scratch); /* nothing stops the pool */
    (void)done;
}

enum status bench_rug(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    enum { N = 1 << 20 };
    struct bench_rug b = {.kernels = bench_kernels(options, err)};
    enum status status = b.kernels ? rug_create(N, N / 4, 1, 0, &b.rug, err) : STATUS_INVALID;
    sink_integer(sink, "n_s", N);
    sink_begin_list(sink, "rows");
    for (int threads = options->threads ? options->threads : 1;
         !status && threads <= (options->threads ? options->threads : 2); threads++) {
        status = thread_pool_create(threads, &b.pool, err);
        if (status)
            break;
        b.x = bench_reals(N, R(0.25), err);
        b.scratch = bench_reals(hadamard_scratch(b.pool, N), 0, err);
        if (b.x && b.scratch) {
            struct bench_timing t =
                bench_time(bench_superposition_apply, &b, options->seconds > 0 ? options->seconds : 3);
            sink_begin_object(sink, NULL);
            sink_integer(sink, "threads", threads);
            sink_number(sink, "best_ms", t.best * 1e3);
            sink_number(sink, "median_ms", t.median * 1e3);
            sink_number(sink, "gflops", 2.0 * N * 20 / t.best * 1e-9);
            sink_number(sink, "gb_per_second",
                        /* three passes over memory, each of which reads and writes the vector */
                        3 * 2 * 4.0 * N / t.best * 1e-9);
            sink_end_object(sink);
        } else {
            status = STATUS_NO_MEMORY;
        }
        thread_pool_destroy(b.pool);
        free(b.x);
        free(b.scratch);
        b.pool = NULL;
        b.x = b.scratch = NULL;
    }
    sink_end_list(sink);
    rug_close(&b.rug);
    return status;
}
