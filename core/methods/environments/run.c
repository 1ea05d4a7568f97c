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

static enum status environments_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                            struct error *err)
{
    struct outcome *o = &run->outcome;
    const struct snapshot_row state[] = {
        SNAPSHOT_NUMBER("run.features", &run->features), SNAPSHOT_COLUMNS("outcome.figures", o, 1, mcc, restart),
        SNAPSHOT_NUMBER("outcome.restart", &o->restart), SNAPSHOT_NUMBER("outcome.updates", &o->updates),
        SNAPSHOT_NUMBER("outcome.samples", &o->samples),
    };
    enum status status = multi_start_run_declare(run, role, snapshot, err);
    if (status || role != SNAPSHOT_STATE)
        return status;
    status = snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(state), err);
    if (!status)
        status = scale_snapshot(&run->scale, "", snapshot, err);
    return status ? status : scale_snapshot(&run->outcome_scale, "outcome.", snapshot, err);
}

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
    {"mcc", offsetof(struct method_run, outcome.mcc)},
    {"mse", offsetof(struct method_run, outcome.mse)},
    {"mse_unseen", offsetof(struct method_run, outcome.mse_unseen)},
    {"changes_found", offsetof(struct method_run, outcome.changes_found)},
    {NULL, 0},
};

static const struct model_run_table table = {
    .metrics = metrics,
    .least_samples = 2,
    .most_samples = 10000000,
    .open = tree_run_open,
    .trained = tree_run_trained,
    .update = tree_run_update,
    .evaluate = environments_run_evaluate,
    .finish = environments_plots,
    .part = part_done,
    .position = multi_start_run_position,
    .declare = environments_run_declare,
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
    model_run_init(r, &table, env, c->checkpoint_every);
    multi_start_begin(&r->multi_start);
    *run = r;
    return STATUS_OK;
}
