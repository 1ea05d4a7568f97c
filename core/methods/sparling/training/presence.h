/* The presence objective: channel k predicts whether a label contains name k. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PRESENCE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/real.h"
#include "core/base/snapshot.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/training/plan.h"

struct batch;
struct method_run;
struct snapshot;
struct tensor;
struct validation_outcome;

/* The presence objective (presence.c) and the phase in which g trains alone (motif_phase.c). Checkpoints contain the
 * members from `flat` to `names_table`. */
struct presence_phase {
    int names;      /* number of names that have a channel; 0: the run has no presence objective */
    int channels;   /* number of channels of names: `names`, or a multiple with channels_per_name. Channel c is one of
                       name c % names */
    bool *occurs;   /* [batch][names] whether the label of a sample contains a name, for the batch in progress */
    int counted;    /* the name that stands for all counts above 0; -1: labels are no counts */
    int32_t *tally; /* [batch][names] how often the label of a sample contains a name (label_counts.c) */
    real *offset;   /* [names] for the count objective: logit of a motif at a position whose value is 0 */
    bool exact;     /* whether labels state how often a name occurs, and not only whether it occurs */
    real *weight;   /* [names] weight of the samples whose label contains the name */
    double *share;  /* [2][motif channels] density of each channel as a multiple of the common density: [0]: from the
                       frequencies of names in labels; [1]: the values of [0] times PRESENCE_FACTOR */
    int64_t flat;   /* number of validations of the first phase since the loss last fell */
    int64_t ended_updates; /* number of updates at the end of the first phase */
    int64_t ended_samples; /* samples at the end of the first phase, where the schedule of the learning rate begins */
    int64_t turns; /* whether half of the training samples are read from the other strand: enum presence_turns */
    double best;   /* lowest presence loss of a validation; infinite before the first */
    /* [PRESENCE_COLUMNS][channels] what validations have measured for each name, or for each channel of a name */
    double *names_table;
    real *scale;       /* [names] weights of names in the first phase, for the update in progress */
    real *tally_scale; /* [names] weights of names in the count objective: 0 for names with several channels */
};

/* TURNS_OPEN: validations still have to show whether g reads names equally well on the other strand. */
enum presence_turns { TURNS_OPEN, TURNS_YES, TURNS_NO };

/* Columns of presence_phase.names_table. */
enum presence_column {
    PRESENCE_LOSS,   /* sum of the losses over the samples of the validation in progress */
    PRESENCE_WITH,   /* number of samples of the validation in progress whose label contains the name */
    PRESENCE_LEVEL,  /* loss of the last validation, divided by that of the best constant answer; 1 before the first */
    PRESENCE_BEST,   /* lowest level so far */
    PRESENCE_ACTIVE, /* of channels: number of samples of the validation in progress in which the channel is active */
    PRESENCE_WANTED, /* of channels: number of samples of the validation in progress in which the channel should be
                        active: those with the name or, if the name has several channels, those in which the objective
                        sees the channel's motif */
    PRESENCE_FACTOR, /* of channels: factor on the channel's density, so that the channel is active in as many samples
                        as it should be */
    PRESENCE_TURNED, /* as PRESENCE_LOSS, with the samples read from the other strand */
    PRESENCE_STILL,  /* number of validations since the level fell, or since the channel got new weights */
    PRESENCE_GROWTH, /* enum presence_growth (grow.c) */
    PRESENCE_BEFORE, /* level when the channel on trial was added */
    PRESENCE_COLUMNS
};

/* Returns an element of the table of names. */
static inline double *presence_cell(const struct presence_phase *p, enum presence_column column, int index)
{
    return p->names_table + (ptrdiff_t)column * p->channels + index;
}

/* presence_open() allocates the tables of the objective, and reads the frequencies of names if the configuration needs
 * them; presence_close() frees the tables. Error: STATUS_NO_MEMORY. */
enum status presence_open(struct method_run *run, struct error *err);
void presence_close(struct method_run *run);
/* Sets the members of struct presence_phase to their values before the first update, and sets the densities of the
 * channels of run->network. */
void presence_begin(struct method_run *run);
/* The presence loss of a batch. scores: those of network_motifs_extras(). NULL after a failure. */
struct tensor *presence_loss(struct method_run *run, const struct batch *batch, struct tensor *scores);
/* In a validation: adds the losses of a batch to the sums of the names, and counts the samples in which the channel of
 * each name is active. The batch is that of the last presence_loss(); motifs: the motif map of the batch. */
void presence_count(struct method_run *run, const struct batch *batch, struct tensor *scores,
                    const struct tensor *motifs);
/* presence_turning() returns whether a validation also reads its samples as reverse complements, that is, from the
 * other strand. presence_count_turned() adds the losses of such a batch. */
bool presence_turning(const struct method_run *run);
void presence_count_turned(struct method_run *run, const struct batch *batch, struct tensor *scores);
/* Whether a channel is kept for a name that does not use it (channels_per_name). */
bool presence_spare(const struct method_run *run, int channel);
/* Sets the densities of the channels of run->network. */
void presence_densities(struct method_run *run);
/* Forgets the losses added so far. */
void presence_clear(struct method_run *run);
/* Called after a validation: publishes its presence loss and sets the members own_* of *v. */
void presence_measure(struct method_run *run, struct validation_outcome *v);
/* Gives new weights to the channel of each name that g has not read for some time (prototype_search()). Errors:
 * STATUS_NO_MEMORY, and those of the computation. */
enum status presence_search(struct method_run *run, struct error *err);
/* Returns whether the entries "presence.*" that were read from a checkpoint have possible values. */
bool presence_sound(const struct method_run *run);
/* Declares the state as entries "presence.*", if the run has the objective. */
enum status presence_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
