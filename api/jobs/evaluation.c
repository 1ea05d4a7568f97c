/* Evaluations. POST stores a job that measures a checkpoint of another job; GET returns the newest result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/jobs/job_spec.h"
#include "api/jobs/jobs.h"
#include "api/rights/caller.h"
#include "protocol/faults.h"
#include "storage/storage.h"

#define SAMPLES_DEFAULT 1000
#define SAMPLES_MAX 100000000
#define SEED_TEST (-2) /* this seed selects the test set of a domain */

/* Copies the members of a stored result into the object or list that is open in `out`. */
static void copy_members(const struct sink *out, const cJSON *value);

static void copy_value(const struct sink *out, const char *key, const cJSON *value)
{
    if (cJSON_IsNumber(value)) {
        sink_number(out, key, value->valuedouble);
    } else if (cJSON_IsString(value)) {
        sink_text(out, key, value->valuestring);
    } else if (cJSON_IsBool(value)) {
        sink_boolean(out, key, cJSON_IsTrue(value));
    } else if (cJSON_IsArray(value)) {
        sink_begin_list(out, key);
        copy_members(out, value);
        sink_end_list(out);
    } else if (cJSON_IsObject(value)) {
        sink_begin_object(out, key);
        copy_members(out, value);
        sink_end_object(out);
    } else {
        sink_null(out, key);
    }
}

static void copy_members(const struct sink *out, const cJSON *value)
{
    JSON_EACH (item, value)
        copy_value(out, item->string, item);
}

static void respond_evaluation(struct exchange *x, const struct storage_job *of, const struct storage_job *by)
{
    cJSON *result = NULL;
    struct error err;
    error_clear(&err);
    if (by->result != NULL && json_parse(by->result, strlen(by->result), &result, &err)) {
        respond_error(x, &err);
        return;
    }
    if (!cJSON_IsObject(result)) {
        cJSON_Delete(result);
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has not been evaluated yet.", of->id);
        return;
    }
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    const char *own[] = {"job", "evaluation_job", "checkpoint", "evaluated_at"};
    sink_text(out, own[0], of->id);
    sink_text(out, own[1], by->id);
    if (by->task == JOB_EVALUATE)
        sink_integer(out, own[2], by->source_checkpoint);
    else
        sink_null(out, own[2]);
    sink_time(out, own[3], by->finished_at);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(result, own[i]);
    copy_members(out, result);
    sink_end_object(out);
    cJSON_Delete(result);
    respond_json(x, 200);
}

void evaluation_read(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job, *jobs;
    size_t count;
    bool more;
    if (!exchange_job(x, &job))
        return;
    const struct viewer viewer = caller_viewer(x);
    struct storage_job_filter filter = {.viewer = &viewer,
                                        .by_state = true,
                                        .state = JOB_SUCCEEDED,
                                        .by_task = true,
                                        .task = JOB_EVALUATE,
                                        .source_job = job.id,
                                        .limit = 1};
    if (storage_job_list(x->api->options.storage, &filter, &x->arena, &jobs, &count, &more, &err)) {
        respond_error(x, &err);
        return;
    }
    respond_evaluation(x, &job, count > 0 ? &jobs[0] : &job);
}

struct evaluation_request {
    int64_t samples, seed;
    struct storage_checkpoint_pick pick;
};

static void read_request(const cJSON *body, struct evaluation_request *request, struct api_faults *faults)
{
    static const struct config_field samples = JOB_INTEGER("samples", 1, SAMPLES_MAX),
                                     seed = JOB_INTEGER("seed", SEED_TEST, JSON_INTEGER);
    *request = (struct evaluation_request){SAMPLES_DEFAULT, SEED_TEST, {.by = STORAGE_LATEST}};
    JSON_EACH (item, body) {
        if (strcmp(item->string, "samples") == 0) {
            (void)job_integer_read(&samples, item, &request->samples, faults);
        } else if (strcmp(item->string, "seed") == 0) {
            (void)job_integer_read(&seed, item, &request->seed, faults);
        } else if (strcmp(item->string, "checkpoint") == 0) {
            if (!checkpoint_pick_json(item, &request->pick))
                api_faults_add(faults, "/checkpoint", CHECKPOINT_PICK_RULE);
        } else {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            struct name_guess guess = {.given = item->string};
            name_guess_offer(&guess, "samples");
            name_guess_offer(&guess, "seed");
            name_guess_offer(&guess, "checkpoint");
            name_guess_fault(&guess, "a member of an evaluation", pointer, faults);
        }
    }
}

static void store_evaluation(struct exchange *x, const struct storage_job *job,
                             const struct evaluation_request *request, const cJSON *body)
{
    struct error err;
    error_clear(&err);
    struct storage_checkpoint checkpoint;
    enum status status = storage_checkpoint_find(x->api->options.storage, job->id, request->pick, &checkpoint, &err);
    if (status == STATUS_NOT_FOUND && request->pick.by == STORAGE_LATEST) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", job->id);
        return;
    }
    if (status == STATUS_NOT_FOUND) {
        error_clear(&err);
        (void)error_set(&err, STATUS_INVALID, "/checkpoint", "job %s has no such checkpoint", job->id);
    }
    if (status) {
        respond_error(x, &err);
        return;
    }
    char params[128];
    (void)snprintf(params, sizeof params, "{\"samples\":%lld,\"seed\":%lld,\"checkpoint\":%lld}",
                   (long long)request->samples, (long long)request->seed, (long long)checkpoint.seq);
    struct storage_submit submit = {
        .kind = job->kind,
        .preset = job->preset,
        .name = "", /* the source keeps its name for itself: a name that two jobs have stands for neither */
        .config = job->config,
        .params = params,
        .task = JOB_EVALUATE,
        .priority = job->priority,
        .threads = job->threads,
        .executor = x->api->options.executors[0],
        .source_job = job->id,
        .source_checkpoint = checkpoint.seq,
        .visibility = job->visibility == VISIBILITY_PRIVATE ? VISIBILITY_PRIVATE : VISIBILITY_TEAM,
    };
    submit_and_respond(x, &submit, body);
}

void evaluation_submit(struct exchange *x)
{
    struct storage_job job;
    struct evaluation_request request;
    if (!exchange_job(x, &job))
        return;
    cJSON *body = x->request->body_bytes > 0 ? exchange_object(x) : cJSON_CreateObject();
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    if (body == NULL && x->request->body_bytes > 0)
        return; /* exchange_object() has responded */
    if (body == NULL || faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        cJSON_Delete(body);
        return;
    }
    read_request(body, &request, faults);
    const struct method *method = api_method(x->api, job.kind);
    if (faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    else if (job.task == JOB_EVALUATE || method == NULL || method->begin_evaluation == NULL)
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no model of its own that could be evaluated.", job.id);
    else
        store_evaluation(x, &job, &request, body);
    cJSON_Delete(body);
}
