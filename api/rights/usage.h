/* What the caller, and for managers the team, uses. */
#ifndef MOTIF_API_RIGHTS_USAGE_H
#define MOTIF_API_RIGHTS_USAGE_H

#include "api/http/route.h"

extern const struct config_field usage_query[];
extern const struct api_answer usage_answers[];

/* GET /v1/usage. */
void usage_show(struct exchange *x);

#endif
