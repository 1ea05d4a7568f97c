/* Messages of trainers (motif-train): register, report, artifact, end.
 *
 * The token of a job's lease gives access to these routes and no others. An executor grants the lease, and the lease
 * ends with the run. The response to register contains the lease's epoch, which every later message must contain. A
 * message with an earlier epoch gets 409, and its trainer must stop, because another trainer has taken over. A report
 * has a sequence number: if the report is already stored, repeating it changes nothing and gets the same response. */
#include "api/trainers/trainers_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/jobs/job_document.h"
#include "protocol/faults.h"
#include "api/trainers/lease_token.h"

#define LINES_MAX 32
#define PROGRESS_MAX 4096
#define SERIES_NAME 63
#define DOCUMENT_MAX (8u << 20)

/* ---- admission ------------------------------------------------------------------------------------ */

static const char *bearer(const char *authorization)
{
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    return authorization + 7 + strspn(authorization + 7, " ");
}

bool trainer_token(const char *authorization)
{
    const char *secret = bearer(authorization);
    return secret != NULL && strncmp(secret, LEASE_TOKEN_PREFIX, strlen(LEASE_TOKEN_PREFIX)) == 0;
}

bool trainer_admit(struct exchange *x)
{
    const char *authorization = exchange_header(x, "Authorization");
    struct storage_lease lease;
    unsigned char hash[STORAGE_LEASE_HASH];
    struct error err;
    error_clear(&err);
    enum status status = STATUS_NOT_FOUND;
    if (trainer_token(authorization) && lease_token_hash(bearer(authorization), hash))
        status = storage_lease_find(x->api->options.storage, hash, &x->arena, &lease, &err);
    if (!status && strcmp(lease.job, exchange_param(x, "id")) == 0)
        return true;
    if (status && status != STATUS_NOT_FOUND) {
        respond_error(x, &err);
        return false;
    }
    respond_problem(x, PROBLEM_UNAUTHORISED,
                    "Only the trainer of this job may use this path, with the token that the daemon started it with.");
    response_header(x->response, "WWW-Authenticate", "Bearer realm=\"motifd trainer\"");
    return false;
}

