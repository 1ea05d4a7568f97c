/* Conditions under which the decoder provably finds the support: the paper's bounds, and sharper ones from the same
 * proofs.
 *
 * Letters. mu: coherence. S: stripe sparsity. x_min, x_max: smallest and largest magnitude of the non-zeros. zeta:
 * bound of the patch norm of the error from the layer below (of the noise, for the first layer). atoms: M n_l, columns
 * of the dictionary. All functions are pure. A limit may be below 1 or negative; it then covers no code. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_BOUNDS_H
#define MOTIF_CORE_METHODS_PATHWAYS_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/methods/pathways/dictionary.h"

/* (3), for any signs: recovered if S is below this. The paper prints zeta_l and means the incoming error. */
double bound_uniform(double mu, double x_min, double x_max, double zeta);
/* (5), random signs: recovered with probability at least 1 - delta if S <= this. */
double bound_probabilistic(double mu, double atoms, double x_min, double x_max, double zeta, double delta);
/* Lemma 3.3: gamma, an upper bound of the probability of failure; may exceed 1. */
double bound_failure(double mu, double stripe, double atoms, double x_min, double x_max, double zeta);
/* Theorem 3.2's recursion: patch norm of the error that leaves a layer whose support was found. `patch`: most non-zeros
 * in a patch of the code. */
double bound_error(double patch, double mu, double stripe, double x_max, double zeta);

/* Limits on S of multi-layer convolutional sparse coding (Papyan, Romano and Elad, JMLR 2017). */
double bound_uniqueness(double mu);
double bound_soft(double mu, double x_min, double x_max, double zeta, double threshold);
double bound_pursuit(double mu);

/* The instance bound: Theorem 3.1 applied to this code x in this dictionary, without the step to mu^2 S.
 *
 *      P(failure) <= sum over k outside of 2 exp(-p^2 / (2 (v_k + zeta^2)))
 *                  + sum over i inside of  2 exp(-(|x_i| - p)^2 / (2 (v_i + zeta^2))),   v_k = sum_j x_j^2 <a_k, a_j>^2
 *
 * The split p lies between the largest possible value outside the support and the smallest magnitude inside. `half`:
 * the value at p = x_min / 2, as in the paper's proof; `best`: the value at the best p. `scratch`: two doubles for each
 * atom. */
struct instance_bound {
    double half, best, split;
};
struct instance_bound bound_instance(const struct dictionary *d, const struct spikes *x, double zeta, double *scratch);

/* The properties of one layer of a pathway, and the guarantees that follow. */
struct layer_guarantee {
    double coherence, atoms;
    int64_t nonzeros;
    double stripe, stripe_literal; /* literal: windows start at any entry; NaN in two dimensions */
    double patch;                  /* most non-zeros that a column of the next dictionary covers */
    double x_min, x_max;
    double zeta_in, zeta_out;
    double uniform_limit, probabilistic_limit; /* limits of S by (3) and (5) */
    double failure;                            /* gamma_l */
    struct instance_bound instance;
    bool uniform; /* S is below uniform_limit: recovery is certain */
};

/* Guarantees of the pathway of `layers` codes, maps [height][width][filters] of each layer's dictionary, l = 1 first.
 * zeta: bound of the noise's patch norm. Fills out[0..layers). Computes instance bounds only with `instance`. */
enum status pathway_guarantee(const struct dictionary *const *dictionaries, const float *const *codes, int layers,
                              double zeta, double delta, bool instance, struct layer_guarantee *out, struct error *err);

/* All layers together: whether recovery is certain, and lower bounds of its probability by Theorem 3.2 and by the
 * instance bounds, at least 0. */
struct pathway_verdict {
    bool uniform;
    double theorem, instance;
};
struct pathway_verdict pathway_verdict(const struct layer_guarantee *layers, int count);

#endif
