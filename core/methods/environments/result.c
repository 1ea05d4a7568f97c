/* Writes the fields of a result: the figures of the model, and `changes`, the changes that it found. For a table,
 * `latent` has the columns that correlate with each latent variable. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

static void write_value(const struct sink *out, const char *name, double value)
{
    if (isfinite(value))
        sink_number(out, name, value);
    else
        sink_null(out, name);
}

static void write_outcome(const struct sink *out, const struct outcome *o)
{
    const struct {
        const char *name;
        double value;
    } reals[] = {{"mcc", o->mcc},
                 {"linear_r2", o->linear_r2},
                 {"mse", o->mse},
                 {"mse_unseen", o->mse_unseen},
                 {"mse_unseen_fit", o->mse_unseen_fit},
                 {"changes_found", o->changes_found},
                 {"changes_true", o->changes_true},
                 {"changes_right", o->changes_right},
                 {"accuracy", o->accuracy},
                 {"accuracy_unseen", o->accuracy_unseen},
                 {"train_loss", o->train_loss}};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        write_value(out, reals[i].name, reals[i].value);
    sink_integer(out, "updates", o->updates);
    sink_integer(out, "trained_samples", o->samples);
    write_value(out, "objective", o->objective);
    write_value(out, "worst_objective", o->worst_objective);
    sink_integer(out, "restart", o->restart);
}

static void write_columns(const struct method_run *run, const struct column_link *links, const struct sink *out)
{
    sink_begin_list(out, "columns");
    for (int i = 0; i < COLUMNS_SHOWN && links[i].column >= 0; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", run->names[links[i].column]);
        sink_number(out, "correlation", links[i].correlation);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Writes the columns that correlate with each latent variable. */
static void write_latent(const struct method_run *run, const struct column_link *links, const struct sink *out)
{
    sink_begin_list(out, "latent");
    for (int c = 0; c < tree_fit_of(run)->model->setup.latent; c++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "latent", c);
        write_columns(run, links + (ptrdiff_t)c * COLUMNS_SHOWN, out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Writes the changes: edge, latent variable and size. links: NULL where columns have no names. */
static void write_changes(const struct method_run *run, const struct column_link *links, const struct sink *out)
{
    const struct weight *w = tree_fit_of(run)->model->changes;
    int k = tree_fit_of(run)->model->setup.latent;
    sink_begin_list(out, "changes");
    for (int v = 1; run->edges.shape == EDGES_TREE && v < run->tree->nodes; v++)
        for (int c = 0; c < k && run->edges.edge[v] >= 0; c++) {
            double size = (double)w->value[(ptrdiff_t)run->edges.edge[v] * k + c];
            if (fabs(size) <= run->config.found_above)
                continue;
            sink_begin_object(out, NULL);
            sink_text(out, "parent", run->tree->names[run->tree->parent[v]]);
            sink_text(out, "child", run->tree->names[v]);
            sink_integer(out, "edge", run->edges.edge[v]);
            sink_integer(out, "latent", c);
            if (links && links[(ptrdiff_t)c * COLUMNS_SHOWN].column >= 0)
                sink_text(out, "column", run->names[links[(ptrdiff_t)c * COLUMNS_SHOWN].column]);
            sink_number(out, "change", size * (double)run->edges.share[v]);
            sink_end_object(out);
        }
    sink_end_list(out);
}

static enum status write_found(struct method_run *run, const struct sink *out, struct error *err)
{
    struct column_link *links = NULL;
    enum status status = STATUS_OK;
    if (run->names) {
        links = calloc((size_t)tree_fit_of(run)->model->setup.latent * COLUMNS_SHOWN, sizeof *links);
        status = links ? environments_columns(run, links, err) : error_memory(err, "columns");
        if (!status)
            write_latent(run, links, out);
    }
    if (!status)
        write_changes(run, links, out);
    free(links);
    return status;
}

enum status environments_result(struct method_run *run, const struct sink *out, struct error *err)
{
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    enum status status = tree_run_open(run, err);
    if (status)
        return status;
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "samples", run->test->rows);
    enum status divided = environments_division(&run->config, run->base.env.data, out, err);
    if (divided)
        return divided;
    write_outcome(out, &run->outcome);
    scale_write(&run->scale, "scale", run->names, out);
    scale_write(&run->outcome_scale, "outcome_scale", NULL, out);
    return run->base.alone ? STATUS_OK : write_found(run, out, err);
}

/* The verdict of an environments run: whether the model predicts the outcome of test rows, and whether the tree was
 * used.
 *
 * The prediction is compared with the constant answer, the mean outcome of the training rows, which needs no model. The
 * tree was not used if the method itself found no change on any edge: its model is then the same for all
 * environments. */

/* The model is better than the constant answer if its squared error is lower by more than this share. Otherwise it gets
 * the finding "no-better-than-mean". A model whose weights are all zero must get this finding. */
static const double GAIN = 0.01;

enum { CONSTANT, NO_CHANGE, ARTIFACT };
const struct finding_code environments_findings[ENVIRONMENTS_FINDINGS] = {
    [CONSTANT] = {"no-better-than-mean", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The squared error on test rows is at least 99 % of that of the mean outcome of the training rows.",
                  "motifctl submit --like JOB --set learning_rate=2e-2 --set updates=12000 --set restarts=12"},
    [NO_CHANGE] = {"no-change-found", FINDING_WARNING, VERDICT_PARTLY,
                   "The model has no change of a weight on any edge of the tree.",
                   "motifctl submit --like JOB --set penalty=3e-3"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Squared error of the constant answer on the test rows; NaN: there are none. */
static double constant_error(const struct method_run *run)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < run->train->rows; i++)
        mean += (double)run->train->y[i] / run->train->rows;
    for (int i = 0; i < run->test->rows; i++)
        sum += ((double)run->test->y[i] - mean) * ((double)run->test->y[i] - mean) / run->test->rows;
    return run->test->rows && run->train->rows ? sum : NAN;
}

enum status environments_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    enum status status = tree_run_open(run, err);
    if (status)
        return status;
    double own = run->outcome.mse, constant = constant_error(run);
    if (own > (1 - GAIN) * constant) /* false if either is NaN */
        findings_add(findings, &environments_findings[CONSTANT],
                     "The squared error on test rows is %.4g; the mean outcome of the training rows has %.4g.", own,
                     constant);
    if (!run->base.alone && run->config.baseline == BASELINE_NONE && run->outcome.changes_found == 0)
        findings_add(findings, &environments_findings[NO_CHANGE],
                     "No weight changes on any edge of the tree: the penalty (%g) is too large, or the environments do "
                     "not differ.",
                     run->config.penalty);
    publish_findings(&run->base.findings, &environments_findings[ARTIFACT], findings);
    return STATUS_OK;
}
