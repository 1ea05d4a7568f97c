/* The decoder (eq. 1 of the paper): computes a layer's code from its input, by a threshold after one analysis or by
 * basis pursuit.
 *
 * With D absorbed (random signs only flip entries of A^T y), thresholds act on c = A^T y or, for ReLU, on D A^T y. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_DECODE_H
#define MOTIF_CORE_METHODS_PATHWAYS_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/methods/pathways/dictionary.h"

enum decoder { DECODER_TOP_K, DECODER_HARD, DECODER_SOFT, DECODER_RELU, DECODER_PURSUIT };

struct decode_rule {
    enum decoder decoder;
    double threshold; /* of every decoder but top-k; in units of the layer's smallest true magnitude if that is known */
    int64_t iterations; /* number of steps of basis pursuit */
};

/* Applies the threshold to code [count] and writes the non-zeros, indices ascending; out has room for `count`. top-k
 * keeps the `keep` largest magnitudes (never zeros; the first of equals), the others keep what passes `threshold`: hard
 * |c| > t unchanged, soft c -+ t, relu max(0, c - t). `scratch`: count floats (top-k). */
void decode_threshold(enum decoder decoder, const float *code, size_t count, int64_t keep, double threshold,
                      struct spikes *out, float *scratch);

/* Layered basis pursuit, one layer: minimises |signal - A x|^2 / 2 + lambda |x|_1 by FISTA with `iterations` steps of
 * 1 / lipschitz. Writes the result to code; entries that are not above zero are exactly zero. scratch:
 * decode_pursuit_scratch(). */
void decode_pursuit(const struct dictionary *d, double lipschitz, const float *signal, double lambda,
                    int64_t iterations, float *code, float *scratch);
size_t decode_pursuit_scratch(const struct dictionary *d);
/* Upper estimate of the largest eigenvalue of A^T A by power iteration from fixed numbers. scratch:
 * decode_pursuit_scratch(). */
double decode_lipschitz(const struct dictionary *d, float *scratch);

#endif
