/* Several starts of a run, of which the best goes on. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_COMPARE_STARTS_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_COMPARE_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"

struct method_run;
struct snapshot;

/* Starts that are compared (compare_starts.c). Saved in checkpoints. */
struct starts {
    int64_t count;            /* number of starts to compare; 1: there is only one, or the comparison has ended */
    int64_t now, best;        /* now: index of the start in progress; best: index of the best of the earlier starts */
    int64_t samples, updates; /* numbers of samples and updates of the run when the start in progress began */
    /* lowest presence loss of a validation; lowest: in the best start; loss: in the start in progress */
    double lowest, loss;
};

void starts_begin(struct method_run *run);
/* Returns whether the entries "starts.*" that were read from a checkpoint have possible values. */
bool starts_sound(const struct method_run *run);
/* Declares the state as entries "starts.*", if several starts are compared. */
enum status starts_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
