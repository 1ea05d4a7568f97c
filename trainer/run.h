/* Runs one job to its end: the only room that calls a method's create, step, save and load.
 *
 *   config → create → load the latest checkpoint (or start from another job's model)
 *   → step, step, ... with metrics, progress and checkpoints between → result → succeeded
 *
 * Between two steps it asks its coordinator (coordinator.h) whether to go on: a pause, a cancel or the end of the
 * process saves a checkpoint and yields, and what the job becomes is storage's business. A step that fails, or a
 * coordinator that does, fails the job with a document that says where. The same code runs in a worker's thread of the
 * daemon and in motif-train. Any number of runs at the same time, each on a thread of its own with its own pool. */
#ifndef MOTIF_TRAINER_RUN_H
#define MOTIF_TRAINER_RUN_H

#include "core/methods/method.h"
#include "storage/storage.h"
#include "trainer/coordinator.h"

struct run_setup { /* all borrowed */
    const struct method *const *methods;
    size_t method_count;
    const struct kernels *kernels;
    const char *data; /* folder of data sets */
    int threads_default, threads_max;
    const char *build, *cpu, *blas_core; /* said in every result */
    struct comm
        *comm; /* ranks that train together, each with a coordinator of a distributed (distributed.h); NULL: one */
};

/* `job` and its texts must stay. Returns when coordinator->leave() has been called: with what. */
enum job_event run_job(const struct run_setup *setup, const struct coordinator *coordinator,
                       const struct storage_job *job);

/* Before there is a run: the document of a failure, malloc'ed; NULL without memory. */
char *run_failure(const struct error *failure);

double run_now(void); /* monotonic seconds */

#endif
