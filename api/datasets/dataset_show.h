/* The document about one data set. */
#ifndef MOTIF_API_DATASETS_DATASET_SHOW_H
#define MOTIF_API_DATASETS_DATASET_SHOW_H

#include "api/http/exchange.h"

/* Responds with the document about a data set and this HTTP status, or with an error. */
void dataset_respond(struct exchange *x, int status, const char *name);
/* Responds with 404: the data set does not exist. The detail suggests the most similar name of an upload, if one is
 * similar, and ends with `hint`, which is empty or begins with a space. */
void dataset_respond_missing(struct exchange *x, const char *name, const char *hint);

#endif
