/* One lock protects a list of all queries and the order of those that wait (query_gate.h). A waiting query calls its
 * stop function every POLL_MS milliseconds. Threads of low priority may hold the lock (priority.h), so it is held for
 * very short times, and each query waits on a semaphore of its own. */
#include "api/queries/query_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS 50
#define SLICE_US 5000 /* a query that yields has computed for at least so long */

struct query_gate {
    pthread_mutex_t lock;
    int most; /* queries that compute or wait */
    struct turns *turns;
    atomic_int waiting;         /* turns_waiting(), to be read without the lock */
    struct query_ticket *first; /* list of all queries */
};

enum status query_gate_create(int slots, int places, struct query_gate **gate, struct error *err)
{
    struct query_gate *made = calloc(1, sizeof *made);
    *gate = NULL;
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return error_memory(err, "the order of queries");
    }
    made->most = slots + places;
    enum status status = turns_create(&(struct turns_limits){.slots = slots, .spare = places}, &made->turns, err);
    if (status) {
        query_gate_destroy(made);
        return status;
    }
    *gate = made;
    return STATUS_OK;
}

void query_gate_destroy(struct query_gate *gate)
{
    if (gate == NULL)
        return;
    (void)pthread_mutex_destroy(&gate->lock);
    turns_destroy(gate->turns);
    free(gate);
}

/* Unlocks, and lets every query compute that may. The posts follow the unlock, because a thread that is woken may take
 * the core of the one that wakes it. */
static void query_gate_unlock(struct query_gate *gate)
{
    struct query_ticket *granted = NULL;
    for (struct turn *turn; (turn = turns_next(gate->turns, false)) != NULL;) {
        struct query_ticket *ticket = turn->item;
        ticket->with = granted;
        granted = ticket;
    }
    atomic_store(&gate->waiting, turns_waiting(gate->turns));
    (void)pthread_mutex_unlock(&gate->lock);
    while (granted != NULL) {
        struct query_ticket *ticket = granted;
        granted = ticket->with;
        (void)sem_post(&ticket->granted);
    }
}

/* Waits until it is the query's turn. The caller holds the lock, and does not hold it afterwards. False: the query was
 * stopped. */
static bool wait_for_slot(struct query_gate *gate, struct query_ticket *ticket)
{
    bool granted = false, waits = turns_wait(gate->turns, &ticket->turn);
    query_gate_unlock(gate);
    while (waits && !granted) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        granted = sem_clockwait(&ticket->granted, CLOCK_MONOTONIC, &until) == 0;
        if (granted || !ticket->stop(ticket->context))
            continue;
        (void)pthread_mutex_lock(&gate->lock);
        granted = ticket->turn.works; /* just now: the post follows */
        waits = false;
        if (!granted)
            turns_end(gate->turns, &ticket->turn, 0);
        query_gate_unlock(gate);
        while (granted && sem_wait(&ticket->granted) != 0) {
        }
    }
    return granted;
}

/* Finds out which limit the query exceeds. The caller holds the lock. */
static enum query_entry query_gate_admit(const struct query_gate *gate, const struct query_ticket *ticket)
{
    int all = gate->most, count = 0, batches = 0, own = 0, own_batches = 0;
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
    if (entry != QUERY_ENTERED) {
        (void)pthread_mutex_unlock(&gate->lock);
        return entry;
    }
    ticket->next = gate->first;
    gate->first = ticket;
    ticket->turn = (struct turn){.owner = ticket->caller, .item = ticket};
    (void)sem_init(&ticket->granted, 0, 0);
    if (wait_for_slot(gate, ticket))
        return QUERY_ENTERED;
    query_gate_leave(gate, ticket);
    return QUERY_STOPPED;
}

bool query_gate_yield(struct query_gate *gate, struct query_ticket *ticket)
{
    int64_t worked = turns_worked_us(&ticket->turn);
    if (worked < SLICE_US || atomic_load(&gate->waiting) == 0)
        return true;
    (void)pthread_mutex_lock(&gate->lock);
    turns_end(gate->turns, &ticket->turn, worked);
    return wait_for_slot(gate, ticket);
}

void query_gate_leave(struct query_gate *gate, struct query_ticket *ticket)
{
    (void)pthread_mutex_lock(&gate->lock);
    if (ticket->turn.works)
        turns_end(gate->turns, &ticket->turn, turns_worked_us(&ticket->turn));
    forget(gate, ticket);
    query_gate_unlock(gate);
    (void)sem_destroy(&ticket->granted);
}

int query_gate_computing(struct query_gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    int computing = turns_working(gate->turns);
    (void)pthread_mutex_unlock(&gate->lock);
    return computing;
}
