/* What the caller, and for managers the team, uses. */
#ifndef MOTIF_API_RIGHTS_USAGE_H
#define MOTIF_API_RIGHTS_USAGE_H

struct exchange;

/* GET /v1/usage. */
void usage_show(struct exchange *x);

#endif
