/* Charts of results: lines, points, error bars, reference lines and bands, heat maps, in several panels.
 *
 * A chart is a plain description that borrows its numbers; chart_png() draws it with cairo in the font DejaVu
 * Sans, chart_csv() writes the same numbers as text, so that no picture goes without its data. Points that
 * are not finite, or not above zero on a logarithmic axis, are left out of the picture (a line breaks there)
 * and stand in the CSV as empty fields. Pure functions of the description; any thread. */
#ifndef MOTIF_CORE_DRAW_CHART_H
#define MOTIF_CORE_DRAW_CHART_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"

enum { CHART_PANELS = 64, CHART_SIDE_MAX = 8192 };
enum { CHART_BYTES = 16 << 20 }; /* no chart's file is larger: a limit for the buffer */

/* Ends are taken from the data where NaN; min above max: the axis runs downwards. With `log`, decades are the ticks. */
struct chart_axis {
    const char *label; /* UTF-8; may be NULL, like every text here */
    bool log;
    double min, max;
    const char *const *names; /* of the places 1, 2, ... on an x axis, in place of numbers, up to a NULL; NULL: none */
};
#define CHART_AXIS(text) ((struct chart_axis){(text), false, NAN, NAN, NULL})
#define CHART_LOG_AXIS(text) ((struct chart_axis){(text), true, NAN, NAN, NULL})

enum chart_mark { CHART_LINE, CHART_DASHES, CHART_DOTS, CHART_POINTS, CHART_LINE_POINTS };

struct chart_series {
    const char *name;         /* in the legend and the CSV */
    enum chart_mark mark;     /* points of different series have different shapes */
    int colour;               /* 0..7 of chart_colour(), which repeats; -1: the series' place in its panel */
    const double *x, *y;      /* [count] */
    const double *low, *high; /* [count] ends of error bars; both or neither NULL */
    size_t count;
};

/* A line at x or y = `from` or, when `to` is not NaN, the band between; behind the series. */
struct chart_reference {
    const char *name;
    bool upright; /* at a value of x */
    double from, to;
    int colour; /* as above; -1: grey */
};

enum chart_map {
    CHART_VIRIDIS, /* low to high, evenly perceived, also in grey (matplotlib's ten published colours) */
    CHART_SIGNED   /* blue below 0, white at 0, red above: symmetric about 0 (ColorBrewer RdBu) */
};

/* values[row * cols + col]; row 0 is drawn at the bottom, or at the top with `down`. NULL x or y: indices. */
struct chart_heat {
    const double *values;
    int rows, cols;
    const double *x, *y; /* centres of columns and rows, ascending and evenly spaced; borrowed */
    enum chart_map map;
    bool log, down;
    double min, max;   /* of the colour bar; NaN: from the data */
    const char *label; /* of the colour bar and the CSV column */
};

struct chart_panel {
    const char *title;
    struct chart_axis x, y;
    const struct chart_series *series;
    size_t series_count;
    const struct chart_reference *references;
    size_t reference_count;
    const struct chart_heat *heat; /* NULL: none */
};

struct chart {
    const char *title;
    const char *note; /* small, below everything; newlines allowed */
    const struct chart_panel *panels;
    int panel_count, columns; /* columns 0: as many as panels */
    int width, height;        /* of the plotting area of a panel in pixels; 0: 440 x 300 */
    bool one_legend;          /* that of the first panel, below all, instead of one below each */
};

struct chart_colour {
    double red, green, blue; /* 0..1 */
};
/* Eight that are told apart also by colour-blind eyes, on white (Okabe and Ito). Any index. */
struct chart_colour chart_colour(int index);
/* `at` in [0, 1], clamped. */
struct chart_colour chart_shade(enum chart_map map, double at);

/* Ticks of an axis [min, max] (both > 0 with `log`): at round numbers, at most `room` of them, ascending. Returns how
 * many (0 where the ends are no interval) and, in labels, what to write there. */
enum { CHART_TICKS = 24, CHART_TICK_BYTES = 24 };
int chart_ticks(double min, double max, bool log, int room, double at[CHART_TICKS],
                char labels[CHART_TICKS][CHART_TICK_BYTES]);

/* Appends a PNG. STATUS_INVALID when panels or a heat map make no sense, STATUS_LIMIT when the picture or
 * the file becomes too large. */
enum status chart_png(const struct chart *chart, struct buf *out, struct error *err);
/* Appends "panel,series,x,y,low,high,value" and a row for each point, cell and reference. Numbers are given to 9
 * digits. */
enum status chart_csv(const struct chart *chart, struct buf *out, struct error *err);

#endif
