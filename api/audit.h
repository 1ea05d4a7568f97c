/* The audit log: it records every request that can change something, with the caller, before and after the handler
 * runs. */
#ifndef MOTIF_API_AUDIT_H
#define MOTIF_API_AUDIT_H

#include <stdbool.h>

struct exchange;

/* Records the request if its route can change something. *noted is then true, and audit_end() must follow. If the
 * request cannot be recorded, it must not change anything: the function responds and returns false. */
bool audit_begin(struct exchange *x, bool *noted);
/* Adds the status of the response and the job that the request created. */
void audit_end(struct exchange *x);
/* Handler of GET /v1/audit. */
void audit_list(struct exchange *x);

#endif
