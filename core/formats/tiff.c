/* Reads TIFF files through libtiff (tiff.h). The library reads from memory through callbacks, so that it opens no file.
 * Pictures of more than 8 bits are read line by line, because the library's own conversion to RGBA has 8 bits. */
#include "core/formats/tiff.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#define LIBRARY_BYTES ((tmsize_t)256 << 20) /* upper limit of the bytes that libtiff allocates at once */

struct memory {
    const unsigned char *bytes;
    uint64_t count, at;
    char message[120]; /* the first error of the library */
};

static tmsize_t tiff_take(thandle_t handle, void *to, tmsize_t count)
{
    struct memory *m = handle;
    uint64_t left = m->at < m->count ? m->count - m->at : 0, now = (uint64_t)count < left ? (uint64_t)count : left;
    memcpy(to, m->bytes + (now > 0 ? m->at : 0), (size_t)now);
    m->at += now;
    return (tmsize_t)now;
}

static tmsize_t tiff_put(thandle_t handle, void *from, tmsize_t count)
{
    (void)handle;
    (void)from;
    (void)count;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    struct memory *m = handle;
    uint64_t base = whence == SEEK_CUR ? m->at : whence == SEEK_END ? m->count : 0;
    m->at = base + offset;
    return m->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((struct memory *)handle)->count;
}

static int on_error(TIFF *tiff, void *context, const char *module, const char *format, va_list list)
{
    struct memory *m = context;
    (void)tiff;
    (void)module;
    if (m->message[0] == '\0')
        (void)vsnprintf(m->message, sizeof m->message, format, list);
    return 1; /* the library prints nothing */
}

static int on_warning(TIFF *tiff, void *context, const char *module, const char *format, va_list list)
{
    (void)tiff;
    (void)context;
    (void)module;
    (void)format;
    (void)list;
    return 1;
}

static TIFF *open_memory(struct memory *m)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, LIBRARY_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, m);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, m);
    /* 'm' in the mode: do not map the file; 'h': read only the header at first */
    TIFF *tiff =
        TIFFClientOpenExt("upload", "rmh", m, tiff_take, tiff_put, seek, close_nothing, size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

struct layout {
    uint32_t rows, cols;
    uint16_t bits, samples, format, planar, photometric;
};

static void read_layout(TIFF *tiff, struct layout *l)
{
    *l = (struct layout){0};
    (void)TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &l->rows);
    (void)TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &l->cols);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &l->bits);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &l->format);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &l->planar);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &l->photometric))
        l->photometric = PHOTOMETRIC_MINISBLACK;
}

/* Whether read_lines() reads this kind of picture: 16-bit integers or 32-bit floats, grey or RGB, in strips. */
static bool is_deep(TIFF *tiff, const struct layout *l)
{
    bool number =
        (l->bits == 16 && l->format == SAMPLEFORMAT_UINT) || (l->bits == 32 && l->format == SAMPLEFORMAT_IEEEFP);
    bool grey =
        l->samples == 1 && (l->photometric == PHOTOMETRIC_MINISBLACK || l->photometric == PHOTOMETRIC_MINISWHITE);
    bool colour = l->samples == 3 && l->photometric == PHOTOMETRIC_RGB;
    return number && (grey || colour) && !TIFFIsTiled(tiff);
}

static float value_at(const unsigned char *line, size_t at, const struct layout *l)
{
    uint16_t whole;
    float real;
    if (l->bits == 32) {
        memcpy(&real, line + 4 * at, sizeof real);
        return real;
    }
    memcpy(&whole, line + 2 * at, sizeof whole);
    return (float)((l->photometric == PHOTOMETRIC_MINISWHITE ? 65535 - whole : whole) / 65535.0);
}

/* Converts a line that libtiff has decoded, and writes it to row `row` of *raster. The line contains all samples of
 * each pixel, or only sample `plane` if the file stores each plane separately. */
static enum status copy_line(const unsigned char *line, const struct layout *l, uint32_t row, uint16_t plane,
                             struct raster *raster, struct error *err)
{
    size_t size = (size_t)l->rows * l->cols, stored = l->planar == PLANARCONFIG_CONTIG ? l->samples : 1;
    for (size_t i = 0; i < l->cols * stored; i++) {
        float value = value_at(line, i, l);
        if (!isfinite(value))
            return error_set(err, STATUS_INVALID, NULL, "TIFF: row %u has a value that is not finite", row);
        raster->values[(plane + i % stored) * size + (size_t)row * l->cols + i / stored] = value;
    }
    return STATUS_OK;
}

