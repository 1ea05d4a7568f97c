/* Draws the pictures of a run: the chart of its experiment, and the mask of its last model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/methods/factors/summary.h"
#include "core/methods/shared/publish.h"

enum { MASK_ROWS_MOST = 64 };

/* ---- the mask ----------------------------------------------------------------------------------------- */

/* Writes |w| to `values`, with each row (feature) scaled to sum 1. */
static void normalised(const float *mask, int g, int k, double *values)
{
    for (int j = 0; j < g; j++) {
        double sum = 0;
        for (int c = 0; c < k; c++)
            sum += fabs((double)mask[(ptrdiff_t)j * k + c]);
        for (int c = 0; c < k; c++)
            values[(ptrdiff_t)j * k + c] = sum > 0 ? fabs((double)mask[(ptrdiff_t)j * k + c]) / sum : 0;
    }
}

static enum status draw_mask(struct method_run *run, double *values, const float *mask, struct error *err)
{
    int g = run->features->columns, k = (int)run->config.latent;
    normalised(mask, g, k, values);
    struct chart_heat heat = {.values = values,
                              .rows = g,
                              .cols = k,
                              .map = CHART_VIRIDIS,
                              .down = true,
                              .min = 0,
                              .max = 1,
                              .label = "share of a feature's weight"};
    struct chart_panel panel = {.title = "Which factor feeds which feature",
                                .x = CHART_AXIS("latent variable"),
                                .y = CHART_AXIS("feature"),
                                .heat = &heat};
    struct chart chart = {.panels = &panel,
                          .panel_count = 1,
                          .width = 60 * k < 300   ? 300
                                   : 60 * k > 600 ? 600
                                                  : 60 * k,
                          .height = g < 20   ? 300
                                    : g > 60 ? 900
                                             : 15 * g};
    return publish_chart(&run->sweep.env, "mask", &chart, err);
}

static enum status mask_chart(struct method_run *run, struct error *err)
{
    size_t entries = (size_t)run->features->columns * (size_t)run->config.latent;
    float *mask = malloc(entries * sizeof *mask);
    double *values = malloc(entries * sizeof *values);
    enum status status =
        mask && values ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture");
    if (!status && case_mask(run, mask))
        status = draw_mask(run, values, mask, err);
    free(mask);
    free(values);
    return status;
}

/* ---- against rho -------------------------------------------------------------------------------------- */

enum { CURVES = 5, POINTS = FACTORS_LIST };
struct curve {
    double x[POINTS], mse[POINTS], mse_low[POINTS], mse_high[POINTS], dci[POINTS], dci_low[POINTS], dci_high[POINTS];
    int model, count;
};

static int collect(const struct summary *rows, int count, struct curve *curves, int room)
{
    int used = 0;
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < used && curves[at].model != (int)rows[i].c.model)
            at++;
        if (at == used && used++ < room)
            curves[at] = (struct curve){.model = (int)rows[i].c.model};
        if (at >= room || curves[at].count == POINTS)
            continue;
        struct curve *c = &curves[at];
        int n = c->count++;
        c->x[n] = rows[i].c.rho + 0.012 * at; /* moves the models' points apart */
        c->mse[n] = rows[i].mse.median;
        c->mse_low[n] = rows[i].mse.low;
        c->mse_high[n] = rows[i].mse.high;
        c->dci[n] = rows[i].dci.median;
        c->dci_low[n] = rows[i].dci.low;
        c->dci_high[n] = rows[i].dci.high;
    }
    return used < room ? used : room;
}

static enum status rho_chart(struct method_run *run, struct summary *rows, struct curve *curves, struct error *err)
{
    struct chart_series mse[FACTORS_MODELS], dci[FACTORS_MODELS];
    char note[128];
    int count = collect(rows, summarise(run, rows, run->sweep.count), curves, FACTORS_MODELS);
    for (int i = 0; i < count; i++) {
        const struct curve *c = &curves[i];
        mse[i] = (struct chart_series){factors_model_names[c->model],
                                       CHART_LINE_POINTS,
                                       -1,
                                       c->x,
                                       c->mse,
                                       c->mse_low,
                                       c->mse_high,
                                       (size_t)c->count};
        dci[i] = (struct chart_series){factors_model_names[c->model],
                                       CHART_LINE_POINTS,
                                       -1,
                                       c->x,
                                       c->dci,
                                       c->dci_low,
                                       c->dci_high,
                                       (size_t)c->count};
    }
    struct chart_panel panels[] = {
        {.title = "Held-out squared error (lower is better)",
         .x = CHART_AXIS("correlation of the factors"),
         .y = CHART_LOG_AXIS("error of an entry"),
         .series = mse,
         .series_count = (size_t)count},
        {.title = "Disentanglement (higher is better)",
         .x = CHART_AXIS("correlation of the factors"),
         .y = {.label = "DCI, 500 rows", .max = 1},
         .series = dci,
         .series_count = (size_t)count},
    };
    snprintf(note, sizeof note, "Medians and quartiles of %d data sets; the best of %d restarts by the objective.",
             (int)run->config.datasets, (int)run->config.restarts);
    struct chart chart = {.note = note, .panels = panels, .panel_count = 2, .one_legend = true};
    return publish_chart(&run->sweep.env, "rho", &chart, err);
}

enum status factors_plots(struct method_run *run, struct error *err)
{
    if (!run->sweep.env.artifact || run->sweep.alone)
        return STATUS_OK;
    if (run->config.experiment != EXPERIMENT_RHO)
        return mask_chart(run, err);
    struct summary *rows = calloc((size_t)run->sweep.count, sizeof *rows);
    struct curve *curves = calloc(FACTORS_MODELS, sizeof *curves);
    enum status status = rows && curves ? rho_chart(run, rows, curves, err)
                                        : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture");
    free(rows);
    free(curves);
    return status;
}
