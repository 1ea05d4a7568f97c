/* Parts of documents about jobs that several handlers write, and the lookup of the job that a path names. */
#ifndef MOTIF_API_JOBS_JOB_DOCUMENT_H
#define MOTIF_API_JOBS_JOB_DOCUMENT_H

#include "api/http/exchange.h"
#include "protocol/faults.h"
#include "storage/storage.h"

/* Loads the job of the path's {id} into the exchange's arena. After a failure it returns false and has responded (404
 * for an unknown job). */
bool exchange_job(struct exchange *x, struct storage_job *job);
/* Finds the checkpoint that ?checkpoint= picks; without this parameter, the latest. After a failure, the function has
 * responded and returns false (400: the value is not a pick; 404: unknown checkpoint; 409: the job has no checkpoint
 * yet). */
bool exchange_checkpoint(struct exchange *x, const struct storage_job *job, struct storage_checkpoint *out);

/* Writes the job document under `key` (NULL: as the root or an item of a list). */
void job_document(struct exchange *x, const char *key, const struct storage_job *job);
/* Writes a job as an item of a list. fields: names of the wanted members with commas at both ends (",id,result.fpe,").
 * NULL: all members, with three exceptions. The result has only its single values. The links have only the job and its
 * actions. The configuration is left out unless `config` is true, because reading it costs more than the rest of the
 * document. */
void job_list_item(struct exchange *x, const struct storage_job *job, const char *fields, bool config);
/* True if a job document has a member of this name, or the name is "result." with the name of a member of the result.
 * Otherwise offers all known names to `guess`. */
bool job_member_known(const char *name, struct name_guess *guess);
/* Loads the job and responds with its document and its ETag. */
void respond_job(struct exchange *x, int status, const char *id);
/* Writes the entity tag of a job: "VERSION.PROGRESS". */
void job_etag(const struct exchange *x, const struct storage_job *job, char out[64]);
/* Writes the member "progress" from the stored text; NULL: the job has not started. */
void progress_document(struct json_sink *json, const char *stored);
/* Writes the member "checkpoint": {"seq", "step", "density"}. */
void checkpoint_brief(const struct sink *out, const struct storage_checkpoint *checkpoint);
/* Writes a series as a member with its name: a list of [step, value]. */
void series_write(const struct sink *out, const struct storage_series *series);
/* Writes stored text as a JSON value: unchanged when it is JSON, else {"detail": text}; null for NULL. */
void stored_json(struct json_sink *json, const char *key, const char *text);

#endif
