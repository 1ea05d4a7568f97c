/* What the process (server/) passes to api_create(): settings, limits, and functions that handlers call. */
#ifndef MOTIF_API_HTTP_OPTIONS_H
#define MOTIF_API_HTTP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/methods/method.h"

struct storage;

/* Facts of the process for /v1/system, /metrics, results and estimates. Texts are copied by nobody:
 * static, or living as long as the api. */
struct api_system {
    const char *version, *build, *compiler; /* "0.1.0", "release gcc 12.2.0", ... */
    const char *cpu, *cpu_features;         /* brand; "avx2 fma avx512f ..." in use */
    const char *kernels;                    /* "avx512" */
    const char *blas, *blas_core;           /* "OpenBLAS 0.3.21", "Haswell" */
    int cores, workers, workers_busy, threads_per_job;
    int64_t started_at;       /* milliseconds since 1970 */
    double gflops_per_thread; /* measured on this machine in training; 0: not known */
    uint64_t steps, samples;  /* done by this process since it started */
    uint64_t memory_bytes;    /* resident; 0: not known */
    int64_t queue_limit;      /* jobs that may wait; 0: no limit */
    bool tokens_required;
};

/* Calls into the process. Each may be called from any thread and must not block. */
struct api_daemon {
    void *context;
    void (*jobs_waiting)(void *context);                   /* a job was stored or resumed: look at the queue */
    void (*job_requested)(void *context, const char *job); /* pause or cancel was recorded for a running job */
    bool (*draining)(void *context);
    void (*system)(void *context, struct api_system *out);
    /* Further families for /metrics in Prometheus text; NULL: none. */
    void (*metrics)(void *context, struct buf *out);
    /* What a trainer in another process has done since it last said so; gflops of a thread, 0: not known. A checkpoint
     * of such a trainer is stored. May be NULL. */
    void (*trained)(void *context, uint64_t steps, uint64_t samples, double step_seconds, double gflops);
    void (*saved)(void *context);
};

struct api_options {
    struct storage *storage;             /* borrowed, outlives the api */
    const struct method *const *methods; /* borrowed */
    size_t method_count;
    const struct kernels *kernels; /* for queries */
    const char *data;              /* folder of data sets; borrowed; NULL: none */
    struct log_hook log;
    struct api_daemon daemon;
    uint64_t model_cache_bytes; /* models kept open for queries; 0: 1 GiB */
    int64_t job_memory;         /* most bytes that a job may need by its estimate; 0: not limited */
    struct api_share {          /* of one token; 0: not limited */
        int64_t jobs;           /* that are not finished */
        int64_t threads;        /* of its running jobs together; storage sees to it (owner_threads) */
        int64_t job_bytes;      /* of the checkpoints and files of its jobs, looked at when it submits */
        int64_t dataset_bytes;  /* of the data sets that it uploaded */
    } share;
    const char *const *executors; /* that a job may ask for, the default first; ends with NULL. NULL: "thread" alone */
    int threads_max;              /* most threads of one job; 0: 256 */
    int64_t upload_bytes;         /* of one upload of a data set; 0: 1 GiB */
    int64_t datasets_bytes;       /* of all data sets that were uploaded; 0: 16 GiB */
    int uploads_at_once;          /* 0: 2; more get 429 */
    int queries_at_once;          /* motif and predict queries that may compute; 0: 4; more get 429 */
};

#endif
