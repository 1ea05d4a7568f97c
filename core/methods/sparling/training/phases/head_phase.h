/* The phase in which only the head trains. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_HEAD_PHASE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_HEAD_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/training/map_cache.h"

struct batch;
struct method_run;
struct snapshot;
struct tensor;

/* The phase in which only the head trains (head_phase.c). Checkpoints contain `from` and `to`. */
struct reading {
    /* sample counts at which the training of the head alone begins and ends; 0: this training has not begun */
    int64_t from, to;
    struct map_cache trained, validated; /* maps of training and of validation samples; closed until needed */
};

/* Returns the sample count at which the training of g must end. */
int64_t head_phase_limit(const struct method_run *run);
/* Sets the phase to its state before it begins. */
void head_phase_clear(struct method_run *run);
/* Frees the maps that the last part keeps. They are not saved, so g computes them again after a resume. */
void head_phase_drop(struct method_run *run);
/* Returns whether the run is in this phase. */
bool head_phase_now(const struct method_run *run);
/* Sets whether the maps of run->network are limited and use matrices: in training, they do so only in the last part. */
void head_phase_follow(struct method_run *run);
/* Returns the share of the whole training that is done. before: the done share of the training before the last part. */
double head_phase_part(const struct method_run *run, double before);
/* Returns the index of the first sample of a training batch. first: number of training samples before this batch.
 * Usually the two are equal. With reading_inputs, the last part reads the same samples in turn, so the index is smaller
 * from their second turn on. */
int64_t head_phase_first(const struct method_run *run, int64_t first);
/* Computes the motif map of a batch in the same way as for a client, without gradients, or finds it in a cache. Returns
 * NULL after a failure. */
struct tensor *head_phase_motifs(struct method_run *run, const struct batch *batch);
/* Returns whether the entries "reading.*" that were read from a checkpoint have possible values. */
bool head_phase_sound(const struct method_run *run);
/* Declares the state as entries "reading.*", if the configuration has reading_samples. */
enum status head_phase_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
