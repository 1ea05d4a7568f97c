/* Draws the pictures of a run: the tree of the last case with the changes on its edges, and the chart of its sweep or
 * its baselines. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/data/trees/tree_plot.h"
#include "core/methods/environments/run_int.h"
#include "core/methods/shared/publish.h"
#include "core/metrics/identify.h"

enum { LEGEND_MOST = 8 };

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture");
}

/* ---- the tree ----------------------------------------------------------------------------------------- */

/* Matches each true latent variable with one of the model's. */
static enum status matched(struct method_run *run, int *match, struct error *err)
{
    const struct environments *e = run->test;
    int k = case_fit(run)->model->setup.latent;
    double mcc;
    float *z = malloc((size_t)e->rows * (size_t)k * sizeof *z + 1);
    enum status status =
        z ? tree_model_encode(case_fit(run)->model, &case_fit(run)->exec, e->x, e->z, e->rows, z, err) : no_memory(err);
    if (!status)
        status = identify_mcc(e->z, e->latent, z, k, e->rows, match, &mcc, run->sweep.env.pool, err);
    free(z);
    return status;
}

static double found_at(const struct method_run *run, int node, int c)
{
    int edge = run->edges.edge[node], k = case_fit(run)->model->setup.latent;
    return edge < 0
               ? 0
               : (double)case_fit(run)->model->changes->value[(ptrdiff_t)edge * k + c] * (double)run->edges.share[node];
}

/* Collects the marks of each node. The rings, which stand for true changes, come first, because later marks are drawn
 * above earlier ones. */
static int collect_marks(const struct method_run *run, const int *match, struct tree_mark *marks)
{
    int k = case_fit(run)->model->setup.latent, p = run->test->latent, count = 0;
    for (int v = 1; v < run->tree->nodes; v++) {
        for (int c = 0; c < p; c++) {
            double size = run->test->changes[(ptrdiff_t)v * p + c];
            if (size != 0 && match[c] >= 0)
                marks[count++] = (struct tree_mark){v, match[c], size, true};
        }
        for (int c = 0; c < k; c++)
            if (fabs(found_at(run, v, c)) > run->own.found_above)
                marks[count++] = (struct tree_mark){v, c, found_at(run, v, c), false};
    }
    return count;
}

static enum status write_table(const struct method_run *run, const int *match, struct error *err)
{
    int k = case_fit(run)->model->setup.latent, p = run->test->latent;
    struct buf bytes;
    buf_init(&bytes, CHART_BYTES);
    buf_format(&bytes, "parent,child,edge,latent,found,true\n");
    for (int v = 1; v < run->tree->nodes; v++)
        for (int c = 0; c < k; c++) {
            double size = found_at(run, v, c), truth = 0;
            for (int t = 0; t < p; t++)
                truth += match[t] == c ? run->test->changes[(ptrdiff_t)v * p + t] : 0;
            if (size != 0 || truth != 0)
                buf_format(&bytes, "%s,%s,%d,%d,%.9g,%.9g\n", run->tree->names[run->tree->parent[v]],
                           run->tree->names[v], run->edges.edge[v], c, size, truth);
        }
    enum status status = bytes.failed ? no_memory(err) : STATUS_OK;
    if (!status)
        run->sweep.env.artifact(run->sweep.env.context, "tree.csv", "text/csv", bytes.data, bytes.size);
    buf_close(&bytes);
    return status;
}

static enum status draw_tree(const struct method_run *run, const struct tree_mark *marks, int count, struct error *err)
{
    static const char *const names[LEGEND_MOST] = {"latent 0", "latent 1", "latent 2", "latent 3",
                                                   "latent 4", "latent 5", "latent 6", "latent 7"};
    bool *pale = calloc((size_t)run->tree->nodes, sizeof *pale);
    struct buf bytes;
    if (!pale)
        return no_memory(err);
    for (int i = 0; i < run->unseen_count; i++)
        pale[run->unseen_node[i]] = true;
    int k = case_fit(run)->model->setup.latent;
    bool truth = run->test->latent > 0;
    const struct tree_plot plot = {
        .tree = run->tree,
        .pale = pale,
        .marks = marks,
        .mark_count = count,
        .title = "Changes along the tree",
        .note = truth ? "Disc: a change that the model found. Ring: a true change, in the colour of the variable that "
                        "matches it.\nAreas grow with the change, whatever its sign. The two edges at the root "
                        "count as one."
                      : "Disc: a change that the model found; its area grows with the change.",
        .legend = (const char **)names,
        .legend_count = k < LEGEND_MOST ? k : LEGEND_MOST,
    };
    buf_init(&bytes, CHART_BYTES);
    enum status status = tree_plot_png(&plot, &bytes, err);
    if (!status)
        run->sweep.env.artifact(run->sweep.env.context, "tree.png", "image/png", bytes.data, bytes.size);
    buf_close(&bytes);
    free(pale);
    return status;
}

