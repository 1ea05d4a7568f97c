/* Changes jobs: name, priority and tags, cancel, pause, resume, delete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/job_spec.h"
#include "api/jobs/jobs.h"
#include "protocol/faults.h"
#include "api/models/model_cache.h"
#include "api/review/mark_cache.h"
#include "storage/storage.h"

/* Reads the version of the job from If-Match, with or without the progress after its dot ("7.31" or "7"). *version is 0
 * if the request may change any version (no If-Match, or "*"). False: the function has responded 412. */
static bool expected_version(struct exchange *x, const struct storage_job *job, int64_t *version)
{
    *version = 0;
    const char *list = exchange_header(x, "If-Match");
    if (list == NULL)
        return true;
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*')
            return true;
        if (*at != '"')
            break;
        char *end;
        long long given = strtoll(at + 1, &end, 10);
        if (end != at + 1 && (*end == '"' || *end == '.') && given == job->version) {
            *version = job->version;
            return true;
        }
        const char *close = strchr(at + 1, '"');
        if (close == NULL)
            break;
        at = close + 1;
    }
    char etag[64];
    job_etag(x, job, etag);
    respond_problem(x, PROBLEM_PRECONDITION, "If-Match does not name the current version of the job, %s.", etag);
    response_header(x->response, "ETag", "%s", etag);
    return false;
}

struct patch_values { /* the values to which the members of storage_job_patch point */
    char name[STORAGE_NAME], tags[JOB_TAGS_TEXT];
    int priority;
    enum visibility visibility;
    bool pinned;
};

static bool read_flag(const cJSON *item, const char *pointer, bool *out, struct api_faults *faults)
{
    if (!cJSON_IsBool(item))
        api_faults_add(faults, pointer, "must be true or false");
    *out = cJSON_IsTrue(item);
    return cJSON_IsBool(item);
}

static void read_patch(const cJSON *body, struct storage_job_patch *patch, struct patch_values *values,
                       struct api_faults *faults)
{
    JSON_EACH (item, body) {
        int64_t integer = 0;
        if (strcmp(item->string, "name") == 0) {
            values->name[0] = '\0';
            if (cJSON_IsNull(item) || job_name_read(item, values->name, faults))
                patch->name = values->name;
        } else if (strcmp(item->string, "priority") == 0) {
            if (job_integer_read(&job_priority, item, &integer, faults)) {
                values->priority = (int)integer;
                patch->priority = &values->priority;
            }
        } else if (strcmp(item->string, "tags") == 0) {
            (void)snprintf(values->tags, sizeof values->tags, "[]");
            if (cJSON_IsNull(item) || job_tags_read(item, values->tags, faults))
                patch->tags = values->tags;
        } else if (strcmp(item->string, "visibility") == 0) {
            if (job_visibility_read(item, &values->visibility, faults))
                patch->visibility = &values->visibility;
        } else if (strcmp(item->string, "pinned") == 0) {
            if (read_flag(item, "/pinned", &values->pinned, faults))
                patch->pinned = &values->pinned;
        } else {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            struct name_guess guess = {.given = item->string};
            name_guess_offer(&guess, "name");
            name_guess_offer(&guess, "priority");
            name_guess_offer(&guess, "tags");
            name_guess_offer(&guess, "visibility");
            name_guess_offer(&guess, "pinned");
            name_guess_fault(&guess, "a member that can be changed (name, priority, tags, visibility and pinned can)",
                             pointer, faults);
        }
    }
}

