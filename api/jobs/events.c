/* Events of jobs: formats one stored event as a server-sent event, and opens the streams of one job and of all jobs. */
#include "api/jobs/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/jobs.h"
#include "api/rights/caller.h"
#include "protocol/json.h"
#include "storage/storage.h"

#define RETRY_MS 1000 /* milliseconds that clients wait before they connect again */

/* ---- one event -------------------------------------------------------------------------------------- */

static bool is_final(const char *state)
{
    return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

bool event_is_last(const struct storage_event *event)
{
    return strcmp(event->type, "state") == 0 && is_final(event->data);
}

/* Writes the points of a metric event. The event's data contain the first and the last step of the points. */
static enum status write_points(struct storage *storage, const struct storage_event *event, struct arena *arena,
                                const struct sink *out, struct error *err)
{
    char *end = NULL;
    int64_t first = strtoll(event->data, &end, 10), last = strtoll(end, NULL, 10);
    struct storage_metric_query query = {.since = first - 1, .until = &last, .max_points = EVENT_POINTS};
    struct storage_series *series;
    size_t count;
    enum status status = storage_metric_read(storage, event->job, &query, arena, &series, &count, err);
    if (status && status != STATUS_NOT_FOUND)
        return status;
    sink_begin_object(out, "series");
    for (size_t i = 0; i < count; i++)
        if (series[i].count > 0)
            series_write(out, &series[i]);
    sink_end_object(out);
    return STATUS_OK;
}

/* Writes the verdict of a job that has succeeded, if its result has one. */
static enum status write_verdict(struct storage *storage, const struct storage_event *event, struct arena *arena,
                                 const struct sink *out, struct error *err)
{
    struct storage_job job;
    char verdict[32];
    if (strcmp(event->data, job_state_name(JOB_SUCCEEDED)) != 0)
        return STATUS_OK;
    enum status status = storage_job_get(storage, event->job, arena, &job, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK; /* the job has been deleted since */
    if (!status && json_member_text(job.result, "verdict", verdict, sizeof verdict))
        sink_text(out, "verdict", verdict);
    return status;
}

static enum status write_data(struct storage *storage, const struct storage_event *event, struct arena *arena,
                              struct json_sink *json, struct error *err)
{
    enum status status = STATUS_OK;
    const struct sink *out = &json->sink;
    sink_begin_object(out, NULL);
    sink_text(out, "job", event->job);
    sink_time(out, "time", event->time);
    if (strcmp(event->type, "state") == 0) {
        sink_text(out, "state", event->data);
        status = write_verdict(storage, event, arena, out, err);
    } else if (strcmp(event->type, "progress") == 0)
        progress_document(json, event->data);
    else if (strcmp(event->type, "metric") == 0)
        status = write_points(storage, event, arena, out, err);
    else if (strcmp(event->type, "checkpoint") == 0)
        sink_integer(out, "seq", strtoll(event->data, NULL, 10));
    else
        sink_text(out, "data", event->data);
    sink_end_object(out);
    return status;
}

enum status event_write(struct storage *storage, const struct storage_event *event, struct arena *arena,
                        struct buf *out, struct error *err)
{
    struct json_sink json;
    json_sink_init(&json, out);
    buf_format(out, "id: %lld\nevent: %s\ndata: ", (long long)event->id, event->type);
    enum status status = write_data(storage, event, arena, &json, err);
    if (!status && !json_sink_done(&json)) {
        status =
            error_set(err, out->failed ? STATUS_LIMIT : STATUS_INTERNAL, NULL, "an event does not fit into the buffer");
    }
    buf_text(out, "\n\n");
    return status;
}

/* ---- opening a stream --------------------------------------------------------------------------------- */

/* Finds the event after which the stream begins: Last-Event-ID, or else the parameter `after`, or else `otherwise`. A
 * browser sends Last-Event-ID when it reconnects to the same target. False: the function has responded with a problem.
 */
static bool beginning(struct exchange *x, int64_t newest, int64_t otherwise, int64_t *after)
{
    const char *seen = exchange_header(x, "Last-Event-ID"), *asked = exchange_query(x, "after");
    bool by_header = seen != NULL && seen[0] != '\0';
    const char *text = by_header ? seen : asked;
    *after = otherwise;
    if (text != NULL && !by_header && strcmp(text, "now") == 0) {
        *after = newest;
    } else if (text != NULL && (!text_integer(text, after) || *after < 0)) {
        respond_problem(x, by_header ? PROBLEM_BAD_REQUEST : PROBLEM_BAD_QUERY,
                        by_header ? "Last-Event-ID: must be the id of an event."
                                  : "after: must be the id of an event, or now.");
        return false;
    }
    if (*after > newest)
        *after = newest; /* the id is from another database, or from before a backup was restored */
    return true;
}

/* True when no event with an id above `after` will come: the job has finished, and the client has seen its last
 * event. */
static bool is_over(struct exchange *x, const struct storage_job *job, int64_t after, struct error *err)
{
    struct storage_event *events;
    size_t count = 0;
    return is_final(job_state_name(job->state)) &&
           !storage_event_read(x->api->options.storage, job->id, NULL, after, 1, &x->arena, &events, &count, err) &&
           count == 0;
}

static void open_stream(struct exchange *x, const struct storage_job *job)
{
    struct api_response *response = x->response;
    struct error err;
    int64_t newest = 0, after = 0;
    error_clear(&err);
    if (api_draining(x->api)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "The daemon is shutting down.");
        return;
    }
    if (storage_event_newest(x->api->options.storage, &newest, &err)) {
        respond_error(x, &err);
        return;
    }
    if (!beginning(x, newest, job != NULL ? 0 : newest, &after))
        return;
    if (job != NULL && is_over(x, job, after, &err)) {
        respond_empty(x, 204); /* after a 204, an EventSource does not reconnect */
        return;
    }
    /* A client that loses the connection before its first event resumes from this id. */
    buf_format(&response->body, "retry: %d\nid: %lld\n\n", RETRY_MS, (long long)after);
    respond_body(x, 200, "text/event-stream");
    response_header(response, "Cache-Control", "no-store");
    response_header(response, "X-Accel-Buffering", "no");
    response->events = response->status == 200;
    response->events_viewer = caller_viewer(x);
    response->events_after = after;
    response->events_stored = job != NULL && exchange_query_flag(x, "stored");
    (void)snprintf(response->events_job, sizeof response->events_job, "%s", job != NULL ? job->id : "");
}

void events_all(struct exchange *x)
{
    open_stream(x, NULL);
}

void events_job(struct exchange *x)
{
    struct storage_job job;
    if (exchange_job(x, &job))
        open_stream(x, &job);
}
