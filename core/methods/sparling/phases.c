/* Carries out the plan of a training (training/plan.h).
 *
 * sparling_step() does pieces of the present phase until the step's time is over or the executor must act. After a
 * validation, the rule of the phase decides whether the stage or the phase has ended. If a stage has ended, the step
 * ends and requests a checkpoint. The next step multiplies the density or, after the last stage, ends the training of
 * g. In this order, the checkpoint contains the model of the stage that ended.
 */
#include <math.h>

#include "core/methods/sparling/evaluation/artifacts.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/model/coherence.h"
#include "core/methods/sparling/phases.h"
#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/compare_starts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/initialise.h"
#include "core/methods/sparling/training/phases/joint_phase.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/reinitialise.h"
#include "core/methods/sparling/training/train.h"

/* Begins the phase in the row `at`. */
static enum status begin_phase(struct method_run *run, int64_t at, struct error *err)
{
    const struct phase_rule *rule = run->plan.row[at].rule;
    run->at = at;
    run->activity = rule->activity;
    run_metric(run, "phase", (double)(at + 1));
    selection_begin(run);
    enum status status = rule->begin ? rule->begin(run, err) : STATUS_OK;
    average_restart(run);
    return status;
}

/* Ends the present phase and begins the next one, `rows` times. */
static enum status advance_plan(struct method_run *run, int rows, struct error *err)
{
    enum status status = STATUS_OK;
    average_show(run);
    for (; rows > 0 && !status; rows--) {
        const struct phase_rule *rule = plan_now(run)->rule;
        selection_end(run);
        if (rule->end)
            rule->end(run);
        status = begin_phase(run, run->at + 1, err);
    }
    return status;
}

enum status run_begin(struct method_run *r, struct error *err)
{
    const struct sparling_config *c = &r->config;
    r->at = 0;
    r->activity = plan_now(r)->rule->activity;
    r->updates = r->samples = r->checkpoint_due = r->loss_count = 0;
    r->loss_sum = r->norm_sum = r->best_accuracy = 0;
    r->accuracy = NAN;
    starts_begin(r);
    selection_begin(r);
    ending_begin(r);
    r->kept = (struct kept){0};
    head_phase_clear(r);
    calibration_drop(r);
    r->calibration.position = 0;
    r->reinitialisation = (struct reinitialisation){0};
    r->reinitialise_due = 0;
    r->evaluation.evidence.sums.validations = 0;
    exec_init(&r->exec, r->env.kernels, r->env.pool, &r->arena, (uint64_t)c->seed);
    r->exec.bf16 = c->precision == PRECISION_BF16;
    return run_initialise(r, err);
}

/* Whether the last update brought the sample count to, or past, a multiple of `every`. */
static bool has_crossed(const struct method_run *run, int64_t every)
{
    return run->samples / every != (run->samples - run->config.batch) / every;
}

static enum status train_batch(struct method_run *run, enum method_request *request, struct error *err)
{
    enum status status = run_update(run, err);
    if (status)
        return status;
    run->checkpoint_due |= has_crossed(run, run->config.checkpoint_every);
    if (has_crossed(run, run->config.validation_every)) {
        run->activity = ACTIVITY_VALIDATE;
        run->validation_position = run->validation_correct = run->validation_counted = 0;
        run->validation_loss = 0;
        presence_clear(run);
        motif_errors_clear(&run->evaluation.errors);
        run->head->clear(run);
    } else if (run->checkpoint_due) {
        run->checkpoint_due = 0;
        *request = METHOD_CHECKPOINT;
    }
    return STATUS_OK;
}

/* Lets the rule of the phase decide, at the end of a validation, whether the phase or the stage has ended. */
static enum status decide_phase(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    const struct phase *now = plan_now(run);
    if (now->objectives & OBJECTIVE_OF_G)
        run->head->measure(run, v);
    selection_validated(run, v);
    enum status status = now->rule->validated ? now->rule->validated(run, v, err) : STATUS_OK;
    if (!status)
        status = advance_plan(run, v->advance, err);
    if (!status)
        run_metric(run, "target_accuracy", run->annealer.target);
    return status;
}

/* Publishes the accuracy and the loss of the head's answers in a validation. */
static void keep_accuracy(struct method_run *run, double loss)
{
    bool direct = plan_now(run)->objectives & OBJECTIVE_OF_ONE_MOTIF;
    run->accuracy =
        direct ? (double)run->validation_correct / (double)run->config.validation_samples : run->head->accuracy(run);
    run->best_accuracy = fmax(run->best_accuracy, run->accuracy);
    evidence_validated(run, loss);
    run_metric(run, "accuracy", run->accuracy);
    run_metric(run, "validation_loss", loss);
}

/* Publishes the motif errors of a validation and the coherence of g. */
static enum status publish_motifs(struct method_run *run, struct error *err)
{
    struct motif_report motifs;
    double mean, largest;
    enum status status = motif_errors_report(&run->evaluation.errors, MOTIF_BOXES, &motifs, err);
    if (status)
        return status;
    if (run->domain.shape.boxes > 0) {
        run_metric(run, "fpe", motifs.fpe);
        run_metric(run, "fne", motifs.fne);
        run_metric(run, "ce", run->domain.domain->majority ? motifs.ce_majority : motifs.ce_assignment);
    }
    network_coherence(run->network, run->env.pool, &mean, &largest);
    status = thread_pool_check(run->env.pool, err);
    if (status)
        return status;
    run_metric(run, "coherence", mean);
    run_metric(run, "coherence_max", largest);
    return STATUS_OK;
}

