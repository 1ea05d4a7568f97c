/* The Persian rug: artificial weights that reach the bound on the interference (arXiv:2410.12101, section 4).
 *
 * S is a set of n_d of the n_s rows of Sylvester's matrix H_ij = (-1)^popcount(i AND j). (The paper prints XOR, which
 * would have rank 1.) encoder = H[S] and decoder = H[S]' / n_d, so W_ij = (1/n_d) sum over k in S of H_ik H_kj depends
 * on i XOR j alone. Every row is therefore a permutation of the first one, and W_ii = 1. The squares of a row sum to
 * n_s / n_d. The row itself sums to n_s / n_d if S contains 0, otherwise to 0. The matrix is never formed: W x takes
 * two Walsh-Hadamard transforms. The output is ReLU(scale (W x + offset)), with both numbers from the closed form
 * (theory.h). */
#ifndef MOTIF_CORE_SUPERPOSED_RUG_H
#define MOTIF_CORE_SUPERPOSED_RUG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/base/snapshot.h"
#include "core/kernels/kernels.h"

enum { RUG_FEATURES_MAX = 1 << 24 };

struct rug {
    int n_s, n_d;
    int64_t *rows; /* [n_d] S, ascending */
    float *mask;   /* [n_s] the value `each` at the elements of S, 0 elsewhere */
    float each;    /* 1 / n_d */
};

/* Draws S uniformly, as a function of (seed, draw). n_s must be a power of two up to RUG_FEATURES_MAX, and
 * 1 <= n_d <= n_s; otherwise STATUS_INVALID. */
enum status rug_create(int n_s, int n_d, uint64_t seed, uint32_t draw, struct rug *rug, struct error *err);
/* Creates the best linear model. S contains rows 0 to n_d - 1 of H; all entries of row 0 are 1. The function sets
 * `each` to 1 / n_s instead of 1 / n_d, so that W is a projector (W W = W). */
enum status rug_create_projector(int n_s, int n_d, struct rug *rug, struct error *err);
/* Sets the mask from `rows` after they were read from a checkpoint. STATUS_CORRUPT if `rows` is not a valid set. */
enum status rug_fill(struct rug *rug, struct error *err);
void rug_close(struct rug *rug); /* accepts a zeroed struct */

/* x <- W x in place; scratch of hadamard_scratch(pool, n_s) reals. Returns false, and leaves x undefined, if the pool
 * was stopped. */
bool rug_apply(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *x,
               float *scratch);
/* Writes the first row of W: row[i XOR j] = W_ij. Exact up to the last division. STATUS_CANCELLED if the pool was
 * stopped. */
enum status rug_row(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *row,
                    struct error *err);

/* Declares a rug and its output's scale and offset as weights. rows: [n_d]; NULL: declares the shapes only. */
enum status rug_snapshot(int n_d, int64_t *rows, double *scale, double *offset, struct snapshot *snapshot,
                         struct error *err);

/* The closed form's offset plus a correction for the mean of the interference. */
double rug_offset(const struct rug *rug, double p, double offset);

#endif
