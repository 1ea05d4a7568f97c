/* `motifctl watch`: draws the progress of a job until the job ends.
 *
 * The command follows the job's event stream on a second connection. It draws each progress event at once, and requests
 * the job after each change of state. If there is no stream (64 are open, or the stream ended), the command requests
 * the job every half second and tries to open the stream again. These requests contain the job's ETag, so that the
 * answer for an unchanged job is a short 304.
 *
 * If the daemon does not answer, the command tries again after 0.5, 1, 2 ... 10 s, and prints only one message about
 * it. After a restart of the daemon, the job is queued or running again, and the stream continues after the last
 * event. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/client/ctl.h"
#include "api/client/event_stream.h"
#include "api/client/progress.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static double watch_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void wait_seconds(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&time, NULL); /* a signal ends the pause early, which is intended */
}

struct watch {
    struct ctl *ctl;
    char job_path[128], errors_path[160], events_path[160];
    enum watch_require require;
    struct http *stream; /* the connection for the events */
    struct event_stream events;
    int code; /* exit code of the last request for the job that on_event() made */
    char etag[128];
    cJSON *job, *errors;
    bool drawn;         /* the terminal shows a line that the next one replaces */
    double plain_at;    /* time of the last line that draw_plain() printed */
    char plain_key[96]; /* state and density in the line that draw_plain() printed last */
    double errors_at;
};

static void wipe(struct watch *watch, struct buf *out)
{
    if (watch->drawn)
        buf_text(out, "\r\033[2K");
    watch->drawn = false;
}

static void say(struct watch *watch, enum term_style style, const char *text)
{
    struct term *term = &watch->ctl->err;
    struct buf out;
    buf_init(&out, 65536);
    wipe(watch, &out);
    term_style(&out, term->colour, style);
    buf_text(&out, text);
    term_style(&out, term->colour, STYLE_PLAIN);
    buf_text(&out, "\n");
    term_flush(term, &out);
    buf_close(&out);
}

/* Requests the newest motif errors, at most once in five seconds. A failed request has no effect here: if the server is
 * unreachable, the next request for the job reports it. */
static void refresh_errors(struct watch *watch)
{
    struct http_request request = {.method = "GET", .path = watch->errors_path};
    struct http_answer answer;
    if (watch->errors_at > 0 && watch_now() - watch->errors_at < 5)
        return;
    watch->errors_at = watch_now();
    if (!http_call(watch->ctl->http, &request, &answer, NULL) && answer.status == 200) {
        cJSON_Delete(watch->errors);
        watch->errors = ctl_parse(watch->ctl, answer.body.data, answer.body.size);
    }
    http_answer_close(&answer);
}

static void draw_live(struct watch *watch)
{
    struct term *term = &watch->ctl->err;
    struct buf out;
    buf_init(&out, 65536);
    buf_text(&out, "\r");
    progress_line(&out, watch->job, watch->errors, term->columns - 1, term->colour);
    buf_text(&out, "\033[K");
    term_flush(term, &out);
    buf_close(&out);
    watch->drawn = true;
}

/* For an output that is not a terminal. Prints a line if the state or the density has changed, or if the last line is
 * ten seconds old. */
static void draw_plain(struct watch *watch)
{
    struct buf out;
    char key[sizeof(watch->plain_key)];
    snprintf(key, sizeof(key), "%s %.6g", json_shown(watch->job, "state"),
             json_number(json_member(watch->job, "progress"), "density"));
    if (strcmp(key, watch->plain_key) == 0 && watch_now() - watch->plain_at < 10)
        return;
    snprintf(watch->plain_key, sizeof(watch->plain_key), "%s", key);
    watch->plain_at = watch_now();
    buf_init(&out, 65536);
    progress_line(&out, watch->job, watch->errors, 0, false);
    buf_text(&out, "\n");
    term_flush(&watch->ctl->err, &out);
    buf_close(&out);
}

static void show(struct watch *watch)
{
    if (watch->ctl->json) {
        ctl_print_json(watch->ctl, watch->job);
        return;
    }
    refresh_errors(watch);
    if (watch->ctl->err.live)
        draw_live(watch);
    else
        draw_plain(watch);
}

