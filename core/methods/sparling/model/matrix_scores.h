/* Position matrices whose scores are the values of channels (matrix_scores). genomics/matrix_fit.c fits them. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_MATRIX_SCORES_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_MATRIX_SCORES_H

#include "core/autodiff/tape.h"
#include "core/nn/params.h"

/* The arrays of op_matrices(), which are saved with the weights but have no gradients. `strands` has one number: 1 if
 * matrices are read on both strands, else 0. table is NULL in a model without matrices. */
struct matrix_scores {
    struct weight *table, *scale, *offset, *strands;
    int width;
};

/* Width of the matrices of a model whose g has a window of width `reach`. */
int matrix_scores_width(int reach);
/* Declares the arrays; at first no channel has a matrix. reach: width of the window of g. */
void matrix_scores_build(struct matrix_scores *m, struct params *params, int channels, int reach);
/* Removes the matrices of all channels. A model without matrices is not changed. */
void matrix_scores_clear(struct matrix_scores *m);
/* Whether a channel has a matrix. */
bool matrix_scores_used(const struct matrix_scores *m);
/* Returns a copy of the motif map x in which the values of each channel with a matrix come from the scores of its
 * matrix (op_matrices()). x: a map of one row; inputs: [images][4][columns], the sequences that the matrices read. The
 * copy has no gradient, so a training step must not call this. NULL after a failure. */
struct tensor *matrix_scores_forward(struct exec *e, const struct matrix_scores *m, struct tensor *x,
                                     const real *inputs);

#endif
