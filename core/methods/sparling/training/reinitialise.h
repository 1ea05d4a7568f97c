/* Reinitialises channels that do not lower the loss. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_REINITIALISE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_REINITIALISE_H

#include <stdbool.h>

#include "core/base/error.h"

struct method_run;

enum { REINITIALISED_CHANNELS = 1024 };
/* What the run knows about how useful each channel is (reinitialise.c). */
struct reinitialisation {
    int64_t count; /* number of channels reinitialised so far */
    int64_t
        worthless[REINITIALISED_CHANNELS]; /* 1: at the last check, the loss was hardly higher without the channel */
    int64_t rests[REINITIALISED_CHANNELS]; /* sample count from which the channel may be reinitialised again */
};

/* Measures by how much each channel lowers the loss, and reinitialises the worst channel if it was worthless at this
 * check and the one before. */
enum status run_reinitialise(struct method_run *run, struct error *err);
/* Whether a channel was worthless at the last check, or was reinitialised such a short time ago that it is left alone.
 */
bool run_spare(const struct method_run *run);

#endif
