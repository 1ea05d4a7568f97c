/* The document of a study, and the lookup of the study that a path names. */
#ifndef MOTIF_API_STUDIES_STUDY_DOCUMENT_H
#define MOTIF_API_STUDIES_STUDY_DOCUMENT_H

#include "api/http/exchange.h"
#include "api/studies/study_table.h"
#include "storage/storage.h"

/* Loads the study that the path names. False: there is none, and the function has responded. */
bool exchange_study(struct exchange *x, struct storage_study *study);
/* Writes a study without its jobs and its table, as lists show it. */
void study_item(struct exchange *x, const struct storage_study *study);
/* Responds with the study; with `whole`, also with its jobs and its table. */
void respond_study(struct exchange *x, int status, const char *id, bool whole);
/* Builds the table of a study. each: called for each job, oldest first; NULL: for none. False: the function has
 * responded. */
bool study_table_read(struct exchange *x, const struct storage_study *study, struct study_table *table,
                      void (*each)(struct exchange *x, const struct storage_job *job));

#endif
