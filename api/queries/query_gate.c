/* One lock protects a list of all queries and the queue of those that wait (query_gate.h). A waiting query calls its
 * stop function every POLL_MS milliseconds. */
#include "api/queries/query_gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/parallel/timed_cond.h"

#define POLL_MS 50

struct query_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int slots, places, computing;
    struct query_ticket *first; /* list of all queries */
    /* queue of the waiting queries; line_first: the oldest; line_end: where the next one is appended */
    struct query_ticket *line_first, **line_end;
};

enum status query_gate_create(int slots, int places, struct query_gate **gate, struct error *err)
{
    struct query_gate *made = calloc(1, sizeof *made);
    *gate = NULL;
    if (made == NULL || !timed_lock_init(&made->lock, &made->changed, NULL)) {
        free(made);
        return error_memory(err, "the order of queries");
    }
    made->slots = slots;
    made->places = places;
    made->line_end = &made->line_first;
    *gate = made;
    return STATUS_OK;
}

void query_gate_destroy(struct query_gate *gate)
{
    if (gate == NULL)
        return;
    (void)pthread_cond_destroy(&gate->changed);
    (void)pthread_mutex_destroy(&gate->lock);
    free(gate);
}

static void join_line(struct query_gate *gate, struct query_ticket *ticket)
{
    ticket->behind = NULL;
    *gate->line_end = ticket;
    gate->line_end = &ticket->behind;
}

static void leave_line(struct query_gate *gate, struct query_ticket *ticket)
{
    struct query_ticket **link = &gate->line_first;
    while (*link != ticket)
        link = &(*link)->behind;
    *link = ticket->behind;
    if (ticket->behind == NULL)
        gate->line_end = link;
    (void)pthread_cond_broadcast(&gate->changed);
}

/* Waits at the end of the queue for a slot. The caller holds the lock. False: the query was stopped and has no slot. */
static bool wait_for_slot(struct query_gate *gate, struct query_ticket *ticket)
{
    bool stopped = false;
    join_line(gate, ticket);
    while (!stopped && (gate->line_first != ticket || gate->computing >= gate->slots)) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&gate->changed, &gate->lock, &until);
        stopped = ticket->stop(ticket->context);
    }
    leave_line(gate, ticket);
    ticket->computes = !stopped;
    gate->computing += !stopped;
    return !stopped;
}

/* Finds out which limit the query exceeds. The caller holds the lock. */
static enum query_entry query_gate_admit(const struct query_gate *gate, const struct query_ticket *ticket)
{
    int all = gate->slots + gate->places, count = 0, batches = 0, own = 0, own_batches = 0;
    for (const struct query_ticket *other = gate->first; other != NULL; other = other->next) {
        bool same = strcmp(other->caller, ticket->caller) == 0;
        count++;
        batches += other->batch;
        own += same;
        own_batches += same && other->batch;
    }
    if (count >= all || (ticket->batch && all > 1 && batches >= all * 3 / 4))
        return QUERY_FULL;
    bool own_full =
        all > 1 && ticket->caller[0] != '\0' && (own >= all - 1 || (ticket->batch && own_batches >= all / 2));
    return own_full ? QUERY_CALLER_FULL : QUERY_ENTERED;
}

static void forget(struct query_gate *gate, struct query_ticket *ticket)
{
    struct query_ticket **link = &gate->first;
    while (*link != ticket)
        link = &(*link)->next;
    *link = ticket->next;
}

enum query_entry query_gate_enter(struct query_gate *gate, struct query_ticket *ticket)
{
    (void)pthread_mutex_lock(&gate->lock);
    enum query_entry entry = query_gate_admit(gate, ticket);
    if (entry == QUERY_ENTERED) {
        ticket->next = gate->first;
        gate->first = ticket;
        if (!wait_for_slot(gate, ticket)) {
            forget(gate, ticket);
            entry = QUERY_STOPPED;
        }
    }
    (void)pthread_mutex_unlock(&gate->lock);
    return entry;
}

bool query_gate_yield(struct query_gate *gate, struct query_ticket *ticket)
{
    bool computes = true;
    (void)pthread_mutex_lock(&gate->lock);
    if (gate->line_first != NULL) {
        ticket->computes = false;
        gate->computing--;
        (void)pthread_cond_broadcast(&gate->changed);
        computes = wait_for_slot(gate, ticket);
    }
    (void)pthread_mutex_unlock(&gate->lock);
    return computes;
}

void query_gate_leave(struct query_gate *gate, struct query_ticket *ticket)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->computing -= ticket->computes;
    forget(gate, ticket);
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->lock);
}

int query_gate_computing(struct query_gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    int computing = gate->computing;
    (void)pthread_mutex_unlock(&gate->lock);
    return computing;
}
