/* The decoder (eq. 1 of the paper): computes a layer's code from its input y, either by one analysis (A^T y) and a
 * threshold, or by basis pursuit.
 *
 * If the columns of the dictionary have random signs (A D), the analysis gives D A^T y: some entries of A^T y change
 * their sign. This does not change which entries hard, soft and top-k keep, so these decoders may act on c = A^T y.
 * ReLU needs c = D A^T y. */
#ifndef MOTIF_CORE_CODING_DECODE_H
#define MOTIF_CORE_CODING_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/parallel/thread_pool.h"
#include "core/coding/dictionary.h"

enum decoder { DECODER_TOP_K, DECODER_HARD, DECODER_SOFT, DECODER_RELU, DECODER_PURSUIT };

struct decode_rule {
    enum decoder decoder;
    /* for every decoder but top-k; if the layer's true code is known, a multiple of the smallest magnitude of its
     * non-zeros */
    double threshold;
    int64_t iterations; /* number of steps of basis pursuit */
};

/* Applies a decoder's threshold to code [count] and writes the non-zeros to out, indices ascending:
 * - top-k keeps the `keep` largest magnitudes. It never keeps zeros, and of equal magnitudes it keeps the first.
 * - hard keeps c where |c| > threshold.
 * - soft keeps the same entries and moves them towards zero by the threshold.
 * - relu gives max(0, c - threshold).
 * out: room for `count` entries. scratch: `count` floats, for top-k only. */
void decode_threshold(enum decoder decoder, const float *code, size_t count, int64_t keep, double threshold,
                      struct spikes *out, float *scratch);

/* Layered basis pursuit, one layer: minimises |signal - A x|^2 / 2 + lambda |x|_1 by FISTA with `iterations` steps of
 * 1 / lipschitz. Writes the result to code; entries that are not above zero are exactly zero. Ends
 * early when `pool` is stopped (NULL: never). scratch: decode_pursuit_scratch(). */
void decode_pursuit(const struct dictionary *d, double lipschitz, const float *signal, double lambda,
                    int64_t iterations, struct thread_pool *pool, float *code, float *scratch);
size_t decode_pursuit_scratch(const struct dictionary *d);
/* Upper estimate of the largest eigenvalue of A^T A by power iteration from a fixed vector. Ends early when `pool` is
 * stopped (NULL: never). scratch: decode_pursuit_scratch(). */
double decode_lipschitz(const struct dictionary *d, struct thread_pool *pool, float *scratch);

#endif
