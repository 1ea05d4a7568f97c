/* Tests pictures: shapes, text, colours, and PNG files written and read. */
#include <math.h>
#include <png.h>

#include "tests/support/unit.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"
#include "tests/support/fault.h"
#include "tests/support/pixel_at.h"

static const struct colour black = {0, 0, 0}, white = {255, 255, 255}, red = {255, 0, 0};

static bool same(struct colour a, struct colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

static struct picture *blank(int rows, int cols)
{
    struct picture *picture;
    assert_int_equal(picture_create(rows, cols, black, &picture, NULL), STATUS_OK);
    return picture;
}

static int count(const struct picture *picture, struct colour colour)
{
    int found = 0;
    for (int row = 0; row < picture->rows; row++)
        for (int col = 0; col < picture->cols; col++)
            found += same(pixel_at(picture, row, col), colour);
    return found;
}

/* Asserts that a picture is red where the text has '#', and black elsewhere. */
static void expect_art(const struct picture *picture, const char *const *art)
{
    for (int row = 0; row < picture->rows; row++)
        for (int col = 0; col < picture->cols; col++)
            assert_true(same(pixel_at(picture, row, col), art[row][col] == '#' ? red : black));
}

static void shapes_have_the_right_pixels(void **state)
{
    struct picture *picture = blank(7, 9);
    picture_outline(picture, 1, 2, 5, 6, 1, red);
    expect_art(picture, (const char *const[]){".........", "..######.", "..#....#.", "..#....#.", "..#....#.",
                                              "..######.", "........."});
    picture_fill(picture, 0, 0, 7, 9, black);
    picture_disc(picture, 3, 3, 2, red);
    expect_art(picture, (const char *const[]){".........", "..###....", ".#####...", ".#####...", ".#####...",
                                              "..###....", "........."});
    picture_fill(picture, 0, 0, 7, 9, black);
    picture_cross(picture, 3, 7, 1, red);
    expect_art(picture, (const char *const[]){".........", ".........", "......#.#", ".......#.", "......#.#",
                                              ".........", "........."});
    picture_destroy(picture);
}

/* Drawing far outside the picture changes no pixel and causes no overflow. */
static void everything_is_clipped(void **state)
{
    struct picture *picture = blank(20, 30);
    static const int far[] = {-2147483647, -100000, -31, 30, 100000, 2147483647};
    const float values[4] = {1, 1, 1, 1};
    for (int r = 0; r < 6; r++) {
        for (int c = 0; c < 6; c++) {
            picture_fill(picture, far[r], far[c], far[r] > 0 ? far[r] : 10, far[c] > 0 ? 5 : 20, red);
            picture_outline(picture, far[r], far[c], 20, 20, 3, red);
            picture_grey(picture, far[r], far[c], values, 2, 2, 5, red, red);
            picture_cross(picture, far[r], far[c], 3, red);
            assert_true(same(pixel_at(picture, far[r], far[c]), black));
        }
    }
    assert_int_equal(count(picture, red), 0);
    picture_fill(picture, -5, -5, 2147483647, 2147483647, red);
    assert_int_equal(count(picture, red), 600);
    picture_fill(picture, 10, 10, 0, 5, white);
    picture_fill(picture, 10, 10, -3, 5, white);
    assert_int_equal(count(picture, white), 0);
    for (int i = 0; i < 6; i++)
        (void)picture_text(picture, far[i] / 2, far[i] / 2, "far", 3, white);
    (void)picture_text(picture, -3, -3, "edge\nof it", 3, white);
    assert_false(picture->incomplete);
    picture_disc(picture, 0, 0, 50, black);
    assert_int_equal(count(picture, black), 600);
    picture_destroy(picture);
}

static void grey_values_are_scaled(void **state)
{
    struct picture *picture = blank(6, 8);
    const float values[6] = {0.0F, 0.5F, 1.0F, -3.0F, 7.0F, NAN};
    picture_grey(picture, 1, 1, values, 2, 3, 2, white, black);
    assert_true(same(pixel_at(picture, 1, 1), white));
    assert_true(same(pixel_at(picture, 2, 4), (struct colour){128, 128, 128}));
    assert_true(same(pixel_at(picture, 2, 6), black));
    assert_true(same(pixel_at(picture, 3, 1), white)); /* values below 0 and NaN are white, values above 1 black */
    assert_true(same(pixel_at(picture, 3, 3), black));
    assert_true(same(pixel_at(picture, 4, 6), white));
    assert_int_equal(count(picture, white), 12);
    picture_destroy(picture);
}

enum { ABOVE = 3, GLYPH_ROWS = ABOVE + PICTURE_LINE }; /* ABOVE: rows for an accent */

/* Draws one character in a picture of its own. */
static struct picture *glyph(const char *text)
{
    struct picture *picture = blank(GLYPH_ROWS, PICTURE_ADVANCE);
    assert_int_equal(picture_text(picture, ABOVE, 0, text, 1, white), PICTURE_ADVANCE);
    assert_false(picture->incomplete);
    return picture;
}

/* Every character has a shape of its own, also those of other languages; the space is empty. A capital letter fills its
 * rows and no others. */
static void every_character_has_its_own_shape(void **state)
{
    static const char *const others[] = {"\xc3\xa4", "\xc3\xa7", "\xce\xa9", "\xd0\x96", "\xd1\x8f", "\x80"};
    enum { GLYPHS = '~' - ' ' + 1, OTHERS = sizeof others / sizeof others[0] };
    struct picture *all[GLYPHS + OTHERS];
    for (int a = 0; a < GLYPHS + OTHERS; a++) {
        all[a] = glyph(a < GLYPHS ? (const char[]){(char)(' ' + a), '\0'} : others[a - GLYPHS]);
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(all[a]->pixels, all[b]->pixels,
                                    GLYPH_ROWS * PICTURE_ADVANCE * sizeof *all[a]->pixels);
    }
    assert_int_equal(count(all[0], black), GLYPH_ROWS * PICTURE_ADVANCE);
    for (int row = 0; row < GLYPH_ROWS; row++) {
        int drawn = 0;
        for (int col = 0; col < PICTURE_ADVANCE; col++)
            drawn += !same(pixel_at(all['E' - ' '], row, col), black);
        assert_int_equal(drawn > 0, row >= ABOVE && row < ABOVE + PICTURE_GLYPH_ROWS);
    }
    for (int a = 0; a < GLYPHS + OTHERS; a++)
        picture_destroy(all[a]);
}

static void lines_of_text_have_their_place(void **state)
{
    struct picture *picture = blank(60, 60);
    assert_int_equal(picture_text(picture, 1, 2, "a\n\x80", 2, red), 2 + 12);
    for (int row = 0; row < 60; row++)
        for (int col = 0; col < 60; col++)
            if (!same(pixel_at(picture, row, col), black))
                assert_true(col >= 2 && col < 14 && row < 1 + 2 * (2 * PICTURE_LINE));
    assert_int_equal(picture_text_width("ab\nabc", 2), 36);
    assert_int_equal(picture_text_width("\xd0\x96\xd1\x8f", 1), 12);
    assert_int_equal(picture_text_width("", 2), 0);
    picture_destroy(picture);
}

static void palette_colours_differ(void **state)
{
    for (int a = 0; a < 40; a++) {
        for (int b = 0; b < a; b++) {
            struct colour x = picture_palette(a), y = picture_palette(b);
            int apart = abs(x.red - y.red) + abs(x.green - y.green) + abs(x.blue - y.blue);
            assert_true(apart >= (a < 10 ? 60 : 12));
        }
    }
    (void)picture_palette(-2147483647 - 1);
    assert_true(same(picture_contrast(white), black) && same(picture_contrast(black), white));
    /* colour 3 of the palette is yellow, so black is the colour with contrast to it */
    assert_true(same(picture_contrast(picture_palette(3)), black));
}

static void impossible_sizes_and_failed_allocations_are_reported(void **state)
{
    struct picture *picture = (struct picture *)1;
    assert_int_equal(picture_create(0, 5, black, &picture, NULL), STATUS_LIMIT);
    assert_null(picture);
    assert_int_equal(picture_create(5, PICTURE_MAX_SIDE + 1, black, &picture, NULL), STATUS_LIMIT);
    assert_int_equal(picture_create(PICTURE_MAX_SIDE, PICTURE_MAX_SIDE, black, &picture, NULL), STATUS_LIMIT);
    for (int n = 0; n < 2; n++) {
        fault_after(n);
        assert_int_equal(picture_create(5, 5, black, &picture, NULL), STATUS_NO_MEMORY);
        assert_true(fault_happened());
    }
    picture_destroy(NULL);
}

/* -- PNG -------------------------------------------------------------------------------------- */

static struct picture *noise(int rows, int cols)
{
    struct picture *picture = blank(rows, cols);
    for (int i = 0; i < rows * cols; i++)
        picture->pixels[i] = (uint32_t)rand() & 0xffffff;
    return picture;
}

static float luma(struct colour c)
{
    return (float)((0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue) / 255.0);
}

static void an_encoded_picture_is_decoded(void **state)
{
    static const int sides[][2] = {{1, 1}, {1, 300}, {37, 53}, {128, 128}};
    for (int k = 0; k < 4; k++) {
        struct picture *picture = noise(sides[k][0], sides[k][1]);
        struct buf out;
        float *values;
        int rows, cols;
        buf_init(&out, 1 << 20);
        buf_text(&out, "before");
        assert_int_equal(png_encode(picture, &out, NULL), STATUS_OK);
        assert_memory_equal(out.data, "before\x89PNG", 10);
        assert_int_equal(png_decode_grey(out.data + 6, out.size - 6, 512, &values, &rows, &cols, NULL), STATUS_OK);
        assert_true(rows == sides[k][0] && cols == sides[k][1]);
        for (int i = 0; i < rows * cols; i++)
            assert_true(fabsf(values[i] - luma(pixel_at(picture, i / cols, i % cols))) < 1e-5F);
        free(values);
        buf_close(&out);
        picture_destroy(picture);
    }
}

static void into(png_structp png, png_bytep bytes, size_t size)
{
    buf_append(png_get_io_ptr(png), bytes, size);
}
static void nothing(png_structp png)
{
    (void)png;
}

/* Writes a 4 x 4 file of any colour type with libpng itself. `lines`: [4] rows of packed samples. */
static void foreign(struct buf *out, int depth, int type, int interlace, unsigned char lines[4][32])
{
    static const png_color colours[4] = {{0, 0, 0}, {255, 255, 255}, {255, 0, 0}, {0, 0, 255}};
    static const png_byte alphas[4] = {255, 255, 128, 255};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    buf_init(out, 1 << 16);
    png_set_write_fn(png, out, into, nothing);
    png_set_IHDR(png, info, 4, 4, depth, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, colours, 4);
        png_set_tRNS(png, info, alphas, 4, NULL);
    }
    png_write_info(png, info);
    png_bytep rows[4] = {lines[0], lines[1], lines[2], lines[3]};
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static void expect_values(const struct buf *file, const float *wanted)
{
    float *values;
    int rows, cols;
    assert_int_equal(png_decode_grey(file->data, file->size, 4, &values, &rows, &cols, NULL), STATUS_OK);
    assert_true(rows == 4 && cols == 4);
    for (int i = 0; i < 16; i++)
        assert_true(fabsf(values[i] - wanted[i]) < 1e-6F);
    free(values);
}

static void every_colour_type_is_decoded(void **state)
{
    unsigned char lines[4][32];
    float wanted[16];
    struct buf file;
    for (int interlace = 0; interlace < 2; interlace++) {
        for (int i = 0; i < 16; i++) { /* samples of 16-bit grey, big endian */
            unsigned value = (unsigned)i * 4000 + 77;
            lines[i / 4][i % 4 * 2] = (unsigned char)(value >> 8);
            lines[i / 4][i % 4 * 2 + 1] = (unsigned char)value;
            wanted[i] = (float)value / 65535.0F;
        }
        foreign(&file, 16, PNG_COLOR_TYPE_GRAY, interlace, lines);
        expect_values(&file, wanted);
        buf_close(&file);

        for (int i = 0; i < 4; i++) /* samples of 1-bit grey */
            lines[i][0] = (unsigned char)(0x50 << (i % 2));
        for (int i = 0; i < 16; i++)
            wanted[i] = (float)((i + i / 4) % 2);
        foreign(&file, 1, PNG_COLOR_TYPE_GRAY, interlace, lines);
        expect_values(&file, wanted);
        buf_close(&file);

        /* the third pixel is red, half transparent on white */
        const float shades[4] = {0.0F, 1.0F, 0.2126F + 0.7874F * 127 / 255, 0.0722F};
        for (int i = 0; i < 4; i++) {
            lines[i][0] = 0x1b; /* 0x1b contains the four 2-bit samples 0 1 2 3 */
            memcpy(wanted + 4 * i, shades, sizeof shades);
        }
        foreign(&file, 2, PNG_COLOR_TYPE_PALETTE, interlace, lines);
        expect_values(&file, wanted);
        buf_close(&file);

        for (int i = 0; i < 16; i++) { /* black pixels, increasingly opaque */
            memset(lines[i / 4] + i % 4 * 4, 0, 3);
            lines[i / 4][i % 4 * 4 + 3] = (unsigned char)(i * 17);
            wanted[i] = 1 - (float)(i * 17) / 255.0F;
        }
        foreign(&file, 8, PNG_COLOR_TYPE_RGB_ALPHA, interlace, lines);
        expect_values(&file, wanted);
        buf_close(&file);
    }
}

static enum status decode(const void *bytes, size_t size, int max_side)
{
    float *values;
    int rows, cols;
    struct error err;
    error_clear(&err);
    enum status status = png_decode_grey(bytes, size, max_side, &values, &rows, &cols, &err);
    assert_int_equal(status, err.code);
    assert_true((values != NULL) == (status == STATUS_OK));
    assert_true(status == STATUS_OK || strncmp(err.message, "PNG: ", 5) == 0);
    free(values);
    return status;
}

/* A file cut at every length and changed at every byte gives a picture or an error, never a crash. */
static void damaged_files_never_crash_the_reader(void **state)
{
    struct picture *picture = noise(9, 11);
    struct buf file;
    buf_init(&file, 1 << 16);
    assert_int_equal(png_encode(picture, &file, NULL), STATUS_OK);
    for (size_t length = 0; length < file.size; length++) {
        char *exact = malloc(length > 0 ? length : 1); /* exact size, so that a sanitizer sees reads beyond the end */
        assert_non_null(exact);
        memcpy(exact, file.data, length);
        assert_int_equal(decode(exact, length, 100), STATUS_CORRUPT);
        free(exact);
    }
    int refused = 0;
    for (size_t at = 0; at < file.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            file.data[at] = (char)(file.data[at] ^ (1 << bit));
            refused += decode(file.data, file.size, 100) != STATUS_OK;
            file.data[at] = (char)(file.data[at] ^ (1 << bit));
        }
    }
    assert_true(refused > (int)file.size * 7); /* checksums detect nearly all changes */
    assert_int_equal(decode(file.data, file.size, 11), STATUS_OK);
    assert_int_equal(decode(file.data, file.size, 10), STATUS_LIMIT);
    buf_close(&file);
    picture_destroy(picture);
}

