/* POST /v1/jobs/{id}/compare: which motifs of two jobs are the same. */
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/job_spec.h"
#include "api/json/faults.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "core/base/hash.h"
#include "storage/storage.h"

#define SAMPLES_DEFAULT 100
#define SAMPLES_MAX 1000

struct comparing {
    struct storage_job job, with;
    struct storage_checkpoint checkpoint, with_checkpoint;
    const struct method *method;
    int64_t samples;
};

/* What the client did wrong goes to `faults`; a failure is one of this side. */
static enum status read_request(struct exchange *x, const cJSON *body, struct comparing *c, struct api_faults *faults,
                                struct error *err)
{
    c->samples = SAMPLES_DEFAULT;
    JSON_EACH (item, body) {
        if (strcmp(item->string, "samples") == 0) {
            (void)job_integer_read(item, "/samples", 1, SAMPLES_MAX, &c->samples, faults);
        } else if (strcmp(item->string, "with") != 0) {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            api_faults_add(faults, pointer, "is not a member of a comparison");
        }
    }
    const cJSON *with = cJSON_GetObjectItemCaseSensitive(body, "with");
    if (!cJSON_IsString(with)) {
        api_faults_add(faults, "/with", "must be the id of the other job");
        return STATUS_OK;
    }
    struct error why;
    error_clear(&why);
    enum status status = storage_job_get(x->api->options.storage, with->valuestring, &x->arena, &c->with, &why);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(faults, "/with", "there is no such job");
    } else if (status != STATUS_OK) {
        return error_set(err, status, NULL, "%s", why.message);
    } else if (strcmp(c->with.kind, c->job.kind) != 0) {
        api_faults_add(faults, "/with", "is of kind %s; must be %s", c->with.kind, c->job.kind);
    }
    return STATUS_OK;
}

/* Strong: the same weights, compared on the same samples, give the same bytes. */
static void tag(struct exchange *x, const struct comparing *c)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, c->checkpoint.sha256, sizeof c->checkpoint.sha256);
    hash_add(&hash, c->with_checkpoint.sha256, sizeof c->with_checkpoint.sha256);
    hash_add(&hash, c->job.id, strlen(c->job.id) + 1);
    hash_add(&hash, c->with.id, strlen(c->with.id) + 1);
    hash_add(&hash, &c->samples, sizeof c->samples);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    response_header(x->response, "ETag", "\"%.32s\"", hex);
}

static void respond_comparison(struct exchange *x, const struct comparing *c, const struct method_model *one,
                               const struct method_model *two)
{
    struct error err;
    error_clear(&err);
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "job", c->job.id);
    sink_integer(x->out, "checkpoint", c->checkpoint.seq);
    sink_text(x->out, "with", c->with.id);
    sink_integer(x->out, "with_checkpoint", c->with_checkpoint.seq);
    if (c->method->compare(one, two, c->samples, x->out, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    sink_end_object(x->out);
    respond_json(x, 200);
    if (x->response->status == 200) {
        tag(x, c);
    }
}

static void compute(struct exchange *x, const struct comparing *c)
{
    struct error err;
    struct model_lease one, two;
    error_clear(&err);
    if (!queries_enter(x)) {
        return;
    }
    if (model_cache_get(x->api->models, c->method, &c->job, c->checkpoint.seq, &one, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        if (model_cache_get(x->api->models, c->method, &c->with, c->with_checkpoint.seq, &two, &err) != STATUS_OK) {
            respond_error(x, &err);
        } else {
            respond_comparison(x, c, one.model, two.model);
            model_cache_release(x->api->models, &two);
        }
        model_cache_release(x->api->models, &one);
    }
    queries_leave(x);
}

/* The latest of a job; false after a 409 has been answered. */
static bool latest(struct exchange *x, const struct storage_job *job, struct storage_checkpoint *out)
{
    struct error err;
    error_clear(&err);
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    enum status status = storage_checkpoint_find(x->api->options.storage, job->id, pick, out, &err);
    if (status == STATUS_NOT_FOUND) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", job->id);
    } else if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

void query_compare(struct exchange *x)
{
    struct comparing c = {.method = NULL};
    if (!exchange_job(x, &c.job)) {
        return;
    }
    c.method = api_method(x->api, c.job.kind);
    if (c.method == NULL || c.method->compare == NULL || c.method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Jobs of kind %s cannot be compared.", c.job.kind);
        return;
    }
    cJSON *body = exchange_object(x);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    if (body == NULL) {
        return; /* answered */
    }
    if (faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        cJSON_Delete(body);
        return;
    }
    struct error err;
    error_clear(&err);
    enum status status = read_request(x, body, &c, faults, &err);
    cJSON_Delete(body);
    if (status != STATUS_OK) {
        respond_error(x, &err);
    } else if (faults->count > 0) {
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    } else if (latest(x, &c.job, &c.checkpoint) && latest(x, &c.with, &c.with_checkpoint)) {
        compute(x, &c);
    }
}
