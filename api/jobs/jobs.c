/* Submits and shows jobs. A submission is checked completely (members, configuration, quota, memory) before it
 * is stored; a dry run returns the resolved configuration and an estimate instead of storing a job. */
#include "api/jobs/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/job_name.h"
#include "api/jobs/job_spec.h"
#include "api/jobs/quota.h"
#include "api/jobs/repeat.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "core/base/hash.h"
#include "storage/storage.h"

/* speed of one core of a current server, which estimates assume until a training on this machine has been measured */
#define ASSUMED_GFLOPS 30.0

/* Computes a hash of the route and the canonical body, so that white space and the order of members make no difference.
 */
static bool fingerprint(struct exchange *x, const cJSON *body, uint8_t out[HASH_BYTES])
{
    struct buf text;
    buf_init(&text, 2 * API_BODY_MAX);
    buf_format(&text, "%s %s", x->match.route->method, x->match.route->pattern);
    for (size_t i = 0; i < x->match.count; i++)
        buf_format(&text, " %s", x->match.values[i]);
    buf_text(&text, "\n");
    json_canonical(body, &text);
    bool ok = !text.failed;
    if (ok)
        hash_bytes(text.data, text.size, out);
    buf_close(&text);
    return ok;
}

void submit_and_respond(struct exchange *x, struct storage_submit *submit, const cJSON *body)
{
    struct error err;
    error_clear(&err);
    const char *trace = exchange_header(x, "traceparent");
    submit->trace = trace != NULL && traceparent_valid(trace) ? trace : NULL; /* as W3C Trace Context requires */
    submit->owner = x->request->who;
    submit->owner_limit = x->api->options.share.jobs;
    if (!repeat_key(x, &submit->key))
        return;
    if (!fingerprint(x, body, submit->fingerprint)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    if (api_draining(x->api)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "The daemon is shutting down and accepts no more jobs.");
        return;
    }
    if (!share_has_room(x))
        return;
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    if (storage_job_submit(x->api->options.storage, submit, id, &outcome, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    if (outcome == STORAGE_OWNER_FULL) {
        respond_problem(
            x, PROBLEM_TOO_MANY,
            "This token has %lld unfinished jobs, which is the limit: wait until one finishes, or cancel one.",
            (long long)submit->owner_limit);
        return;
    }
    if (outcome == STORAGE_CREATED && submit->trace != NULL)
        log_line(&x->api->options.log, LOG_LEVEL_INFO, "request %s submitted job %s, traceparent %s", x->response->id,
                 id, submit->trace);
    if (outcome == STORAGE_CREATED && x->api->options.daemon.jobs_waiting != NULL)
        x->api->options.daemon.jobs_waiting(x->api->options.daemon.context);
    repeat_respond(x, outcome, id);
}

/* Finds the job and the checkpoint of "from". Adds a fault if the job or the checkpoint does not exist, or if the job
 * is of another kind. */
static enum status find_source(struct exchange *x, struct api_job_spec *spec, int64_t *seq, struct api_faults *faults,
                               struct error *err)
{
    *seq = 0;
    if (spec->from_job[0] == '\0')
        return STATUS_OK;
    if (spec->method->warm_start == NULL) {
        api_faults_add(faults, "/from", "jobs of kind %s cannot start from another job's model", spec->method->kind);
        return STATUS_INVALID;
    }
    struct storage_job source;
    char id[STORAGE_ID];
    enum status status = job_name_find(x, spec->from_job, true, id, err);
    if (status == STATUS_OK)
        status = storage_job_get(x->api->options.storage, id, &x->arena, &source, err);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(faults, "/from/job", "there is no job %.80s; must be an id, a name or latest", spec->from_job);
        return STATUS_INVALID;
    }
    if (status == STATUS_CONFLICT) {
        api_faults_add(faults, "/from/job", "%s", err->message);
        return STATUS_INVALID;
    }
    if (status != STATUS_OK)
        return status;
    if (!method_starts_from(spec->method, source.kind)) {
        api_faults_add(faults, "/from/job", "is of kind %s; must be %s", source.kind, spec->method->kind);
        return STATUS_INVALID;
    }
    struct storage_checkpoint checkpoint;
    memcpy(spec->from_job, id, sizeof id);
    status = storage_checkpoint_find(x->api->options.storage, spec->from_job, spec->from_checkpoint, &checkpoint, err);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(faults, "/from/checkpoint", "the job has no such checkpoint");
        return STATUS_INVALID;
    }
    *seq = checkpoint.seq;
    return status;
}

