/* The table of a factors run (core/methods/shared/model_run.h): how it begins, what a checkpoint contains and how the
 * progress is computed. */
#include "core/methods/factors/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/factors/run_int.h"

static enum status factors_run_evaluate(struct method_run *run, bool *done, struct error *err)
{
    bool fresh = run->base.alone && run->base.evaluation_seed >= 0 && !run->table;
    (void)done;
    enum status status = fresh ? case_fresh(run, err) : STATUS_OK;
    return status ? status : factors_evaluate(run, &run->outcome, err);
}

/* Fraction of the epochs or iterations that are done. */
static double part_done(const struct method_run *run)
{
    if (run->nmf)
        return (double)run->nmf->done / (double)run->nmf->setup.iterations;
    if (run->multi_start.count == 0)
        return 0;
    const struct fit *f = case_fit(run);
    double done = (double)f->epoch + (double)f->position / run->data.train_count;
    return multi_start_part(&run->multi_start, run->config.restarts, (double)run->config.screen_epochs, done,
                            (double)f->setup.epochs);
}

static void close_run(struct method_run *run)
{
    factors_run_close(run);
    features_destroy(run->table);
    scale_close(&run->scale);
    lda_close(&run->topics);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static enum status factors_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                       struct error *err)
{
    struct outcome *o = &run->outcome;
    const struct snapshot_row state[] = {
        SNAPSHOT_NUMBER("run.features", &run->width),    SNAPSHOT_COLUMNS("outcome.figures", o, 1, mse, restart),
        SNAPSHOT_NUMBER("outcome.restart", &o->restart), SNAPSHOT_NUMBER("outcome.updates", &o->updates),
        SNAPSHOT_NUMBER("outcome.samples", &o->samples),
    };
    enum status status =
        role == SNAPSHOT_STATE ? snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(state), err) : STATUS_OK;
    if (!status && role == SNAPSHOT_STATE)
        status = scale_snapshot(&run->scale, "", snapshot, err);
    if (status)
        return status;
    return run->nmf ? nmf_snapshot(run->nmf, role, snapshot, err) : multi_start_run_declare(run, role, snapshot, err);
}

static enum status factors_run_loaded(struct method_run *run, bool *sound, struct error *err)
{
    (void)err;
    *sound = run->width == run->features->columns && (!run->nmf || run->nmf->done >= 0);
    for (int i = 0; i < run->multi_start.count; i++) {
        struct fit *f = run->multi_start.fit[i];
        fit_loaded(f);
        *sound = *sound && f->updates >= 0 && f->epoch >= 0 && f->epoch <= f->setup.epochs && f->position >= 0 &&
                 f->position < run->data.train_count;
    }
    return STATUS_OK;
}

static bool factors_run_single(const struct method_run *run)
{
    return run->config.restarts == 1 && run->config.model != MODEL_NMF;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric factors_metrics[FACTORS_METRICS] = {
    {"loss", "", "objective of a training batch, mean of twenty updates"},
    {"objective", "", "objective of the last pass, by which restarts are chosen"},
    {"mse", "", "held-out squared error of an entry, from sampled factors"},
    {"nll", "nats", "held-out negative log likelihood of a row, from sampled factors"},
    {"dci", "", "disentanglement of the factors' means, from 500 rows"},
    {"recall_at_5", "", "share of the entries that a held-out user liked that are among the five highest scores"},
    {"accuracy", "", "share of rows whose class logistic regression predicts from the factors' means, five folds"},
    {"columns_used", "columns", "columns of the mask that any feature uses"},
};

static const struct model_run_metric metrics[] = {
    {"objective", offsetof(struct method_run, outcome.objective)},
    {"mse", offsetof(struct method_run, outcome.mse)},
    {"nll", offsetof(struct method_run, outcome.nll)},
    {"dci", offsetof(struct method_run, outcome.dci)},
    {"recall_at_5", offsetof(struct method_run, outcome.recall)},
    {"accuracy", offsetof(struct method_run, outcome.accuracy)},
    {"columns_used", offsetof(struct method_run, outcome.columns)},
    {NULL, 0},
};

static const struct model_run_table table = {
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = 1000000,
    .open = factors_run_open,
    .trained = case_trained,
    .update = case_update,
    .evaluate = factors_run_evaluate,
    .finish = factors_plots,
    .part = part_done,
    .position = multi_start_run_position,
    .declare = factors_run_declare,
    .check = multi_start_run_check,
    .loaded = factors_run_loaded,
    .single = factors_run_single,
    .close = close_run,
};

enum status factors_create(const void *config, const struct method_env *env, struct method_run **run, struct error *err)
{
    const struct factors_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *c;
    model_run_init(r, &table, env, c->checkpoint_every);
    multi_start_begin(&r->multi_start);
    *run = r;
    return STATUS_OK;
}
