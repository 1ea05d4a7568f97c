/* Goes back to an earlier stage that was clearly better. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_RESTORE_STAGE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_RESTORE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"

struct method_run;
struct snapshot;

/* The best stage before the last density (restore_stage.c). Checkpoints contain it. */
struct kept {
    double accuracy, density; /* accuracy and density of the best stage; 0: no stage has ended */
    int64_t restored;         /* 1: the run has gone back to the best stage */
};

/* Notes the accuracy of a stage that ends before the last density. */
void restore_note_stage(struct method_run *run);
/* Returns whether the best accuracy of an earlier stage was clearly higher than the accuracy at the last density. */
bool restore_is_better(const struct method_run *run);
/* Reads the weights of the best earlier stage from its checkpoint, and sets the run's last density to that of this
 * stage. Errors are those of reading checkpoints. */
enum status restore_stage(struct method_run *run, struct error *err);
/* Sets the last density after a checkpoint was loaded. */
void restore_follow(struct method_run *run);
/* Returns whether the entries "kept.*" that were read from a checkpoint have possible values. */
bool restore_sound(const struct method_run *run);
/* Declares the state as entries "kept.*", if the run ends by itself. */
enum status restore_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
