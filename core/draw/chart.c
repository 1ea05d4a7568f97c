/* Draws a chart with cairo.
 *
 * A panel is its plotting area with fixed margins for ticks, labels, colour bar and legend; the panels form a grid. A
 * cairo context remembers its first failure, so the code draws without checks and reads the status once at the end. */
#include "core/draw/chart.h"

#include <cairo.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw/chart_int.h"

enum {
    LEFT = 76,
    RIGHT = 18,
    TOP = 34,
    BOTTOM = 52,
    BAR = 16,
    BAR_SPACE = 96,
    LEGEND_ROW = 19,
    TITLE = 34,
    NOTE_ROW = 16,
    TEXT = 13,
    SMALL = 11,
    NOTHING = 0xD8D8D8 /* colour of a heat map's missing values */
};
static const double TAU = 6.28318530717958647692;

struct sheet {
    cairo_t *cairo;
    const struct chart *chart;
    int columns, rows;
    double plot_width, plot_height, cell_width, cell_height;
    double width, height, legend;
};

/* ---- text ------------------------------------------------------------------------------------------- */

static double text_width(cairo_t *c, const char *text)
{
    cairo_text_extents_t e;
    cairo_text_extents(c, text, &e);
    return e.x_advance;
}

/* Writes a text on one line. align: 0: the text begins at x; 0.5: it is centred at x; 1: it ends at x. */
static void chart_put(cairo_t *c, const char *text, double x, double y, double align)
{
    if (!text)
        return;
    cairo_move_to(c, floor(x - align * text_width(c, text)), floor(y));
    cairo_show_text(c, text);
}

static void put_upright(cairo_t *c, const char *text, double x, double y)
{
    if (!text)
        return;
    cairo_save(c);
    cairo_translate(c, x, y);
    cairo_rotate(c, -TAU / 4);
    chart_put(c, text, 0, 0, 0.5);
    cairo_restore(c);
}