static enum status validate_piece(struct method_run *run, enum method_request *request, struct error *err)
{
    const struct phase *now = plan_now(run);
    bool done;
    enum status status = run_validate(run, &done, err);
    if (status || !done)
        return status;
    struct validation_outcome v = {.loss = run->validation_loss / (double)run->validation_counted, .own_unread = -1};
    run->activity = ACTIVITY_TRAIN;
    if (now->objectives & (OBJECTIVE_OF_LABELS | OBJECTIVE_OF_ONE_MOTIF))
        keep_accuracy(run, v.loss);
    run_metric(run, "phase", (double)(run->at + 1));
    run_metric(run, "density", run->annealer.density);
    if (!(now->objectives & OBJECTIVE_OF_ONE_MOTIF)) {
        status = publish_motifs(run, err);
        if (!status)
            status = decide_phase(run, &v, err);
        if (status)
            return status;
    }
    if (v.stage_ended)
        *request = METHOD_STAGE_END;
    else if (run->checkpoint_due)
        *request = METHOD_CHECKPOINT;
    run->checkpoint_due = 0;
    return STATUS_OK;
}

/* Begins the first phase in which g does not change any more. */
static enum status end_motif_training(struct method_run *run, struct error *err)
{
    int64_t at = run->at;
    while (run->plan.row[at].trains & TRAINS_G)
        at++;
    average_show(run);
    selection_end(run);
    return begin_phase(run, at, err);
}

/* Begins unused channels again. */
static enum status check_channels(struct method_run *run, struct error *err)
{
    int64_t before = run->reinitialisation.count;
    average_show(run);
    enum status status = run_reinitialise(run, err);
    if (run->reinitialisation.count > before)
        average_restart(run);
    return status;
}

/* Called between two updates. If a stage has ended, its checkpoint has been saved by now, so the function starts the
 * next stage. After the last stage, or at the sample limit, it ends the training of g. */
static enum status settle_stage(struct method_run *run, struct error *err)
{
    bool last = annealer_last(&run->annealer, &run->rule);
    if (!(plan_now(run)->trains & TRAINS_G))
        return run->samples < run->reading.to ? STATUS_OK : advance_plan(run, 1, err);
    if (run->annealer.pending)
        run->stage_updates = 0;
    if (!last)
        annealer_advance(&run->annealer, &run->rule);
    if (!last && run->samples < head_phase_limit(run)) {
        bool check = run->reinitialise_due;
        run->reinitialise_due = 0;
        return check ? check_channels(run, err) : STATUS_OK;
    }
    return end_motif_training(run, err);
}

/* Does a piece of a phase without updates. After the last one, begins the next phase or, after the evaluation, writes
 * the artifacts. */
static enum status do_piece(struct method_run *run, struct error *err)
{
    bool done = false;
    enum status status = plan_now(run)->rule->piece(run, &done, err);
    if (status || !done)
        return status;
    if (run->at + 1 < run->plan.count)
        return advance_plan(run, 1, err);
    run->activity = ACTIVITY_DONE;
    run_artifacts(run);
    return STATUS_OK;
}

enum status sparling_step(struct method_run *run, enum method_request *request, struct error *err)
{
    double began = run_clock();
    enum status status = STATUS_OK;
    *request = METHOD_CONTINUE;
    while (!status && *request == METHOD_CONTINUE) {
        if (run->activity == ACTIVITY_TRAIN)
            status = settle_stage(run, err);
        if (status)
            break;
        if (run->activity == ACTIVITY_DONE)
            *request = METHOD_DONE;
        else if (plan_now(run)->rule->piece)
            status = do_piece(run, err);
        else if (run->activity == ACTIVITY_VALIDATE)
            status = validate_piece(run, request, err);
        else
            status = train_batch(run, request, err);
        if (run->activity != ACTIVITY_DONE && run_clock() - began >= run->step_seconds)
            break;
    }
    return status;
}

static const char *name_activity(int64_t activity)
{
    static const char *const stages[] = {"training", "validating", "evaluating", "done", "calibrating"};
    return stages[activity];
}

void sparling_progress(const struct method_run *run, struct method_progress *out)
{
    static const double training = 0.95; /* share of the progress bar that training takes */
    const struct sparling_config *c = &run->config;
    double samples = (double)run->samples, limit = (double)head_phase_limit(run);
    double left = limit - samples + sparling_reading_time(c, sparling_reading(c));
    double before_last = sparling_stages(&run->config) - 1,
           ended = (double)(run->annealer.stage + run->annealer.pending);
    double annealed = before_last > 0 ? SPARLING_ANNEALING * fmin(1, ended / before_last) : 0;
    double part = head_phase_part(run, fmin(1, ended > before_last ? 1 : fmax(samples / limit, annealed)));
    *out = (struct method_progress){
        .step = run->updates,
        .samples = run->samples,
        .fraction = training * part,
        .density = run->annealer.density,
        .target_accuracy = run->annealer.target,
        .accuracy = run->accuracy,
        .eta_samples = part > 0 && ended < before_last ? fmin(left, samples * (1 / part - 1)) : fmax(0, left),
        .stage = name_activity(run->activity),
        .phase = run->activity == ACTIVITY_DONE ? NULL : plan_phase_name(plan_now(run)->name),
    };
    if (head_phase_now(run))
        out->eta_samples = fmax(0, (double)run->reading.to - samples);
    if (run->activity == ACTIVITY_EVALUATE || run->activity == ACTIVITY_DONE) {
        out->fraction = run->activity == ACTIVITY_DONE ? 1 : training + (1 - training) * evaluation_fraction(run);
        out->eta_samples = 0;
    }
}
