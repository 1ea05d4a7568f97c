/* Motifs as filters of the first convolution. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_FILTERS_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_FILTERS_H

#include "core/base/error.h"

struct method_run;

/* Filters_begin() copies the motifs of motif_start into the filters of a new model; errors are
 * those of motif_start_filters(). filters_hold() sets the gradients of frozen filters to 0. */
enum status filters_begin(struct method_run *run, struct error *err);
void filters_hold(struct method_run *run);

#endif
