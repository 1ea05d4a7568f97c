/* A run's host (host.h) that is a daemon elsewhere: everything goes there over HTTP, with the token of the job's
 * lease.
 *
 * What the run says is queued and sent by a thread of its own, in order: points and progress twice a second, files,
 * and checkpoints in pieces, whose bytes are kept until the daemon says that they are stored. So training waits for
 * the daemon only when the queue is full, or when it reads a checkpoint. A daemon that does not answer is asked again
 * until `patience_s` have passed without a word; one that says that the lease is another's (401, 409) is obeyed at
 * once. In both cases the run is lost: it ends without a further word. */
#ifndef MOTIF_TRAINER_REMOTE_REMOTE_H
#define MOTIF_TRAINER_REMOTE_REMOTE_H

#include <stdatomic.h>

#include "trainer/coordinator.h"

struct remote;

struct remote_options {               /* borrowed until remote_close() */
    const char *server, *token, *job; /* URL without a path; secret; id */
    int64_t buffer_bytes;             /* most that waits to be sent */
    int patience_s;
    const atomic_bool *told; /* somebody told this process to save and go */
    bool requeued;           /* by whom it is started again: the run has not ended for the daemon then */
};

/* Says hello and waits for the answer. The job's texts live in `arena`. */
enum status remote_open(const struct remote_options *options, struct arena *arena, struct remote **remote,
                        struct storage_job *job, struct error *err);
struct coordinator remote_coordinator(struct remote *remote);
/* True when the daemon has taken the end of the run. */
bool remote_ended(struct remote *remote);
void remote_close(struct remote *remote); /* NULL is fine */

#endif
