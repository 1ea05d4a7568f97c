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

/* Sets a column of the scale to the mean and the deviation of values, and its range to that of the values. */
static void scale_by(struct scale *scale, int column, const struct collection_moments *m)
{
    double mean = m->sum / (double)m->count, deviation = sqrt(fmax(m->squares / (double)m->count - mean * mean, 0));
    scale->shift[column] = mean;
    scale->unit[column] = deviation > 0 ? deviation : 1;
    scale->low[column] = (m->min - scale->shift[column]) / scale->unit[column];
    scale->high[column] = (m->max - scale->shift[column]) / scale->unit[column];
}

enum status dataset_scale(const struct collection *c, const struct collection_moments *all, struct scale *scale,
                          struct error *err)
{
    const bool plain = all->min >= 0 && all->max <= 1, own = c->rows == 1 && c->channels > 1 && !plain;
    enum status status = scale_create(SCALE_STANDARD, own ? c->channels : 1, scale, err);
    if (status || plain)
        return status;
    scale_by(scale, 0, all);
    for (int k = 0; own && k < c->channels; k++) {
        const struct collection_moments channel = collection_measure_channel(c, k);
        scale_by(scale, k, &channel);
    }
    return STATUS_OK;
}
