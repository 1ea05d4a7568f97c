/* The right to train a job, of which there is one, as a table.
 *
 *   none → offered → held → ended → none
 *
 * An executor that lets another process train (motif-train) grants a lease: a token of which only the hash is kept,
 * and a new epoch. The trainer says hello and holds it; it reports; it says how the job ended; the executor sees
 * that, records it and closes the lease, and the token is good for nothing. A second hello with the same token is
 * a trainer that its cluster started again: it gets a new epoch, and the words of the earlier one are refused. While
 * a lease is not closed, no other is granted: this is why a job never has two trainers.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_STORAGE_JOBS_LEASE_STATE_H
#define MOTIF_STORAGE_JOBS_LEASE_STATE_H

#include <stdbool.h>

enum lease_state { LEASE_NONE, LEASE_OFFERED, LEASE_HELD, LEASE_ENDED };
#define LEASE_STATES 4
#define LEASE_STATE_NAME 16 /* bytes: more than any name with its NUL */

enum lease_event {
    LEASE_GRANT,    /* from the executor, before it starts a trainer */
    LEASE_REGISTER, /* from the trainer: what is there to do? */
    LEASE_MESSAGE,  /* series, progress, files, checkpoints */
    LEASE_END,      /* succeeded, failed or yielded; may be said again */
    LEASE_CLOSE     /* from the executor: the trainer is gone */
};
#define LEASE_EVENTS 5

/* The state that follows, or false when the table does not allow the event. */
bool lease_state_next(enum lease_state state, enum lease_event event, enum lease_state *next);

/* "none", ... as stored; NULL outside the enumeration. */
const char *lease_state_name(enum lease_state state);
bool lease_state_parse(const char *name, enum lease_state *state);
const char *lease_event_name(enum lease_event event);

#endif