static void chart_font(cairo_t *c, double size, bool bold)
{
    cairo_select_font_face(c, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
}

static void ink(cairo_t *c, struct chart_colour colour, double alpha)
{
    cairo_set_source_rgba(c, colour.red, colour.green, colour.blue, alpha);
}

static void chart_grey(cairo_t *c, double level)
{
    cairo_set_source_rgb(c, level, level, level);
}

/* ---- axes ------------------------------------------------------------------------------------------- */

static int scale_ticks(const struct chart_scale *s, int room, double at[CHART_TICKS],
                       char labels[CHART_TICKS][CHART_TICK_BYTES])
{
    double low = fmin(s->min, s->max), high = fmax(s->min, s->max); /* an axis that runs downwards has min > max */
    return chart_ticks(s->log ? pow(10, low) : low, s->log ? pow(10, high) : high, s->log, room, at, labels);
}

static void chart_line(cairo_t *c, double x0, double y0, double x1, double y1)
{
    cairo_move_to(c, x0, y0);
    cairo_line_to(c, x1, y1);
    cairo_stroke(c);
}

/* Whether the axis has a tick at `at`. Axes of rows and columns (`whole`) have ticks at whole numbers only. */
static bool chart_shown(double at, bool whole)
{
    return !whole || at == floor(at);
}

/* Writes ticks at 1, 2, ... whose labels are the given names. Returns the number of ticks. */
static int named_ticks(const char *const *names, double at[CHART_TICKS], char labels[CHART_TICKS][CHART_TICK_BYTES])
{
    int count = 0;
    for (; count < CHART_TICKS && names[count]; count++) {
        at[count] = count + 1;
        snprintf(labels[count], CHART_TICK_BYTES, "%s", names[count]);
    }
    return count;
}

static void draw_ticks(cairo_t *c, const struct chart_scale *x, const struct chart_scale *y,
                       const struct chart_panel *panel)
{
    const struct chart_heat *heat = panel->heat;
    bool grid = heat == NULL, whole_x = heat && !heat->x, whole_y = heat && !heat->y;
    double at[CHART_TICKS], pixel;
    char labels[CHART_TICKS][CHART_TICK_BYTES];
    chart_font(c, SMALL, false);
    cairo_set_line_width(c, 1);
    int count = panel->x.names ? named_ticks(panel->x.names, at, labels)
                               : scale_ticks(x, (int)((x->to - x->from) / 58), at, labels);
    for (int i = 0; i < count; i++) {
        if (!chart_shown(at[i], whole_x) || !chart_place(x, at[i], &pixel))
            continue;
        pixel = floor(pixel) + 0.5;
        chart_grey(c, grid ? 0.9 : 0.2);
        chart_line(c, pixel, grid ? y->to : y->from, pixel, y->from + 4);
        chart_grey(c, 0.2);
        chart_put(c, labels[i], pixel, y->from + 18, 0.5);
    }
    count = scale_ticks(y, (int)((y->from - y->to) / 34), at, labels);
    for (int i = 0; i < count; i++) {
        if (!chart_shown(at[i], whole_y) || !chart_place(y, at[i], &pixel))
            continue;
        pixel = floor(pixel) + 0.5;
        chart_grey(c, grid ? 0.9 : 0.2);
        chart_line(c, grid ? x->to : x->from, pixel, x->from - 4, pixel);
        chart_grey(c, 0.2);
        chart_put(c, labels[i], x->from - 8, pixel + 4, 1);
    }
}

static void draw_frame(cairo_t *c, const struct chart_panel *panel, const struct chart_scale *x,
                       const struct chart_scale *y)
{
    chart_grey(c, 0.2);
    cairo_set_line_width(c, 1);
    cairo_rectangle(c, floor(x->from) + 0.5, floor(y->to) + 0.5, x->to - x->from, y->from - y->to);
    cairo_stroke(c);
    chart_font(c, TEXT, true);
    chart_put(c, panel->title, (x->from + x->to) / 2, y->to - 10, 0.5);
    chart_font(c, TEXT, false);
    chart_put(c, panel->x.label, (x->from + x->to) / 2, y->from + 40, 0.5);
    put_upright(c, panel->y.label, x->from - LEFT + 18, (y->from + y->to) / 2);
}

/* ---- series ----------------------------------------------------------------------------------------- */

static struct chart_colour series_colour(const struct chart_panel *panel, size_t i)
{
    int colour = panel->series[i].colour;
    return chart_colour(colour < 0 ? (int)i : colour);
}

static void set_dash(cairo_t *c, enum chart_mark mark)
{
    static const double dashes[] = {7, 4}, dots[] = {1.5, 3.5};
    cairo_set_dash(c, mark == CHART_DASHES ? dashes : dots, mark == CHART_DASHES || mark == CHART_DOTS ? 2 : 0, 0);
}

/* Draws a disc, square, triangle, diamond or cross. shape: the index of the series. */
static void draw_mark(cairo_t *c, double x, double y, int shape)
{
    const double r = 3.6;
    cairo_new_path(c);
    switch (shape % 5) {
    case 0:
        cairo_arc(c, x, y, r, 0, TAU);
        break;
    case 1:
        cairo_rectangle(c, x - r, y - r, 2 * r, 2 * r);
        break;
    case 2:
        cairo_move_to(c, x, y - 1.3 * r);
        cairo_line_to(c, x + 1.2 * r, y + r);
        cairo_line_to(c, x - 1.2 * r, y + r);
        break;
    case 3:
        cairo_move_to(c, x, y - 1.4 * r);
        cairo_line_to(c, x + 1.4 * r, y);
        cairo_line_to(c, x, y + 1.4 * r);
        cairo_line_to(c, x - 1.4 * r, y);
        break;
    default:
        cairo_set_line_width(c, 2);
        chart_line(c, x - r, y - r, x + r, y + r);
        chart_line(c, x - r, y + r, x + r, y - r);
        return;
    }
    cairo_close_path(c);
    cairo_fill(c);
}

static void draw_curve(cairo_t *c, const struct chart_series *s, const struct chart_scale *x,
                       const struct chart_scale *y)
{
    bool begun = false;
    double px, py;
    cairo_set_line_width(c, 1.9);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    set_dash(c, s->mark);
    cairo_new_path(c);
    for (size_t i = 0; i < s->count; i++) {
        bool there = chart_place(x, s->x[i], &px) && chart_place(y, s->y[i], &py);
        if (there && begun)
            cairo_line_to(c, px, py);
        else if (there)
            cairo_move_to(c, px, py);
        begun = there;
    }
    cairo_stroke(c);
    cairo_set_dash(c, NULL, 0, 0);
}

static void draw_bars(cairo_t *c, const struct chart_series *s, const struct chart_scale *x,
                      const struct chart_scale *y)
{
    double px, low, high;
    cairo_set_line_width(c, 1.2);
    for (size_t i = 0; s->low && i < s->count; i++)
        if (chart_place(x, s->x[i], &px) && chart_place(y, s->low[i], &low) && chart_place(y, s->high[i], &high)) {
            chart_line(c, px, low, px, high);
            chart_line(c, px - 3, low, px + 3, low);
            chart_line(c, px - 3, high, px + 3, high);
        }
}

static bool has_curve(enum chart_mark mark)
{
    return mark != CHART_POINTS;
}
static bool has_marks(enum chart_mark mark)
{
    return mark == CHART_POINTS || mark == CHART_LINE_POINTS;
}

static void draw_series(cairo_t *c, const struct chart_panel *panel, size_t i, const struct chart_scale *x,
                        const struct chart_scale *y)
{
    const struct chart_series *s = &panel->series[i];
    double px, py;
    ink(c, series_colour(panel, i), 1);
    draw_bars(c, s, x, y);
    if (has_curve(s->mark))
        draw_curve(c, s, x, y);
    for (size_t k = 0; has_marks(s->mark) && k < s->count; k++)
        if (chart_place(x, s->x[k], &px) && chart_place(y, s->y[k], &py))
            draw_mark(c, px, py, (int)i);
}

static void reference_ink(cairo_t *c, const struct chart_reference *r, double alpha)
{
    if (r->colour < 0)
        cairo_set_source_rgba(c, 0.35, 0.35, 0.35, alpha);
    else
        ink(c, chart_colour(r->colour), alpha);
}

static void draw_reference(cairo_t *c, const struct chart_reference *r, const struct chart_scale *x,
                           const struct chart_scale *y)
{
    const struct chart_scale *along = r->upright ? x : y, *across = r->upright ? y : x;
    double from, to;
    if (!chart_place(along, r->from, &from))
        return;
    if (chart_place(along, r->to, &to)) {
        reference_ink(c, r, 0.18);
        if (r->upright)
            cairo_rectangle(c, from, across->to, to - from, across->from - across->to);
        else
            cairo_rectangle(c, across->from, from, across->to - across->from, to - from);
        cairo_fill(c);
        return;
    }
    reference_ink(c, r, 0.9);
    cairo_set_line_width(c, 1.4);
    set_dash(c, CHART_DASHES);
    if (r->upright)
        chart_line(c, from, across->from, from, across->to);
    else
        chart_line(c, across->from, from, across->to, from);
    cairo_set_dash(c, NULL, 0, 0);
}

/* ---- heat maps -------------------------------------------------------------------------------------- */

static uint32_t pixel_of(struct chart_colour colour)
{
    return (uint32_t)(255 * colour.red + 0.5) << 16 | (uint32_t)(255 * colour.green + 0.5) << 8 |
           (uint32_t)(255 * colour.blue + 0.5);
}

/* Creates a white surface of `rows` x `cols` pixels whose rows are `*stride` words apart. NULL: no memory. */
static cairo_surface_t *raster(int rows, int cols, uint32_t **at, int *stride)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, cols, rows);
    if (cairo_surface_status(surface)) {
        cairo_surface_destroy(surface);
        return NULL;
    }
    cairo_surface_flush(surface);
    *at = (uint32_t *)(void *)cairo_image_surface_get_data(surface);
    *stride = cairo_image_surface_get_stride(surface) / 4;
    return surface;
}

