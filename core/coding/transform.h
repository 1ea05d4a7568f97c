/* Circular correlation of a signal with a bank of filters by FFT (kissfft, single precision).
 *
 * Two real filters f and g share one complex transform. Let F, G and Y be the transforms of f, g and the signal. In the
 * inverse transform of Y (conj F + i conj G), the real part is the correlation with f, and the imaginary part the
 * correlation with g. */
#ifndef MOTIF_CORE_CODING_TRANSFORM_H
#define MOTIF_CORE_CODING_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/coding/dictionary.h"

/* Whether the length of every axis has no prime factor above 5. The FFT is slow for other lengths. */
bool spectrum_suits(const struct dictionary_shape *shape);
/* spectrum_cost() returns the cost of one analysis by FFT, direct_cost() that of a direct analysis, in operations of
 * the vector kernels. The cost of an operation of the FFT was measured with `motifd bench pathways`. */
double spectrum_cost(const struct dictionary_shape *shape);
double direct_cost(const struct dictionary_shape *shape);

/* filters: [filters][extent_h][extent_w][inputs], unit norm. */
enum status spectrum_create(const struct dictionary_shape *shape, const float *filters, struct spectrum **spectrum,
                            struct error *err);
void spectrum_destroy(struct spectrum *spectrum); /* NULL is fine */
size_t spectrum_bytes(const struct spectrum *spectrum);
double spectrum_shape_bytes(const struct dictionary_shape *shape); /* bytes of a spectrum of this shape */
size_t spectrum_scratch(const struct dictionary_shape *shape);     /* floats */
/* code = A^T signal. Any number of threads may share a spectrum, each with its own scratch. */
void spectrum_analyse(const struct spectrum *spectrum, const float *signal, float *code, float *scratch);

#endif
