/* People whom a proxy in front of the daemon has signed in: it names them in headers. The headers count only on
 * connections from a listed address; on all others, and in X-Forwarded-For, anybody can write anything. */
#ifndef MOTIF_SERVER_SIGNIN_PROXY_H
#define MOTIF_SERVER_SIGNIN_PROXY_H

#include "core/base/error.h"
#include "server/http/auth.h"
#include "server/http/guard.h"
#include "server/signin/claims.h"

struct proxy_rules {
    const char *trusted;                                 /* addresses of proxies, separated by commas; "": none */
    const char *user_header, *team_header, *role_header; /* names of headers; "": not used */
    struct claims_rules claims;                          /* only `teams` and `roles` */
};

/* Whether a text is a list of numeric addresses. */
bool proxy_addresses_sound(const char *list);

/* Finds the caller of a request whose connection comes from `peer`. Leaves `caller` unchanged if the peer is not
 * listed or the request names no user. */
void proxy_identify(const struct proxy_rules *rules, const char *peer, const struct guard_request *request,
                    struct auth_caller *caller);

#endif