/* Stretches a surface over a rectangle, so that each pixel of the surface becomes a block. */
static void stretch(cairo_t *c, cairo_surface_t *surface, double x, double y, double width, double height, int cols,
                    int rows)
{
    cairo_surface_mark_dirty(surface);
    cairo_save(c);
    cairo_translate(c, x, y);
    cairo_scale(c, width / cols, height / rows);
    cairo_set_source_surface(c, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c),
                             cols > width || rows > height ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
    cairo_rectangle(c, 0, 0, cols, rows);
    cairo_fill(c);
    cairo_restore(c);
}

static void draw_bar(cairo_t *c, const struct chart_heat *heat, const struct chart_scale *x,
                     const struct chart_scale *y, const struct chart_scale *range)
{
    enum { STEPS = 256 };
    uint32_t *at;
    int stride;
    double left = x->to + 14, ticks[CHART_TICKS], pixel;
    char labels[CHART_TICKS][CHART_TICK_BYTES];
    cairo_surface_t *surface = raster(STEPS, 1, &at, &stride);
    if (!surface)
        return;
    for (int i = 0; i < STEPS; i++)
        at[i * stride] = pixel_of(chart_shade(heat->map, 1 - (double)i / (STEPS - 1)));
    stretch(c, surface, left, y->to, BAR, y->from - y->to, 1, STEPS);
    cairo_surface_destroy(surface);
    chart_grey(c, 0.2);
    cairo_set_line_width(c, 1);
    cairo_rectangle(c, left + 0.5, floor(y->to) + 0.5, BAR, y->from - y->to);
    cairo_stroke(c);
    chart_font(c, SMALL, false);
    struct chart_scale bar = *range;
    bar.from = y->from;
    bar.to = y->to;
    int count = scale_ticks(&bar, (int)((y->from - y->to) / 34), ticks, labels);
    for (int i = 0; i < count; i++)
        if (chart_place(&bar, ticks[i], &pixel)) {
            chart_line(c, left + BAR, floor(pixel) + 0.5, left + BAR + 4, floor(pixel) + 0.5);
            chart_put(c, labels[i], left + BAR + 7, pixel + 4, 0);
        }
    put_upright(c, heat->label, left + BAR_SPACE - 24, (y->from + y->to) / 2);
}

