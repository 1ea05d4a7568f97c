/* Decoders for plain dictionaries: matrices [atoms][inputs] with rows w_j, without convolutional structure. Each of the
 * three decoders computes a code without negative entries:
 *
 * - FISTA (Beck and Teboulle 2009) minimises |x - sum_j a_j w_j|^2 / 2 + penalty sum_j a_j over a >= 0;
 * - orthogonal matching pursuit adds the row with the largest positive product with the residual, and fits all rows
 *   chosen so far by least squares;
 * - iterative hard thresholding takes gradient steps and keeps the largest entries after each.
 *
 * A struct plain borrows its rows and is not changed by any function. Any number of threads may use one, each with its
 * own scratch. */
#ifndef MOTIF_CORE_CODING_PLAIN_H
#define MOTIF_CORE_CODING_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernels/kernels.h"

enum { PLAIN_ROWS = 64, PLAIN_MOST_KEPT = 256 };

struct plain {
    int atoms, inputs;
    const float *rows;
    double lipschitz; /* upper bound of the largest eigenvalue of the rows' Gram matrix (plain_lipschitz()) */
    const struct kernels *kernels;
};

/* Upper estimate of the largest eigenvalue of the Gram matrix by 40 power iterations from a fixed vector. scratch:
 * atoms + inputs floats. */
double plain_lipschitz(const struct plain *p, float *scratch);

/* Computes the codes of up to PLAIN_ROWS signals, starting from 0. x: [count][inputs]; code: [count][atoms]. */
void plain_fista(const struct plain *p, const float *x, int count, double penalty, int iterations, float *code,
                 float *scratch);
size_t plain_fista_scratch(const struct plain *p);

/* Computes the code of one signal by orthogonal matching pursuit. The rows must have norm 1. index: [keep] receives the
 * chosen rows in the order in which they were chosen, keep <= PLAIN_MOST_KEPT. Returns the number of chosen rows; it is
 * below `keep` if no further row has a positive product with the residual. scratch: plain_pursuit_scratch(). */
int plain_omp(const struct plain *p, const float *x, int keep, int32_t *index, float *scratch);
/* Computes the code of one signal by iterative hard thresholding. The rows must have norm 1. Returns the number of
 * entries above 0, at most `keep`. */
int plain_iht(const struct plain *p, const float *x, int keep, int iterations, int32_t *index, float *scratch);
size_t plain_pursuit_scratch(const struct plain *p);

#endif
