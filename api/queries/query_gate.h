/* Decides which queries compute at the same time, so that requests with many inputs do not block short ones.
 *
 * `slots` queries compute at the same time, and `places` more of callers of whom none computes; others wait. Callers
 * take turns (turns.h): a caller whose queries computed for long waits until others have had as much time. A long query
 * calls query_gate_yield() again and again, and then waits for its next turn if others wait.
 *
 * At most n = slots + places queries compute or wait. Three limits leave room for other callers:
 * - at most 3/4 n of these queries are batches
 * - at most n/2 are batches of one caller
 * - at most n - 1 are queries of one caller
 *
 * Any thread may call these functions; only one thread may use a ticket. */
#ifndef MOTIF_API_QUERIES_QUERY_GATE_H
#define MOTIF_API_QUERIES_QUERY_GATE_H

#include <semaphore.h>
#include <stdbool.h>

#include "core/base/parallel/turns.h"

#define QUERY_CALLER TURNS_OWNER

struct query_gate;

/* A query that waits or computes. The caller provides the memory and keeps it until query_gate_leave(). */
struct query_ticket {
    char caller[QUERY_CALLER]; /* queries with the same name share the limits of one caller; "": unknown caller, to whom
                                  these limits do not apply */
    bool batch;
    bool (*stop)(void *context); /* called while the query waits; true ends the wait */
    void *context;
    struct query_ticket *next, *with; /* next: in the list of all queries; with: in a list of those granted together */
    struct turn turn;
    sem_t granted; /* its turn has started */
};

enum query_entry { QUERY_ENTERED, QUERY_FULL, QUERY_CALLER_FULL, QUERY_STOPPED };

enum status query_gate_create(int slots, int places, struct query_gate **gate, struct error *err);
void query_gate_destroy(struct query_gate *gate); /* all queries must have left; NULL is fine */

/* Waits for a slot. query_gate_leave() must follow if the result is QUERY_ENTERED, and only then. */
enum query_entry query_gate_enter(struct query_gate *gate, struct query_ticket *ticket);
/* Lets waiting queries go first, if the query has computed for some milliseconds. False: ticket->stop() has ended the
 * wait. */
bool query_gate_yield(struct query_gate *gate, struct query_ticket *ticket);
void query_gate_leave(struct query_gate *gate, struct query_ticket *ticket);
int query_gate_computing(struct query_gate *gate); /* returns the number of queries that compute now */

#endif
