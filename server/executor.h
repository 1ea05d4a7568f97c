/* Takes a job that a worker claimed to its end, in the way that the job asks for.
 *
 * The run itself (trainer/run.h) is the same in all of them:
 *   thread    on the worker's own thread, in this process (executor_thread.c)
 * executor_run() is called on a worker's thread and returns when the job has left; any number may run at the same
 * time. */
#ifndef MOTIF_SERVER_EXECUTOR_H
#define MOTIF_SERVER_EXECUTOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/methods/method.h"
#include "server/journal.h"
#include "server/scheduler.h"
#include "storage/storage.h"

struct executor_options { /* all borrowed */
    struct storage *storage;
    struct journal *journal;
    const struct method *const *methods;
    size_t method_count;
    const struct kernels *kernels;
    const char *data; /* folder of data sets */
    int threads_default, threads_max;
    const char *build, *cpu, *blas_core; /* said in every result */
};

struct executor {
    struct executor_options options;
    /* Of this process, for the service's own metrics. */
    _Atomic uint64_t steps, samples, checkpoints;
    _Atomic uint64_t jobs_succeeded, jobs_failed, jobs_yielded;
    _Atomic double step_seconds_max, gflops_per_thread;
};

void executor_init(struct executor *executor, const struct executor_options *options);

/* The `run` of struct scheduler_options; `context` is the executor. */
void executor_run(void *context, const char *job, struct job_control *control);

#endif
