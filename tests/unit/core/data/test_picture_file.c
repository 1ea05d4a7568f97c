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
        picture->pixels[i / 3] |= (uint32_t)value(i / 3 / COLS, i / 3 % COLS, colour ? i % 3 : 0) << (16 - 8 * (i % 3));
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

/* A kind of TIFF file. The samples of pixel (row, col) are stored() of it. */
struct variant {
    int bits;
    uint16_t format, photometric, samples, planar, compression,
        extra; /* extra: EXTRASAMPLE_ of the last sample; 9: none */
    int tile;  /* side of a tile; 0: strips of 5 rows */
    uint16_t orientation;
};

enum { NO_EXTRA = 9 };

/* The number that is stored: whole, and of every size and sign that the variant can hold. */
static double stored(const struct variant *v, int row, int col, int k)
{
    double number = row * 37 + col * 11 + k * 5;
    if (v->format == SAMPLEFORMAT_UINT)
        return v->bits == 64   ? ldexp(number, 53)
               : v->bits == 32 ? number * 4194304
                               : fmod(number * (v->bits > 8 ? 97 : 1), ldexp(1, v->bits));
    return v->bits == 8 ? fmod(number, 256) - 128 : number - 500;
}

/* Writes a number in the machine's order, or as packed bits if it does not fill bytes. */
static void put_number(const struct variant *v, unsigned char *line, size_t at, double number)
{
    uint64_t bits = (uint64_t)(int64_t)number;
    float single = (float)number;
    if (v->format == SAMPLEFORMAT_IEEEFP && v->bits == 64)
        memcpy(&bits, &number, 8);
    else if (v->format == SAMPLEFORMAT_IEEEFP && v->bits == 32)
        memcpy(&bits, &single, 4);
    else if (v->format == SAMPLEFORMAT_IEEEFP) { /* a half, by its definition */
        int exponent = 0;
        double fraction = frexp(fabs(number), &exponent);
        bits = number == 0 ? 0
                           : (uint64_t)((exponent + 14) << 10) | (uint64_t)((fraction * 2 - 1) * 1024) |
                                 (number < 0 ? 0x8000 : 0);
    }
    if (v->bits % 8 == 0 && v->bits != 24) {
        memcpy(line + at * (size_t)(v->bits / 8), &bits, (size_t)(v->bits / 8));
        return;
    }
    for (int i = 0; i < v->bits; i++) {
        size_t place = at * (size_t)v->bits + (size_t)i;
        line[place / 8] |= (unsigned char)((bits >> (v->bits - 1 - i) & 1) << (7 - place % 8));
    }
}

static struct file read_back(const char *path)
{
    FILE *from = fopen(path, "rb");
    struct file file = {malloc(1 << 17), 0};
    file.size = fread(file.bytes, 1, 1 << 17, from);
    fclose(from);
    unlink(path);
    return file;
}

static struct file variant_of(const struct variant *v)
{
    char path[] = "/tmp/motif-test-XXXXXX";
    int descriptor = mkstemp(path), high = v->tile ? v->tile : 1, wide = v->tile ? v->tile : COLS;
    TIFF *tiff = TIFFFdOpen(descriptor, path, "w");
    uint16_t together = v->planar == PLANARCONFIG_CONTIG ? v->samples : 1;
    assert_non_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLS);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, ROWS);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, v->bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, v->samples);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, v->format);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, v->planar);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, v->compression);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, v->photometric);
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, v->orientation);
    if (v->extra != NO_EXTRA)
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &v->extra);
    if (v->tile) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, v->tile);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, v->tile);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 5);
    }
    size_t line = ((size_t)wide * together * (size_t)v->bits + 7) / 8;
    unsigned char *room = malloc(line * (size_t)high);
    for (uint16_t plane = 0; plane < v->samples / together; plane++)
        for (int row = 0; row < ROWS; row += high)
            for (int col = 0; col < COLS; col += wide) {
                memset(room, 0, line * (size_t)high);
                for (int r = 0; r < high && row + r < ROWS; r++)
                    for (int i = 0; i < wide * together && col + i / together < COLS; i++)
                        put_number(v, room + (size_t)r * line, (size_t)i,
                                   stored(v, row + r, col + i / together, plane + i % together));
                if (v->tile)
                    assert_true(TIFFWriteTile(tiff, room, (uint32_t)col, (uint32_t)row, 0, plane) >= 0);
                else
                    assert_int_equal(TIFFWriteScanline(tiff, room, (uint32_t)row, plane), 1);
            }
    free(room);
    TIFFClose(tiff);
    return read_back(path);
}

