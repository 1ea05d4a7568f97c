/* Private to the api room: the api object, a request in progress, and how a handler answers. */
#ifndef MOTIF_API_API_INT_H
#define MOTIF_API_API_INT_H

#include <stdatomic.h>

#include "api/api.h"
#include "api/json/config_json.h"
#include "api/json/json.h"
#include "api/json/json_sink.h"
#include "api/http/problem.h"
#include "api/documents/prometheus.h"
#include "api/http/route.h"
#include "api/http/uri.h"
#include "core/base/arena.h"
#include "storage/storage.h"

#define API_DOCUMENT_MAX (256u << 20) /* bytes of a response that is built in memory */
#define RETRY_SECONDS 2

struct model_cache;
struct trainers;
struct picture;

struct api {
    struct api_options options;
    struct counters *counters;
    struct model_cache *models;
    struct trainers *trainers;
    struct buf openapi; /* the document */
    atomic_int queries; /* that compute now */
    atomic_int uploads; /* in progress */
};

/* One request being answered. Lives on the stack of api_handle(). */
struct exchange {
    struct api *api;
    const struct api_request *request;
    struct api_response *response;
    struct route_match match;
    struct query query;
    struct arena arena;     /* gone with the exchange */
    struct json_sink json;  /* writes response->body */
    const struct sink *out; /* the same, for sink_*() */
};

/* ---- what a request says (NULL: it does not) ---- */
const char *exchange_param(const struct exchange *x, const char *name); /* of the path; never NULL for its own */
const char *exchange_query(const struct exchange *x, const char *name);
int64_t exchange_query_integer(const struct exchange *x, const char *name, int64_t otherwise);
bool exchange_query_flag(const struct exchange *x, const char *name);
const char *exchange_header(const struct exchange *x, const char *name);
/* The body as a JSON object; NULL after the problem has been answered. The caller deletes it. */
cJSON *exchange_object(struct exchange *x);

/* ---- how it is answered: each sets the whole response, and is the last thing a handler does ---- */

