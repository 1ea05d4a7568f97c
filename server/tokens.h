/* The actions of `motifd token`. The command calls them on a database that it opened itself, or the daemon calls them
 * for the command (console.h). */
#ifndef MOTIF_SERVER_TOKENS_H
#define MOTIF_SERVER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "storage/storage.h"

#define TOKEN_DAYS_MAX 36500
enum { TOKEN_VERB, TOKEN_NAME, TOKEN_SCOPE, TOKEN_DAYS, TOKEN_WORDS };

/* Runs an action. The words are "create", NAME, SCOPE and DAYS; "list"; or "revoke" and NAME. A word that an action
 * does not use is "". If DAYS is "", the token never expires. STATUS_INVALID: other words. Changes are recorded in the
 * audit log before and after they are tried. Appends the secret of a new token, or the list, to `out`. */
enum status tokens_do(struct storage *storage, const char *const *words, size_t count, struct buf *out,
                      struct error *err);

#endif
