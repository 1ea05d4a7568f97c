/* The table of an environments run (core/methods/shared/model_run.h): how it begins, what a checkpoint contains and how
 * the progress is computed. */
#include "core/methods/environments/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/environments/run_int.h"

static enum status environments_run_evaluate(struct method_run *run, bool *done, struct error *err)
{
    bool fresh = run->base.alone && run->base.evaluation_seed >= 0 && run->config.data == DATA_SIMULATED;
    (void)done;
    enum status status = fresh ? tree_run_fresh(run, err) : STATUS_OK;
    return status ? status : tree_run_evaluate(run, &run->outcome, err);
}

/* Fraction of the updates that are done. */
static double part_done(const struct method_run *run)
{
    if (run->multi_start.count == 0)
        return 0;
    const struct tree_fit *f = tree_fit_of(run);
    return multi_start_part(&run->multi_start, run->config.restarts, (double)run->config.screen_updates,
                            (double)f->updates, (double)f->model->setup.updates);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static const struct model_run_number numbers[] = {
    {"run.chosen", MODEL_RUN_POSITION, offsetof(struct method_run, multi_start.chosen)},
    {"run.features", MODEL_RUN_INTEGER, offsetof(struct method_run, features)},
    {"run.objective", MODEL_RUN_REAL, offsetof(struct method_run, multi_start.objective)},
    {"run.worst", MODEL_RUN_REAL, offsetof(struct method_run, multi_start.worst)},
    {NULL, MODEL_RUN_INTEGER, 0},
};

static enum status environments_run_loaded(struct method_run *run, bool *sound, struct error *err)
{
    (void)err;
    *sound = run->features == run->train->features;
    for (int i = 0; i < run->multi_start.count; i++) {
        const struct tree_fit *f = run->multi_start.fit[i];
        *sound = *sound && f->updates >= 0 && f->updates <= f->model->setup.updates;
    }
    return STATUS_OK;
}

static bool environments_run_single(const struct method_run *run)
{
    return run->config.restarts == 1;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric environments_metrics[ENVIRONMENTS_METRICS] = {
    {"loss", "", "squared error of a training batch, mean of twenty updates"},
    {"nonzero", "weights", "changes that are not zero"},
    {"mcc", "", "mean correlation of true latent variables with those matched to them, after training"},
    {"mse", "", "squared error on test rows of the training environments"},
    {"mse_unseen", "", "squared error in environments that were held out"},
    {"changes_found", "weights", "changes on edges that are larger than found_above"},
};

static const struct model_run_metric metrics[] = {
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"mse", OUTCOME_COLUMN(mse)},
    {"mse_unseen", OUTCOME_COLUMN(mse_unseen)},
    {"changes_found", OUTCOME_COLUMN(changes_found)},
    {NULL, 0},
};

static const struct model_run_table table = {
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 2,
    .most_samples = 10000000,
    .open = tree_run_open,
    .trained = tree_run_trained,
    .update = tree_run_update,
    .evaluate = environments_run_evaluate,
    .finish = environments_plots,
    .part = part_done,
    .arrays = multi_start_run_arrays,
    .check = multi_start_run_check,
    .loaded = environments_run_loaded,
    .single = environments_run_single,
    .close = tree_run_close,
};

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err)
{
    const struct environments_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *c;
    model_run_init(r, &table, env, c->checkpoint_every, (double *)&r->outcome, OUTCOME_COLUMNS);
    multi_start_begin(&r->multi_start);
    *run = r;
    return STATUS_OK;
}
