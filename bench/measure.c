/* Functions that the benchmarks share: the clock, repeated timing, kernel table and memory. */
#include <stdlib.h>
#include <time.h>

#include "bench/bench_int.h"

static clockid_t clock_of_run = CLOCK_MONOTONIC; /* a static variable suffices, because one benchmark runs at a time */

void bench_use_clock(bool processor_time)
{
    clock_of_run = processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
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
        error_set(err, STATUS_INVALID, "/kernels", "this processor does not support the kernels %.20s",
                  options->kernels);
    return kernels;
}

real *bench_reals(size_t count, real value, struct error *err)
{
    size_t bytes = (count * sizeof(real) + 63) / 64 * 64;
    real *x = aligned_alloc(64, bytes);
    if (!x)
        error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %zu numbers", count);
    for (size_t i = 0; x && i < count; i++)
        x[i] = value;
    return x;
}