static void draw_heat(cairo_t *c, const struct chart_heat *heat, const struct chart_scale *x,
                      const struct chart_scale *y)
{
    struct chart_scale range = chart_heat_scale(heat);
    double place, hx = chart_half_step(heat->x, heat->cols), hy = chart_half_step(heat->y, heat->rows);
    double left = (heat->x ? heat->x[0] : 0) - hx, right = (heat->x ? heat->x[heat->cols - 1] : heat->cols - 1) + hx;
    double low = (heat->y ? heat->y[0] : 0) - hy, high = (heat->y ? heat->y[heat->rows - 1] : heat->rows - 1) + hy;
    double x0, x1, y0, y1;
    uint32_t *at;
    int stride;
    cairo_surface_t *surface = raster(heat->rows, heat->cols, &at, &stride);
    if (!surface)
        return;
    range.from = 0;
    range.to = 1;
    for (int row = 0; row < heat->rows; row++)
        for (int col = 0; col < heat->cols; col++) {
            double value = heat->values[(size_t)row * (size_t)heat->cols + (size_t)col];
            bool there = chart_place(&range, value, &place);
            at[(heat->down ? row : heat->rows - 1 - row) * stride + col] =
                there ? pixel_of(chart_shade(heat->map, place)) : NOTHING;
        }
    if (chart_place(x, left, &x0) && chart_place(x, right, &x1) && chart_place(y, low, &y0) &&
        chart_place(y, high, &y1))
        stretch(c, surface, x0, fmin(y0, y1), x1 - x0, fabs(y1 - y0), heat->cols, heat->rows);
    cairo_surface_destroy(surface);
    draw_bar(c, heat, x, y, &range);
}

