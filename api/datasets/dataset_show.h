/* The document about one data set. */
#ifndef MOTIF_API_DATASETS_DATASET_SHOW_H
#define MOTIF_API_DATASETS_DATASET_SHOW_H

#include "api/http/exchange.h"

/* Responds with the document about a data set and this HTTP status, or with an error. */
void dataset_respond(struct exchange *x, int status, const char *name);

#endif
