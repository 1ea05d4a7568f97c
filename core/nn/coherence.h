/* Coherence of a bank of convolution filters.
 *
 * A convolution with filters w: [filters][inputs][height][width] is the transpose of a dictionary whose
 * columns are the filters at every position (Papyan, Romano, Elad, JMLR 2017). Its mutual coherence is
 *
 *     mu = max over pairs (f, g) and shifts d, (f, 0) != (g, d), of |<w_f, shift_d w_g>| / (|w_f| |w_g|)
 *
 * where only shifts smaller than the filter matter. All functions are pure; any thread may call them. */
#ifndef MOTIF_CORE_NN_COHERENCE_H
#define MOTIF_CORE_NN_COHERENCE_H

#include <stddef.h>

#include "core/autodiff/tape.h"

struct filter_bank {
    int filters, inputs, height, width;
};

/* The size of a table of cross-correlations: filters^2 (2 height - 1) (2 width - 1) numbers. */
size_t filter_gram_size(const struct filter_bank *bank);
/* Writes the inner products of filters, not normalised, to gram: [filters f][2 height - 1 rows][2 width - 1
 * columns][filters g]. An element is the product of filter f with filter g moved by (row - height + 1, column - width +
 * 1). Ends early, and leaves gram undefined, when `pool` is stopped (NULL: never); the caller checks the pool. */
void filter_gram(const struct filter_bank *bank, const real *w, struct thread_pool *pool, real *gram);

/* The mutual coherence mu in [0, 1]. A zero filter counts as orthogonal to all others. NaN if there is no memory. */
double filter_coherence(const struct filter_bank *bank, const real *w, struct thread_pool *pool);

/* Lower bounds of mu; 0 if the bound is trivial. coherence_floor_welch(): for `atoms` unit vectors in `dimension`
 * dimensions. coherence_floor_convolutional() (Papyan, Sulam, Elad 2017): for `filters` filters of `length` entries at
 * every position, stride 1. */
double coherence_floor_welch(double dimension, double atoms);
double coherence_floor_convolutional(double filters, double length);

#endif
