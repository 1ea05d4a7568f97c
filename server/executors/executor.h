/* Runs a claimed job to its end. The job chooses how:
 *
 *   thread    on the worker's own thread, in this process (executor_thread.c)
 *   process   in a child process, motif-train, so that a crash ends only this job (executor_process.c)
 *   mpirun    in the ranks of motif-train-mpi that mpirun starts; this process never calls MPI (executor_process.c)
 *   slurm     in a job of Slurm (executor_slurm.c)
 *
 * The run itself (trainer/run.h) is the same in all four. executor_run() is called on a worker's thread and returns
 * when the job has left the running state. Any number of calls may run at the same time. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "core/base/histogram.h"
#include "core/methods/findings.h"
#include "core/methods/method.h"
#include "server/process/journal.h"
#include "server/scheduler.h"
#include "storage/storage.h"

struct executor_options { /* everything to which the pointers refer is borrowed */
    struct storage *storage;
    struct journal *journal;
    const struct method *const *methods;
    size_t method_count;
    const struct kernels *kernels;
    const char *data; /* folder of data sets */
    int threads_default, threads_max;
    const char *build, *cpu, *blas_core; /* recorded in every result */
    const char *executor;                /* executor of jobs that do not choose one; NULL selects "thread" */
    const char *trainer, *trainer_mpi;   /* paths of motif-train and motif-train-mpi */
    const char *const *mpirun;           /* mpirun and its options, ends with NULL; NULL: no mpirun */
    const char *slurm_bin;               /* folder of sbatch, squeue, scancel and scontrol; NULL: no Slurm */
    const char *const *slurm_options;    /* options of sbatch, ends with NULL */
    const char *const *srun;             /* srun and its options, ends with NULL */
    const char *kernels_name;            /* value of --kernels, which trainers receive */
    int64_t job_memory;                  /* maximum memory in bytes of a job; 0: no limit */
};

struct executor {
    struct executor_options options;
    struct api *api; /* NULL until executor_serve() sets it */
    char url[160];   /* address at which trainers reach the daemon */
    atomic_bool serving;
    /* Counters of this process, for /metrics. */
    _Atomic uint64_t steps, samples, checkpoints;
    _Atomic uint64_t jobs_succeeded, jobs_failed, jobs_yielded;
    _Atomic uint64_t verdicts[VERDICTS]; /* number of trainings with each verdict */
    _Atomic double step_seconds_max, gflops_per_thread;
    struct histogram step_times;
};

/* Copies the options. Jobs for trainers in other processes wait until executor_serve(). */
void executor_init(struct executor *executor, const struct executor_options *options);

/* Sets the address of the daemon. From now on trainers can be started. */
void executor_serve(struct executor *executor, struct api *api, const char *url);

/* Adds finished steps to the counters. `gflops`: per thread, 0 when it was not measured. Any thread. */
void executor_count(struct executor *executor, uint64_t steps, uint64_t samples, double step_seconds, double gflops);

/* The `run` of struct scheduler_options; `context` is the executor. */
void executor_run(void *context, const char *job, struct job_control *control);

#endif
