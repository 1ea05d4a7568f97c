/* Functions that the benchmarks share, and the benchmarks themselves. Private to this folder.
 *
 * Every bench_NAME() below writes its results into the object that bench_run() has opened. Errors: STATUS_INVALID for
 * options that it cannot use; STATUS_NO_MEMORY. */
#ifndef MOTIF_BENCH_BENCH_INT_H
#define MOTIF_BENCH_BENCH_INT_H

#include "bench/bench.h"
#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"

/* Selects the clock of bench_now(): processor time of all threads together, or wall time. */
void bench_use_clock(bool processor_time);
/* Returns the time of the selected clock, in seconds since a fixed moment. */
double bench_now(void);

/* Runs all chunks of a task. Ignores the result of thread_pool_run(), because no benchmark stops its pool. */
static inline void bench_pool_run(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks)
{
    bool done = thread_pool_run(pool, task, context, chunks);
    (void)done;
}

struct bench_timing {
    double best, median; /* the shortest and the median time of a call in seconds */
    int calls;
};

/* Returns the best and the median of took[calls], calls > 0. Sorts the array. */
struct bench_timing bench_summary(double *took, int calls);
/* Times `work`: calls it once to warm up, then repeatedly for about `seconds`, at least 3 times. */
struct bench_timing bench_time(void (*work)(void *context), void *context, double seconds);
/* Writes an object with best_ms and median_ms, and with gflops and gb_per_second if `flops` and `bytes` per call are
 * not 0. */
void bench_write_timing(const struct sink *sink, const char *key, struct bench_timing timing, double flops,
                        double bytes);

/* Returns the kernel table that the options select. Returns NULL and sets STATUS_INVALID if this processor does not
 * support it. */
const struct kernels *bench_kernels(const struct bench_options *options, struct error *err);
/* Allocates `count` reals, aligned to 64 bytes and set to `value`; the caller frees them. Returns NULL and sets
 * STATUS_NO_MEMORY if there is no memory. */
real *bench_reals(size_t count, real value, struct error *err);

/* Returns the GFLOPS of a multiply-add loop that uses registers only, with the fastest instructions of this processor,
 * on all threads of the pool. */
double bench_fma_peak(struct thread_pool *pool, double seconds);

/* Times a residual unit. Writes three objects: forward pass, backward pass, and both together. */
enum status bench_unit(const struct bench_options *options, struct thread_pool *pool, int channels, double seconds,
                       const struct sink *sink, struct error *err);

/* The benchmarks; bench.c lists their names and meanings. */
enum status bench_peak(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_conv3x3(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_conv1x3(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_gemm(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_passes(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_pathways(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_sparling_step(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_sparling_forward(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_step_breakdown(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_step_scaling(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_superposition_step(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_dictionary_step(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_dictionary_wide(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_rug(const struct bench_options *options, const struct sink *sink, struct error *err);

#endif
