/* The RGB raster: rectangles, marks, text by cairo, and palettes. */
#include "core/draw/picture.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"

#define MAX_PIXELS ((int64_t)64 * 1024 * 1024)
#define FONT_SIZE                                                                                                      \
    10 /* pixels at scale 1: capital letters have PICTURE_GLYPH_ROWS rows, characters PICTURE_ADVANCE columns */
#define TEXT_BYTES 65536

enum status picture_create(int rows, int cols, struct colour ground, struct picture **out, struct error *err)
{
    *out = NULL;
    if (rows < 1 || cols < 1 || rows > PICTURE_MAX_SIDE || cols > PICTURE_MAX_SIDE ||
        (int64_t)rows * cols > MAX_PIXELS) {
        return error_set(
            err, STATUS_LIMIT, NULL,
            "a picture of %d x %d pixels is outside the limits: sides of 1 to 16384 and at most 64 Mi pixels", rows,
            cols);
    }
    struct picture *picture = malloc(sizeof *picture);
    uint32_t *pixels = malloc((size_t)rows * (size_t)cols * sizeof *pixels);
    if (picture == NULL || pixels == NULL) {
        free(picture);
        free(pixels);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture of %d x %d pixels", rows, cols);
    }
    *picture = (struct picture){.rows = rows, .cols = cols, .pixels = pixels};
    picture_fill(picture, 0, 0, rows, cols, ground);
    *out = picture;
    return STATUS_OK;
}

void picture_destroy(struct picture *picture)
{
    if (picture != NULL) {
        free(picture->pixels);
        free(picture);
    }
}

static void set(struct picture *picture, int64_t row, int64_t col, struct colour colour)
{
    if (row < 0 || col < 0 || row >= picture->rows || col >= picture->cols)
        return;
    picture->pixels[(size_t)row * (size_t)picture->cols + (size_t)col] =
        (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
}

static int64_t clamp(int64_t value, int64_t high)
{
    return value < 0 ? 0 : value > high ? high : value;
}

/* Fills the visible part of a rectangle. The coordinates have 64 bits, so that no sum overflows. */
static void fill(struct picture *picture, int64_t row, int64_t col, int64_t rows, int64_t cols, struct colour colour)
{
    int64_t row1 = clamp(row + rows, picture->rows), col0 = clamp(col, picture->cols),
            col1 = clamp(col + cols, picture->cols);
    for (int64_t r = clamp(row, picture->rows); r < row1; r++)
        for (int64_t c = col0; c < col1; c++)
            set(picture, r, c, colour);
}

void picture_fill(struct picture *picture, int row, int col, int rows, int cols, struct colour colour)
{
    fill(picture, row, col, rows, cols, colour);
}

void picture_outline(struct picture *picture, int row, int col, int rows, int cols, int thickness, struct colour colour)
{
    int64_t sides = thickness < cols ? thickness : cols, ends = thickness < rows ? thickness : rows;
    fill(picture, row, col, ends, cols, colour);
    fill(picture, (int64_t)row + rows - ends, col, ends, cols, colour);
    fill(picture, row, col, rows, sides, colour);
    fill(picture, row, (int64_t)col + cols - sides, rows, sides, colour);
}

static uint8_t mix(uint8_t low, uint8_t high, double share)
{
    return (uint8_t)lround(low + (high - low) * share);
}

void picture_grey(struct picture *picture, int row, int col, const float *values, int rows, int cols, int scale,
                  struct colour low, struct colour high)
{
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            double value = (double)values[(size_t)r * (size_t)cols + (size_t)c];
            double share = value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0; /* NaN becomes 0 */
            struct colour colour = {mix(low.red, high.red, share), mix(low.green, high.green, share),
                                    mix(low.blue, high.blue, share)};
            fill(picture, (int64_t)row + (int64_t)r * scale, (int64_t)col + (int64_t)c * scale, scale, scale, colour);
        }
    }
}

/* Draws all points whose squared distance from the centre is at most radius * (radius + 1). */
void picture_disc(struct picture *picture, int row, int col, int radius, struct colour colour)
{
    int64_t most = (int64_t)radius * radius + radius;
    for (int64_t r = -radius; r <= radius; r++)
        for (int64_t c = -radius; c <= radius; c++)
            if (r * r + c * c <= most)
                set(picture, row + r, col + c, colour);
}

void picture_cross(struct picture *picture, int row, int col, int radius, struct colour colour)
{
    for (int64_t i = -radius; i <= radius; i++) {
        set(picture, row + i, col + i, colour);
        set(picture, row + i, col - i, colour);
    }
}

/* -- text ------------------------------------------------------------------------------------- */

