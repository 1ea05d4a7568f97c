/* Coherence of a bank of convolution filters.
 *
 * A convolution with filters w: [filters][inputs][height][width] is the transpose of a dictionary whose
 * columns are the filters at every position (Papyan, Romano, Elad, JMLR 2017). Its mutual coherence is
 *
 *     mu = max over pairs (f, g) and shifts d, (f, 0) != (g, d), of |<w_f, shift_d w_g>| / (|w_f| |w_g|)
 *
 * and only shifts below the extent of a filter count. Pure functions; any thread. */
#ifndef MOTIF_CORE_NN_COHERENCE_H
#define MOTIF_CORE_NN_COHERENCE_H

#include <stddef.h>

#include "core/autodiff/tape.h"

struct filter_bank {
    int filters, inputs, height, width;
};

/* Numbers in a table of cross-correlations: filters^2 (2 height - 1) (2 width - 1). */
size_t filter_gram_size(const struct filter_bank *bank);
/* gram: [filters f][2 height - 1][2 width - 1][filters g], zero shift in the middle: the inner product of filter
 * f with filter g moved by (row - height + 1, column - width + 1), not normalised. */
void filter_gram(const struct filter_bank *bank, const real *w, real *gram);

/* mu in [0, 1]; a filter that is zero is orthogonal to all. NaN without memory for the table. */
double filter_coherence(const struct filter_bank *bank, const real *w);

/* Lower bounds of mu that no bank can beat. Welch: `atoms` unit vectors in `dimension`. Convolutional (Papyan, Sulam,
 * Elad 2017): `filters` of `length` entries at every position, stride 1. 0 where they say nothing. */
double coherence_floor_welch(double dimension, double atoms);
double coherence_floor_convolutional(double filters, double length);

#endif
