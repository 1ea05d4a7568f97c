/* GET and PUT /v1/policies, and the dry run: reads, checks, shows and stores the policies as one list. */
#include <stdlib.h>
#include <string.h>

#include "api/retention/retention.h"
#include "api/rights/caller.h"
#include "core/base/values.h"
#include "protocol/faults.h"

enum { POLICIES_MOST = 256, DUE_MOST = 1000 };
#define DAYS_MOST 36500

static const struct config_field members[] = {
    {.name = "keep_newest", .type = FIELD_INT, .min = 1, .max = 1000000},
    {.name = "keep_days", .type = FIELD_INT, .min = 1, .max = DAYS_MOST},
    {.name = "checkpoint_days", .type = FIELD_INT, .min = 1, .max = DAYS_MOST},
};

#define JSON "application/json"
const struct config_field policy_query[] = {
    PARAMETER_FLAG("dry_run", "1: the answer says what these policies would delete now; nothing is stored"),
    PARAMETERS_END,
};
const struct api_answer policies_answers[] = {
    {200, JSON, "PolicyList", "The policies; null: the rule keeps nothing, or deletes nothing."},
    {0, NULL, NULL, NULL}};
const struct api_answer policies_set_answers[] = {
    {200, JSON, "PolicyList", "The stored policies; with dry_run the document of /v1/policies/dry-run."},
    {400, "application/problem+json", "Problem", "The body is not JSON."},
    {422, "application/problem+json", "Problem", "Members are invalid; nothing was stored."},
    {0, NULL, NULL, NULL}};
const struct api_answer due_answers[] = {
    {200, JSON, "Due", "Jobs and data sets, the longest due first, at most 1000 jobs; more: there are more."},
    {0, NULL, NULL, NULL}};

/* ---- reading --------------------------------------------------------------------------------------------- */

static bool team_good(const char *team)
{
    size_t length = strlen(team);
    return strcmp(team, POLICY_ALL) == 0 ||
           (length < STORAGE_TEAM && strspn(team, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length);
}

static void check_kind(const struct exchange *x, const cJSON *value, const char *pointer, struct api_faults *faults)
{
    const char *kind = cJSON_GetStringValue(value);
    if (kind == NULL) {
        api_faults_add(faults, pointer, "must be a kind of job, \"%s\" or \"%s\"", POLICY_DATASETS, POLICY_ALL);
        return;
    }
    if (strcmp(kind, POLICY_ALL) == 0 || strcmp(kind, POLICY_DATASETS) == 0 || api_method(x->api, kind) != NULL)
        return;
    struct name_guess guess = {.given = kind};
    name_guess_offer(&guess, POLICY_DATASETS);
    for (size_t i = 0; i < x->api->options.method_count; i++)
        name_guess_offer(&guess, x->api->options.methods[i]->kind);
    name_guess_fault(&guess, "a kind of job, \"" POLICY_DATASETS "\" or \"" POLICY_ALL "\"", pointer, faults);
}

static void check_member(const struct exchange *x, const cJSON *item, const char *place, bool of_datasets,
                         struct api_faults *faults)
{
    char pointer[128];
    struct name_guess guess = {.given = item->string};
    fault_pointer(pointer, place, item->string);
    if (strcmp(item->string, "kind") == 0)
        return; /* required, so check_policy() checks it */
    if (strcmp(item->string, "team") == 0) {
        if (!cJSON_IsNull(item) && (!cJSON_IsString(item) || !team_good(item->valuestring)))
            api_faults_add(faults, pointer, "must be the name of a team, null (the team without a name) or \"*\"");
        return;
    }
    bool for_jobs = strcmp(item->string, "keep_tagged") == 0 || strcmp(item->string, "checkpoint_days") == 0;
    if (of_datasets && for_jobs && !cJSON_IsNull(item)) {
        api_faults_add(faults, pointer, "has no meaning for data sets");
        return;
    }
    if (strcmp(item->string, "keep_tagged") == 0) {
        if (!cJSON_IsBool(item))
            api_faults_add(faults, pointer, "must be true or false");
        return;
    }
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        struct value value;
        struct error err;
        error_clear(&err);
        if (strcmp(item->string, members[i].name) != 0) {
            name_guess_offer(&guess, members[i].name);
            continue;
        }
        if (cJSON_IsNull(item))
            return;
        if (!cJSON_IsNumber(item))
            api_faults_add(faults, pointer, "must be an integer in [%.0f, %.0f] or null", members[i].min,
                           members[i].max);
        else if (value_read_number(&members[i], VALUE_MEMBER, item->valuedouble, &value, &err))
            api_faults_add(faults, pointer, "%s", err.message);
        return;
    }
    name_guess_offer(&guess, "team");
    name_guess_offer(&guess, "kind");
    name_guess_offer(&guess, "keep_tagged");
    name_guess_fault(&guess, "a member of a policy", pointer, faults);
}

