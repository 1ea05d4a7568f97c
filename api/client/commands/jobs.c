/* Commands for whole jobs: list, show, cancel, pause, resume, delete. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

/* --- list --- */

static const struct config_field list_options[] = {
    OPTION_TEXT("state", "STATE", "only jobs in this state: queued, running, paused, succeeded, failed, cancelled"),
    OPTION_TEXT("kind", "KIND", "only jobs of this method"),
    OPTION_TEXT("name", "NAME", "only jobs with exactly this name"),
    OPTION_TEXT("tag", "TAG", "only jobs with this tag"),
    OPTION_TEXT("owner", "NAME", "only jobs that the token of this name submitted"),
    OPTION_TEXT("preset", "NAME", "only jobs of this preset"),
    OPTION_TEXT("where", "BOUND", "bound on the result, such as fpe<=0.1 or verdict=learned; may be repeated"),
    OPTION_TEXT("sort", "ORDER",
                "created_at, name, state, priority, result.NAME, ...; - in front: largest first (-created_at)"),
    OPTION_INTEGER("limit", "N", "20", 1, 1000, "at most N jobs (20)"),
    OPTIONS_END,
};

static void list_row(struct table *table, const cJSON *job)
{
    const cJSON *progress = json_member(job, "progress");
    const char *state = json_string(job, "state"), *task = json_string(job, "task");
    char text[96];
    table_add(table, json_string(job, "id"));
    if (task && strcmp(task, "evaluate") == 0) {
        snprintf(text, sizeof(text), "%s (evaluation)", job_title(job));
        table_add(table, text);
    } else {
        table_add(table, job_title(job));
    }
    table_add_styled(table, state, term_state_style(state));
    double fraction = json_number(progress, "fraction");
    if (isfinite(fraction))
        snprintf(text, sizeof(text), "%.0f %%", floor(fraction * 100));
    else
        snprintf(text, sizeof(text), "-");
    table_add(table, text);
    term_number(text, sizeof(text), json_number(progress, "density"));
    table_add(table, text);
    term_percent(text, sizeof(text), json_number(progress, "accuracy"));
    table_add(table, text);
    term_duration(text, sizeof(text), json_number(progress, "eta_seconds"));
    table_add(table, state && strcmp(state, "running") == 0 ? text : "-");
    view_age(json_string(job, "created_at"), text, sizeof(text));
    table_add(table, text);
}

/* Appends the filters of the command line to the query. */
static void list_query(struct buf *path, const struct options *args)
{
    static const char *const filters[] = {"state", "kind", "name", "tag", "owner", "preset", "sort", NULL};
    ctl_add_query(path, args, filters);
    for (size_t i = 0; i < args->option_count; i++) {
        const char *bound = args->options[i].value, *equals = strchr(bound, '=');
        if (strcmp(args->options[i].name, "where") != 0)
            continue;
        char *name = strndup(bound, equals ? (size_t)(equals - bound) : strlen(bound));
        buf_text(path, "&result.");
        if (name)
            http_escape(path, name);
        buf_text(path, "=");
        http_escape(path, equals ? equals + 1 : "");
        path->failed |= !name;
        free(name);
    }
}

static void list_ids(struct ctl *ctl, const cJSON *page)
{
    const cJSON *job = NULL;
    cJSON_ArrayForEach (job, json_member(page, "jobs"))
        fprintf(ctl->out.stream, "%s\n", json_shown(job, "id"));
}

static int list_run(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    struct buf path;
    cJSON *page = NULL;
    long long limit = 0;
    if (options_integer(args, "limit", &limit, &err))
        return ctl_usage(ctl, "%s", err.message);
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs?limit=%lld", limit);
    list_query(&path, args);
    int code = path.failed ? ctl_usage(ctl, "the options are too long") : ctl_get(ctl, path.data, &page);
    buf_close(&path);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, page);
    } else if (ctl->quiet) {
        list_ids(ctl, page);
    } else if (cJSON_GetArraySize(json_member(page, "jobs")) == 0) {
        fprintf(ctl->out.stream, "no jobs\n");
    } else {
        struct table table;
        struct buf out;
        const cJSON *job = NULL;
        table_init(&table, "ID|NAME|STATE|>DONE|>DENSITY|>ACCURACY|>LEFT|CREATED");
        cJSON_ArrayForEach (job, json_member(page, "jobs"))
            list_row(&table, job);
        buf_init(&out, 4u << 20);
        table_write(&table, ctl->out.colour, &out);
        if (json_string(page, "next_cursor"))
            buf_text(&out, "there are more jobs; --limit shows them\n");
        term_flush(&ctl->out, &out);
        buf_close(&out);
        table_close(&table);
    }
    cJSON_Delete(page);
    return CTL_SUCCESS;
}

