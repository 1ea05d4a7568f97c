/* Carries out the plan of a training. */
#ifndef MOTIF_CORE_METHODS_SPARLING_PHASES_H
#define MOTIF_CORE_METHODS_SPARLING_PHASES_H

#include "core/base/error.h"

struct method_run;

/* Sets weights, optimiser, annealing and counts to their state before the first update of config.seed. */
enum status run_begin(struct method_run *run, struct error *err);

#endif
