/* The phases in which g and the head train together. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_JOINT_PHASE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_JOINT_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"

/* Goes back to an earlier stage that was clearly better. */

struct method_run;
struct snapshot;

/* The best stage before the last density (joint_phase.c). Checkpoints contain it. */
struct kept {
    double accuracy, density; /* accuracy and density of the best stage; 0: no stage has ended */
    int64_t restored;         /* 1: the run has gone back to the best stage */
};

/* Sets the last density after a checkpoint was loaded. */
void restore_follow(struct method_run *run);
/* Returns whether the entries "kept.*" that were read from a checkpoint have possible values. */
bool restore_sound(const struct method_run *run);
/* Declares the state as entries "kept.*", if the run ends by itself. */
enum status restore_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

struct method_run;
struct snapshot;

/* State of the rule that decides when a run ends by itself (joint_phase.c). Checkpoints contain it. */
struct ending {
    double loss, accuracy; /* lowest loss and highest accuracy of the validations at the last density */
    int64_t flat;          /* validations since a better one */
    int64_t from, to;      /* the learning rate falls between these two sample counts; 0: the fall has not begun */
};

void ending_begin(struct method_run *run);
/* Returns whether the entries "ending.*" that were read from a checkpoint have possible values. */
bool ending_sound(const struct method_run *run);
/* Adds the state to a checkpoint as entries "ending.*", if the run ends by itself. */
enum status ending_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
