/* The audit log: every request that can change something, before and after its handler runs; refusals; and sign-ins.
 *
 * Anybody can provoke refusals, and the log keeps a number of entries, so further refusals of the same caller count as
 * one for REFUSAL_MS: a flood cannot drive the changes out of the log. /metrics counts all answers. */
#ifndef MOTIF_API_AUDIT_H
#define MOTIF_API_AUDIT_H

#include "core/base/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct exchange;

/* Keeps the audit log from repeating itself: which callers were refused, and which signed in, a short time ago. The
 * hash of a caller selects its slot. */
#define AUDIT_SLOTS 128
struct audit_recent {
    _Atomic int64_t refused_until[AUDIT_SLOTS]; /* monotonic ms */
    _Atomic uint64_t signed_in[AUDIT_SLOTS];    /* hash of the caller */
    _Atomic int64_t signed_until[AUDIT_SLOTS];
};

/* Records the request if its route can change something, and sets x->noted; audit_end() must then follow. If the
 * request cannot be recorded, it must not change anything: the function responds and returns false. */
bool audit_begin(struct exchange *x);
/* Adds the status of the response and the job that the request created. */
void audit_end(struct exchange *x);
/* Records a response with status 401 or 403 to a request that audit_begin() did not record. */
void audit_refusal(struct exchange *x);
/* Records that a person used a token of an issuer, once an hour for each address. */
void audit_signed_token(struct exchange *x);
/* Adds an entry that belongs to no changing request. event: "sign-in" or "sign-out"; where: the way, such as "page". */
void audit_event(struct exchange *x, const char *who, const char *event, const char *where);
extern const struct config_field audit_query[]; /* parameters of the route */
/* Handler of GET /v1/audit. */
void audit_list(struct exchange *x);

#endif
