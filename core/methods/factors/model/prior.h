/* The priors of the decoder's mask W: what is updated in closed form between gradient steps.
 *
 * - spike-slab: the spike-and-slab lasso. p_jk = E[gamma_jk | w, eta] is computed from the odds of the slab (lambda1)
 *   against the spike (lambda0). The penalty is sum lambda*_jk |w_jk| with lambda* = lambda1 p + lambda0 (1 - p). Then
 *   eta_k = (sum_j p_jk + a - 1) / (a + b + G - 2) with a = 1, b = G. There are two E-steps: the paper's has the
 *   factors lambda / 2 of the densities, that of the authors' code does not.
 * - slab: the same with lambda0 = lambda1 (Fig. 4).
 * - horseshoe: w_jk ~ N(0, tau_jk^2 v_k^2) with half-Cauchy scales, written with inverse gamma variables. All of them
 *   are set to their modes (C.4.1). The penalty is sum w^2 / (2 tau^2 v^2).
 * - none: no penalty. */
#ifndef MOTIF_CORE_METHODS_FACTORS_MODEL_PRIOR_H
#define MOTIF_CORE_METHODS_FACTORS_MODEL_PRIOR_H

#include <stdbool.h>

#include "core/methods/factors/model/model.h"

enum factors_prior { PRIOR_SPIKE_SLAB, PRIOR_SLAB, PRIOR_HORSESHOE, PRIOR_NONE };

struct prior {
    enum factors_prior kind;
    double lambda1, lambda0;
    bool normalised; /* true: the E-step of the paper; false: that of the authors' code */
};

/* Returns p of one entry w of W, the probability that the entry belongs to the slab. rate: eta of its column. */
double prior_odds(const struct prior *prior, double w, double rate);
/* Returns eta of a column after an E-step. sum: the sum of p over the column's `features` entries. */
double prior_rate(double sum, int features);

/* Updates the priors in closed form. Spike-and-slab lasso: computes p of every weight from the old eta, and then the
 * new eta of every column. Horseshoe: sets the scales to their modes; the member `odds` contains tau^2, `rate` v^2, and
 * `scales` {lambda_local, lambda_global}. */
void prior_update(const struct prior *prior, struct latent_model *model);
/* Writes the coefficients of the penalty, [features * latent]. Returns the power of w in the penalty: 1 for |w|, 2 for
 * w^2, 0 for no penalty. */
int prior_coefficients(const struct prior *prior, const struct latent_model *model, float *coefficients);

/* Computes how strongly each weight acts on the decoder: the entry of W times the norm of its column in the decoder's
 * first layer. The prior does not act on that column, so a large column can compensate for a small entry of W. For
 * groups, the result is the norm of each column of the group's matrix. reach: [features * latent]. */
void prior_reach(const struct latent_model *model, float *reach);
/* Writes W, with 0 for each entry that counts as zero: |w| < 0.01 or, with the spike-and-slab lasso, p < 1/2. For
 * groups, the norms of the columns of the groups' matrices take the place of W. mask: [features * latent]. */
void prior_mask(const struct prior *prior, const struct latent_model *model, float *mask);

/* OI-VAE: the proximal step of the group lasso, which shortens every column of a group's matrix by `by`. */
void prior_shrink_groups(struct latent_model *model, double by);

#endif
