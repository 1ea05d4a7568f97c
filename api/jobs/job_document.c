/* The job document and its parts, in the form that every route writes, and the lookup of the job that a path names. */
#include "api/jobs/job_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/rights/caller.h"
#include "protocol/config_json.h"
#include "storage/jobs/policy.h"
#include "storage/storage.h"

void stored_json(struct json_sink *json, const char *key, const char *text)
{
    if (text == NULL) {
        sink_null(&json->sink, key);
    } else if (!json_scan(text, strlen(text), NULL)) {
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
                                        "stage",       "phase"};
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
            sink_integer(out, names[i], 0); /* 0 and not null, because a job without stored progress has not started */
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

static void method_links(struct exchange *x, const struct storage_job *job)
{
    const struct method *method = api_method(x->api, job->kind);
    for (size_t i = 0; method != NULL && method->open != NULL && i < method->query_count; i++) {
        /* whether the query gets no link: its path contains an item, or an earlier query with the same path has the
         * link already */
        bool linked = method->queries[i].item != NULL;
        for (size_t before = 0; before < i; before++)
            linked |= method->queries[before].item == NULL &&
                      strcmp(method->queries[before].name, method->queries[i].name) == 0;
        if (!linked) {
            char path[64];
            (void)snprintf(path, sizeof path, "/%s", method->queries[i].name);
            link(x->out, method->queries[i].name, job->id, path);
        }
    }
}

/* Writes the links. Without `all`, only the job itself and the actions that its state allows. */
static void links(struct exchange *x, const struct storage_job *job, bool all)
{
    static const struct {
        const char *name, *path;
        enum job_event event;
    } actions[] = {{"cancel", "/cancel", JOB_EVENT_CANCEL},
                   {"pause", "/pause", JOB_EVENT_PAUSE},
                   {"resume", "/resume", JOB_EVENT_RESUME}};
    static const char *const parts[] = {"metrics", "events", "checkpoints", "evaluation", "artifacts"};
    const struct sink *out = x->out;
    sink_begin_object(out, "links");
    link(out, "self", job->id, "");
    for (size_t i = 0; all && i < sizeof parts / sizeof parts[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/%s", parts[i]);
        link(out, parts[i], job->id, path);
    }
    if (all)
        method_links(x, job);
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        enum job_state state;
        enum requested_state requested;
        if (job_state_next(job->state, job->requested, actions[i].event, &state, &requested))
            link(out, actions[i].name, job->id, actions[i].path);
    }
    if (all) {
        char kind[96];
        (void)snprintf(kind, sizeof kind, "/v1/kinds/%s", job->kind);
        sink_text(out, "kind", kind);
    }
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

/* Reads the stored configuration of a job. STATUS_INVALID: this build lacks one of its fields. The caller frees
 * *config. */
static enum status read_config(const struct method *method, const struct storage_job *job, void **config,
                               struct error *err)
{
    struct api_faults faults = {.count = 0};
    cJSON *root = NULL;
    enum status status = json_parse(job->config, strlen(job->config), &root, err);
    if (!status)
        status = config_start(method, NULL, config, err);
    if (!status)
        config_read_object(method, root, "", true, *config, &faults);
    cJSON_Delete(root);
    return !status && faults.count > 0 ? STATUS_INVALID : status;
}

/* Writes the phases of the job's training. The list is empty if this build lacks the kind or one of the fields. */
static void plan_document(struct exchange *x, const struct storage_job *job)
{
    const struct method *method = api_method(x->api, job->kind);
    struct error err;
    void *config = NULL;
    error_clear(&err);
    if (method != NULL && !read_config(method, job, &config, &err)) {
        method_plan(method, config, x->out);
    } else {
        sink_begin_list(x->out, "plan");
        sink_end_list(x->out);
    }
    free(config);
}

/* Writes the name of the present phase, which the stored progress contains. */
static void phase_document(struct json_sink *json, const char *progress)
{
    cJSON *root = NULL;
    if (progress != NULL)
        json->out->failed |= json_parse(progress, strlen(progress), &root, NULL) == STATUS_NO_MEMORY;
    sink_text(&json->sink, "phase", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "phase")));
    cJSON_Delete(root);
}

/* Writes the fields of the configuration that have an effect. The stored configuration contains all fields; it is
 * written unchanged if this build lacks the kind or one of the fields. */
static void config_document(struct exchange *x, const struct storage_job *job)
{
    const struct method *method = api_method(x->api, job->kind);
    struct error err;
    void *config = NULL;
    error_clear(&err);
    if (method == NULL) {
        stored_json(&x->json, "config", job->config);
        return;
    }
    enum status status = read_config(method, job, &config, &err);
    if (!status)
        status = config_show(method, config, x->out, &err);
    if (!status)
        status = config_warn(method, job->preset, config, x->out, &err);
    if (status == STATUS_NO_MEMORY)
        x->response->body.failed = true;
    else if (status)
        stored_json(&x->json, "config", job->config);
    free(config);
}

