/* Handlers of /v1/studies and of the routes below it. routes.c has one row for each handler; each handler sends a
 * response. */
#ifndef MOTIF_API_STUDIES_STUDIES_H
#define MOTIF_API_STUDIES_STUDIES_H

#include "api/http/exchange.h"

void studies_submit(struct exchange *x);
void studies_list(struct exchange *x);
void studies_show(struct exchange *x);
void studies_chart(struct exchange *x);
void studies_cancel(struct exchange *x);
void studies_pause(struct exchange *x);
void studies_resume(struct exchange *x);
void studies_patch(struct exchange *x);
void studies_delete(struct exchange *x);

/* If the path names a study by its name or as `latest`, replaces the path parameter by the id of the study. False: the
 * name is ambiguous, and the function has responded. */
bool study_name_resolve(struct exchange *x);

#endif
