/* Submits, lists and shows studies, and changes all jobs of one at once. */
#include "api/studies/studies.h"

#include <stdio.h>
#include <string.h>

#include "api/http/cursor.h"
#include "api/jobs/job_name.h"
#include "api/jobs/submission.h"
#include "protocol/faults.h"
#include "protocol/json_sink.h"
#include "api/models/model_cache.h"
#include "api/review/mark_cache.h"
#include "api/studies/study_document.h"
#include "api/studies/study_spec.h"
#include "api/rights/caller.h"

#define LIST "studies"

/* ---- submission ---------------------------------------------------------------------------------------- */

/* The cost of all jobs together. */
struct totals {
    double flops, seconds, samples;
    int64_t memory_bytes, checkpoint_bytes, parameters; /* memory and parameters: of the largest job */
};

struct submitting {
    struct exchange *x;
    struct study_spec spec;
    struct submission *jobs;     /* [spec.count]; their configurations are freed as soon as their rows exist */
    struct storage_submit *rows; /* [spec.count] */
    struct totals totals;
    struct api_faults *faults;
    bool dry;
};

static void add_cost(struct totals *t, const struct exchange *x, const struct submission *job)
{
    const struct method_estimate *e = &job->estimate;
    const struct prediction p = submission_predict(x, job);
    t->flops += p.flops;
    t->seconds += p.seconds;
    t->samples += (double)e->samples;
    t->checkpoint_bytes += e->checkpoint_bytes;
    t->memory_bytes = e->memory_bytes > t->memory_bytes ? e->memory_bytes : t->memory_bytes;
    t->parameters = e->parameters > t->parameters ? e->parameters : t->parameters;
}

/* Checks one job and fills its row. Faults of the job become faults of the study. */
static enum status read_job(struct submitting *s, size_t index, struct error *err)
{
    struct api_faults found = {.count = 0};
    struct error refused;
    cJSON *body = study_spec_job(&s->spec, index);
    if (body == NULL)
        return error_memory(err, "the jobs of a study");
    error_clear(&refused);
    enum status status = submission_read(s->x, body, true, s->dry, &s->jobs[index], &found, &refused);
    if (!status) {
        add_cost(&s->totals, s->x, &s->jobs[index]);
        status = submission_row(s->x, &s->jobs[index], &s->rows[index], &refused);
    } else if (found.count > 0) {
        study_spec_faults(&s->spec, index, &found, s->faults);
        status = STATUS_OK;
    }
    submission_close(&s->jobs[index]);
    cJSON_Delete(body);
    return status ? error_set(err, status, refused.pointer, "%s", refused.message) : STATUS_OK;
}

static enum status read_jobs(struct submitting *s, struct error *err)
{
    s->jobs = arena_zalloc(&s->x->arena, s->spec.count, sizeof *s->jobs);
    s->rows = arena_zalloc(&s->x->arena, s->spec.count, sizeof *s->rows);
    enum status status = s->jobs != NULL && s->rows != NULL ? STATUS_OK : error_memory(err, "the jobs of a study");
    for (size_t i = 0; i < s->spec.count && !status; i++)
        status = read_job(s, i, err);
    return status;
}

/* Returns the grid as text in the arena; NULL without memory. cJSON would round its numbers. */
static const char *grid_text(struct submitting *s)
{
    struct buf text;
    struct json_sink json;
    buf_init(&text, 2 * API_JSON_MAX);
    json_sink_init(&json, &text);
    sink_begin_object(&json.sink, NULL);
    JSON_EACH (axis, s->spec.grid) {
        sink_begin_list(&json.sink, axis->string);
        JSON_EACH (value, axis)
            if (cJSON_IsNumber(value))
                sink_number(&json.sink, NULL, value->valuedouble);
            else if (cJSON_IsBool(value))
                sink_boolean(&json.sink, NULL, cJSON_IsTrue(value));
            else
                sink_text(&json.sink, NULL, value->valuestring);
        sink_end_list(&json.sink);
    }
    sink_end_object(&json.sink);
    bool done = json_sink_done(&json);
    buf_append(&text, "", 1);
    const char *copy = done && !text.failed ? arena_strdup(&s->x->arena, text.data) : NULL;
    buf_close(&text);
    return copy;
}

static void respond_dry(struct submitting *s, const char *grid)
{
    const struct sink *out = s->x->out;
    const struct totals *t = &s->totals;
    const struct storage_submit *first = &s->rows[0];
    sink_begin_object(out, NULL);
    sink_boolean(out, "dry_run", true);
    sink_text(out, "kind", first->kind);
    sink_text(out, "preset", first->preset[0] != '\0' ? first->preset : NULL);
    sink_text(out, "name", s->spec.name[0] != '\0' ? s->spec.name : NULL);
    json_sink_raw(&s->x->json, "grid", grid);
    sink_integer(out, "seeds", s->spec.seeds);
    sink_integer(out, "count", (int64_t)s->spec.count);
    sink_integer(out, "parameters", t->parameters);
    sink_number(out, "samples", t->samples);
    sink_number(out, "flops", t->flops);
    sink_integer(out, "bytes", t->memory_bytes);
    sink_integer(out, "allowed_bytes", s->x->api->options.job_memory);
    sink_integer(out, "checkpoint_bytes", t->checkpoint_bytes);
    sink_number(out, "predicted_seconds", t->seconds);
    sink_end_object(out);
    respond_json(s->x, 200);
}