/* A file of 80 bytes has a valid header that claims 4096 x 4096 pixels. */
static void short_files_that_claim_large_pictures_are_refused(void **state)
{
    unsigned char file[80] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R',
                              0,    0,   16,  0,   0,  0,  16, 0,  8, 6, 0, 0,  0,   0,   0,   0};
    uint32_t crc = 0xffffffffU;
    for (int i = 12; i < 29; i++) {
        crc ^= file[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    crc = ~crc;
    for (int i = 0; i < 4; i++)
        file[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
    memcpy(file + 33, "\0\0\0\x18IDAT", 8);
    fault_after(0);
    assert_int_equal(decode(file, sizeof file, 4096), STATUS_CORRUPT);
    assert_false(fault_happened()); /* the file is refused before its pixels are allocated */
    assert_int_equal(decode(file, sizeof file, 4095), STATUS_LIMIT);
    assert_int_equal(decode("", 0, 10), STATUS_CORRUPT);
    assert_int_equal(decode("GIF89a, or something else entirely", 34, 10), STATUS_CORRUPT);
}

static void failed_allocations_of_png_are_reported(void **state)
{
    struct picture *picture = noise(9, 11);
    struct buf file, small;
    buf_init(&file, 1 << 16);
    buf_init(&small, 60);
    assert_int_equal(png_encode(picture, &file, NULL), STATUS_OK);
    assert_int_equal(png_encode(picture, &small, NULL), STATUS_LIMIT);
    assert_null(small.data);
    for (int n = 0;; n++) {
        float *values;
        int rows, cols;
        fault_after(n);
        enum status status = png_decode_grey(file.data, file.size, 20, &values, &rows, &cols, NULL);
        bool happened = fault_happened();
        free(values);
        if (!happened) {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(n, 3);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_null(values);
    }
    buf_close(&file);
    picture_destroy(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_have_the_right_pixels),
        cmocka_unit_test(everything_is_clipped),
        cmocka_unit_test(grey_values_are_scaled),
        cmocka_unit_test(every_character_has_its_own_shape),
        cmocka_unit_test(lines_of_text_have_their_place),
        cmocka_unit_test(palette_colours_differ),
        cmocka_unit_test(impossible_sizes_and_failed_allocations_are_reported),
        cmocka_unit_test(an_encoded_picture_is_decoded),
        cmocka_unit_test(every_colour_type_is_decoded),
        cmocka_unit_test(damaged_files_never_crash_the_reader),
        cmocka_unit_test(short_files_that_claim_large_pictures_are_refused),
        cmocka_unit_test(failed_allocations_of_png_are_reported),
    };
    return cmocka_run_group_tests_name("picture", tests, NULL, NULL);
}
