/* Draws the pictures of one model: its matrix, its diagonal and bias, its off-diagonal entries. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/publish.h"
#include "core/methods/superposition/run_int.h"

enum { WINDOW = 30, RUG_SIDE = 256, BINS = 80 };

struct picture_of {
    double *matrix, *diagonal, *bias, *index, *bins, *shares, *normal;
};

/* W_ij of the open model. */
static double entry(const struct method_run *run, const float *row, int i, int j)
{
    if (!run->model)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `row` is NULL only if a model is open */
        return run->scale * (double)row[i ^ j];
    int d = run->model->shape.n_d;
    const float *a = run->model->decoder->value + (ptrdiff_t)i * d, *b = run->model->encoder->value + (ptrdiff_t)j * d;
    double sum = 0;
    for (int k = 0; k < d; k++)
        sum += (double)a[k] * (double)b[k];
    return sum;
}

static double bias_of(const struct method_run *run, int i)
{
    return run->model ? (double)run->model->bias->value[i] : run->scale * run->offset;
}

/* Draws the upper left part of the matrix W. For trained models, the picture has one more column, which shows the bias,
 * as in Fig. 3 of the paper. */
static enum status draw_matrix(struct method_run *run, const float *row, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    int side = run->model ? WINDOW : RUG_SIDE, extra = run->model ? 2 : 0;
    side = side < c->n_s ? side : c->n_s;
    int cols = side + extra;
    double *values = calloc((size_t)side * (size_t)cols, sizeof *values);
    if (!values)
        return error_memory(err, "a picture");
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++)
            values[i * cols + j] = entry(run, row, i, j);
        if (extra) {
            values[i * cols + side] = NAN;
            values[i * cols + side + 1] = bias_of(run, i);
        }
    }
    char title[96], note[128];
    snprintf(title, sizeof title, "%s, n_s = %d, n_d = %d", run->model ? "Trained weights" : "Persian rug", c->n_s,
             c->n_d);
    snprintf(note, sizeof note,
             run->model ? "W = decoder × encoder, features 0 to %d; the last column is the bias."
                        : "W, features 0 to %d.",
             side - 1);
    double most = run->outcome.statistics.kept_diagonal_mean / 2; /* the diagonal may exceed the colour scale */
    struct chart_heat heat = {values, side, cols, NULL, NULL, CHART_SIGNED, false, true, -most, most, "weight"};
    struct chart_panel panel = {NULL, CHART_AXIS("from feature"), CHART_AXIS("to feature"), NULL, 0, NULL, 0, &heat};
    int pixels = run->model ? 14 * side : 512;
    struct chart chart = {.title = title,
                          .note = note,
                          .panels = &panel,
                          .panel_count = 1,
                          .width = pixels * cols / side,
                          .height = pixels};
    enum status status = publish_chart(&run->base.env, run->model ? "matrix" : "rug", &chart, err);
    free(values);
    return status;
}

/* Computes the shares of off-diagonal entries in bins, and a normal distribution with their mean and deviation. */
static void histogram(const struct method_run *run, const float *row, struct picture_of *p)
{
    const struct statistics *s = &run->outcome.statistics;
    int n = run->setup.n_s, rows = run->model ? (n < 512 ? n : 512) : 1;
    double low = s->off_min, width = (s->off_max - s->off_min) / BINS, count = 0;
    for (int b = 0; b < BINS; b++) {
        double z = (low + (b + 0.5) * width - s->off_mean) / s->off_sd;
        p->bins[b] = low + (b + 0.5) * width;
        p->normal[b] = exp(-z * z / 2) / (s->off_sd * sqrt(6.28318530717958647692));
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) {
            int b = j == i || !(width > 0) ? -1 : (int)((entry(run, row, i, j) - low) / width);
            if (b < 0)
                continue;
            p->shares[b < BINS ? b : BINS - 1]++;
            count++;
        }
    for (int b = 0; b < BINS; b++)
        p->shares[b] /= count * width;
}

/* Whether a bin has entries and both of its neighbours have none. A line through the bins would not show such a bin.
 * Small rugs have such bins, because their entries have few different values. */
static bool gaps(const double *shares)
{
    for (int b = 0; b < BINS; b++)
        if (shares[b] > 0 && !(b > 0 && shares[b - 1] > 0) && !(b + 1 < BINS && shares[b + 1] > 0))
            return true;
    return false;
}

static enum status draw_features(struct method_run *run, const float *row, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    const struct statistics *s = &run->outcome.statistics;
    struct theory_optimum best = theory_optimum(c->p, setup_sigma(c));
    int shown = c->n_s < 4096 ? c->n_s : 4096;
    double *memory = calloc(3 * (size_t)shown + 3 * BINS, sizeof *memory);
    if (!memory)
        return error_memory(err, "a picture");
    struct picture_of p = {.index = memory,
                           .diagonal = memory + shown,
                           .bias = memory + 2 * shown,
                           .bins = memory + 3 * shown,
                           .shares = memory + 3 * shown + BINS,
                           .normal = memory + 3 * shown + 2 * BINS};
    for (int i = 0; i < shown; i++) {
        p.index[i] = i;
        p.diagonal[i] = entry(run, row, i, i);
        p.bias[i] = bias_of(run, i);
    }
    histogram(run, row, &p);
    const struct chart_series left[] = {{"W_ii", CHART_POINTS, -1, p.index, p.diagonal, NULL, NULL, (size_t)shown},
                                        {"bias", CHART_POINTS, -1, p.index, p.bias, NULL, NULL, (size_t)shown}};
    const struct chart_reference lines[] = {
        {"a of the closed form", false, best.scale, NAN, 0},
        {"total offset of the closed form", false, best.scale * best.offset, NAN, 1}};
    const struct chart_series right[] = {
        {"W_ij, i ≠ j", gaps(p.shares) ? CHART_POINTS : CHART_LINE, -1, p.bins, p.shares, NULL, NULL, BINS},
        {"normal of the same mean and deviation", CHART_DASHES, 6, p.bins, p.normal, NULL, NULL, BINS}};
    const struct chart_panel panels[] = {
        {"Diagonal and bias", CHART_AXIS("feature"), CHART_AXIS("value"), left, 2, lines, 2, NULL},
        {"Off the diagonal", CHART_AXIS("weight"), {"density", true, 1e-4, NAN, NULL}, right, 2, NULL, 0, NULL}};
    char note[192];
    snprintf(note, sizeof note,
             "Kept features: W_ii %.3f ± %.3f, bias %.3f ± %.3f; dropped %.1f %%; loss %.4g, closed form %.4g.",
             s->kept_diagonal_mean, s->kept_diagonal_sd, s->kept_bias_mean, s->kept_bias_sd, 100 * s->dropped,
             run->outcome.loss, setup_predicted(c));
    struct chart chart = {.note = note, .panels = panels, .panel_count = 2};
    enum status status = publish_chart(&run->base.env, "features", &chart, err);
    free(memory);
    return status;
}

enum status plots_write(struct method_run *run, struct error *err)
{
    float *row = NULL;
    enum status status = STATUS_OK;
    if (!run->base.env.artifact || run->base.alone)
        return STATUS_OK;
    if (!run->model) {
        row = malloc((size_t)run->setup.n_s * sizeof *row);
        status =
            row ? rug_row(&run->rug, run->base.env.pool, run->base.env.kernels, row, err) : error_memory(err, "a row");
    }
    if (!status)
        status = draw_matrix(run, row, err);
    if (!status)
        status = draw_features(run, row, err);
    free(row);
    return status;
}
