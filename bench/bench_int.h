/* What the benchmarks share. */
#ifndef MOTIF_BENCH_BENCH_INT_H
#define MOTIF_BENCH_BENCH_INT_H

#include "bench/bench.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"

/* Selects the clock of bench_now(): processor time of all threads together, or wall time. */
void bench_use_clock(bool processor_time);
/* Seconds from some fixed moment, by the clock of the options. */
double bench_now(void);

struct bench_timing {
    double best, median; /* seconds a call */
    int calls;
};

/* Best and median of `calls` (> 0) times; sorts them. */
struct bench_timing bench_summary(double *took, int calls);
/* Calls `work` once to warm up, then for about `seconds` (3 times at least). */
struct bench_timing bench_time(void (*work)(void *context), void *context, double seconds);
/* Writes best_ms, median_ms and, where `flops` or `bytes` of a call are not 0, gflops and gb_per_second. */
void bench_write_timing(const struct sink *sink, const char *key, struct bench_timing timing, double flops,
                        double bytes);

/* The table that the options ask for; NULL and an error when this processor does not run it. */
const struct kernels *bench_kernels(const struct bench_options *options, struct error *err);
/* 64-byte aligned reals, all `value`; NULL and an error when there is no memory. */
real *bench_reals(size_t count, real value, struct error *err);

/* GFLOPS of a register-only multiply-add loop of the widest kind, on `threads` threads at once. */
double bench_fma_peak(struct thread_pool *pool, double seconds);

/* Seconds of one 3x3 convolution pass (0 forward, 1 gradient of the input, 2 of the weights) in libdnnl's own
 * layout; negative when it is not built in or fails. */
double bench_dnnl_conv(int pass, int images, int channels, int size, int threads, double seconds);

/* A residual unit in libdnnl's primitives: forward, then backward. False when it is not built in or fails. */
bool bench_dnnl_unit(int images, int channels, int size, int threads, double seconds, struct bench_timing timing[2]);
/* Ours, and beside it libdnnl's if there is one: writes an object for forward, backward and both. */
enum status bench_unit(const struct bench_options *options, struct thread_pool *pool, int channels, double seconds,
                       const struct sink *sink, struct error *err);

enum status bench_peak(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_conv3x3(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_gemm(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_passes(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_pathways(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_sparling_step(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_sparling_forward(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_step_breakdown(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_superposition_step(const struct bench_options *options, const struct sink *sink, struct error *err);
enum status bench_rug(const struct bench_options *options, const struct sink *sink, struct error *err);

#endif
