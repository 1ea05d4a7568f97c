/* The job document and its parts, in the form that every route writes, and the lookup of the job that a path names. */
#include "api/jobs/job_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/json/config_json.h"
#include "storage/storage.h"

void stored_json(struct json_sink *json, const char *key, const char *text)
{
    if (text == NULL) {
        sink_null(&json->sink, key);
    } else if (json_scan(text, strlen(text), NULL) == STATUS_OK) {
        json_sink_raw(json, key, text);
    } else {
        sink_begin_object(&json->sink, key);
        sink_text(&json->sink, "detail", text);
        sink_end_object(&json->sink);
    }
}

/* `progress` always has the same members. Those that the executor has not reported are null. */
void progress_document(struct json_sink *json, const char *stored)
{
    static const char *const names[] = {"step",        "samples", "fraction",        "samples_per_second",
                                        "eta_seconds", "density", "target_accuracy", "accuracy",
                                        "stage"};
    const struct sink *out = &json->sink;
    cJSON *root = NULL;
    if (stored != NULL)
        json->out->failed |= json_parse(stored, strlen(stored), &root, NULL) == STATUS_NO_MEMORY;
    sink_begin_object(out, "progress");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(root, names[i]);
        if (cJSON_IsNumber(value))
            sink_number(out, names[i], value->valuedouble);
        else if (cJSON_IsString(value))
            sink_text(out, names[i], value->valuestring);
        else if (value == NULL && i < 3 && stored == NULL)
            sink_integer(out, names[i], 0); /* without stored progress, the job has not started */
        else
            sink_null(out, names[i]);
    }
    sink_end_object(out);
    cJSON_Delete(root);
}

static void link(const struct sink *out, const char *key, const char *id, const char *rest)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/jobs/%s%s", id, rest);
    sink_text(out, key, path);
}

static void links(struct exchange *x, const struct storage_job *job)
{
    static const struct {
        const char *name, *path;
        enum job_event event;
    } actions[] = {{"cancel", "/cancel", JOB_EVENT_CANCEL},
                   {"pause", "/pause", JOB_EVENT_PAUSE},
                   {"resume", "/resume", JOB_EVENT_RESUME}};
    const struct sink *out = x->out;
    sink_begin_object(out, "links");
    link(out, "self", job->id, "");
    link(out, "metrics", job->id, "/metrics");
    link(out, "events", job->id, "/events");
    link(out, "checkpoints", job->id, "/checkpoints");
    link(out, "evaluation", job->id, "/evaluation");
    link(out, "artifacts", job->id, "/artifacts");
    const struct method *method = api_method(x->api, job->kind);
    for (size_t i = 0; method != NULL && method->open != NULL && i < method->query_count; i++) {
        if (method->queries[i].item == NULL) {
            char path[64];
            (void)snprintf(path, sizeof path, "/%s", method->queries[i].name);
            link(out, method->queries[i].name, job->id, path);
        }
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        enum job_state state;
        enum requested_state requested;
        if (job_state_next(job->state, job->requested, actions[i].event, &state, &requested))
            link(out, actions[i].name, job->id, actions[i].path);
    }
    char kind[96];
    (void)snprintf(kind, sizeof kind, "/v1/kinds/%s", job->kind);
    sink_text(out, "kind", kind);
    sink_end_object(out);
}

static void source(const struct sink *out, const char *key, const struct storage_job *job)
{
    if (job->source_job[0] == '\0') {
        sink_null(out, key);
        return;
    }
    sink_begin_object(out, key);
    sink_text(out, "job", job->source_job);
    sink_integer(out, "checkpoint", job->source_checkpoint);
    sink_end_object(out);
}

/* Writes the fields that apply. The stored configuration contains all fields; it is written unchanged when this build
 * lacks the kind or one of the fields. */
static void config_document(struct exchange *x, const struct storage_job *job)
{
    const struct method *method = api_method(x->api, job->kind);
    struct api_faults faults = {.count = 0};
    struct error err;
    void *config = NULL;
    error_clear(&err);
    if (method == NULL) {
        stored_json(&x->json, "config", job->config);
        return;
    }
    cJSON *root = NULL;
    enum status status = json_parse(job->config, strlen(job->config), &root, &err);
    if (status == STATUS_OK)
        status = config_start(method, NULL, &config, &err);
    if (status == STATUS_OK) {
        config_read_object(method, root, "", config, &faults);
        status = faults.count > 0 ? STATUS_INVALID : config_show(method, config, "config", x->out, &err);
    }
    if (status == STATUS_NO_MEMORY)
        x->response->body.failed = true;
    else if (status != STATUS_OK)
        stored_json(&x->json, "config", job->config);
    cJSON_Delete(root);
    free(config);
}

