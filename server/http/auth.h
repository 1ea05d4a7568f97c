/* Who may do what: bearer tokens (RFC 6750) with one of three scopes.
 *
 * A token is "motif_" and 32 random bytes in URL-safe base64. Only its BLAKE2b hash is kept, so a stolen
 * database grants nothing, and looking a token up by its hash compares no secret byte by byte.
 * Tokens are asked for when the daemon listens beyond loopback, when one was given on the command line
 * or in MOTIFD_TOKEN, or when the database holds any that is not revoked: one that expires must not open the
 * daemon. Any thread. */
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

struct auth {
    struct storage *storage;
    atomic_bool required;
    bool has_static;
    uint8_t static_hash[AUTH_HASH];
};

/* `static_token`: "" for none. STATUS_INVALID when tokens are required and there is not one. */
enum status auth_init(struct auth *auth, struct storage *storage, bool loopback, const char *static_token,
                      struct error *err);

/* From now on a token is needed: the first one has been made. */
void auth_demand(struct auth *auth);

/* What the value of an Authorization header grants (NULL: there was none), and the name of its token: "" where none is
 * needed or it grants nothing, "MOTIFD_TOKEN" for that one. */
enum api_scope auth_scope(const struct auth *auth, const char *authorization, char name[AUTH_NAME]);

/* "read", "submit", "admin"; API_SCOPE_NONE when it is none of them. */
enum api_scope auth_scope_parse(const char *name);
const char *auth_scope_name(enum api_scope scope);

/* A new token under `name`; `secret` is shown once and stored nowhere. expires_at: ms, 0: never. */
enum status auth_create(struct storage *storage, const char *name, enum api_scope scope, int64_t expires_at,
                        char secret[AUTH_SECRET], struct error *err);

#endif