cJSON *trainer_body(struct exchange *x, const char *const *names, size_t count)
{
    cJSON *root = exchange_object(x);
    struct error err;
    error_clear(&err);
    JSON_EACH (item, root) {
        size_t n = 0;
        while (n < count && strcmp(names[n], item->string) != 0)
            n++;
        if (n < count)
            continue;
        char pointer[128];
        fault_pointer(pointer, "", item->string);
        (void)error_set(&err, STATUS_INVALID, pointer, "is not a member of this message");
        respond_error(x, &err);
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

/* ---- register ------------------------------------------------------------------------------------- */

/* Deletes the points after the newest checkpoint, from which the run continues. An earlier run has measured these
 * points, and this run measures them again. */
static enum status rewind_points(struct storage *storage, const struct storage_job *job, struct error *err)
{
    struct storage_checkpoint info = {0};
    struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    if (job->task != JOB_TRAIN)
        return STATUS_OK;
    enum status status = storage_checkpoint_find(storage, job->id, latest, &info, NULL);
    if (status && status != STATUS_NOT_FOUND)
        return error_set(err, status, NULL, "the checkpoints cannot be read");
    return storage_job_rewind(storage, job->id, !status ? info.samples : -1, err);
}

static void write_registration(const struct sink *out, const struct storage_job *job, int64_t epoch)
{
    sink_begin_object(out, NULL);
    sink_integer(out, "epoch", epoch);
    sink_text(out, "id", job->id);
    sink_text(out, "kind", job->kind);
    sink_text(out, "task", job->task == JOB_EVALUATE ? "evaluate" : "train");
    sink_integer(out, "threads", job->threads);
    sink_integer(out, "ranks", job->ranks);
    sink_text(out, "config", job->config);
    sink_text(out, "params", job->params);
    sink_text(out, "progress", job->progress);
    sink_text(out, "source_job", job->source_job);
    sink_integer(out, "source_checkpoint", job->source_checkpoint);
    sink_end_object(out);
}

void trainer_register(struct exchange *x)
{
    struct storage *storage = x->api->options.storage;
    struct storage_job job;
    struct error err;
    int64_t epoch = 0;
    error_clear(&err);
    if (!exchange_job(x, &job))
        return;
    if (job.state != JOB_RUNNING) { /* the trainer must try again: a daemon that has just started may need a moment
                                       before it resumes the job */
        respond_problem(x, PROBLEM_UNAVAILABLE, "The job is not running at the moment.");
        response_header(x->response, "Retry-After", "1");
        return;
    }
    struct trainer_stripe *stripe = trainer_stripe_of(x->api->trainers, job.id);
    (void)pthread_mutex_lock(&stripe->lock);
    enum status status = storage_lease_register(storage, job.id, &epoch, &err);
    if (!status) {
        trainer_upload_drop(stripe, job.id);
        status = rewind_points(storage, &job, &err);
    }
    (void)pthread_mutex_unlock(&stripe->lock);
    if (status) {
        respond_error(x, &err);
        return;
    }
    write_registration(x->out, &job, epoch);
    respond_json(x, 200);
}

/* ---- reports -------------------------------------------------------------------------------------------- */

/* Reads a value of a series. JSON has no infinities and no NaN: trainers send infinities as text, and NaN as null. */
static bool read_value(const cJSON *item, double *value)
{
    if (cJSON_IsNumber(item))
        *value = item->valuedouble;
    else if (cJSON_IsNull(item))
        *value = NAN;
    else if (cJSON_IsString(item) && strcmp(item->valuestring, "inf") == 0)
        *value = INFINITY;
    else if (cJSON_IsString(item) && strcmp(item->valuestring, "-inf") == 0)
        *value = -INFINITY;
    else
        return false;
    return true;
}

static bool read_point(const cJSON *item, struct storage_point *point)
{
    const cJSON *step = cJSON_GetArrayItem(item, 0);
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 || !cJSON_IsNumber(step) || step->valuedouble < 0 ||
        step->valuedouble > JSON_INTEGER || step->valuedouble != floor(step->valuedouble))
        return false;
    point->step = (int64_t)step->valuedouble;
    return read_value(cJSON_GetArrayItem(item, 1), &point->value);
}

/* Converts {"NAME": [[step, value], ...], ...} to a list of points for storage. */
static enum status read_series(struct exchange *x, const cJSON *series, struct storage_metric **out, size_t *count,
                               struct error *err)
{
    size_t room = 0, at = 0;
    if (series != NULL && !cJSON_IsObject(series)) {
        return error_set(err, STATUS_INVALID, "/series",
                         "must be an object with a list of points for each name; got %s", json_type_name(series));
    }
    JSON_EACH (list, series)
        room += (size_t)cJSON_GetArraySize(list);
    struct storage_metric *points = *out = arena_zalloc(&x->arena, room + 1, sizeof *points);
    if (points == NULL)
        return error_memory(err, "the points of a report");
    *count = room;
    JSON_EACH (list, series) {
        if (!cJSON_IsArray(list) || strlen(list->string) > SERIES_NAME) {
            return error_set(err, STATUS_INVALID, "/series",
                             "\"%.64s\" must be a list of points with a name of at most %d bytes", list->string,
                             SERIES_NAME);
        }
        size_t first = at;
        JSON_EACH (item, list) {
            points[at].name = list->string;
            if (!read_point(item, &points[at++].point)) {
                return error_set(
                    err, STATUS_INVALID, "/series",
                    "point %zu of \"%.64s\" must be [step, value]: a whole number of at least 0, and a number, null, "
                    "\"inf\" or \"-inf\"",
                    at - 1 - first, list->string);
            }
        }
    }
    return STATUS_OK;
}

/* Reads the member "progress": text that is valid JSON; *progress is NULL if the member is missing. */
static enum status read_progress(const cJSON *item, const char **progress, struct error *err)
{
    *progress = NULL;
    if (item == NULL || cJSON_IsNull(item))
        return STATUS_OK;
    if (!cJSON_IsString(item))
        return error_set(err, STATUS_INVALID, "/progress", "must be text; got %s", json_type_name(item));
    size_t bytes = strlen(item->valuestring);
    if (bytes > PROGRESS_MAX)
        return error_set(err, STATUS_INVALID, "/progress", "must be at most %d bytes; got %zu", PROGRESS_MAX, bytes);
    if (json_scan(item->valuestring, bytes, NULL))
        return error_set(err, STATUS_INVALID, "/progress", "must be text that is JSON");
    *progress = item->valuestring;
    return STATUS_OK;
}

static void pass_lines(struct exchange *x, const cJSON *lines)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    int count = 0;
    JSON_EACH (line, lines) {
        const cJSON *level = cJSON_GetArrayItem(line, 0), *text = cJSON_GetArrayItem(line, 1);
        for (int l = 0; cJSON_IsString(level) && cJSON_IsString(text) && count < LINES_MAX && l < 4; l++) {
            if (strcmp(level->valuestring, levels[l]) == 0) {
                log_line(&x->api->options.log, (enum log_level)l, "trainer of %s: %.400s", exchange_param(x, "id"),
                         text->valuestring);
                count++;
            }
        }
    }
}

