/* The table of lease states, which ensures that a job never has two trainers. */
#include "storage/jobs/lease_state.h"

#include <stddef.h>
#include <string.h>

struct rule {
    enum lease_state state;
    enum lease_event event;
    enum lease_state next;
};

/* All allowed events. */
static const struct rule rules[] = {
    {LEASE_NONE, LEASE_GRANT, LEASE_OFFERED},    {LEASE_NONE, LEASE_CLOSE, LEASE_NONE},

    {LEASE_OFFERED, LEASE_REGISTER, LEASE_HELD}, {LEASE_OFFERED, LEASE_CLOSE, LEASE_NONE},

    {LEASE_HELD, LEASE_REGISTER, LEASE_HELD},    {LEASE_HELD, LEASE_MESSAGE, LEASE_HELD},
    {LEASE_HELD, LEASE_END, LEASE_ENDED},        {LEASE_HELD, LEASE_CLOSE, LEASE_NONE},

    {LEASE_ENDED, LEASE_END, LEASE_ENDED},       {LEASE_ENDED, LEASE_CLOSE, LEASE_NONE},
};

static const char *const state_names[LEASE_STATES] = {"none", "offered", "held", "ended"};
static const char *const event_names[LEASE_EVENTS] = {"grant", "register", "message", "end", "close"};

bool lease_state_next(enum lease_state state, enum lease_event event, enum lease_state *next)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].state == state && rules[i].event == event) {
            *next = rules[i].next;
            return true;
        }
    }
    return false;
}

/* Whether an event contains the trainer's epoch, which must be that of the lease. The executor's events and a
 * registration contain none. */
static bool has_epoch(enum lease_event event)
{
    return event == LEASE_MESSAGE || event == LEASE_END;
}

enum lease_verdict lease_apply(struct lease_place *place, enum lease_event event, int64_t epoch)
{
    enum lease_state next;
    if (has_epoch(event) && epoch != place->epoch)
        return LEASE_OTHER_EPOCH;
    if (!lease_state_next(place->state, event, &next))
        return LEASE_FORBIDDEN;
    place->state = next;
    place->epoch += event == LEASE_GRANT || event == LEASE_REGISTER;
    return LEASE_ALLOWED;
}

const char *lease_state_name(enum lease_state state)
{
    return (unsigned)state < LEASE_STATES ? state_names[state] : NULL;
}

bool lease_state_parse(const char *name, enum lease_state *state)
{
    for (int i = 0; i < LEASE_STATES; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *state = (enum lease_state)i;
            return true;
        }
    return false;
}

const char *lease_event_name(enum lease_event event)
{
    return (unsigned)event < LEASE_EVENTS ? event_names[event] : NULL;
}