static int watch_finish(struct watch *watch)
{
    struct ctl *ctl = watch->ctl;
    const char *state = json_string(watch->job, "state"), *id = json_shown(watch->job, "id");
    struct buf out;
    if (!ctl->json) {
        buf_init(&out, 4u << 20);
        wipe(watch, &out);
        term_flush(&ctl->err, &out);
        buf_format(&out, "%s %s ", job_title(watch->job), id);
        term_style(&out, ctl->out.colour, term_state_style(state));
        buf_format(&out, "%s\n", state);
        term_style(&out, ctl->out.colour, STYLE_PLAIN);
        if (strcmp(state, "failed") == 0)
            view_job_error(&out, watch->job, ctl->out.colour);
        view_verdict(&out, json_member(watch->job, "result"), id, ctl->out.colour);
        view_result(&out, json_member(watch->job, "result"), ctl->out.colour);
        term_flush(&ctl->out, &out);
        buf_close(&out);
    }
    if (strcmp(state, "succeeded") != 0)
        return CTL_FAILED;
    return watch->require == WATCH_LEARNED ? verdict_code(json_member(watch->job, "result")) : CTL_SUCCESS;
}

/* Requests the job once. CTL_SUCCESS: watch->job is up to date, and *fresh is true if it has changed. CTL_UNREACHABLE:
 * nothing was printed, and the caller may try again. */
static int watch_look(struct watch *watch, bool *fresh, struct error *err)
{
    char condition[160];
    struct http_request request = {.method = "GET", .path = watch->job_path};
    struct http_answer answer;
    int code = CTL_SUCCESS;
    *fresh = false;
    if (watch->etag[0]) {
        snprintf(condition, sizeof(condition), "If-None-Match: %s", watch->etag);
        request.headers[0] = condition;
    }
    if (http_call(watch->ctl->http, &request, &answer, err)) {
        code = CTL_UNREACHABLE;
    } else if (answer.status == 429 || answer.status == 502 || answer.status == 503) {
        error_set(err, STATUS_UNAVAILABLE, NULL, "%s is not ready (%ld)", http_server(watch->ctl->http), answer.status);
        code = CTL_UNREACHABLE;
    } else if (answer.status == 200) {
        cJSON *job = ctl_parse(watch->ctl, answer.body.data, answer.body.size);
        if (json_string(job, "state")) {
            cJSON_Delete(watch->job);
            watch->job = job;
            snprintf(watch->etag, sizeof(watch->etag), "%s", answer.etag);
            *fresh = true;
        } else {
            cJSON_Delete(job);
            error_set(err, STATUS_CORRUPT, NULL, "the server's answer is not a job; is it motifd?");
            code = ctl_fault(watch->ctl, CTL_FAILED, err);
        }
    } else if (answer.status != 304) {
        code = ctl_refused(watch->ctl, &answer);
    }
    http_answer_close(&answer);
    return code;
}

/* ---- the stream ---- */

/* Moves the progress that an event contains into watch->job, and draws the job. */
static void take_progress(struct watch *watch, const char *data)
{
    cJSON *event = ctl_parse(watch->ctl, data, strlen(data)),
          *progress = cJSON_DetachItemFromObjectCaseSensitive(event, "progress");
    if (progress) {
        cJSON_DeleteItemFromObjectCaseSensitive(watch->job, "progress");
        cJSON_AddItemToObject(watch->job, "progress", progress);
        show(watch);
    }
    cJSON_Delete(event);
}

/* Called at the start of the stream and for each event. Returns false to end the stream: the job has ended, the request
 * for the job has failed, or a signal has interrupted the command. */
static bool on_event(void *context, const char *type, const char *data)
{
    struct watch *watch = context;
    struct error err = {0};
    bool fresh = false;
    if (strcmp(type, "progress") == 0) {
        take_progress(watch, data);
    } else if (strcmp(type, "state") == 0 || type[0] == 0) {
        watch->code = watch_look(watch, &fresh, &err);
        if (watch->code == CTL_SUCCESS && fresh)
            show(watch);
    }
    return !interrupted && watch->code == CTL_SUCCESS && !job_ended(json_string(watch->job, "state"));
}

static bool on_piece(void *context, const char *bytes, size_t count)
{
    struct watch *watch = context;
    return event_stream_add(&watch->events, bytes, count);
}

static bool go_on(void *context, int64_t received, int64_t expected)
{
    (void)context;
    (void)received;
    (void)expected;
    return !interrupted;
}

