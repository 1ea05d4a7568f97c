/* Places a position matrix on a sequence: the start and the strand of a site near a position that a detector marked. */
#ifndef MOTIF_CORE_GENOMICS_SITES_SITE_PLACE_H
#define MOTIF_CORE_GENOMICS_SITES_SITE_PLACE_H

#include <stdint.h>

#include "core/genomics/matrices/position_matrix.h"

/* Logarithms of the ratio of a matrix to the background. */
struct site_ratios {
    int width;
    double ratio[MATRIX_WIDTH][BASES];
};
/* Computes the ratios, with one pseudo-count added to each column of the matrix. */
void site_ratios_make(const struct position_matrix *m, const double background[BASES], struct site_ratios *out);

/* Finds the placement whose sum of ratios is largest, among those whose middle is at most `shift` positions from
 * `middle` and that lie inside the sequence. base: [count], 0 to BASE_UNKNOWN, which adds 0 to a sum. Returns false if
 * there is no such placement. */
bool site_place(const struct site_ratios *ratios, const unsigned char *base, int count, int middle, int shift,
                bool both_strands, struct site_placement *out);

#endif
