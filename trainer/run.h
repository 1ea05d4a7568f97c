/* Runs one job to its end. This is the only folder that calls a method's create, step, save and load.
 *
 *   config → create → load the latest checkpoint (or start from another job's model)
 *   → step, step, ... with metrics, progress and checkpoints between → result → succeeded
 *
 * After each step, the run asks its coordinator (coordinator.h) whether to stop. For a pause or the end of the process,
 * it saves a checkpoint and yields; storage decides which state the job gets. After a cancel it does so only if the
 * step ends within half a second. A longer step is given up: the thread pool is stopped (thread_pool_stop_when), and
 * the run yields without the step's result and without a new checkpoint. If a step or a call of the coordinator fails,
 * the job fails with a document that names the place. The same code runs in a worker thread of the daemon and in
 * motif-train. Any number of runs may be active, each on a thread of its own with its own thread pool. */
#ifndef MOTIF_TRAINER_RUN_H
#define MOTIF_TRAINER_RUN_H

#include "core/methods/method.h"
#include "storage/storage.h"
#include "trainer/coordinator.h"

struct run_setup { /* everything is borrowed */
    const struct method *const *methods;
    size_t method_count;
    const struct kernels *kernels;
    const char *data; /* folder of data sets */
    int threads_default, threads_max;
    int64_t job_memory; /* bytes that a job may need according to its estimate (job_memory.h); 0: no limit */
    const char *build, *cpu, *blas_core; /* stored in every result */
    /* Returns how many pages of data sets were missing when they were read; if the number grows, the run fails. NULL:
     * the process ends when a page is missing. */
    int (*missing_pages)(void);
    struct comm *comm; /* the ranks of a distributed run (distributed_run.h); NULL: one rank */
};

/* Runs the job and returns the event that was passed to coordinator->leave(). `job` and its texts must stay valid. */
enum job_event run_job(const struct run_setup *setup, const struct coordinator *coordinator,
                       const struct storage_job *job);

/* Returns the error document of a job that failed before its run began; the caller frees it. NULL: not enough memory.
 */
char *run_failure(const struct error *failure);

double run_now(void); /* monotonic seconds */

#endif
