/* Drives a method run without a daemon: an environment with checkpoints in memory. For tests and for the
 * programs that reproduce training, which with it run on OpenBLAS's kernels of motifd's choice. Not thread-safe. */
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
    struct run_env_checkpoint *list; /* every stage end, and the last of the others at the end */
    size_t count;
    int64_t seq;
    /* Watchers; may be NULL. */
    void *watcher;
    void (*metric)(void *watcher, const char *name, int64_t step, double value);
    void (*artifact)(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count);
};

enum status run_env_open(struct run_env *host, int threads, const char *kernels, struct error *err);
void run_env_close(struct run_env *host);

/* Saves into memory, and a reader over it. */
enum status run_env_save(const struct method *method, struct method_run *run, struct run_env_bytes *bytes,
                         struct error *err);
struct snapshot_reader run_env_reader(struct run_env_bytes *bytes);
void run_env_bytes_close(struct run_env_bytes *bytes);

/* One step; does what it asks for. `done` when the run is finished. */
enum status run_env_step(struct run_env *host, const struct method *method, struct method_run *run,
                         enum method_request *wish, struct error *err);

/* A run from its beginning to its end, in steps of one piece; with `every`, saved, destroyed, made anew and loaded
 * after each so many. */
struct run_env_plan {
    const struct method *method;
    const void *config;
    const char *data;
    int threads, every;
    void (*look)(void *context, struct method_run *run); /* at the end; may be NULL */
    void *context;
};
/* What it gave: of two runs that are the same, every byte here is. */
struct run_env_witness {
    char weights[65];                                    /* as below */
    unsigned char state[HASH_BYTES], series[HASH_BYTES]; /* of the last checkpoint; of metrics and artifacts */
    int64_t metrics, artifacts, bytes;                   /* bytes: of the last checkpoint */
};
enum status run_env_run(const struct run_env_plan *plan, struct run_env_witness *witness, int *steps,
                        struct error *err);

/* SHA-256 of the weights (with statistics and thresholds) of a saved stream, 64 hex digits and NUL. */
enum status run_env_weights_hash(struct run_env_bytes *bytes, char hex[65], struct error *err);

#endif
