/* The table of job states. The state of a job changes only as a row of this table says. */
#include "storage/jobs/job_state.h"

#include <stddef.h>
#include <string.h>

struct rule {
    enum job_state state;
    enum requested_state requested;
    enum job_event event;
    enum job_state next_state;
    enum requested_state next_requested;
};

/* All allowed events. A job that is not running never has a requested state. */
static const struct rule rules[] = {
    {JOB_QUEUED, REQUESTED_NONE, JOB_EVENT_CLAIM, JOB_RUNNING, REQUESTED_NONE},
    {JOB_QUEUED, REQUESTED_NONE, JOB_EVENT_PAUSE, JOB_PAUSED, REQUESTED_NONE},
    {JOB_QUEUED, REQUESTED_NONE, JOB_EVENT_CANCEL, JOB_CANCELLED, REQUESTED_NONE},

    {JOB_PAUSED, REQUESTED_NONE, JOB_EVENT_RESUME, JOB_QUEUED, REQUESTED_NONE},
    {JOB_PAUSED, REQUESTED_NONE, JOB_EVENT_CANCEL, JOB_CANCELLED, REQUESTED_NONE},

    /* A request to a running job sets the requested state. A cancel replaces a pause and cannot be revoked. */
    {JOB_RUNNING, REQUESTED_NONE, JOB_EVENT_PAUSE, JOB_RUNNING, REQUESTED_PAUSED},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_PAUSE, JOB_RUNNING, REQUESTED_PAUSED},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_RESUME, JOB_RUNNING, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_NONE, JOB_EVENT_CANCEL, JOB_RUNNING, REQUESTED_CANCELLED},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_CANCEL, JOB_RUNNING, REQUESTED_CANCELLED},
    {JOB_RUNNING, REQUESTED_CANCELLED, JOB_EVENT_CANCEL, JOB_RUNNING, REQUESTED_CANCELLED},

    /* The executor yields, or the store finds the job running after a restart. The requested state decides the next
     * state. Without one, the job returns to the queue; this also happens if a client revoked a pause while the
     * executor was saving. */
    {JOB_RUNNING, REQUESTED_NONE, JOB_EVENT_YIELD, JOB_QUEUED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_YIELD, JOB_PAUSED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_CANCELLED, JOB_EVENT_YIELD, JOB_CANCELLED, REQUESTED_NONE},

    /* A job that ended by itself ignores what was requested. */
    {JOB_RUNNING, REQUESTED_NONE, JOB_EVENT_SUCCEED, JOB_SUCCEEDED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_SUCCEED, JOB_SUCCEEDED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_CANCELLED, JOB_EVENT_SUCCEED, JOB_SUCCEEDED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_NONE, JOB_EVENT_FAIL, JOB_FAILED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_PAUSED, JOB_EVENT_FAIL, JOB_FAILED, REQUESTED_NONE},
    {JOB_RUNNING, REQUESTED_CANCELLED, JOB_EVENT_FAIL, JOB_FAILED, REQUESTED_NONE},
};

static const char *const state_names[JOB_STATES] = {"queued", "running", "paused", "succeeded", "failed", "cancelled"};
static const char *const event_names[JOB_EVENTS] = {"claim", "pause", "resume", "cancel", "yield", "succeed", "fail"};

bool job_state_next(enum job_state state, enum requested_state requested, enum job_event event,
                    enum job_state *next_state, enum requested_state *next_requested)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        if (rule->state == state && rule->requested == requested && rule->event == event) {
            *next_state = rule->next_state;
            *next_requested = rule->next_requested;
            return true;
        }
    }
    return false;
}

bool job_state_final(enum job_state state)
{
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_CANCELLED;
}

const char *job_state_name(enum job_state state)
{
    return (unsigned)state < JOB_STATES ? state_names[state] : NULL;
}

bool job_state_parse(const char *name, enum job_state *state)
{
    for (int i = 0; i < JOB_STATES; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *state = (enum job_state)i;
            return true;
        }
    return false;
}

const char *job_event_name(enum job_event event)
{
    return (unsigned)event < JOB_EVENTS ? event_names[event] : NULL;
}
