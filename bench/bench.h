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
    const char *preset;   /* of the network: "small" or "paper"; NULL: "small" */
    const char *kernels;  /* name of a kernel table; NULL: the best of this machine */
    int threads;          /* in [0, 256]; 0: 1 and 2 if the benchmark reports several, else 2 */
    int batch;            /* in [0, 1024]; 0: 10 */
    double density;       /* of the motif map, in [0, 1]; 0: 0.5 */
    const char *backward; /* of the network: "dense" (NULL), "sparse" or "auto", these with fixed statistics */
    const struct config_setting *set; /* fields of the network's configuration, up to field NULL; NULL: none */
    double seconds;                   /* per measurement, in [0, 3600]; 0: the benchmark's own default */
    bool processor_time; /* measure processor time of all threads, not wall time; for one thread on a busy machine */
};

struct bench {
    const char *name, *meaning;
    bool network; /* measures a SPARLING network; only then are preset, backward and set allowed */
    enum status (*run)(const struct bench_options *options, const struct sink *sink, struct error *err);
};

/* The static table of benchmarks; it ends with an entry without a name. */
const struct bench *bench_list(void);
/* Runs a benchmark and writes one object: name, clock, machine, results. Errors: STATUS_NOT_FOUND for an unknown name,
 * STATUS_INVALID for an option out of range (err->pointer names it), STATUS_NO_MEMORY. */
enum status bench_run(const char *name, const struct bench_options *options, const struct sink *sink,
                      struct error *err);

#endif