/* ---- legend ----------------------------------------------------------------------------------------- */

struct legend {
    cairo_t *cairo;
    bool draw; /* whether the legend is drawn; otherwise it is only measured */
    double left, right, x, y;
};

/* Reserves space for the next entry of the legend, on a new line if the entry does not fit. Returns the entry's x. */
static double legend_entry(struct legend *l, const char *name)
{
    double width = 34 + text_width(l->cairo, name) + 16;
    if (l->x > l->left && l->x + width - 16 > l->right) {
        l->x = l->left;
        l->y += LEGEND_ROW;
    }
    double at = l->x;
    l->x += width;
    return at;
}

static void legend_series(struct legend *l, const struct chart_panel *panel, size_t i)
{
    const struct chart_series *s = &panel->series[i];
    cairo_t *c = l->cairo;
    double at = legend_entry(l, s->name);
    if (!l->draw)
        return;
    ink(c, series_colour(panel, i), 1);
    if (has_curve(s->mark)) {
        cairo_set_line_width(c, 1.9);
        set_dash(c, s->mark);
        chart_line(c, at, l->y, at + 27, l->y);
        cairo_set_dash(c, NULL, 0, 0);
    }
    if (has_marks(s->mark))
        draw_mark(c, at + 13.5, l->y, (int)i);
    chart_grey(c, 0.1);
    chart_put(c, s->name, at + 33, l->y + 4, 0);
}

static void legend_reference(struct legend *l, const struct chart_reference *r)
{
    cairo_t *c = l->cairo;
    double at = legend_entry(l, r->name);
    if (!l->draw)
        return;
    reference_ink(c, r, isnan(r->to) ? 0.9 : 0.18);
    if (isnan(r->to)) {
        cairo_set_line_width(c, 1.4);
        set_dash(c, CHART_DASHES);
        chart_line(c, at, l->y, at + 27, l->y);
        cairo_set_dash(c, NULL, 0, 0);
    } else {
        cairo_rectangle(c, at, l->y - 6, 27, 12);
        cairo_fill(c);
    }
    chart_grey(c, 0.1);
    chart_put(c, r->name, at + 33, l->y + 4, 0);
}

/* Returns the height of the legend. If `draw` is set, also draws the legend. */
static double legend(cairo_t *c, const struct chart_panel *panel, double left, double right, double top, bool draw)
{
    struct legend l = {c, draw, left, right, left, top + LEGEND_ROW / 2.0};
    bool any = false;
    chart_font(c, SMALL + 1, false);
    for (size_t i = 0; i < panel->series_count; i++)
        if (panel->series[i].name) {
            legend_series(&l, panel, i);
            any = true;
        }
    for (size_t i = 0; i < panel->reference_count; i++)
        if (panel->references[i].name) {
            legend_reference(&l, &panel->references[i]);
            any = true;
        }
    return any ? l.y - top + LEGEND_ROW / 2.0 : 0;
}

/* ---- the sheet -------------------------------------------------------------------------------------- */

