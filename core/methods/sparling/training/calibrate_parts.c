/* Computes thresholds of several channels of one name (calibrate_parts.h).
 *
 * One channel of a name is calibrated by false and missed samples: it should be active where the label has the name. If
 * the name needs two motifs, is made by either of two, or is prevented by one, this is true of none of its channels
 * alone. What can be said without knowing the rule is that the presences of all channels together should predict the
 * name. */
#include "core/methods/sparling/training/calibrate_parts.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* MOST_CELLS: number of sets of active channels of a name (channels_per_name is at most 8). */
enum { ROUNDS = 6, MOST_CELLS = 256 };

static int compare_peaks(const void *a, const void *b, void *context)
{
    const float *peak = context;
    int x = *(const int *)a, y = *(const int *)b;
    if (peak[x] != peak[y])
        return peak[x] < peak[y] ? 1 : -1;
    return (x > y) - (x < y);
}

/* n H(with / n) in nats. */
static double entropy(double with, double without)
{
    double n = with + without;
    return (with > 0 ? with * log(n / with) : 0) + (without > 0 ? without * log(n / without) : 0);
}

/* The set of the active channels of a sample, without channel `but`. */
static int cell_of(const struct part_peaks *p, const float *cut, int sample, int but)
{
    int cell = 0;
    for (int k = 0; k < p->parts; k++)
        if (k != but && p->peak[k * p->samples + sample] > cut[k])
            cell |= 1 << k;
    return cell;
}

/* Finds the best cut of channel k if the cuts of the others stay. Samples become active one by one, the largest peak
 * first. Returns whether the cut has changed. */
static bool move_cut(const struct part_peaks *p, float *cut, int k, int *order)
{
    double count[MOST_CELLS][2][2] = {{{0}}}; /* [cell of the others][active][with] */
    double sum = 0, best = INFINITY;
    const float *peak = p->peak + (ptrdiff_t)k * p->samples;
    float old = cut[k];
    for (int i = 0; i < p->samples; i++) {
        order[i] = i;
        count[cell_of(p, cut, i, k)][0][p->has[i]]++;
    }
    qsort_r(order, (size_t)p->samples, sizeof *order, compare_peaks, (void *)(uintptr_t)peak);
    for (int c = 0; c < MOST_CELLS; c++)
        sum += entropy(count[c][0][1], count[c][0][0]);
    for (int i = 0; i + 1 < p->samples; i++) {
        int sample = order[i];
        double(*cell)[2] = count[cell_of(p, cut, sample, k)];
        sum -= entropy(cell[0][1], cell[0][0]) + entropy(cell[1][1], cell[1][0]);
        cell[0][p->has[sample]]--;
        cell[1][p->has[sample]]++;
        sum += entropy(cell[0][1], cell[0][0]) + entropy(cell[1][1], cell[1][0]);
        if (sum < best - 1e-9 && peak[sample] > peak[order[i + 1]]) {
            best = sum;
            cut[k] = (peak[sample] + peak[order[i + 1]]) / 2;
        }
    }
    return cut[k] != old;
}

void calibrate_parts(const struct part_peaks *p, float *cut, int *order)
{
    for (int k = 0; k < p->parts; k++)
        cut[k] = INFINITY; /* not active until it has been moved */
    for (int round = 0; round < ROUNDS; round++) {
        bool moved = false;
        for (int k = 0; k < p->parts; k++)
            moved = move_cut(p, cut, k, order) || moved;
        if (!moved)
            return;
    }
}
