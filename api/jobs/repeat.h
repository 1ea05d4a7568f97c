/* Requests that create a job and can be repeated safely, because they have an Idempotency-Key. */
#ifndef MOTIF_API_JOBS_REPEAT_H
#define MOTIF_API_JOBS_REPEAT_H

#include "api/http/exchange.h"
#include "storage/storage.h"

/* Reads the request's Idempotency-Key. *key: NULL if there is none. False: the key is not valid, and the function has
 * responded. */
bool repeat_key(struct exchange *x, const char **key);
/* Responds for a stored submission or import: 201 with the job, or 422 if the key was used for another request. */
void repeat_respond(struct exchange *x, enum storage_submit_outcome outcome, const char *id);

#endif