bool sharing_read(struct exchange *x, struct sharing *out)
{
    cJSON *body = exchange_object(x);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    if (body != NULL && faults == NULL)
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    if (body == NULL || faults == NULL) {
        cJSON_Delete(body);
        return false;
    }
    JSON_EACH (item, body) {
        char pointer[128];
        fault_pointer(pointer, "", item->string);
        if (out->pinnable && strcmp(item->string, "pinned") == 0)
            out->pins = read_flag(item, "/pinned", &out->pinned, faults);
        else if (strcmp(item->string, "visibility") != 0)
            api_faults_add(faults, pointer, "cannot be changed; visibility%s can", out->pinnable ? " and pinned" : "");
    }
    const cJSON *visibility = cJSON_GetObjectItemCaseSensitive(body, "visibility");
    if (visibility != NULL || !out->pinnable)
        out->shares = job_visibility_read(visibility, &out->visibility, faults);
    cJSON_Delete(body);
    if (faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    return faults->count == 0;
}

void jobs_patch(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    cJSON *body = exchange_object(x);
    if (body == NULL)
        return;
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    struct storage_job_patch patch = {0};
    struct patch_values values;
    if (faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        cJSON_Delete(body);
        return;
    }
    read_patch(body, &patch, &values, faults);
    cJSON_Delete(body);
    if (!exchange_job(x, &job))
        return;
    if (faults->count > 0) {
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
        return;
    }
    if (!expected_version(x, &job, &patch.expected_version))
        return;
    enum status status = storage_job_patch(x->api->options.storage, job.id, &patch, &err);
    if (status == STATUS_CONFLICT && err.pointer[0] != '\0') {
        respond_problem(x, PROBLEM_CONFLICT, "%s: change that of study %s.", err.message, job.study);
    } else if (status == STATUS_CONFLICT && patch.expected_version != 0) {
        respond_problem(x, PROBLEM_PRECONDITION,
                        "Another request changed the job in the meantime: read it again and repeat the change.");
    } else if (status) {
        respond_error(x, &err);
    } else {
        if (patch.priority != NULL && x->api->options.daemon.jobs_waiting != NULL)
            x->api->options.daemon.jobs_waiting(x->api->options.daemon.context);
        respond_job(x, 200, job.id);
    }
}

static void request(struct exchange *x, enum job_event event, const char *participle)
{
    struct error err;
    error_clear(&err);
    const char *id = exchange_param(x, "id");
    const struct api_daemon *daemon = &x->api->options.daemon;
    enum job_state state = JOB_QUEUED;
    enum requested_state requested = REQUESTED_NONE;
    enum status status = storage_job_request(x->api->options.storage, id, event, &state, &requested, &err);
    if (status == STATUS_FULL && event == JOB_EVENT_CANCEL && daemon->job_cancel != NULL &&
        daemon->job_cancel(daemon->context, id)) {
        respond_job(x, 202, id);
        return;
    }
    if (status == STATUS_NOT_FOUND) {
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no job %s.", id);
        return;
    }
    if (status == STATUS_CONFLICT) {
        respond_problem(x, PROBLEM_CONFLICT, "A job that is %s%s cannot be %s.", job_state_name(state),
                        requested == REQUESTED_CANCELLED ? " and about to be cancelled" : "", participle);
        return;
    }
    if (status) {
        respond_error(x, &err);
        return;
    }
    if (state == JOB_RUNNING && daemon->job_requested != NULL)
        daemon->job_requested(daemon->context, id);
    if (state == JOB_QUEUED && daemon->jobs_waiting != NULL)
        daemon->jobs_waiting(daemon->context);
    respond_job(x, 202, id);
}

void jobs_cancel(struct exchange *x)
{
    request(x, JOB_EVENT_CANCEL, "cancelled");
}

void jobs_pause(struct exchange *x)
{
    request(x, JOB_EVENT_PAUSE, "paused");
}

void jobs_resume(struct exchange *x)
{
    request(x, JOB_EVENT_RESUME, "resumed");
}

void jobs_delete(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    int64_t version;
    if (!exchange_job(x, &job) || !expected_version(x, &job, &version))
        return;
    if (!job_state_final(job.state)) {
        respond_problem(x, PROBLEM_CONFLICT, "The job is %s; only a finished job can be deleted. Cancel it first.",
                        job_state_name(job.state));
        return;
    }
    enum status status = storage_job_delete(x->api->options.storage, job.id, &err);
    if (status && status != STATUS_NOT_FOUND) {
        respond_error(x, &err);
        return;
    }
    model_cache_forget(x->api->models, job.id);
    mark_cache_forget(x->api->marks, job.id);
    respond_empty(x, 204);
}
