/* Benchmarks: the speed limits of this machine, and how close the program gets to them.
 *
 * bench_run() opens an object in a sink and the benchmark writes its results there, so a caller may print, store or
 * serve them. A benchmark repeats its work for about `seconds` and reports the best and the median time: the best shows
 * the speed of the code, the median the speed on a busy machine. One benchmark runs at a time in a process. */
#ifndef MOTIF_BENCH_BENCH_H
#define MOTIF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/sink.h"

struct bench_options {
    const char *preset;  /* preset of the network: "small" or "paper"; NULL selects "small" */
    const char *kernels; /* name of a kernel table; NULL selects the best of this machine */
    /* number of threads, in [0, 256]; 0: the benchmark's default (1 thread, 2 threads, or one measurement with each) */
    int threads;
    int batch;      /* number of samples in a batch, in [0, 1024]; 0 selects 10 */
    double density; /* density of the motif map, in [0, 1]; 0 selects 0.5 */
    /* backward pass of the network: "dense", "sparse" or "auto"; NULL selects "dense". The values "sparse" and "auto"
     * also set exec.hold (core/autodiff/tape.h). */
    const char *backward;
    /* overrides of the network's configuration; the list ends with field NULL; NULL if there are none */
    const struct config_setting *set;
    double seconds; /* seconds per measurement, in [0, 3600]; 0 selects the benchmark's own default */
    /* measure the processor time of all threads instead of wall time; useful for one thread on a busy machine */
    bool processor_time;
};

struct bench {
    const char *name, *meaning;
    bool network; /* measures a SPARLING network; other benchmarks refuse preset, backward and set */
    enum status (*run)(const struct bench_options *options, const struct sink *sink, struct error *err);
};

/* The static table of benchmarks; it ends with an entry without a name. */
const struct bench *bench_list(void);
/* Runs a benchmark and writes one object: name, clock, machine, results. Errors: STATUS_NOT_FOUND for an unknown name,
 * STATUS_INVALID for an option out of range (err->pointer names it), STATUS_NO_MEMORY. */
enum status bench_run(const char *name, const struct bench_options *options, const struct sink *sink,
                      struct error *err);

#endif
