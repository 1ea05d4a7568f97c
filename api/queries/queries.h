/* Handlers of the routes that come from the methods' tables (query_routes.h), and the limit of simultaneous queries.
 *
 * A handler always sends a response. Any thread may call these functions. */
#ifndef MOTIF_API_QUERIES_QUERIES_H
#define MOTIF_API_QUERIES_QUERIES_H

#include "api/http/exchange.h"
#include "api/queries/query_gate.h"

/* /v1/jobs/{id}/NAME and /v1/jobs/{id}/NAME/{ITEM}: a query of a trained model. */
void query_answer(struct exchange *x);
/* POST /v1/KIND/NAME: a computation without a job. */
void computation_answer(struct exchange *x);

/* A query between queries_enter() and queries_leave(); the handler keeps it on its stack. */
struct query_run {
    struct exchange *x;
    struct query_ticket ticket;
    const struct config_table *parameters; /* of the query; NULL: none, or not known yet */
    int64_t seconds;                       /* until the deadline; 0: the query has none */
};

/* Waits until the query may compute (query_gate.h), and sets the deadline of the exchange's work. batch: the query has
 * several inputs or a long text. False: the query may not compute; the function has responded, and queries_leave() must
 * not be called. */
bool queries_enter(struct exchange *x, bool batch, struct query_run *run);
/* Responds for a query that was stopped: 504 if its deadline has passed, else 503. */
void queries_respond_stopped(struct query_run *run);
void queries_leave(struct query_run *run);

#endif
