/* Handlers of the routes that come from the methods' tables (query_routes.h), and the limit of simultaneous queries.
 *
 * A handler always sends a response. Any thread may call these functions. */
#ifndef MOTIF_API_QUERIES_QUERIES_H
#define MOTIF_API_QUERIES_QUERIES_H

#include "api/http/exchange.h"

/* /v1/jobs/{id}/NAME and /v1/jobs/{id}/NAME/{ITEM}: a query of a trained model. */
void query_answer(struct exchange *x);
/* POST /v1/KIND/NAME: a computation without a job. */
void computation_answer(struct exchange *x);

/* Counts a query that starts to compute. If options.queries_at_once queries are running, sends 429 and returns false;
 * otherwise the caller must call queries_leave() when the query ends. */
bool queries_enter(struct exchange *x);
void queries_leave(struct exchange *x);

#endif