static void write_document(struct exchange *x, const char *key, const struct storage_job *job, bool config)
{
    static const char *const requested[REQUESTED_STATES] = {NULL, "paused", "cancelled"};
    const struct sink *out = x->out;
    sink_begin_object(out, key);
    sink_text(out, "id", job->id);
    sink_text(out, "kind", job->kind);
    sink_text(out, "preset", job->preset[0] != '\0' ? job->preset : NULL);
    sink_text(out, "name", job->name[0] != '\0' ? job->name : NULL);
    sink_text(out, "owner", job->owner[0] != '\0' ? job->owner : NULL);
    sink_text(out, "task", job->task == JOB_EVALUATE ? "evaluate" : "train");
    sink_text(out, "state", job_state_name(job->state));
    sink_text(out, "requested_state", requested[job->requested]);
    sink_integer(out, "priority", job->priority);
    sink_integer(out, "threads", job->threads);
    sink_text(out, "executor", job->executor[0] != '\0' ? job->executor : NULL);
    sink_integer(out, "ranks", job->ranks);
    if (config)
        config_document(x, job);
    source(out, "from", job);
    stored_json(&x->json, "evaluation", job->params);
    progress_document(&x->json, job->progress);
    stored_json(&x->json, "result", job->result);
    stored_json(&x->json, "error", job->error);
    sink_time(out, "created_at", job->created_at);
    sink_time(out, "started_at", job->started_at);
    sink_time(out, "finished_at", job->finished_at);
    links(x, job);
    sink_end_object(out);
}

void job_document(struct exchange *x, const char *key, const struct storage_job *job)
{
    write_document(x, key, job, true);
}

void job_list_item(struct exchange *x, const struct storage_job *job, bool config)
{
    write_document(x, NULL, job, config);
}

/* The tag contains two numbers, VERSION and PROGRESS, because both identify the representation. If-Match compares only
 * VERSION: progress of a job is no reason to refuse a change of its name. */
void job_etag(const struct storage_job *job, char out[64])
{
    (void)snprintf(out, 64, "\"%lld.%lld\"", (long long)job->version, (long long)job->progress_version);
}

bool exchange_job(struct exchange *x, struct storage_job *job)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_job_get(x->api->options.storage, exchange_param(x, "id"), &x->arena, job, &err);
    if (status == STATUS_NOT_FOUND)
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no job %s.", exchange_param(x, "id"));
    else if (status != STATUS_OK)
        respond_error(x, &err);
    return status == STATUS_OK;
}

void respond_job(struct exchange *x, int status, const char *id)
{
    struct storage_job job;
    struct error err;
    error_clear(&err);
    if (storage_job_get(x->api->options.storage, id, &x->arena, &job, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    char etag[64];
    job_etag(&job, etag);
    response_header(x->response, "ETag", "%s", etag);
    job_document(x, NULL, &job);
    respond_json(x, status);
}

bool exchange_checkpoint(struct exchange *x, const struct storage_job *job, struct storage_checkpoint *out)
{
    struct error err;
    error_clear(&err);
    const char *wanted = exchange_query(x, "checkpoint");
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    if (wanted != NULL && !checkpoint_pick_text(wanted, &pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: " CHECKPOINT_PICK_RULE ".");
        return false;
    }
    enum status status = storage_checkpoint_find(x->api->options.storage, job->id, pick, out, &err);
    if (status == STATUS_NOT_FOUND && wanted == NULL)
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", job->id);
    else if (status != STATUS_OK)
        respond_error(x, &err);
    return status == STATUS_OK;
}

void checkpoint_brief(const struct sink *out, const struct storage_checkpoint *checkpoint)
{
    sink_begin_object(out, "checkpoint");
    sink_integer(out, "seq", checkpoint->seq);
    sink_integer(out, "step", checkpoint->step);
    sink_number(out, "density", checkpoint->density);
    sink_end_object(out);
}
