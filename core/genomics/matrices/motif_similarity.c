/* Correlates two matrices at every offset. */
#include "core/genomics/matrices/motif_similarity.h"

#include <math.h>

enum { LEAST = 5 };
static const double even[BASES] = {0.25, 0.25, 0.25, 0.25};

/* The mean of the probabilities of a position is 1/4 in both matrices, so no mean need be computed. */
static double motif_similarity_correlation(const struct position_matrix *one, const struct position_matrix *two,
                                           int offset, int first, int end)
{
    double xx = 0, yy = 0, xy = 0;
    for (int i = first; i < end; i++) {
        double x[BASES], y[BASES];
        position_matrix_column(one, i, even, 0, x);
        position_matrix_column(two, i - offset, even, 0, y);
        for (int b = 0; b < BASES; b++) {
            xx += (x[b] - even[b]) * (x[b] - even[b]);
            yy += (y[b] - even[b]) * (y[b] - even[b]);
            xy += (x[b] - even[b]) * (y[b] - even[b]);
        }
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

double motif_similarity(const struct position_matrix *one, const struct position_matrix *two, bool both_strands)
{
    struct position_matrix other = *two;
    int shorter = one->width < two->width ? one->width : two->width, part = (3 * shorter + 3) / 4;
    int least = part > LEAST ? part : LEAST;
    double best = -1;
    for (int strand = 0; strand < (both_strands ? 2 : 1); strand++) {
        for (int offset = least - other.width; offset <= one->width - least; offset++) {
            int first = offset > 0 ? offset : 0;
            int end = offset + other.width < one->width ? offset + other.width : one->width;
            if (end - first >= least)
                best = fmax(best, motif_similarity_correlation(one, &other, offset, first, end));
        }
        position_matrix_reverse(&other);
    }
    return best;
}
