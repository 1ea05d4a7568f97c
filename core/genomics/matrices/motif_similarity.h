/* Measures whether two matrices describe the same motif. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_MOTIF_SIMILARITY_H
#define MOTIF_CORE_GENOMICS_MATRICES_MOTIF_SIMILARITY_H

#include "core/genomics/matrices/position_matrix.h"

/* The largest Pearson correlation of the probabilities of all aligned positions: over all offsets and, with
 * both_strands, over both strands. At least five positions and three quarters of the narrower matrix must be aligned.
 * -1 if a matrix has fewer than five positions. */
double motif_similarity(const struct position_matrix *one, const struct position_matrix *two, bool both_strands);

#endif
