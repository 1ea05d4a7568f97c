/* Adam (Kingma and Ba 2015) with bias correction, optionally clipping the global gradient norm. */
#ifndef MOTIF_CORE_NN_ADAM_H
#define MOTIF_CORE_NN_ADAM_H

#include "core/nn/params.h"

struct adam_config {
    double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
    double clip_norm;             /* largest global gradient norm; 0: no clipping */
};
#define ADAM_DEFAULT ((struct adam_config){0.9, 0.999, 1e-8, 0.0})

struct adam; /* first and second moments of every trained array; number of updates */

/* `params` is sealed with gradients and outlives it. */
enum status adam_create(struct params *params, const struct adam_config *config, struct adam **adam, struct error *err);
void adam_destroy(struct adam *adam);

/* One update of every array that is not frozen, on the exec's pool. grad_norm (may be NULL) gets the
 * norm before clipping; asking for it, or clipping, costs one more pass over the gradients, and
 * STATUS_NUMERIC comes back, nothing updated, when it is not finite. */
enum status adam_step(struct adam *adam, struct exec *exec, double learning_rate, double *grad_norm, struct error *err);
int64_t adam_updates(const struct adam *adam);

/* Moments and count of `from`, an optimiser of arrays of the same shapes in the same order. */
void adam_copy(struct adam *to, const struct adam *from);
/* The step that the last update took in element i of `weight` for each unit of a constant gradient: learning_rate /
 * (sqrt(v / (1 - beta2^t)) + epsilon), written for all elements. What a proximal step after it shrinks by. */
void adam_scales(const struct adam *adam, const struct weight *weight, double learning_rate, real *scales);

/* Moments as SNAPSHOT_OPTIMISER entries "adam.m.NAME", "adam.v.NAME", and the count of updates: call
 * after every SNAPSHOT_WEIGHT entry and before any SNAPSHOT_STATE entry of the snapshot. */
enum status adam_snapshot(struct adam *adam, struct snapshot *snapshot, struct error *err);
/* The count as PREFIXadam.updates: where a snapshot has several optimisers, whose arrays have names of their own. */
enum status adam_snapshot_as(struct adam *adam, const char *prefix, struct snapshot *snapshot, struct error *err);

#endif
