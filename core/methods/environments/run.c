/* A run as a walk over cases (core/methods/walk.h): what begins one, what is measured at its end, what is saved. */
#include "core/methods/environments/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/environments/run_int.h"
#include "core/methods/environments/environments.h"

static enum status plan(struct method_run *run, struct error *err)
{
    int count = environments_cases(&run->config, NULL);
    enum status status = walk_plan(run, count, ENVIRONMENTS_CASES, sizeof *run->cases, OUTCOME_COLUMNS, err);
    if (status)
        return status;
    run->cases = run->walk.cases;
    run->outcomes = run->walk.outcomes;
    environments_cases(&run->config, run->cases);
    return STATUS_OK;
}

static void begin(struct method_run *run)
{
    starts_begin(&run->starts);
}

static enum status open_case(struct method_run *run, struct error *err)
{
    const struct walk *w = &run->walk;
    return w->opened == w->at ? STATUS_OK : tree_case_open(run, (int)w->at, err);
}

static enum status evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct walk *w = &run->walk;
    bool fresh = w->alone && w->evaluation_seed >= 0 && run->own.data == DATA_SIMULATED;
    (void)done;
    enum status status = fresh ? tree_case_fresh(run, err) : STATUS_OK;
    return status ? status : tree_case_evaluate(run, &run->outcomes[w->at], err);
}

/* In updates. */
static double part_done(const struct method_run *run)
{
    if (run->starts.count == 0)
        return 0;
    const struct tree_fit *f = case_fit(run);
    return starts_part(&run->starts, run->config.restarts, (double)run->config.screen_updates, (double)f->updates,
                       (double)f->model->setup.updates);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static const struct walk_number numbers[] = {
    {"run.chosen", WALK_POSITION, offsetof(struct method_run, starts.chosen)},
    {"run.features", WALK_INTEGER, offsetof(struct method_run, features)},
    {"run.objective", WALK_REAL, offsetof(struct method_run, starts.objective)},
    {"run.worst", WALK_REAL, offsetof(struct method_run, starts.worst)},
    {NULL, WALK_INTEGER, 0},
};

static enum status arrays(struct method_run *run, enum pack_role role, struct pack *pack, struct error *err)
{
    return starts_pack(&run->starts, role, pack, err);
}

static enum status check_weights(const struct method_run *run, struct error *err)
{
    return starts_check(&run->starts, err);
}

static bool position_sound(const struct method_run *run)
{
    return starts_sound(&run->starts, run->config.restarts);
}

static enum status loaded(struct method_run *run, bool *sound, struct error *err)
{
    (void)err;
    *sound = run->features == run->train->features;
    for (int i = 0; i < run->starts.count; i++) {
        const struct tree_fit *f = run->starts.fit[i];
        *sound = *sound && f->updates >= 0 && f->updates <= f->model->setup.updates;
    }
    return STATUS_OK;
}

static bool single(const struct method_run *run)
{
    return run->config.restarts == 1;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

static const struct walk_metric metrics[] = {
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"mse", OUTCOME_COLUMN(mse)},
    {"mse_unseen", OUTCOME_COLUMN(mse_unseen)},
    {"changes_found", OUTCOME_COLUMN(changes_found)},
    {NULL, 0},
};

static const struct walk_table walk_table = {
    .method = &environments_method,
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 2,
    .most_samples = 10000000,
    .plan = plan,
    .begin = begin,
    .open = open_case,
    .trained = tree_case_trained,
    .update = tree_case_update,
    .evaluate = evaluate,
    .finish = environments_plots,
    .part = part_done,
    .arrays = arrays,
    .check = check_weights,
    .position_sound = position_sound,
    .loaded = loaded,
    .single = single,
    .close = tree_case_close,
};

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err)
{
    const struct environments_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (r)
        r->config = *c;
    return walk_create(r, &walk_table, env, c->checkpoint_every, run, err);
}
