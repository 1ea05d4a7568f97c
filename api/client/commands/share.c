/* motifctl share and usage: who may see what, and what one uses. */
#include <stdio.h>
#include <string.h>

#include "api/client/ctl.h"

static const struct config_field share_options[] = {
    OPTION_TEXT("dataset", "NAME", "share this data set instead of a job"),
    OPTION_TEXT("study", "STUDY", "share this study with all its jobs instead of a job"),
    OPTIONS_END,
};

static void view_shared(struct ctl *ctl, const cJSON *document)
{
    const char *id = json_string(document, "id"), *team = json_string(document, "team");
    const char *visibility = json_shown(document, "visibility");
    if (ctl->quiet)
        fprintf(ctl->out.stream, "%s\n", id ? id : json_shown(document, "name"));
    else if (strcmp(visibility, "team") == 0)
        fprintf(ctl->out.stream, "%s: visible to the team%s%s\n", id ? id : json_shown(document, "name"),
                team ? " " : "", team ? team : "");
    else
        fprintf(ctl->out.stream, "%s: %s\n", id ? id : json_shown(document, "name"),
                strcmp(visibility, "private") == 0 ? "private" : "visible to everyone on this server");
}

static int share_run(struct ctl *ctl, const struct options *args)
{
    const bool dataset = options_has(args, "dataset"), study = options_has(args, "study");
    const size_t words = dataset || study ? 1 : 2;
    const char *visibility = args->positional_count == words ? args->positional[words - 1] : "";
    char id[CTL_ID] = "", body[64];
    struct buf path;
    if ((dataset && study) || args->positional_count != words)
        return ctl_usage(ctl, "share JOB|--dataset NAME|--study STUDY private|team|everyone");
    if (strcmp(visibility, "private") != 0 && strcmp(visibility, "team") != 0 && strcmp(visibility, "everyone") != 0)
        return ctl_usage(ctl, "%s: must be private, team or everyone", visibility);
    int code = words == 2 ? ctl_job_id(ctl, args->positional[0], false, id) : CTL_SUCCESS;
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 1024);
    buf_text(&path, dataset ? "/v1/datasets/" : study ? "/v1/studies/" : "/v1/jobs/");
    http_escape(&path, dataset ? options_value(args, "dataset") : study ? options_value(args, "study") : id);
    snprintf(body, sizeof body, "{\"visibility\":\"%s\"}", visibility);
    code = path.failed
               ? ctl_usage(ctl, "the name is too long")
               : ctl_show(ctl, &(struct http_request){.method = "PATCH", .path = path.data, .body = body}, view_shared);
    buf_close(&path);
    return code;
}

static const struct config_field usage_options[] = {
    OPTION_TEXT("team", "TEAM", "the members of this team only, for administrators"),
    OPTIONS_END,
};

static void usage_row(struct table *table, const char *name, const char *team, const cJSON *usage)
{
    static const char *const states[] = {"running", "queued", "paused"};
    const cJSON *jobs = json_member(usage, "jobs");
    double ended = json_number(jobs, "succeeded") + json_number(jobs, "failed") + json_number(jobs, "cancelled");
    char text[64];
    table_add(table, name);
    table_add(table, team);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        table_add(table, json_fixed(jobs, states[i], 0).text);
    snprintf(text, sizeof(text), "%.0f", ended);
    table_add(table, text);
    table_add(table, json_fixed(usage, "threads", 0).text);
    snprintf(text, sizeof(text), "%.2f h", json_number(usage, "thread_seconds_day") / 3600);
    table_add(table, text);
    term_bytes(text, sizeof(text), json_number(usage, "job_bytes"));
    table_add(table, text);
    term_bytes(text, sizeof(text), json_number(usage, "dataset_bytes"));
    table_add(table, text);
}

static void usage_limits(struct buf *out, const cJSON *limits)
{
    static const char *const names[] = {"jobs",      "threads",       "team_jobs",      "team_threads",
                                        "job_bytes", "dataset_bytes", "team_job_bytes", "team_dataset_bytes"};
    static const char *const shown[] = {
        "unfinished jobs",          "threads",      "unfinished jobs of the team",          "threads of the team",
        "of checkpoints and files", "of data sets", "of checkpoints and files of the team", "of data sets of the team"};
    char text[64];
    bool any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const cJSON *limit = json_member(limits, names[i]);
        if (!cJSON_IsNumber(limit))
            continue;
        if (i < 4)
            snprintf(text, sizeof(text), "%.0f", limit->valuedouble);
        else
            term_bytes(text, sizeof(text), limit->valuedouble);
        buf_format(out, "%s%s %s", any ? ", " : "limits: ", text, shown[i]);
        any = true;
    }
    buf_text(out, any ? "\n" : "");
}

static void view_usage(struct ctl *ctl, const cJSON *document)
{
    const cJSON *member = NULL, *members = json_member(document, "members");
    struct table table;
    struct buf out;
    table_init(&table, "OWNER|TEAM|>RUNNING|>QUEUED|>PAUSED|>ENDED|>THREADS|>THREADS x TIME, 24 h|>JOBS|>DATA SETS");
    const char *owner = json_string(document, "owner");
    usage_row(&table, owner ? owner : "you", json_string(document, "team"), document);
    cJSON_ArrayForEach (member, members) {
        const char *name = json_string(member, "owner"), *team = json_string(member, "team");
        bool self = (name == NULL) == (owner == NULL) && (name == NULL || strcmp(name, owner) == 0);
        if (!self)
            usage_row(&table, name, team, member);
    }
    if (cJSON_GetArraySize(members) > 1)
        usage_row(&table, "all of these", NULL, json_member(document, "total"));
    buf_init(&out, 1u << 20);
    table_write(&table, ctl->out.colour, &out);
    usage_limits(&out, json_member(document, "limits"));
    term_flush(&ctl->out, &out);
    buf_close(&out);
    table_close(&table);
}

static int usage_run(struct ctl *ctl, const struct options *args)
{
    static const char *const names[] = {"team", NULL};
    struct buf path;
    buf_init(&path, 1024);
    buf_text(&path, "/v1/usage");
    ctl_add_query(&path, args, names);
    int code = path.failed ? ctl_usage(ctl, "the options are too long")
                           : ctl_show(ctl, &(struct http_request){.method = "GET", .path = path.data}, view_usage);
    buf_close(&path);
    return code;
}

const struct command command_share = {
    .name = "share",
    .arguments = "[JOB] private|team|everyone",
    .summary = "change who may see a job, a data set or a study",
    .text = "private: the owner, and the managers of its team. team: the owner's team. everyone: every token of this "
            "server.\nA job of a study has the visibility of its study. Checkpoints, pictures and queries belong to "
            "their job.",
    .example = "  motifctl share latest everyone\n"
               "  motifctl share --dataset reads private\n"
               "  motifctl share --study widths team",
    .options = share_options,
    .least = 1,
    .most = 2,
    .run = share_run,
};

const struct command command_usage = {
    .name = "usage",
    .arguments = "",
    .summary = "show the jobs, threads, time and bytes of yourself or, for managers, of the team",
    .text = "THREADS x TIME counts the threads of jobs times the time in which they ran in the last 24 hours.",
    .example = "  motifctl usage\n"
               "  motifctl usage --json | jq .members",
    .options = usage_options,
    .least = 0,
    .most = 0,
    .run = usage_run,
};
