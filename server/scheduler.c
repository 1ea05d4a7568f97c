/* The workers: each thread claims a job, runs it and claims the next. One lock guards the table of workers; it is not
 * held while a job is claimed or runs. */
#include "server/scheduler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/parallel/timed_cond.h"
#include "core/base/parallel/priority.h"

#define LOOK_SECONDS 5  /* seconds after which an idle worker checks the queue without being woken */
#define PAUSE_SECONDS 1 /* seconds before the next claim after storage failed */

struct worker {
    struct scheduler *scheduler;
    pthread_t thread;
    bool started, evaluates; /* evaluates: the worker claims only evaluations */
    char job[STORAGE_ID];    /* id of the running job, "" when idle; the scheduler's lock protects it */
    struct job_control control;
};

struct scheduler {
    struct scheduler_options options;
    pthread_mutex_t lock;
    pthread_cond_t woken; /* signalled when there may be work, or when the scheduler stops */
    pthread_cond_t left;  /* signalled when a worker has finished a job */
    uint64_t wakes;       /* number of wake-ups, so that a worker notices one that arrives while it claims a job */
    bool draining;
    int count, busy; /* count: number of workers, with those for evaluations; busy: number of workers that run a job */
    struct worker workers[]; /* first the workers for any job, then those for evaluations */
};

static struct timespec after_ms(int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    return until;
}

/* Runs a job and records it in the worker. The caller holds the lock; the function releases it while the job runs. */
static void run_job(struct worker *worker, const char *job)
{
    struct scheduler *scheduler = worker->scheduler;
    memcpy(worker->job, job, STORAGE_ID);
    /* A request may have been recorded between the claim and this line, so the job checks storage at once. */
    atomic_store(&worker->control.look, true);
    atomic_store(&worker->control.look_within, true);
    atomic_store(&worker->control.cancelled, false);
    atomic_store(&worker->control.cancel, false);
    atomic_store(&worker->control.blocked, STATUS_OK);
    atomic_store(&worker->control.drain, scheduler->draining);
    scheduler->busy++;
    (void)pthread_mutex_unlock(&scheduler->lock);
    scheduler->options.run(scheduler->options.context, job, &worker->control);
    (void)pthread_mutex_lock(&scheduler->lock);
    worker->job[0] = '\0';
    scheduler->busy--;
    (void)pthread_cond_broadcast(&scheduler->left);
}

static void give_way(const struct scheduler *scheduler)
{
    if (!priority_compute(0, scheduler->options.nice)) {
        journal_line(scheduler->options.journal, LOG_LEVEL_WARN, JOURNAL_SCHEDULER, NULL, NULL,
                     "the system does not allow a worker a nice value that is higher by %d", scheduler->options.nice);
    }
}

static enum status claim(const struct worker *worker, char job[STORAGE_ID], struct error *err)
{
    struct storage *storage = worker->scheduler->options.storage;
    return worker->evaluates ? storage_job_claim_task(storage, JOB_EVALUATE, job, err)
                             : storage_job_claim(storage, job, err);
}

static void *scheduler_work(void *context)
{
    struct worker *worker = context;
    struct scheduler *scheduler = worker->scheduler;
    give_way(scheduler);
    (void)pthread_mutex_lock(&scheduler->lock);
    while (!scheduler->draining) {
        char job[STORAGE_ID];
        struct error err = {0};
        uint64_t wakes = scheduler->wakes;
        (void)pthread_mutex_unlock(&scheduler->lock);
        enum status status = claim(worker, job, &err);
        (void)pthread_mutex_lock(&scheduler->lock);
        if (!status) {
            run_job(worker, job); /* if a drain has begun since the claim, the job yields at once */
            continue;
        }
        if (status != STATUS_NOT_FOUND) {
            journal_line(scheduler->options.journal, LOG_LEVEL_ERROR, JOURNAL_SCHEDULER, NULL, NULL,
                         "cannot claim a job: %s", err.message);
        }
        struct timespec until = after_ms(status == STATUS_NOT_FOUND ? LOOK_SECONDS * 1000 : PAUSE_SECONDS * 1000);
        if (!scheduler->draining && (wakes == scheduler->wakes || status != STATUS_NOT_FOUND))
            (void)pthread_cond_timedwait(&scheduler->woken, &scheduler->lock, &until);
    }
    (void)pthread_mutex_unlock(&scheduler->lock);
    return NULL;
}

