/* Access tokens: names, teams, scopes and hashes. Part of storage.h. */
#ifndef MOTIF_STORAGE_JOBS_TOKEN_H
#define MOTIF_STORAGE_JOBS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "storage/jobs/viewer.h"

struct storage;

struct storage_token {
    uint8_t hash[32];        /* hash of the secret; the secret itself is never stored */
    char name[64];           /* name of the token; valid tokens (not revoked, not expired) have different names */
    char team[STORAGE_TEAM]; /* team of the token; "": the team without a name */
    int scope;               /* the caller defines its meaning */
    int64_t created_at;
    int64_t expires_at; /* time of expiry; 0: the token does not expire */
    int64_t used_at;    /* time of its last use, to a few minutes; 0: never */
    bool revoked;
    bool expired; /* at the time of the call that read it */
};

/* Adds a token; token->created_at and token->revoked are ignored. CONFLICT: a token with this hash exists, or a valid
 * token has this name, or a token of another team had it: rows name their owner by the name of a token, so a name stays
 * in its team. A name of the team without a name may move into a team. */
enum status storage_token_add(struct storage *storage, const struct storage_token *token, struct error *err);
/* Finds a token by the hash of its secret; it may be expired. NOT_FOUND: there is none, or it is revoked. */
enum status storage_token_find(struct storage *storage, const uint8_t hash[32], struct storage_token *out,
                               struct error *err);
/* Lists all tokens, also revoked and expired ones. */
enum status storage_token_list(struct storage *storage, struct arena *arena, struct storage_token **tokens,
                               size_t *count, struct error *err);
/* Revokes every valid token of this name. NOT_FOUND: there is none. */
enum status storage_token_revoke(struct storage *storage, const char *name, struct error *err);
/* Adds a token with the hash of `token` and the team and scope of the newest valid token of its name, and ends the
 * earlier ones: at once, or after `overlap` milliseconds. If token->expires_at is 0, the new token is valid for as long
 * as the earlier one was when it was new. NOT_FOUND: no valid token has the name. */
enum status storage_token_rotate(struct storage *storage, const struct storage_token *token, int64_t overlap,
                                 struct error *err);
/* Records that the token with this hash is used now. A lazy write, lost if the disk is full. */
enum status storage_token_used(struct storage *storage, const uint8_t hash[32], struct error *err);
/* Milliseconds until the first valid token expires, without tokens that a rotation has replaced; INT64_MAX: none
 * expires. */
enum status storage_token_expiry(struct storage *storage, int64_t *left, struct error *err);

#endif
