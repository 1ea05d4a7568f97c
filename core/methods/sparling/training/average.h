/* A running average of the weights (weight_average), which validations, checkpoints and answers use.
 *
 * At a constant learning rate and with small batches, weights move around a minimum. Their running average lies nearer
 * to it than any single set of weights, so it generalises better and varies less from one validation to the next
 * (Polyak and Juditsky, 1992; Izmailov et al., 2018). Statistics and thresholds are averaged with the weights.
 *
 * A run has two sets of values: those that training changes, and their average. The network contains one of them at a
 * time, and this module the other one. Functions that do not train call average_show() first. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_AVERAGE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_AVERAGE_H

#include "core/base/real.h"
#include "core/base/snapshot.h"

struct method_run;

struct average {
    real *other;     /* all arrays that the network does not contain at present; NULL: weight_average is 0 */
    int64_t reals;   /* size of `other` */
    bool shown;      /* whether the network contains the average; always true in a checkpoint, and not saved */
    int64_t updates; /* number of updates since the average began */
};

/* Begins an average with the weights of a new network. STATUS_NO_MEMORY. average_close() frees it. */
enum status average_open(struct method_run *run, struct error *err);
void average_close(struct method_run *run);
/* Puts the average into the network, or the values that training changes. */
void average_show(struct method_run *run);
void average_hide(struct method_run *run);
/* An update has changed the weights in the network: the average follows. */
void average_update(struct method_run *run);
/* The weights in the network were replaced, or a phase begins: both sets become those of the network. */
void average_restart(struct method_run *run);
bool average_sound(const struct method_run *run);
/* Declares the state as entries "average.*". */
enum status average_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
