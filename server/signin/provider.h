/* An issuer of OpenID Connect: a thread fetches its configuration (OpenID Connect Discovery) and its keys, and tokens
 * are verified with them.
 *
 * No request waits for the issuer, and clients cannot make the daemon ask it often: the thread fetches at the start,
 * every hour and, when a token names an unknown key, at most once in `refetch_seconds`. Only https:// is fetched,
 * unless the issuer is on loopback. After a failure, the keys of the last success stay valid. */
#ifndef MOTIF_SERVER_SIGNIN_PROVIDER_H
#define MOTIF_SERVER_SIGNIN_PROVIDER_H

#include "core/base/error.h"
#include "server/process/journal.h"
#include "server/signin/claims.h"
#include "server/signin/fetch.h"

struct provider;

/* The texts are borrowed and must outlive the provider. */
struct provider_options {
    const char *issuer;
    const char *client;     /* id of the client that signs people in; "": nobody signs in through the daemon */
    const char *audiences;  /* accepted values of `aud` of bearer tokens; "": the client */
    const char *algorithms; /* accepted algorithms (jwt.h) */
    int64_t skew;           /* seconds by which the clocks may differ */
    int64_t refetch_seconds;
    struct claims_rules claims;
    struct journal *journal;
};

/* Starts the thread. STATUS_INVALID: an option is wrong. */
enum status provider_start(const struct provider_options *options, struct provider **provider, struct error *err);
void provider_stop(struct provider *provider); /* ends the thread and frees the provider; NULL is fine */

/* Addresses of the issuer for the sign-in of the page. */
struct provider_endpoints {
    char authorization[FETCH_URL], token[FETCH_URL];
};
/* False: they were never fetched, or the issuer has none that may be used. */
bool provider_endpoints_read(struct provider *provider, struct provider_endpoints *out);

/* Verifies an ID token of a sign-in, whose audience is the client, and finds the caller. Returns NULL, or why not. */
const char *provider_verify(struct provider *provider, const char *token, const char *audience, const char *nonce,
                            struct auth_caller *caller);

/* Finds the caller that a bearer token names. Returns whether it could; otherwise caller->fault says why not. Any
 * thread. */
bool provider_identify(void *provider, const char *token, struct auth_caller *caller);

#endif