static void draw_panel(struct sheet *sheet, int index)
{
    const struct chart_panel *panel = &sheet->chart->panels[index];
    cairo_t *c = sheet->cairo;
    struct chart_scale x, y;
    int row = index / sheet->columns, column = index % sheet->columns;
    double left = column * sheet->cell_width, top = (sheet->chart->title ? TITLE : 0) + row * sheet->cell_height;
    chart_scales(panel, &x, &y);
    if (panel->heat && panel->heat->down) {
        double low = y.min;
        y.min = y.max;
        y.max = low;
    }
    x.from = left + LEFT;
    x.to = x.from + sheet->plot_width;
    y.to = top + TOP;
    y.from = y.to + sheet->plot_height;
    if (!panel->heat)
        draw_ticks(c, &x, &y, panel);
    cairo_save(c);
    cairo_rectangle(c, x.from, y.to, x.to - x.from + (panel->heat ? BAR_SPACE : 0), y.from - y.to);
    if (!panel->heat)
        cairo_clip(c);
    else
        cairo_new_path(c);
    if (panel->heat)
        draw_heat(c, panel->heat, &x, &y);
    for (size_t i = 0; i < panel->reference_count; i++)
        draw_reference(c, &panel->references[i], &x, &y);
    for (size_t i = 0; i < panel->series_count; i++)
        draw_series(c, panel, i, &x, &y);
    cairo_restore(c);
    if (panel->heat)
        draw_ticks(c, &x, &y, panel);
    draw_frame(c, panel, &x, &y);
    if (!sheet->chart->one_legend)
        legend(c, panel, x.from - 40, x.to, y.from + BOTTOM, true);
}

static void note_line(const char *at, char out[256])
{
    size_t bytes = strcspn(at, "\n");
    bytes = bytes < 256 ? bytes : 255;
    memcpy(out, at, bytes);
    out[bytes] = '\0';
}

static void draw_sheet(struct sheet *sheet)
{
    const struct chart *chart = sheet->chart;
    cairo_t *c = sheet->cairo;
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    chart_font(c, TEXT + 2, true);
    chart_grey(c, 0.1);
    chart_put(c, chart->title, sheet->width / 2, 23, 0.5);
    for (int i = 0; i < chart->panel_count; i++)
        draw_panel(sheet, i);
    double y = (chart->title ? TITLE : 0) + sheet->rows * sheet->cell_height;
    if (chart->one_legend)
        y += legend(c, &chart->panels[0], LEFT, sheet->width - RIGHT, y, true) + 4;
    chart_font(c, SMALL, false);
    chart_grey(c, 0.35);
    for (const char *at = chart->note; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        char text[256];
        note_line(at, text);
        chart_put(c, text, 14, y + 11, 0);
        y += NOTE_ROW;
    }
}

static int note_rows(const char *note)
{
    int rows = note ? 1 : 0;
    for (; note && (note = strchr(note, '\n')); note++)
        rows++;
    return rows;
}

/* Returns the width of the title or of the note's longest line, whichever is larger, plus a margin. */
static double words_width(cairo_t *c, const struct chart *chart)
{
    double most = 0;
    chart_font(c, TEXT + 2, true);
    most = chart->title ? text_width(c, chart->title) : 0;
    chart_font(c, SMALL, false);
    for (const char *at = chart->note; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        char text[256];
        note_line(at, text);
        most = fmax(most, text_width(c, text));
    }
    return most + 28;
}

/* Computes all sizes. Legends are measured on a small surface, and panels grow where text would not fit. */
static void lay_out(struct sheet *s)
{
    const struct chart *chart = s->chart;
    bool bars = false;
    double most = 0;
    s->columns = chart->columns > 0 && chart->columns < chart->panel_count ? chart->columns : chart->panel_count;
    s->rows = (chart->panel_count + s->columns - 1) / s->columns;
    s->plot_width = chart->width > 0 ? chart->width : 440;
    s->plot_height = chart->height > 0 ? chart->height : 300;
    for (int i = 0; i < chart->panel_count; i++)
        bars |= chart->panels[i].heat != NULL;
    double beside = LEFT + (bars ? BAR_SPACE : 0) + RIGHT;
    if (!bars) /* long text widens the panels; heat maps are not widened, because they keep their proportions */
        s->plot_width = fmax(s->plot_width, ceil(words_width(s->cairo, chart) / s->columns) - beside);
    s->cell_width = s->plot_width + beside;
    s->width = s->columns * s->cell_width;
    for (int i = 0; i < chart->panel_count && !chart->one_legend; i++)
        most = fmax(most, legend(s->cairo, &chart->panels[i], LEFT - 40, LEFT + s->plot_width, 0, false));
    s->cell_height = TOP + s->plot_height + BOTTOM + most + 6;
    double below = chart->one_legend ? legend(s->cairo, &chart->panels[0], LEFT, s->width - RIGHT, 0, false) + 4 : 0;
    s->height = (chart->title ? TITLE : 0) + s->rows * s->cell_height + below + note_rows(chart->note) * NOTE_ROW + 6;
}