const struct command command_list = {
    .name = "list",
    .arguments = "",
    .summary = "list jobs, newest first or sorted",
    .text = "Prints one line per job: progress, density, accuracy, and when it was submitted.",
    .example = "  motifctl list --state running\n"
               "  motifctl list --where 'fpe<=0.05' --sort result.fpe\n"
               "  motifctl rm $(motifctl list --tag trial --state failed -q)\n"
               "  motifctl list --json | jq -r '.jobs[].id'",
    .options = list_options,
    .least = 0,
    .most = 0,
    .run = list_run,
};

/* --- show --- */

static const struct config_field show_options[] = {
    OPTION_FLAG("config", "also print the resolved configuration"),
    OPTION_FLAG("confusion", "also print the confusion matrix"),
    OPTIONS_END,
};

static void show_head(struct buf *out, const cJSON *job, bool colour)
{
    static const char *const members[] = {"id",         "name",        "kind",     "preset", "task",
                                          "priority",   "threads",     "executor", "ranks",  "created_at",
                                          "started_at", "finished_at", "blocked"};
    const char *state = json_string(job, "state");
    struct table table;
    char text[256];
    table_init(&table, "JOB|");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const cJSON *value = json_member(job, members[i]);
        if (!value || cJSON_IsNull(value) || (cJSON_IsString(value) && !value->valuestring[0]))
            continue;
        view_scalar(value, text, sizeof(text));
        table_add_styled(&table, members[i], STYLE_DIM);
        table_add(&table, text);
    }
    table_add_styled(&table, "state", STYLE_DIM);
    table_add_styled(&table, state, term_state_style(state));
    table_write(&table, colour, out);
    table_close(&table);
}

/* Appends the plan of the training; '>' marks the present phase. */
static void show_plan(struct buf *out, const cJSON *job, bool colour)
{
    const char *present = json_string(job, "phase");
    const cJSON *phase = NULL, *item = NULL, *plan = json_member(job, "plan");
    struct table table;
    if (cJSON_GetArraySize(plan) == 0)
        return;
    table_init(&table, "  PHASE|TRAINS|ON|>MOST SAMPLES|LEARNING RATE|ENDS WHEN|THEN");
    cJSON_ArrayForEach (phase, plan) {
        const cJSON *rate = json_member(phase, "learning_rate");
        const char *name = json_shown(phase, "name");
        bool now = present && strcmp(present, name) == 0;
        char text[160];
        size_t length = 0;
        snprintf(text, sizeof(text), "%s %s", now ? ">" : " ", name);
        table_add_styled(&table, text, now ? STYLE_BOLD : STYLE_PLAIN);
        table_add(&table, json_string(phase, "trains"));
        text[0] = 0;
        cJSON_ArrayForEach (item, json_member(phase, "objectives"))
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "",
                                       cJSON_IsString(item) && length < 64 ? item->valuestring : "?");
        table_add(&table, length ? text : NULL);
        view_scalar(json_member(phase, "samples"), text, sizeof(text));
        table_add(&table, text);
        length = (size_t)snprintf(text, sizeof(text), "%.3g", json_number(rate, "from"));
        if (json_number(rate, "to") != json_number(rate, "from"))
            snprintf(text + length, sizeof(text) - length, ", %.20s to %.3g", json_shown(rate, "curve"),
                     json_number(rate, "to"));
        table_add(&table, cJSON_IsObject(rate) ? text : NULL);
        table_add(&table, json_string(phase, "until"));
        table_add(&table, json_string(phase, "then"));
    }
    buf_text(out, "\n");
    table_write(&table, colour, out);
    table_close(&table);
}

static int show_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    cJSON *job = NULL;
    bool colour = ctl->out.colour;
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof(path), "/v1/jobs/%s", id);
    code = ctl_get(ctl, path, &job);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, job);
    } else if (ctl->quiet) {
        fprintf(ctl->out.stream, "%s\n", id);
    } else {
        struct buf out;
        buf_init(&out, 4u << 20);
        view_verdict(&out, json_member(job, "result"), id, colour);
        if (json_string(json_member(job, "result"), "verdict"))
            buf_text(&out, "\n");
        show_head(&out, job, colour);
        buf_text(&out, "\n");
        view_object(&out, json_member(job, "progress"), colour);
        show_plan(&out, job, colour);
        if (options_has(args, "config")) {
            buf_text(&out, "\n");
            view_object(&out, json_member(job, "config"), colour);
            view_object(&out, json_member(job, "facts"), colour);
        }
        if (cJSON_IsObject(json_member(job, "error"))) {
            buf_text(&out, "\n");
            view_job_error(&out, job, colour);
        }
        if (cJSON_IsObject(json_member(job, "result"))) {
            buf_text(&out, "\n");
            view_result(&out, json_member(job, "result"), colour);
        }
        if (options_has(args, "confusion"))
            view_confusion(&out, json_member(json_member(job, "result"), "confusion"), colour);
        term_flush(&ctl->out, &out);
        buf_close(&out);
    }
    cJSON_Delete(job);
    return CTL_SUCCESS;
}

