/* Ordinary least squares from sums of products, with the t-values of the coefficients. Pure function; any thread. */
#ifndef MOTIF_CORE_METRICS_LEAST_SQUARES_H
#define MOTIF_CORE_METRICS_LEAST_SQUARES_H

#include <stdbool.h>

/* Sums over `samples` samples of the terms x and of the numbers y. The caller owns the arrays. */
struct least_squares {
    int terms, numbers;
    double samples;
    double *gram;     /* [terms][terms] sums of x_i x_j; becomes the inverse */
    double *products; /* [terms][numbers] sums of x_i y_k */
    double *squares;  /* [numbers] sums of y_k^2 */
};
/* Fits each number y. Writes the coefficients of the terms and their t-values, [terms][numbers] each. A term that does
 * not vary, or depends on others, has a t-value near 0, because a small ridge keeps the sums invertible. false: there
 * are not more samples than terms, or the sums are not finite; then all results are 0. */
bool least_squares_solve(struct least_squares *sums, double *coefficient, double *t);

#endif
