/* Authentication by bearer tokens (RFC 6750); each token has one of four scopes, and a team. Tokens of an issuer of
 * OpenID Connect (server/signin/) are another kind of them: they give the same scopes, under names of their own.
 *
 * A token is "motif_" and 32 random bytes in URL-safe base64. The database stores only its BLAKE2b hash: a stolen
 * database grants nothing, and a lookup by hash compares no secret byte by byte. The daemon requires tokens when it
 * listens beyond loopback, when --token or MOTIFD_TOKEN gives a token, or when the database contains a token that is
 * not revoked. An expired token still counts, because its expiry must not open the daemon.
 *
 * `motifd token` proves with the operator's key that it runs as the daemon's user or as root: the daemon makes a new
 * key at each start, and writes it into a file beside the database that only they can read (server/tokens.h). Without
 * it, every user of the machine could create tokens of a daemon that requires none. All functions may be called on any
 * thread. */
#ifndef MOTIF_SERVER_HTTP_AUTH_H
#define MOTIF_SERVER_HTTP_AUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "core/base/error.h"
#include "storage/storage.h"

#define AUTH_HASH 32
#define AUTH_NAME 64   /* bytes of a token's name, with its NUL */
#define AUTH_SECRET 64 /* bytes of a new token's text, with its NUL */

#define AUTH_NOTES 64
#define AUTH_TOKEN_MAX 8192 /* upper limit of the bytes of a bearer token */
/* Beginnings of the names of people whom an issuer or a proxy signed in; no token has such a name. */
#define AUTH_SIGNED_IN "oidc:"
#define AUTH_BY_PROXY "proxy:"

struct auth_caller;

struct auth {
    struct storage *storage;
    atomic_bool required;
    bool has_static;
    /* Finds the caller that a signed token of an issuer names; NULL: there is no issuer. Set before requests come. */
    bool (*identify_signed)(void *context, const char *token, struct auth_caller *caller);
    void *signed_context;
    uint8_t static_hash[AUTH_HASH], key_hash[AUTH_HASH];
    char key[AUTH_SECRET]; /* the operator's key: random text of this process */
    /* When the use of a token was last recorded, by the first byte of its hash: bounds the writes of auth_identify().
     */
    _Atomic int64_t noted[AUTH_NOTES];
};

/* Who sends a request. */
struct auth_caller {
    enum api_scope scope; /* NONE: nobody that the daemon knows */
    char name[AUTH_NAME]; /* of the token: "" when tokens are not required or the scope is NONE, "MOTIFD_TOKEN" for the
                             static token, "console" for the operator's key */
    char team[STORAGE_TEAM]; /* "": the team without a name */
    bool signed_token;       /* an issuer or a proxy signed the caller in */
    const char *fault;       /* why what the client sent grants nothing: a sentence; NULL: no reason beyond "unknown" */
};

/* Makes the operator's key, and decides whether tokens are required. `static_token`: the token of --token or
 * MOTIFD_TOKEN, "" for none. STATUS_INVALID when tokens are required and none exists. */
enum status auth_init(struct auth *auth, struct storage *storage, bool loopback, const char *static_token,
                      struct error *err);

/* Requires a token from now on; called when the first token has been created. */
void auth_demand(struct auth *auth);

/* Finds out who sends a request. `authorization` is the value of its Authorization header, NULL when it is missing.
 * Records at most every few minutes that a token is used (storage_token_used()). */
void auth_identify(struct auth *auth, const char *authorization, struct auth_caller *caller);

/* Converts "read", "submit", "manage" or "admin", or the name of a role ("reader", "member", "manager"), to a scope;
 * any other name is API_SCOPE_NONE. */
enum api_scope auth_scope_parse(const char *name);
/* The name of a scope; "none" for a number that is no scope. */
const char *auth_scope_name(enum api_scope scope);

/* Checks the name of a token. STATUS_INVALID: the name is empty, has AUTH_NAME bytes or more, contains characters that
 * names of jobs may not contain either (utf8_printable()), or begins like the name of somebody who signs in. */
enum status auth_check_name(const char *name, struct error *err);

/* Checks the name of a team. STATUS_INVALID: it is not "" and not 1 to 31 small letters, digits and '-', beginning with
 * a letter or a digit. The names of a team's data sets begin with it. */
enum status auth_check_team(const char *team, struct error *err);

/* Creates a token `name` of a team ("": the team without a name). `secret` receives its text, which is stored nowhere.
 * expires_at: milliseconds since 1970, 0: never. */
enum status auth_create(struct storage *storage, const char *name, const char *team, enum api_scope scope,
                        int64_t expires_at, char secret[AUTH_SECRET], struct error *err);
/* Replaces the secret of the valid token `name`; the earlier one works for another `overlap` milliseconds. expires_at:
 * of the new token; 0: it is valid for as long as the earlier one was (storage_token_rotate()). */
enum status auth_rotate(struct storage *storage, const char *name, int64_t expires_at, int64_t overlap,
                        char secret[AUTH_SECRET], struct error *err);

#endif
