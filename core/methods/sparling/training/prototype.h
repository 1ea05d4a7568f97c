/* New weights for a channel whose name g does not read. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PROTOTYPE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PROTOTYPE_H

#include "core/base/error.h"

struct method_run;

/* Searches the training samples for weights with which the channel of `name` begins to predict the name, and sets them.
 * Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status prototype_search(struct method_run *run, int name, struct error *err);

#endif
