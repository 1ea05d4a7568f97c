/* Decides which queries compute at the same time, so that requests with many inputs do not block short ones.
 *
 * `slots` queries compute; `places` more wait in the order in which they came. A query with several inputs (a batch)
 * calls query_gate_yield() between its inputs: when another query waits, it takes the slot, and the batch waits at the
 * end of the line. Batches together hold at most three quarters of all slots and places, those of one caller at most
 * half, and all queries of one caller at most all but one; so another caller always finds a place.
 *
 * Any thread may call these functions; a ticket belongs to one thread. */
#ifndef MOTIF_API_QUERIES_QUERY_GATE_H
#define MOTIF_API_QUERIES_QUERY_GATE_H

#include <stdbool.h>

#include "core/base/error.h"

#define QUERY_CALLER 80

struct query_gate;

/* A query that waits or computes. The caller provides the memory and keeps it until query_gate_leave(). */
struct query_ticket {
    char caller[QUERY_CALLER]; /* who shares the limits of one caller; "": unknown, without these limits */
    bool batch;
    bool (*stop)(void *context); /* asked while the query waits: true ends the wait */
    void *context;
    struct query_ticket *next, *behind; /* of the gate: all queries; the line of those that wait */
    bool computes;
};

enum query_entry { QUERY_ENTERED, QUERY_FULL, QUERY_CALLER_FULL, QUERY_STOPPED };

enum status query_gate_create(int slots, int places, struct query_gate **gate, struct error *err);
void query_gate_destroy(struct query_gate *gate); /* no query may be left; NULL is fine */

/* Waits for a slot. Only after QUERY_ENTERED must query_gate_leave() follow. */
enum query_entry query_gate_enter(struct query_gate *gate, struct query_ticket *ticket);
/* Between two inputs: lets waiting queries go first. False when ticket->stop() ended the wait. */
bool query_gate_yield(struct query_gate *gate, struct query_ticket *ticket);
void query_gate_leave(struct query_gate *gate, struct query_ticket *ticket);
int query_gate_computing(struct query_gate *gate); /* queries that compute at the moment */

#endif
