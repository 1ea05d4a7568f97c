/* Adds channels to names in the first phase (channels_per_name). */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_GROW_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_GROW_H

#include <stdbool.h>

#include "core/base/error.h"

struct method_run;

/* How far a name is with additional channels; checkpoints store these values.
 * OPEN: a channel with evidence for the name may be added; FOR: such a channel is on trial; AGAINST_OPEN: no further
 * channel for the name helps, and one with evidence against it may be added; AGAINST: such a channel is on trial. */
enum presence_growth { GROWTH_OPEN, GROWTH_FOR, GROWTH_AGAINST_OPEN, GROWTH_AGAINST, GROWTH_ENDED };

/* Called after a validation of the first phase that does not end it: judges the channels on trial, and adds channels to
 * names that g no longer reads better. Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status grow_names(struct method_run *run, struct error *err);
/* Returns whether a channel is on trial, so that the phase must not end yet. */
bool grow_on_trial(const struct method_run *run);

#endif