static enum status chart_check(const struct chart *chart, struct error *err)
{
    if (!chart->panels || chart->panel_count < 1 || chart->panel_count > CHART_PANELS)
        return error_set(err, STATUS_INVALID, NULL, "a chart has 1 to %d panels; got %d", CHART_PANELS,
                         chart->panel_count);
    for (int i = 0; i < chart->panel_count; i++) {
        const struct chart_heat *heat = chart->panels[i].heat;
        if (!heat)
            continue;
        if (heat->rows < 1 || heat->cols < 1 || heat->rows > CHART_SIDE_MAX || heat->cols > CHART_SIDE_MAX)
            return error_set(err, STATUS_INVALID, NULL, "a heat map has 1 to %d rows and columns; got %d x %d",
                             CHART_SIDE_MAX, heat->rows, heat->cols);
        if (chart->panels[i].x.log || chart->panels[i].y.log)
            return error_set(err, STATUS_INVALID, NULL, "a heat map needs linear axes");
    }
    return STATUS_OK;
}

static cairo_status_t chart_append(void *context, const unsigned char *bytes, unsigned count)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static enum status surface_error(cairo_status_t failed, struct error *err)
{
    return error_set(err, failed == CAIRO_STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INTERNAL, NULL, "chart: %s",
                     cairo_status_to_string(failed));
}

/* Computes the sizes with a surface of one pixel, then draws on a surface of the right size. */
/* Draws a chart: into memory, or if `svg` is not NULL, as an SVG file that is appended to it. */
static enum status render(const struct chart *chart, struct buf *svg, cairo_surface_t **surface, struct error *err)
{
    struct sheet sheet = {.chart = chart};
    *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    sheet.cairo = cairo_create(*surface);
    lay_out(&sheet);
    cairo_status_t failed = cairo_status(sheet.cairo);
    cairo_destroy(sheet.cairo);
    if (failed)
        return surface_error(failed, err);
    if (sheet.width > CHART_SIDE_MAX || sheet.height > CHART_SIDE_MAX)
        return error_set(err, STATUS_LIMIT, NULL, "a chart has at most %d pixels a side; this would have %.0f x %.0f",
                         CHART_SIDE_MAX, sheet.width, sheet.height);
    cairo_surface_destroy(*surface);
    *surface = svg ? cairo_svg_surface_create_for_stream(chart_append, svg, sheet.width, sheet.height)
                   : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)sheet.width, (int)sheet.height);
    sheet.cairo = cairo_create(*surface);
    draw_sheet(&sheet);
    failed = cairo_status(sheet.cairo);
    cairo_destroy(sheet.cairo);
    return failed ? surface_error(failed, err) : STATUS_OK;
}

static enum status write_file(const struct chart *chart, bool svg, struct buf *out, struct error *err)
{
    cairo_surface_t *surface = NULL;
    enum status status = chart_check(chart, err);
    if (status)
        return status;
    status = render(chart, svg ? out : NULL, &surface, err);
    if (!status) {
        if (svg)
            cairo_surface_finish(surface); /* writes the end of the file */
        cairo_status_t failed =
            svg ? cairo_surface_status(surface) : cairo_surface_write_to_png_stream(surface, chart_append, out);
        if (out->failed)
            status = buf_status(out, "the chart's file", err);
        else if (failed)
            status = surface_error(failed, err);
    }
    cairo_surface_destroy(surface);
    return status;
}

enum status chart_png(const struct chart *chart, struct buf *out, struct error *err)
{
    return write_file(chart, false, out, err);
}

enum status chart_svg(const struct chart *chart, struct buf *out, struct error *err)
{
    return write_file(chart, true, out, err);
}
