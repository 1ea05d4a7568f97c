/* Scales the columns of tables (scale.h). */
#include "core/data/scale.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const collection_scales[] = {"auto", "none", "standard", "robust", "counts", NULL};

enum { BLOCKS = 4 };                        /* shift, unit, low, high */
static const double NORMAL_RANGE = 1.34898; /* interquartile range of normal numbers with deviation 1 */

enum status scale_create(enum collection_scale kind, int columns, struct scale *s, struct error *err)
{
    *s = (struct scale){.kind = kind};
    s->shift = calloc((size_t)columns * BLOCKS, sizeof *s->shift);
    if (!s->shift)
        return error_memory(err, "a scale");
    s->columns = columns;
    s->unit = s->shift + columns;
    s->low = s->unit + columns;
    s->high = s->low + columns;
    for (int j = 0; j < columns; j++)
        s->unit[j] = 1;
    return STATUS_OK;
}

void scale_close(struct scale *s)
{
    free(s->shift);
    *s = (struct scale){.columns = 0};
}

/* ---- values -------------------------------------------------------------------------------------------------- */

static double total_of(const struct scale *s, const float *x)
{
    double total = 0;
    for (int j = 0; j < s->columns; j++)
        total += (double)x[j];
    return total;
}

/* The factor that gives a row of counts the median total; 1 for other rows, and if the size is 0. */
static double factor_of(const struct scale *s, const float *x)
{
    double total = s->kind == SCALE_COUNTS && x ? total_of(s, x) : 0;
    return total > 0 && s->size > 0 ? s->size / total : 1;
}

/* The value before its shift: that of the file or, for counts, its logarithm. */
static double value_of(const struct scale *s, double x, double factor)
{
    return s->kind == SCALE_COUNTS ? log1p(fmax(x, 0) * factor) : x;
}

static float to_float(double value)
{
    return (float)fmax(fmin(value, FLT_MAX), -FLT_MAX);
}

enum status scale_row(const struct scale *s, float *x, struct error *err)
{
    if (s->kind == SCALE_NONE)
        return STATUS_OK;
    double factor = factor_of(s, x);
    for (int j = 0; j < s->columns; j++) {
        if (s->kind == SCALE_COUNTS && x[j] < 0)
            return error_set(err, STATUS_INVALID, "/array",
                             "element %d is %g, but the model was trained on counts (scale=counts), which are at least "
                             "0",
                             j, (double)x[j]);
        x[j] = to_float((value_of(s, (double)x[j], factor) - s->shift[j]) / s->unit[j]);
    }
    return STATUS_OK;
}

void scale_planes(const struct scale *s, float *planes, int channels, int64_t count)
{
    for (int c = 0; c < channels; c++) {
        float shift = (float)s->shift[s->columns > 1 ? c : 0], unit = (float)s->unit[s->columns > 1 ? c : 0];
        for (int64_t i = 0; i < count; i++)
            planes[c * count + i] = (planes[c * count + i] - shift) / unit;
    }
}

void scale_undo(const struct scale *s, const float *row, const float *y, float *out)
{
    double factor = factor_of(s, row);
    for (int j = 0; j < s->columns; j++) {
        double value = (double)y[j] * s->unit[j] + s->shift[j];
        out[j] = to_float(s->kind == SCALE_COUNTS ? fmax(expm1(value), 0) / factor : value);
    }
}

