/* What the process (server/) passes to api_create(): settings, limits, and functions that handlers call. */
#ifndef MOTIF_API_HTTP_OPTIONS_H
#define MOTIF_API_HTTP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/base/work.h"
#include "core/formats/byte_source.h"
#include "core/methods/method.h"

struct api_sign_in;
struct api_token_request;
struct storage;

/* Facts about the process for /v1/system, /metrics, results and estimates. The texts are borrowed: they must stay valid
 * as long as the api exists. */
struct api_system {
    const char *version, *build, *compiler; /* such as "0.1.0", "0.1.0 release gcc 12.2.0", "gcc 12.2.0" */
    const char *cpu, *cpu_features; /* name of the processor, and the features in use, such as "avx2 fma avx512f" */
    const char *kernels;            /* name of the kernel table, such as "avx512" */
    const char *blas, *blas_core;   /* name and version of the BLAS library ("OpenBLAS 0.3.21"), and the kernel set that
                                       it uses ("Haswell") */
    int cores, workers, workers_busy, threads_per_job;
    int jobs_blocked;         /* running jobs that wait until a write succeeds */
    int64_t started_at;       /* milliseconds since 1970 */
    double gflops_per_thread; /* speed that trainings on this machine have reached; 0: not measured yet */
    double pace; /* speed of a thread of this processor, relative to the processor on which the methods' costs were
                    measured (2: twice as fast); 0: unknown */
    uint64_t steps, samples; /* steps and samples of trainings since the process started */
    uint64_t memory_bytes;   /* resident memory; 0: unknown */
    int64_t queue_limit;     /* upper limit of the jobs in the queue; 0: no limit */
    bool tokens_required;
};

/* Functions of the process that handlers call, from any thread. They must return without waiting, where they do not say
 * otherwise. */
struct api_daemon {
    void *context;
    void (*jobs_waiting)(void *context); /* A job was stored or resumed: the scheduler should check the queue. */
    void (*job_requested)(void *context, const char *job); /* A client requested that a running job pause or stop. */
    /* Cancels a running job although the disk was too full to store this. Returns false if the job does not run in this
     * daemon. May be NULL. */
    bool (*job_cancel)(void *context, const char *job);
    /* Returns why a running job waits until a write succeeds ("disk full"), or NULL. *cancelled: whether job_cancel()
     * was called for it. May be NULL. */
    const char *(*job_blocked)(void *context, const char *job, bool *cancelled);
    /* A report of the job's trainer was stored (STATUS_OK) or could not be stored. May be NULL. */
    void (*job_reported)(void *context, const char *job, enum status status);
    bool (*draining)(void *context);
    void (*system)(void *context, struct api_system *out);
    /* Appends further metrics for /metrics as Prometheus text; NULL: none. */
    void (*metrics)(void *context, struct buf *out);
    /* Counts the work that a trainer in another process has done since its last report. gflops: speed of one thread; 0:
     * unknown. The function may be NULL. */
    void (*trained)(void *context, uint64_t steps, uint64_t samples, double step_seconds, double gflops);
    /* Creates, lists or revokes tokens (api/tokens.h); waits for the disk. NULL: the daemon has no tokens. */
    enum status (*tokens)(void *context, const struct api_token_request *request, struct buf *out, struct error *err);
    /* Receives a complete entry of the audit log: a line of JSON with its end. May wait for a disk. NULL: none. */
    void (*audited)(void *context, const char *line, size_t bytes);
    /* Signs people in on the page (api/sign_in.h); may wait for the issuer. Returns false with sign_in->fault. NULL:
     * the daemon offers no sign-in. */
    bool (*sign_in)(void *context, struct api_sign_in *sign_in);
    void (*saved)(void *context); /* Counts a checkpoint that a trainer in another process has stored; may be NULL. */
};

/* An upload in a format that the api cannot read itself. The texts are the name of the format and the client's
 * options; "": not set. */
struct api_conversion {
    int file; /* descriptor from which the whole upload can be read */
    const char *format, *layer, *label, *group, *id;
    void *context;
    /* Reads the table that the converter writes (core/formats/table/table_stream.h). */
    enum status (*take)(void *context, const struct byte_source *table, struct error *err);
    struct work *work; /* ends when the client has abandoned the upload */
};

/* The converter: a program that reads uploads in formats that the api cannot read itself. */
struct api_converter {
    void *context;
    /* Runs the program and passes its output to conversion->take(). Returns the first error. `convert` is NULL if there
     * is no converter. */
    enum status (*convert)(void *context, const struct api_conversion *conversion, struct error *err);
};

struct api_options {
    struct storage *storage;             /* borrowed; must outlive the api */
    const struct method *const *methods; /* borrowed */
    size_t method_count;
    const struct kernels *kernels; /* the kernels with which queries compute; borrowed */
    const char *data;              /* folder of data sets; borrowed; NULL: the daemon has none */
    struct log_hook log;
    struct api_daemon daemon;
    struct api_converter converter;
    uint64_t model_cache_bytes; /* upper limit of the memory of all open models together; 0 selects 1 GiB */
    int64_t job_memory;         /* upper limit of a job's estimated memory; 0: no limit */
    struct api_share {          /* the quota of one token; 0 in a member: no limit */
        int64_t jobs;           /* upper limit of the jobs that are not finished */
        /* upper limit of the threads of all running jobs of a token; storage enforces it (owner_threads) */
        int64_t threads;
        /* upper limit of the bytes of checkpoints and files of the token's jobs; checked at each submission */
        int64_t job_bytes;
        int64_t dataset_bytes;           /* upper limit of the bytes of the data sets that the token uploaded */
        int64_t team_jobs, team_threads; /* jobs and threads of a team; teams without a name have no limit */
        int64_t team_job_bytes, team_dataset_bytes; /* the same bytes of all members of the team */
    } share;
    /* executors that a job may request, the default first; ends with NULL. NULL: only "thread" */
    const char *const *executors;
    int threads_max;        /* upper limit of the threads of one job; 0 selects 256 */
    int64_t upload_bytes;   /* upper limit of the bytes of one upload of a data set; 0 selects 1 GiB */
    int64_t import_bytes;   /* upper limit of the bytes of an imported model or a bundle; 0 selects 128 MiB */
    int64_t datasets_bytes; /* upper limit of the bytes of all uploaded data sets together; 0 selects 16 GiB */
    int uploads_at_once;    /* upper limit of simultaneous uploads; further ones get 429; 0 selects 4 */
    int64_t upload_seconds; /* seconds that an upload may be read after its last byte; 0: no limit */
    int queries_at_once;    /* upper limit of the queries that compute at the same time; 0 selects 4 */
    int queries_waiting;    /* upper limit of the queries that wait; further ones get 429 */
    int64_t query_seconds;  /* seconds that a query may take, including its wait; 0: no limit */
    int imports_at_once;    /* upper limit of simultaneous imports; further ones get 429; 0 selects 2 */
    /* upper limit of the bytes of temporary files of all requests: large bodies, unpacked uploads, answers of many
     * rows; further requests get 503; 0 selects 8 GiB */
    int64_t request_files;
};

#endif
