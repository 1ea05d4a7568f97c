/* Whether latent variables were found again: up to permutation and scale (MCC), up to a linear map (R squared). */
#ifndef MOTIF_CORE_METRICS_IDENTIFY_H
#define MOTIF_CORE_METRICS_IDENTIFY_H

#include "core/base/error.h"

/* Mean absolute correlation of true variables with the ones found that the best assignment gives them. truth:
 * [rows][factors], codes: [rows][code_count]. match: [factors], the code of each factor or -1 (no code left); NULL:
 * not asked for. A constant column correlates with nothing. A factor without a code counts as 0. */
enum status identify_mcc(const float *truth, int factors, const float *codes, int code_count, int rows, int *match,
                         double *mcc, struct error *err);

/* Mean over factors of R squared of the least-squares map from the codes, with intercept. */
enum status identify_linear_r2(const float *truth, int factors, const float *codes, int code_count, int rows,
                               double *r2, struct error *err);

/* Solves a x = b for `count` right sides, a symmetric and positive definite [n][n], overwritten; b: [count][n]
 * becomes x. A pivot below 1e-12 of the largest diagonal entry is taken for dependence: its unknown becomes 0. */
void solve_symmetric(double *a, int n, double *b, int count);

#endif