/* Returns a member as a number; 0 if it is missing, negative or greater than 2^53 - 1. */
static double number_of(const cJSON *root, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble <= JSON_INTEGER ? item->valuedouble : 0.0;
}

static void pass_counts(const struct exchange *x, const cJSON *root)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    if (daemon->trained != NULL) {
        daemon->trained(daemon->context, (uint64_t)number_of(root, "steps"), (uint64_t)number_of(root, "samples"),
                        number_of(root, "step_seconds"), number_of(root, "gflops"));
    }
}

/* Stores a report. First passes its contents to storage without waiting; then stores the message itself, and waits
 * until the message is on disk. The contents are then on disk too, except points that the writer thread has dropped
 * (and logged) because memory was short. */
static enum status store_report(struct exchange *x, const struct storage_lease *lease, const cJSON *root,
                                struct error *err)
{
    struct storage *storage = x->api->options.storage;
    double given = number_of(root, "sequence");
    int64_t sequence = (int64_t)given;
    const char *progress = NULL;
    struct storage_metric *points = NULL;
    size_t count = 0;
    if (sequence < 1 || given != floor(given))
        return error_set(err, STATUS_INVALID, "/sequence", "must be a whole number of at least 1");
    enum status status = read_series(x, cJSON_GetObjectItemCaseSensitive(root, "series"), &points, &count, err);
    if (status)
        return status;
    status = read_progress(cJSON_GetObjectItemCaseSensitive(root, "progress"), &progress, err);
    if (status)
        return status;
    if (sequence > lease->sequence) {
        status = count > 0 ? storage_metric_append(storage, lease->job, points, count, err) : STATUS_OK;
        if (!status && progress != NULL)
            status = storage_job_progress(storage, lease->job, progress, err);
        pass_lines(x, cJSON_GetObjectItemCaseSensitive(root, "lines"));
        pass_counts(x, root);
    }
    return status ? status : storage_lease_message(storage, lease->job, lease->epoch, sequence, err);
}

/* Reads which state a client has requested for the job, for the answer to the trainer. Usually this is job.requested.
 * But when a daemon starts, it sets job.state to the requested state, while a trainer on another machine may still run.
 * So the states PAUSED and CANCELLED count as requests too. */
static enum status read_requested(const struct exchange *x, const char *id, enum requested_state *requested,
                                  struct error *err)
{
    struct storage_job job;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    enum status status = storage_job_get(x->api->options.storage, id, &arena, &job, err);
    if (!status) {
        *requested = job.state == JOB_PAUSED      ? REQUESTED_PAUSED
                     : job.state == JOB_CANCELLED ? REQUESTED_CANCELLED
                                                  : job.requested;
    }
    arena_close(&arena);
    return status;
}

