/* Keeps the weights of the best validation of a phase, with which the next phase begins if the last weights are clearly
 * worse (select_by_validation).
 *
 * Without it, a phase ends with its last weights. With few samples, these are often not the best: a model first learns
 * what all samples have in common, and then learns the training samples by heart. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_SELECTION_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_SELECTION_H

#include "core/base/real.h"
#include "core/base/snapshot.h"

struct method_run;
struct validation_outcome;

/* Saved in checkpoints. */
struct selection {
    real *weights;       /* all arrays of the best validation of this phase; contents undefined if samples is 0 */
    int64_t reals;       /* size of `weights` */
    int64_t samples;     /* sample count of that validation; 0: none yet */
    int64_t flat;        /* number of validations since then */
    double recent, best; /* smoothed error of the last validation, and of the best one; smaller is better */
};

/* Allocates memory for a run with the field select_by_validation. STATUS_NO_MEMORY. selection_close() frees it. */
enum status selection_open(struct method_run *run, struct error *err);
void selection_close(struct method_run *run);
/* A phase begins: no validation has been seen. */
void selection_begin(struct method_run *run);
/* A validation has ended: keeps the weights if they are the best so far. */
void selection_validated(struct method_run *run, const struct validation_outcome *v);
/* A phase ends: restores the best weights, if the last ones are worse by more than chance explains. */
void selection_end(struct method_run *run);
bool selection_sound(const struct method_run *run);
/* Declares the state as entries "selection.*". */
enum status selection_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
