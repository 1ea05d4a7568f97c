/* The audit log: every request that can change something, with its caller, before and after its handler runs. */
#ifndef MOTIF_API_AUDIT_H
#define MOTIF_API_AUDIT_H

#include <stdbool.h>

struct exchange;

/* Records the request when its route can change something; *noted is then true and audit_end() must follow. A change
 * that cannot be recorded must not happen: after such a failure it returns false and has responded. */
bool audit_begin(struct exchange *x, bool *noted);
/* Adds the status of the response and the job that the request created. */
void audit_end(struct exchange *x);
/* Handler of GET /v1/audit. */
void audit_list(struct exchange *x);

#endif
