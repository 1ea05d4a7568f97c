/* The life of a job as a table.
 *
 *   queued → running ⇄ paused → succeeded | failed | cancelled
 *
 * A running job belongs to an executor, which alone knows when it is safe to stop. So a request that
 * concerns a running job does not change its state: it leaves a requested beside it, durably. The
 * executor sees the requested at its next step boundary, saves a checkpoint and yields; the same event,
 * YIELD, is what a restart sends to every job that the last process left running. What a yielded job
 * becomes (queued, paused or cancelled) follows from the requested alone.
 *
 * The table is data: job_state_next() finds the row or says that there is none. Pure functions; any
 * thread. */
#ifndef MOTIF_STORAGE_JOBS_JOB_STATE_H
#define MOTIF_STORAGE_JOBS_JOB_STATE_H

#include <stdbool.h>

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_PAUSED, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };
#define JOB_STATES 6
#define JOB_STATE_NAME 16 /* bytes: more than any name with its NUL */

/* What somebody asked of a running job and its executor has not done yet. */
enum requested_state { REQUESTED_NONE, REQUESTED_PAUSED, REQUESTED_CANCELLED };
#define REQUESTED_STATES 3

enum job_event {
    JOB_EVENT_CLAIM, /* an executor takes it */
    JOB_EVENT_PAUSE, /* requests */
    JOB_EVENT_RESUME,
    JOB_EVENT_CANCEL,
    JOB_EVENT_YIELD, /* from the executor: given up at a step boundary; also what a restart does */
    JOB_EVENT_SUCCEED,
    JOB_EVENT_FAIL
};
#define JOB_EVENTS 7

/* The state and requested that follow, or false when the table does not allow the event. A request that
 * is already granted (pause of a job that is about to pause) is allowed and changes nothing. */
bool job_state_next(enum job_state state, enum requested_state requested, enum job_event event,
                    enum job_state *next_state, enum requested_state *next_requested);

/* No event leads out of it. */
bool job_state_final(enum job_state state);

/* "queued", ..., as stored and served; NULL outside the enumeration. */
const char *job_state_name(enum job_state state);
bool job_state_parse(const char *name, enum job_state *state);
const char *job_event_name(enum job_event event);

#endif