const struct command command_show = {
    .name = "show",
    .arguments = "JOB",
    .summary = "show a job: verdict, state, progress, plan, result",
    .text = "JOB is a name, an id, the unique beginning of an id, or `latest`.",
    .example = "  motifctl show latest --config\n"
               "  motifctl show 01JD8 --json | jq .result.fpe",
    .options = show_options,
    .least = 1,
    .most = 1,
    .run = show_run,
};

/* --- cancel, pause, resume, delete --- */

static const struct config_field no_options[] = {OPTIONS_END};

/* Applies an action to every named job. After a failure it continues with the next job; the exit code is that of the
 * first failure. */
static int commands_jobs_act(struct ctl *ctl, const struct options *args, const char *method, const char *verb)
{
    int worst = CTL_SUCCESS;
    for (size_t i = 0; i < args->positional_count; i++) {
        char id[CTL_ID], path[128];
        struct http_request request = {.method = method, .path = path};
        struct http_answer answer = {0};
        cJSON *job = NULL;
        int code = ctl_job_id(ctl, args->positional[i], false, id);
        if (code == CTL_SUCCESS) {
            snprintf(path, sizeof(path), "/v1/jobs/%s%s%s", id, verb ? "/" : "", verb ? verb : "");
            code = ctl_call(ctl, &request, &answer, &job);
            http_answer_close(&answer);
        }
        if (code == CTL_SUCCESS && ctl->json && job)
            ctl_print_json(ctl, job);
        else if (code == CTL_SUCCESS && ctl->quiet)
            fprintf(ctl->out.stream, "%s\n", id);
        else if (code == CTL_SUCCESS && !ctl->json && verb)
            fprintf(ctl->out.stream, "%s: %s requested; the job is %s\n", id, verb, json_shown(job, "state"));
        else if (code == CTL_SUCCESS && !ctl->json)
            fprintf(ctl->out.stream, "%s: deleted\n", id);
        cJSON_Delete(job);
        if (worst == CTL_SUCCESS)
            worst = code;
    }
    return worst;
}

static int cancel_run(struct ctl *ctl, const struct options *args)
{
    return commands_jobs_act(ctl, args, "POST", "cancel");
}
static int pause_run(struct ctl *ctl, const struct options *args)
{
    return commands_jobs_act(ctl, args, "POST", "pause");
}
static int resume_run(struct ctl *ctl, const struct options *args)
{
    return commands_jobs_act(ctl, args, "POST", "resume");
}
static int delete_run(struct ctl *ctl, const struct options *args)
{
    return commands_jobs_act(ctl, args, "DELETE", NULL);
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB...",
    .summary = "stop jobs for good; their checkpoints stay",
    .text = "A running job stops after its current step. Use pause instead when the job should continue later.",
    .example = "  motifctl cancel latest",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = cancel_run,
};

const struct command command_pause = {
    .name = "pause",
    .arguments = "JOB...",
    .summary = "pause running jobs; each saves a checkpoint and frees its worker",
    .text = "Use it to free a worker for another job. A resumed job continues exactly where it stopped: the weights "
            "are the same bit for\nbit as without the pause.",
    .example = "  motifctl pause 01JD8 && motifctl resume 01JD8",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = pause_run,
};

const struct command command_resume = {
    .name = "resume",
    .arguments = "JOB...",
    .summary = "continue paused jobs",
    .text = "The job returns to the queue and continues from its last checkpoint when a worker is free.",
    .example = "  motifctl resume latest && motifctl watch latest",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = resume_run,
};

const struct command command_rm = {
    .name = "rm",
    .arguments = "JOB...",
    .summary = "delete finished jobs; the same as delete",
    .text = "Only a finished job can be deleted; cancel a running one first.",
    .example = "  motifctl rm night-1 night-2",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = delete_run,
};

const struct command command_delete = {
    .name = "delete",
    .arguments = "JOB...",
    .summary = "delete finished jobs with their checkpoints and metrics",
    .text = "Only a finished job can be deleted; cancel a running one first.",
    .example = "  motifctl delete 01JD8",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = delete_run,
};