/* Names of the members of a job document, in the order of the document. */
static const char *const member_names[] = {
    "id",          "kind",       "preset",      "name",     "owner",           "team",    "visibility", "pinned",
    "expires_at",  "tags",       "task",        "state",    "requested_state", "blocked", "priority",   "threads",
    "executor",    "ranks",      "traceparent", "study",    "config",          "facts",   "warnings",   "plan",
    "from",        "evaluation", "phase",       "progress", "result",          "error",   "created_at", "started_at",
    "finished_at", "links"};
#define MEMBERS (sizeof member_names / sizeof member_names[0])

/* Which members of a job document are written. `fields` has commas at both ends, such as ",id,name,". */
struct view {
    struct exchange *x;
    const struct storage_job *job;
    const char *fields; /* names of the wanted members; NULL: those that a list shows by default (job_list_item()) */
    bool config;        /* if `fields` is NULL: add the configuration */
    bool whole;         /* if `fields` is NULL: show every member completely */
};

static bool job_document_listed(const char *fields, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(fields, name); at != NULL; at = strstr(at + 1, name))
        if (at[-1] == ',' && at[length] == ',')
            return true;
    return false;
}

static bool shows(const struct view *v, const char *name)
{
    return v->fields == NULL || job_document_listed(v->fields, name);
}

static void show_text(const struct view *v, const char *name, const char *value)
{
    if (shows(v, name))
        sink_text(v->x->out, name, value != NULL && value[0] != '\0' ? value : NULL);
}

static void show_integer(const struct view *v, const char *name, int64_t value)
{
    if (shows(v, name))
        sink_integer(v->x->out, name, value);
}

static void show_time(const struct view *v, const char *name, int64_t value)
{
    if (shows(v, name))
        sink_time(v->x->out, name, value);
}

/* Writes a part of the result: with `fields`, the members that it lists as "result.NAME"; otherwise the members that
 * are single values. */
static void write_result_part(const struct view *v)
{
    struct json_sink *json = &v->x->json;
    cJSON *root = NULL;
    if (v->job->result != NULL)
        json->out->failed |= json_parse(v->job->result, strlen(v->job->result), &root, NULL) == STATUS_NO_MEMORY;
    if (!cJSON_IsObject(root)) {
        stored_json(json, "result", v->job->result);
        cJSON_Delete(root);
        return;
    }
    sink_begin_object(v->x->out, "result");
    JSON_EACH (item, root) {
        char name[96];
        (void)snprintf(name, sizeof name, "result.%.80s", item->string);
        bool single = !cJSON_IsArray(item) && !cJSON_IsObject(item);
        if (v->fields != NULL ? !job_document_listed(v->fields, name) : !single)
            continue;
        char *text = cJSON_PrintUnformatted(item);
        json->out->failed |= text == NULL;
        if (text != NULL)
            json_sink_raw(json, item->string, text);
        cJSON_free(text);
    }
    sink_end_object(v->x->out);
    cJSON_Delete(root);
}

static void show_result(const struct view *v)
{
    bool part = v->fields != NULL ? strstr(v->fields, ",result.") != NULL : !v->whole;
    if (v->fields != NULL ? job_document_listed(v->fields, "result") : v->whole)
        stored_json(&v->x->json, "result", v->job->result);
    else if (part)
        write_result_part(v);
}

/* Returns why a job waits until a write succeeds, or NULL. *cancelled: whether it was cancelled and the disk was too
 * full to store this. */
static const char *blocked_by(const struct exchange *x, const struct storage_job *job, bool *cancelled)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    *cancelled = false;
    return job->state == JOB_RUNNING && daemon->job_blocked != NULL
               ? daemon->job_blocked(daemon->context, job->id, cancelled)
               : NULL;
}

/* When a policy deletes the job; 0: never, or it cannot be read. */
static int64_t expiry(const struct exchange *x, const struct storage_job *job)
{
    int64_t at = 0;
    if (job_state_final(job->state))
        (void)storage_job_expiry(x->api->options.storage, job->id, &at, &(struct error){0});
    return at;
}

