/* The course of a run: which case, which phase, what a step does in it. */
#include "core/methods/environments/run.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/course.h"
#include "core/methods/environments/run_int.h"

static void begin_case(struct method_run *run)
{
    run->phase = PHASE_TRAIN;
    run->chosen = -1;
    run->objective = run->worst = NAN;
}

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
    begin_case(r);
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
        begin_case(run);
        return STATUS_OK;
    }
    run->phase = PHASE_DONE;
    return environments_plots(run, err);
}

/* One update of every fit, or the evaluation of a case. */
static enum status work(struct method_run *run, struct error *err)
{
    enum status status = run->opened == run->at ? STATUS_OK : tree_case_open(run, (int)run->at, err);
    if (status)
        return status;
    if (run->phase == PHASE_TRAIN && tree_case_trained(run))
        run->phase = PHASE_EVALUATE;
    return run->phase == PHASE_TRAIN ? tree_case_update(run, err) : end_case(run, err);
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

/* Share of the open case's work that is done, in updates of its restarts. */
static double part_done(const struct method_run *run)
{
    if (run->opened != run->at || run->fit_count == 0)
        return 0;
    const struct tree_fit *f = run->fits[0];
    double all = (double)f->model->setup.updates, screen = (double)run->config.screen_updates,
           others = (double)(run->config.restarts - 1) * (screen > 0 ? fmin(screen, all) : all);
    double done = (double)f->updates, more = run->chosen < 0 ? done * (double)(run->config.restarts - 1) : others;
    return (done + more) / (all + others);
}

void environments_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    double fraction = run->phase == PHASE_DONE ? 1 : ((double)run->at + fmin(part_done(run), 1)) / run->count;
    course_progress(fraction, run->work, run->seen, stages[run->phase], out);
}