static void store(struct submitting *s, const char *grid, const cJSON *body)
{
    struct exchange *x = s->x;
    struct storage_submit *first = &s->rows[0];
    struct error err;
    enum storage_submit_outcome outcome;
    char id[STORAGE_ID];
    error_clear(&err);
    if (!submission_admit(x, first, body))
        return;
    for (size_t i = 1; i < s->spec.count; i++) {
        s->rows[i].owner = first->owner;
        s->rows[i].team = first->team;
        s->rows[i].visibility = first->visibility;
        s->rows[i].trace = first->trace;
    }
    const struct storage_study_submit study = {
        .name = s->spec.name, .grid = grid, .seeds = (int)s->spec.seeds, .jobs = s->rows, .count = s->spec.count};
    if (storage_study_submit(x->api->options.storage, &study, id, &outcome, &err)) {
        respond_error(x, &err);
    } else if (outcome == STORAGE_OWNER_FULL || outcome == STORAGE_TEAM_FULL) {
        submission_respond_full(x, first, outcome, s->spec.count);
    } else if (outcome == STORAGE_KEY_REUSED) {
        respond_problem(x, PROBLEM_KEY_REUSED, "This Idempotency-Key was used for another request, which created %s.",
                        id);
    } else {
        if (outcome == STORAGE_CREATED && x->api->options.daemon.jobs_waiting != NULL)
            x->api->options.daemon.jobs_waiting(x->api->options.daemon.context);
        respond_study(x, 201, id, true);
        if (x->response->status == 201) {
            response_header(x->response, "Location", "/v1/studies/%s", id);
            if (outcome == STORAGE_REPLAYED)
                response_header(x->response, "Idempotency-Replayed", "true");
        }
    }
}