/* ---- statistics ---------------------------------------------------------------------------------------------- */

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value at the share q of sorted values, between two of them by linear interpolation. */
static double quantile(const double *sorted, int count, double q)
{
    double at = q * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Measures a column of the rows' values v: [count], which it sorts. */
static void fit_column(struct scale *s, int j, double *v, int count, bool centred)
{
    bool scaled = s->kind != SCALE_NONE;
    double sum = 0, squares = 0, low = v[0], high = v[0];
    for (int i = 0; i < count; i++) {
        sum += v[i];
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    double mean = centred ? fmax(low, fmin(sum / count, high)) : 0, shift = mean;
    for (int i = 0; i < count; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    double unit = sqrt(squares / count);
    if (s->kind == SCALE_ROBUST) {
        qsort(v, (size_t)count, sizeof *v, rising);
        double range = centred ? quantile(v, count, 0.75) - quantile(v, count, 0.25) : 2 * quantile(v, count, 0.5);
        shift = quantile(v, count, 0.5);
        unit = range > 0 ? range / NORMAL_RANGE : unit;
    }
    s->shift[j] = scaled && centred ? shift : 0;
    s->unit[j] = scaled && (high > low || !centred) && unit > 0 ? unit : 1;
    s->low[j] = (low - s->shift[j]) / s->unit[j];
    s->high[j] = (high - s->shift[j]) / s->unit[j];
}

static enum status check_counts(const float *x, int row, int columns, char *const *names, const char *pointer,
                                struct error *err)
{
    for (int j = 0; j < columns; j++)
        if (x[j] < 0)
            return names ? error_set(err, STATUS_INVALID, pointer,
                                     "must not be counts: row %d has %g in column %s, but counts are at least 0; use "
                                     "standard or robust",
                                     row + 1, (double)x[j], names[j])
                         : error_set(err, STATUS_INVALID, pointer,
                                     "must not be counts: row %d has %g in column %d, but counts are at least 0; use "
                                     "standard or robust",
                                     row + 1, (double)x[j], j + 1);
    return STATUS_OK;
}

/* Sets the median total, and writes the factor of each row. */
static enum status fit_counts(struct scale *s, const float *x, const int *rows, int count, char *const *names,
                              const char *pointer, double *factor, double *sorted, struct error *err)
{
    int used = 0;
    for (int i = 0; i < count; i++) {
        int row = rows ? rows[i] : i;
        const float *at = x + (ptrdiff_t)row * s->columns;
        enum status status = check_counts(at, row, s->columns, names, pointer, err);
        if (status)
            return status;
        double total = total_of(s, at);
        if (total > 0)
            sorted[used++] = total;
    }
    qsort(sorted, (size_t)used, sizeof *sorted, rising);
    s->size = used > 0 ? quantile(sorted, used, 0.5) : 0;
    for (int i = 0; i < count; i++)
        factor[i] = factor_of(s, x + (ptrdiff_t)(rows ? rows[i] : i) * s->columns);
    return STATUS_OK;
}

enum status scale_fit(enum collection_scale kind, bool centred, const float *x, const int *rows, int count, int columns,
                      char *const *names, const char *pointer, struct scale *out, struct error *err)
{
    enum { TOGETHER = 4 }; /* columns that are read together */
    *out = (struct scale){.columns = 0};
    if (count < 1)
        return error_set(err, STATUS_INVALID, pointer, "leaves no training rows");
    double *room = malloc((size_t)count * (TOGETHER + 1) * sizeof *room), *factor = room;
    enum status status = scale_create(kind, columns, out, err);
    if (!room && !status)
        status = error_memory(err, "a scale");
    if (!status && kind == SCALE_COUNTS)
        status = fit_counts(out, x, rows, count, names, pointer, factor, room + count, err);
    for (int from = 0; !status && from < columns; from += TOGETHER) {
        int width = columns - from < TOGETHER ? columns - from : TOGETHER;
        for (int i = 0; i < count; i++) {
            const float *at = x + (ptrdiff_t)(rows ? rows[i] : i) * columns + from;
            for (int j = 0; j < width; j++)
                room[(ptrdiff_t)count * (j + 1) + i] =
                    value_of(out, (double)at[j], kind == SCALE_COUNTS ? factor[i] : 1);
        }
        for (int j = 0; j < width; j++)
            fit_column(out, from + j, room + (ptrdiff_t)count * (j + 1), count, centred);
    }
    free(room);
    return status;
}

/* ---- checkpoints and queries --------------------------------------------------------------------------------- */

enum status scale_snapshot(struct scale *s, const char *prefix, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("scale.size", &s->size),
        SNAPSHOT_ARRAY("scale.columns", s->shift, BLOCKS, (uint64_t)s->columns),
    };
    char name[32];
    if (s->columns == 0)
        return STATUS_OK;
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, prefix, SNAPSHOT_ROWS(rows), err);
    (void)snprintf(name, sizeof name, "%sscale.", prefix);
    if (!status)
        snapshot_optional(snapshot, name);
    return status;
}

enum status scale_load(const struct snapshot_reader *from, const char *prefix, enum collection_scale kind, int columns,
                       struct scale *out, struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = scale_create(kind, columns, out, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        out->unit[0] = out->size = 0;
    if (!status)
        status = scale_snapshot(out, prefix, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
    if (!status && !(out->unit[0] > 0)) /* the checkpoint has no scale */
        scale_close(out);
    bool sound = out->size >= 0 && isfinite(out->size);
    for (int j = 0; !status && j < out->columns * BLOCKS; j++)
        sound = sound && isfinite(out->shift[j]);
    for (int j = 0; !status && j < out->columns; j++)
        sound = sound && out->unit[j] > 0;
    return status || sound ? status : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's scale is impossible");
}

void scale_write(const struct scale *s, const char *name, char *const *names, const struct sink *out)
{
    enum { LISTED = 64 };
    if (s->columns == 0)
        return;
    sink_begin_object(out, name);
    sink_text(out, "kind", collection_scales[s->kind]);
    if (s->kind == SCALE_COUNTS)
        sink_number(out, "median_total", s->size);
    sink_begin_list(out, "columns");
    for (int j = 0; j < s->columns && s->columns <= LISTED && s->kind != SCALE_NONE; j++) {
        sink_begin_object(out, NULL);
        if (names)
            sink_text(out, "name", names[j]);
        sink_number(out, "shift", s->shift[j]);
        sink_number(out, "unit", s->unit[j]);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_end_object(out);
}

void scale_warn(const struct scale *s, const float *row, char *const *names, const struct sink *out)
{
    double factor = factor_of(s, row);
    int worst = -1;
    double most = 1; /* distance from the training range, in widths of this range */
    for (int j = 0; j < s->columns; j++) {
        double scaled = (value_of(s, (double)row[j], factor) - s->shift[j]) / s->unit[j];
        double width = s->high[j] > s->low[j] ? s->high[j] - s->low[j] : fmax(1, fabs(s->low[j]));
        double far = fmax(s->low[j] - scaled, scaled - s->high[j]) / width;
        worst = far > most ? j : worst;
        most = fmax(far, most);
    }
    if (worst < 0)
        return;
    char text[320], name[80];
    (void)snprintf(name, sizeof name, names ? "column %.60s" : "column %.0s%d", names ? names[worst] : "", worst + 1);
    (void)snprintf(text, sizeof text,
                   "the value %g of %s is %.3g times as far outside of the training data as these are wide; the model "
                   "has seen nothing like this, so its answer means little",
                   (double)row[worst], name, most);
    sink_begin_object(out, NULL);
    sink_text(out, "code", "outside-range");
    sink_text(out, "text", text);
    sink_end_object(out);
}
