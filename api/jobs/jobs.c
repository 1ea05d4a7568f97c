/* Submits and shows jobs. A submission is checked completely (members, configuration, quota, memory) before it
 * is stored; a dry run returns the resolved configuration and an estimate instead of storing a job. */
#include "api/jobs/jobs.h"

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/submission.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "storage/storage.h"

void submit_and_respond(struct exchange *x, struct storage_submit *submit, const cJSON *body)
{
    struct error err;
    error_clear(&err);
    if (!submission_admit(x, submit, body))
        return;
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    if (storage_job_submit(x->api->options.storage, submit, id, &outcome, &err)) {
        respond_error(x, &err);
        return;
    }
    if (outcome == STORAGE_OWNER_FULL || outcome == STORAGE_TEAM_FULL) {
        submission_respond_full(x, submit, outcome, 1);
        return;
    }
    if (outcome == STORAGE_CREATED && submit->trace != NULL)
        log_line(&x->api->options.log, LOG_LEVEL_INFO, "request %s submitted job %s, traceparent %s", x->response->id,
                 id, submit->trace);
    if (outcome == STORAGE_CREATED && x->api->options.daemon.jobs_waiting != NULL)
        x->api->options.daemon.jobs_waiting(x->api->options.daemon.context);
    repeat_respond(x, outcome, id);
}

static void dry_run(struct exchange *x, const struct submission *s)
{
    const struct api_job_spec *spec = &s->spec;
    const struct method_estimate *estimate = &s->estimate;
    const struct prediction prediction = submission_predict(x, s);
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
    if (config_show(spec->method, spec->config, out, &err) ||
        config_warn(spec->method, spec->preset, spec->config, out, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_null(out, "phase");
    method_plan(spec->method, spec->config, out);
    if (method_division(spec->method, spec->config, x->api->options.data, out, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_integer(out, "parameters", estimate->parameters);
    sink_integer(out, "samples", estimate->samples);
    sink_number(out, "flops_per_sample", estimate->flops_per_sample);
    sink_number(out, "flops", prediction.flops);
    sink_integer(out, "bytes", estimate->memory_bytes);
    sink_integer(out, "allowed_bytes", x->api->options.job_memory);
    sink_integer(out, "checkpoint_bytes", estimate->checkpoint_bytes);
    sink_number(out, "predicted_seconds", prediction.seconds);
    sink_begin_object(out, "prediction");
    sink_text(out, "basis", prediction.measured ? "measured" : "assumed");
    sink_number(out, "gflops_per_thread", prediction.gflops_per_thread);
    sink_integer(out, "threads", prediction.threads);
    sink_end_object(out);
    sink_end_object(out);
    respond_json(x, 200);
}

static void store(struct exchange *x, const struct submission *s, const cJSON *body)
{
    struct storage_submit row;
    struct error err;
    error_clear(&err);
    if (submission_row(x, s, &row, &err))
        respond_error(x, &err);
    else
        submit_and_respond(x, &row, body);
}

void jobs_submit(struct exchange *x)
{
    cJSON *body = exchange_object(x);
    if (body == NULL)
        return;
    struct error err;
    error_clear(&err);
    struct submission s = {.seq = 0};
    bool dry = exchange_query_flag(x, "dry_run");
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    enum status status =
        faults != NULL ? submission_read(x, body, false, dry, &s, faults, &err) : error_memory(&err, "faults");
    if (faults != NULL && faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    else if (status)
        respond_error(x, &err);
    else if (dry)
        dry_run(x, &s);
    else
        store(x, &s, body);
    submission_close(&s);
    cJSON_Delete(body);
}

void jobs_show(struct exchange *x)
{
    struct storage_job job;
    char etag[64];
    if (!exchange_job(x, &job))
        return;
    job_etag(x, &job, etag);
    if (respond_not_modified(x, etag))
        return;
    job_document(x, NULL, &job);
    respond_json(x, 200);
}
