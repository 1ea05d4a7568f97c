/* One optimiser update, and one piece of a validation. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_TRAIN_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct method_run;

/* Does one optimiser update on the next batch. STATUS_NUMERIC when a loss or gradient is not finite. */
enum status run_update(struct method_run *run, struct error *err);
/* Computes g, as a training step does but without an update of weights, on the training batch that begins at sample
 * `first`. */
enum status run_observe(struct method_run *run, int64_t first, struct error *err);
/* Does one piece of a validation. *done: it was the last piece. STATUS_NUMERIC when the loss is not finite. */
enum status run_validate(struct method_run *run, bool *done, struct error *err);

/* Learning rate of the next update as a share of the full learning rate, without the warm-up. */
double run_rate_share(const struct method_run *run);

#endif
