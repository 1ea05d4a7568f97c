/* A run on several ranks. Each rank has a coordinator (coordinator.h); only that of rank 0 is connected to the
 * outside.
 *
 * All ranks drive the same loop (run.h) and so call their coordinators in the same order. Rank 0 forwards what a run
 * sends (points, progress, files, checkpoints, the end); the other ranks drop it. Rank 0 reads what a run requests
 * (checkpoints, their list) and broadcasts it. After every step, the ranks agree whether to stop: one rank with a
 * request is enough. In a run with one rank, the coordinator only passes each call to the one that is connected to the
 * outside.
 *
 * If one rank fails alone, the others wait in a collective call that never returns. The caller must then end all
 * ranks. */
#ifndef MOTIF_TRAINER_DISTRIBUTED_RUN_H
#define MOTIF_TRAINER_DISTRIBUTED_RUN_H

#include <stdatomic.h>

#include "core/base/parallel/comm.h"
#include "trainer/coordinator.h"

struct distributed_run {
    struct comm *comm;                 /* NULL: one rank */
    struct coordinator outside;        /* the coordinator that is connected to the outside; only rank 0 uses it */
    const atomic_bool *stop_requested; /* set by a signal handler: the run must save a checkpoint and yield */
    /* how the run ended; valid after leave() */
    enum job_event end;
    char failure[512]; /* if the run failed: the first bytes of its error document */
};

/* Returns the coordinator for this rank's run_job(); it points to `distributed`. */
struct coordinator distributed_coordinator(struct distributed_run *distributed);

/* Broadcasts the job that rank 0 received. `status` and `err` say whether rank 0 received a job; they are broadcast
 * too. The texts of the other ranks are allocated in `arena`. */
enum status distributed_job(struct comm *comm, enum status status, struct arena *arena, struct storage_job *job,
                            struct error *err);

#endif