static enum status tree_picture(struct method_run *run, struct error *err)
{
    size_t k = (size_t)case_fit(run)->model->setup.latent, p = (size_t)run->test->latent, n = (size_t)run->tree->nodes;
    int *match = calloc(p + 1, sizeof *match);
    struct tree_mark *marks = malloc((k + p) * n * sizeof *marks);
    enum status status = match && marks ? STATUS_OK : no_memory(err);
    if (!status && p)
        status = matched(run, match, err);
    if (!status)
        status = write_table(run, match, err);
    if (!status && tree_leaves(run->tree, NULL) <= TREE_PLOT_LEAVES)
        status = draw_tree(run, marks, collect_marks(run, match, marks), err);
    free(match);
    free(marks);
    return status;
}

/* ---- curves ------------------------------------------------------------------------------------------- */

enum { CURVES = 4 };
struct curve {
    double x[ENVIRONMENTS_LIST], y[CURVES][ENVIRONMENTS_LIST], low[CURVES][ENVIRONMENTS_LIST],
        high[CURVES][ENVIRONMENTS_LIST];
    int baseline;
    size_t count;
};
static const size_t columns[CURVES] = {OUTCOME_COLUMN(mcc), OUTCOME_COLUMN(mse), OUTCOME_COLUMN(mse_unseen),
                                       OUTCOME_COLUMN(mse_unseen_fit)};

/* Collects one curve for each baseline. Without a sweep, each curve is a single point, and the points of the baselines
 * are side by side. */
static int collect(const struct method_run *run, const struct summary *rows, int count, struct curve *curves)
{
    int used = 0;
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < used && curves[at].baseline != rows[i].baseline)
            at++;
        if (at == used)
            curves[used++] = (struct curve){.baseline = rows[i].baseline};
        struct curve *c = &curves[at];
        if (c->count == ENVIRONMENTS_LIST)
            continue;
        c->x[c->count] = run->config.sweep == SWEEP_NONE ? at + 1 : rows[i].value;
        for (int m = 0; m < CURVES; m++) {
            const struct spread *s = &rows[i].column[columns[m]];
            c->y[m][c->count] = s->median;
            c->low[m][c->count] = s->low;
            c->high[m][c->count] = s->high;
        }
        c->count++;
    }
    return used;
}

static enum status draw_curves(const struct method_run *run, const struct curve *curves, int used, struct error *err)
{
    static const char *const titles[CURVES] = {"Latent variables found (MCC)", "Error, environments seen",
                                               "Error, unseen environments", "Unseen, after a fit to a few rows"};
    struct chart_series series[CURVES][BASELINES];
    struct chart_panel panels[CURVES];
    bool sweep = run->config.sweep != SWEEP_NONE;
    for (int m = 0; m < CURVES; m++) {
        for (int i = 0; i < used; i++)
            series[m][i] = (struct chart_series){
                curves[i].baseline == BASELINE_NONE ? "tree penalty" : environments_baseline_names[curves[i].baseline],
                sweep ? CHART_LINE_POINTS : CHART_POINTS,
                -1,
                curves[i].x,
                curves[i].y[m],
                curves[i].low[m],
                curves[i].high[m],
                curves[i].count};
        panels[m] = (struct chart_panel){.title = titles[m],
                                         .x = CHART_AXIS(sweep ? environments_sweep_names[run->config.sweep]
                                                               : "baseline, in the order of the legend"),
                                         .y = m ? CHART_LOG_AXIS("squared error") : CHART_AXIS("mean correlation"),
                                         .series = series[m],
                                         .series_count = (size_t)used};
        if (run->config.sweep == SWEEP_PENALTY)
            panels[m].x.log = true;
        if (!sweep) {
            panels[m].x.min = 0.5;
            panels[m].x.max = used + 0.5;
        }
    }
    panels[0].y.max = 1.02; /* leaves space for a mark at 1 */
    struct chart chart = {.panels = panels,
                          .panel_count = CURVES,
                          .one_legend = true,
                          .note = "Medians over seeds; bars reach from the least to the largest."};
    return publish_chart(&run->sweep.env, sweep ? "sweep" : "baselines", &chart, err);
}

static enum status curve_chart(struct method_run *run, struct error *err)
{
    struct summary *rows = calloc((size_t)run->sweep.count, sizeof *rows);
    struct curve *curves = calloc(BASELINES, sizeof *curves);
    enum status status = STATUS_OK;
    int count = rows && curves ? environments_summarise(run, rows, run->sweep.count) : 0;
    if (!rows || !curves || count == 0)
        status = no_memory(err);
    if (!status && count > 1)
        status = draw_curves(run, curves, collect(run, rows, count, curves), err);
    free(rows);
    free(curves);
    return status;
}

enum status environments_plots(struct method_run *run, struct error *err)
{
    if (!run->sweep.env.artifact)
        return STATUS_OK;
    if (run->edges.shape == EDGES_TREE && run->edges.count > 0) {
        struct error cause = {0};
        enum status status = tree_picture(run, &cause);
        publish_attempted(&run->sweep.findings, &run->sweep.env, "tree", status, &cause);
    }
    return run->sweep.alone ? STATUS_OK : curve_chart(run, err);
}
