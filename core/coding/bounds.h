/* Conditions under which the decoder provably finds the support: the paper's bounds, and sharper ones from the same
 * proofs.
 *
 * Symbols. mu: coherence. S: stripe sparsity. x_min, x_max: smallest and largest magnitude of the non-zeros. zeta:
 * bound of the patch norm of the error from the layer below (of the noise, for the first layer). atoms: number of
 * columns of the dictionary. All functions are pure. If a limit on S is below 1 or negative, no code with non-zeros
 * satisfies it. */
#ifndef MOTIF_CORE_CODING_BOUNDS_H
#define MOTIF_CORE_CODING_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/coding/dictionary.h"

/* Local norms (section 2.2 of the paper): the largest number of non-zeros (alpha 0), or the largest Euclidean norm
 * (alpha 2), of any window of a map, with wrap-around.
 *
 * There are two kinds of window. A stripe is the part of a code that overlaps one column of the code's own dictionary:
 * 2 extent - 1 positions. A patch is the part that one column of the next layer's dictionary covers: as many positions
 * as the extent of that dictionary.
 *
 * In the paper's definition, a window may start at any entry of the vector (local_norm_literal()). The proofs need only
 * windows that start at the first entry of a position ("aligned", Papyan et al.; local_norm()). The norm over aligned
 * windows is never larger, so the bounds use it. A window at least as long as the circle is the whole circle. */

struct local_window {
    int height, width, channels; /* sizes of the map */
    int window_h, window_w;      /* sizes of the window in positions */
};

/* Computes the norm over aligned windows, alpha 0 or 2. map: [height][width][channels]. scratch: 2 * height * width
 * doubles. Takes time proportional to the number of entries. */
double local_norm(const struct local_window *window, const float *map, int alpha, double *scratch);
/* Computes the norm as the paper defines it. map: a vector of `count` entries. Each window has `window` consecutive
 * entries and may start at any entry. */
double local_norm_literal(const float *map, size_t count, size_t window, int alpha);

/* Bound (3) of the paper: if S is below the result, the decoder finds the support, whatever the signs of the code. The
 * paper prints zeta_l here, but its proof needs the error from the layer below. That error is `zeta`. */
double bound_uniform(double mu, double x_min, double x_max, double zeta);
/* Bound (5): if S is at most the result, the decoder finds the support with probability at least 1 - delta over random
 * signs. */
double bound_probabilistic(double mu, double atoms, double x_min, double x_max, double zeta, double delta);
/* Lemma 3.3: gamma, an upper bound of the probability that the decoder does not find the support. May exceed 1. */
double bound_failure(double mu, double stripe, double atoms, double x_min, double x_max, double zeta);
/* One step of the recursion in Theorem 3.2: a bound of the patch norm of the error that a layer passes to the next one,
 * if the decoder found the layer's support. `patch`: the largest number of non-zeros in a patch of the code. */
double bound_error(double patch, double mu, double stripe, double x_max, double zeta);

/* Limit on S of multi-layer convolutional sparse coding (Papyan, Romano and Elad, JMLR 2017). */
double bound_pursuit(double mu);

/* The instance bound: the proof of Theorem 3.1 for one code x in one dictionary with columns a_k. The proof's last step
 * replaces v_k by its upper bound x_max^2 mu^2 S. The instance bound keeps v_k and is therefore sharper.
 *
 *      P(failure) <= sum over k outside of 2 exp(-p^2 / (2 (v_k + zeta^2)))
 *                  + sum over i inside of  2 exp(-(|x_i| - p)^2 / (2 (v_i + zeta^2))),   v_k = sum_j x_j^2 <a_k, a_j>^2
 *
 * k runs over the atoms outside the support, i over those inside; the sum v_k leaves out j = k. The bound holds for
 * every threshold p between 0 and x_min. `half`: the bound at p = x_min / 2, as in the paper's proof. `best`: the
 * smallest of that bound and those at eleven p from 0.3 to 0.8 x_min. `split`: p / x_min of `best`. All three are NaN
 * if x is empty. `scratch`: a double for each atom, and one for each
 * two non-zeros. */
struct instance_bound {
    double half, best, split;
};
struct instance_bound bound_instance(const struct dictionary *d, const struct spikes *x, double zeta, double *scratch);

/* The properties of one layer of a pathway, and the guarantees that follow. */
struct layer_guarantee {
    double coherence, atoms;
    int64_t nonzeros;
    /* stripe sparsity by local_norm() and by local_norm_literal(); the second is NaN in two dimensions */
    double stripe, stripe_literal;
    double patch; /* largest number of non-zeros that a column of the next dictionary covers */
    double x_min, x_max;
    double zeta_in, zeta_out;
    double uniform_limit, probabilistic_limit; /* results of bound_uniform() and bound_probabilistic() */
    double failure;                            /* result of bound_failure() */
    struct instance_bound instance;
    bool uniform; /* `stripe` is below uniform_limit, so the decoder certainly finds the support */
};

/* Computes the guarantees of a pathway and fills out[0..layers). dictionaries, codes: one for each layer, layer 1
 * first; a code is a map [height][width][filters] of its dictionary. zeta: bound of the patch norm of the noise.
 * Computes instance bounds only if `instance`. STATUS_NO_MEMORY: part of `out` may be filled.
 */
enum status pathway_guarantee(const struct dictionary *const *dictionaries, const float *const *codes, int layers,
                              double zeta, double delta, bool instance, struct layer_guarantee *out, struct error *err);

/* All layers together. uniform: the decoder certainly finds all supports. theorem, instance: lower bounds of the
 * probability that it does, by Theorem 3.2 and by the instance bounds; at least 0. */
struct pathway_verdict {
    bool uniform;
    double theorem, instance;
};
struct pathway_verdict pathway_verdict(const struct layer_guarantee *layers, int count);

#endif
