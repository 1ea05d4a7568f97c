/* A factors run is a case sweep (core/methods/shared/case_sweep.h) over fits. This file defines how a case begins,
 * what a checkpoint contains and how the progress is computed. */
#include "core/methods/factors/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/factors/run_int.h"

static enum status plan(struct method_run *run, struct error *err)
{
    int count = factors_cases(&run->config, NULL);
    enum status status = case_sweep_plan(run, count, FACTORS_CASES, sizeof *run->cases, OUTCOME_COLUMNS, err);
    if (status)
        return status;
    run->cases = run->sweep.cases;
    run->outcomes = run->sweep.outcomes;
    factors_cases(&run->config, run->cases);
    return STATUS_OK;
}

static enum status open_case(struct method_run *run, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    return w->opened == w->at ? STATUS_OK : case_open(run, (int)w->at, err);
}

static enum status evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    (void)done;
    enum status status = w->alone && w->evaluation_seed >= 0 && !run->table ? case_fresh(run, err) : STATUS_OK;
    return status ? status : evaluate_case(run, &run->outcomes[w->at], err);
}

/* Fraction of the open case's epochs or iterations that are done. */
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
    case_close(run);
    features_destroy(run->table);
    lda_close(&run->topics);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static const struct case_sweep_number numbers[] = {
    {"run.chosen", CASE_SWEEP_POSITION, offsetof(struct method_run, multi_start.chosen)},
    {"run.features", CASE_SWEEP_INTEGER, offsetof(struct method_run, width)},
    {"run.worst", CASE_SWEEP_REAL, offsetof(struct method_run, multi_start.worst)},
    {NULL, CASE_SWEEP_INTEGER, 0},
};

static enum status arrays(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot, struct error *err)
{
    return run->nmf ? nmf_snapshot(run->nmf, role, snapshot, err)
                    : multi_start_snapshot(&run->multi_start, role, snapshot, err);
}

static enum status loaded(struct method_run *run, bool *sound, struct error *err)
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

static bool single(const struct method_run *run)
{
    return run->config.restarts == 1 && run->cases[0].model != MODEL_NMF;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric factors_metrics[FACTORS_METRICS] = {
    {"loss", "", "objective of a training batch, mean of twenty updates"},
    {"objective", "", "objective of a finished case's last pass, by which restarts are chosen"},
    {"mse", "", "held-out squared error of an entry, from sampled factors"},
    {"nll", "nats", "held-out negative log likelihood of a row, from sampled factors"},
    {"dci", "", "disentanglement of the factors' means, from 500 rows"},
    {"recall_at_5", "", "share of the entries that a held-out user liked that are among the five highest scores"},
    {"accuracy", "", "share of rows whose class logistic regression predicts from the factors' means, five folds"},
    {"columns_used", "columns", "columns of the mask that any feature uses"},
};

static const struct case_sweep_metric metrics[] = {
    {"objective", OUTCOME_COLUMN(objective)},
    {"mse", OUTCOME_COLUMN(mse)},
    {"nll", OUTCOME_COLUMN(nll)},
    {"dci", OUTCOME_COLUMN(dci)},
    {"recall_at_5", OUTCOME_COLUMN(recall)},
    {"accuracy", OUTCOME_COLUMN(accuracy)},
    {"columns_used", OUTCOME_COLUMN(columns)},
    {NULL, 0},
};

static const struct case_sweep_table case_sweep_table = {
    MULTI_START_SWEEP_DEFAULTS,
    .series = factors_metrics,
    .series_count = FACTORS_METRICS,
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = 1000000,
    .plan = plan,
    .open = open_case,
    .trained = case_trained,
    .update = case_update,
    .evaluate = evaluate,
    .finish = factors_plots,
    .part = part_done,
    .arrays = arrays,
    .loaded = loaded,
    .single = single,
    .close = close_run,
};

enum status factors_create(const void *config, const struct method_env *env, struct method_run **run, struct error *err)
{
    const struct factors_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (r) {
        r->config = *c;
        r->restarts = c->restarts;
    }
    return case_sweep_create(r, &case_sweep_table, env, c->checkpoint_every, run, err);
}