/* The length of the character at `text`; an invalid byte counts as one character. */
static size_t character(const char *text)
{
    size_t bytes = utf8_char(text, strnlen(text, 4));
    return bytes > 0 ? bytes : 1;
}

/* Number of characters before the end of the line. */
static int characters(const char *text)
{
    int count = 0;
    for (; *text != '\0' && *text != '\n'; text += character(text))
        count++;
    return count;
}

/* Clears `line` and fills it with the characters before the end of the line, in valid UTF-8. */
static void copy_line(struct buf *line, const char *text)
{
    buf_clear(line);
    for (size_t bytes; *text != '\0' && *text != '\n'; text += bytes) {
        bytes = character(text);
        buf_append(line, utf8_valid(text, bytes) ? text : "\xef\xbf\xbd", utf8_valid(text, bytes) ? bytes : 3);
    }
    buf_append(line, "", 1);
}

static cairo_t *open_cairo(struct picture *picture, int scale, struct colour colour)
{
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data((unsigned char *)picture->pixels, CAIRO_FORMAT_RGB24, picture->cols,
                                            picture->rows, picture->cols * (int)sizeof *picture->pixels);
    cairo_t *c = cairo_create(surface);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_surface_destroy(surface);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_FULL);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_ON); /* each character has whole columns */
    cairo_set_font_options(c, options);
    cairo_font_options_destroy(options);
    cairo_select_font_face(c, "DejaVu Sans Mono", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, FONT_SIZE * scale);
    cairo_set_source_rgb(c, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
    return c;
}

int picture_text(struct picture *picture, int row, int col, const char *text, int scale, struct colour colour)
{
    struct buf line;
    cairo_t *c = open_cairo(picture, scale, colour);
    buf_init(&line, TEXT_BYTES);
    for (;; row += PICTURE_LINE * scale) {
        copy_line(&line, text);
        cairo_move_to(c, col, (double)row + PICTURE_GLYPH_ROWS * scale);
        if (!line.failed)
            cairo_show_text(c, line.data);
        size_t bytes = strcspn(text, "\n");
        if (text[bytes] == '\0')
            break;
        text += bytes + 1;
    }
    picture->incomplete |= line.failed || cairo_status(c) != CAIRO_STATUS_SUCCESS;
    buf_close(&line);
    cairo_destroy(c);
    return col + characters(text) * PICTURE_ADVANCE * scale;
}

int picture_text_width(const char *text, int scale)
{
    int widest = 0;
    for (;; text++) {
        int width = characters(text);
        widest = width > widest ? width : widest;
        text += strcspn(text, "\n");
        if (*text == '\0')
            return widest * PICTURE_ADVANCE * scale;
    }
}

/* -- colours ---------------------------------------------------------------------------------- */

/* Converts a colour from HSV to RGB. hue: position on the colour circle, where 1 is the full circle; saturation, value:
 * in [0, 1]. */
static struct colour from_hsv(double hue, double saturation, double value)
{
    double parts[3];
    for (int i = 0; i < 3; i++) {
        /* offset in the HSV formula: 5 for red, 3 for green, 1 for blue */
        double k = fmod(5.0 - 2.0 * i + 6.0 * hue, 6.0);
        double slope = k < 4.0 - k ? k : 4.0 - k;
        slope = slope < 0.0 ? 0.0 : slope > 1.0 ? 1.0 : slope;
        parts[i] = 255.0 * value * (1.0 - saturation * slope);
    }
    return (struct colour){(uint8_t)lround(parts[0]), (uint8_t)lround(parts[1]), (uint8_t)lround(parts[2])};
}

struct colour picture_palette(int index)
{
    static const struct colour first[] = {{230, 159, 0}, {86, 180, 233}, {0, 158, 115},   {240, 228, 66},
                                          {0, 114, 178}, {213, 94, 0},   {204, 121, 167}, {153, 153, 153}};
    const int count = (int)(sizeof first / sizeof first[0]);
    int64_t place = llabs((int64_t)index);
    if (place < count)
        return first[place];
    place -= count; /* after the first eight colours, each hue is 0.618 of the colour circle (golden ratio) beyond the
                       previous hue; saturation and brightness vary too */
    return from_hsv(fmod(0.11 + 0.61803398875 * (double)place, 1.0), 0.55 + 0.25 * (double)(place % 2),
                    1.0 - 0.2 * (double)(place % 3));
}

struct colour picture_contrast(struct colour ground)
{
    double luma = 0.2126 * ground.red + 0.7152 * ground.green + 0.0722 * ground.blue;
    return luma > 128.0 ? (struct colour){0, 0, 0} : (struct colour){255, 255, 255};
}
