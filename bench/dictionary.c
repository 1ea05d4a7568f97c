/* Times a training step of a sparse autoencoder (batchtopk, 768 inputs, 32 active latents, batch 4096 or --batch N)
 * with 4,096 or 16,384 latents. The step contains the encoder's product, the selection, the sparse backward products,
 * the clipping and Adam. `gradients` is the step without Adam. `dense_products` is only the five products of a step
 * with dense backward products: 10 x inputs x latents operations for a sample. Step, gradients and dense products are
 * timed in turn. With one thread and --processor-time, other load on the machine does not matter.
 * tests/bench/dictionary_torch.py does the same step with PyTorch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_int.h"
#include "core/base/arena.h"
#include "core/base/random/philox.h"
#include "core/methods/dictionary/model/step.h"
#include "core/nn/adam.h"

enum { INPUTS = 768, ACTIVE = 32, BATCH = 4096, BLOCK = 256, LATENTS = 1024 };

struct bench_dictionary {
    struct thread_pool *pool;
    const struct kernels *kernels;
    struct arena arena;
    struct exec exec;
    struct sae *sae;
    struct adam *adam;
    struct step *step;
    int rows, width;
    float *x;                  /* [rows][INPUTS] */
    float *code, *back, *grad; /* dense products: [rows][width], [rows][INPUTS], [2][width][INPUTS] */
    float *slope;
};

static void close_bench(struct bench_dictionary *b)
{
    step_destroy(b->step);
    adam_destroy(b->adam);
    sae_destroy(b->sae);
    arena_close(&b->arena);
    thread_pool_destroy(b->pool);
    free(b->x);
    free(b->code);
    free(b->slope);
    free(b->back);
    free(b->grad);
}

static enum status open_bench(struct bench_dictionary *b, const struct bench_options *options, int width,
                              struct error *err)
{
    const struct sae_shape shape = {.learner = LEARNER_BATCHTOPK,
                                    .inputs = INPUTS,
                                    .width = width,
                                    .l0 = ACTIVE,
                                    .levels = 1,
                                    .level_end = {width},
                                    .aux_weight = 1,
                                    .aux_latents = INPUTS / 2,
                                    .dead_after = 1000};
    struct adam_config adam = ADAM_DEFAULT;
    struct philox from = philox_stream(1, 1, 0);
    *b = (struct bench_dictionary){
        .kernels = bench_kernels(options, err), .rows = options->batch ? options->batch : BATCH, .width = width};
    size_t rows = (size_t)b->rows, m = (size_t)width;
    adam.clip_norm = 1;
    arena_init(&b->arena, (size_t)1 << 16, 0);
    enum status status = b->kernels ? STATUS_OK : STATUS_INVALID;
    if (!status)
        status = thread_pool_create(options->threads ? options->threads : 2, &b->pool, err);
    if (!status)
        status = sae_create(&shape, "", true, &b->sae, err);
    if (!status)
        status = adam_create(b->sae->params, &adam, &b->adam, err);
    if (!status)
        status = step_create(&shape, b->pool, b->kernels, b->rows, &b->step, err);
    if (!status && !((b->x = bench_reals(rows * INPUTS, 0, err)) && (b->code = bench_reals(rows * m, 0, err)) &&
                     (b->slope = bench_reals(rows * m, 0, err)) && (b->back = bench_reals(rows * INPUTS, 0, err)) &&
                     (b->grad = bench_reals(2 * m * INPUTS, 0, err))))
        status = STATUS_NO_MEMORY;
    if (status)
        return status;
    for (size_t i = 0; i < rows * INPUTS; i++)
        b->x[i] = (float)philox_normal(&from, i);
    exec_init(&b->exec, b->kernels, b->pool, &b->arena, 1);
    sae_init(b->sae, 1);
    return STATUS_OK;
}

/* ---- the step ------------------------------------------------------------------------------------------------ */

static enum status gradients(struct bench_dictionary *b, struct step_outcome *out, struct error *err)
{
    params_begin_step(b->sae->params);
    return step_run(b->step, b->sae, b->x, b->rows, true, out) ? STATUS_OK : thread_pool_check(b->pool, err);
}

static enum status whole_step(struct bench_dictionary *b, struct error *err)
{
    struct step_outcome out;
    enum status status = gradients(b, &out, err);
    if (!status)
        status = adam_step(b->adam, &b->exec, 3e-4, NULL, err);
    if (!status)
        step_finish(b->step, &out, 0);
    return status;
}

/* ---- dense products ------------------------------------------------------------------------------------------ */

