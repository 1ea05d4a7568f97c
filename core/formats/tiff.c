/* Reads TIFF files through libtiff (tiff.h). The library reads from memory through callbacks, so that it opens no file.
 * Numbers are read as they are stored. The library's own conversion to RGBA, which has 8 bits, reads only CMYK, YCbCr
 * and CIE L*a*b*. */
#include "core/formats/tiff.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#include "core/formats/npy.h"

#define PAGES 32 /* upper limit of the pages, all but one of which are versions of the first */
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

/* How a page stores its pixels. */
struct layout {
    uint32_t rows, cols;
    uint16_t bits, samples, format, planar, photometric, compression, orientation;
    int alpha; /* which sample of a pixel is its opacity; -1: none */
    bool multiplied;
};

static void read_layout(TIFF *tiff, struct layout *l)
{
    uint16_t extras = 0, *extra = NULL;
    *l = (struct layout){.alpha = -1};
    (void)TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &l->rows);
    (void)TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &l->cols);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &l->bits);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &l->format);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &l->planar);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &l->compression);
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &l->orientation);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &l->photometric))
        l->photometric = PHOTOMETRIC_MINISBLACK;
    if (l->format == SAMPLEFORMAT_VOID)
        l->format = SAMPLEFORMAT_UINT;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extras, &extra) && extras < l->samples)
        for (uint16_t i = 0; i < extras && l->alpha < 0; i++)
            if (extra[i] == EXTRASAMPLE_ASSOCALPHA || extra[i] == EXTRASAMPLE_UNASSALPHA) {
                l->alpha = l->samples - extras + i;
                l->multiplied = extra[i] == EXTRASAMPLE_ASSOCALPHA;
            }
    /* libtiff's decoder of JPEG converts the colours itself */
    if (l->compression == COMPRESSION_JPEG && l->photometric == PHOTOMETRIC_YCBCR && l->planar == PLANARCONFIG_CONTIG &&
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB))
        l->photometric = PHOTOMETRIC_RGB;
}

/* Whether the samples are numbers that sample_at() reads, one for each plane. */
static bool is_plain(const struct layout *l)
{
    static const uint16_t sizes[] = {8, 16, 32, 64};
    bool whole = false;
    for (int i = 0; i < 4; i++)
        whole = whole || l->bits == sizes[i];
    bool number = l->format == SAMPLEFORMAT_UINT     ? whole || (l->bits >= 1 && l->bits < 32)
                  : l->format == SAMPLEFORMAT_INT    ? whole
                  : l->format == SAMPLEFORMAT_IEEEFP ? whole && l->bits > 8
                                                     : false;
    bool grey = l->photometric == PHOTOMETRIC_MINISBLACK || l->photometric == PHOTOMETRIC_MINISWHITE ||
                l->photometric == PHOTOMETRIC_MASK;
    bool colour = l->photometric == PHOTOMETRIC_RGB && l->samples >= 3;
    bool palette =
        l->photometric == PHOTOMETRIC_PALETTE && l->samples == 1 && l->bits <= 16 && l->format == SAMPLEFORMAT_UINT;
    return number && (grey || colour || palette);
}

static uint64_t bits_at(const unsigned char *line, size_t at, int bits)
{
    uint64_t number = 0;
    for (size_t i = at * (size_t)bits; i < (at + 1) * (size_t)bits; i++) /* the highest bit of a byte comes first */
        number = number << 1 | (line[i / 8] >> (7 - i % 8) & 1);
    return number;
}

static uint64_t whole_at(const unsigned char *line, size_t at, int bits)
{
    uint64_t number = 0; /* libtiff has put the bytes of such a number into the machine's order, little-endian */
    if (bits % 8 != 0 || bits == 24)
        return bits_at(line, at, bits);
    memcpy(&number, line + at * (size_t)(bits / 8), (size_t)(bits / 8));
    return number;
}

/* A sample as it is stored; unsigned numbers are not scaled yet. */
static double sample_at(const unsigned char *line, size_t at, const struct layout *l)
{
    uint64_t number = whole_at(line, at, l->bits);
    double real;
    float single;
    if (l->format == SAMPLEFORMAT_UINT)
        return (double)number;
    if (l->format == SAMPLEFORMAT_INT)
        return (double)((int64_t)(number << (64 - l->bits)) >> (64 - l->bits));
    if (l->bits == 64) {
        memcpy(&real, &number, sizeof real);
        return real;
    }
    if (l->bits == 32) {
        memcpy(&single, &number, sizeof single);
        return (double)single;
    }
    return (double)npy_half(number);
}

/* Where the lines of a page go. */
struct page {
    struct layout l;
    double most;               /* largest number of unsigned samples */
    const uint16_t *colour[3]; /* the palette, if there is one */
    double colour_most;        /* of the palette: 65535, or 255 where a program stored 8 bits */
    float *values;             /* [planes][rows][cols] */
    bool rounded;
    struct error *err;
};

