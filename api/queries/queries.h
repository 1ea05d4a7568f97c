/* Handlers of the routes that come from the methods' tables (query_routes.h), and the bound on their number.
 *
 * A handler responds in any case. Any thread. */
#ifndef MOTIF_API_QUERIES_QUERIES_H
#define MOTIF_API_QUERIES_QUERIES_H

#include "api/http/exchange.h"

/* /v1/jobs/{id}/NAME and /v1/jobs/{id}/NAME/{ITEM}: a query of a trained model. */
void query_answer(struct exchange *x);
/* POST /v1/KIND/NAME: a computation without a job. */
void computation_answer(struct exchange *x);

/* Counts a query that begins to compute. When options.queries_at_once compute already, it returns false and has
 * responded 429. queries_leave() ends what queries_enter() began. */
bool queries_enter(struct exchange *x);
void queries_leave(struct exchange *x);

#endif
