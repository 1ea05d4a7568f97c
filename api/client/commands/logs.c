/* `motifctl logs`: prints the stored events of a job, one on a line. With --follow, also prints each new event, until
 * the job ends. */
#include <string.h>
#include <time.h>

#include "api/client/ctl.h"
#include "api/client/event_stream.h"
#include "api/client/progress.h"

/* Number of successive tries without a new event after which the command gives up. It tries once a second. With
 * --follow the number is larger, because a daemon may take long to restart. */
enum { TRIES = 10, TRIES_FOLLOWED = 600 };

static const struct config_field options[] = {
    OPTION_FLAG("follow", "also print new events, until the job ends; short: -f"),
    OPTIONS_END,
};

struct logs {
    struct ctl *ctl;
    struct event_stream events;
    bool follow;
    bool ended;   /* the job has reached a final state */
    bool stopped; /* there is nothing more to read */
    bool broken;  /* the command stopped reading the stream, because an event did not fit into memory */
};

/* Appends "NAME VALUE" for each member of the event. Leaves out objects, lists, nulls and the members `time` and
 * `job`. */
static void write_members(struct buf *out, const cJSON *event)
{
    const cJSON *member = NULL;
    cJSON_ArrayForEach (member, event) {
        char text[256];
        if (cJSON_IsObject(member) || cJSON_IsArray(member) || cJSON_IsNull(member) ||
            strcmp(member->string, "time") == 0 || strcmp(member->string, "job") == 0)
            continue;
        view_scalar(member, text, sizeof(text));
        buf_format(out, "  %s %s", member->string, text);
    }
}

static void logs_print(struct ctl *ctl, const char *type, const cJSON *event)
{
    struct buf out;
    buf_init(&out, 1u << 20);
    buf_format(&out, "%s  %-10s", json_shown(event, "time"), type);
    if (cJSON_IsObject(json_member(event, "progress"))) {
        buf_text(&out, "  ");
        progress_figures(&out, json_member(event, "progress"));
    }
    write_members(&out, event);
    buf_text(&out, "\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
    ctl->out.failed |= fflush(ctl->out.stream) != 0;
}

static bool on_event(void *context, const char *type, const char *data)
{
    struct logs *logs = context;
    cJSON *event = type[0] ? ctl_parse(logs->ctl, data, strlen(data)) : NULL;
    if (!event && type[0])
        logs->ctl->out.failed = true; /* an event that is not printed is a failure */
    if (event && logs->ctl->json)
        ctl_print_json(logs->ctl, event);
    else if (event &&
             strcmp(type, "metric") != 0) /* metric events are left out, because `metrics` and `plot` show the series */
        logs_print(logs->ctl, type, event);
    if (strcmp(type, "state") == 0)
        logs->ended = job_ended(json_string(event, "state"));
    cJSON_Delete(event);
    logs->stopped = logs->ended || logs->ctl->out.failed;
    return !logs->stopped;
}

static bool on_piece(void *context, const char *bytes, size_t count)
{
    struct logs *logs = context;
    bool more = event_stream_add(&logs->events, bytes, count);
    logs->broken = !more && !logs->stopped;
    return more;
}

/* Reads the stream over one connection. If the connection breaks, the caller calls this again, and the daemon continues
 * after the last event that arrived. */
static int read_stream(struct logs *logs, const char *path)
{
    char last[64], before[sizeof(logs->events.last)];
    struct http_answer answer;
    struct error err = {0};
    struct http_request request = {
        .method = "GET", .path = path, .accept = "text/event-stream", .piece = on_piece, .context = logs};
    memcpy(before, logs->events.last, sizeof(before));
    snprintf(last, sizeof(last), "Last-Event-ID: %s", logs->events.last);
    if (logs->events.last[0])
        request.headers[0] = last;
    logs->broken = false;
    event_stream_begin(&logs->events, on_event, logs);
    enum status status = http_call(logs->ctl->http, &request, &answer, &err);
    int code = CTL_SUCCESS;
    if (!status && answer.status == 204) /* the job has ended, and all its events were read */
        logs->stopped = true;
    else if (!status && !http_succeeded(answer.status))
        code = ctl_refused(logs->ctl, &answer);
    else if (status && !logs->stopped && !logs->events.last[0])
        code = ctl_fault(logs->ctl, CTL_UNREACHABLE, &err);
    else if (!status && !logs->broken && !logs->follow && strcmp(before, logs->events.last) == 0)
        logs->stopped = true; /* the stream ended and brought no new event, so all stored events have been read */
    http_answer_close(&answer);
    return code;
}

static int logs_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    struct logs logs = {.ctl = ctl, .follow = options_has(args, "follow")};
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    int most = logs.follow ? TRIES_FOLLOWED : TRIES;
    snprintf(path, sizeof(path), "/v1/jobs/%s/events%s", id, logs.follow ? "" : "?stored=1");
    for (int tries = 0; code == CTL_SUCCESS && !logs.stopped && tries < most; tries++) {
        if (tries > 0)
            (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        char before[sizeof(logs.events.last)];
        memcpy(before, logs.events.last, sizeof(before));
        code = read_stream(&logs, path);
        if (strcmp(before, logs.events.last) != 0)
            tries = 0;
    }
    event_stream_end(&logs.events);
    if (code != CTL_SUCCESS || logs.stopped)
        return code;
    struct error err = {0};
    (void)error_set(&err, STATUS_UNAVAILABLE, NULL, "no new event of the job has arrived in %d requests", most);
    return ctl_fault(ctl, CTL_UNREACHABLE, &err);
}

const struct command command_logs = {
    .name = "logs",
    .arguments = "JOB [--follow]",
    .summary = "print what happened to a job: states, progress, checkpoints",
    .text =
        "Prints the stored events, oldest first. Of the progress events of a job, the daemon keeps only the newest. "
        "With "
        "--follow, the command also prints new events until the job ends, and reconnects after an interruption. The "
        "commands metrics and plot show the series of a job.",
    .example = "  motifctl logs latest -f\n"
               "  motifctl logs night-1 --json | jq -r .state",
    .options = options,
    .least = 1,
    .most = 1,
    .run = logs_run,
};
