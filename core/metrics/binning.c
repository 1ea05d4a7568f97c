/* Bins of activations by quantiles, and the information that a sparse map can carry. */
#include "core/metrics/binning.h"

#include <math.h>

static int bin_of(const struct binning *b, double value)
{
    for (int i = 0; i < b->bins; i++)
        if (b->limit[i] > value)
            return i;
    return 0;
}

void binning_make(struct binning *b, int bins, const float *sorted, size_t count)
{
    double number[BINNING_BINS] = {0};
    *b = (struct binning){.bins = bins};
    for (int i = 0; i < bins; i++) {
        double place = (double)(i + 1) / bins * (double)(count - 1);
        size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
        b->limit[i] = (double)sorted[below] + (place - (double)below) * ((double)sorted[above] - (double)sorted[below]);
    }
    for (size_t i = 0; i < count; i++) {
        int bin = bin_of(b, (double)sorted[i]);
        b->mean[bin] += (double)sorted[i];
        number[bin]++;
    }
    for (int i = 0; i < bins; i++)
        b->mean[i] = number[i] > 0 ? b->mean[i] / number[i]
                                   : 0.5 * (b->limit[i] + (i > 0 ? b->limit[i - 1] : (double)sorted[0]));
}

double binning_apply(const struct binning *b, double value)
{
    return b->mean[bin_of(b, value)];
}

double binning_information(double elements, double density, double bits)
{
    if (!(density > 0) || density >= 1)
        return density > 0 ? elements * bits : 0;
    double entropy = -density * log2(density) - (1 - density) * log2(1 - density);
    return elements * (entropy + bits * density);
}
