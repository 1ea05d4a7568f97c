/* The sparse layer: a moving threshold t enforces the density of the motif map (SPARLING §4.1, §J).
 *
 * A training step moves t to a quantile of z and then applies it:
 *
 * - k = max(1, trunc(N (1 - density))), in double; N: number of values of a channel, or of all channels together;
 * - q = the k-th smallest of these N values;
 * - t <- momentum t + (1 - momentum) q;
 * - y = max(0, z - t) with the new t.
 *
 * No gradient flows through q or t. Evaluation does not change t.
 *
 * In addition to the paper, channels may have different densities (sparse_set_shares()), and a reinitialised channel
 * may be denser than the others for some time (sparse_reinitialise()). One training exec, or any number of evaluating
 * ones, may use a layer at a time. */
#ifndef MOTIF_CORE_NN_SPARSE_H
#define MOTIF_CORE_NN_SPARSE_H

#include "core/autodiff/ops.h"
#include "core/nn/params.h"

enum sparse_mode {
    SPARSE_PER_CHANNEL, /* MT in the paper: a threshold for each channel */
    SPARSE_SINGLE,      /* ST in the paper: one threshold, from the values of all channels */
    SPARSE_NONE,        /* pass-through: no threshold, no ReLU */
    SPARSE_L1           /* ReLU without threshold; the caller adds the mean of the map to the loss */
};

struct sparse_config {
    enum sparse_mode mode;
    int channels;
    double momentum;   /* momentum of the thresholds, usually 0.9 */
    double accumulate; /* 0: update in every step. Otherwise collect the values of several batches, and update when
                        * (collected values for each threshold) * density reaches this value (usually 10). */
    int64_t elements;  /* 0: not used. Else used instead of `accumulate`: collect until each threshold has this many
                        * values */
    bool interpolate;  /* interpolate linearly between order statistics, instead of using the k-th value */
};

struct sparse; /* the thresholds (state arrays of `params`) and the collected values */

/* Declares the thresholds in `params` as NAME.threshold [channels] (with SPARSE_SINGLE all are equal).
 * STATUS_NO_MEMORY. sparse_destroy() accepts NULL. */
enum status sparse_create(struct sparse **sparse, struct params *params, const char *name,
                          const struct sparse_config *config, struct error *err);
void sparse_destroy(struct sparse *sparse);

/* Applies the sparse layer. z: the normalised motif map; density in (0, 1]. A training step first moves the thresholds
 * t. raw: returns z - t without ReLU, for the single-motif evaluation. NULL after a failure (exec.error). */
struct tensor *sparse_forward(struct exec *e, struct sparse *sparse, struct tensor *z, double density, bool raw);

/* Multiplies the density of each channel c by shares[c] > 0. The mean of the shares should be 1, so that the density of
 * the whole map stays as it is. A configuration sets them; they are not saved. Only for SPARSE_PER_CHANNEL without
 * `accumulate` and `elements`. */
void sparse_set_shares(struct sparse *sparse, const double *shares);
/* Restarts the threshold of a dead channel: no position is active until the next update, which sets the threshold to
 * the quantile. The channel's density is first `times` (>= 1) that of the others; the factor falls to 1
 * geometrically over `updates` updates. Only for SPARSE_PER_CHANNEL without `accumulate`. */
void sparse_reinitialise(struct sparse *sparse, int channel, double times, int64_t updates);
const real *sparse_thresholds(const struct sparse *sparse); /* [channels]; NULL in modes without a threshold */
/* Returns the thresholds so that the caller can change them between two steps. */
real *sparse_edit_thresholds(struct sparse *sparse);
/* Adds the values collected since the last update and the factors of reinitialised channels as SNAPSHOT_STATE entries
 * NAME.* of fixed shape. The thresholds themselves belong to `params`. Errors: those of snapshot_add(). */
enum status sparse_snapshot(struct sparse *sparse, struct snapshot *snapshot, struct error *err);

#endif
