/* Which data sets a policy deletes: their ages are in their documents, their uses and pins in the database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/retention/retention.h"
#include "core/methods/method.h"
#include "protocol/json.h"
#include "storage/files/dataset_owner.h"

struct aged {
    struct dataset_owner of;
    const char *name;
    int64_t created_at, used_at;
    bool pinned;
};

/* Reads the time of a document, such as 2026-03-01T12:00:00.000Z; 0: there is none. */
static int64_t read_time(const char *document)
{
    char text[40];
    struct tm utc = {0};
    if (!json_member_text(document, "created_at", text, sizeof text) ||
        strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) == NULL)
        return 0;
    return (int64_t)timegm(&utc) * 1000;
}

static enum status read_aged(const struct api *api, const char *name, struct arena *arena, struct aged *out,
                             struct error *err)
{
    const char *text;
    size_t size;
    struct storage_dataset_use use;
    enum status status = dataset_owner_read(api->options.data, name, &out->of, err);
    if (!status)
        status = dataset_read(api->options.data, name, "about.json", arena, &text, &size, err);
    if (!status)
        status = storage_dataset_use_get(api->options.storage, name, &use, err);
    if (status)
        return status;
    out->name = name;
    out->created_at = read_time(text);
    out->used_at = use.used_at > out->created_at ? use.used_at : out->created_at;
    out->pinned = use.pinned || out->created_at == 0; /* of an unknown age */
    return STATUS_OK;
}

static int newest_first(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;
    return x->created_at != y->created_at ? (x->created_at < y->created_at) - (x->created_at > y->created_at)
                                          : strcmp(x->name, y->name);
}

/* The policy for the data sets of a team: its own, or that for every team; NULL: none. */
static const cJSON *find_rule(const cJSON *rules, const char *team)
{
    const cJSON *found = NULL;
    JSON_EACH (rule, rules) {
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rule, "kind"));
        const char *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rule, "team"));
        if (kind == NULL || strcmp(kind, POLICY_DATASETS) != 0)
            continue;
        if (strcmp(of != NULL ? of : "", team) == 0)
            return rule;
        if (of != NULL && strcmp(of, POLICY_ALL) == 0)
            found = rule;
    }
    return found;
}

static bool has_rules(const cJSON *rules)
{
    JSON_EACH (rule, rules) {
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rule, "kind"));
        if (kind != NULL && strcmp(kind, POLICY_DATASETS) == 0)
            return true;
    }
    return false;
}

/* When the policy deletes data set number `index` of the sorted list; -1: never. */
static int64_t due_at(const struct aged *all, size_t index, const cJSON *rule)
{
    const struct aged *a = &all[index];
    const cJSON *newest = cJSON_GetObjectItemCaseSensitive(rule, "keep_newest");
    const cJSON *days = cJSON_GetObjectItemCaseSensitive(rule, "keep_days");
    if (a->pinned || (!cJSON_IsNumber(newest) && !cJSON_IsNumber(days)))
        return -1;
    int64_t before = 0; /* newer ones of the team */
    for (size_t i = 0; i < index; i++)
        before += strcmp(all[i].of.team, a->of.team) == 0;
    if (cJSON_IsNumber(newest) && (double)before < newest->valuedouble)
        return -1;
    return a->used_at + (cJSON_IsNumber(days) ? (int64_t)days->valuedouble * STORAGE_DAY_MS : 0);
}

static enum status read_all(const struct api *api, struct arena *arena, struct aged **all, size_t *count,
                            struct error *err)
{
    const char **names;
    size_t named;
    *count = 0;
    enum status status = dataset_list(api->options.data, arena, &names, &named, err);
    if (status || named == 0)
        return status;
    *all = arena_zalloc(arena, named, sizeof **all);
    if (*all == NULL)
        return error_memory(err, "what is due");
    for (size_t i = 0; i < named && !status; i++) {
        status = read_aged(api, names[i], arena, &(*all)[*count], err);
        if (!status)
            ++*count;
        if (status == STATUS_NOT_FOUND) { /* deleted meanwhile */
            error_clear(err);
            status = STATUS_OK;
        }
    }
    if (!status)
        qsort(*all, *count, sizeof **all, newest_first);
    return status;
}

static enum status list_due(const struct api *api, const cJSON *rules, const char *team, const char *only, int64_t now,
                            struct arena *arena, struct dataset_due **due, size_t *count, struct error *err)
{
    struct aged *all = NULL;
    size_t of = 0;
    enum status status = read_all(api, arena, &all, &of, err);
    if (!status && of > 0 && (*due = arena_zalloc(arena, of, sizeof **due)) == NULL)
        status = error_memory(err, "what is due");
    for (size_t i = 0; i < of && !status; i++) {
        const struct aged *a = &all[i];
        const cJSON *rule = find_rule(rules, a->of.team);
        int64_t at = rule != NULL ? due_at(all, i, rule) : -1;
        if (at < 0 || at > now || (team != NULL && strcmp(team, a->of.team) != 0) ||
            (only != NULL && strcmp(only, a->name) != 0))
            continue;
        const char *of_team = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rule, "team"));
        struct dataset_due *d = &(*due)[*count];
        *d = (struct dataset_due){.name = a->name, .owner = a->of.owner, .team = a->of.team, .due_at = at};
        d->of_team = arena_strdup(arena, of_team != NULL ? of_team : "");
        status = d->of_team != NULL ? dataset_size(api->options.data, a->name, &d->bytes, err)
                                    : error_memory(err, "what is due");
        ++*count;
    }
    return status;
}

enum status dataset_due_list(const struct api *api, const char *rules, const char *team, const char *only, int64_t now,
                             struct arena *arena, struct dataset_due **due, size_t *count, struct error *err)
{
    cJSON *parsed = NULL;
    *due = NULL;
    *count = 0;
    if (api->options.data == NULL)
        return STATUS_OK;
    enum status status = json_parse(rules, strlen(rules), &parsed, err);
    if (!status && has_rules(parsed))
        status = list_due(api, parsed, team, only, now, arena, due, count, err);
    cJSON_Delete(parsed);
    return status;
}