enum status scheduler_start(const struct scheduler_options *options, struct scheduler **scheduler, struct error *err)
{
    size_t workers = (size_t)options->workers + (size_t)options->evaluators;
    struct scheduler *made = calloc(1, sizeof *made + workers * sizeof made->workers[0]);
    if (made == NULL || !timed_lock_init(&made->lock, &made->woken, &made->left)) {
        free(made);
        return error_memory(err, "the scheduler");
    }
    made->options = *options;
    made->count = (int)workers;
    for (int i = 0; i < made->count; i++) {
        struct worker *worker = &made->workers[i];
        worker->scheduler = made;
        worker->evaluates = i >= options->workers;
        worker->started = pthread_create(&worker->thread, NULL, scheduler_work, worker) == 0;
        if (!worker->started) {
            scheduler_stop(made);
            return error_set(err, STATUS_UNAVAILABLE, NULL, "only %d of %zu workers could be started", i, workers);
        }
    }
    *scheduler = made;
    return STATUS_OK;
}

void scheduler_wake(struct scheduler *scheduler)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    scheduler->wakes++;
    (void)pthread_cond_broadcast(&scheduler->woken);
    (void)pthread_mutex_unlock(&scheduler->lock);
}

/* Returns the control of a running job, or NULL. The caller holds the lock. */
static struct job_control *control_of(struct scheduler *scheduler, const char *job)
{
    for (int i = 0; i < scheduler->count; i++)
        if (strcmp(scheduler->workers[i].job, job) == 0)
            return &scheduler->workers[i].control;
    return NULL;
}

void scheduler_poke(struct scheduler *scheduler, const char *job)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    struct job_control *control = control_of(scheduler, job);
    if (control != NULL) {
        atomic_store(&control->look, true);
        atomic_store(&control->look_within, true);
    }
    (void)pthread_mutex_unlock(&scheduler->lock);
}

bool scheduler_cancel(struct scheduler *scheduler, const char *job)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    struct job_control *control = control_of(scheduler, job);
    if (control != NULL)
        atomic_store(&control->cancel, true);
    (void)pthread_mutex_unlock(&scheduler->lock);
    return control != NULL;
}

void scheduler_block(struct scheduler *scheduler, const char *job, enum status status)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    struct job_control *control = control_of(scheduler, job);
    if (control != NULL)
        atomic_store(&control->blocked, status);
    (void)pthread_mutex_unlock(&scheduler->lock);
}

enum status scheduler_blocked(struct scheduler *scheduler, const char *job, bool *cancelled)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    struct job_control *control = control_of(scheduler, job);
    enum status status = control != NULL ? atomic_load(&control->blocked) : STATUS_OK;
    *cancelled = control != NULL && atomic_load(&control->cancel);
    (void)pthread_mutex_unlock(&scheduler->lock);
    return status;
}

int scheduler_blocked_count(struct scheduler *scheduler)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    int blocked = 0;
    for (int i = 0; i < scheduler->count; i++)
        blocked += scheduler->workers[i].job[0] != '\0' && atomic_load(&scheduler->workers[i].control.blocked);
    (void)pthread_mutex_unlock(&scheduler->lock);
    return blocked;
}

int scheduler_busy(struct scheduler *scheduler)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    int busy = 0;
    for (int i = 0; i < scheduler->options.workers; i++)
        busy += scheduler->workers[i].job[0] != '\0';
    (void)pthread_mutex_unlock(&scheduler->lock);
    return busy;
}

void scheduler_drain(struct scheduler *scheduler)
{
    (void)pthread_mutex_lock(&scheduler->lock);
    scheduler->draining = true;
    for (int i = 0; i < scheduler->count; i++)
        atomic_store(&scheduler->workers[i].control.drain, true);
    (void)pthread_cond_broadcast(&scheduler->woken);
    (void)pthread_mutex_unlock(&scheduler->lock);
}

bool scheduler_drained(struct scheduler *scheduler, int wait_ms)
{
    struct timespec until = after_ms(wait_ms);
    (void)pthread_mutex_lock(&scheduler->lock);
    while (scheduler->busy > 0 && pthread_cond_timedwait(&scheduler->left, &scheduler->lock, &until) == 0) {
    }
    bool drained = scheduler->busy == 0;
    (void)pthread_mutex_unlock(&scheduler->lock);
    return drained;
}

void scheduler_stop(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    scheduler_drain(scheduler);
    for (int i = 0; i < scheduler->count; i++)
        if (scheduler->workers[i].started)
            (void)pthread_join(scheduler->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&scheduler->woken);
    (void)pthread_cond_destroy(&scheduler->left);
    (void)pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}
