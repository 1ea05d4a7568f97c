/* Draws motif maps as half blocks and plots as braille dots. */
#include "api/client/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/term.h"

int draw_shrink(int image_columns, int columns)
{
    int shrink = 1;
    while (columns > 0 && (image_columns + shrink - 1) / shrink > columns)
        shrink++;
    return shrink;
}

/* Returns the mean of the pixels that a shrunk pixel covers; 0 (black) if all of them are outside the image. */
static double client_draw_sample(const struct draw_image *image, int row, int column, int shrink)
{
    double sum = 0;
    int count = 0;
    for (int r = row * shrink; r < (row + 1) * shrink && r < image->rows; r++)
        for (int c = column * shrink; c < (column + 1) * shrink && c < image->columns; c++) {
            sum += (double)image->grey[(size_t)r * (size_t)image->columns + (size_t)c];
            count++;
        }
    double mean = count ? sum / count : 0;
    return mean < 0 ? 0 : mean > 1 ? 1 : mean;
}

/* Returns the motif to draw in a cell of text: the strongest of the cell's motifs that have no stronger motif nearby
 * (`maximal`, draw.h). If the cell has none of these, returns its strongest motif; if it has no motif, NULL. */
static const struct draw_motif *motif_in(const struct draw_motif *motifs, size_t count, int line, int column,
                                         int shrink)
{
    const struct draw_motif *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct draw_motif *m = &motifs[i];
        if ((int)floor(m->row / (2 * shrink)) != line || (int)floor(m->column / shrink) != column)
            continue;
        if (!best || (m->maximal && !best->maximal) || (m->maximal == best->maximal && m->value > best->value))
            best = m;
    }
    return best;
}

static int grey_level(double value)
{
    return (int)(value * 255 + 0.5);
}

static void cell_colour(struct buf *out, const struct draw_motif *motif, double upper, double lower)
{
    int u = grey_level(upper), l = grey_level(lower);
    if (motif) {
        unsigned rgb = term_channel_colour(motif->channel);
        int ground = grey_level((upper + lower) / 2) / 3;
        buf_format(out, "\033[%s;38;2;%u;%u;%um\033[48;2;%d;%d;%dm%c\033[0m", motif->maximal ? "1" : "2", rgb >> 16,
                   rgb >> 8 & 255, rgb & 255, ground, ground, ground, term_channel_letter(motif->channel));
    } else {
        buf_format(out, "\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm▀", u, u, u, l, l, l);
    }
}

/* Draws a pixel without colours. light: the picture is dark on a light background, so light pixels become blanks. */
static void cell_plain(struct buf *out, const struct draw_motif *motif, double upper, double lower, bool light)
{
    static const char ramp[] = " .:-=+*#%@";
    double ink = light ? 1 - (upper + lower) / 2 : (upper + lower) / 2;
    if (motif)
        buf_format(out, "%c", term_channel_letter(motif->channel));
    else
        buf_append(out, &ramp[(int)(ink * 9 + 0.5)], 1);
}

/* Whether most pixels are nearer to white than to black. */
static bool is_light(const struct draw_image *image)
{
    size_t count = (size_t)image->rows * (size_t)image->columns, white = 0;
    for (size_t i = 0; i < count; i++)
        white += image->grey[i] > 0.5f;
    return white > count / 2;
}

void draw_motif_map(struct buf *out, const struct draw_image *image, const struct draw_motif *motifs, size_t count,
                    int columns, bool colour)
{
    int shrink = draw_shrink(image->columns, columns);
    int width = (image->columns + shrink - 1) / shrink;
    int height = (image->rows + shrink - 1) / shrink;
    bool light = is_light(image);
    for (int line = 0; line * 2 < height; line++) {
        for (int column = 0; column < width; column++) {
            double upper = client_draw_sample(image, line * 2, column, shrink);
            double lower = client_draw_sample(image, line * 2 + 1, column, shrink);
            const struct draw_motif *motif = motif_in(motifs, count, line, column, shrink);
            if (colour)
                cell_colour(out, motif, upper, lower);
            else
                cell_plain(out, motif, upper, lower, light);
        }
        buf_text(out, colour ? "\033[0m\n" : "\n");
    }
}

/* --- plots --- */

struct range {
    double min, max;
};

struct canvas {
    unsigned char *dots; /* [rows][columns], one braille cell per byte */
    int rows, columns;
};