static void read_palette(TIFF *tiff, struct page *p)
{
    uint16_t *red, *green, *blue;
    if (p->l.photometric != PHOTOMETRIC_PALETTE || !TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue))
        return;
    p->colour[0] = red;
    p->colour[1] = green;
    p->colour[2] = blue;
    p->colour_most = 255;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 1 << p->l.bits; i++)
            if (p->colour[k][i] > 255)
                p->colour_most = 65535;
}

static enum status put_value(struct page *p, int plane, uint32_t row, uint32_t col, double v)
{
    size_t size = (size_t)p->l.rows * p->l.cols, at = (size_t)row * p->l.cols + col;
    if (p->colour[0]) {
        for (size_t k = 0; k < 3; k++)
            p->values[k * size + at] = (float)(p->colour[k][(int)v] / p->colour_most);
        return STATUS_OK;
    }
    if (p->l.format == SAMPLEFORMAT_UINT)
        v = (p->l.photometric == PHOTOMETRIC_MINISWHITE && plane != p->l.alpha ? p->most - v : v) / p->most;
    else if (!isfinite(v))
        return error_set(p->err, STATUS_INVALID, NULL,
                         "TIFF: row %u has a value that is not finite; replace it by a number", row);
    else if (fabs(v) > (double)FLT_MAX)
        return error_set(p->err, STATUS_INVALID, NULL,
                         "TIFF: row %u has the value %g, which is beyond single precision (3.4e38)", row, v);
    p->values[(size_t)plane * size + at] = (float)v;
    p->rounded = p->rounded || (p->l.format == SAMPLEFORMAT_INT && (double)(float)v != v);
    return STATUS_OK;
}

/* Takes `count` pixels of a line that libtiff has decoded, for the row and the columns from `col`. The line contains
 * all samples of each pixel, or only sample `plane` if the file stores each plane separately. */
static enum status put_line(struct page *p, const unsigned char *line, uint16_t plane, uint32_t row, uint32_t col,
                            uint32_t count)
{
    size_t stored = p->l.planar == PLANARCONFIG_CONTIG ? p->l.samples : 1;
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < count * stored; i++)
        status = put_value(p, (int)(plane + i % stored), row, col + (uint32_t)(i / stored), sample_at(line, i, &p->l));
    return status;
}

static enum status undecoded(const struct memory *m, uint32_t row, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL, "TIFF: row %u cannot be decoded%s%s", row, m->message[0] ? ": " : "",
                     m->message);
}

static enum status read_strips(TIFF *tiff, struct page *p, uint16_t plane, unsigned char *line, const struct memory *m)
{
    enum status status = STATUS_OK;
    for (uint32_t row = 0; !status && row < p->l.rows; row++)
        status = TIFFReadScanline(tiff, line, row, plane) == 1 ? put_line(p, line, plane, row, 0, p->l.cols)
                                                               : undecoded(m, row, p->err);
    return status;
}

static enum status read_tiles(TIFF *tiff, struct page *p, uint16_t plane, unsigned char *tile, const struct memory *m)
{
    uint32_t high = 1, wide = 1;
    (void)TIFFGetField(tiff, TIFFTAG_TILELENGTH, &high);
    (void)TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &wide);
    size_t line = (size_t)TIFFTileRowSize64(tiff);
    enum status status = STATUS_OK;
    for (uint32_t row = 0; !status && row < p->l.rows; row += high)
        for (uint32_t col = 0; !status && col < p->l.cols; col += wide) {
            if (TIFFReadTile(tiff, tile, col, row, 0, plane) < 0)
                return undecoded(m, row, p->err);
            uint32_t rows = p->l.rows - row < high ? p->l.rows - row : high;
            uint32_t cols = p->l.cols - col < wide ? p->l.cols - col : wide;
            for (uint32_t i = 0; !status && i < rows; i++)
                status = put_line(p, tile + i * line, plane, row + i, col, cols);
        }
    return status;
}

static enum status read_samples(TIFF *tiff, struct page *p, const struct memory *m)
{
    bool tiled = TIFFIsTiled(tiff);
    size_t stored = p->l.planar == PLANARCONFIG_CONTIG ? p->l.samples : 1;
    uint64_t bytes = tiled ? TIFFTileSize64(tiff) : TIFFScanlineSize64(tiff), wide = p->l.cols;
    uint32_t side = 0;
    if (tiled && TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &side))
        wide = side;
    uint64_t line = tiled ? TIFFTileRowSize64(tiff) : bytes;
    if (bytes > (uint64_t)LIBRARY_BYTES || line < (wide * stored * p->l.bits + 7) / 8)
        return error_set(p->err, STATUS_CORRUPT, NULL, "TIFF: lines of an unexpected size");
    unsigned char *room = calloc(1, (size_t)bytes);
    if (!room)
        return error_memory(p->err, "a picture");
    enum status status = STATUS_OK;
    for (uint16_t plane = 0; !status && plane < p->l.samples / stored; plane++)
        status = tiled ? read_tiles(tiff, p, plane, room, m) : read_strips(tiff, p, plane, room, m);
    free(room);
    return status;
}

