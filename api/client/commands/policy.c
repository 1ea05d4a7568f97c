/* motifctl policy and pin: what the daemon deletes by itself, and what it keeps. */
#include <stdio.h>
#include <string.h>

#include "api/client/ctl.h"

#define POLICIES_MOST (1u << 20)

static const struct config_field policy_options[] = {
    OPTION_FLAG("dry-run", "list what the policies would delete now; with FILE those of the file, which is not stored"),
    OPTIONS_END,
};

static void add_count(struct table *table, const cJSON *policy, const char *name, const char *unit)
{
    char text[48];
    const cJSON *number = json_member(policy, name);
    if (cJSON_IsNumber(number))
        snprintf(text, sizeof text, "%.0f%s", number->valuedouble, unit);
    table_add(table, cJSON_IsNumber(number) ? text : NULL);
}

static void view_policies(struct ctl *ctl, const cJSON *document)
{
    const cJSON *policy = NULL;
    struct table table;
    struct buf out;
    table_init(&table, "TEAM|KIND|>KEEP NEWEST|>KEEP UNUSED FOR|KEEP TAGGED|>CHECKPOINTS AFTER");
    cJSON_ArrayForEach (policy, json_member(document, "policies")) {
        table_add(&table, json_string(policy, "team"));
        table_add(&table, json_shown(policy, "kind"));
        add_count(&table, policy, "keep_newest", "");
        add_count(&table, policy, "keep_days", " days");
        table_add(&table, cJSON_IsTrue(json_member(policy, "keep_tagged")) ? "yes" : "no");
        add_count(&table, policy, "checkpoint_days", " days");
    }
    buf_init(&out, 1u << 20);
    if (cJSON_GetArraySize(json_member(document, "policies")) > 0)
        table_write(&table, ctl->out.colour, &out);
    else
        buf_text(&out, "no policies: the daemon deletes nothing by itself\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
    table_close(&table);
}

static void add_due(struct table *table, const cJSON *due, const char *what, const char *takes)
{
    char text[96];
    const cJSON *policy = json_member(due, "policy");
    table_add(table, what);
    table_add(table, takes);
    table_add(table, json_string(due, "owner"));
    table_add(table, json_string(due, "team"));
    snprintf(text, sizeof text, "%.31s %.63s", json_shown(policy, "team"), json_shown(policy, "kind"));
    table_add(table, text);
    term_bytes(text, sizeof text, json_number(due, "bytes"));
    table_add(table, text);
}

static void view_due(struct ctl *ctl, const cJSON *document)
{
    const cJSON *due = NULL, *jobs = json_member(document, "jobs"), *sets = json_member(document, "datasets");
    char text[64];
    struct table table;
    struct buf out;
    table_init(&table, "WHAT|TAKES|OWNER|TEAM|POLICY|>BYTES");
    cJSON_ArrayForEach (due, jobs)
        add_due(&table, due, json_shown(due, "id"), json_shown(due, "takes"));
    cJSON_ArrayForEach (due, sets)
        add_due(&table, due, json_shown(due, "name"), "data set");
    buf_init(&out, 1u << 20);
    if (cJSON_GetArraySize(jobs) + cJSON_GetArraySize(sets) > 0)
        table_write(&table, ctl->out.colour, &out);
    term_bytes(text, sizeof text, json_number(document, "bytes"));
    buf_format(&out, "%d jobs and %d data sets would go, %s%s\n", cJSON_GetArraySize(jobs), cJSON_GetArraySize(sets),
               text, cJSON_IsTrue(json_member(document, "more")) ? "; these are not all" : "");
    term_flush(&ctl->out, &out);
    buf_close(&out);
    table_close(&table);
}

static int policy_run(struct ctl *ctl, const struct options *args)
{
    const bool dry = options_has(args, "dry-run");
    struct buf body;
    if (args->positional_count == 0)
        return ctl_show(ctl,
                        &(struct http_request){.method = "GET", .path = dry ? "/v1/policies/dry-run" : "/v1/policies"},
                        dry ? view_due : view_policies);
    int code = ctl_read_file(ctl, args->positional[0], POLICIES_MOST, &body);
    if (code == CTL_SUCCESS)
        buf_append(&body, "", 1);
    if (code == CTL_SUCCESS)
        code =
            ctl_show(ctl,
                     &(struct http_request){
                         .method = "PUT", .path = dry ? "/v1/policies?dry_run=1" : "/v1/policies", .body = body.data},
                     dry ? view_due : view_policies);
    buf_close(&body);
    return code;
}

static const struct config_field pin_options[] = {
    OPTION_TEXT("dataset", "NAME", "pin this data set instead of a job"),
    OPTION_FLAG("off", "end the protection"),
    OPTIONS_END,
};

static void view_pinned(struct ctl *ctl, const cJSON *document)
{
    const char *id = json_string(document, "id"), *until = json_string(document, "expires_at");
    const bool pinned = cJSON_IsTrue(json_member(document, "pinned"));
    fprintf(ctl->out.stream, "%s", id ? id : json_shown(document, "name"));
    if (!ctl->quiet)
        fprintf(ctl->out.stream, "%s%s", pinned ? ": no policy deletes it" : ": policies apply",
                pinned || !until ? "" : "; it is deleted if nobody uses it until ");
    fprintf(ctl->out.stream, "%s\n", !ctl->quiet && !pinned && until ? until : "");
}

static int pin_run(struct ctl *ctl, const struct options *args)
{
    const bool dataset = options_has(args, "dataset");
    char id[CTL_ID] = "";
    struct buf path;
    if (args->positional_count != (dataset ? 0u : 1u))
        return ctl_usage(ctl, "pin JOB|--dataset NAME");
    int code = dataset ? CTL_SUCCESS : ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 1024);
    buf_text(&path, dataset ? "/v1/datasets/" : "/v1/jobs/");
    http_escape(&path, dataset ? options_value(args, "dataset") : id);
    const char *body = options_has(args, "off") ? "{\"pinned\":false}" : "{\"pinned\":true}";
    code = path.failed
               ? ctl_usage(ctl, "the name is too long")
               : ctl_show(ctl, &(struct http_request){.method = "PATCH", .path = path.data, .body = body}, view_pinned);
    buf_close(&path);
    return code;
}

const struct command command_policy = {
    .name = "policy",
    .arguments = "[FILE]",
    .summary = "show or set what the daemon deletes by itself",
    .text =
        "FILE replaces all policies, for administrators: {\"policies\": [{\"team\": \"proteins\", \"kind\": \"*\",\n"
        "\"keep_newest\": 20, \"keep_days\": 90, \"checkpoint_days\": 14}]}. A team is a name, null or \"*\"; a kind\n"
        "is a kind of job, \"*\" or \"datasets\". Pinned, tagged and unfinished jobs stay.",
    .example = "  motifctl policy\n"
               "  motifctl policy --dry-run\n"
               "  motifctl policy policies.json --dry-run\n"
               "  motifctl policy policies.json",
    .options = policy_options,
    .least = 0,
    .most = 1,
    .run = policy_run,
};

const struct command command_pin = {
    .name = "pin",
    .arguments = "[JOB]",
    .summary = "keep a job or a data set, whatever the policies say",
    .text = "No policy deletes what is pinned, or checkpoints of a pinned job. Its owner can still delete it.",
    .example = "  motifctl pin latest\n"
               "  motifctl pin --dataset reads\n"
               "  motifctl pin latest --off",
    .options = pin_options,
    .least = 0,
    .most = 1,
    .run = pin_run,
};
