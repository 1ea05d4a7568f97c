/* A superposition run is a case sweep (core/methods/shared/case_sweep.h). This file defines how a case begins,
 * what a checkpoint contains and how the progress is computed. */
#include "core/methods/superposition/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/superposition/run_int.h"

static void begin(struct method_run *run)
{
    if (run->cases[run->sweep.at].model != MODEL_TRAINED)
        run->sweep.phase = CASE_SWEEP_EVALUATE;
    run->updates = run->samples = run->draw = 0;
    run->position = 0;
    run->sum = run->squares = run->sweep.loss_sum = 0;
}

static enum status plan(struct method_run *r, struct error *err)
{
    const struct superposition_config *c = &r->config;
    struct superposition_case *cases = malloc(SUPERPOSITION_CASES * sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a list of cases");
    int count = superposition_cases(c, cases);
    enum status status = case_sweep_plan(r, count, SUPERPOSITION_CASES, sizeof *cases, OUTCOME_COLUMNS, err);
    if (!status)
        memcpy(r->sweep.cases, cases, (size_t)count * sizeof *cases);
    free(cases);
    if (status)
        return status;
    r->cases = r->sweep.cases;
    r->outcomes = r->sweep.outcomes;
    r->flops = calloc((size_t)count, sizeof *r->flops);
    r->losses = calloc(2 * (size_t)c->window, sizeof *r->losses);
    if (!r->flops || !r->losses)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d cases", count);
    for (int i = 0; i < count; i++)
        r->flops[i] = superposition_work(c, &r->cases[i]);
    r->sweep.evaluation_seed = c->seed;
    r->sweep.evaluation_samples = c->test_samples;
    status = work_open_features(r, err);
    if (!status)
        work_limit_tests(r);
    return status;
}

static enum status open_case(struct method_run *run, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    bool ready = w->opened == w->at && run->opened_draw == run->draw;
    enum status status = ready ? STATUS_OK : work_open(run, (int)w->at, (int)run->draw, err);
    if (!status)
        work_limit_tests(run);
    return status;
}

static void close_run(struct method_run *run)
{
    work_close(run);
    features_close(&run->features);
    arena_close(&run->arena);
    free(run->flops);
    free(run->losses);
}

/* Adds the loss of one draw to the mean and range of its case. */
static void take_loss(struct method_run *run)
{
    struct outcome *o = &run->outcomes[run->sweep.at];
    double n = (double)run->sweep.evaluation_samples, loss = run->sum / n;
    double variance = n > 1 ? fmax(run->squares / n - loss * loss, 0) / (n - 1) : 0;
    double before = run->sweep.alone ? 0 : (double)run->draw;
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
    const struct superposition_case *c = &run->cases[run->sweep.at];
    struct outcome *o = &run->outcomes[run->sweep.at];
    uint64_t seed = (uint64_t)run->config.seed;
    if (c->model != MODEL_TRAINED)
        return statistics_rug(&run->rug, run->sweep.env.pool, run->sweep.env.kernels, c->p, run->scale, run->offset,
                              seed, &o->statistics, err);
    if (!run->sweep.alone) {
        o->updates = (double)run->updates;
        o->samples = (double)run->samples;
        o->train_loss = work_window_loss(run);
    }
    o->active = batch_active(run->batch);
    return statistics_model(run->model, run->sweep.env.pool, run->sweep.env.kernels, c->p, seed, &o->statistics, err);
}

/* Evaluates the next samples of the case. The draws of a rug are evaluated one after another. */
static enum status evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct superposition_case *c = &run->cases[run->sweep.at];
    enum status status = work_evaluate(run, done, err);
    if (status || !*done)
        return status;
    take_loss(run);
    run->position = 0;
    run->sum = run->squares = 0;
    if (c->model == MODEL_RUG && !run->sweep.alone && run->draw + 1 < run->config.draws) {
        run->draw++;
        *done = false;
        return STATUS_OK;
    }
    status = take_statistics(run, err);
    if (!status)
        case_sweep_metric(run, "analytic_loss", case_predicted(c));
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
    const struct case_sweep *w = &run->sweep;
    double evaluated = (double)run->position / (double)w->evaluation_samples;
    if (w->alone)
        return evaluated;
    if (w->phase == CASE_SWEEP_TRAIN)
        return 0.99 * (double)run->samples / (double)run->config.total_samples;
    if (run->cases[w->at].model == MODEL_TRAINED)
        return 0.99 + 0.01 * evaluated;
    return ((double)run->draw + evaluated) / (double)run->config.draws;
}

