/* Decides which job runs when. Each of N workers claims the queued job with the highest priority, the oldest among
 * equals, and runs it until the job ends, yields or must stop. Further workers run only evaluations, so that an
 * evaluation need not wait for a training to end.
 *
 * The queue is in the database (storage_job_claim), so a crash loses nothing here. A worker sleeps until it is woken.
 * It also looks at the queue every few seconds, so a lost wake-up delays a job and has no other effect. The function
 * that runs a job is an option: the executor (executor.h), or a function of a test. */
#ifndef MOTIF_SERVER_SCHEDULER_H
#define MOTIF_SERVER_SCHEDULER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/error.h"
#include "server/process/journal.h"
#include "storage/storage.h"

struct scheduler;

/* Signals to a running job. The job reads `look` and `drain` after every step, and `look_within` and `cancelled` within
 * a step. */
struct job_control {
    atomic_bool look;        /* storage contains a requested state that the job must read; set at the start of a run */
    atomic_bool look_within; /* as `look`, for the check within a step; this check stops the step only if the job was
                                cancelled */
    atomic_bool cancelled;   /* the check within a step has found that the job was cancelled */
    atomic_bool drain;       /* the process is about to end, so the job must save a checkpoint and yield */
    atomic_bool cancel;      /* a client cancelled the job while the disk was too full to store this; the end of the run
                                stores it */
    _Atomic enum status blocked; /* why the run waits until a write succeeds, such as STATUS_FULL; STATUS_OK: it does
                                    not wait */
};

struct scheduler_options {
    struct storage *storage;
    struct journal *journal;
    int workers;
    int evaluators; /* number of workers that run only evaluations, in addition to `workers` */
    int nice;       /* added to the nice value of the workers and of the threads that they start; 0: no change */
    /* Runs a claimed job on a worker's thread, and returns when the job has left the running state. If storage could
     * not record this, the next start of the daemon will. */
    void (*run)(void *context, const char *job, struct job_control *control);
    void *context;
};

/* Starts the workers. Copies the options. STATUS_NO_MEMORY; STATUS_UNAVAILABLE: a thread could not be started.
 */
enum status scheduler_start(const struct scheduler_options *options, struct scheduler **scheduler, struct error *err);

/* Wakes the idle workers, because the queue may have a new job. Any thread; returns at once. */
void scheduler_wake(struct scheduler *scheduler);
/* Makes a running job read its requested state after the current step. Has no effect when the job does not run here.
 * Any thread. */
void scheduler_poke(struct scheduler *scheduler, const char *job);
/* Cancels a running job although storage could not record this. Returns false when the job does not run here. Any
 * thread. */
bool scheduler_cancel(struct scheduler *scheduler, const char *job);
/* Records why the trainer of a running job waits, or that it continues (STATUS_OK). Any thread. */
void scheduler_block(struct scheduler *scheduler, const char *job, enum status status);
/* Returns why a job waits for a write, or STATUS_OK. *cancelled: whether scheduler_cancel() was called for it. Any
 * thread. */
enum status scheduler_blocked(struct scheduler *scheduler, const char *job, bool *cancelled);
int scheduler_blocked_count(struct scheduler *scheduler); /* running jobs that wait for a write */
int scheduler_busy(struct scheduler *scheduler);          /* workers that run a job, except those for evaluations */

/* Stops claiming jobs. Running jobs save a checkpoint and yield. */
void scheduler_drain(struct scheduler *scheduler);
/* After a drain: waits at most `wait_ms` until no job runs. Returns false when a job still runs. */
bool scheduler_drained(struct scheduler *scheduler, int wait_ms);
/* Drains, waits until every job has stopped, ends the threads and frees the scheduler. NULL is allowed. */
void scheduler_stop(struct scheduler *scheduler);

#endif
