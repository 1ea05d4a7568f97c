/* Names that stand for ids of jobs: the name of a job, if no other job has it, and "latest". */
#ifndef MOTIF_API_JOBS_JOB_NAME_H
#define MOTIF_API_JOBS_JOB_NAME_H

#include <stdbool.h>

#include "api/http/exchange.h"
#include "storage/storage.h"

/* Finds the id that `wanted` stands for; "" if no job has this name. An id stands for itself, whether the job exists or
 * not. `with_model`: "latest" means the newest training that has a checkpoint. Jobs of the request's own token
 * come before jobs of others. STATUS_CONFLICT: several jobs have the name; STATUS_NOT_FOUND: "latest", and
 * there is no job. `err` contains a sentence for the client. */
enum status job_name_find(struct exchange *x, const char *wanted, bool with_model, char id[STORAGE_ID],
                          struct error *err);

/* Replaces the path parameter {id} of the request, if it is a name. False: the function has responded. */
bool job_name_resolve(struct exchange *x);

#endif