/* Computes code = x encoder', back = code decoder and slope = back decoder' for a chunk of rows. */
static void rows_task(void *context, int chunk, int worker)
{
    const struct bench_dictionary *b = context;
    int first = chunk * BLOCK, count = b->rows - first < BLOCK ? b->rows - first : BLOCK, m = b->width;
    float *code = b->code + (ptrdiff_t)first * m, *back = b->back + (ptrdiff_t)first * INPUTS;
    const float *x = b->x + (ptrdiff_t)first * INPUTS;
    struct gemm_call encode = {.transpose_b = true, .m = count, .n = m, .k = INPUTS, .alpha = 1, .a = x};
    encode.b = b->sae->encoder->value;
    encode.c = code;
    encode.lda = encode.ldb = INPUTS;
    encode.ldc = m;
    struct gemm_call decode = {.m = count, .n = INPUTS, .k = m, .alpha = 1, .a = code, .b = b->sae->decoder->value};
    decode.c = back;
    decode.lda = m;
    decode.ldb = decode.ldc = INPUTS;
    struct gemm_call slope = encode;
    slope.a = back;
    slope.b = b->sae->decoder->value;
    slope.c = b->slope + (ptrdiff_t)first * m;
    b->kernels->gemm(&encode);
    b->kernels->gemm(&decode);
    b->kernels->gemm(&slope);
}

/* Computes the gradient of one of the matrices, slope' x or code' back, for a chunk of latents. */
static void latents_task(void *context, int chunk, int worker)
{
    const struct bench_dictionary *b = context;
    int which = chunk % 2, first = chunk / 2 * LATENTS;
    int count = b->width - first < LATENTS ? b->width - first : LATENTS;
    struct gemm_call call = {.transpose_a = true, .m = count, .n = INPUTS, .k = b->rows, .alpha = 1};
    call.a = (which ? b->code : b->slope) + first;
    call.b = which ? b->back : b->x;
    call.c = b->grad + ((ptrdiff_t)which * b->width + first) * INPUTS;
    call.lda = b->width;
    call.ldb = call.ldc = INPUTS;
    b->kernels->gemm(&call);
}

static void dense_products(struct bench_dictionary *b)
{
    bench_pool_run(b->pool, rows_task, b, (b->rows + BLOCK - 1) / BLOCK);
    bench_pool_run(b->pool, latents_task, b, 2 * ((b->width + LATENTS - 1) / LATENTS));
}

/* ---- the benchmark ------------------------------------------------------------------------------------------- */

static void write_times(const struct bench_dictionary *b, struct bench_timing timing[3], const struct sink *sink)
{
    double d = INPUTS, m = b->width, rows = b->rows;
    double sparse = rows * (2 * d * m + 8 * ACTIVE * d), dense = rows * 10 * d * m;
    double peak = bench_fma_peak(b->pool, 0.3);
    sink_integer(sink, "threads", thread_pool_threads(b->pool));
    sink_integer(sink, "batch", b->rows);
    sink_integer(sink, "width", b->width);
    bench_write_timing(sink, "step", timing[0], sparse, 0);
    bench_write_timing(sink, "gradients", timing[1], sparse, 0);
    bench_write_timing(sink, "dense_products", timing[2], dense, 0);
    sink_number(sink, "samples_per_second", rows / timing[0].median);
    sink_number(sink, "fma_peak_gflops", peak);
    sink_number(sink, "share_of_peak", sparse / timing[0].median * 1e-9 / peak);
    sink_number(sink, "dense_over_gradients", timing[2].median / timing[1].median);
    sink_number(sink, "memory_bytes",
                (double)step_bytes(&b->sae->shape, b->rows, thread_pool_threads(b->pool)) +
                    2 * (double)params_bytes(b->sae->params));
}

static enum status run_width(const struct bench_options *options, int width, const struct sink *sink, struct error *err)
{
    enum { MOST = 256 };
    struct bench_dictionary b;
    struct bench_timing timing[3];
    struct step_outcome out;
    double took[3][MOST];
    int rounds = 0;
    enum status status = open_bench(&b, options, width, err);
    if (!status)
        status = whole_step(&b, err);
    double end = bench_now() + (options->seconds > 0 ? options->seconds : 15);
    while (!status && rounds < MOST && (rounds < 3 || bench_now() < end)) {
        double began = bench_now();
        status = whole_step(&b, err);
        double second = bench_now();
        if (!status)
            status = gradients(&b, &out, err);
        double third = bench_now();
        dense_products(&b);
        took[0][rounds] = second - began;
        took[1][rounds] = third - second;
        took[2][rounds] = bench_now() - third;
        rounds++;
    }
    for (int kind = 0; !status && kind < 3; kind++)
        timing[kind] = bench_summary(took[kind], rounds);
    if (!status)
        write_times(&b, timing, sink);
    close_bench(&b);
    return status;
}

enum status bench_dictionary_step(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    return run_width(options, 4096, sink, err);
}

enum status bench_dictionary_wide(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    return run_width(options, 16384, sink, err);
}
