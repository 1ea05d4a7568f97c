/* The state of a SPARLING run in progress.
 *
 * run.c creates and destroys a run. training/plan.c states the phases of its training, and phases.c carries them out.
 * training/train.c does one update or one piece of a validation, evaluation/evaluate.c one piece of the evaluation.
 * checkpoint.c declares everything that is saved. result.c and evaluation/artifacts.c write the results. A piece of a
 * validation or evaluation has a fixed number of samples on every machine, so results do not depend on speed. */
#ifndef MOTIF_CORE_METHODS_SPARLING_RUN_STATE_H
#define MOTIF_CORE_METHODS_SPARLING_RUN_STATE_H

#include "core/base/arena.h"
#include "core/methods/shared/publish.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/heads/numbers.h"
#include "core/methods/sparling/model/network.h"
#include "core/methods/sparling/training/annealer.h"
#include "core/methods/sparling/training/average.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/compare_starts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/phases/joint_phase.h"
#include "core/methods/sparling/training/plan.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/reinitialise.h"
#include "core/methods/sparling/training/selection.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"

enum { VALIDATION_SEED = -1, TEST_SEED = -2, BINNING_SEED = -3, METRIC_UPDATES = 10 };

struct method_run {
    struct sparling_config config;
    struct open_domain domain;
    struct open_domain single; /* samples with one motif; zeroed if the domain has none */
    struct method_env env;
    struct annealer_rule rule;
    struct plan plan;               /* the phases of the training */
    unsigned char data[HASH_BYTES]; /* hash of the domain's data set; zero if it has none */
    bool direct;                    /* whether the objective is single-motifs */
    const struct head *head;        /* what depends on the kind of target */
    struct network *network;
    struct adam *adam;
    int frozen_filters; /* number of filters of the first convolution that training does not change (initialise.c) */
    struct batch_source *source;
    struct arena arena;
    struct exec exec;
    struct gradients gradients;
    int piece;           /* number of samples in a piece of a validation or evaluation */
    double step_seconds; /* time in seconds after which a step ends with its current piece; 0: after one piece */

    /* The following members are saved in checkpoints, unless a comment says otherwise. */
    unsigned char trained_on[HASH_BYTES];               /* hash of the data that the weights were trained on */
    int64_t at;                                         /* row of the present phase */
    int64_t activity, updates, samples, checkpoint_due; /* activity: enum activity */
    int64_t stage_updates;                              /* number of updates in this stage */
    struct annealer annealer;
    struct reinitialisation reinitialisation;
    struct presence_phase presence;
    struct numbers numbers; /* numbers as targets */
    struct starts starts;
    struct selection selection;
    struct average average;
    struct ending ending;
    struct kept kept;
    struct reading reading;
    struct calibration calibration;
    int64_t reinitialise_due; /* 1: check the channels before the next update; a stage that ends at the last validation
                                 is saved first */
    int64_t validation_position, validation_correct, validation_counted;
    double validation_loss; /* sum of the losses over the targets that validation_counted counts */
    double accuracy, best_accuracy;
    /* sum of the losses, and of the gradient norms, since the last point of the time series of each */
    double loss_sum, norm_sum;
    int64_t loss_count;
    struct evaluation evaluation;
    struct artifact_findings findings;

    /* Not saved: the following members only measure speed. */
    double busy_seconds;
    int64_t busy_samples;
};

static inline const struct phase *plan_now(const struct method_run *run)
{
    return &run->plan.row[run->at];
}

#endif
