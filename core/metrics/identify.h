/* Whether a model recovered the latent variables: up to permutation and scale (MCC), up to a linear map (R squared). */
#ifndef MOTIF_CORE_METRICS_IDENTIFY_H
#define MOTIF_CORE_METRICS_IDENTIFY_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

/* The functions only ask `pool` whether they must stop (thread_pool_stopped(); NULL: never). The functions compute
 * on the calling thread. When the pool was stopped, they return STATUS_CANCELLED. */

/* Mean absolute correlation of the true variables with the codes that the best assignment matches to them. truth:
 * [rows][factors], codes: [rows][code_count]. match: [factors], the code of each factor, or -1 if there are fewer codes
 * than factors; may be NULL. A constant column has correlation 0; a factor without a code counts as 0. */
enum status identify_mcc(const float *truth, int factors, const float *codes, int code_count, int rows, int *match,
                         double *mcc, struct thread_pool *pool, struct error *err);

/* Mean over the factors of R squared of the least-squares map from the codes, with an intercept. */
enum status identify_linear_r2(const float *truth, int factors, const float *codes, int code_count, int rows,
                               double *r2, struct thread_pool *pool, struct error *err);

/* Solves a x = b for `count` right-hand sides. a: the lower triangle of a symmetric and positive definite matrix, row
 * after row, so that entry [i][j] with j <= i is a[i (i + 1) / 2 + j]; overwritten. b: [count][n] becomes x. A pivot
 * below 1e-12 of the largest diagonal entry counts as linear dependence: its unknown becomes 0. b has no meaning if the
 * pool was stopped; the caller checks the pool. */
void solve_symmetric(double *a, int n, double *b, int count, struct thread_pool *pool);

/* Compares the nonzero entries of a learned mask with those of the true one. */

struct support_score {
    double f1;      /* 2 TP / (2 TP + FP + FN), counted over all entries */
    double hamming; /* share of entries that differ */
    int used;       /* columns with at least one nonzero entry */
};

/* Matches the columns of mask: [features][columns] one to one with those of truth: [features][factors], so that the sum
 * of |correlation| of codes: [rows][columns] with values: [rows][factors] is largest. Nonzero entries of unmatched
 * columns count as wrong. columns >= factors. */
enum status support_compare(const float *mask, const unsigned char *truth, int features, int columns, int factors,
                            const float *codes, const float *values, int rows, struct thread_pool *pool,
                            struct support_score *out, struct error *err);

#endif