/* The text of a member; `otherwise` if it is none. */
static const char *text_of(const cJSON *policy, const char *name, const char *otherwise)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(policy, name));
    return text != NULL ? text : otherwise;
}

static void check_policy(const struct exchange *x, const cJSON *list, const cJSON *policy, int index,
                         struct api_faults *faults)
{
    char place[32], pointer[128];
    int before = 0;
    (void)snprintf(place, sizeof place, "/policies/%d", index);
    if (!cJSON_IsObject(policy)) {
        api_faults_add(faults, place, "must be an object; got %s", json_type_name(policy));
        return;
    }
    const char *kind = text_of(policy, "kind", "");
    fault_pointer(pointer, place, "kind");
    check_kind(x, cJSON_GetObjectItemCaseSensitive(policy, "kind"), pointer, faults);
    JSON_EACH (item, policy)
        check_member(x, item, place, strcmp(kind, POLICY_DATASETS) == 0, faults);
    JSON_EACH (other, list) {
        if (before++ == index)
            break;
        if (strcmp(text_of(other, "kind", ""), kind) == 0 &&
            strcmp(text_of(other, "team", ""), text_of(policy, "team", "")) == 0)
            api_faults_add(faults, place, "repeats the team and kind of policy %d", before - 1);
    }
}

/* Reads the policies of the body as text in the arena. NULL: the function has responded. */
static const char *read_policies(struct exchange *x)
{
    cJSON *body = exchange_object(x);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "policies");
    char *text = NULL;
    int index = 0;
    if (body == NULL)
        return NULL;
    if (faults != NULL) {
        JSON_EACH (item, body) {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            if (item != list)
                api_faults_add(faults, pointer, "is not a member of the list of policies; policies is");
        }
        if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > POLICIES_MOST)
            api_faults_add(faults, "/policies", "must be a list of at most %d policies", POLICIES_MOST);
        else
            JSON_EACH (policy, list)
                check_policy(x, list, policy, index++, faults);
        text = faults->count == 0 ? cJSON_PrintUnformatted(list) : NULL;
    }
    cJSON_Delete(body);
    const char *kept = text != NULL ? arena_strdup(&x->arena, text) : NULL;
    cJSON_free(text);
    if (faults != NULL && faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    else if (kept == NULL)
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    return kept;
}

/* ---- showing --------------------------------------------------------------------------------------------- */

static void write_team(const struct sink *out, const char *key, const char *team)
{
    sink_text(out, key, team[0] != '\0' ? team : NULL);
}

static void write_policy(const struct sink *out, const cJSON *policy)
{
    const cJSON *tagged = cJSON_GetObjectItemCaseSensitive(policy, "keep_tagged");
    const bool of_datasets = strcmp(text_of(policy, "kind", ""), POLICY_DATASETS) == 0;
    sink_begin_object(out, NULL);
    write_team(out, "team", text_of(policy, "team", ""));
    sink_text(out, "kind", text_of(policy, "kind", ""));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(policy, members[i].name);
        if (cJSON_IsNumber(item))
            sink_integer(out, members[i].name, (int64_t)item->valuedouble);
        else
            sink_null(out, members[i].name);
    }
    sink_boolean(out, "keep_tagged", !of_datasets && !cJSON_IsFalse(tagged));
    sink_end_object(out);
}

/* The team whose policies the caller may see; NULL: all. */
static const char *seen_team(const struct exchange *x)
{
    return caller_sees_all(x) ? NULL : caller_team(x);
}

