/* An environments run is a case sweep (core/methods/shared/case_sweep.h) over fits. This file defines how a case
 * begins, what a checkpoint contains and how the progress is computed. */
#include "core/methods/environments/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/environments/run_int.h"

static enum status plan(struct method_run *run, struct error *err)
{
    int count = environments_cases(&run->config, NULL);
    enum status status = case_sweep_plan(run, count, ENVIRONMENTS_CASES, sizeof *run->cases, OUTCOME_COLUMNS, err);
    if (status)
        return status;
    run->cases = run->sweep.cases;
    run->outcomes = run->sweep.outcomes;
    environments_cases(&run->config, run->cases);
    return STATUS_OK;
}

static enum status open_case(struct method_run *run, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    return w->opened == w->at ? STATUS_OK : tree_case_open(run, (int)w->at, err);
}

static enum status evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    bool fresh = w->alone && w->evaluation_seed >= 0 && run->own.data == DATA_SIMULATED;
    (void)done;
    enum status status = fresh ? tree_case_fresh(run, err) : STATUS_OK;
    return status ? status : tree_case_evaluate(run, &run->outcomes[w->at], err);
}

/* Fraction of the open case's updates that are done. */
static double part_done(const struct method_run *run)
{
    if (run->multi_start.count == 0)
        return 0;
    const struct tree_fit *f = case_fit(run);
    return multi_start_part(&run->multi_start, run->config.restarts, (double)run->config.screen_updates,
                            (double)f->updates, (double)f->model->setup.updates);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static const struct case_sweep_number numbers[] = {
    {"run.chosen", CASE_SWEEP_POSITION, offsetof(struct method_run, multi_start.chosen)},
    {"run.features", CASE_SWEEP_INTEGER, offsetof(struct method_run, features)},
    {"run.objective", CASE_SWEEP_REAL, offsetof(struct method_run, multi_start.objective)},
    {"run.worst", CASE_SWEEP_REAL, offsetof(struct method_run, multi_start.worst)},
    {NULL, CASE_SWEEP_INTEGER, 0},
};

static enum status loaded(struct method_run *run, bool *sound, struct error *err)
{
    (void)err;
    *sound = run->features == run->train->features;
    for (int i = 0; i < run->multi_start.count; i++) {
        const struct tree_fit *f = run->multi_start.fit[i];
        *sound = *sound && f->updates >= 0 && f->updates <= f->model->setup.updates;
    }
    return STATUS_OK;
}

static bool single(const struct method_run *run)
{
    return run->config.restarts == 1;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric environments_metrics[ENVIRONMENTS_METRICS] = {
    {"loss", "", "squared error of a training batch, mean of twenty updates"},
    {"nonzero", "weights", "changes that are not zero"},
    {"mcc", "", "mean correlation of true latent variables with those matched to them, when a case is done"},
    {"mse", "", "squared error on test rows of the training environments"},
    {"mse_unseen", "", "squared error in environments that were held out"},
    {"changes_found", "weights", "changes on edges that are larger than found_above"},
};

static const struct case_sweep_metric metrics[] = {
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"mse", OUTCOME_COLUMN(mse)},
    {"mse_unseen", OUTCOME_COLUMN(mse_unseen)},
    {"changes_found", OUTCOME_COLUMN(changes_found)},
    {NULL, 0},
};

static const struct case_sweep_table case_sweep_table = {
    MULTI_START_SWEEP_DEFAULTS,
    .series = environments_metrics,
    .series_count = ENVIRONMENTS_METRICS,
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 2,
    .most_samples = 10000000,
    .plan = plan,
    .open = open_case,
    .trained = tree_case_trained,
    .update = tree_case_update,
    .evaluate = evaluate,
    .finish = environments_plots,
    .part = part_done,
    .arrays = multi_start_sweep_arrays,
    .loaded = loaded,
    .single = single,
    .close = tree_case_close,
};

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err)
{
    const struct environments_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (r) {
        r->config = *c;
        r->restarts = c->restarts;
    }
    return case_sweep_create(r, &case_sweep_table, env, c->checkpoint_every, run, err);
}
