/* The life cycle of a job, as a table.
 *
 *   queued → running ⇄ paused → succeeded | failed | cancelled
 *
 * Only the executor of a running job can stop it safely. So a request to pause or cancel a running job does not change
 * its state. The store records the requested state instead. The executor reads it between two steps, saves a
 * checkpoint and sends YIELD. At a restart, the store sends the same event to every job that was still running. The
 * requested state alone decides whether a yielded job becomes queued, paused or cancelled.
 *
 * All functions are pure; any thread may call them. */
#ifndef MOTIF_STORAGE_JOBS_JOB_STATE_H
#define MOTIF_STORAGE_JOBS_JOB_STATE_H

#include <stdbool.h>

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_PAUSED, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };
#define JOB_STATES 6
#define JOB_STATE_NAME 16 /* bytes of a buffer that holds the name of any state, with its NUL */

/* What a client requested of a running job and its executor has not done yet. */
enum requested_state { REQUESTED_NONE, REQUESTED_PAUSED, REQUESTED_CANCELLED };
#define REQUESTED_STATES 3

enum job_event {
    JOB_EVENT_CLAIM,  /* an executor has claimed the job from the queue */
    JOB_EVENT_PAUSE,  /* a client requests a pause */
    JOB_EVENT_RESUME, /* a client requests that the job continues */
    JOB_EVENT_CANCEL, /* a client requests a cancel */
    JOB_EVENT_YIELD, /* the executor has stopped the job between two steps; the store also sends this event at a restart
                      */
    JOB_EVENT_SUCCEED,
    JOB_EVENT_FAIL
};
#define JOB_EVENTS 7

/* Sets the state and requested state after the event, or returns false if the table does not allow the event.
 * Repeating a request (pause for a job that is about to pause) is allowed and changes nothing. */
bool job_state_next(enum job_state state, enum requested_state requested, enum job_event event,
                    enum job_state *next_state, enum requested_state *next_requested);

/* True if no event leaves this state. */
bool job_state_final(enum job_state state);

/* "queued", "running", ... as stored and as sent to clients. Names are NULL for a value outside the enumeration; parse
 * returns false for an unknown name. */
const char *job_state_name(enum job_state state);
bool job_state_parse(const char *name, enum job_state *state);
const char *job_event_name(enum job_event event);

#endif
