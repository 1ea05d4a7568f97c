/* Tests that pictures of all formats are read: PNG, JPEG and TIFF, grey and in colour, with 8 and more bits; that
 * hostile and unsuitable files are refused; and that a tar of pictures keeps colours. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>
#include <unistd.h>
#include <jpeglib.h>
#include <tiffio.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "core/data/files/input_file.h"
#include "core/data/files/picture_file.h"
#include "core/draw/png.h"

enum { ROWS = 16, COLS = 24 };

struct file {
    unsigned char *bytes;
    size_t size;
};

/* The value of a pixel in a smooth test picture. */
static int value(int row, int col, int channel)
{
    return (channel == 0 ? 10 * row : channel == 1 ? 9 * col : 200 - 5 * row) & 255;
}

static struct file jpeg_of(int channels, int rows, int cols, bool progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct file file = {0};
    unsigned long size = 0;
    unsigned char *line = malloc((size_t)cols * (size_t)channels);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &file.bytes, &size);
    jpeg.image_width = (JDIMENSION)cols;
    jpeg.image_height = (JDIMENSION)rows;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < cols * channels; i++)
            line[i] = (unsigned char)value(row, i / channels, i % channels);
        jpeg_write_scanlines(&jpeg, &line, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(line);
    file.size = size;
    return file;
}

/* Makes a TIFF of `pages` pages with 8, 16 or 32 (float) bits for a value. */
static struct file tiff_of(int channels, int bits, int pages, uint16_t planar, uint16_t compression)
{
    char path[] = "/tmp/motif-test-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    TIFF *tiff = TIFFFdOpen(descriptor, path, "w");
    assert_non_null(tiff);
    for (int page = 0; page < pages; page++) {
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLS);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, ROWS);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, bits == 32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, planar);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, channels == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 5);
        int stored = planar == PLANARCONFIG_CONTIG ? channels : 1;
        for (int plane = 0; plane < channels / stored; plane++)
            for (int row = 0; row < ROWS; row++) {
                unsigned char line[COLS * 3 * 4];
                for (int i = 0; i < COLS * stored; i++) {
                    int v = value(row, i / stored, plane + i % stored);
                    uint16_t wide = (uint16_t)(v * 256 + 7);
                    float real = (float)v * 3.5F - 100;
                    if (bits == 8)
                        line[i] = (unsigned char)v;
                    else
                        memcpy(line + i * bits / 8, bits == 16 ? (void *)&wide : (void *)&real, (size_t)bits / 8);
                }
                assert_int_equal(TIFFWriteScanline(tiff, line, (uint32_t)row, (uint16_t)plane), 1);
            }
        assert_int_equal(TIFFWriteDirectory(tiff), 1);
    }
    TIFFClose(tiff);
    FILE *from = fopen(path, "rb");
    struct file file = {malloc(1 << 16), 0};
    file.size = fread(file.bytes, 1, 1 << 16, from);
    fclose(from);
    unlink(path);
    return file;
}

static struct file png_of(bool colour)
{
    struct picture *picture;
    struct buf out;
    assert_int_equal(picture_create(ROWS, COLS, (struct colour){0}, &picture, NULL), STATUS_OK);
    for (int i = 0; i < ROWS * COLS * 3; i++)
        picture->pixels[i] = (uint8_t)value(i / 3 / COLS, i / 3 % COLS, colour ? i % 3 : 0);
    buf_init(&out, 1 << 20);
    assert_int_equal(png_encode(picture, &out, NULL), STATUS_OK);
    struct file file = {malloc(out.size), out.size};
    memcpy(file.bytes, out.data, out.size);
    buf_close(&out);
    picture_destroy(picture);
    return file;
}

