/* Benchmarks: what this machine can do, and how near the program comes.
 *
 * Each writes members into an object of a sink that bench_run() has opened, so a caller may print them, keep
 * them or serve them. A benchmark repeats its work for about `seconds` and reports the best and the
 * median; the best is what the code can do, the median what a busy machine gives. */
#ifndef MOTIF_BENCH_BENCH_H
#define MOTIF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/sink.h"

struct bench_options {
    const char *preset;  /* of the network, for whole steps: "small", "paper", ...; NULL: "small" */
    const char *kernels; /* table by name; NULL: the best of this machine */
    int threads;         /* 0: 1 and 2 where a benchmark reports several, else 2 */
    int batch;           /* 0: 10 */
    double density;      /* of the motif map; 0: 0.5 */
    const char
        *backward; /* of whole steps: "dense" (NULL: that); "sparse" or "auto", with statistics held on one sample */
    const struct config_setting
        *set;            /* fields of the network's configuration, for whole steps; ends with field NULL. NULL: none */
    double seconds;      /* for each measured thing; 0: what the benchmark thinks enough */
    bool processor_time; /* measure time on a processor, of all threads together, instead of wall time: for one thread
                            on a machine that does other things as well */
};

struct bench {
    const char *name, *meaning;
    bool network; /* of a SPARLING network: preset, backward and set are options of these alone */
    enum status (*run)(const struct bench_options *options, const struct sink *sink, struct error *err);
};

/* The table, ended by an entry without a name. */
const struct bench *bench_list(void);
/* Writes one object: the name, the machine, then what the benchmark finds. STATUS_NOT_FOUND for an unknown name,
 * STATUS_INVALID for options out of range; `pointer` names the option. */
enum status bench_run(const char *name, const struct bench_options *options, const struct sink *sink,
                      struct error *err);

#endif
