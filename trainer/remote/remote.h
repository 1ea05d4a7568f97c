/* The coordinator (coordinator.h) of a run whose daemon is another process. All communication is HTTP with the token
 * of the job's lease.
 *
 * A sender thread sends queued messages in order: points and progress twice a second, files, and checkpoints in
 * pieces. The bytes of a checkpoint stay in memory until the daemon has stored them. So training waits only when the
 * queue is full or when it reads a checkpoint. If the daemon does not answer, the sender repeats the request until
 * `patience_s` seconds have passed. If the daemon answers that another trainer has the lease (401, 409), the run stops
 * at once. In both cases the run is lost: it ends without sending anything else. */
#ifndef MOTIF_TRAINER_REMOTE_REMOTE_H
#define MOTIF_TRAINER_REMOTE_REMOTE_H

#include <stdatomic.h>

#include "trainer/coordinator.h"

struct remote;

struct remote_options {               /* The caller keeps everything valid until remote_close(). */
    const char *server, *token, *job; /* URL of the daemon without a path; token of the lease; id of the job */
    int64_t buffer_bytes;             /* upper limit of the bytes in the queue of messages */
    int patience_s;
    const atomic_bool *stop_requested; /* set by a signal handler: the run must save a checkpoint and yield */
    bool requeued;                     /* a cluster will start the run again, so a stop is not reported as its end */
};

/* Registers with the daemon and receives the job, whose texts are allocated in `arena`. */
enum status remote_open(const struct remote_options *options, struct arena *arena, struct remote **remote,
                        struct storage_job *job, struct error *err);
/* Returns the coordinator for run_job(); it points to `remote`. */
struct coordinator remote_coordinator(struct remote *remote);
/* True if the daemon has recorded the end of the run. */
bool remote_ended(struct remote *remote);
void remote_close(struct remote *remote); /* `remote` may be NULL */

#endif
