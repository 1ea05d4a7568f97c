/* Annealing of the density: Algorithm 1 of the SPARLING paper (section 4.2), with snapshots before the
 * density is multiplied.
 *
 * At every validation the target accuracy falls with the samples seen; where the accuracy beats it, the
 * stage is over: `pending` is set. Weights, statistics and thresholds of that moment are the model of
 * this density, so the trainer saves them before annealer_advance() multiplies. An optional second rule,
 * not in the paper and off by default, ends a stage when the validation loss no longer falls. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_ANNEALER_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_ANNEALER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/snapshot.h"

struct annealer_rule {
    double factor;                        /* density multiplier of a stage */
    double density_final;                 /* no stage starts below this */
    double target_min, target_max, decay; /* clamp of the target; its fall a sample */
    int64_t spacing;                      /* validations closer than this to the last are ignored */
    int64_t plateau_validations;          /* 0: the plateau rule is off */
    double plateau_gain, plateau_density;
};

/* All of it is saved with the run. */
struct annealer {
    double density, target;
    int64_t updated;  /* samples at the last update */
    int64_t pending;  /* 1: the stage has ended, the density is not multiplied yet */
    int64_t stage;    /* stages ended */
    double best_loss; /* of this stage; infinite before its first validation */
    int64_t flat;     /* validations without a better loss */
};

void annealer_init(struct annealer *annealer, double density_start, double target_start, int64_t samples);

/* One validation at `samples` with its exact-match accuracy and loss. Returns whether the stage ended
 * (`pending` is then set). STATUS_INTERNAL when samples go backwards. */
enum status annealer_update(struct annealer *annealer, const struct annealer_rule *rule, int64_t samples,
                            double accuracy, double loss, bool *ended, struct error *err);

/* Whether there is no lower density: the next would be below density_final. */
bool annealer_at_least(const struct annealer *annealer, const struct annealer_rule *rule);

/* Whether the pending stage was the last. */
bool annealer_last(const struct annealer *annealer, const struct annealer_rule *rule);

/* Multiplies the density if a stage is pending. */
void annealer_advance(struct annealer *annealer, const struct annealer_rule *rule);

/* Declares the state as entries "annealer.*" of a snapshot. */
enum status annealer_snapshot(struct annealer *annealer, struct snapshot *snapshot, struct error *err);

#endif
