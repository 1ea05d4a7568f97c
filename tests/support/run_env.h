/* Drives the run of a method without a daemon, with checkpoints in memory. For tests and for the programs that
 * reproduce training. A program with this file restarts itself with the OpenBLAS kernels that motifd would choose. Not
 * thread-safe.
 */
#ifndef MOTIF_TESTS_SUPPORT_RUN_ENV_H
#define MOTIF_TESTS_SUPPORT_RUN_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/methods/method.h"

struct run_env_bytes {
    char *data;
    size_t count, room;
};

struct run_env_checkpoint {
    struct method_checkpoint info;
    struct run_env_bytes bytes;
};

struct run_env {
    struct thread_pool *pool;
    struct method_env env;
    const struct method *method;     /* the method of the last step; NULL: none yet */
    struct run_env_checkpoint *list; /* all checkpoints that end a stage, and the newest checkpoint */
    size_t count;
    int64_t seq;
    /* Each step passes its metrics to metric() and its artifacts to artifact(), with `watcher` as their context. Both
     * functions may be NULL. */
    void *watcher;
    void (*metric)(void *watcher, const char *name, int64_t step, double value);
    void (*artifact)(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count);
};

/* Opens an environment. kernels: name of a kernel table, NULL: the best one. */
enum status run_env_open(struct run_env *environment, int threads, const char *kernels, struct error *err);
void run_env_close(struct run_env *environment);

/* run_env_save() saves a run into memory. run_env_reader() makes a reader of saved bytes; the bytes must stay valid as
 * long as the reader is used. */
enum status run_env_save(const struct method *method, struct method_run *run, struct run_env_bytes *bytes,
                         struct error *err);
struct snapshot_reader run_env_reader(struct run_env_bytes *bytes);
void run_env_bytes_close(struct run_env_bytes *bytes);

/* Does one step and then what the step requests, for example saving a checkpoint. *request: METHOD_DONE at the end of
 * the run. */
enum status run_env_step(struct run_env *environment, const struct method *method, struct method_run *run,
                         enum method_request *request, struct error *err);

/* A whole run. Each step is as short as possible. If `every` > 0, the run is saved, destroyed, created and loaded after
 * every `every` steps. */
struct run_env_plan {
    const struct method *method;
    const void *config;
    const char *data;
    int threads, every;
    void (*look)(void *context, struct method_run *run); /* called at the end; may be NULL */
    void *context;
};
/* The results of a run. Equal runs give equal bytes. */
struct run_env_witness {
    char weights[65]; /* from run_env_weights_hash() */
    /* SHA-256. state: of the last checkpoint; series: of all metrics but the speed, and of artifacts */
    unsigned char state[HASH_BYTES], series[HASH_BYTES];
    int64_t metrics, artifacts, bytes; /* number of metrics, number of artifacts, bytes of the last checkpoint */
};
enum status run_env_run(const struct run_env_plan *plan, struct run_env_witness *witness, int *steps,
                        struct error *err);

/* Computes the SHA-256 of the weights in a saved checkpoint, including running statistics and thresholds. hex: receives
 * 64 hex digits and NUL. */
enum status run_env_weights_hash(struct run_env_bytes *bytes, char hex[65], struct error *err);

#endif