/* The document that was written to x->out. Another problem when it is not complete. */
void respond_json(struct exchange *x, int status);
/* What lies in response->body. media_type: static. */
void respond_body(struct exchange *x, int status, const char *media_type);
void respond_empty(struct exchange *x, int status);
void respond_problem(struct exchange *x, enum problem problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void respond_faults(struct exchange *x, enum problem problem, const char *member, const struct api_faults *faults);
/* An error of the rooms below: the right status; what must not be told is logged instead. */
void respond_error(struct exchange *x, const struct error *err);

/* ---- headers ---- */
void response_header(struct api_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets ETag; when If-None-Match names it, answers 304 and says true: nothing more is to be done. */
bool respond_not_modified(struct exchange *x, const char *etag);
void response_init(struct api_response *response, const struct api_request *request);
void response_reset(struct api_response *response); /* status, headers, body; the id stays */

void api_facts(const struct api *api, struct api_system *system); /* zeroed when the host has none */
bool api_draining(const struct api *api);
const struct method *api_method(const struct api *api, const char *kind); /* NULL: none */
int64_t now_ms(void);
/* RFC 3339 UTC with milliseconds; null for 0. */
void sink_time(const struct sink *out, const char *key, int64_t ms);

/* ---- the handlers, one for each row of routes.c ---- */
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
void query_motifs(struct exchange *x);
void query_predict(struct exchange *x);
void query_interventions(struct exchange *x);
void query_compare(struct exchange *x);
void query_pathways(struct exchange *x);
void query_channels(struct exchange *x);
void query_channel(struct exchange *x);
void recover_pathway(struct exchange *x);
void imports_create(struct exchange *x);
void attestation_show(struct exchange *x);
void bundle_show(struct exchange *x);
void onnx_show(struct exchange *x);
void evaluation_read(struct exchange *x);
void evaluation_submit(struct exchange *x);
void artifacts_list(struct exchange *x);
void artifacts_get(struct exchange *x);
void datasets_put(struct exchange *x);
void datasets_list(struct exchange *x);
void datasets_show(struct exchange *x);
void datasets_preview(struct exchange *x);
void datasets_delete(struct exchange *x);
void uploads_show(struct exchange *x);
void audit_list(struct exchange *x);
void trainer_register(struct exchange *x);
void trainer_report(struct exchange *x);
void trainer_artifact(struct exchange *x);
void trainer_checkpoints(struct exchange *x);
void trainer_checkpoint(struct exchange *x);
void trainer_announce(struct exchange *x);
void trainer_piece(struct exchange *x);
void trainer_end(struct exchange *x);
void kinds_list(struct exchange *x);
void kinds_show(struct exchange *x);
void system_show(struct exchange *x);
void health_live(struct exchange *x);
void health_ready(struct exchange *x);
void health_metrics(struct exchange *x);
void openapi_show(struct exchange *x);
void root_show(struct exchange *x);
void asset_show(struct exchange *x);

/* ---- shared by handlers ---- */

/* audit.c: whether a request is to be noted, and both notes. */
bool audit_begin(struct exchange *x, bool *noted); /* false: answered */
void audit_end(struct exchange *x);

/* datasets.c: false after a refusal was answered. Counts the upload; api_upload_close() counts it off. */
bool datasets_begin(struct exchange *x, struct api_upload **upload);

/* The job of the path's {id}; false after a 404 has been answered. */
bool exchange_job(struct exchange *x, struct storage_job *job);
/* The checkpoint that ?checkpoint= picks, without it the latest; false after a 400, 404 or 409 has been answered. */
bool exchange_checkpoint(struct exchange *x, const struct storage_job *job, struct storage_checkpoint *out);
/* {"seq", "step", "density"} as the member "checkpoint". */
void checkpoint_brief(const struct sink *out, const struct storage_checkpoint *checkpoint);
/* queries.c: a query begins to compute, unless too many do (false after a 429); queries_leave() when it is done. */
bool queries_enter(struct exchange *x);
void queries_leave(struct exchange *x);
/* As PNG; the picture stays the caller's. */
void respond_picture(struct exchange *x, const struct picture *picture, const struct storage_checkpoint *checkpoint);
void job_etag(const struct storage_job *job, char out[64]);
/* The job document, as a value. */
void job_document(struct exchange *x, const char *key, const struct storage_job *job);
/* Its member "progress" of the stored text, which may be NULL. */
void progress_document(struct json_sink *json, const char *stored);
/* Loads the job and answers with it. */
void respond_job(struct exchange *x, int status, const char *id);
/* Stores and answers 201, or the first answer again. `body` is what the fingerprint is taken of. */
void submit_and_respond(struct exchange *x, struct storage_submit *submit, const cJSON *body);
/* The body of POST /v1/jobs once it is parsed. */
enum status job_spec_read(const struct api_job_rules *rules, const cJSON *root, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err);
#define JOB_PRIORITY_MAX 100
bool job_name_read(const cJSON *value, char name[STORAGE_NAME], struct api_faults *faults);
bool job_integer_read(const cJSON *value, const char *pointer, int64_t min, int64_t max, int64_t *out,
                      struct api_faults *faults);
#define CHECKPOINT_PICK_RULE "must be latest, best, a sequence number, or \"density:NUMBER\""
/* "latest", "12", "density:5.0e-5", 12; false when it is none of these. */
bool checkpoint_pick_text(const char *text, struct storage_checkpoint_pick *pick);
bool checkpoint_pick_json(const cJSON *value, struct storage_checkpoint_pick *pick);
/* A list of [step, value] under the series' name. */
void series_write(const struct sink *out, const struct storage_series *series);
/* Stored text as a JSON value: itself when it is JSON, otherwise {"detail": text}; null when NULL. */
void stored_json(struct json_sink *json, const char *key, const char *text);

/* ---- the OpenAPI document ---- */
enum status openapi_build(const struct api *api, struct buf *out, struct error *err);

#endif
