/* Measures the numbers of the training part, by which a model standardises its targets (dataset_spread.h). */
#include "core/methods/sparling/domains/dataset_spread.h"

#include <math.h>
#include <stdlib.h>

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

/* Scales by the medians of values at evenly spaced positions, of all channels together or (own) of each. */
static enum status scale_robustly(const struct collection *c, bool own, struct scale *scale, struct error *err)
{
    enum { VALUES = 1 << 20 };
    const int columns = own ? c->channels : 1;
    const int64_t all = collection_begin(c, c->count) / columns, step = all * columns / VALUES + 1;
    float *x = malloc((size_t)(all / step + 1) * (size_t)columns * sizeof *x);
    int count = 0;
    if (!x)
        return error_memory(err, "a scale");
    for (int64_t at = 0, sample = 0, before = 0; at < all; at += step) {
        if (!own) {
            x[count++] = collection_value(c, at);
            continue;
        }
        while (at - before >= collection_length(c, sample)) /* a signal has one row */
            before += collection_length(c, sample++);
        for (int k = 0; k < columns; k++)
            x[(int64_t)count * columns + k] =
                collection_value(c, collection_begin(c, sample) + k * collection_length(c, sample) + at - before);
        count++;
    }
    enum status status =
        scale_fit(SCALE_ROBUST, true, x, NULL, count, columns, NULL, "/config/dataset_name", scale, err);
    free(x);
    return status;
}

enum status dataset_scale(const struct collection *c, const struct collection_moments *all, struct scale *scale,
                          struct error *err)
{
    const bool plain = c->scale == SCALE_NONE || c->kind == COLLECTION_TEXTS ||
                       (c->scale == SCALE_AUTO && all->min >= 0 && all->max <= 1);
    const bool own = c->rows == 1 && c->channels > 1 && !plain;
    if (c->scale == SCALE_ROBUST)
        return scale_robustly(c, own, scale, err);
    enum status status = scale_create(plain ? SCALE_NONE : SCALE_STANDARD, own ? c->channels : 1, scale, err);
    if (status || plain)
        return status;
    scale_by(scale, 0, all);
    for (int k = 0; own && k < c->channels; k++) {
        const struct collection_moments channel = collection_measure_channel(c, k);
        scale_by(scale, k, &channel);
    }
    return STATUS_OK;
}
