/* Creates tokens and looks them up by their hash. */
#include "server/http/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/utf8.h"

/* Owners that are no tokens of the database: `motifd token` and the like, and the setting `token`. */
#define CONSOLE "console"
#define STATIC "MOTIFD_TOKEN"

static const char *const scope_names[] = {
    [API_SCOPE_NONE] = "none",     [API_SCOPE_READ] = "read",   [API_SCOPE_SUBMIT] = "submit",
    [API_SCOPE_MANAGE] = "manage", [API_SCOPE_ADMIN] = "admin",
};
/* the names of the roles that these scopes are */
static const char *const role_names[] = {
    [API_SCOPE_READ] = "reader",
    [API_SCOPE_SUBMIT] = "member",
    [API_SCOPE_MANAGE] = "manager",
    [API_SCOPE_ADMIN] = "admin",
};

static void hash_token(const char *token, uint8_t hash[AUTH_HASH])
{
    /* Cannot fail: the sizes are constants that the function allows. */
    (void)crypto_generichash(hash, AUTH_HASH, (const unsigned char *)token, strlen(token), NULL, 0);
}

static void make_secret(char secret[AUTH_SECRET])
{
    static const char prefix[] = "motif_";
    uint8_t random[32];
    randombytes_buf(random, sizeof random);
    memcpy(secret, prefix, sizeof prefix);
    (void)sodium_bin2base64(secret + sizeof prefix - 1, AUTH_SECRET - sizeof prefix + 1, random, sizeof random,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
}

static enum status any_live_token(struct storage *storage, bool *any, struct error *err)
{
    struct arena arena;
    struct storage_token *tokens = NULL;
    size_t count = 0;
    arena_init(&arena, 4096, 0);
    enum status status = storage_token_list(storage, &arena, &tokens, &count, err);
    *any = false;
    for (size_t i = 0; !status && i < count; i++)
        *any = *any || !tokens[i].revoked;
    arena_close(&arena);
    return status;
}

enum status auth_init(struct auth *auth, struct storage *storage, bool loopback, const char *static_token,
                      struct error *err)
{
    bool stored = false;
    memset(auth, 0, sizeof *auth);
    auth->storage = storage;
    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, NULL, "libsodium cannot be initialised");
    make_secret(auth->key);
    hash_token(auth->key, auth->key_hash);
    enum status status = any_live_token(storage, &stored, err);
    if (status)
        return status;
    if (static_token[0] != '\0') {
        hash_token(static_token, auth->static_hash);
        auth->has_static = true;
    }
    atomic_init(&auth->required, !loopback || auth->has_static || stored);
    if (!loopback && !auth->has_static && !stored) {
        return error_set(err, STATUS_INVALID, NULL,
                         "a bearer token is needed beyond loopback: set MOTIFD_TOKEN or run `motifd token create`");
    }
    return STATUS_OK;
}

void auth_demand(struct auth *auth)
{
    atomic_store(&auth->required, true);
}

/* The database records the use of a token to USE_MS. Until the record is in the database, each slot of `noted` lets
 * one write pass every NOTE_MS, also when the disk is full. */
#define USE_MS INT64_C(300000)
#define NOTE_MS INT64_C(2000)

static void note_use(struct auth *auth, const struct storage_token *token)
{
    struct timespec clock;
    (void)clock_gettime(CLOCK_REALTIME, &clock);
    int64_t now = (int64_t)clock.tv_sec * 1000 + clock.tv_nsec / 1000000;
    _Atomic int64_t *noted = &auth->noted[token->hash[0] % AUTH_NOTES];
    int64_t before = atomic_load(noted);
    if (now - token->used_at < USE_MS || (before <= now && now - before < NOTE_MS))
        return;
    if (atomic_compare_exchange_strong(noted, &before, now))
        (void)storage_token_used(auth->storage, token->hash, NULL);
}

/* Looks the token with this hash up in the database. */
static void identify_stored(struct auth *auth, const uint8_t hash[AUTH_HASH], struct auth_caller *caller)
{
    struct storage_token token;
    if (storage_token_find(auth->storage, hash, &token, NULL) || sodium_memcmp(hash, token.hash, AUTH_HASH) != 0) {
        caller->fault = "The token is unknown or revoked.";
        return;
    }
    if (token.expired) {
        caller->fault = "The token has expired. `motifd token create` makes another one.";
        return;
    }
    if (token.scope < API_SCOPE_READ || token.scope > API_SCOPE_ADMIN)
        return;
    caller->scope = (enum api_scope)token.scope;
    (void)snprintf(caller->name, sizeof caller->name, "%s", token.name);
    (void)snprintf(caller->team, sizeof caller->team, "%s", token.team);
    note_use(auth, &token);
}

