/* Densities of annealing stages and the information that a density allows. */
#include "core/metrics/density.h"

#include <math.h>

#define MOST_STAGES 100000 /* density_last_stage() stops here if the minimum is 0 */

double density_at(double start, double factor, int stage)
{
    return start * pow(factor, stage);
}

double density_minimum(double mean_symbols, double positions, int channels)
{
    return mean_symbols / positions / channels;
}

int density_last_stage(double start, double factor, double minimum)
{
    int stage = 0;
    while (stage < MOST_STAGES && density_at(start, factor, stage + 1) >= minimum)
        stage++;
    return stage;
}

static double information_of(double share)
{
    return share > 0.0 ? -share * log2(share) : 0.0;
}

double density_information(double elements, double density, double bits)
{
    return elements * (information_of(density) + information_of(1.0 - density) + density * bits);
}