void trainer_report(struct exchange *x)
{
    static const char *const requested_states[REQUESTED_STATES] = {NULL, "paused", "cancelled"};
    static const char *const members[] = {"sequence", "steps",    "samples", "step_seconds",
                                          "gflops",   "progress", "lines",   "series"};
    struct storage_lease lease;
    struct error err;
    enum requested_state requested = REQUESTED_NONE;
    error_clear(&err);
    cJSON *root = trainer_body(x, members, sizeof members / sizeof members[0]);
    if (root == NULL)
        return;
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    if (stripe == NULL) {
        cJSON_Delete(root);
        return;
    }
    enum status status = store_report(x, &lease, root, &err);
    (void)pthread_mutex_unlock(&stripe->lock);
    cJSON_Delete(root);
    const struct api_daemon *daemon = &x->api->options.daemon;
    if (daemon->job_reported != NULL)
        daemon->job_reported(daemon->context, lease.job, status);
    if (!status)
        status = read_requested(x, lease.job, &requested, &err);
    if (status) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "requested_state", requested_states[requested]);
    /* Always false for trainers under Slurm, which continue when the daemon stops. */
    sink_boolean(x->out, "draining", api_draining(x->api) && strcmp(lease.executor, "slurm") != 0);
    sink_end_object(x->out);
    respond_json(x, 200);
}

void trainer_artifact(struct exchange *x)
{
    struct storage_lease lease;
    struct error err;
    const char *type = exchange_query(x, "type");
    error_clear(&err);
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    if (stripe == NULL)
        return;
    enum status status = storage_lease_message(x->api->options.storage, lease.job, lease.epoch, 0, &err);
    if (!status) {
        status = storage_artifact_put(x->api->options.storage, lease.job, exchange_param(x, "name"),
                                      type != NULL ? type : "application/octet-stream", x->request->body,
                                      x->request->body_bytes, &err);
    }
    (void)pthread_mutex_unlock(&stripe->lock);
    if (status)
        respond_error(x, &err);
    else
        respond_empty(x, 204);
}

/* ---- end --------------------------------------------------------------------------------------------- */

static bool read_end(const cJSON *root, enum job_event *event, const char **result, const char **error)
{
    const cJSON *end = cJSON_GetObjectItemCaseSensitive(root, "end"),
                *text = cJSON_GetObjectItemCaseSensitive(root, "document");
    const char *document = cJSON_IsString(text) ? text->valuestring : NULL;
    bool whole = document != NULL && strlen(document) <= DOCUMENT_MAX && !json_scan(document, strlen(document), NULL);
    *result = *error = NULL;
    if (!cJSON_IsString(end))
        return false;
    if (strcmp(end->valuestring, "succeeded") == 0) {
        *event = JOB_EVENT_SUCCEED;
        *result = document;
        return whole;
    }
    if (strcmp(end->valuestring, "failed") == 0) {
        *event = JOB_EVENT_FAIL;
        *error = document;
        return whole;
    }
    *event = JOB_EVENT_YIELD;
    return strcmp(end->valuestring, "yielded") == 0 && document == NULL;
}

void trainer_end(struct exchange *x)
{
    struct storage_lease lease;
    struct error err;
    enum job_event event;
    const char *result, *error;
    static const char *const members[] = {"end", "document"};
    error_clear(&err);
    cJSON *root = trainer_body(x, members, sizeof members / sizeof members[0]);
    if (root == NULL)
        return;
    if (!read_end(root, &event, &result, &error)) {
        (void)error_set(&err, STATUS_INVALID, "",
                        "end must be succeeded or failed, with a document, or yielded, without one");
        respond_error(x, &err);
        cJSON_Delete(root);
        return;
    }
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    if (stripe != NULL) {
        trainer_upload_drop(stripe, lease.job);
        enum status status =
            storage_lease_end(x->api->options.storage, lease.job, lease.epoch, event, result, error, &err);
        (void)pthread_mutex_unlock(&stripe->lock);
        if (status)
            respond_error(x, &err);
        else
            respond_empty(x, 204);
    }
    cJSON_Delete(root);
}