/* Takes the opacity out of the planes and lays the picture on white. */
static enum status drop_alpha(const struct layout *l, struct raster *raster, struct error *err)
{
    size_t size = (size_t)l->rows * l->cols;
    float *alpha = malloc(size * sizeof *alpha), *from = raster->values + (size_t)l->alpha * size;
    if (!alpha)
        return error_memory(err, "a picture");
    memcpy(alpha, from, size * sizeof *alpha);
    memmove(from, from + size, (size_t)(raster->channels - l->alpha - 1) * size * sizeof *from);
    raster->channels--;
    raster_lay_on_white(raster, alpha, l->multiplied);
    free(alpha);
    return STATUS_OK;
}

static enum status read_plain(TIFF *tiff, const struct layout *l, const struct memory *m, struct raster *raster,
                              struct error *err)
{
    struct page p = {.l = *l, .most = ldexp(1, l->bits) - 1, .err = err};
    if (l->bits == 64)
        p.most = 18446744073709551615.0;
    read_palette(tiff, &p);
    if (l->photometric == PHOTOMETRIC_PALETTE && !p.colour[0])
        return error_set(err, STATUS_CORRUPT, NULL, "TIFF: the palette is missing");
    if (l->samples > RASTER_PLANES || (uint64_t)l->samples * l->rows * l->cols > 3ULL * RASTER_SIDE * RASTER_SIDE)
        return error_set(err, STATUS_LIMIT, NULL, "TIFF: the picture has too many planes; at most %d are read",
                         RASTER_PLANES);
    enum status status = raster_create(raster, p.colour[0] ? 3 : l->samples, (int)l->rows, (int)l->cols, err);
    if (status)
        return status;
    p.values = raster->values;
    status = read_samples(tiff, &p, m);
    raster->rounded = p.rounded;
    /* on which ground signed and real values lie is unknown: their opacity stays a plane */
    if (status || l->alpha < 0 || l->format != SAMPLEFORMAT_UINT || raster->channels < 2)
        return status;
    return drop_alpha(l, raster, err);
}

/* Reads any picture through the library's conversion to 8-bit RGBA, whose colours are multiplied by alpha. The library
 * delivers the rows as stored, because the orientation that it is asked for is that of the file. */
static enum status read_rgba(TIFF *tiff, const struct layout *l, const struct memory *m, struct raster *raster,
                             struct error *err)
{
    size_t size = (size_t)l->rows * l->cols;
    uint32_t *pixels = malloc(size * sizeof *pixels);
    enum status status =
        pixels ? raster_create(raster, 3, (int)l->rows, (int)l->cols, err) : error_memory(err, "a picture");
    float *alpha = status ? NULL : malloc(size * sizeof *alpha);
    if (!status && !alpha)
        status = error_memory(err, "a picture");
    (void)TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (!status && !TIFFReadRGBAImageOriented(tiff, l->cols, l->rows, pixels, ORIENTATION_TOPLEFT, 1))
        status = error_set(err, STATUS_CORRUPT, NULL, "TIFF: %s", m->message[0] ? m->message : "it cannot be decoded");
    for (size_t i = 0; !status && i < size; i++) {
        raster->values[i] = (float)(TIFFGetR(pixels[i]) / 255.0);
        raster->values[size + i] = (float)(TIFFGetG(pixels[i]) / 255.0);
        raster->values[2 * size + i] = (float)(TIFFGetB(pixels[i]) / 255.0);
        alpha[i] = (float)(TIFFGetA(pixels[i]) / 255.0);
    }
    if (!status)
        raster_lay_on_white(raster, alpha, true);
    free(alpha);
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
    enum status status = is_plain(&l) ? read_plain(tiff, &l, m, raster, err)
                         : l.bits <= 8 && l.format == SAMPLEFORMAT_UINT
                             ? read_rgba(tiff, &l, m, raster, err)
                             : error_set(err, STATUS_INVALID, NULL,
                                         "TIFF: %d-bit samples of this kind cannot be read; save whole numbers or "
                                         "32-bit floating-point numbers, grey or RGB",
                                         l.bits);
    return status ? status : raster_turn(raster, l.orientation, err);
}

/* Refuses a file with several pictures. Smaller versions and masks of the first picture do not count. */
static enum status check_pages(TIFF *tiff, struct error *err)
{
    for (int page = 1; !TIFFLastDirectory(tiff); page++) {
        uint32_t kind = 0;
        if (page > PAGES || !TIFFReadDirectory(tiff))
            return error_set(err, STATUS_CORRUPT, NULL, "TIFF: page %d cannot be read", page + 1);
        (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind);
        if (!(kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)))
            return error_set(err, STATUS_INVALID, NULL, "TIFF: the file has several pages; save each page as a file");
    }
    return TIFFSetDirectory(tiff, 0) ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "TIFF: page 1 cannot be read");
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
    enum status status = check_pages(tiff, err);
    if (!status)
        status = read_picture(tiff, &m, (uint32_t)(max_side < RASTER_SIDE ? max_side : RASTER_SIDE), raster, err);
    TIFFClose(tiff);
    if (status)
        raster_close(raster);
    return status;
}
