/* The right to train a job, as a table of states. At most one process has it at a time.
 *
 *   none → offered → held → ended → none
 *
 * An executor that starts a separate trainer process (motif-train) first grants a lease: a new epoch and a token, of
 * which only the hash is stored. The trainer registers with the token and then holds the lease. It sends reports and
 * finally the end of the run. The executor records the end and closes the lease, which makes the token invalid.
 * If a cluster restarts a trainer, the new process registers with the same token and gets a new epoch; messages with
 * the earlier epoch are refused. No lease is granted while another one is open. So a job never has two trainers.
 *
 * All functions are pure; any thread may call them. */
#ifndef MOTIF_STORAGE_JOBS_LEASE_STATE_H
#define MOTIF_STORAGE_JOBS_LEASE_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum lease_state { LEASE_NONE, LEASE_OFFERED, LEASE_HELD, LEASE_ENDED };
#define LEASE_STATES 4
#define LEASE_STATE_NAME 16 /* bytes of a buffer that holds the name of any state, with its NUL */

enum lease_event {
    LEASE_GRANT,    /* from the executor before it starts a trainer */
    LEASE_REGISTER, /* from the trainer when it starts */
    LEASE_MESSAGE,  /* from the trainer when it sends a report, a file or a checkpoint */
    LEASE_END,      /* from the trainer when the run succeeded, failed or yielded; may be repeated */
    LEASE_CLOSE     /* from the executor when the trainer process has ended */
};
#define LEASE_EVENTS 5

/* Sets *next to the state after the event, or returns false if the table does not allow the event. */
bool lease_state_next(enum lease_state state, enum lease_event event, enum lease_state *next);

/* A lease with its epoch, which counts grants and registrations. */
struct lease_place {
    enum lease_state state;
    int64_t epoch; /* 0: the job never had a lease */
};
enum lease_verdict {
    LEASE_ALLOWED,
    LEASE_OTHER_EPOCH, /* another trainer has taken over */
    LEASE_FORBIDDEN    /* the table does not allow the event */
};
/* Changes a lease by an event. epoch: the epoch that a trainer sends. *place changes only if the event is allowed. */
enum lease_verdict lease_apply(struct lease_place *place, enum lease_event event, int64_t epoch);

/* "none", "offered", ... as stored. Names are NULL for a value outside the enumeration; parse returns false for an
 * unknown name. */
const char *lease_state_name(enum lease_state state);
bool lease_state_parse(const char *name, enum lease_state *state);
const char *lease_event_name(enum lease_event event);

#endif