/* What the reader must make of a sample. */
static double wanted_value(const struct variant *v, int row, int col, int k)
{
    double most = v->bits == 64 ? 18446744073709551615.0 : ldexp(1, v->bits) - 1, number = stored(v, row, col, k);
    if (v->format != SAMPLEFORMAT_UINT)
        return number;
    number = v->photometric == PHOTOMETRIC_MINISWHITE ? 1 - number / most : number / most;
    double alpha = v->extra == EXTRASAMPLE_ASSOCALPHA || v->extra == EXTRASAMPLE_UNASSALPHA
                       ? stored(v, row, col, v->samples - 1) / most
                       : 1;
    return v->extra == EXTRASAMPLE_ASSOCALPHA ? number + 1 - alpha : number * alpha + 1 - alpha;
}

static void check_variant(const struct variant *v)
{
    struct file file = variant_of(v);
    struct raster raster;
    struct error err = {0};
    if (picture_file_read(file.bytes, file.size, &raster, &err))
        fail_msg("%d bits, format %d, samples %d: %s", v->bits, v->format, v->samples, err.message);
    bool alpha = v->extra == EXTRASAMPLE_ASSOCALPHA || v->extra == EXTRASAMPLE_UNASSALPHA;
    assert_int_equal(raster.channels, v->samples - (alpha && v->format == SAMPLEFORMAT_UINT ? 1 : 0));
    for (int k = 0; k < raster.channels; k++)
        for (int i = 0; i < ROWS * COLS; i++) {
            double want = wanted_value(v, i / COLS, i % COLS, k), got = (double)raster.values[k * ROWS * COLS + i];
            if (fabs(got - want) > 1e-6 * fmax(1, fabs(want)))
                fail_msg("%d bits, format %d, plane %d, pixel %d is %.9g instead of %.9g", v->bits, v->format, k, i,
                         got, want);
        }
    raster_close(&raster);
    free(file.bytes);
}

static void every_sample_format_of_tiff_keeps_its_values(void **state)
{
    static const struct {
        int bits;
        uint16_t format;
    } numbers[] = {{1, 1},  {2, 1}, {4, 1},  {8, 1},  {12, 1}, {16, 1}, {24, 1}, {32, 1},
                   {64, 1}, {8, 2}, {16, 2}, {32, 2}, {64, 2}, {16, 3}, {32, 3}, {64, 3}};
    int count = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (int tile = 0; tile <= 16; tile += 16)
            for (uint16_t planar = 1; planar <= 2; planar++)
                for (int kind = 0; kind < 6; kind++) {
                    struct variant v = {numbers[i].bits,
                                        numbers[i].format,
                                        PHOTOMETRIC_MINISBLACK,
                                        1,
                                        planar,
                                        COMPRESSION_LZW,
                                        NO_EXTRA,
                                        tile,
                                        1};
                    v.photometric = kind == 1 ? PHOTOMETRIC_MINISWHITE : kind > 1 ? PHOTOMETRIC_RGB : v.photometric;
                    v.samples = kind < 2 ? 1 : kind == 2 ? 3 : 4;
                    v.extra = kind < 3 ? NO_EXTRA : (uint16_t)(kind - 3);
                    if (kind == 1 && v.format != SAMPLEFORMAT_UINT)
                        continue;
                    check_variant(&v);
                    count++;
                }
    assert_int_equal(count, 16 * 24 - 7 * 4);
}

/* Turns a picture whose pixels all differ, and compares it with the definition of the tag in TIFF 6.0: where the row 0
 * and the column 0 of the stored picture are shown. */
