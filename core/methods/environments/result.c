/* Writes the fields of a result. `curve` has every case, `summary` the medians over seeds, and `changes` the changes of
 * the last case. The top level repeats the medians of the last summary, which is that of the method itself if all
 * baselines run. For a table, `latent` has the columns that correlate with each latent variable. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

static const struct {
    const char *name;
    size_t column;
} fields[] = {
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"linear_r2", OUTCOME_COLUMN(linear_r2)},
    {"mse", OUTCOME_COLUMN(mse)},
    {"mse_unseen", OUTCOME_COLUMN(mse_unseen)},
    {"mse_unseen_fit", OUTCOME_COLUMN(mse_unseen_fit)},
    {"changes_found", OUTCOME_COLUMN(changes_found)},
    {"changes_true", OUTCOME_COLUMN(changes_true)},
    {"changes_right", OUTCOME_COLUMN(changes_right)},
    {"accuracy", OUTCOME_COLUMN(accuracy)},
    {"accuracy_unseen", OUTCOME_COLUMN(accuracy_unseen)},
    {"train_loss", OUTCOME_COLUMN(train_loss)},
    {"updates", OUTCOME_COLUMN(updates)},
    {"trained_samples", OUTCOME_COLUMN(samples)},
    {"objective", OUTCOME_COLUMN(objective)},
    {"worst_objective", OUTCOME_COLUMN(worst_objective)},
    {"restart", OUTCOME_COLUMN(restart)},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void write_value(const struct sink *out, const char *name, double value)
{
    if (isfinite(value))
        sink_number(out, name, value);
    else
        sink_null(out, name);
}

static void write_outcome(const struct sink *out, const struct outcome *o)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        write_value(out, fields[i].name, ((const double *)o)[fields[i].column]);
}

static void write_case(const struct method_run *run, const struct environments_case *c, const struct sink *out)
{
    sink_text(out, "baseline", environments_baseline_names[c->baseline]);
    if (run->config.sweep != SWEEP_NONE)
        sink_number(out, environments_sweep_names[run->config.sweep], c->value);
}

static void write_summary(const struct method_run *run, const struct summary *s, const struct sink *out)
{
    const struct environments_case like = {s->baseline, s->value, 0};
    sink_begin_object(out, NULL);
    write_case(run, &like, out);
    sink_integer(out, "seeds", s->count);
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct spread *spread = &s->column[fields[i].column];
        sink_begin_object(out, fields[i].name);
        write_value(out, "median", spread->median);
        write_value(out, "low", spread->low);
        write_value(out, "high", spread->high);
        sink_end_object(out);
    }
    sink_end_object(out);
}

static enum status write_summaries(const struct method_run *run, const struct sink *out, struct error *err)
{
    struct summary *rows = calloc((size_t)run->sweep.count, sizeof *rows);
    int count = rows ? environments_summarise(run, rows, run->sweep.count) : 0;
    for (size_t i = 0; count && i < COUNT(fields); i++) /* the top-level values are the medians of the last summary */
        write_value(out, fields[i].name, rows[count - 1].column[fields[i].column].median);
    sink_begin_list(out, "summary");
    for (int i = 0; i < count; i++)
        write_summary(run, &rows[i], out);
    sink_end_list(out);
    free(rows);
    return count ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a summary");
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

/* Writes the columns that correlate with each latent variable of the last case. */
static void write_latent(const struct method_run *run, const struct column_link *links, const struct sink *out)
{
    sink_begin_list(out, "latent");
    for (int c = 0; c < case_fit(run)->model->setup.latent; c++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "latent", c);
        write_columns(run, links + (ptrdiff_t)c * COLUMNS_SHOWN, out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Writes the changes of the last case: edge, latent variable and size. links: NULL where columns have no names. */
static void write_changes(const struct method_run *run, const struct column_link *links, const struct sink *out)
{
    const struct weight *w = case_fit(run)->model->changes;
    int k = case_fit(run)->model->setup.latent;
    sink_begin_list(out, "changes");
    for (int v = 1; run->edges.shape == EDGES_TREE && v < run->tree->nodes; v++)
        for (int c = 0; c < k && run->edges.edge[v] >= 0; c++) {
            double size = (double)w->value[(ptrdiff_t)run->edges.edge[v] * k + c];
            if (fabs(size) <= run->own.found_above)
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
        links = calloc((size_t)case_fit(run)->model->setup.latent * COLUMNS_SHOWN, sizeof *links);
        status = links ? environments_columns(run, links, err)
                       : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for columns");
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
    if (run->sweep.phase != CASE_SWEEP_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    enum status status = run->sweep.opened == run->sweep.at ? STATUS_OK : tree_case_open(run, (int)run->sweep.at, err);
    if (status)
        return status;
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "samples", run->test->rows);
    if (run->sweep.alone) {
        write_outcome(out, &run->outcomes[run->sweep.at]);
        return STATUS_OK;
    }
    status = write_summaries(run, out, err);
    if (!status)
        status = write_found(run, out, err);
    sink_begin_list(out, "curve");
    for (int i = 0; i < run->sweep.count; i++) {
        sink_begin_object(out, NULL);
        write_case(run, &run->cases[i], out);
        sink_integer(out, "case_seed", run->cases[i].seed);
        write_outcome(out, &run->outcomes[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
    return status;
}
