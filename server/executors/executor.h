/* Takes a job that a worker claimed to its end, in the way that the job asks for.
 *
 * The run itself (trainer/run.h) is the same in all of them:
 *   thread    on the worker's own thread, in this process (executor_thread.c)
 *   process   in a child, motif-train, so that what goes wrong there goes wrong there alone (executor_process.c)
 *   mpirun    in the ranks that mpirun starts, motif-train-mpi: this process never calls MPI (executor_process.c)
 *   slurm     in a job of Slurm (executor_slurm.c)
 * executor_run() is called on a worker's thread and returns when the job has left; any number may run at the same
 * time. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "core/base/histogram.h"
#include "core/methods/method.h"
#include "server/process/journal.h"
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
    const char *executor;                /* of a job that names none; NULL: "thread" */
    const char *trainer, *trainer_mpi;   /* paths of motif-train and motif-train-mpi */
    const char *const *mpirun;           /* mpirun and its options, NULL behind the last; NULL: none */
    const char *slurm_bin;               /* folder of sbatch and its like; NULL: no Slurm */
    const char *const *slurm_options;    /* of sbatch, NULL behind the last */
    const char *const *srun;             /* srun and its options, the same */
    const char *kernels_name;            /* as --kernels takes it */
    int64_t job_memory;                  /* most bytes of a job in a process of its own; 0: not limited */
};

struct executor {
    struct executor_options options;
    struct api *api; /* since executor_serve() */
    char url[160];   /* where trainers speak to */
    atomic_bool serving;
    /* Of this process, for the service's own metrics. */
    _Atomic uint64_t steps, samples, checkpoints;
    _Atomic uint64_t jobs_succeeded, jobs_failed, jobs_yielded;
    _Atomic double step_seconds_max, gflops_per_thread;
    struct histogram step_times;
};

void executor_init(struct executor *executor, const struct executor_options *options);

/* The daemon answers at this address: trainers can be started. Before that jobs for them wait. */
void executor_serve(struct executor *executor, struct api *api, const char *url);

/* Adds finished steps to the counters. `gflops`: per thread, 0 when it was not measured. Any thread. */
void executor_count(struct executor *executor, uint64_t steps, uint64_t samples, double step_seconds, double gflops);

/* The `run` of struct scheduler_options; `context` is the executor. */
void executor_run(void *context, const char *job, struct job_control *control);

#endif
