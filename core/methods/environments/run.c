/* The course of a run: which case, which phase, what a step does in it. */
#include "core/methods/environments/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/course.h"
#include "core/methods/environments/run_int.h"

static enum status plan(struct method_run *r, struct error *err)
{
    r->count = environments_cases(&r->config, NULL);
    if (r->count < 1 || r->count > ENVIRONMENTS_CASES)
        return error_set(err, STATUS_INVALID, NULL, "no list of cases");
    r->cases = calloc((size_t)r->count, sizeof *r->cases);
    r->outcomes = calloc((size_t)r->count, sizeof *r->outcomes);
    if (!r->cases || !r->outcomes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %d cases", r->count);
    environments_cases(&r->config, r->cases);
    return STATUS_OK;
}

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err)
{
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a run");
    r->config = *(const struct environments_config *)config;
    r->env = *env;
    r->opened = -1;
    enum status status = plan(r, err);
    if (status) {
        environments_destroy(r);
        return status;
    }
    *run = r;
    return STATUS_OK;
}

void environments_destroy(struct method_run *run)
{
    if (!run)
        return;
    tree_case_close(run);
    free(run->cases);
    free(run->outcomes);
    free(run);
}

static void metric(const struct method_run *run, const char *name, double value)
{
    if (run->env.metric && isfinite(value))
        run->env.metric(run->env.context, name, run->seen, value);
}

static enum status end_case(struct method_run *run, struct error *err)
{
    struct outcome *o = &run->outcomes[run->at];
    bool fresh = run->alone && run->evaluation_seed >= 0 && run->own.data == DATA_SIMULATED;
    enum status status = fresh ? tree_case_fresh(run, err) : STATUS_OK;
    if (!status)
        status = tree_case_evaluate(run, o, err);
    if (status)
        return status;
    metric(run, "mcc", o->mcc);
    metric(run, "mse", o->mse);
    metric(run, "mse_unseen", o->mse_unseen);
    metric(run, "changes_found", o->changes_found);
    if (!run->alone && run->at + 1 < run->count) {
        run->at++;
        run->phase = PHASE_TRAIN;
        return STATUS_OK;
    }
    run->phase = PHASE_DONE;
    return environments_plots(run, err);
}

/* One update, or the evaluation of a case. */
static enum status work(struct method_run *run, struct error *err)
{
    enum { EVERY = 20 };
    enum status status = run->opened == run->at ? STATUS_OK : tree_case_open(run, (int)run->at, err);
    if (status)
        return status;
    if (run->phase == PHASE_TRAIN && tree_fit_done(run->fit))
        run->phase = PHASE_EVALUATE;
    if (run->phase != PHASE_TRAIN)
        return end_case(run, err);
    status = tree_fit_update(run->fit, err);
    run->work++;
    run->seen += run->own.batch;
    run->loss_sum += run->fit->last_loss;
    if (run->work % EVERY == 0) {
        metric(run, "loss", run->loss_sum / EVERY);
        metric(run, "nonzero", tree_fit_found(run->fit, 0));
        run->loss_sum = 0;
    }
    return status;
}

enum status environments_step(struct method_run *run, enum method_wish *wish, struct error *err)
{
    const struct course course = {work, &run->env, &run->seen, run->config.checkpoint_every, &run->phase, PHASE_DONE};
    return course_step(&course, run, wish, err);
}

enum status environments_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                          struct error *err)
{
    if (what->samples < 2 || what->samples > 10000000)
        return error_set(err, STATUS_INVALID, "/samples", "must be in [2, 10000000]");
    run->phase = PHASE_EVALUATE;
    run->alone = 1;
    run->evaluation_seed = what->seed;
    run->evaluation_samples = what->samples;
    return STATUS_OK;
}

void environments_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    double part = run->fit ? (double)run->fit->updates / (double)run->fit->model->setup.updates : 0;
    double fraction = run->phase == PHASE_DONE ? 1 : ((double)run->at + fmin(part, 1)) / run->count;
    course_progress(fraction, run->work, run->seen, stages[run->phase], out);
}
