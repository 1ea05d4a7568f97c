/* Pictures and tables of a finished evaluation. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_ARTIFACTS_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_ARTIFACTS_H

#include "core/base/error.h"

struct method_run;

/* Publishes pictures and tables of a finished evaluation. What cannot be made becomes a finding. */
void run_artifacts(struct method_run *run);
enum status run_confusion(struct method_run *run, struct error *err); /* confusion.c */

#endif