static void client_draw_dot(const struct canvas *canvas, int x, int y)
{
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= canvas->columns * 2 || y >= canvas->rows * 4)
        return;
    unsigned char *cell = &canvas->dots[y / 4 * canvas->columns + x / 2];
    *cell = (unsigned char)(*cell | bits[y % 4][x % 2]);
}

static void line_to(const struct canvas *canvas, int x0, int y0, int x1, int y1)
{
    int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double t = steps ? (double)i / steps : 0;
        client_draw_dot(canvas, (int)lround(x0 + t * (x1 - x0)), (int)lround(y0 + t * (y1 - y0)));
    }
}

static bool drawable(const struct draw_point *point, bool log_y)
{
    return isfinite(point->x) && isfinite(point->y) && (!log_y || point->y > 0);
}

static double height_of(double y, bool log_y)
{
    return log_y ? log10(y) : y;
}

static bool ranges(const struct draw_point *points, size_t count, bool log_y, struct range *x, struct range *y)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!drawable(&points[i], log_y))
            continue;
        double h = height_of(points[i].y, log_y);
        if (!any) {
            *x = (struct range){points[i].x, points[i].x};
            *y = (struct range){h, h};
            any = true;
        }
        x->min = fmin(x->min, points[i].x);
        x->max = fmax(x->max, points[i].x);
        y->min = fmin(y->min, h);
        y->max = fmax(y->max, h);
    }
    if (any && y->max - y->min <= 0) { /* a constant line is drawn in the middle */
        double half = y->max != 0 ? fabs(y->max) * 0.05 : 1;
        y->min -= half;
        y->max += half;
    }
    if (any && x->max - x->min <= 0)
        x->max = x->min + 1;
    return any;
}

static void put_braille(struct buf *out, unsigned char bits)
{
    /* the code point U+2800 + bits, in UTF-8 */
    char text[3] = {(char)0xe2, (char)(0xa0 | bits >> 6), (char)(0x80 | (bits & 0x3f))};
    if (bits)
        buf_append(out, text, 3);
    else
        buf_append(out, " ", 1);
}

static void trace(const struct canvas *canvas, const struct draw_point *points, size_t count, bool log_y,
                  struct range x, struct range y)
{
    int last_x = 0, last_y = 0;
    bool joined = false;
    for (size_t i = 0; i < count; i++) {
        if (!drawable(&points[i], log_y)) {
            joined = false;
            continue;
        }
        int px = (int)lround((points[i].x - x.min) / (x.max - x.min) * (canvas->columns * 2 - 1));
        int py = (int)lround((y.max - height_of(points[i].y, log_y)) / (y.max - y.min) * (canvas->rows * 4 - 1));
        if (joined)
            line_to(canvas, last_x, last_y, px, py);
        else
            client_draw_dot(canvas, px, py);
        last_x = px;
        last_y = py;
        joined = true;
    }
}

void draw_plot(struct buf *out, const struct draw_point *points, size_t count, int columns, int rows, bool log_y)
{
    enum { LABEL = 10 };
    struct range x = {0, 1}, y = {0, 1};
    if (!ranges(points, count, log_y, &x, &y)) {
        buf_text(out, "no points\n");
        return;
    }
    struct canvas canvas = {.rows = rows < 6 ? 4 : rows - 2, .columns = (columns < 24 ? 24 : columns) - LABEL - 1};
    canvas.dots = calloc((size_t)canvas.rows * (size_t)canvas.columns, 1);
    if (!canvas.dots)
        return;
    trace(&canvas, points, count, log_y, x, y);
    for (int row = 0; row < canvas.rows; row++) {
        char label[32] = "";
        bool labelled = row == 0 || row == canvas.rows - 1 || row == canvas.rows / 2;
        double h = y.max - (y.max - y.min) * row / (canvas.rows - 1);
        if (labelled)
            term_number(label, sizeof(label), log_y ? pow(10, h) : h);
        buf_format(out, "%*s%s", LABEL, label, labelled ? "┤" : "│");
        for (int column = 0; column < canvas.columns; column++)
            put_braille(out, canvas.dots[row * canvas.columns + column]);
        buf_text(out, "\n");
    }
    buf_format(out, "%*s└", LABEL, "");
    for (int column = 0; column < canvas.columns; column++)
        buf_text(out, "─");
    char left[32], right[32];
    term_count(left, sizeof(left), x.min);
    term_count(right, sizeof(right), x.max);
    buf_format(out, "\n%*s%s%*s\n", LABEL + 1, "", left, canvas.columns - (int)strlen(left), right);
    free(canvas.dots);
}
