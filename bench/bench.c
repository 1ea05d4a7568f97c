#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench_int.h"
#include "core/kernels/blas.h"

static const struct bench table[] = {
    {"peak", "multiply-add and copy rates of this machine: the ceiling for all others", false, bench_peak},
    {"conv3x3", "3x3 convolutions at 16, 32 and 64 channels, each pass, as a share of the peak; residual units", false,
     bench_conv3x3},
    {"gemm", "matrix products of the shapes that the head uses", false, bench_gemm},
    {"passes", "batch norm, sparse layer, quantile and pooling: bytes moved a second", false, bench_passes},
    {"pathways", "Monte Carlo of activation pathways: trials a second; analyses by FFT and directly", false,
     bench_pathways},
    {"sparling-step", "one SPARLING training step, everything in it: presets small and paper", true,
     bench_sparling_step},
    {"sparling-forward", "motif maps, and labels read from them, in evaluation: presets small and paper", true,
     bench_sparling_forward},
    {"step-breakdown", "the same step by operation", true, bench_step_breakdown},
    {"superposition-step", "a training step of the superposition autoencoder beside a square product", false,
     bench_superposition_step},
    {"rug", "a Persian rug of 2^20 features applied to a vector", false, bench_rug},
    {NULL, NULL, false, NULL},
};

static clockid_t clock_of_run = CLOCK_MONOTONIC; /* one benchmark runs at a time */

const struct bench *bench_list(void)
{
    return table;
}

static void write_machine(const struct sink *sink, const struct bench_options *options)
{
    struct error ignored = {0};
    const struct kernels *kernels = bench_kernels(options, &ignored);
    sink_begin_object(sink, "machine");
    sink_text(sink, "kernels", kernels ? kernels->name : "unknown");
    sink_text(sink, "blas_core", blas_core());
    sink_text(sink, "blas_config", blas_config());
    sink_end_object(sink);
}

enum status bench_run(const char *name, const struct bench_options *options, const struct sink *sink, struct error *err)
{
    const struct bench *bench = table;
    if (options->threads < 0 || options->threads > 256)
        return error_set(err, STATUS_INVALID, "/threads", "must be in [0, 256]; got %d", options->threads);
    if (options->batch < 0 || options->batch > 1024)
        return error_set(err, STATUS_INVALID, "/batch", "must be in [0, 1024]; got %d", options->batch);
    if (!(options->density >= 0 && options->density <= 1))
        return error_set(err, STATUS_INVALID, "/density", "must be in [0, 1]; got %g", options->density);
    if (!(options->seconds >= 0 && options->seconds <= 3600))
        return error_set(err, STATUS_INVALID, "/seconds", "must be in [0, 3600]; got %g", options->seconds);
    while (bench->name && strcmp(bench->name, name) != 0)
        bench++;
    if (!bench->name)
        return error_set(err, STATUS_NOT_FOUND, "/name", "no benchmark is called %.40s", name);
    const char *odd = bench->network      ? NULL
                      : options->preset   ? "/preset"
                      : options->backward ? "/backward"
                      : options->set      ? "/set"
                                          : NULL;
    if (odd)
        return error_set(err, STATUS_INVALID, odd, "is for the benchmarks of a network; %s has none", bench->name);
    blas_init();
    clock_of_run = options->processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    sink_begin_object(sink, NULL);
    sink_text(sink, "benchmark", bench->name);
    sink_text(sink, "clock", options->processor_time ? "processor" : "wall");
    write_machine(sink, options);
    enum status status = bench->run(options, sink, err);
    sink_end_object(sink);
    return status;
}

double bench_now(void)
{
    struct timespec t;
    clock_gettime(clock_of_run, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct bench_timing bench_summary(double *took, int calls)
{
    qsort(took, (size_t)calls, sizeof *took, by_size);
    return (struct bench_timing){.best = took[0], .median = took[calls / 2], .calls = calls};
}

struct bench_timing bench_time(void (*work)(void *context), void *context, double seconds)
{
    enum { MOST = 4096 };
    double took[MOST], end;
    int calls = 0;
    work(context);
    end = bench_now() + seconds;
    while (calls < MOST && (calls < 3 || bench_now() < end)) {
        double before = bench_now();
        work(context);
        took[calls++] = bench_now() - before;
    }
    return bench_summary(took, calls);
}

void bench_write_timing(const struct sink *sink, const char *key, struct bench_timing timing, double flops,
                        double bytes)
{
    sink_begin_object(sink, key);
    sink_number(sink, "best_ms", timing.best * 1e3);
    sink_number(sink, "median_ms", timing.median * 1e3);
    if (flops > 0)
        sink_number(sink, "gflops", flops / timing.best * 1e-9);
    if (bytes > 0)
        sink_number(sink, "gb_per_second", bytes / timing.best * 1e-9);
    sink_end_object(sink);
}

const struct kernels *bench_kernels(const struct bench_options *options, struct error *err)
{
    const struct kernels *kernels = options->kernels ? kernels_named(options->kernels) : kernels_best();
    if (!kernels)
        error_set(err, STATUS_INVALID, "/kernels", "this processor does not run kernels called %.20s",
                  options->kernels);
    return kernels;
}

real *bench_reals(size_t count, real value, struct error *err)
{
    size_t bytes = (count * sizeof(real) + 63) / 64 * 64;
    real *x = aligned_alloc(64, bytes);
    if (!x)
        error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %zu numbers", count);
    for (size_t i = 0; x && i < count; i++)
        x[i] = value;
    return x;
}
