/* Measures the two upper limits of the machine: multiply-adds in registers only, and copies through caches and memory.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CHAINS = 12, ROUNDS = 100000 };

/* Each function runs ROUNDS x CHAINS multiply-adds and returns the number of flops. The result goes to `sink`, so that
 * the compiler does not remove the loop. */
#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double fma_avx512(float *sink)
{
    __m512 acc[CHAINS], a = _mm512_set1_ps(sink[0]), b = _mm512_set1_ps(sink[1]);
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm512_fmadd_ps(acc[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        acc[0] = _mm512_add_ps(acc[0], acc[i]);
    sink[2] = _mm512_reduce_add_ps(acc[0]);
    return 2.0 * 16 * CHAINS * ROUNDS;
}

__attribute__((target("avx2,fma"))) static double fma_avx2(float *sink)
{
    __m256 acc[CHAINS], a = _mm256_set1_ps(sink[0]), b = _mm256_set1_ps(sink[1]);
    float lanes[8];
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm256_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm256_fmadd_ps(acc[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        acc[0] = _mm256_add_ps(acc[0], acc[i]);
    _mm256_storeu_ps(lanes, acc[0]);
    sink[2] = lanes[0];
    return 2.0 * 8 * CHAINS * ROUNDS;
}
#endif

static double fma_scalar(float *sink)
{
    float acc[CHAINS] = {0}, a = sink[0], b = sink[1];
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CHAINS; i++)
            acc[i] = acc[i] * a + b;
    for (int i = 0; i < CHAINS; i++)
        sink[2] += acc[i];
    return 2.0 * CHAINS * ROUNDS;
}

struct peak {
    struct thread_pool *pool;
    double (*loop)(float *sink);
    float state[256][16]; /* one cache line per thread */
    double flops;
};

static void peak_task(void *context, int chunk, int worker)
{
    struct peak *p = context;
    double flops = p->loop(p->state[chunk]);
    if (chunk == 0)
        p->flops = flops;
}

static void peak_work(void *context)
{
    struct peak *p = context;
    bench_pool_run(p->pool, peak_task, p, thread_pool_threads(p->pool));
}

double bench_fma_peak(struct thread_pool *pool, double seconds)
{
    struct peak p = {.pool = pool, .loop = fma_scalar};
    double best = 0;
    for (int t = 0; t < 256; t++) {
        p.state[t][0] = 0.999999f;
        p.state[t][1] = 1e-6f;
    }
#if defined(__x86_64__)
    /* Times both instruction sets and keeps the faster one: some processors execute two narrow instructions in the time
     * of a wide one. */
    const struct {
        const char *name;
        double (*loop)(float *sink);
    } loops[] = {{"avx2", fma_avx2}, {"avx512", fma_avx512}};
    for (int i = 0; i < 2; i++) {
        if (!kernels_named(loops[i].name))
            continue;
        p.loop = loops[i].loop;
        struct bench_timing t = bench_time(peak_work, &p, seconds);
        double rate = p.flops * thread_pool_threads(pool) / t.best;
        best = rate > best ? rate : best;
    }
#endif
    if (best == 0) {
        struct bench_timing t = bench_time(peak_work, &p, seconds);
        best = p.flops * thread_pool_threads(pool) / t.best;
    }
    return best * 1e-9;
}

enum { COPY_CHUNKS = 64, COPY_CHUNK_BYTES = 1 << 22 };

struct copy {
    struct thread_pool *pool;
    char *from, *to;
    size_t bytes; /* bytes that each chunk copies */
};

static void copy_task(void *context, int chunk, int worker)
{
    struct copy *c = context;
    memcpy(c->to + (size_t)chunk * c->bytes, c->from + (size_t)chunk * c->bytes, c->bytes);
}

static void copy_work(void *context)
{
    struct copy *c = context;
    bench_pool_run(c->pool, copy_task, c, COPY_CHUNKS);
}

/* Times a copy of COPY_CHUNKS chunks of `bytes` bytes, and writes its time and the bytes read and written per second.
 */
static void write_copy(const struct sink *sink, const char *key, struct copy *copy, size_t bytes, double seconds)
{
    copy->bytes = bytes;
    struct bench_timing t = bench_time(copy_work, copy, seconds);
    bench_write_timing(sink, key, t, 0, 2.0 * COPY_CHUNKS * (double)bytes);
}

static enum status peak_threads(int threads, double seconds, const struct sink *sink, struct error *err)
{
    struct copy copy = {0};
    enum status status = thread_pool_create(threads, &copy.pool, err);
    if (status)
        return status;
    size_t total = (size_t)COPY_CHUNKS * COPY_CHUNK_BYTES;
    copy.from = aligned_alloc(64, total);
    copy.to = aligned_alloc(64, total);
    if (!copy.from || !copy.to) {
        status = error_memory(err, "the copy benchmark");
    } else {
        memset(copy.from, 1, total);
        memset(copy.to, 1, total);
        sink_begin_object(sink, NULL);
        sink_integer(sink, "threads", threads);
        sink_number(sink, "fma_gflops", bench_fma_peak(copy.pool, seconds));
        write_copy(sink, "copy_memory", &copy, COPY_CHUNK_BYTES, seconds);
        write_copy(sink, "copy_4_mib", &copy, (size_t)1 << 15, seconds);
        write_copy(sink, "copy_256_kib", &copy, (size_t)1 << 11, seconds);
        sink_end_object(sink);
    }
    free(copy.from);
    free(copy.to);
    thread_pool_destroy(copy.pool);
    return status;
}

enum status bench_peak(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    double seconds = options->seconds > 0 ? options->seconds : 1;
    int first = options->threads ? options->threads : 1, last = options->threads ? options->threads : 2;
    enum status status = STATUS_OK;
    sink_begin_list(sink, "results");
    for (int threads = first; threads <= last && !status; threads++)
        status = peak_threads(threads, seconds, sink, err);
    sink_end_list(sink);
    return status;
}