static void be(struct auth_caller *caller, enum api_scope scope, const char *name)
{
    caller->scope = scope;
    (void)snprintf(caller->name, sizeof caller->name, "%s", name);
}

void auth_identify(struct auth *auth, const char *authorization, struct auth_caller *caller)
{
    uint8_t hash[AUTH_HASH];
    const bool open = !atomic_load(&auth->required);
    *caller = (struct auth_caller){.scope = open ? API_SCOPE_ADMIN : API_SCOPE_NONE};
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0)
        return;
    const char *secret = authorization + 7 + strspn(authorization + 7, " ");
    if (secret[0] == '\0' || strlen(secret) > AUTH_TOKEN_MAX)
        return;
    hash_token(secret, hash);
    if (sodium_memcmp(hash, auth->key_hash, AUTH_HASH) == 0)
        be(caller, API_SCOPE_OPERATOR, CONSOLE);
    else if (!open && auth->has_static && sodium_memcmp(hash, auth->static_hash, AUTH_HASH) == 0)
        be(caller, API_SCOPE_ADMIN, STATIC);
    else if (!open && auth->identify_signed != NULL && strchr(secret, '.') != NULL)
        (void)auth->identify_signed(auth->signed_context, secret, caller);
    else if (!open)
        identify_stored(auth, hash, caller);
}

enum api_scope auth_scope_parse(const char *name)
{
    for (int scope = API_SCOPE_READ; scope <= API_SCOPE_ADMIN; scope++)
        if (strcmp(name, scope_names[scope]) == 0 || strcmp(name, role_names[scope]) == 0)
            return (enum api_scope)scope;
    return API_SCOPE_NONE;
}

const char *auth_scope_name(enum api_scope scope)
{
    bool known = scope >= API_SCOPE_NONE && scope <= API_SCOPE_ADMIN;
    return scope_names[known ? scope : API_SCOPE_NONE];
}

enum status auth_check_name(const char *name, struct error *err)
{
    if (name[0] == '\0' || strlen(name) >= AUTH_NAME)
        return error_set(err, STATUS_INVALID, NULL, "the name of a token must have 1 to %d bytes", AUTH_NAME - 1);
    if (!utf8_printable(name, strlen(name))) {
        return error_set(err, STATUS_INVALID, NULL,
                         "the name of a token must be UTF-8 without control characters and without characters that "
                         "change the direction of text");
    }
    if (strcmp(name, CONSOLE) == 0 || strcmp(name, STATIC) == 0) {
        return error_set(err, STATUS_INVALID, NULL,
                         "the name of a token must not be %s or %s: jobs and data sets of these owners already have "
                         "one",
                         CONSOLE, STATIC);
    }
    if (strncmp(name, AUTH_SIGNED_IN, strlen(AUTH_SIGNED_IN)) == 0 ||
        strncmp(name, AUTH_BY_PROXY, strlen(AUTH_BY_PROXY)) == 0) {
        return error_set(err, STATUS_INVALID, NULL,
                         "the name of a token must not begin with " AUTH_SIGNED_IN " or " AUTH_BY_PROXY
                         ": people whom an issuer or a proxy signs in have such names");
    }
    return STATUS_OK;
}

enum status auth_check_team(const char *team, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strlen(team);
    if (length < STORAGE_TEAM && team[0] != '-' && strspn(team, allowed) == length)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, NULL,
                     "the name of a team must have 1 to %d small letters, digits and '-', and begin with a letter or a "
                     "digit",
                     STORAGE_TEAM - 1);
}

enum status auth_create(struct storage *storage, const char *name, const char *team, enum api_scope scope,
                        int64_t expires_at, char secret[AUTH_SECRET], struct error *err)
{
    struct storage_token token = {.scope = (int)scope, .expires_at = expires_at};
    enum status status = auth_check_name(name, err);
    if (!status)
        status = auth_check_team(team, err);
    if (status)
        return status;
    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, NULL, "libsodium cannot be initialised");
    make_secret(secret);
    memcpy(token.name, name, strlen(name) + 1);
    memcpy(token.team, team, strlen(team) + 1);
    hash_token(secret, token.hash);
    return storage_token_add(storage, &token, err);
}

enum status auth_rotate(struct storage *storage, const char *name, int64_t expires_at, int64_t overlap,
                        char secret[AUTH_SECRET], struct error *err)
{
    struct storage_token token = {.expires_at = expires_at};
    if (strlen(name) >= sizeof token.name)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such token");
    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, NULL, "libsodium cannot be initialised");
    make_secret(secret);
    memcpy(token.name, name, strlen(name) + 1);
    hash_token(secret, token.hash);
    return storage_token_rotate(storage, &token, overlap, err);
}