void studies_submit(struct exchange *x)
{
    cJSON *body = exchange_object(x);
    if (body == NULL)
        return;
    const struct api_options *options = &x->api->options;
    const struct api_job_rules rules = {.methods = options->methods,
                                        .method_count = options->method_count,
                                        .threads_max = options->threads_max,
                                        .data = options->data,
                                        .executors = options->executors,
                                        .of_study = true};
    struct error err;
    error_clear(&err);
    struct submitting s = {.x = x, .dry = exchange_query_flag(x, "dry_run")};
    const char *grid = NULL;
    s.faults = arena_zalloc(&x->arena, 1, sizeof *s.faults);
    enum status status =
        s.faults != NULL ? study_spec_read(&rules, body, &s.spec, s.faults, &err) : error_memory(&err, "faults");
    if (!status)
        status = read_jobs(&s, &err);
    if (!status && (grid = grid_text(&s)) == NULL)
        status = error_memory(&err, "a grid");
    if (s.faults != NULL && s.faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", s.faults);
    else if (status)
        respond_error(x, &err);
    else if (s.dry)
        respond_dry(&s, grid);
    else
        store(&s, grid, body);
    study_spec_close(&s.spec);
    cJSON_Delete(body);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void studies_list(struct exchange *x)
{
    const char *cursor = exchange_query(x, "cursor");
    char before[STORAGE_ID];
    struct storage_study *studies;
    struct error err;
    size_t count;
    bool more;
    error_clear(&err);
    if (cursor != NULL && !cursor_read(cursor, LIST, before)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "cursor: is not from this list.");
        return;
    }
    const struct viewer viewer = caller_viewer(x);
    const struct storage_study_filter filter = {.viewer = &viewer,
                                                .name = exchange_query(x, "name"),
                                                .owner = exchange_query(x, "owner"),
                                                .kind = exchange_query(x, "kind"),
                                                .before = cursor != NULL ? before : NULL,
                                                .limit = (int)exchange_query_integer(x, "limit", 50)};
    if (storage_study_list(x->api->options.storage, &filter, &x->arena, &studies, &count, &more, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, LIST);
    for (size_t i = 0; i < count; i++)
        study_item(x, &studies[i]);
    sink_end_list(x->out);
    if (more && count > 0) {
        char next[CURSOR_TEXT];
        cursor_write(studies[count - 1].id, LIST, next);
        sink_text(x->out, "next_cursor", next);
    } else {
        sink_null(x->out, "next_cursor");
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}

void studies_show(struct exchange *x)
{
    static const char *const offers[] = {"application/json", "text/csv"};
    struct storage_study study;
    struct study_table table;
    if (!exchange_study(x, &study))
        return;
    response_header(x->response, "Vary", "Accept");
    if (media_pick(exchange_header(x, "Accept"), offers, 2) != 1) {
        respond_study(x, 200, study.id, !exchange_query_flag(x, "brief"));
    } else if (study_table_read(x, &study, &table, NULL)) {
        study_table_csv(&table, &x->response->body);
        respond_body(x, 200, "text/csv");
    }
}

/* Lists at most two studies with the wanted name. For `latest`, lists the newest study: one of the caller's own if
 * there is one. */
static enum status find_named(struct exchange *x, const char *wanted, struct storage_study **studies, size_t *count,
                              struct error *err)
{
    bool latest = strcmp(wanted, "latest") == 0, more;
    const char *who = x->request->who;
    const struct viewer viewer = caller_viewer(x);
    struct storage_study_filter filter = {.viewer = &viewer, .name = latest ? NULL : wanted, .limit = latest ? 1 : 2};
    if (latest && who != NULL && who[0] != '\0')
        filter.owner = who;
    enum status status = storage_study_list(x->api->options.storage, &filter, &x->arena, studies, count, &more, err);
    if (status || *count > 0 || filter.owner == NULL)
        return status;
    filter.owner = NULL;
    return storage_study_list(x->api->options.storage, &filter, &x->arena, studies, count, &more, err);
}

bool study_name_resolve(struct exchange *x)
{
    struct route_match *match = &x->match;
    const char *wanted = match->values[0];
    struct storage_study *studies;
    struct error err;
    size_t count;
    error_clear(&err);
    if (strncmp(match->route->pattern, "/v1/studies/{id}", 16) != 0 || job_name_is_id(wanted))
        return true;
    if (find_named(x, wanted, &studies, &count, &err)) {
        respond_error(x, &err);
        return false;
    }
    if (count > 1) {
        respond_problem(x, PROBLEM_CONFLICT, "Several studies have the name %s, among them %s and %s: use an id.",
                        wanted, studies[0].id, studies[1].id);
        return false;
    }
    if (count == 1)
        memcpy(match->values[0], studies[0].id, STORAGE_ID);
    return true; /* without such a study, the handler says so */
}

/* ---- changes of all jobs ------------------------------------------------------------------------------- */

/* Tells the executors of running jobs that a request waits for them. */
static enum status notify_running(struct exchange *x, const char *study, struct error *err)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    const struct storage_job_filter filter = {.study = study, .by_state = true, .state = JOB_RUNNING, .limit = 1000};
    struct storage_job *jobs;
    size_t count;
    bool more;
    enum status status = storage_job_list(x->api->options.storage, &filter, &x->arena, &jobs, &count, &more, err);
    for (size_t i = 0; !status && i < count && daemon->job_requested != NULL; i++)
        daemon->job_requested(daemon->context, jobs[i].id);
    return status;
}

static void request(struct exchange *x, enum job_event event, const char *participle)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    struct storage_study study;
    struct error err;
    error_clear(&err);
    if (!exchange_study(x, &study))
        return;
    enum status status = storage_study_request(x->api->options.storage, study.id, event, &err);
    if (status == STATUS_CONFLICT) {
        respond_problem(x, PROBLEM_CONFLICT, "No job of the study is in a state in which it can be %s.", participle);
        return;
    }
    if (!status)
        status = notify_running(x, study.id, &err);
    if (status) {
        respond_error(x, &err);
        return;
    }
    if (event == JOB_EVENT_RESUME && daemon->jobs_waiting != NULL)
        daemon->jobs_waiting(daemon->context);
    respond_study(x, 202, study.id, false);
}

void studies_cancel(struct exchange *x)
{
    request(x, JOB_EVENT_CANCEL, "cancelled");
}

void studies_pause(struct exchange *x)
{
    request(x, JOB_EVENT_PAUSE, "paused");
}

void studies_resume(struct exchange *x)
{
    request(x, JOB_EVENT_RESUME, "resumed");
}

void studies_patch(struct exchange *x)
{
    struct sharing patch = {.pinnable = false};
    struct error err;
    error_clear(&err);
    if (!sharing_read(x, &patch))
        return;
    if (storage_study_share(x->api->options.storage, exchange_param(x, "id"), patch.visibility, &err))
        respond_error(x, &err);
    else
        respond_study(x, 200, exchange_param(x, "id"), false);
}

static void forget_model(struct exchange *x, const struct storage_job *job)
{
    model_cache_forget(x->api->models, job->id);
    mark_cache_forget(x->api->marks, job->id);
}

void studies_delete(struct exchange *x)
{
    struct storage_study study;
    struct study_table table;
    struct error err;
    error_clear(&err);
    if (!exchange_study(x, &study))
        return;
    int64_t unfinished = study.jobs[JOB_QUEUED] + study.jobs[JOB_RUNNING] + study.jobs[JOB_PAUSED];
    if (unfinished > 0) {
        respond_problem(x, PROBLEM_CONFLICT,
                        "%lld jobs of the study are not finished; only finished jobs can be deleted. Cancel it first.",
                        (long long)unfinished);
        return;
    }
    if (!study_table_read(x, &study, &table, forget_model))
        return;
    enum status status = storage_study_delete(x->api->options.storage, study.id, &err);
    if (status && status != STATUS_NOT_FOUND)
        respond_error(x, &err);
    else
        respond_empty(x, 204);
}
