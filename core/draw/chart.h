/* Charts of results: lines, points, error bars, reference lines and bands, and heat maps, in several panels.
 *
 * A chart is a plain description that borrows its numbers. chart_png() and chart_svg() draw it with cairo in DejaVu
 * Sans; chart_csv() writes the same numbers as text, so that every picture comes with its data. The picture leaves out
 * values that are not finite, and on a logarithmic axis values that are not above zero; a line is interrupted there.
 * The CSV has empty fields for these values. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DRAW_CHART_H
#define MOTIF_CORE_DRAW_CHART_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"

enum { CHART_PANELS = 64, CHART_SIDE_MAX = 8192 };
enum { CHART_BYTES = 16 << 20 }; /* upper limit of a chart's file; callers use it as the limit of their buffer */

struct chart_axis {
    const char *label; /* UTF-8 text; this and every other text of a chart may be NULL */
    bool log;          /* the axis is logarithmic */
    double min, max;   /* values at the ends; NaN: computed from the data; min > max: the axis runs downwards */
    /* labels of the positions 1, 2, ... of an x axis, ended by NULL; no list (NULL): the axis shows numbers */
    const char *const *names;
};
#define CHART_AXIS(text) ((struct chart_axis){(text), false, NAN, NAN, NULL})
#define CHART_LOG_AXIS(text) ((struct chart_axis){(text), true, NAN, NAN, NULL})

enum chart_mark { CHART_LINE, CHART_DASHES, CHART_DOTS, CHART_POINTS, CHART_LINE_POINTS };

struct chart_series {
    const char *name;     /* name in the legend and in the CSV */
    enum chart_mark mark; /* how the series is drawn; the index of the series selects the shape of its points */
    int colour;           /* argument of chart_colour(); -1: chart_colour() gets the index of the series in its panel */
    const double *x, *y;  /* [count] */
    const double *low, *high; /* [count] ends of the error bars; both NULL: no error bars */
    size_t count;
};

/* A reference behind the series: a band from `from` to `to` in x or y, or, if `to` is NaN, a line at `from`. */
struct chart_reference {
    const char *name;
    bool upright; /* true: `from` and `to` are values of x; false: of y */
    double from, to;
    int colour; /* index for chart_colour(); -1: grey */
};

enum chart_map {
    CHART_VIRIDIS, /* dark to light, perceptually uniform, readable in grey (ten colours published by matplotlib) */
    CHART_SIGNED   /* blue below 0, white at 0, red above, symmetric about 0 (ColorBrewer RdBu) */
};

struct chart_heat {
    const double *values; /* [rows][cols] */
    int rows, cols;
    const double *x, *y; /* x: [cols], y: [rows] centres of the cells, ascending and evenly spaced; borrowed; NULL: the
                            centres are 0, 1, 2, ... */
    enum chart_map map;
    bool log, down;  /* log: the colour bar is logarithmic, except with CHART_SIGNED; down: row 0 is at the top instead
                        of at the bottom */
    double min, max; /* values at the ends of the colour bar; NaN: computed from the data */
    const char *label; /* title of the colour bar and name of the CSV column */
};

struct chart_panel {
    const char *title;
    struct chart_axis x, y;
    const struct chart_series *series;
    size_t series_count;
    const struct chart_reference *references;
    size_t reference_count;
    const struct chart_heat *heat; /* NULL: the panel has no heat map */
};

struct chart {
    const char *title;
    const char *note; /* small text below everything; may contain newlines */
    const struct chart_panel *panels;
    int panel_count, columns; /* columns: number of panels in a row; 0: all panels in one row */
    int width, height;        /* size of a panel's plotting area in pixels; 0: 440 x 300 */
    /* true: the chart has one legend, that of the first panel, below all panels; false: each panel has its own legend
     * below it */
    bool one_legend;
};

/* Moves the panels that show at least one number to the front, in their order, and returns how many there are. A chart
 * should not show a figure that was not measured (NaN) as an empty panel. */
int chart_panels_with_numbers(struct chart_panel *panels, int count);

struct chart_colour {
    double red, green, blue; /* intensities in [0, 1] */
};
/* One of eight colours that colour-blind readers can distinguish on white (Okabe and Ito); `index` wraps around. */
struct chart_colour chart_colour(int index);
/* The colour of a map at `at`, which is clamped to [0, 1]. */
struct chart_colour chart_shade(enum chart_map map, double at);

/* chart_ticks() computes at most `room` ticks of an axis [min, max] at round numbers, in ascending order. With `log`,
 * min and max must be above 0. It writes the values of the ticks to `at` and their texts to `labels`. Returns the
 * number of ticks (0 unless min and max are finite and min < max). */
enum { CHART_TICKS = 24, CHART_TICK_BYTES = 24 };
int chart_ticks(double min, double max, bool log, int room, double at[CHART_TICKS],
                char labels[CHART_TICKS][CHART_TICK_BYTES]);

/* Appends a PNG to `out`. STATUS_INVALID: a panel or heat map is inconsistent. STATUS_LIMIT: the picture or the file is
 * too large. */
enum status chart_png(const struct chart *chart, struct buf *out, struct error *err);
/* Works like chart_png(), but appends an SVG. */
enum status chart_svg(const struct chart *chart, struct buf *out, struct error *err);
/* Appends the header "panel,series,x,y,low,high,value" and a row for each point, each value of a heat map and each
 * reference. Numbers have 9 significant digits. */
enum status chart_csv(const struct chart *chart, struct buf *out, struct error *err);

#endif
