/* Turns names of data sets into folders, with the rights of the caller. */
#include "api/datasets/dataset_names.h"

#include <stdio.h>
#include <string.h>

#include "api/rights/caller.h"
#include "core/data/dataset.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"

static const char *root_of(const struct exchange *x)
{
    return x->api->options.data;
}

/* Finds out whether a folder exists and whether the caller may read it. */
static enum status look(const struct exchange *x, const char *folder, enum dataset_kind *kind, bool *readable,
                        struct dataset_owner *owner, struct error *err)
{
    *readable = false;
    *owner = (struct dataset_owner){.visibility = VISIBILITY_EVERYONE};
    enum status status = dataset_find(root_of(x), folder, kind, err);
    if (!status && *kind == DATASET_OURS) {
        status = dataset_owner_read(root_of(x), folder, owner, err);
        if (status == STATUS_NOT_FOUND) { /* deleted meanwhile */
            error_clear(err);
            *kind = DATASET_NONE;
            return STATUS_OK;
        }
    }
    *readable =
        !status && *kind != DATASET_NONE && caller_may(x, owner->owner, owner->team, owner->visibility, ACTION_READ);
    *readable = *readable || (!status && *kind == DATASET_FOREIGN); /* the operator's folders are for all */
    return status;
}

/* Writes the folders that a name may stand for, the preferred one first. Returns their number. */
static int candidates(const struct exchange *x, const char *given, char folders[2][DATASET_NAME])
{
    const char *team = caller_team(x);
    int count = 0;
    if (given[0] == ':' && strchr(given + 1, ':') == NULL)
        return snprintf(folders[0], DATASET_NAME, "%s", given + 1) < DATASET_NAME;
    if (team[0] != '\0' && strchr(given, ':') == NULL)
        count += snprintf(folders[0], DATASET_NAME, "%s:%s", team, given) < DATASET_NAME;
    return count + (snprintf(folders[count], DATASET_NAME, "%s", given) < DATASET_NAME);
}

/* Finds the folder that a name stands for. *kind is NONE if there is none that the caller may read. */
static enum status find(const struct exchange *x, const char *given, bool uploads, char folder[DATASET_NAME],
                        enum dataset_kind *kind, struct dataset_owner *owner, struct error *err)
{
    char folders[2][DATASET_NAME];
    bool readable = false;
    int count = candidates(x, given, folders);
    *kind = DATASET_NONE;
    for (int i = 0; i < count; i++) {
        enum status status =
            dataset_name_good(folders[i]) ? look(x, folders[i], kind, &readable, owner, err) : STATUS_OK;
        if (status)
            return status;
        if (readable && (!uploads || *kind == DATASET_OURS)) {
            memcpy(folder, folders[i], DATASET_NAME);
            return STATUS_OK;
        }
        *kind = DATASET_NONE;
    }
    return STATUS_OK;
}

enum status dataset_name_find(struct exchange *x, const char *given, char folder[DATASET_NAME],
                              struct dataset_owner *owner, struct error *err)
{
    enum dataset_kind kind;
    enum status status = find(x, given, true, folder, &kind, owner, err);
    return status || kind != DATASET_NONE ? status
                                          : error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s", given);
}

bool dataset_name_new(struct exchange *x, const char *given, char folder[DATASET_NAME])
{
    const char *team = caller_team(x), *within = dataset_name_within(given);
    size_t stated = (size_t)(within - given); /* characters of a stated team, with the colon */
    if (stated > 0 && (stated - 1 != strlen(team) || strncmp(given, team, stated - 1) != 0)) {
        respond_problem(x, PROBLEM_FORBIDDEN, "A data set is uploaded into the caller's own team: leave '%.*s' out.",
                        (int)stated, given);
        return false;
    }
    int length = snprintf(folder, DATASET_NAME, "%s%s%s", team, team[0] != '\0' ? ":" : "", within);
    if (length < DATASET_NAME && dataset_name_good(folder))
        return true;
    respond_problem(x, PROBLEM_BAD_REQUEST,
                    "The name of a data set may contain small letters, digits, '.', '-' and '_', must begin with a "
                    "letter or digit, and may have at most %d characters here.",
                    DATASET_NAME - 1 - (int)strlen(team) - (team[0] != '\0'));
    return false;
}

void dataset_name_shown(const struct exchange *x, const char *folder, char shown[DATASET_NAME])
{
    const char *team = caller_team(x), *within = dataset_name_within(folder);
    size_t of = within > folder ? (size_t)(within - folder) - 1 : 0;
    struct dataset_owner owner;
    char meant[DATASET_NAME] = "";
    enum dataset_kind kind;
    bool own = of == strlen(team) && strncmp(folder, team, of) == 0;
    (void)snprintf(shown, DATASET_NAME, "%s", own ? within : folder);
    if (own || of > 0) /* of another team: with its name */
        return;
    /* of the team without a name: NAME, unless the caller's team uses the name, too */
    if (find(x, folder, true, meant, &kind, &owner, &(struct error){0}) || kind == DATASET_NONE ||
        strcmp(meant, folder) != 0)
        (void)snprintf(shown, DATASET_NAME, ":%.*s", DATASET_NAME - 2, folder);
}

