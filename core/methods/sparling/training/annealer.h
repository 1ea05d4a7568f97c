/* Annealing of the density: Algorithm 1 of the SPARLING paper (section 4.2), with a checkpoint before each decrease.
 *
 * At every validation, the target accuracy falls in proportion to the number of samples since the last validation. When
 * the accuracy exceeds the target, the stage ends and `pending` is set. The weights, statistics and thresholds of that
 * moment are the model of this density, so the trainer saves them before annealer_advance() multiplies the density. Two
 * optional rules are not in the paper and off by default. The first ends a stage when the validation loss no longer
 * falls. The second lets such a stage wait if the loss is higher than at the density before. It waits as long as a
 * channel is spare: the channel does not lower the loss, or got new weights a short time ago. A caller uses an annealer
 * on one thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_ANNEALER_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_ANNEALER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/snapshot.h"

struct annealer_rule {
    double factor;        /* factor by which the density is multiplied after a stage */
    double density_final; /* no stage starts below this density */
    /* target_min, target_max: limits of the target accuracy; decay: decrease of the target for each sample */
    double target_min, target_max, decay;
    int64_t spacing; /* minimum number of samples between two validations; the annealer ignores closer ones */
    int64_t plateau_validations; /* 0: the plateau rule is off */
    double plateau_gain, plateau_density;
    int64_t wait; /* largest number of validations by which a stage waits for a spare channel; 0: no stage waits */
};

/* The state, which checkpoints contain. */
struct annealer {
    double density, target;
    int64_t updated;  /* samples at the last update */
    int64_t pending;  /* 1: the stage has ended, the density is not multiplied yet */
    int64_t stage;    /* stages ended */
    double best_loss; /* lowest loss of this stage; infinite before its first validation */
    int64_t flat;     /* validations without a better loss */
    double before;    /* validation loss at the end of the stage before; infinite in the first stage */
    int64_t waited;   /* validations at which this stage waited for a spare channel instead of ending */
};

/* Sets the state at the start of training. samples: number of samples seen so far. */
void annealer_init(struct annealer *annealer, double density_start, double target_start, int64_t samples);

/* Processes one validation after `samples` samples. accuracy: share of exact labels, loss: validation loss. spare:
 * whether a channel is worthless, or got new weights a short time ago. *ended: whether the stage has ended, in which
 * case `pending` is set. STATUS_INTERNAL when `samples` decreases. */
enum status annealer_update(struct annealer *annealer, const struct annealer_rule *rule, int64_t samples,
                            double accuracy, double loss, bool spare, bool *ended, struct error *err);

/* Whether this density is the lowest one: the next would be below density_final. */
bool annealer_at_least(const struct annealer *annealer, const struct annealer_rule *rule);

/* Whether the pending stage was the last. */
bool annealer_last(const struct annealer *annealer, const struct annealer_rule *rule);

/* Starts the next stage, if one is pending: multiplies the density. */
void annealer_advance(struct annealer *annealer, const struct annealer_rule *rule);

/* Declares the state as entries "annealer.*" of a snapshot. */
enum status annealer_snapshot(struct annealer *annealer, struct snapshot *snapshot, struct error *err);

#endif
