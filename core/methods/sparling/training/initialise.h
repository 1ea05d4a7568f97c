/* Initial weights, optimiser and annealing of a run. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_INITIALISE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_INITIALISE_H

#include "core/base/error.h"

/* Motifs as filters of the first convolution. */

struct method_run;

void filters_hold(struct method_run *run);

struct method_run;

/* Stores the scale of the domain's inputs in the network, after the start and after weights of another job were read.
 */
void run_scale_inputs(struct method_run *run);
/* Sets weights, optimiser and annealing to their state at the beginning of the start with index starts.now. Keeps the
 * counts of samples and updates. Errors: STATUS_NO_MEMORY, and those of the domain. */
enum status run_initialise(struct method_run *run, struct error *err);

#endif
