/* Draws the picture of a run: the tree with the changes on its edges. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/data/trees/tree_plot.h"
#include "core/methods/environments/run_int.h"
#include "core/methods/shared/publish.h"
#include "core/metrics/identify.h"

enum { LEGEND_MOST = 8 };

/* Matches each true latent variable with one of the model's. */
static enum status matched(struct method_run *run, int *match, struct error *err)
{
    const struct environments *e = run->test;
    int k = tree_fit_of(run)->model->setup.latent;
    double mcc;
    float *z = malloc((size_t)e->rows * (size_t)k * sizeof *z + 1);
    enum status status =
        z ? tree_model_encode(tree_fit_of(run)->model, &tree_fit_of(run)->exec, e->x, e->z, e->rows, z, err)
          : error_memory(err, "a picture");
    if (!status)
        status = identify_mcc(e->z, e->latent, z, k, e->rows, match, &mcc, run->base.env.pool, err);
    free(z);
    return status;
}

static double found_at(const struct method_run *run, int node, int c)
{
    int edge = run->edges.edge[node], k = tree_fit_of(run)->model->setup.latent;
    return edge < 0 ? 0
                    : (double)tree_fit_of(run)->model->changes->value[(ptrdiff_t)edge * k + c] *
                          (double)run->edges.share[node];
}

/* Collects the marks of each node. The rings, which stand for true changes, come first, because later marks are drawn
 * above earlier ones. */
static int collect_marks(const struct method_run *run, const int *match, struct tree_mark *marks)
{
    int k = tree_fit_of(run)->model->setup.latent, p = run->test->latent, count = 0;
    for (int v = 1; v < run->tree->nodes; v++) {
        for (int c = 0; c < p; c++) {
            double size = run->test->changes[(ptrdiff_t)v * p + c];
            if (size != 0 && match[c] >= 0)
                marks[count++] = (struct tree_mark){v, match[c], size, true};
        }
        for (int c = 0; c < k; c++)
            if (fabs(found_at(run, v, c)) > run->config.found_above)
                marks[count++] = (struct tree_mark){v, c, found_at(run, v, c), false};
    }
    return count;
}

static enum status write_table(const struct method_run *run, const int *match, struct error *err)
{
    int k = tree_fit_of(run)->model->setup.latent, p = run->test->latent;
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
    enum status status = bytes.failed ? error_memory(err, "a picture") : STATUS_OK;
    if (!status)
        run->base.env.artifact(run->base.env.context, "tree.csv", "text/csv", bytes.data, bytes.size);
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
        return error_memory(err, "a picture");
    for (int i = 0; i < run->unseen_count; i++)
        pale[run->unseen_node[i]] = true;
    int k = tree_fit_of(run)->model->setup.latent;
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
        run->base.env.artifact(run->base.env.context, "tree.png", "image/png", bytes.data, bytes.size);
    buf_close(&bytes);
    free(pale);
    return status;
}

static enum status tree_picture(struct method_run *run, struct error *err)
{
    size_t k = (size_t)tree_fit_of(run)->model->setup.latent, p = (size_t)run->test->latent,
           n = (size_t)run->tree->nodes;
    int *match = calloc(p + 1, sizeof *match);
    struct tree_mark *marks = malloc((k + p) * n * sizeof *marks);
    enum status status = match && marks ? STATUS_OK : error_memory(err, "a picture");
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

enum status environments_plots(struct method_run *run, struct error *err)
{
    if (!run->base.env.artifact)
        return STATUS_OK;
    if (run->edges.shape == EDGES_TREE && run->edges.count > 0) {
        struct error cause = {0};
        enum status status = tree_picture(run, &cause);
        publish_attempted(&run->base.findings, &run->base.env, "tree", status, &cause);
    }
    return STATUS_OK;
}