static double weight_of(const struct method_run *run, int at)
{
    return run->flops[at];
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

static const struct case_sweep_number numbers[] = {
    {"run.draw", CASE_SWEEP_POSITION, offsetof(struct method_run, draw)},
    {"run.updates", CASE_SWEEP_INTEGER, offsetof(struct method_run, updates)},
    {"run.samples", CASE_SWEEP_INTEGER, offsetof(struct method_run, samples)},
    {"evaluation.position", CASE_SWEEP_INTEGER, offsetof(struct method_run, position)},
    {"evaluation.sum", CASE_SWEEP_REAL, offsetof(struct method_run, sum)},
    {"evaluation.squares", CASE_SWEEP_REAL, offsetof(struct method_run, squares)},
    {"data.unit", CASE_SWEEP_REAL, offsetof(struct method_run, unit)},
    {NULL, CASE_SWEEP_INTEGER, 0},
};

static enum status rug_arrays(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const uint64_t rows[4] = {(uint64_t)run->rug.n_d}, one[4] = {1};
    enum status status = snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_I64, "rows", 1, rows, run->rug.rows, err);
    if (!status)
        status = snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F64, "scale", 1, one, &run->scale, err);
    return status ? status : snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F64, "offset", 1, one, &run->offset, err);
}

static enum status arrays(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot, struct error *err)
{
    const uint64_t ring[4] = {2 * (uint64_t)run->config.window};
    if (role == SNAPSHOT_WEIGHT)
        return run->model ? params_snapshot(run->model->params, snapshot, err) : rug_arrays(run, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return run->model ? adam_snapshot(run->adam, snapshot, err) : STATUS_OK;
    return snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "run.losses", 1, ring, run->losses, err);
}

static enum status check_weights(const struct method_run *run, struct error *err)
{
    return run->model ? params_check(run->model->params, err) : STATUS_OK;
}

static bool position_sound(const struct method_run *run)
{
    const struct case_sweep *w = &run->sweep;
    return run->draw >= 0 && run->draw < run->config.draws &&
           (w->phase != CASE_SWEEP_TRAIN || run->cases[w->at].model == MODEL_TRAINED);
}

static enum status loaded(struct method_run *run, bool *sound, struct error *err)
{
    const struct case_sweep *w = &run->sweep;
    *sound = run->updates >= 0 && run->samples >= 0 && run->position >= 0 && w->evaluation_samples >= 1 &&
             w->evaluation_samples <= EVALUATION_MOST &&
             (w->phase != CASE_SWEEP_EVALUATE || run->position < w->evaluation_samples) &&
             run->unit == (superposition_uploaded(&run->config) ? run->features.scale : 1);
    return run->model ? STATUS_OK : rug_fill(&run->rug, err);
}

static bool single(const struct method_run *run)
{
    return run->cases[0].model == MODEL_TRAINED;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct method_metric superposition_metrics[SUPERPOSITION_METRICS] = {
    {"loss", "", "squared error of a feature on training batches, mean of twenty updates"},
    {"active", "", "share of outputs above zero in a training batch"},
    {"test_loss", "", "squared error of a feature on new samples, when a case is done"},
    {"analytic_loss", "", "test loss that the closed form predicts"},
    {"diagonal_mean", "", "mean of W_ii over the features that were not dropped"},
    {"bias_mean", "", "mean bias of the features that were not dropped"},
    {"dropped", "", "share of features whose W_ii is below half the median"},
};

static const struct case_sweep_metric metrics[] = {
    {"test_loss", OUTCOME_COLUMN(loss)},
    {"diagonal_mean", OUTCOME_COLUMN(statistics.kept_diagonal_mean)},
    {"bias_mean", OUTCOME_COLUMN(statistics.kept_bias_mean)},
    {"dropped", OUTCOME_COLUMN(statistics.dropped)},
    {NULL, 0},
};

static const struct case_sweep_table case_sweep_table = {
    .series = superposition_metrics,
    .series_count = SUPERPOSITION_METRICS,
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = EVALUATION_MOST,
    .plan = plan,
    .begin = begin,
    .open = open_case,
    .trained = work_trained,
    .update = work_update,
    .evaluate = evaluate,
    .finish = plots_write,
    .begin_evaluation = begin_evaluation,
    .part = part_done,
    .weight = weight_of,
    .arrays = arrays,
    .check = check_weights,
    .position_sound = position_sound,
    .loaded = loaded,
    .single = single,
    .close = close_run,
};

enum status superposition_create(const void *config, const struct method_env *env, struct method_run **run,
                                 struct error *err)
{
    const struct superposition_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (r) {
        r->config = *c;
        r->opened_draw = -1;
        arena_init(&r->arena, (size_t)1 << 16, 0);
        exec_init(&r->exec, env->kernels, env->pool, &r->arena, (uint64_t)c->seed);
    }
    return case_sweep_create(r, &case_sweep_table, env, c->checkpoint_every, run, err);
}
