/* The course of a run: which case, which phase, what a step does in it. */
#include "core/methods/superposition/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/course.h"
#include "core/methods/superposition/run_int.h"

static void begin_case(struct method_run *run)
{
    run->phase = run->cases[run->at].model == MODEL_TRAINED ? PHASE_TRAIN : PHASE_EVALUATE;
    run->updates = run->samples = run->draw = 0;
    run->position = 0;
    run->sum = run->squares = run->loss_sum = 0;
}

static enum status plan(struct method_run *r, struct error *err)
{
    const struct superposition_config *c = &r->config;
    struct superposition_case *cases = malloc(SUPERPOSITION_CASES * sizeof *cases);
    r->count = cases ? superposition_cases(c, cases) : 0;
    if (r->count < 1 || r->count > SUPERPOSITION_CASES) {
        free(cases);
        return error_set(err, cases ? STATUS_INVALID : STATUS_NO_MEMORY, NULL, "no list of cases");
    }
    struct superposition_case *fit = realloc(cases, (size_t)r->count * sizeof *fit);
    r->cases = fit ? fit : cases;
    r->outcomes = calloc((size_t)r->count, sizeof *r->outcomes);
    r->flops = calloc((size_t)r->count, sizeof *r->flops);
    r->losses = calloc(2 * (size_t)c->window, sizeof *r->losses);
    if (!r->outcomes || !r->flops || !r->losses)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %d cases", r->count);
    for (int i = 0; i < r->count; i++) {
        double draws = r->cases[i].model == MODEL_RUG ? (double)c->draws : 1;
        double samples =
            r->cases[i].model == MODEL_TRAINED ? (double)c->total_samples : (double)c->test_samples * draws;
        r->flops[i] = samples * superposition_flops(c, &r->cases[i]);
        r->total_flops += r->flops[i];
    }
    return STATUS_OK;
}

enum status superposition_create(const void *config, const struct method_env *env, struct method_run **run,
                                 struct error *err)
{
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a run");
    r->config = *(const struct superposition_config *)config;
    r->env = *env;
    r->opened = r->opened_draw = -1;
    arena_init(&r->arena, (size_t)1 << 16, 0);
    exec_init(&r->exec, env->kernels, env->pool, &r->arena, (uint64_t)r->config.seed);
    enum status status = plan(r, err);
    if (status) {
        superposition_destroy(r);
        return status;
    }
    r->evaluation_seed = r->config.seed;
    r->evaluation_samples = r->config.test_samples;
    begin_case(r);
    *run = r;
    return STATUS_OK;
}

void superposition_destroy(struct method_run *run)
{
    if (!run)
        return;
    work_close(run);
    arena_close(&run->arena);
    free(run->cases);
    free(run->outcomes);
    free(run->flops);
    free(run->losses);
    free(run);
}

void superposition_metric(const struct method_run *run, const char *name, double value)
{
    if (run->env.metric && isfinite(value))
        run->env.metric(run->env.context, name, run->seen, value);
}

/* The loss of one draw goes into its case's mean and range. */
static void take_loss(struct method_run *run)
{
    struct outcome *o = &run->outcomes[run->at];
    double n = (double)run->evaluation_samples, loss = run->sum / n;
    double variance = n > 1 ? fmax(run->squares / n - loss * loss, 0) / (n - 1) : 0;
    double before = run->alone ? 0 : (double)run->draw;
    o->low = before > 0 ? fmin(o->low, loss) : loss;
    o->high = before > 0 ? fmax(o->high, loss) : loss;
    o->loss = before > 0 ? o->loss + (loss - o->loss) / (before + 1) : loss;
    o->error =
        before > 0 ? o->error : sqrt(variance); /* draws share their samples, so more of them help no further */
}

static enum status take_statistics(struct method_run *run, struct error *err)
{
    const struct superposition_case *c = &run->cases[run->at];
    struct outcome *o = &run->outcomes[run->at];
    uint64_t seed = (uint64_t)run->config.seed;
    if (c->model != MODEL_TRAINED)
        return statistics_rug(&run->rug, run->env.pool, run->env.kernels, c->p, run->scale, run->offset, seed,
                              &o->statistics, err);
    if (!run->alone) {
        o->updates = (double)run->updates;
        o->samples = (double)run->samples;
        o->train_loss = work_window_loss(run);
    }
    o->active = batch_active(run->batch);
    return statistics_model(run->model, run->env.pool, run->env.kernels, c->p, seed, &o->statistics, err);
}

static enum status end_case(struct method_run *run, struct error *err)
{
    const struct superposition_case *c = &run->cases[run->at];
    take_loss(run);
    run->position = 0;
    run->sum = run->squares = 0;
    if (c->model == MODEL_RUG && !run->alone && run->draw + 1 < run->config.draws) {
        run->draw++;
        return STATUS_OK;
    }
    enum status status = take_statistics(run, err);
    if (status)
        return status;
    const struct outcome *o = &run->outcomes[run->at];
    superposition_metric(run, "test_loss", o->loss);
    superposition_metric(run, "analytic_loss", case_predicted(c));
    superposition_metric(run, "diagonal_mean", o->statistics.kept_diagonal_mean);
    superposition_metric(run, "bias_mean", o->statistics.kept_bias_mean);
    superposition_metric(run, "dropped", o->statistics.dropped);
    if (!run->alone && run->at + 1 < run->count) {
        run->at++;
        begin_case(run);
        return STATUS_OK;
    }
    run->phase = PHASE_DONE;
    return plots_write(run, err);
}

/* One update or one piece of an evaluation. */
static enum status work(struct method_run *run, struct error *err)
{
    bool done;
    enum status status = STATUS_OK;
    if (run->opened != run->at || run->opened_draw != run->draw)
        status = work_open(run, (int)run->at, (int)run->draw, err);
    if (status)
        return status;
    if (run->phase == PHASE_TRAIN && work_trained(run))
        run->phase = PHASE_EVALUATE;
    if (run->phase == PHASE_TRAIN)
        return work_update(run, err);
    status = work_evaluate(run, &done, err);
    return status || !done ? status : end_case(run, err);
}

enum status superposition_step(struct method_run *run, enum method_wish *wish, struct error *err)
{
    const struct course course = {work, &run->env, &run->seen, run->config.checkpoint_every, &run->phase, PHASE_DONE};
    return course_step(&course, run, wish, err);
}

enum status superposition_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                           struct error *err)
{
    run->phase = PHASE_EVALUATE;
    run->alone = 1;
    run->draw = run->opened_draw < 0 ? 0 : run->opened_draw;
    run->evaluation_seed = what->seed;
    run->evaluation_samples = what->samples;
    run->position = 0;
    run->sum = run->squares = 0;
    return STATUS_OK;
}

void superposition_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    double done = 0, part = 0;
    for (int64_t i = 0; i < run->at; i++)
        done += run->flops[i];
    if (run->phase == PHASE_TRAIN)
        part = 0.99 * (double)run->samples / (double)run->config.total_samples;
    else if (run->cases[run->at].model == MODEL_TRAINED)
        part = 0.99 + 0.01 * (double)run->position / (double)run->evaluation_samples;
    else
        part =
            ((double)run->draw + (double)run->position / (double)run->evaluation_samples) / (double)run->config.draws;
    double fraction = run->total_flops > 0 ? (done + fmin(part, 1) * run->flops[run->at]) / run->total_flops : 0;
    if (run->alone)
        fraction = (double)run->position / (double)run->evaluation_samples;
    if (run->phase == PHASE_DONE)
        fraction = 1;
    course_progress(fraction, run->work, run->seen, stages[run->phase], out);
}
