/* What `motifd token` does: for itself on a store that it has opened, or in the daemon that has it open (console.h).
 */
#ifndef MOTIF_SERVER_TOKENS_H
#define MOTIF_SERVER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "storage/storage.h"

#define TOKEN_DAYS_MAX 36500
enum { TOKEN_VERB, TOKEN_NAME, TOKEN_SCOPE, TOKEN_DAYS, TOKEN_WORDS };

/* create NAME SCOPE DAYS | list | revoke NAME; what is not needed is "". Days "": for ever. INVALID for anything
 * else. What changes is written down (audit) before and after it is tried. The secret of a new token, or the list, is
 * appended to `out`. */
enum status tokens_do(struct storage *storage, const char *const *words, size_t count, struct buf *out,
                      struct error *err);

#endif
