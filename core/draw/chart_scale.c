/* Ends of axes, ticks and colours of charts, and a chart's numbers as CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/draw/chart_int.h"

/* ---- colours -------------------------------------------------------------------------------------- */

static struct chart_colour from_rgb(unsigned rgb)
{
    return (struct chart_colour){(double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                                 (double)(rgb & 255) / 255};
}

struct chart_colour chart_colour(int index)
{
    static const unsigned colours[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x8C8C8C};
    const int count = (int)(sizeof colours / sizeof colours[0]);
    return from_rgb(colours[(index % count + count) % count]);
}

struct chart_colour chart_shade(enum chart_map map, double at)
{
    static const unsigned viridis[] = {0x440154, 0x482878, 0x3E4989, 0x31688E, 0x26828E,
                                       0x1F9E89, 0x35B779, 0x6ECE58, 0xB5DE2B, 0xFDE725};
    static const unsigned divided[] = {0x053061, 0x2166AC, 0x4393C3, 0x92C5DE, 0xD1E5F0, 0xF7F7F7,
                                       0xFDDBC7, 0xF4A582, 0xD6604D, 0xB2182B, 0x67001F};
    const unsigned *points = map == CHART_SIGNED ? divided : viridis;
    int last = (int)((map == CHART_SIGNED ? sizeof divided : sizeof viridis) / sizeof(unsigned)) - 1;
    double place = at > 0 ? fmin(at, 1) * last : 0;
    int below = (int)place < last ? (int)place : last - 1;
    double part = place - below;
    struct chart_colour a = from_rgb(points[below]), b = from_rgb(points[below + 1]);
    return (struct chart_colour){a.red + part * (b.red - a.red), a.green + part * (b.green - a.green),
                                 a.blue + part * (b.blue - a.blue)};
}

/* ---- ends of axes ----------------------------------------------------------------------------------- */

struct extent {
    double min, max;
};

static void reach(struct extent *e, double value, bool log)
{
    if (!isfinite(value) || (log && value <= 0))
        return;
    e->min = isnan(e->min) ? value : fmin(e->min, value);
    e->max = isnan(e->max) ? value : fmax(e->max, value);
}

static bool shows_numbers(const struct chart_panel *panel)
{
    for (int i = 0; panel->heat && i < panel->heat->rows * panel->heat->cols; i++)
        if (isfinite(panel->heat->values[i]))
            return true;
    for (size_t i = 0; i < panel->series_count; i++)
        for (size_t k = 0; k < panel->series[i].count; k++)
            if (isfinite(panel->series[i].x[k]) && isfinite(panel->series[i].y[k]))
                return true;
    return false;
}

int chart_panels_with_numbers(struct chart_panel *panels, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (shows_numbers(&panels[i]))
            panels[kept++] = panels[i];
    return kept;
}

double chart_half_step(const double *centres, int count)
{
    return centres && count > 1 ? (centres[count - 1] - centres[0]) / (2.0 * (count - 1)) : 0.5;
}

static void reach_heat(struct extent *e, const double *centres, int count, bool log)
{
    double half = chart_half_step(centres, count);
    reach(e, (centres ? centres[0] : 0) - half, log);
    reach(e, (centres ? centres[count - 1] : count - 1) + half, log);
}

/* Computes the ends of an axis. Ends that the caller has set stay as they are. Ends that come from the data get a
 * margin, unless the panel has a heat map (`tight`). An axis whose ends are equal is widened on both sides. */
static struct chart_scale chart_scale_settle(const struct chart_axis *axis, struct extent e, bool tight)
{
    struct chart_scale s = {.log = axis->log};
    double min = isnan(axis->min) ? e.min : axis->min, max = isnan(axis->max) ? e.max : axis->max;
    if (isnan(min) || isnan(max)) {
        min = axis->log ? 0.1 : 0;
        max = 1;
    }
    if (axis->log) {
        min = log10(min > 0 ? min : 1e-300);
        max = log10(max > 0 ? max : 1);
    }
    if (!isnan(axis->min) && !isnan(axis->max) && max < min) { /* the axis runs downwards */
        s.min = min;
        s.max = max;
        return s;
    }
    double margin = 0.04 * (max - min);
    if (!(max > min))
        margin = axis->log || min == 0 ? 0.5 : 0.05 * fabs(min);
    if (tight && max > min)
        margin = 0;
    s.min = isnan(axis->min) || !(max > min) ? min - margin : min;
    s.max = isnan(axis->max) || !(max > min) ? max + margin : max;
    return s;
}

void chart_scales(const struct chart_panel *panel, struct chart_scale *x, struct chart_scale *y)
{
    struct extent ex = {NAN, NAN}, ey = {NAN, NAN};
    for (size_t i = 0; i < panel->series_count; i++) {
        const struct chart_series *s = &panel->series[i];
        for (size_t k = 0; k < s->count; k++) {
            bool drawn = isfinite(s->x[k]) && isfinite(s->y[k]) && (!panel->x.log || s->x[k] > 0);
            if (!drawn)
                continue;
            reach(&ex, s->x[k], panel->x.log);
            reach(&ey, s->y[k], panel->y.log);
            if (s->low) {
                reach(&ey, s->low[k], panel->y.log);
                reach(&ey, s->high[k], panel->y.log);
            }
        }
    }
    for (size_t i = 0; i < panel->reference_count; i++) {
        const struct chart_reference *r = &panel->references[i];
        reach(r->upright ? &ex : &ey, r->from, r->upright ? panel->x.log : panel->y.log);
        reach(r->upright ? &ex : &ey, r->to, r->upright ? panel->x.log : panel->y.log);
    }
    if (panel->heat) {
        reach_heat(&ex, panel->heat->x, panel->heat->cols, panel->x.log);
        reach_heat(&ey, panel->heat->y, panel->heat->rows, panel->y.log);
    }
    *x = chart_scale_settle(&panel->x, ex, panel->heat != NULL);
    *y = chart_scale_settle(&panel->y, ey, panel->heat != NULL);
}

struct chart_scale chart_heat_scale(const struct chart_heat *heat)
{
    struct extent e = {NAN, NAN};
    bool log = heat->log && heat->map != CHART_SIGNED;
    for (size_t i = 0; i < (size_t)heat->rows * (size_t)heat->cols; i++)
        reach(&e, heat->values[i], log);
    struct chart_axis axis = {NULL, log, heat->min, heat->max, NULL};
    if (heat->map == CHART_SIGNED) {
        double most = fmax(fabs(isnan(heat->min) ? e.min : heat->min), fabs(isnan(heat->max) ? e.max : heat->max));
        axis.max = most > 0 ? most : 1;
        axis.min = -axis.max;
    }
    return chart_scale_settle(&axis, e, true);
}

bool chart_place(const struct chart_scale *scale, double value, double *pixel)
{
    if (!isfinite(value) || (scale->log && value <= 0))
        return false;
    double at = scale->log ? log10(value) : value;
    *pixel = scale->from + (at - scale->min) / (scale->max - scale->min) * (scale->to - scale->from);
    return true;
}

/* ---- ticks ------------------------------------------------------------------------------------------ */

/* Writes 10^exponent as text with a superscript exponent. 0.1, 1, 10 and 100 are written as plain numbers. */
static void power_label(int exponent, char *out)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (exponent >= -1 && exponent <= 2) {
        snprintf(out, CHART_TICK_BYTES, "%g", pow(10, exponent));
        return;
    }
    int size = exponent < 0 ? -exponent : exponent;
    snprintf(out, CHART_TICK_BYTES, "10%s%s%s%s", exponent < 0 ? "⁻" : "", size >= 100 ? raised[size / 100 % 10] : "",
             size >= 10 ? raised[size / 10 % 10] : "", raised[size % 10]);
}