/* Follows the events until the job or the stream ends; returns at once when no stream is available. */
static void listen_to(struct watch *watch)
{
    char last[64];
    struct http_request request = {.method = "GET",
                                   .path = watch->events_path,
                                   .accept = "text/event-stream",
                                   .piece = on_piece,
                                   .moving = go_on,
                                   .context = watch};
    struct http_answer answer;
    snprintf(last, sizeof(last), "Last-Event-ID: %s", watch->events.last);
    if (watch->events.last[0])
        request.headers[0] = last;
    watch->code = CTL_SUCCESS;
    event_stream_begin(&watch->events, on_event, watch);
    (void)http_call(watch->stream, &request, &answer, NULL); /* errors are ignored: the caller requests the job next */
    http_answer_close(&answer);
}

static int follow(struct watch *watch, double interval, double patience)
{
    double lost_at = 0, pause = 0.5;
    bool lost = false, met = false;
    while (!interrupted) {
        struct error err = {0};
        bool fresh;
        int code = watch_look(watch, &fresh, &err);
        if (code == CTL_UNREACHABLE) {
            if (!met || (lost && watch_now() - lost_at > patience))
                return ctl_fault(watch->ctl, CTL_UNREACHABLE, &err);
            if (!lost) {
                say(watch, STYLE_YELLOW, "the server cannot be reached; the job is safe there; trying again");
                lost = true;
                lost_at = watch_now();
            }
            wait_seconds(pause);
            pause = pause * 2 > 10 ? 10 : pause * 2;
            continue;
        }
        if (code != CTL_SUCCESS)
            return code;
        if (lost)
            say(watch, STYLE_GREEN, "the server is back");
        lost = false;
        met = true;
        pause = 0.5;
        if (fresh)
            show(watch);
        if (watch->stream && !job_ended(json_string(watch->job, "state")))
            listen_to(watch);
        if (job_ended(json_string(watch->job, "state")))
            return watch_finish(watch);
        if (!interrupted)
            wait_seconds(interval);
    }
    say(watch, STYLE_PLAIN, "the job continues; `motifctl watch` follows it again");
    return CTL_INTERRUPTED;
}

int watch_job(struct ctl *ctl, const char *id, enum watch_require require, double interval, double patience)
{
    struct watch watch = {.ctl = ctl, .require = require};
    struct sigaction action = {.sa_handler = on_interrupt}, before;
    snprintf(watch.job_path, sizeof(watch.job_path), "/v1/jobs/%s", id);
    snprintf(watch.events_path, sizeof(watch.events_path), "/v1/jobs/%s/events?after=now", id);
    (void)http_second(ctl->http, &watch.stream, NULL); /* if this fails, the job is requested repeatedly */
    snprintf(watch.errors_path, sizeof(watch.errors_path), "/v1/jobs/%s/metrics?name=fpe,fne,ce&max_points=3", id);
    interrupted = 0;
    sigaction(SIGINT, &action, &before);
    int code = follow(&watch, interval, patience);
    sigaction(SIGINT, &before, NULL);
    http_destroy(watch.stream);
    event_stream_end(&watch.events);
    cJSON_Delete(watch.job);
    cJSON_Delete(watch.errors);
    return code;
}

static const struct config_field options[] = {
    OPTION_FLAG("require", "exit with 4 if the job has learned only a part, with 5 if it has not learned"),
    OPTION_INTEGER("interval", "MS", "500", 20, 3600000,
                   "milliseconds between two requests when there is no event stream (500)"),
    OPTION_INTEGER("patience", "SECONDS", "600", 0, 1000000,
                   "seconds without a server after which the command gives up (600)"),
    OPTIONS_END,
};

static int watch_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    long long interval = 0, patience = 0;
    struct error err = {0};
    if (options_integer(args, "interval", &interval, &err) || options_integer(args, "patience", &patience, &err))
        return ctl_usage(ctl, "%s", err.message);
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    enum watch_require require = options_has(args, "require") ? WATCH_LEARNED : WATCH_SUCCESS;
    return watch_job(ctl, id, require, (double)interval / 1000, (double)patience);
}

const struct command command_watch = {
    .name = "watch",
    .arguments = "JOB",
    .summary = "follow a job to its end with a progress bar",
    .text = "Draws the stage, the density, the accuracy and its target, motif errors, speed and remaining time, then "
            "the verdict with its findings, and the result. Without a\nterminal it prints a line per change. It "
            "survives a restart of the daemon. With "
            "--json it prints the job as one document per\nline each time it changes.",
    .example = "  motifctl watch latest && echo trained     # exit code 0: succeeded, 1: failed or cancelled\n  "
               "motifctl watch latest --require          # also 4: learned in part, 5: not learned\n  "
               "motifctl watch 01JD --json | jq .progress.fraction",
    .options = options,
    .least = 1,
    .most = 1,
    .run = watch_run,
};
