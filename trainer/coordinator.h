/* What a run of a job needs of the outside: where series, progress, files and checkpoints go, where checkpoints come
 * from, whether to stop, and how the end is told.
 *
 * There are two. The thread executor (server/executors/executor_thread.c) calls storage and the journal. motif-train
 * (remote.h) speaks HTTP with the daemon. The loop (run.h) knows neither.
 *
 * Every function is called on the thread that drives the run. A status other than OK fails the run, unless said
 * otherwise. Types are storage's, so that nothing is translated twice; none of its functions is called. */
#ifndef MOTIF_TRAINER_COORDINATOR_H
#define MOTIF_TRAINER_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "storage/storage.h"

/* Whose checkpoints: the job's own, or those of the job that it starts from or evaluates. */
enum run_of { RUN_OF_JOB, RUN_OF_SOURCE };

struct coordinator {
    void *context; /* passed to each */

    enum status (*metrics)(void *context, const struct storage_metric *points, size_t count, struct error *err);
    enum status (*progress)(void *context, const char *document, struct error *err);
    enum status (*artifact)(void *context, const char *name, const char *media_type, const void *bytes, size_t count,
                            struct error *err);

    /* begin → to->write ... → commit | abandon, because of `why`; one at a time. commit and abandon end it, also when
     * they fail. *seq is 0 where the number is not known yet. */
    enum status (*save_begin)(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err);
    enum status (*save_commit)(void *context, int64_t *seq, struct error *err);
    void (*save_abandon)(void *context, const struct error *why);

    /* Oldest first, all that was saved before among them. */
    enum status (*list)(void *context, enum run_of of, struct arena *arena, struct storage_checkpoint **list,
                        size_t *count, struct error *err);
    /* NOT_FOUND where there is none. The reader is closed by close(); `info` may be NULL. */
    enum status (*open)(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                        struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err);
    void (*close)(void *context, void *reader); /* NULL is fine */
    /* Points behind `last_samples` go: the run continues from there. */
    enum status (*rewind)(void *context, int64_t last_samples, struct error *err);

    bool (*must_yield)(void *context); /* after every step: save, and leave the job to others */
    bool (*draining)(void *context);   /* no time to try again */
    /* A step was made. gflops: of a thread, 0 where that is no gauge. */
    void (*stepped)(void *context, int64_t samples, double seconds, double gflops);
    void (*line)(void *context, enum log_level level, const char *text);

    /* The end: JOB_EVENT_SUCCEED with `result`, FAIL with `error`, YIELD with neither. The last call. */
    void (*leave)(void *context, enum job_event event, const char *result, const char *error, double seconds);
};

#endif