enum status dataset_name_readable(const struct exchange *x, const char *folder, bool *readable, struct error *err)
{
    struct dataset_owner owner;
    enum dataset_kind kind;
    *readable = true;
    if (caller_sees_all(x) || !dataset_name_good(folder))
        return STATUS_OK;
    enum status status = look(x, folder, &kind, readable, &owner, err);
    *readable = *readable || kind == DATASET_NONE;
    return status;
}

/* Finds the folder of a name in a request. *known is false if the name stands for nothing that the caller may read. A
 * caller who sees everything gets the reports of the code that opens the data set, which suggest similar names. */
static enum status resolve(const struct exchange *x, const char *given, char folder[DATASET_NAME], bool *known,
                           struct error *err)
{
    struct dataset_owner owner;
    enum dataset_kind kind;
    (void)snprintf(folder, DATASET_NAME, "%s", given);
    *known = true;
    if (given[0] == '\0' || root_of(x) == NULL || strlen(given) >= DATASET_NAME)
        return STATUS_OK;
    enum status status = find(x, given, false, folder, &kind, &owner, err);
    *known = kind != DATASET_NONE || caller_sees_all(x) ||
             !dataset_name_good(given[0] == ':' ? given + 1 : given); /* the method reports a text that is no name */
    return status;
}

static void add_fault(struct api_faults *faults, const char *pointer, const char *given)
{
    api_faults_add(faults, pointer, "there is no data set %.63s; GET /v1/datasets lists them", given);
}

enum status dataset_names_resolve(struct exchange *x, const struct method *method, const cJSON *config,
                                  const char *prefix, struct api_faults *faults, struct error *err)
{
    char folder[DATASET_NAME], pointer[128];
    enum status status = STATUS_OK;
    for (const char *const *name = method->dataset_fields; name != NULL && *name != NULL && !status; name++) {
        const struct config_field *field = config_find(&method->config, *name);
        const cJSON *item = field != NULL ? config_member(field, config) : NULL;
        bool known = true;
        if (!cJSON_IsString(item))
            continue;
        status = resolve(x, item->valuestring, folder, &known, err);
        if (status || !known) {
            config_pointer(&method->config, config, prefix, *name, pointer);
            add_fault(faults, pointer, item->valuestring);
        } else if (strcmp(folder, item->valuestring) != 0 &&
                   cJSON_SetValuestring((cJSON *)(uintptr_t)item, folder) == NULL) {
            status = error_memory(err, "a configuration");
        }
    }
    return status;
}

enum status dataset_names_resolve_fields(struct exchange *x, const struct config_table *table, const char *const *names,
                                         void *config, const char *prefix, struct api_faults *faults, struct error *err)
{
    char folder[DATASET_NAME], pointer[128];
    enum status status = STATUS_OK;
    for (; names != NULL && *names != NULL && !status; names++) {
        const struct config_field *field = config_find(table, *names);
        const char *given = field != NULL ? config_text(field, config) : "";
        bool known = true;
        status = resolve(x, given, folder, &known, err);
        if (!status && !known) {
            (void)snprintf(pointer, sizeof pointer, "%s%s", prefix, *names);
            add_fault(faults, pointer, given);
        } else if (!status && strcmp(folder, given) != 0) {
            status = config_set_text(field, config, folder, err);
        }
    }
    return status;
}

enum status dataset_names_check(struct exchange *x, const struct method *method, const void *config, const char *prefix,
                                struct api_faults *faults, struct error *err)
{
    char pointer[128];
    enum status status = STATUS_OK;
    for (const char *const *name = method->dataset_fields; name != NULL && *name != NULL && !status; name++) {
        const struct config_field *field = config_find(&method->config, *name);
        const char *folder = field != NULL ? config_text(field, config) : "";
        bool readable = true;
        status = folder[0] != '\0' ? dataset_name_readable(x, folder, &readable, err) : STATUS_OK;
        if (!status && !readable) {
            (void)snprintf(pointer, sizeof pointer, "%s/%s", prefix, *name);
            add_fault(faults, pointer, folder);
        }
    }
    return status;
}

enum status dataset_names_import(struct exchange *x, const struct method *method, void *config, struct error *err)
{
    enum status status = STATUS_OK;
    for (const char *const *name = method->dataset_fields; name != NULL && *name != NULL && !status; name++) {
        const struct config_field *field = config_find(&method->config, *name);
        const char *given = field != NULL ? config_text(field, config) : "", *team = caller_team(x);
        char folder[DATASET_NAME];
        bool known = true, readable = true;
        status = resolve(x, given, folder, &known, err);
        if (!status && !known) {
            int length =
                snprintf(folder, sizeof folder, "%s%s%s", team, team[0] != '\0' ? ":" : "", dataset_name_within(given));
            status = dataset_name_readable(x, folder, &readable, err);
            if (!status && (!readable || length >= DATASET_NAME))
                status = error_set(err, STATUS_INVALID, NULL,
                                   "names the data set %.63s, a name that this team cannot use for it", given);
        }
        if (!status && strcmp(folder, given) != 0)
            status = config_set_text(field, config, folder, err);
    }
    return status;
}
