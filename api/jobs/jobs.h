/* Handlers of /v1/jobs, of /v1/events, and of routes that begin with /v1/jobs/{id}. routes.c has one row for each
 * handler. Each handler sends a response. */
#ifndef MOTIF_API_JOBS_JOBS_H
#define MOTIF_API_JOBS_JOBS_H

#include "api/http/exchange.h"
#include "storage/storage.h"

void jobs_submit(struct exchange *x);
void jobs_list(struct exchange *x);
void jobs_show(struct exchange *x);
void jobs_patch(struct exchange *x);
void jobs_cancel(struct exchange *x);
void jobs_pause(struct exchange *x);
void jobs_resume(struct exchange *x);
void jobs_delete(struct exchange *x);
void metrics_read(struct exchange *x);
void events_all(struct exchange *x);
void events_job(struct exchange *x);
void checkpoints_list(struct exchange *x);
void checkpoints_get(struct exchange *x);
void evaluation_read(struct exchange *x);
void evaluation_submit(struct exchange *x);
void artifacts_list(struct exchange *x);
void artifacts_get(struct exchange *x);

/* Stores a job and responds 201. If the Idempotency-Key was used before for the same request, repeats the first
 * response. `body` is the body of the request, over which the hash for the key is computed. Fills key, owner and limits
 * of `submit`. */
void submit_and_respond(struct exchange *x, struct storage_submit *submit, const cJSON *body);

#endif
