/* Names that stand for ids of jobs: the name of a job, if no other job has it, and "latest". */
#ifndef MOTIF_API_JOBS_JOB_NAME_H
#define MOTIF_API_JOBS_JOB_NAME_H

#include <stdbool.h>

#include "api/http/exchange.h"
#include "storage/storage.h"

/* True for a text that has the length and the characters of an id. It is taken as an id, even if a job has this name.
 */
bool job_name_is_id(const char *text);
/* Returns what is wrong with the name of a new job or study, or NULL. Words that mean something else, and texts that
 * look like an id, are no names. */
const char *job_name_fault(const char *name);
/* Finds the id of the job that the caller may read and that `wanted` names: an id (it stays as it is, even if the job
 * does not exist), the name of a job, or "latest", the newest training. with_model: "latest" is the newest training
 * that has a checkpoint. Trainings of the request's own token come before those of others. Writes "" if no job has the
 * name. STATUS_CONFLICT: several jobs have the name; STATUS_NOT_FOUND: "latest", and there is no job. `err` contains a
 * sentence for the client. */
enum status job_name_find(struct exchange *x, const char *wanted, bool with_model, char id[STORAGE_ID],
                          struct error *err);

/* Replaces the path parameter {id} of the request, if it is a name. False: the function has responded. */
bool job_name_resolve(struct exchange *x);

#endif
