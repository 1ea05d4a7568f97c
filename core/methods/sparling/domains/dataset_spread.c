/* Measures the numbers of the training part, by which a model standardises its targets (dataset_spread.h). */
#include "core/methods/sparling/domains/dataset_spread.h"

#include <math.h>

void dataset_spread(const struct collection *c, const int64_t *sample, int64_t count, double *mean, double *deviation)
{
    int width = c->vocabulary.count;
    for (int k = 0; k < width; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < count; i++)
            sum += (double)c->number[sample[i] * width + k];
        mean[k] = sum / (double)count;
        for (int64_t i = 0; i < count; i++)
            squares += pow((double)c->number[sample[i] * width + k] - mean[k], 2);
        deviation[k] = sqrt(squares / (double)count);
        deviation[k] = deviation[k] > 0 ? deviation[k] : 1;
    }
}
