/* Draws the picture of a run: the mask of its model. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/factors/run_int.h"
#include "core/methods/shared/publish.h"

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
    return publish_chart(&run->base.env, "mask", &chart, err);
}

enum status factors_plots(struct method_run *run, struct error *err)
{
    size_t entries = (size_t)run->features->columns * (size_t)run->config.latent;
    if (!run->base.env.artifact || run->base.alone)
        return STATUS_OK;
    float *mask = malloc(entries * sizeof *mask);
    double *values = malloc(entries * sizeof *values);
    enum status status = mask && values ? STATUS_OK : error_memory(err, "a picture");
    if (!status && case_mask(run, mask))
        status = draw_mask(run, values, mask, err);
    free(mask);
    free(values);
    return status;
}
