/* Writes PNG files by cairo, and reads them by libpng, which reports errors with longjmp. The function that calls
 * setjmp therefore keeps every resource in a struct that outlives the jump, changes no local variable after it, and
 * calls another function for the work. */
#include "core/draw/png.h"

#include <cairo.h>
#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_MAX ((png_alloc_size_t)8 * 1024 * 1024)
#define CHUNKS_MAX 128
#define DEFLATE_BEST 1032 /* largest ratio of unpacked to packed bytes that a deflate stream can reach */

static void on_error(png_structp png, png_const_charp message)
{
    char *kept = png_get_error_ptr(png);
    strncpy(kept, message, 99);
    kept[99] = '\0';
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* -- encode ----------------------------------------------------------------------------------- */

static cairo_status_t png_append(void *context, const unsigned char *bytes, unsigned count)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

enum status png_encode(const struct picture *picture, struct buf *out, struct error *err)
{
    if (picture->incomplete)
        return error_memory(err, "a picture");
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data((unsigned char *)picture->pixels, CAIRO_FORMAT_RGB24, picture->cols,
                                            picture->rows, picture->cols * (int)sizeof *picture->pixels);
    cairo_status_t failed = cairo_surface_write_to_png_stream(surface, png_append, out);
    cairo_surface_destroy(surface);
    if (out->failed)
        return buf_status(out, "a PNG file", err);
    if (failed == CAIRO_STATUS_NO_MEMORY)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to write a PNG");
    return failed == CAIRO_STATUS_SUCCESS
               ? STATUS_OK
               : error_set(err, STATUS_INTERNAL, NULL, "PNG: %s", cairo_status_to_string(failed));
}

/* -- decode ----------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *bytes;
    size_t count, at;
    png_structp png;
    png_infop info;
    uint32_t rows, cols, max_side;
    enum status refused; /* why read_image() stopped, if libpng did not report the error */
    uint16_t *samples;   /* [rows][cols][channels] */
    png_bytep *lines;    /* [rows] pointers to the rows of `samples` */
    char message[100];
};

static void png_take(png_structp png, png_bytep out, size_t count)
{
    struct reader *r = png_get_io_ptr(png);
    if (count > r->count - r->at)
        png_error(png, "the file ends early");
    memcpy(out, r->bytes + r->at, count);
    r->at += count;
}

static void png_refuse(struct reader *r, enum status status, const char *why)
{
    r->refused = status;
    png_error(r->png, why);
}

/* Refuses a picture that is larger than the caller allows, or whose pixels cannot fit into a file of this length. */
static void check_size(struct reader *r)
{
    r->rows = png_get_image_height(r->png, r->info);
    r->cols = png_get_image_width(r->png, r->info);
    if (r->rows > r->max_side || r->cols > r->max_side)
        png_refuse(r, STATUS_LIMIT, "the picture is larger than allowed; a side has at most 4096 pixels");
    uint64_t packed = (uint64_t)r->rows * png_get_rowbytes(r->png, r->info);
    if (packed / DEFLATE_BEST > r->count)
        png_refuse(r, STATUS_CORRUPT, "the file is too short for the size that its header states; it is damaged");
}

/* Converts every picture to 16-bit grey or RGB, with or without alpha. */
static void read_image(struct reader *r)
{
    png_set_read_fn(r->png, r, png_take);
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(r->png, CHUNK_BYTES_MAX);
    png_set_chunk_cache_max(r->png, CHUNKS_MAX);
    png_read_info(r->png, r->info);
    check_size(r);
    png_set_expand_16(r->png);
    png_set_swap(r->png); /* PNG stores samples in big-endian order; the program needs little-endian order */
    (void)png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);

    size_t line_bytes = png_get_rowbytes(r->png, r->info);
    r->samples = calloc(r->rows, line_bytes);
    r->lines = malloc(r->rows * sizeof *r->lines);
    if (r->samples == NULL || r->lines == NULL)
        png_refuse(r, STATUS_NO_MEMORY, "not enough memory for the picture");
    for (uint32_t row = 0; row < r->rows; row++)
        r->lines[row] = (png_bytep)r->samples + row * line_bytes;
    png_read_image(r->png, r->lines);
    png_read_end(r->png, NULL);
}

static enum status read_guarded(struct reader *r, struct error *err)
{
    if (setjmp(png_jmpbuf(r->png)) != 0)
        return error_set(err, r->refused ? r->refused : STATUS_CORRUPT, NULL, "PNG: %s", r->message);
    read_image(r);
    return STATUS_OK;
}

/* Returns the orientation tag of the chunk eXIf; 1: there is none. */
static int png_orientation(const struct reader *r)
{
    png_bytep exif = NULL;
    png_uint_32 bytes = 0;
    if (png_get_eXIf_1(r->png, r->info, &bytes, &exif) == 0 || exif == NULL)
        return 1;
    return raster_exif_orientation(exif, bytes);
}

/* Transparent pixels are laid on white. */
static enum status to_planes(const struct reader *r, struct raster *raster, struct error *err)
{
    int channels = png_get_channels(r->png, r->info), planes = channels < 3 ? 1 : 3;
    size_t size = (size_t)r->rows * r->cols;
    float *alpha = NULL;
    enum status status = raster_create(raster, planes, (int)r->rows, (int)r->cols, err);
    if (!status && channels > planes && (alpha = malloc(size * sizeof *alpha)) == NULL)
        status = error_memory(err, "a picture");
    for (size_t i = 0; !status && i < size; i++) {
        const uint16_t *sample = r->samples + i * (size_t)channels;
        for (int k = 0; k < planes; k++)
            raster->values[(size_t)k * size + i] = (float)(sample[k] / 65535.0);
        if (alpha != NULL)
            alpha[i] = (float)(sample[planes] / 65535.0);
    }
    if (!status && alpha != NULL)
        raster_lay_on_white(raster, alpha, false);
    free(alpha);
    return status ? status : raster_turn(raster, png_orientation(r), err);
}

bool png_begins(const void *bytes, size_t count)
{
    return count >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

enum status png_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err)
{
    *raster = (struct raster){0};
    if (max_side < 1 || max_side > PNG_MAX_SIDE)
        max_side = PNG_MAX_SIDE;
    struct reader r = {.bytes = bytes, .count = count, .max_side = (uint32_t)max_side};
    enum status status = STATUS_NO_MEMORY;
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r.message, on_error, on_warning);
    r.info = r.png != NULL ? png_create_info_struct(r.png) : NULL;
    if (r.info != NULL)
        status = read_guarded(&r, err);
    else
        (void)error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a PNG");
    if (!status)
        status = to_planes(&r, raster, err);
    free(r.lines);
    free(r.samples);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (status)
        raster_close(raster);
    return status;
}

enum status png_decode_grey(const void *bytes, size_t count, int max_side, float **values, int *rows, int *cols,
                            struct error *err)
{
    struct raster raster;
    enum status status = png_decode(bytes, count, max_side, &raster, err);
    if (!status)
        raster_to_grey(&raster);
    *values = raster.values;
    *rows = raster.rows;
    *cols = raster.cols;
    return status;
}
