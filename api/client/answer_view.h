/* The answers of any query as text for people. */
#ifndef MOTIF_API_CLIENT_ANSWER_VIEW_H
#define MOTIF_API_CLIENT_ANSWER_VIEW_H

#include "api/client/ctl.h"

/* Prints each member of each answer on its own line. Leaves out members without a value. */
void answers_view(struct ctl *ctl, const cJSON *document);

#endif
