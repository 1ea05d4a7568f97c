/* Maps claims to a caller. */
#include "server/signin/claims.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "server/signin/list.h"

#define EVERYBODY "*"
#define VALUE_MAX 256 /* bytes of a value of a claim, with its NUL; longer ones count as absent */

/* The team and the role that the values seen so far give. */
struct found {
    const struct claims_rules *rules;
    char team[STORAGE_TEAM];
    bool has_team;
    enum api_scope scope;
};

/* ---- the lists -------------------------------------------------------------------------------------------- */

/* Whether every item is KEY=VALUE and `sound` accepts the value. */
static bool items_sound(const char *list, bool (*sound)(const char *value))
{
    const char *item;
    size_t length;
    while (list_next(&list, &item, &length)) {
        char text[VALUE_MAX];
        if (length >= sizeof text)
            return false;
        memcpy(text, item, length);
        text[length] = '\0';
        const char *value = strchr(text, '=');
        if (value == NULL || value == text || !sound(value + 1))
            return false;
    }
    return true;
}

static bool role_sound(const char *value)
{
    return auth_scope_parse(value) != API_SCOPE_NONE;
}

static bool team_sound(const char *value)
{
    return auth_check_team(value, NULL) == STATUS_OK;
}

bool claims_roles_sound(const char *roles)
{
    return items_sound(roles, role_sound);
}

bool claims_teams_sound(const char *teams)
{
    return items_sound(teams, team_sound);
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static void add_role(struct found *found, const char *value)
{
    char role[16];
    if (!list_value(found->rules->roles, value, role, sizeof role))
        return;
    enum api_scope scope = auth_scope_parse(role);
    found->scope = scope > found->scope ? scope : found->scope;
}

/* The first value that is a team counts. */
static void add_team(struct found *found, const char *value)
{
    const char *list = found->rules->teams;
    char team[STORAGE_TEAM];
    bool mapped = list[0] != '\0', known = !mapped && value[0] != '\0' && strlen(value) < sizeof team;
    if (mapped)
        known = list_value(list, value, team, sizeof team);
    else if (known)
        memcpy(team, value, strlen(value) + 1);
    if (found->has_team || !known || !team_sound(team))
        return;
    memcpy(found->team, team, sizeof found->team);
    found->has_team = true;
}

/* Finds a claim by its name or by a path of names. */
static const cJSON *find_claim(const cJSON *claims, const char *name)
{
    const cJSON *direct = name[0] != '\0' ? cJSON_GetObjectItemCaseSensitive(claims, name) : NULL;
    char part[VALUE_MAX];
    if (direct != NULL || strchr(name, '.') == NULL)
        return direct;
    for (const char *at = name;; at++) {
        size_t length = strcspn(at, ".");
        if (length == 0 || length >= sizeof part)
            return NULL;
        memcpy(part, at, length);
        part[length] = '\0';
        claims = cJSON_GetObjectItemCaseSensitive(claims, part);
        at += length;
        if (claims == NULL || *at == '\0')
            return claims;
    }
}

/* Passes the text of a claim, or each text of its list, to `add`. */
static void each_value(struct found *found, const cJSON *claim, void (*add)(struct found *, const char *))
{
    if (cJSON_IsString(claim))
        add(found, claim->valuestring);
    if (cJSON_IsArray(claim))
        JSON_EACH (item, claim)
            if (cJSON_IsString(item))
                add(found, item->valuestring);
}

/* ---- the caller ------------------------------------------------------------------------------------------- */

static const char *finish(struct found *found, const char *prefix, const char *name, struct auth_caller *caller)
{
    add_role(found, EVERYBODY);
    if (found->rules->teams[0] != '\0')
        add_team(found, EVERYBODY);
    if (name == NULL || name[0] == '\0' || !utf8_printable(name, strlen(name)))
        return "The sign-in names nobody: its claim for the name is missing or no printable text.";
    if (strlen(prefix) + strlen(name) >= sizeof caller->name)
        return "The name in the sign-in is too long; --oidc-name-claim can choose another claim.";
    if (found->scope == API_SCOPE_NONE)
        return "This person has no role here: --signin-roles maps none of the values to a role.";
    *caller = (struct auth_caller){.scope = found->scope};
    (void)snprintf(caller->name, sizeof caller->name, "%s%s", prefix, name);
    memcpy(caller->team, found->team, sizeof caller->team);
    return NULL;
}

const char *claims_identify(const struct claims_rules *rules, const cJSON *claims, struct auth_caller *caller)
{
    struct found found = {.rules = rules};
    const char *name = cJSON_GetStringValue(find_claim(claims, rules->name_claim));
    /* an issuer may let people enter any address */
    if (strcmp(rules->name_claim, "email") == 0 &&
        !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(claims, "email_verified")))
        name = NULL;
    each_value(&found, find_claim(claims, rules->role_claim), add_role);
    each_value(&found, find_claim(claims, rules->team_claim), add_team);
    return finish(&found, AUTH_SIGNED_IN, name, caller);
}

static void each_item(struct found *found, const char *list, void (*add)(struct found *, const char *))
{
    const char *item;
    size_t length;
    char value[VALUE_MAX];
    while (list != NULL && list_next(&list, &item, &length)) {
        if (length >= sizeof value)
            continue;
        memcpy(value, item, length);
        value[length] = '\0';
        add(found, value);
    }
}

const char *claims_of_proxy(const struct claims_rules *rules, const char *name, const char *team, const char *role,
                            struct auth_caller *caller)
{
    struct found found = {.rules = rules};
    each_item(&found, role, add_role);
    each_item(&found, team, add_team);
    return finish(&found, AUTH_BY_PROXY, name, caller);
}
