/* The sign-in of the page: OpenID Connect's authorization code with PKCE (RFC 7636), through the daemon.
 *
 * What the daemon must remember between the two requests of a browser (state, nonce, verifier) is in a cookie,
 * encrypted and authenticated with a key of this process: so a flood of sign-ins that nobody completes costs no memory
 * and pushes no other sign-in out, and an answer of the issuer counts only in the browser that asked for it. */
#ifndef MOTIF_SERVER_SIGNIN_FLOW_H
#define MOTIF_SERVER_SIGNIN_FLOW_H

#include "api/sign_in.h"
#include "server/http/guard.h"
#include "server/signin/provider.h"
#include "server/signin/sessions.h"

struct flow;

/* Everything is borrowed. */
struct flow_options {
    struct provider *provider;
    struct sessions *sessions;
    const char *client, *secret; /* of the daemon at the issuer; secret "": a public client */
    const char *scopes;          /* what the daemon asks for, separated by spaces */
    const char *public_url;      /* address of the page as browsers see it; "": from Host */
    bool tls;
    int64_t session_seconds;
};

enum status flow_create(const struct flow_options *options, struct flow **flow, struct error *err);
void flow_destroy(struct flow *flow); /* NULL is fine */

/* Begins or finishes a sign-in, or signs out. Finishing waits for the issuer, at most ten seconds and for FLOW_AT_ONCE
 * people at the same time. False: sign_in->fault says why not. */
#define FLOW_AT_ONCE 2
bool flow_run(struct flow *flow, struct api_sign_in *sign_in);

/* Finds the caller whose session is in the cookie of a request; leaves `caller` unchanged if there is none. Browsers
 * add cookies to requests that other pages cause, so a request that changes something counts only with the headers
 * Origin, which guard.h has compared with Host, and X-Motif, which other pages cannot add. */
void flow_identify(struct flow *flow, const struct guard_request *request, struct auth_caller *caller);

#endif
