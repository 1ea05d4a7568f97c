/* The phase in which g trains alone. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_MOTIF_PHASE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_MOTIF_PHASE_H

#include "core/base/snapshot.h"
#include "core/methods/sparling/training/plan.h"

struct method_run;
struct snapshot;
struct validation_outcome;

/* Decides after a validation whether the phase in which g trains alone ends. */
enum status motif_phase_validated(struct method_run *run, struct validation_outcome *v, struct error *err);
/* Declares the state of this phase as entries "presence.*", if g has an objective of its own. */
enum status motif_phase_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
