/* The table of a superposition run (core/methods/shared/model_run.h): how it begins, what a checkpoint contains and how
 * the progress is computed. */
#include "core/methods/superposition/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/superposition/run_int.h"

static enum status open_model(struct method_run *run, struct error *err)
{
    if (run->draw < 0 || run->draw >= run->config.draws ||
        (run->base.phase == MODEL_RUN_TRAIN && run->setup.model != MODEL_TRAINED))
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint belongs to another model");
    bool ready = run->base.opened && run->opened_draw == run->draw;
    enum status status = ready ? STATUS_OK : work_open(run, (int)run->draw, err);
    if (!status)
        work_limit_tests(run);
    return status;
}

static void close_run(struct method_run *run)
{
    work_close(run);
    features_close(&run->features);
    arena_close(&run->arena);
    free(run->losses);
}

/* Adds the loss of one draw to the mean and range of all draws. */
static void take_loss(struct method_run *run)
{
    struct outcome *o = &run->outcome;
    double n = (double)run->base.evaluation_samples, loss = run->sum / n;
    double variance = n > 1 ? fmax(run->squares / n - loss * loss, 0) / (n - 1) : 0;
    double before = run->base.alone ? 0 : (double)run->draw;
    o->low = before > 0 ? fmin(o->low, loss) : loss;
    o->high = before > 0 ? fmax(o->high, loss) : loss;
    o->loss = before > 0 ? o->loss + (loss - o->loss) / (before + 1) : loss;
    o->error = before > 0 ? o->error
                          /* All draws of a rug use the same samples, so further draws do not reduce the standard
                           * error. */
                          : sqrt(variance);
}

static enum status take_statistics(struct method_run *run, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    struct outcome *o = &run->outcome;
    uint64_t seed = (uint64_t)run->config.seed;
    if (c->model != MODEL_TRAINED)
        return statistics_rug(&run->rug, run->base.env.pool, run->base.env.kernels, c->p, run->scale, run->offset, seed,
                              &o->statistics, err);
    if (!run->base.alone) {
        o->updates = run->updates;
        o->samples = run->samples;
        o->train_loss = work_window_loss(run);
    }
    o->active = batch_active(run->batch);
    return statistics_model(run->model, run->base.env.pool, run->base.env.kernels, c->p, seed, &o->statistics, err);
}

/* Evaluates the next samples. The draws of a rug are evaluated one after another. */
static enum status superposition_run_evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    enum status status = work_evaluate(run, done, err);
    if (status || !*done)
        return status;
    take_loss(run);
    run->position = 0;
    run->sum = run->squares = 0;
    if (c->model == MODEL_RUG && !run->base.alone && run->draw + 1 < run->config.draws) {
        run->draw++;
        *done = false;
        return STATUS_OK;
    }
    status = take_statistics(run, err);
    if (!status)
        model_run_metric(run, "analytic_loss", setup_predicted(c));
    return status;
}

static void begin_evaluation(struct method_run *run)
{
    run->draw = run->opened_draw < 0 ? 0 : run->opened_draw;
    run->position = 0;
    run->sum = run->squares = 0;
}