static void write_origin(const struct view *v)
{
    bool cancelled;
    static const char *const requested[REQUESTED_STATES] = {NULL, "paused", "cancelled"};
    const struct storage_job *job = v->job;
    const char *blocked = blocked_by(v->x, job, &cancelled);
    show_text(v, "id", job->id);
    show_text(v, "kind", job->kind);
    show_text(v, "preset", job->preset);
    show_text(v, "name", job->name);
    show_text(v, "owner", job->owner);
    show_text(v, "team", job->team);
    show_text(v, "visibility", visibility_name(job->visibility));
    if (shows(v, "pinned"))
        sink_boolean(v->x->out, "pinned", job->pinned);
    if (v->fields != NULL ? job_document_listed(v->fields, "expires_at") : v->whole)
        sink_time(v->x->out, "expires_at", expiry(v->x, job));
    if (shows(v, "tags"))
        stored_json(&v->x->json, "tags", job->tags != NULL ? job->tags : "[]");
    show_text(v, "task", job->task == JOB_EVALUATE ? "evaluate" : "train");
    show_text(v, "state", job_state_name(job->state));
    show_text(v, "requested_state", requested[cancelled ? REQUESTED_CANCELLED : job->requested]);
    show_text(v, "blocked", blocked);
    show_integer(v, "priority", job->priority);
    show_integer(v, "threads", job->threads);
    show_text(v, "executor", job->executor);
    show_integer(v, "ranks", job->ranks);
    show_text(v, "traceparent", job->trace);
    show_text(v, "study", job->study);
}

static void write_document(const struct view *v, const char *key)
{
    const struct storage_job *job = v->job;
    sink_begin_object(v->x->out, key);
    write_origin(v);
    if (v->fields != NULL ? job_document_listed(v->fields, "config") || job_document_listed(v->fields, "facts") ||
                                job_document_listed(v->fields, "warnings")
                          : v->config)
        config_document(v->x, job);
    if (v->fields != NULL ? job_document_listed(v->fields, "plan") : v->whole)
        plan_document(v->x, job);
    if (shows(v, "from"))
        source(v->x->out, "from", job);
    if (shows(v, "evaluation"))
        stored_json(&v->x->json, "evaluation", job->params);
    if (shows(v, "phase"))
        phase_document(&v->x->json, job->progress);
    if (shows(v, "progress"))
        progress_document(&v->x->json, job->progress);
    show_result(v);
    if (shows(v, "error"))
        stored_json(&v->x->json, "error", job->error);
    show_time(v, "created_at", job->created_at);
    show_time(v, "started_at", job->started_at);
    show_time(v, "finished_at", job->finished_at);
    if (shows(v, "links"))
        links(v->x, job, v->whole || v->fields != NULL);
    sink_end_object(v->x->out);
}

void job_document(struct exchange *x, const char *key, const struct storage_job *job)
{
    const struct view v = {.x = x, .job = job, .config = true, .whole = true};
    write_document(&v, key);
}

void job_list_item(struct exchange *x, const struct storage_job *job, const char *fields, bool config)
{
    const struct view v = {.x = x, .job = job, .fields = fields, .config = config};
    write_document(&v, NULL);
}

bool job_member_known(const char *name, struct name_guess *guess)
{
    if (strncmp(name, "result.", 7) == 0 && name[7] != '\0')
        return true;
    for (size_t i = 0; i < MEMBERS; i++) {
        if (strcmp(member_names[i], name) == 0)
            return true;
        name_guess_offer(guess, member_names[i]);
    }
    return false;
}

/* The tag contains numbers, VERSION, PROGRESS and when a policy deletes the job, because all identify the
 * representation. If-Match compares only VERSION: progress of a job is no reason to refuse a change of its name. */
void job_etag(const struct exchange *x, const struct storage_job *job, char out[64])
{
    bool cancelled, blocked = blocked_by(x, job, &cancelled) != NULL;
    char until[24] = "";
    const int64_t at = expiry(x, job);
    if (at > 0)
        (void)snprintf(until, sizeof until, ".%llx", (unsigned long long)at);
    (void)snprintf(out, 64, "\"%lld.%lld%s%s%s\"", (long long)job->version, (long long)job->progress_version, until,
                   blocked ? ".blocked" : "", cancelled ? ".cancelled" : "");
}

bool exchange_job(struct exchange *x, struct storage_job *job)
{
    struct error err;
    error_clear(&err);
    const char *id = exchange_param(x, "id");
    enum status status = x->match.route->right == RIGHT_TRAINER /* whose right to the job is checked already */
                             ? storage_job_get(x->api->options.storage, id, &x->arena, job, &err)
                             : caller_job(x, id, job, &err);
    if (status == STATUS_NOT_FOUND)
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no job %s.", id);
    else if (status)
        respond_error(x, &err);
    return !status;
}

void respond_job(struct exchange *x, int status, const char *id)
{
    struct storage_job job;
    struct error err;
    error_clear(&err);
    if (storage_job_get(x->api->options.storage, id, &x->arena, &job, &err)) {
        respond_error(x, &err);
        return;
    }
    char etag[64];
    job_etag(x, &job, etag);
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
    else if (status)
        respond_error(x, &err);
    return !status;
}

void checkpoint_brief(const struct sink *out, const struct storage_checkpoint *checkpoint)
{
    sink_begin_object(out, "checkpoint");
    sink_integer(out, "seq", checkpoint->seq);
    sink_integer(out, "step", checkpoint->step);
    sink_number(out, "density", checkpoint->density);
    sink_end_object(out);
}
