/* The sparse layer: an activation rate enforced by a moving threshold (SPARLING §4.1, §J).
 *
 * Training: k = max(1, trunc(N (1 - density))) in double; q = the k-th smallest of the N values of a
 * channel (or of all channels together); t <- momentum t + (1 - momentum) q, before it is used on the
 * same batch; then max(0, z - t). No gradient flows through q or t. Evaluation: t stays.
 *
 * Beyond the paper: a channel that begins anew may be denser than the others for a while, sparse_reinitialise(). */
#ifndef MOTIF_CORE_NN_SPARSE_H
#define MOTIF_CORE_NN_SPARSE_H

#include "core/autodiff/ops.h"
#include "core/nn/params.h"

enum sparse_mode {
    SPARSE_PER_CHANNEL, /* MT: a threshold for each channel */
    SPARSE_SINGLE,      /* ST: one for all, from all values together */
    SPARSE_NONE,        /* pass-through: no threshold, no ReLU */
    SPARSE_L1           /* ReLU without threshold; sparse_penalty() is added to the loss */
};

struct sparse_config {
    enum sparse_mode mode;
    int channels;
    double momentum;   /* of t: 0.9 */
    double accumulate; /* 0: update on every batch. Else batches are collected until the count of values
                          behind a threshold times the density reaches this (10) */
    int64_t elements;  /* 0, or in place of `accumulate`: until there are so many values behind a threshold */
    bool interpolate;  /* linear interpolation between order statistics instead of the k-th value */
};

struct sparse; /* thresholds (state of `params`), and what has been collected */

/* Thresholds are declared as NAME.threshold, [channels] (SINGLE: all equal). */
enum status sparse_create(struct sparse **sparse, struct params *params, const char *name,
                          const struct sparse_config *config, struct error *err);
void sparse_destroy(struct sparse *sparse);

/* z: the (normalised) motif map. density in (0, 1]. In training the thresholds move first.
 * raw: z - t without ReLU, as the single-motif evaluation wants it. */
struct tensor *sparse_forward(struct exec *e, struct sparse *sparse, struct tensor *z, double density, bool raw);
/* L1: weight times the mean of the map that sparse_forward() gave, to be added to the loss. Other modes: NULL. */
struct tensor *sparse_penalty(struct exec *e, const struct sparse *sparse, struct tensor *map, double weight);

/* The channel's threshold is forgotten: the next quantile is taken whole, and until then nothing passes. Its density is
 * `times` (>= 1) that of the others at first, and this factor falls to 1 geometrically over `updates` of training. Mode
 * PER_CHANNEL without `accumulate` only. */
void sparse_reinitialise(struct sparse *sparse, int channel, double times, int64_t updates);
const real *sparse_thresholds(const struct sparse *sparse); /* [channels] */
/* Active positions of each channel in the last sparse_forward() of training; thresholded modes. [channels] */
const int64_t *sparse_active(const struct sparse *sparse);
/* What has been collected since the last update, as SNAPSHOT_STATE entries of fixed shape (only the upper end
 * of the values can matter, see sparse.c), and the factors of reinitialised channels, as NAME.*; the thresholds
 * themselves belong to `params`. */
enum status sparse_snapshot(struct sparse *sparse, struct snapshot *snapshot, struct error *err);

#endif