static void dry_run(struct exchange *x, const struct api_job_spec *spec, const struct method_estimate *estimated)
{
    struct method_estimate estimate = *estimated;
    struct api_system system;
    api_facts(x->api, &system);
    bool measured = system.gflops_per_thread > 0 && estimate.gflops <= 0;
    double pace = system.pace > 0 ? system.pace : 1;
    double gflops = estimate.gflops > 0 ? estimate.gflops * pace : measured ? system.gflops_per_thread : ASSUMED_GFLOPS;
    int threads = spec->threads > 0 ? spec->threads : system.threads_per_job > 0 ? system.threads_per_job : 1;
    if (system.cores > 0 && threads > system.cores)
        threads = system.cores; /* more threads than cores do not increase the speed */
    double flops = estimate.flops_per_sample * (double)estimate.samples;
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_boolean(out, "dry_run", true);
    sink_text(out, "kind", spec->method->kind);
    sink_text(out, "preset", spec->preset[0] != '\0' ? spec->preset : NULL);
    sink_text(out, "name", spec->name[0] != '\0' ? spec->name : NULL);
    sink_integer(out, "priority", spec->priority);
    sink_integer(out, "threads", spec->threads);
    struct error err;
    error_clear(&err);
    if (config_show(spec->method, spec->config, "config", out, &err) != STATUS_OK ||
        config_warn(spec->method, spec->preset, spec->config, out, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    sink_integer(out, "parameters", estimate.parameters);
    sink_integer(out, "samples", estimate.samples);
    sink_number(out, "flops_per_sample", estimate.flops_per_sample);
    sink_number(out, "flops", flops);
    sink_integer(out, "bytes", estimate.memory_bytes);
    sink_integer(out, "allowed_bytes", x->api->options.job_memory);
    sink_integer(out, "checkpoint_bytes", estimate.checkpoint_bytes);
    sink_number(out, "predicted_seconds", flops / (gflops * 1e9 * threads));
    sink_begin_object(out, "prediction");
    sink_text(out, "basis", measured ? "measured" : "assumed");
    sink_number(out, "gflops_per_thread", gflops);
    sink_integer(out, "threads", threads);
    sink_end_object(out);
    sink_end_object(out);
    respond_json(x, 200);
}

static void store_spec(struct exchange *x, struct api_job_spec *spec, int64_t seq, const cJSON *body)
{
    char *config = api_config_write(&spec->method->config, spec->config);
    if (config == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    struct storage_submit submit = {
        .kind = spec->method->kind,
        .preset = spec->preset,
        .name = spec->name,
        .tags = spec->tags[0] != '\0' ? spec->tags : NULL,
        .config = config,
        .task = JOB_TRAIN,
        .priority = spec->priority,
        .threads = spec->threads,
        .executor = spec->executor,
        .ranks = spec->ranks,
        .source_job = spec->from_job[0] != '\0' ? spec->from_job : NULL,
        .source_checkpoint = seq,
    };
    submit_and_respond(x, &submit, body);
    free(config);
}

void jobs_submit(struct exchange *x)
{
    cJSON *body = exchange_object(x);
    if (body == NULL)
        return;
    struct error err;
    error_clear(&err);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    struct api_job_rules rules = {x->api->options.methods, x->api->options.method_count, x->api->options.threads_max,
                                  x->api->options.data, x->api->options.executors};
    struct api_job_spec spec = {.method = NULL};
    struct method_estimate estimate = {0};
    int64_t seq = 0;
    enum status status = faults != NULL ? job_spec_read(&rules, body, &spec, faults, &err)
                                        : error_set(&err, STATUS_NO_MEMORY, NULL, "not enough memory for faults");
    if (status == STATUS_OK)
        status = find_source(x, &spec, &seq, faults, &err);
    if (status == STATUS_OK)
        status = method_estimate(spec.method, spec.config, x->api->options.data, &estimate, &err);
    if (status == STATUS_OK) {
        share_check_threads(x, spec.ranks > 1 ? (spec.threads > 0 ? spec.threads : 1) * spec.ranks : spec.threads,
                            faults);
    }
    bool dry = exchange_query_flag(x, "dry_run");
    if (status == STATUS_OK && !dry) {
        struct error refused = {0};
        if (job_memory_check(x->api, &estimate, "/config", &refused) != STATUS_OK)
            api_faults_add(faults, "/config", "%s", refused.message);
    }
    if (faults != NULL && faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    else if (status != STATUS_OK)
        respond_error(x, &err);
    else if (dry)
        dry_run(x, &spec, &estimate);
    else
        store_spec(x, &spec, seq, body);
    api_job_spec_close(&spec);
    cJSON_Delete(body);
}

void jobs_show(struct exchange *x)
{
    struct storage_job job;
    char etag[64];
    if (!exchange_job(x, &job))
        return;
    job_etag(&job, etag);
    if (respond_not_modified(x, etag))
        return;
    job_document(x, NULL, &job);
    respond_json(x, 200);
}