static double part_done(const struct method_run *run)
{
    const struct model_run *w = &run->base;
    double evaluated = (double)run->position / (double)w->evaluation_samples;
    if (w->alone)
        return evaluated;
    if (w->phase == MODEL_RUN_TRAIN)
        return 0.99 * (double)run->samples / (double)run->config.total_samples;
    if (run->setup.model == MODEL_TRAINED)
        return 0.99 + 0.01 * evaluated;
    return ((double)run->draw + evaluated) / (double)run->config.draws;
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static enum status declare_draw(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.draw", &run->draw)};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

static enum status superposition_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                             struct error *err)
{
    struct outcome *o = &run->outcome;
    const struct snapshot_row state[] = {
        SNAPSHOT_NUMBER("run.updates", &run->updates),
        SNAPSHOT_NUMBER("run.samples", &run->samples),
        SNAPSHOT_ARRAY("run.losses", run->losses, 2 * (uint64_t)run->config.window),
        SNAPSHOT_NUMBER("evaluation.position", &run->position),
        SNAPSHOT_NUMBER("evaluation.sum", &run->sum),
        SNAPSHOT_NUMBER("evaluation.squares", &run->squares),
        SNAPSHOT_NUMBER("data.unit", &run->unit),
        SNAPSHOT_COLUMNS("outcome.figures", o, 1, loss, updates),
        SNAPSHOT_NUMBER("outcome.updates", &o->updates),
        SNAPSHOT_NUMBER("outcome.samples", &o->samples),
    };
    if (role == SNAPSHOT_WEIGHT)
        return run->model ? params_snapshot(run->model->params, snapshot, err)
                          : rug_snapshot(run->rug.n_d, run->rug.rows, &run->scale, &run->offset, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return run->model ? adam_snapshot(run->adam, snapshot, err) : STATUS_OK;
    enum status status = snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(state), err);
    return status ? status : scale_snapshot(&run->features.columns, "", snapshot, err);
}

static enum status check_weights(const struct method_run *run, struct error *err)
{
    return run->model ? params_check(run->model->params, err) : STATUS_OK;
}

static enum status superposition_run_loaded(struct method_run *run, bool *sound, struct error *err)
{
    const struct model_run *w = &run->base;
    *sound = run->updates >= 0 && run->samples >= 0 && run->position >= 0 && w->evaluation_samples >= 1 &&
             w->evaluation_samples <= EVALUATION_MOST &&
             (w->phase != MODEL_RUN_EVALUATE || run->position < w->evaluation_samples) &&
             run->unit == (superposition_uploaded(&run->config) ? run->features.scale : 1);
    return run->model ? STATUS_OK : rug_fill(&run->rug, err);
}

static bool superposition_run_single(const struct method_run *run)
{
    return run->setup.model == MODEL_TRAINED;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric superposition_metrics[SUPERPOSITION_METRICS] = {
    {"loss", "", "squared error of a feature on training batches, mean of twenty updates"},
    {"active", "", "share of outputs above zero in a training batch"},
    {"test_loss", "", "squared error of a feature on new samples, after training"},
    {"analytic_loss", "", "test loss that the closed form predicts"},
    {"diagonal_mean", "", "mean of W_ii over the features that were not dropped"},
    {"bias_mean", "", "mean bias of the features that were not dropped"},
    {"dropped", "", "share of features whose W_ii is below half the median"},
};

static const struct model_run_metric metrics[] = {
    {"test_loss", offsetof(struct method_run, outcome.loss)},
    {"diagonal_mean", offsetof(struct method_run, outcome.statistics.kept_diagonal_mean)},
    {"bias_mean", offsetof(struct method_run, outcome.statistics.kept_bias_mean)},
    {"dropped", offsetof(struct method_run, outcome.statistics.dropped)},
    {NULL, 0},
};

static const struct model_run_table table = {
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = EVALUATION_MOST,
    .open = open_model,
    .trained = work_trained,
    .update = work_update,
    .evaluate = superposition_run_evaluate,
    .finish = plots_write,
    .begin_evaluation = begin_evaluation,
    .part = part_done,
    .position = declare_draw,
    .declare = superposition_run_declare,
    .check = check_weights,
    .loaded = superposition_run_loaded,
    .single = superposition_run_single,
    .close = close_run,
};

static enum status superposition_run_begin(struct method_run *r, struct error *err)
{
    const struct superposition_config *c = &r->config;
    r->setup = superposition_setup(c);
    r->base.phase = r->setup.model == MODEL_TRAINED ? MODEL_RUN_TRAIN : MODEL_RUN_EVALUATE;
    r->base.evaluation_seed = c->seed;
    r->base.evaluation_samples = c->test_samples;
    r->losses = calloc(2 * (size_t)c->window, sizeof *r->losses);
    if (!r->losses)
        return error_memory(err, "losses");
    enum status status = work_open_features(r, err);
    if (!status)
        work_limit_tests(r);
    return status;
}

enum status superposition_create(const void *config, const struct method_env *env, struct method_run **run,
                                 struct error *err)
{
    const struct superposition_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *c;
    r->opened_draw = -1;
    arena_init(&r->arena, (size_t)1 << 16, 0);
    exec_init(&r->exec, env->kernels, env->pool, &r->arena, (uint64_t)c->seed);
    model_run_init(r, &table, env, c->checkpoint_every);
    enum status status = superposition_run_begin(r, err);
    if (status) {
        model_run_destroy(r);
        return status;
    }
    *run = r;
    return STATUS_OK;
}
