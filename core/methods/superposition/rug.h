/* The Persian rug: artificial weights that reach the bound on the interference (section 4 of the paper).
 *
 * S is a set of n_d of the n_s rows of Sylvester's matrix H_ij = (-1)^popcount(i AND j) (the paper prints XOR, which
 * has rank 1), encoder = H[S], decoder = H[S]' / n_d, so W_ij = (1/n_d) sum over k in S of H_ik H_kj. W_ij depends on
 * i XOR j alone: every row is a rearrangement of the first, W_ii = 1, the sum of squares of a row is n_s / n_d, and a
 * row's sum is n_s / n_d if 0 is in S, else 0. The matrix is never formed: W x is two Walsh-Hadamard transforms. The
 * output is ReLU(scale (W x + offset)), both numbers from the closed form (theory.h). */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_RUG_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_RUG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"

enum { RUG_FEATURES_MAX = 1 << 24 };

struct rug {
    int n_s, n_d;
    int64_t *rows; /* [n_d] S, ascending */
    float *mask;   /* [n_s] `each` on S, else 0 */
    float each;    /* 1 / n_d */
};

/* S is drawn uniformly, a function of (seed, draw). n_s a power of two up to RUG_FEATURES_MAX, 1 <= n_d <= n_s;
 * STATUS_INVALID otherwise. */
enum status rug_create(int n_s, int n_d, uint64_t seed, uint32_t draw, struct rug *rug, struct error *err);
/* The best linear model: S is 0 (the constant) and the n_d - 1 rows after it, and `each` is 1 / n_s, which makes W a
 * projector. */
enum status rug_create_projector(int n_s, int n_d, struct rug *rug, struct error *err);
/* Sets the mask from `rows`: after these were read from a checkpoint. STATUS_CORRUPT if they are no such set. */
enum status rug_fill(struct rug *rug, struct error *err);
void rug_close(struct rug *rug); /* zeroed is fine */

/* x <- W x in place; scratch of hadamard_scratch(pool, n_s) reals. */
void rug_apply(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *x,
               float *scratch);
/* First row of W: row[i XOR j] = W_ij. Exact up to the last division. */
enum status rug_row(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *row,
                    struct error *err);

/* The offset that goes with the closed form's: it takes up the interference's mean besides. */
double rug_offset(const struct rug *rug, double p, double offset);

#endif