/* Reads the file, compares every pixel, and frees the file. scale, zero: pixel = (value + zero) * scale. */
static void reads(struct file file, int channels, double scale, double zero, double tolerance)
{
    struct raster raster;
    struct error err = {0};
    if (picture_file_read(file.bytes, file.size, &raster, &err))
        fail_msg("%s", err.message);
    assert_true(raster.channels == channels && raster.rows == ROWS && raster.cols == COLS);
    for (int k = 0; k < channels; k++)
        for (int i = 0; i < ROWS * COLS; i++) {
            double want = (value(i / COLS, i % COLS, k) + zero) * scale,
                   got = (double)raster.values[k * ROWS * COLS + i];
            if (fabs(got - want) > tolerance)
                fail_msg("channel %d, pixel %d is %g instead of %g", k, i, got, want);
        }
    raster_close(&raster);
    free(file.bytes);
}

static void colours_keep_their_planes(void **state)
{
    reads(png_of(true), 3, 1 / 255.0, 0, 1e-7);
    reads(jpeg_of(3, ROWS, COLS, false), 3, 1 / 255.0, 0, 0.06);
    reads(jpeg_of(3, ROWS, COLS, true), 3, 1 / 255.0, 0, 0.06);
    reads(tiff_of(3, 8, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE), 3, 1 / 255.0, 0, 1e-7);
    reads(tiff_of(3, 8, 1, PLANARCONFIG_SEPARATE, COMPRESSION_LZW), 3, 1 / 255.0, 0, 1e-7);
}

static void grey_pictures_have_one_plane(void **state)
{
    reads(png_of(false), 1, 1 / 255.0, 0, 1e-7);
    reads(jpeg_of(1, ROWS, COLS, false), 1, 1 / 255.0, 0, 0.02);
    reads(tiff_of(1, 8, 1, PLANARCONFIG_CONTIG, COMPRESSION_ADOBE_DEFLATE), 1, 1 / 255.0, 0, 1e-7);
}

static void tiff_keeps_more_than_eight_bits(void **state)
{
    reads(tiff_of(1, 16, 1, PLANARCONFIG_CONTIG, COMPRESSION_LZW), 1, 256 / 65535.0, 7 / 256.0, 1e-7);
    reads(tiff_of(3, 16, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE), 3, 256 / 65535.0, 7 / 256.0, 1e-7);
    reads(tiff_of(3, 16, 1, PLANARCONFIG_SEPARATE, COMPRESSION_NONE), 3, 256 / 65535.0, 7 / 256.0, 1e-7);
    reads(tiff_of(1, 32, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE), 1, 3.5, -100 / 3.5, 1e-4);
}

static void refuses(struct file file, enum status wanted, const char *says)
{
    struct raster raster;
    struct error err = {0};
    assert_int_equal(picture_file_read(file.bytes, file.size, &raster, &err), wanted);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
    assert_null(raster.values);
    free(file.bytes);
}

static void unsuitable_files_are_refused(void **state)
{
    refuses(tiff_of(1, 8, 2, PLANARCONFIG_CONTIG, COMPRESSION_NONE), STATUS_INVALID, "several pages");
    refuses(jpeg_of(4, ROWS, COLS, false), STATUS_INVALID, "only grey and RGB");
    refuses(jpeg_of(1, 8, RASTER_SIDE + 1, false), STATUS_LIMIT, "a side has at most 4096 pixels");
    refuses((struct file){(unsigned char *)strdup("GIF89a"), 6}, STATUS_CORRUPT, "neither a PNG nor a JPEG nor a TIFF");
}

static void files_that_are_cut_are_refused(void **state)
{
    struct file files[] = {jpeg_of(3, ROWS, COLS, false), jpeg_of(3, ROWS, COLS, true),
                           tiff_of(3, 8, 1, PLANARCONFIG_CONTIG, COMPRESSION_LZW),
                           tiff_of(1, 16, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE)};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        for (size_t cut = 0; cut + 2 < files[i].size; cut += 1 + files[i].size / 60) {
            struct raster raster;
            struct error err = {0};
            assert_int_not_equal(picture_file_read(files[i].bytes, cut, &raster, &err), STATUS_OK);
            assert_true(err.message[0] != '\0' && raster.values == NULL);
        }
        free(files[i].bytes);
    }
}

