/* Which job runs when: N workers, each of which takes the queued job with the highest priority (the
 * oldest among equals) and runs it until it ends, yields or is told to. Further workers take evaluations
 * alone: who asks how good a model is need not wait until every training has ended.
 *
 * The queue itself is in the database (storage_job_claim), so there is nothing here that a crash
 * could lose. A worker sleeps until it is woken; it also looks by itself every few seconds, so a
 * lost wake-up costs time and nothing else. What a worker does with a job is a function it is given:
 * the executor (executor.h), or a test's own. */
#ifndef MOTIF_SERVER_SCHEDULER_H
#define MOTIF_SERVER_SCHEDULER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/error.h"
#include "server/process/journal.h"
#include "storage/storage.h"

struct scheduler;

/* What the outside says to a job that runs. Both are looked at after every step. */
struct job_control {
    atomic_bool look;  /* a requested was recorded in storage: read it. Set at the start as well */
    atomic_bool drain; /* the process wants to end: save and yield */
};

struct scheduler_options {
    struct storage *storage;
    struct journal *journal;
    int workers;
    int evaluators; /* workers for evaluations alone, beside the others */
    int nice;       /* added to the nice value of the workers and of the threads they start; 0: left alone */
    /* Runs a claimed job; when it returns the job no longer runs (or storage would not say so, which
     * a restart mends). On a worker's thread. */
    void (*run)(void *context, const char *job, struct job_control *control);
    void *context;
};

enum status scheduler_start(const struct scheduler_options *options, struct scheduler **scheduler, struct error *err);

/* There may be something to claim. Any thread; never blocks on work. */
void scheduler_wake(struct scheduler *scheduler);
/* The job, if it runs here, looks at its requested after its present step. Any thread. */
void scheduler_poke(struct scheduler *scheduler, const char *job);
int scheduler_busy(struct scheduler *scheduler); /* workers that have a job, evaluators left out */

/* No job is claimed from now on, and those that run are told to save and yield. */
void scheduler_drain(struct scheduler *scheduler);
/* After a drain: waits until no job runs, at most `wait_ms`. False: one still does. */
bool scheduler_drained(struct scheduler *scheduler, int wait_ms);
/* Drains, waits however long it takes, ends the threads. NULL is fine. */
void scheduler_stop(struct scheduler *scheduler);

#endif
