/* The course of a run: which case, which phase, what a step does in it. */
#include "core/methods/factors/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/course.h"
#include "core/methods/factors/run_int.h"

static void begin_case(struct method_run *run)
{
    run->phase = PHASE_TRAIN;
    run->chosen = -1;
    run->worst = NAN;
}

static enum status plan(struct method_run *r, struct error *err)
{
    r->count = factors_cases(&r->config, NULL);
    if (r->count < 1 || r->count > FACTORS_CASES)
        return error_set(err, STATUS_INVALID, NULL, "no list of cases");
    r->cases = calloc((size_t)r->count, sizeof *r->cases);
    r->outcomes = calloc((size_t)r->count, sizeof *r->outcomes);
    if (!r->cases || !r->outcomes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %d cases", r->count);
    factors_cases(&r->config, r->cases);
    return STATUS_OK;
}

enum status factors_create(const void *config, const struct method_env *env, struct method_run **run,
                           struct error *err)
{
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a run");
    r->config = *(const struct factors_config *)config;
    r->env = *env;
    r->opened = -1;
    enum status status = plan(r, err);
    if (status) {
        factors_destroy(r);
        return status;
    }
    begin_case(r);
    *run = r;
    return STATUS_OK;
}

void factors_destroy(struct method_run *run)
{
    if (!run)
        return;
    case_close(run);
    features_destroy(run->table);
    lda_close(&run->topics);
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
    enum status status = run->alone && run->evaluation_seed >= 0 && !run->table ? case_fresh(run, err) : STATUS_OK;
    if (!status)
        status = evaluate_case(run, o, err);
    if (status)
        return status;
    metric(run, "objective", o->objective);
    metric(run, "mse", o->mse);
    metric(run, "nll", o->nll);
    metric(run, "dci", o->dci);
    metric(run, "recall_at_5", o->recall);
    metric(run, "accuracy", o->accuracy);
    metric(run, "columns_used", o->columns);
    if (!run->alone && run->at + 1 < run->count) {
        run->at++;
        begin_case(run);
        return STATUS_OK;
    }
    run->phase = PHASE_DONE;
    return factors_plots(run, err);
}

/* One update of every fit, or the evaluation of a case. */
static enum status work(struct method_run *run, struct error *err)
{
    enum status status = STATUS_OK;
    if (run->opened != run->at)
        status = case_open(run, (int)run->at, run->chosen >= 0, err);
    if (status)
        return status;
    if (run->phase == PHASE_TRAIN && case_trained(run))
        run->phase = PHASE_EVALUATE;
    return run->phase == PHASE_TRAIN ? case_update(run, err) : end_case(run, err);
}

enum status factors_step(struct method_run *run, enum method_wish *wish, struct error *err)
{
    const struct course course = {work, &run->env, &run->seen, run->config.checkpoint_every, &run->phase, PHASE_DONE};
    return course_step(&course, run, wish, err);
}

enum status factors_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    if (what->samples < 1 || what->samples > 1000000)
        return error_set(err, STATUS_INVALID, "/samples", "must be in [1, 1000000]");
    run->phase = PHASE_EVALUATE;
    run->alone = 1;
    run->evaluation_seed = what->seed;
    run->evaluation_samples = what->samples;
    return STATUS_OK;
}

/* Share of the open case's work that is done, in epochs of its restarts. */
static double part_done(const struct method_run *run)
{
    if (run->opened == run->at && run->nmf)
        return (double)run->nmf->done / (double)run->nmf->setup.iterations;
    if (run->opened != run->at || run->fit_count == 0)
        return 0;
    const struct fit *f = run->fits[0];
    double epochs = (double)f->setup.epochs, screen = (double)run->config.screen_epochs,
           restarts = (double)run->config.restarts;
    double together = screen > 0 ? fmin(screen, epochs) : epochs;
    double done = (double)f->epoch + (double)f->position / run->data.train_count;
    double all = together * restarts + (epochs - together);
    return run->fit_count > 1 ? done * restarts / all : (together * (restarts - 1) + done) / all;
}

void factors_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    double fraction = ((double)run->at + fmin(part_done(run), 1)) / run->count;
    if (run->phase == PHASE_DONE)
        fraction = 1;
    course_progress(fraction, run->work, run->seen, stages[run->phase], out);
}
