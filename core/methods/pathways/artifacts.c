/* Writes the artifacts of a finished run: its curves with their bounds, and the scaling law where cases differ in size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw/chart.h"
#include "core/methods/shared/publish.h"
#include "core/methods/pathways/run_int.h"

enum { PANELS = 12, WAYS = 4 };

/* ---- recovery against stripe sparsity ------------------------------------------------------------------ */

struct curve_plot {
    double x[PATHWAYS_POINTS], share[PATHWAYS_POINTS], low[PATHWAYS_POINTS], high[PATHWAYS_POINTS];
    double instance[PATHWAYS_POINTS], theorem[PATHWAYS_POINTS];
};

struct panel_plot {
    struct curve_plot curve[WAYS];
    struct chart_series series[WAYS + 2];
    struct chart_reference reference[2];
    char title[48];
};

/* Fills the arrays of a chart from a curve. The error bars are 95 % intervals of a normal distribution, clipped to
 * [0, 1]. */
static void fill_plot(const struct curve *curve, struct curve_plot *plot)
{
    for (int i = 0; i < (int)curve->points; i++) {
        const struct curve_point *p = &curve->point[i];
        double share = point_share(p), reach = 1.96 * point_error(p);
        reach = isfinite(reach) ? reach : 0;
        plot->x[i] = point_stripe(p);
        plot->share[i] = share;
        plot->low[i] = fmax(0, share - reach);
        plot->high[i] = fmin(1, share + reach);
        plot->instance[i] = p->bound_codes > 0 ? p->instance / p->bound_codes : NAN;
        plot->theorem[i] = p->bound_codes > 0 ? p->theorem / p->bound_codes : NAN;
    }
}

static struct chart_series curve_series(const struct curve *curve, const struct curve_plot *plot, const char *name,
                                        int colour)
{
    return (struct chart_series){name,        CHART_LINE_POINTS, colour,     plot->x,
                                 plot->share, plot->low,         plot->high, (size_t)curve->points};
}

/* Writes the reference lines of a chart: the limits of the stripe sparsity by bounds (3) and (5) (bounds.h). A limit of
 * at most 1/2 gets no line, because it allows no non-zeros. Returns the number of lines. */
static int limits(const struct method_run *run, int64_t i, struct chart_reference out[2])
{
    const struct pathways_case *plan = &run->plan[i];
    const struct dictionary_shape *s = &plan->shape[0];
    double mu = run->curves[i].coherence[0], atoms = (double)s->filters * s->height * s->width;
    double five = bound_probabilistic(mu, atoms, 1, plan->ratio, plan->noise, run->config.delta);
    double three = bound_uniform(mu, 1, plan->ratio, plan->noise);
    int lines = 0;
    if (three > 0.5)
        out[lines++] = (struct chart_reference){"limit (3)", true, three, NAN, 5};
    if (five > 0.5)
        out[lines++] = (struct chart_reference){"limit (5)", true, five, NAN, 6};
    return lines;
}

/* The panel of the dictionary of case i. In a sweep over signs, the panel shows this case and the following ones, which
 * have the same dictionary and other signs. */
static struct chart_panel dictionary_panel(const struct method_run *run, int64_t i, struct panel_plot *plot)
{
    int ways = pathways_ways(&run->config), count = 0;
    size_t points = (size_t)run->curves[i].points;
    for (int way = 0; way < ways; way++) {
        const char *name = ways > 1 ? pathways_group_name(&run->config, way) : "recovered";
        fill_plot(&run->curves[i + way], &plot->curve[way]);
        plot->series[count++] = curve_series(&run->curves[i + way], &plot->curve[way], name, way);
    }
    if (run->plan[i].signs == SIGNS_RANDOM) {
        const struct curve_plot *c = &plot->curve[0];
        plot->series[count++] =
            (struct chart_series){"instance bound", CHART_LINE, 4, c->x, c->instance, NULL, NULL, points};
        plot->series[count++] =
            (struct chart_series){"Theorem 3.2", CHART_DASHES, 7, c->x, c->theorem, NULL, NULL, points};
    }
    size_t title = ways > 1 ? strcspn(run->plan[i].label, " ") : strlen(run->plan[i].label);
    snprintf(plot->title, sizeof plot->title, "%.*s", (int)title, run->plan[i].label);
    return (struct chart_panel){
        .title = plot->title,
        .x = CHART_LOG_AXIS("stripe sparsity S"),
        .y = {.label = "share of pathways recovered", .max = 1.02},
        .series = plot->series,
        .series_count = (size_t)count,
        .references = plot->reference,
        .reference_count = (size_t)limits(run, i, plot->reference),
    };
}