static void pictures_and_boxes_are_turned_as_the_tag_says(void **state)
{
    for (uint16_t o = 1; o <= 8; o++) {
        struct variant v = {16, 1, PHOTOMETRIC_MINISBLACK, 1, 1, COMPRESSION_NONE, NO_EXTRA, 0, o};
        struct file file = variant_of(&v);
        struct raster raster;
        assert_int_equal(picture_file_read(file.bytes, file.size, &raster, NULL), STATUS_OK);
        assert_true(raster.rows == (o < 5 ? ROWS : COLS) && raster.cols == (o < 5 ? COLS : ROWS));
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < COLS; col++) {
                int up = ROWS - 1 - row, left = COLS - 1 - col; /* counted from the other end */
                int shown[9][2] = {{0, 0},     {row, col}, {row, left}, {up, left}, {up, col},
                                   {col, row}, {col, up},  {left, up},  {left, row}};
                double got = (double)raster.values[shown[o][0] * raster.cols + shown[o][1]];
                assert_true(fabs(got - stored(&v, row, col, 0) / 65535) < 1e-6);
                int32_t place[4] = {row, row + 1, col, col + 1};
                raster_turn_place(&raster, place);
                assert_true(place[0] == shown[o][0] && place[1] == shown[o][0] + 1 && place[2] == shown[o][1] &&
                            place[3] == shown[o][1] + 1);
            }
        raster_close(&raster);
        free(file.bytes);
    }
}

/* Puts bytes into a file at a place, and frees the file. */
static struct file with_bytes(struct file file, size_t at, const void *bytes, size_t count)
{
    struct file out = {malloc(file.size + count), file.size + count};
    memcpy(out.bytes, file.bytes, at);
    memcpy(out.bytes + at, bytes, count);
    memcpy(out.bytes + at + count, file.bytes + at, file.size - at);
    free(file.bytes);
    return out;
}

static void jpeg_is_turned_by_its_exif_data(void **state)
{
    for (int big = 0; big < 2; big++) {
        unsigned char exif[] = "\xFF\xE1\0\x22"
                               "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        static const unsigned char little[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
        if (!big)
            memcpy(exif + 10, little, 26);
        struct file plain = jpeg_of(1, ROWS, COLS, false);
        struct file turned = with_bytes(jpeg_of(1, ROWS, COLS, false), 2, exif, 36);
        struct raster a, b;
        assert_int_equal(picture_file_read(plain.bytes, plain.size, &a, NULL), STATUS_OK);
        assert_int_equal(picture_file_read(turned.bytes, turned.size, &b, NULL), STATUS_OK);
        assert_true(b.rows == COLS && b.cols == ROWS && b.orientation == 6);
        for (int row = 0; row < COLS; row++)
            for (int col = 0; col < ROWS; col++)
                assert_true(b.values[row * ROWS + col] == a.values[(ROWS - 1 - col) * COLS + row]);
        raster_close(&a);
        raster_close(&b);
        free(plain.bytes);
        free(turned.bytes);
    }
}

static void jpeg_with_stray_bytes_is_read(void **state)
{
    struct file plain = jpeg_of(3, ROWS, COLS, false), stray = jpeg_of(3, ROWS, COLS, false);
    unsigned char *tables = memmem(stray.bytes, stray.size, "\xFF\xDB", 2);
    stray = with_bytes(stray, (size_t)(tables - stray.bytes), "abcde", 5);
    struct raster a, b;
    assert_int_equal(picture_file_read(plain.bytes, plain.size, &a, NULL), STATUS_OK);
    assert_int_equal(picture_file_read(stray.bytes, stray.size, &b, NULL), STATUS_OK);
    assert_true(!a.stray && b.stray);
    assert_memory_equal(a.values, b.values, 3 * ROWS * COLS * sizeof *a.values);
    raster_close(&a);
    raster_close(&b);
    free(plain.bytes);
    free(stray.bytes);
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
    static const char *const pictures[] = {"a.PNG", "x/b.jpeg", "b.jpg", "c.Tif", "d.tiff"};
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++)
        assert_true(picture_file_named(pictures[i]));
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

static enum status take(void *context, int rank, const int64_t *dim, float *values, int rate, struct error *err)
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
        size_t unpacked = INPUT_FILE_UNPACKED;
        const struct input_file_sink to = {.context = shape, .unpacked = &unpacked, .add = take};
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
        cmocka_unit_test(every_sample_format_of_tiff_keeps_its_values),
        cmocka_unit_test(pictures_and_boxes_are_turned_as_the_tag_says),
        cmocka_unit_test(jpeg_is_turned_by_its_exif_data),
        cmocka_unit_test(jpeg_with_stray_bytes_is_read),
        cmocka_unit_test(unsuitable_files_are_refused),
        cmocka_unit_test(files_that_are_cut_are_refused),
        cmocka_unit_test(names_of_pictures_end_in_small_or_large_letters),
        cmocka_unit_test(one_coloured_picture_gives_all_samples_three_channels),
        cmocka_unit_test(queries_take_pictures_of_all_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
