/* Handlers of /v1/datasets and /v1/uploads. routes.c has one row for each handler. Each handler sends a response. */
#ifndef MOTIF_API_DATASETS_DATASETS_H
#define MOTIF_API_DATASETS_DATASETS_H

#include "api/http/exchange.h"

void datasets_put(struct exchange *x);
void datasets_list(struct exchange *x);
void datasets_show(struct exchange *x);
void datasets_preview(struct exchange *x);
void datasets_division(struct exchange *x);
void datasets_patch(struct exchange *x);
void datasets_delete(struct exchange *x);
void uploads_show(struct exchange *x);

/* Checks a PUT before its body arrives and opens the upload, which counts towards options.uploads_at_once. After a
 * failure, the function has responded and returns false. */
bool datasets_begin(struct exchange *x, struct api_upload **upload);
/* Closes an upload that datasets_begin() opened. NULL is fine. Any thread. */
void datasets_end(struct api *api, struct api_upload *upload);

#endif
