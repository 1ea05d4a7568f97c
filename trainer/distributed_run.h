/* One run on several ranks: a coordinator (coordinator.h) for each of them, of which rank 0's alone has a world
 * outside.
 *
 * All ranks drive the same loop (run.h) and so call their hosts in the same order. What is said (points, progress,
 * files, checkpoints, the end) rank 0 passes on and the others drop; what is read (checkpoints, their list) rank 0
 * reads and gives to all; whether to stop is asked of all ranks after every step, and one that wishes it is enough.
 * With one rank it is rank 0's coordinator and nothing else.
 *
 * A rank that fails alone leaves the others in a call that never returns: it is for the caller to end them. */
#ifndef MOTIF_TRAINER_DISTRIBUTED_RUN_H
#define MOTIF_TRAINER_DISTRIBUTED_RUN_H

#include <stdatomic.h>

#include "core/base/comm.h"
#include "trainer/coordinator.h"

struct distributed_run {
    struct comm *comm;          /* NULL: one rank */
    struct coordinator outside; /* of rank 0 */
    const atomic_bool *told;    /* somebody told this process to save and go */
    /* since leave() */
    enum job_event end;
    char failure[512]; /* the document of a failure, or its beginning */
};

struct coordinator distributed_coordinator(struct distributed_run *distributed);

/* The job that rank 0 has, for all; `status` and `err` are those of rank 0 when it failed to get one. The texts that
 * others receive live in `arena`. */
enum status distributed_job(struct comm *comm, enum status status, struct arena *arena, struct storage_job *job,
                            struct error *err);

#endif