static enum status read_lines(TIFF *tiff, const struct layout *l, struct raster *raster, struct error *err)
{
    size_t stored = l->planar == PLANARCONFIG_CONTIG ? l->samples : 1, bytes = l->cols * stored * l->bits / 8;
    unsigned char *line = TIFFScanlineSize64(tiff) == bytes ? calloc(1, bytes) : NULL;
    if (!line)
        return error_set(err, STATUS_CORRUPT, NULL, "TIFF: lines of an unexpected size");
    enum status status = raster_create(raster, l->samples, (int)l->rows, (int)l->cols, err);
    uint16_t planes = (uint16_t)(l->samples / stored);
    for (uint16_t plane = 0; !status && plane < planes; plane++)
        for (uint32_t row = 0; !status && row < l->rows; row++)
            status = TIFFReadScanline(tiff, line, row, plane) == 1
                         ? copy_line(line, l, row, plane, raster, err)
                         : error_set(err, STATUS_CORRUPT, NULL, "TIFF: row %u cannot be decoded", row);
    free(line);
    return status;
}

/* Reads any picture through the library's conversion to 8-bit RGBA, whose colours are multiplied by alpha. */
static enum status read_rgba(TIFF *tiff, const struct layout *l, const struct memory *m, struct raster *raster,
                             struct error *err)
{
    size_t size = (size_t)l->rows * l->cols;
    uint32_t *pixels = malloc(size * sizeof *pixels);
    enum status status =
        pixels ? raster_create(raster, 3, (int)l->rows, (int)l->cols, err) : error_memory(err, "a picture");
    if (!status && !TIFFReadRGBAImageOriented(tiff, l->cols, l->rows, pixels, ORIENTATION_TOPLEFT, 1))
        status = error_set(err, STATUS_CORRUPT, NULL, "TIFF: %s", m->message[0] ? m->message : "it cannot be decoded");
    for (size_t i = 0; !status && i < size; i++) {
        raster->values[i] = (float)(TIFFGetR(pixels[i]) / 255.0);
        raster->values[size + i] = (float)(TIFFGetG(pixels[i]) / 255.0);
        raster->values[2 * size + i] = (float)(TIFFGetB(pixels[i]) / 255.0);
    }
    free(pixels);
    return status;
}

bool tiff_begins(const void *bytes, size_t count)
{
    return count >= 4 && (memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
                          memcmp(bytes, "II+\0", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0);
}

static enum status read_picture(TIFF *tiff, const struct memory *m, uint32_t max_side, struct raster *raster,
                                struct error *err)
{
    struct layout l;
    read_layout(tiff, &l);
    if (l.rows == 0 || l.cols == 0)
        return error_set(err, STATUS_CORRUPT, NULL, "TIFF: the picture has no pixels");
    if (l.rows > max_side || l.cols > max_side)
        return error_set(err, STATUS_LIMIT, NULL,
                         "TIFF: the picture is larger than allowed; a side has at most %u pixels", max_side);
    if (!TIFFLastDirectory(tiff))
        return error_set(err, STATUS_INVALID, NULL, "TIFF: the file has several pages; save each page as a file");
    return is_deep(tiff, &l) ? read_lines(tiff, &l, raster, err) : read_rgba(tiff, &l, m, raster, err);
}

enum status tiff_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err)
{
    struct memory m = {.bytes = bytes, .count = count};
    *raster = (struct raster){0};
    TIFF *tiff = tiff_begins(bytes, count) ? open_memory(&m) : NULL;
    if (!tiff || !TIFFReadDirectory(tiff)) {
        if (tiff)
            TIFFClose(tiff);
        return error_set(err, STATUS_CORRUPT, NULL, "TIFF: %s",
                         m.message[0] ? m.message : "the bytes are no TIFF file");
    }
    enum status status =
        read_picture(tiff, &m, (uint32_t)(max_side < RASTER_SIDE ? max_side : RASTER_SIDE), raster, err);
    TIFFClose(tiff);
    if (status)
        raster_close(raster);
    return status;
}
