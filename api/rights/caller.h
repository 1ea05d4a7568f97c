/* The caller of a request: its role, its relations to rows, and what the table of rights allows it. */
#ifndef MOTIF_API_RIGHTS_CALLER_H
#define MOTIF_API_RIGHTS_CALLER_H

#include "api/http/exchange.h"
#include "api/rights/rights.h"
#include "storage/storage.h"

/* The caller as storage needs it for lists and event streams. */
struct viewer caller_viewer(const struct exchange *x);
/* Whether the caller may read everything, as administrators and everybody on a daemon without tokens may. */
bool caller_sees_all(const struct exchange *x);
/* The caller's role; that of a reader if its scope is no role. */
enum role caller_role(const struct exchange *x);
/* The names of the caller's token and of its team; "": none. */
const char *caller_name(const struct exchange *x);
const char *caller_team(const struct exchange *x);

/* Whether the caller may do something with a row of this owner, team and visibility. */
bool caller_may(const struct exchange *x, const char *owner, const char *team, enum visibility visibility,
                enum action action);

/* Reads a job that the caller may read. NOT_FOUND: there is no such job, or the caller may not read it; the message is
 * the same. */
enum status caller_job(struct exchange *x, const char *id, struct storage_job *job, struct error *err);

/* Responds 403: who may do the action. what: "job 01J...". */
void caller_refuse(struct exchange *x, enum action action, const char *what, const char *owner, const char *team);

#endif
