/* The interface between a run and its surroundings: where metrics, progress, files and checkpoints go, where
 * checkpoints come from, whether to stop, and who receives the end of the run.
 *
 * There are two implementations. The thread executor (server/executors/executor_thread.c) calls storage. motif-train
 * (remote.h) sends HTTP requests to the daemon. The training loop (run.h) depends on neither.
 *
 * All functions are called on the thread that drives the run. Unless stated otherwise, a status other than OK fails
 * the run. The interface uses types of storage so that both sides need no translation; it calls no function of
 * storage. */
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

/* The job whose checkpoints to read: this job itself, or its source (the job that it starts from or evaluates). */
enum run_of { RUN_OF_JOB, RUN_OF_SOURCE };

struct coordinator {
    void *context; /* passed to every function */

    enum status (*metrics)(void *context, const struct storage_metric *points, size_t count, struct error *err);
    enum status (*progress)(void *context, const char *document, struct error *err);
    enum status (*artifact)(void *context, const char *name, const char *media_type, const void *bytes, size_t count,
                            struct error *err);

    /* Saves a checkpoint: save_begin, then writes to `to`, then commit, or abandon with the reason. Only one checkpoint
     * may be open at a time. commit and abandon close it, also when they fail. commit sets *seq to 0 if the sequence
     * number of the checkpoint is not known yet. */
    enum status (*save_begin)(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err);
    enum status (*save_commit)(void *context, int64_t *seq, struct error *err);
    void (*save_abandon)(void *context, const struct error *why);

    /* Lists the checkpoints, oldest first, including all that this run saved. */
    enum status (*list)(void *context, enum run_of of, struct arena *arena, struct storage_checkpoint **list,
                        size_t *count, struct error *err);
    /* Opens a checkpoint; the caller calls close() for the reader. `info` may be NULL. NOT_FOUND: no checkpoint matches
     * `pick`. */
    enum status (*open)(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                        struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err);
    void (*close)(void *context, void *reader); /* `reader` may be NULL */
    /* Removes the metric points with more than `last_samples` samples, because the run continues from a checkpoint with
     * that number of samples; -1: removes all points. */
    enum status (*rewind)(void *context, int64_t last_samples, struct error *err);

    /* Called after every step. Returns true if the run must save a checkpoint and yield. */
    bool (*must_yield)(void *context);
    /* Called about every 10 ms within a step, from any thread of the run; must return quickly. Returns true if the job
     * was cancelled; the run then gives up a step or a save that takes longer than half a second. May be NULL. */
    bool (*must_stop)(void *context);
    /* Returns true if the process is ending; the run then does not repeat a failed save. */
    bool (*draining)(void *context);
    /* Reports why the run waits until a write succeeds (STATUS_FULL), or that it continues (STATUS_OK). May be NULL. */
    void (*blocked)(void *context, enum status status);
    /* Reports a completed step. gflops is the speed of one thread; 0: unknown. */
    void (*stepped)(void *context, int64_t samples, double seconds, double gflops);
    void (*line)(void *context, enum log_level level, const char *text);

    /* Reports the end: JOB_EVENT_SUCCEED with `result`, JOB_EVENT_FAIL with `error`, or JOB_EVENT_YIELD with neither.
     * This is the last call. */
    void (*leave)(void *context, enum job_event event, const char *result, const char *error, double seconds);
};

#endif