static int decades(double min, double max, int room, double at[CHART_TICKS], char labels[][CHART_TICK_BYTES])
{
    double low = log10(min), high = log10(max);
    int first = (int)ceil(low - 1e-9), last = (int)floor(high + 1e-9), count = 0;
    int stride = 1;
    while ((last - first) / stride + 1 > room)
        stride++;
    first = (first + (first >= 0 ? stride - 1 : 0)) / stride * stride;
    for (int e = first; e <= last; e += stride) {
        at[count] = pow(10, e);
        power_label(e, labels[count++]);
    }
    return count;
}

/* Writes the ticks of a logarithmic axis of at most two decades: 1, 2 and 5 times each power of ten. Returns their
 * number. */
static int few_decades(double min, double max, int room, double at[CHART_TICKS], char labels[][CHART_TICK_BYTES])
{
    static const double digits[] = {1, 2, 5};
    int count = 0;
    for (int e = (int)floor(log10(min)); e <= (int)ceil(log10(max)); e++)
        for (int i = 0; i < 3; i++) {
            double value = digits[i] * pow(10, e);
            if (value < min * (1 - 1e-9) || value > max * (1 + 1e-9) || count >= room)
                continue;
            at[count] = value;
            snprintf(labels[count++], CHART_TICK_BYTES, "%.3g", value);
        }
    return count;
}