static void names_of_pictures_end_in_small_or_large_letters(void **state)
{
    assert_true(picture_file_named("a.PNG") && picture_file_named("x/b.jpeg") && picture_file_named("c.Tif"));
    assert_false(picture_file_named(".jpg") || picture_file_named("a.gif") || picture_file_named("jpg"));
}

/* ---- uploads and queries ------------------------------------------------------------------------------------ */

static void add(struct archive *a, const char *name, struct file file)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (int64_t)file.size);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, file.bytes, file.size), file.size);
    archive_entry_free(e);
    free(file.bytes);
}

static enum status read_tar(bool colour, struct collection *c)
{
    static char packed[1 << 18];
    size_t size;
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &size), ARCHIVE_OK);
    add(a, "a.png", png_of(false));
    add(a, "b.JPG", jpeg_of(1, ROWS, COLS, false));
    if (colour)
        add(a, "c.jpeg", jpeg_of(3, ROWS, COLS, false));
    add(a, "d.tif", tiff_of(1, 16, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    struct byte_source_memory memory = {(unsigned char *)packed, size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_limits limits = COLLECTION_LIMITS;
    struct collection_options options = {.label = "", .group = ""};
    return collection_read(collection_format_named("tar"), &from, &options, &limits, c, NULL);
}

static void one_coloured_picture_gives_all_samples_three_channels(void **state)
{
    struct collection c;
    assert_int_equal(read_tar(false, &c), STATUS_OK);
    assert_true(c.count == 3 && c.channels == 1 && c.rows == ROWS && c.cols == COLS);
    collection_close(&c);
    assert_int_equal(read_tar(true, &c), STATUS_OK);
    assert_true(c.count == 4 && c.channels == 3 && c.rows == ROWS && c.cols == COLS);
    for (int i = 0; i < ROWS * COLS; i++) {
        float grey[3 * ROWS * COLS], colour[3 * ROWS * COLS];
        collection_copy(&c, 0, 3 * ROWS * COLS, grey);
        collection_copy(&c, collection_begin(&c, 2), 3 * ROWS * COLS, colour);
        assert_true(grey[i] == (float)(value(i / COLS, i % COLS, 0) / 255.0) && grey[i] == grey[ROWS * COLS + i] &&
                    grey[i] == grey[2 * ROWS * COLS + i]);
        assert_true(fabs((double)colour[ROWS * COLS + i] - value(i / COLS, i % COLS, 1) / 255.0) < 0.06);
    }
    collection_close(&c);
}

static enum status take(void *context, int rank, const int64_t *dim, float *values, struct error *err)
{
    int64_t *shape = context;
    shape[0] = rank;
    for (int i = 0; i < rank; i++)
        shape[1 + i] = dim[i];
    free(values);
    return STATUS_OK;
}

static void queries_take_pictures_of_all_formats(void **state)
{
    struct file files[] = {png_of(true), jpeg_of(3, ROWS, COLS, false),
                           tiff_of(1, 8, 1, PLANARCONFIG_CONTIG, COMPRESSION_NONE)};
    static const char *const types[] = {"image/png", "image/jpeg", "image/tiff"};
    for (int i = 0; i < 3; i++) {
        int64_t shape[5] = {0};
        const struct input_file_sink to = {shape, take};
        assert_int_equal(input_file_read(types[i], files[i].bytes, files[i].size, &to, NULL), STATUS_OK);
        assert_int_equal(shape[0], i < 2 ? 3 : 2);
        assert_true(shape[shape[0]] == COLS && shape[shape[0] - 1] == ROWS && (i == 2 || shape[1] == 3));
        free(files[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_keep_their_planes),
        cmocka_unit_test(grey_pictures_have_one_plane),
        cmocka_unit_test(tiff_keeps_more_than_eight_bits),
        cmocka_unit_test(unsuitable_files_are_refused),
        cmocka_unit_test(files_that_are_cut_are_refused),
        cmocka_unit_test(names_of_pictures_end_in_small_or_large_letters),
        cmocka_unit_test(one_coloured_picture_gives_all_samples_three_channels),
        cmocka_unit_test(queries_take_pictures_of_all_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
