/* One run on several ranks: a host (host.h) for each of them, of which rank 0's alone has a world outside.
 *
 * All ranks drive the same loop (run.h) and so call their hosts in the same order. What is said (points, progress,
 * files, checkpoints, the end) rank 0 passes on and the others drop; what is read (checkpoints, their list) rank 0
 * reads and gives to all; whether to stop is asked of all ranks after every step, and one that wishes it is enough.
 * With one rank it is rank 0's host and nothing else.
 *
 * A rank that fails alone leaves the others in a call that never returns: it is for the caller to end them. */
#ifndef MOTIF_TRAINER_CROWD_H
#define MOTIF_TRAINER_CROWD_H

#include <stdatomic.h>

#include "core/base/comm.h"
#include "trainer/host.h"

struct crowd {
    struct comm *comm;       /* NULL: one rank */
    struct run_host outside; /* of rank 0 */
    const atomic_bool *told; /* somebody told this process to save and go */
    /* since leave() */
    enum job_event end;
    char failure[512]; /* the document of a failure, or its beginning */
};

struct run_host crowd_host(struct crowd *crowd);

/* The job that rank 0 has, for all; `status` and `err` are those of rank 0 when it failed to get one. The texts that
 * others receive live in `arena`. */
enum status crowd_job(struct comm *comm, enum status status, struct arena *arena, struct storage_job *job,
                      struct error *err);

#endif