/* Draws one panel for each size, with the first dictionary of that size. If all cases have the same size, each case has
 * a panel. */
static enum status bounds_chart(struct method_run *run, struct error *err)
{
    struct panel_plot *plots = calloc(PANELS, sizeof *plots);
    struct chart_panel panel[PANELS];
    int shown = 0;
    if (!plots)
        return error_memory(err, "a chart");
    for (int64_t i = 0; i < run->cases && shown < PANELS; i++) {
        bool first = run->plan[i].stream % 16 == 0 && (run->config.sweep != SWEEP_SIGNS || run->plan[i].group == 0);
        if (!first)
            continue;
        panel[shown] = dictionary_panel(run, i, &plots[shown]);
        shown++;
    }
    struct chart chart = {
        .title = "Recovery of activation pathways, and what is guaranteed",
        .note = "Bars: 95 % intervals over codes. Vertical lines: limits (3) and (5), if they allow any non-zeros.\n"
                "The curves of bounds are guaranteed probabilities under random signs.",
        .panels = panel,
        .panel_count = shown,
        .columns = shown < 3    ? shown
                   : shown == 4 ? 2
                                : 3,
        .width = 360,
        .height = 250,
    };
    enum status status = publish_chart(&run->env, "recovery", &chart, err);
    free(plots);
    return status;
}

/* Draws all cases of a sweep over noise, magnitudes, decoders or upper layers in one panel. */
static enum status together_chart(struct method_run *run, struct error *err)
{
    enum { MOST = 8 };
    size_t count = run->cases < MOST ? (size_t)run->cases : MOST;
    struct curve_plot *plots = calloc(count, sizeof *plots);
    struct chart_series series[MOST];
    if (!plots)
        return error_memory(err, "a chart");
    for (size_t i = 0; i < count; i++) {
        fill_plot(&run->curves[i], &plots[i]);
        series[i] = curve_series(&run->curves[i], &plots[i], run->plan[i].label, (int)i);
    }
    struct chart_panel panel = {
        .x = CHART_LOG_AXIS("stripe sparsity S of the first layer"),
        .y = {.label = "share of pathways recovered", .max = 1.02},
        .series = series,
        .series_count = count,
    };
    struct chart chart = {.title = "Recovery of activation pathways",
                          .note = "Bars: 95 % intervals over codes.",
                          .panels = &panel,
                          .panel_count = 1,
                          .width = 560,
                          .height = 340};
    enum status status = publish_chart(&run->env, "comparison", &chart, err);
    free(plots);
    return status;
}

/* ---- log S50 against log 1/mu --------------------------------------------------------------------------- */

struct scaling_plot {
    double x[PATHWAYS_CASES], y[PATHWAYS_CASES], line_x[2], line_y[2];
    char name[96];
};

static void name_fit(const struct scaling_fit *fit, const char *of, char *out, size_t size)
{
    if (isnan(fit->low))
        snprintf(out, size, "%s: slope %.2f", of, fit->slope);
    else
        snprintf(out, size, "%s: slope %.2f (%.2f to %.2f)", of, fit->slope, fit->low, fit->high);
}

