/* A decoded picture: allocation, colours, transparency and orientation (raster.h). */
#include "core/base/raster.h"

#include <stdint.h>
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
    if (raster->channels != 3)
        return;
    for (size_t i = 0; i < plane; i++)
        v[i] = (float)(0.2126 * (double)v[i] + 0.7152 * (double)v[plane + i] + 0.0722 * (double)v[2 * plane + i]);
    raster->channels = 1;
}

void raster_lay_on_white(struct raster *raster, const float *alpha, bool multiplied)
{
    size_t plane = (size_t)raster->rows * (size_t)raster->cols;
    for (size_t i = 0; i < plane; i++) {
        raster->transparent = raster->transparent || alpha[i] < 1;
        for (int k = 0; alpha[i] < 1 && k < raster->channels; k++) {
            float *v = &raster->values[(size_t)k * plane + i];
            *v = (multiplied ? *v : *v * alpha[i]) + (1 - alpha[i]);
        }
    }
}

/* The orientations are those of TIFF 6.0, page 36: 5 to 8 exchange rows and columns. These three functions say from
 * where in the stored picture a pixel comes. */
static bool exchanges(int orientation)
{
    return orientation >= 5;
}

static bool mirrors_rows(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static bool mirrors_cols(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

enum status raster_turn(struct raster *raster, int orientation, struct error *err)
{
    if (orientation < 2 || orientation > 8)
        return STATUS_OK;
    int stored_rows = raster->rows, stored_cols = raster->cols;
    size_t plane = (size_t)stored_rows * (size_t)stored_cols;
    float *turned = malloc((size_t)raster->channels * plane * sizeof *turned), *to = turned;
    if (!turned)
        return error_memory(err, "a picture");
    if (exchanges(orientation)) {
        raster->rows = stored_cols;
        raster->cols = stored_rows;
    }
    for (int k = 0; k < raster->channels; k++)
        for (int row = 0; row < raster->rows; row++)
            for (int col = 0; col < raster->cols; col++) {
                int r = exchanges(orientation) ? col : row, c = exchanges(orientation) ? row : col;
                r = mirrors_rows(orientation) ? stored_rows - 1 - r : r;
                c = mirrors_cols(orientation) ? stored_cols - 1 - c : c;
                *to++ = raster->values[(size_t)k * plane + (size_t)r * (size_t)stored_cols + (size_t)c];
            }
    free(raster->values);
    raster->values = turned;
    raster->orientation = orientation;
    return STATUS_OK;
}

void raster_turn_place(const struct raster *turned, int32_t place[4])
{
    int o = turned->orientation;
    if (o < 2)
        return;
    int stored_rows = exchanges(o) ? turned->cols : turned->rows,
        stored_cols = exchanges(o) ? turned->rows : turned->cols;
    int32_t row[2] = {place[0], place[1]}, col[2] = {place[2], place[3]};
    if (mirrors_rows(o)) {
        row[0] = stored_rows - place[1];
        row[1] = stored_rows - place[0];
    }
    if (mirrors_cols(o)) {
        col[0] = stored_cols - place[3];
        col[1] = stored_cols - place[2];
    }
    memcpy(place, exchanges(o) ? col : row, sizeof row);
    memcpy(place + 2, exchanges(o) ? row : col, sizeof row);
}

static uint32_t exif_number(const unsigned char *at, int bytes, bool big)
{
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | at[big ? i : bytes - 1 - i];
    return number;
}

int raster_exif_orientation(const void *bytes, size_t count)
{
    enum { HEAD = 8, ENTRY = 12, TAG = 274, SHORT = 3 };
    const unsigned char *b = bytes;
    if (count < HEAD || (memcmp(b, "II*\0", 4) != 0 && memcmp(b, "MM\0*", 4) != 0))
        return 1;
    bool big = b[0] == 'M';
    size_t at = exif_number(b + 4, 4, big);
    if (at > count - 2)
        return 1;
    size_t entries = exif_number(b + at, 2, big);
    for (at += 2; entries > 0 && at + ENTRY <= count; entries--, at += ENTRY)
        if (exif_number(b + at, 2, big) == TAG && exif_number(b + at + 2, 2, big) == SHORT) {
            uint32_t orientation = exif_number(b + at + 8, 2, big);
            return orientation >= 1 && orientation <= 8 ? (int)orientation : 1;
        }
    return 1;
}
