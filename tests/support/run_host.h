/* Drives a method run without a daemon: an environment with checkpoints in memory. For tests and for the
 * programs that reproduce training, which with it run on OpenBLAS's kernels of motifd's choice. Not thread-safe. */
#ifndef MOTIF_TESTS_SUPPORT_RUN_HOST_H
#define MOTIF_TESTS_SUPPORT_RUN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/methods/method.h"

struct host_bytes {
    char *data;
    size_t count, room;
};

struct host_checkpoint {
    struct method_checkpoint info;
    struct host_bytes bytes;
};

struct run_host {
    struct pool *pool;
    struct method_env env;
    struct host_checkpoint *list; /* every stage end, and the last of the others at the end */
    size_t count;
    int64_t seq;
    /* Watchers; may be NULL. */
    void *watcher;
    void (*metric)(void *watcher, const char *name, int64_t step, double value);
    void (*artifact)(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count);
};

enum status host_open(struct run_host *host, int threads, const char *kernels, struct error *err);
void host_close(struct run_host *host);

/* Saves into memory, and a reader over it. */
enum status host_save(const struct method *method, struct method_run *run, struct host_bytes *bytes,
                      struct error *err);
struct pack_reader host_reader(struct host_bytes *bytes);
void host_bytes_close(struct host_bytes *bytes);

/* One step; does what it asks for. `done` when the run is finished. */
enum status host_step(struct run_host *host, const struct method *method, struct method_run *run,
                      enum method_wish *wish, struct error *err);

/* A run from its beginning to its end, in steps of one piece; with `every`, saved, destroyed, made anew and loaded after
 * each so many. */
struct host_course {
    const struct method *method;
    const void *config;
    const char *data;
    int threads, every;
    void (*look)(void *context, struct method_run *run); /* at the end; may be NULL */
    void *context;
};
/* What it gave: of two runs that are the same, every byte here is. */
struct host_witness {
    char weights[65];                                           /* as below */
    unsigned char state[HASH_BYTES], series[HASH_BYTES];        /* of the last checkpoint; of metrics and artifacts */
    int64_t metrics, artifacts, bytes;                          /* bytes: of the last checkpoint */
};
enum status host_run(const struct host_course *course, struct host_witness *witness, int *steps, struct error *err);

/* SHA-256 of the weights (with statistics and thresholds) of a saved stream, 64 hex digits and NUL. */
enum status host_weights_hash(struct host_bytes *bytes, char hex[65], struct error *err);

#endif