/* Writes the fitted line over the range of the run's coherences. Returns false if there is no fit. */
static bool fit_line(const struct method_run *run, int group, enum scaling_of of, const char *name,
                     struct scaling_plot *plot, struct chart_series *out, enum chart_mark mark, int colour)
{
    struct scaling_fit fit = pathways_fit(run, group, of);
    if (isnan(fit.slope))
        return false;
    plot->line_x[0] = INFINITY;
    plot->line_x[1] = 0;
    for (int64_t i = 0; i < run->cases; i++) {
        plot->line_x[0] = fmin(plot->line_x[0], 1 / run->curves[i].coherence[0]);
        plot->line_x[1] = fmax(plot->line_x[1], 1 / run->curves[i].coherence[0]);
    }
    for (int i = 0; i < 2; i++)
        plot->line_y[i] = exp(fit.intercept + fit.slope * log(plot->line_x[i]));
    name_fit(&fit, name, plot->name, sizeof plot->name);
    *out = (struct chart_series){plot->name, mark, colour, plot->line_x, plot->line_y, NULL, NULL, 2};
    return true;
}

static struct chart_series measured(const struct method_run *run, int group, struct scaling_plot *plot)
{
    size_t count = 0;
    for (int64_t i = 0; i < run->cases; i++) {
        double middle = curve_crossing(&run->curves[i], 0.5, false);
        if (run->plan[i].group != group || isnan(middle))
            continue;
        plot->x[count] = 1 / run->curves[i].coherence[0];
        plot->y[count++] = middle;
    }
    return (struct chart_series){
        pathways_group_name(&run->config, group), CHART_POINTS, group, plot->x, plot->y, NULL, NULL, count};
}

static enum status scaling_chart(struct method_run *run, struct error *err)
{
    struct scaling_plot *plots = calloc(WAYS + 2, sizeof *plots);
    struct chart_series series[2 * WAYS + 2];
    size_t count = 0;
    if (!plots)
        return error_memory(err, "a chart");
    for (int g = 0; g < WAYS && g < pathways_groups(run); g++)
        if (fit_line(run, g, SCALING_MEASURED, pathways_group_name(&run->config, g), &plots[g], &series[count + 1],
                     CHART_LINE, g)) {
            series[count] = measured(run, g, &plots[g]);
            count += 2;
        }
    enum status status = STATUS_OK;
    if (count > 0) {
        count += fit_line(run, 0, SCALING_UNIFORM, "limit (3)", &plots[WAYS], &series[count], CHART_DASHES, 5);
        count += fit_line(run, 0, SCALING_PROBABILISTIC, "limit (5)", &plots[WAYS + 1], &series[count], CHART_DOTS, 6);
        struct chart_panel panel = {
            .x = CHART_LOG_AXIS("1 / \xce\xbc, inverse coherence"),
            .y = CHART_LOG_AXIS("S\xe2\x82\x85\xe2\x82\x80, stripe sparsity recovered half of the time"),
            .series = series,
            .series_count = count,
        };
        struct chart chart = {.title = "How many non-zeros a stripe may hold",
                              .panels = &panel,
                              .panel_count = 1,
                              .note =
                                  "Slopes by least squares over sizes, 95 % intervals. The theory: \xce\xbc\xe2\x81\xbb"
                                  "\xc2\xb2 for random signs, \xce\xbc\xe2\x81\xbb\xc2\xb9 for the worst.",
                              .width = 640,
                              .height = 420};
        status = publish_chart(&run->env, "scaling", &chart, err);
    }
    free(plots);
    return status;
}

enum status pathways_artifacts(struct method_run *run, struct error *err)
{
    if (!run->env.artifact)
        return STATUS_OK;
    enum status status = bounds_chart(run, err);
    bool sizes =
        run->config.sweep == SWEEP_SIZES || run->config.sweep == SWEEP_SIGNS || run->config.sweep == SWEEP_REFERENCE;
    if (status)
        return status;
    if (sizes)
        return scaling_chart(run, err);
    return run->cases > 1 ? together_chart(run, err) : STATUS_OK;
}
