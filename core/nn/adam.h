/* Adam (Kingma and Ba, ICLR 2015) with bias correction and optional clipping of the global gradient norm. One thread at
 * a time may use an optimiser. */
#ifndef MOTIF_CORE_NN_ADAM_H
#define MOTIF_CORE_NN_ADAM_H

#include "core/nn/params.h"

struct adam_config {
    double beta1, beta2, epsilon; /* PyTorch's defaults: 0.9, 0.999, 1e-8 */
    double clip_norm;             /* upper limit of the global gradient norm; 0: no clipping */
    /* Decoupled weight decay (Loshchilov and Hutter, ICLR 2019): before an update, arrays with two or more dimensions
     * are multiplied by 1 - learning_rate * decay. Biases, gains and other vectors keep their size. 0: none. */
    double decay;
};
#define ADAM_DEFAULT ((struct adam_config){0.9, 0.999, 1e-8, 0.0, 0.0})

struct adam; /* first and second moments of every trained array, and the number of updates */

/* Creates an optimiser of `params`, which must be sealed with gradients and outlive it. STATUS_NO_MEMORY.
 * adam_destroy() accepts NULL. */
enum status adam_create(struct params *params, const struct adam_config *config, struct adam **adam, struct error *err);
void adam_destroy(struct adam *adam);

/* Updates every array that got a gradient in this step and is not frozen, on the exec's thread pool. *grad_norm (may be
 * NULL) is the global gradient norm before clipping. With grad_norm or clipping, an additional pass computes the norm;
 * if it is not finite, nothing is updated and the result is STATUS_NUMERIC. */
enum status adam_step(struct adam *adam, struct exec *exec, double learning_rate, double *grad_norm, struct error *err);

/* Copies moments and number of updates. `from` must be the optimiser of arrays with the same shapes in the same
 * order. */
void adam_copy(struct adam *to, const struct adam *from);
/* Writes the effective learning rate of each element of `weight` in the last update, learning_rate / (sqrt(v / (1 -
 * beta2^t)) + epsilon), to scales [weight->count]. A proximal step after the update multiplies its penalty by this
 * rate. */
void adam_scales(const struct adam *adam, const struct weight *weight, double learning_rate, real *scales);

/* Adds the moments as SNAPSHOT_OPTIMISER entries "adam.m.NAME" and "adam.v.NAME", and the number of updates. Call it
 * after all SNAPSHOT_WEIGHT entries and before the SNAPSHOT_STATE entries. Errors: those of snapshot_add(). */
enum status adam_snapshot(struct adam *adam, struct snapshot *snapshot, struct error *err);
/* Like adam_snapshot(), but the number of updates is named PREFIXadam.updates, for snapshots with several optimisers.
 */
enum status adam_snapshot_as(struct adam *adam, const char *prefix, struct snapshot *snapshot, struct error *err);

#endif
