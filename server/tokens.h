/* The actions of `motifd token`, which the command calls on a database that it opened itself and the daemon calls for
 * /v1/tokens; and the key with which the command may call these routes. */
#ifndef MOTIF_SERVER_TOKENS_H
#define MOTIF_SERVER_TOKENS_H

#include <stddef.h>

#include "api/tokens.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "server/http/auth.h"
#include "storage/storage.h"

/* Runs an action. Appends the new secret or the list to `out`. STATUS_INVALID: the name or scope of a new token is
 * wrong. STATUS_CONFLICT: a valid token has this name. STATUS_NOT_FOUND: none has it. */
enum status tokens_do(struct storage *storage, const struct api_token_request *request, struct buf *out,
                      struct error *err);

/* The file DATABASE-key: the address of the running daemon and the key of its operator (auth.h). Only the daemon's user
 * and root can read it. */
#define TOKENS_URL 192
struct tokens_key {
    char url[TOKENS_URL], key[AUTH_SECRET];
};
enum status tokens_key_write(const char *db, const struct tokens_key *key, struct error *err);
/* STATUS_NOT_FOUND: there is no complete file, because no daemon serves the database yet. */
enum status tokens_key_read(const char *db, struct tokens_key *key, struct error *err);
void tokens_key_remove(const char *db);

#endif