static int round_steps(double min, double max, int room, double at[CHART_TICKS], char labels[][CHART_TICK_BYTES])
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double least = (max - min) / room, power = pow(10, floor(log10(least))), step = 10 * power;
    for (int i = 4; i >= 0; i--)
        if (steps[i] * power >= least * (1 - 1e-9))
            step = steps[i] * power;
    int count = 0;
    double from = ceil(min / step - 1e-6);
    int digits = (int)fmin(12, ceil(log10(fmax(fabs(min), fabs(max)) / step)) + 1);
    for (; (from + count) * step <= max + 1e-6 * step && count < CHART_TICKS && count <= room; count++) {
        double k = from + count;
        at[count] = k * step;
        snprintf(labels[count], CHART_TICK_BYTES, "%.*g", digits < 6 ? 6 : digits, k == 0 ? 0.0 : k * step);
    }
    return count;
}

int chart_ticks(double min, double max, bool log, int room, double at[CHART_TICKS],
                char labels[CHART_TICKS][CHART_TICK_BYTES])
{
    room = room > CHART_TICKS - 1 ? CHART_TICKS - 1 : room < 2 ? 2 : room;
    if (!isfinite(min) || !isfinite(max) || !(max > min) || (log && min <= 0))
        return 0;
    if (!log)
        return round_steps(min, max, room, at, labels);
    if (max / min >= 80)
        return decades(min, max, room, at, labels);
    int count = max / min > 2.5 ? few_decades(min, max, room, at, labels) : 0;
    return count >= 2 ? count : round_steps(min, max, room, at, labels);
}

/* ---- the numbers ------------------------------------------------------------------------------------ */

/* Writes a CSV field, quoted if it contains a comma, a quote or a line break. */
static void field(struct buf *out, const char *text)
{
    if (!text || !strpbrk(text, ",\"\r\n")) {
        buf_text(out, text ? text : "");
        return;
    }
    buf_text(out, "\"");
    for (const char *c = text; *c; c++)
        buf_append(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    buf_text(out, "\"");
}

static void chart_scale_number(struct buf *out, double value)
{
    if (isfinite(value))
        buf_format(out, ",%.9g", value);
    else
        buf_text(out, ",");
}

static void begin_row(struct buf *out, const struct chart_panel *panel, const char *name)
{
    field(out, panel->title);
    buf_text(out, ",");
    field(out, name);
}

static void panel_csv(const struct chart_panel *panel, struct buf *out)
{
    for (size_t i = 0; i < panel->series_count; i++) {
        const struct chart_series *s = &panel->series[i];
        for (size_t k = 0; k < s->count; k++) {
            begin_row(out, panel, s->name);
            chart_scale_number(out, s->x[k]);
            chart_scale_number(out, s->y[k]);
            chart_scale_number(out, s->low ? s->low[k] : NAN);
            chart_scale_number(out, s->high ? s->high[k] : NAN);
            buf_text(out, ",\n");
        }
    }
    for (size_t i = 0; i < panel->reference_count; i++) {
        const struct chart_reference *r = &panel->references[i];
        begin_row(out, panel, r->name);
        chart_scale_number(out, r->upright ? r->from : NAN);
        chart_scale_number(out, r->upright ? NAN : r->from);
        chart_scale_number(out, isnan(r->to) ? NAN : r->from);
        chart_scale_number(out, r->to);
        buf_text(out, ",\n");
    }
    const struct chart_heat *h = panel->heat;
    for (int row = 0; h && row < h->rows; row++)
        for (int col = 0; col < h->cols; col++) {
            begin_row(out, panel, h->label);
            chart_scale_number(out, h->x ? h->x[col] : col);
            chart_scale_number(out, h->y ? h->y[row] : row);
            buf_text(out, ",,");
            chart_scale_number(out, h->values[(size_t)row * (size_t)h->cols + (size_t)col]);
            buf_text(out, "\n");
        }
}

enum status chart_csv(const struct chart *chart, struct buf *out, struct error *err)
{
    buf_text(out, "panel,series,x,y,low,high,value\n");
    for (int i = 0; i < chart->panel_count; i++)
        panel_csv(&chart->panels[i], out);
    return buf_status(out, "the table of the chart", err);
}