static void respond_policies(struct exchange *x, const char *rules)
{
    const char *team = seen_team(x);
    cJSON *list = NULL;
    struct error err;
    error_clear(&err);
    if (json_parse(rules, strlen(rules), &list, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "policies");
    JSON_EACH (policy, list) {
        const char *of = text_of(policy, "team", "");
        if (team == NULL || strcmp(of, team) == 0 || strcmp(of, POLICY_ALL) == 0)
            write_policy(x->out, policy);
    }
    sink_end_list(x->out);
    sink_end_object(x->out);
    cJSON_Delete(list);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}

void policies_show(struct exchange *x)
{
    const char *rules;
    struct error err;
    error_clear(&err);
    if (storage_policies_get(x->api->options.storage, &x->arena, &rules, &err))
        respond_error(x, &err);
    else
        respond_policies(x, rules);
}

/* ---- the dry run ----------------------------------------------------------------------------------------- */

static void write_of(const struct sink *out, const char *team, const char *kind)
{
    sink_begin_object(out, "policy");
    write_team(out, "team", team);
    sink_text(out, "kind", kind);
    sink_end_object(out);
}

static int64_t write_jobs(const struct sink *out, const struct storage_due *due, size_t count)
{
    int64_t bytes = 0;
    sink_begin_list(out, "jobs");
    for (size_t i = 0; i < count; i++) {
        const struct storage_due *d = &due[i];
        bytes += d->bytes;
        sink_begin_object(out, NULL);
        sink_text(out, "id", d->id);
        sink_text(out, "kind", d->kind);
        write_team(out, "name", d->name);
        write_team(out, "owner", d->owner);
        write_team(out, "team", d->team);
        sink_text(out, "takes", d->whole ? "job" : "checkpoints");
        write_of(out, d->of_team, d->of_kind);
        sink_time(out, "due_at", d->due_at);
        sink_integer(out, "bytes", d->bytes);
        sink_end_object(out);
    }
    sink_end_list(out);
    return bytes;
}

static int64_t write_datasets(const struct sink *out, const struct dataset_due *due, size_t count)
{
    int64_t bytes = 0;
    sink_begin_list(out, "datasets");
    for (size_t i = 0; i < count; i++) {
        const struct dataset_due *d = &due[i];
        bytes += d->bytes;
        sink_begin_object(out, NULL);
        sink_text(out, "name", d->name);
        write_team(out, "owner", d->owner);
        write_team(out, "team", d->team);
        write_of(out, d->of_team, POLICY_DATASETS);
        sink_time(out, "due_at", d->due_at);
        sink_integer(out, "bytes", d->bytes);
        sink_end_object(out);
    }
    sink_end_list(out);
    return bytes;
}

/* Responds with what these policies would take now of the caller's team, or of all. */
static void respond_due(struct exchange *x, const char *rules)
{
    struct storage_due *jobs;
    struct dataset_due *datasets;
    size_t job_count, dataset_count = 0;
    struct error err;
    error_clear(&err);
    const char *team = seen_team(x);
    const int64_t now = now_ms();
    enum status status =
        storage_due_list(x->api->options.storage, rules, team, now, DUE_MOST, &x->arena, &jobs, &job_count, &err);
    if (!status)
        status = dataset_due_list(x->api, rules, team, NULL, now, &x->arena, &datasets, &dataset_count, &err);
    if (status) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    int64_t bytes = write_jobs(x->out, jobs, job_count);
    bytes += write_datasets(x->out, datasets, dataset_count);
    sink_integer(x->out, "bytes", bytes);
    sink_boolean(x->out, "more", job_count == DUE_MOST);
    sink_end_object(x->out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}

void policies_dry_run(struct exchange *x)
{
    const char *rules;
    struct error err;
    error_clear(&err);
    if (storage_policies_get(x->api->options.storage, &x->arena, &rules, &err))
        respond_error(x, &err);
    else
        respond_due(x, rules);
}

void policies_set(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    const char *rules = read_policies(x);
    if (rules == NULL)
        return;
    if (exchange_query_flag(x, "dry_run"))
        respond_due(x, rules);
    else if (storage_policies_set(x->api->options.storage, rules, &err))
        respond_error(x, &err);
    else
        respond_policies(x, rules);
}
