/* Finds the best placement of a matrix near a position. The alignment (position_matrix.c) may place a matrix beyond the
 * ends of a window. A site, in contrast, must lie inside the sequence, because its coordinates are written into
 * files. */
#include "core/genomics/sites/site_place.h"

#include <math.h>

void site_ratios_make(const struct position_matrix *m, const double background[BASES], struct site_ratios *out)
{
    *out = (struct site_ratios){.width = m->width};
    position_matrix_ratios(m, background, 1, out->ratio);
}

static double fit_at(const struct site_ratios *r, const unsigned char *base, bool reverse)
{
    double sum = 0;
    for (int i = 0; i < r->width; i++) {
        int b = base[reverse ? r->width - 1 - i : i];
        if (b < BASES)
            sum += r->ratio[i][reverse ? BASES - 1 - b : b];
    }
    return sum;
}

bool site_place(const struct site_ratios *ratios, const unsigned char *base, int count, int middle, int shift,
                bool both_strands, struct site_placement *out)
{
    double best = -INFINITY;
    for (int strand = 0; strand < (both_strands ? 2 : 1); strand++)
        for (int first = middle - ratios->width / 2 - shift; first <= middle - ratios->width / 2 + shift; first++) {
            if (first < 0 || first + ratios->width > count)
                continue;
            double sum = fit_at(ratios, base + first, strand == 1);
            if (sum > best) {
                best = sum;
                *out = (struct site_placement){first, strand == 1};
            }
        }
    return best > -INFINITY;
}
