/* A decoded picture: allocation, and conversion of colour to grey (raster.h). */
#include "core/base/raster.h"

#include <stdlib.h>
#include <string.h>

enum status raster_create(struct raster *raster, int channels, int rows, int cols, struct error *err)
{
    *raster = (struct raster){.channels = channels, .rows = rows, .cols = cols};
    raster->values = malloc((size_t)channels * (size_t)rows * (size_t)cols * sizeof *raster->values);
    return raster->values ? STATUS_OK : error_memory(err, "a picture");
}

void raster_close(struct raster *raster)
{
    free(raster->values);
    *raster = (struct raster){0};
}

void raster_simplify(struct raster *raster)
{
    size_t plane = (size_t)raster->rows * (size_t)raster->cols;
    const float *v = raster->values;
    if (raster->channels == 3 && memcmp(v, v + plane, plane * sizeof *v) == 0 &&
        memcmp(v, v + 2 * plane, plane * sizeof *v) == 0)
        raster->channels = 1;
}

void raster_to_grey(struct raster *raster)
{
    size_t plane = (size_t)raster->rows * (size_t)raster->cols;
    float *v = raster->values;
    for (size_t i = 0; raster->channels == 3 && i < plane; i++)
        v[i] = (float)(0.2126 * (double)v[i] + 0.7152 * (double)v[plane + i] + 0.0722 * (double)v[2 * plane + i]);
    raster->channels = 1;
}
