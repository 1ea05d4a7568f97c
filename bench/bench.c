/* The table of benchmarks, and bench_run(), which checks the options and runs one of them. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bench_int.h"
#include "core/kernels/blas.h"

static const struct bench table[] = {
    {"peak", "multiply-add and copy rates of this machine, the upper limit for all other benchmarks", false,
     bench_peak},
    {"conv3x3", "each pass of 3x3 convolutions at 16 to 128 channels, as a share of the peak; residual units", false,
     bench_conv3x3},
    {"conv1x3", "each pass of 1x3 convolutions of sequences, 300 and 512 positions, at 16 and 32 channels", false,
     bench_conv1x3},
    {"gemm", "matrix products with the shapes of SPARLING's head", false, bench_gemm},
    {"passes", "batch norm, sparse layer, quantile and max pooling: bytes moved per second", false, bench_passes},
    {"pathways", "Monte Carlo trials of activation pathways per second; analyses by FFT and directly", false,
     bench_pathways},
    {"sparling-step", "a complete SPARLING training step; presets small, paper, dna and dna-first", true,
     bench_sparling_step},
    {"sparling-forward", "motif maps and decoded labels in evaluation; presets small, paper and dna", true,
     bench_sparling_forward},
    {"step-breakdown", "a SPARLING training step by operation; presets small, paper, dna and dna-first", true,
     bench_step_breakdown},
    {"step-scaling", "a SPARLING training step on one thread, and the times that its parts predict for 2 to 64 threads",
     true, bench_step_scaling},
    {"dictionary-step", "a training step of a sparse autoencoder with 4,096 latents, compared with dense products",
     false, bench_dictionary_step},
    {"dictionary-wide", "a training step of a sparse autoencoder with 16,384 latents, compared with dense products",
     false, bench_dictionary_wide},
    {"superposition-step", "a training step of the superposition autoencoder, compared with a square matrix product",
     false, bench_superposition_step},
    {"rug", "a Persian rug of 2^20 features applied to a vector", false, bench_rug},
    {NULL, NULL, false, NULL},
};

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
        return error_set(err, STATUS_NOT_FOUND, "/name", "there is no benchmark %.40s", name);
    const char *odd = bench->network      ? NULL
                      : options->preset   ? "/preset"
                      : options->backward ? "/backward"
                      : options->set      ? "/set"
                                          : NULL;
    if (odd)
        return error_set(err, STATUS_INVALID, odd, "is only for benchmarks of a network; %s is none", bench->name);
    blas_init();
    bench_use_clock(options->processor_time);
    sink_begin_object(sink, NULL);
    sink_text(sink, "benchmark", bench->name);
    sink_text(sink, "clock", options->processor_time ? "processor" : "wall");
    write_machine(sink, options);
    enum status status = bench->run(options, sink, err);
    sink_end_object(sink);
    return status;
}
