/* The phases of a run: training, validation, evaluation.
 *
 * run_advance() does pieces of the current phase until the step's time is over or the executor must act. After a
 * validation, it decides whether the stage has ended. If so, the step ends and requests a checkpoint. The next step
 * multiplies the density or, after the last stage, ends the training of g. In this order, the checkpoint contains the
 * model of the stage that ended.
 *
 * A study (config.seeds > 1) uses the same functions for the seed that this rank trains (study_distribution.c). */
#include <math.h>

#include "core/methods/sparling/model/coherence.h"
#include "core/methods/sparling/run_int.h"

/* Sets weights, optimiser and annealing to their state at the beginning of the start with index r->starts.now. Keeps
 * the counts of samples and updates. */
static enum status restart(struct method_run *r, struct error *err)
{
    const struct sparling_config *c = &r->config;
    struct sparling_config start = *c;
    struct adam_config adam = ADAM_DEFAULT;
    adam.clip_norm = c->clip_norm;
    adam_destroy(r->adam);
    network_destroy(r->network);
    r->adam = NULL;
    r->network = NULL;
    r->stage_updates = 0;
    start.seed = starts_seed(r);
    annealer_init(&r->annealer, c->density_start, c->target_start, r->samples);
    enum status status = network_create(&start, true, r->env.pool, &r->network, err);
    if (!status) {
        r->network->config.seed = c->seed;
        status = numbers_begin(r, err);
    }
    if (!status)
        status = filters_begin(r, err);
    if (!status) {
        gradients_init(&r->gradients, r->network->params, study_of_many(r) ? NULL : r->env.comm, &r->exec);
        presence_begin(r);
    }
    return status ? status : adam_create(r->network->params, &adam, &r->adam, err);
}

enum status run_begin(struct method_run *r, struct error *err)
{
    const struct sparling_config *c = &r->config;
    r->phase = PHASE_TRAIN;
    r->updates = r->samples = r->checkpoint_due = r->loss_count = 0;
    r->loss_sum = r->norm_sum = r->best_accuracy = 0;
    r->accuracy = NAN;
    starts_begin(r);
    ending_begin(r);
    r->kept = (struct kept){0};
    reading_clear(r);
    calibration_drop(r);
    r->calibration.position = 0;
    r->reinitialisation = (struct reinitialisation){0};
    r->reinitialise_due = 0;
    r->evaluation.evidence.sums.validations = 0;
    exec_init(&r->exec, r->env.kernels, r->env.pool, &r->arena, (uint64_t)c->seed);
    r->exec.bf16 = c->precision == PRECISION_BF16;
    return restart(r, err);
}

/* Whether the last update brought the sample count to, or past, a multiple of `every`. */
static bool crossed(const struct method_run *run, int64_t every)
{
    return run->samples / every != (run->samples - run->config.batch) / every;
}

static enum status train(struct method_run *run, enum method_request *request, struct error *err)
{
    enum status status = run_update(run, err);
    if (status)
        return status;
    run->checkpoint_due |= crossed(run, run->config.checkpoint_every);
    if (crossed(run, run->config.validation_every)) {
        run->phase = PHASE_VALIDATE;
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

/* Decides at the end of a validation whether the first phase or the stage has ended. No stage ends in the first phase,
 * because the head is not trained yet. */
static enum status decide(struct method_run *run, double loss, bool *ended, struct error *err)
{
    bool alone = run->presence.alone;
    *ended = false;
    if (reading_now(run)) {
        run_metric(run, "target_accuracy", run->annealer.target);
        return STATUS_OK;
    }
    enum status status = run->head->guided ? run->head->guided(run, err) : STATUS_OK;
    if (!status && run->starts.due) {
        run->starts.due = false;
        status = restart(run, err);
    }
    if (status)
        return status;
    run->reinitialise_due =
        !alone && sparling_reinitialises(&run->config) && run->annealer.density < run->config.reinitialise_below;
    status = alone ? STATUS_OK
                   : annealer_update(&run->annealer, &run->rule, run->samples, run->accuracy, loss, run_spare(run),
                                     ended, err);
    if (!status && !alone && run->config.patience > 0 && annealer_at_least(&run->annealer, &run->rule)) {
        *ended = ending_validated(run, loss, *ended);
        run->annealer.pending = *ended;
        if (run->ending.from == run->samples && kept_better(run))
            status = kept_restore(run, err);
    } else if (*ended) {
        kept_stage(run);
    }
    if (!status)
        run_metric(run, "target_accuracy", run->annealer.target);
    return status;
}

/* Publishes the accuracy and the loss of the head's answers in a validation. */
static void keep_accuracy(struct method_run *run, double loss)
{
    run->accuracy = run->direct ? (double)run->validation_correct / (double)run->config.validation_samples
                                : run->head->accuracy(run);
    run->best_accuracy = fmax(run->best_accuracy, run->accuracy);
    evidence_validated(run, loss);
    run_metric(run, "accuracy", run->accuracy);
    run_metric(run, "validation_loss", loss);
}

static enum status validate(struct method_run *run, enum method_request *request, struct error *err)
{
    bool done, ended;
    enum status status = run_validate(run, &done, err);
    if (status || !done)
        return status;
    double loss = run->validation_loss / (double)run->validation_counted;
    run->phase = PHASE_TRAIN;
    if (!run->presence.alone)
        keep_accuracy(run, loss);
    run_metric(run, "density", run->annealer.density);
    if (run->direct) { /* the objective single-motifs has no annealing */
        *request = run->checkpoint_due ? METHOD_CHECKPOINT : METHOD_CONTINUE;
        run->checkpoint_due = 0;
        return STATUS_OK;
    }
    struct motif_report motifs;
    status = motif_errors_report(&run->evaluation.errors, MOTIF_BOXES, &motifs, err);
    if (status)
        return status;
    if (run->domain.shape.boxes > 0) {
        run_metric(run, "fpe", motifs.fpe);
        run_metric(run, "fne", motifs.fne);
        run_metric(run, "ce", run->domain.domain->majority ? motifs.ce_majority : motifs.ce_assignment);
    }
    double mean, largest;
    network_coherence(run->network, run->env.pool, &mean, &largest);
    status = thread_pool_check(run->env.pool, err);
    if (status)
        return status;
    run_metric(run, "coherence", mean);
    run_metric(run, "coherence_max", largest);
    status = decide(run, loss, &ended, err);
    if (status)
        return status;
    if (ended)
        *request = METHOD_STAGE_END;
    else if (run->checkpoint_due)
        *request = METHOD_CHECKPOINT;
    run->checkpoint_due = 0;
    return STATUS_OK;
}

static enum status begin_evaluation(struct method_run *run, struct error *err)
{
    /* A study shows the results of earlier densities only for its last seed. */
    bool stages = !study_of_many(run) || run->study.distribution.now == run->config.seeds - 1;
    run->phase = PHASE_EVALUATE;
    run->network->limits = run->network->matrices = true;
    return evaluation_begin(run, TEST_SEED, run->config.motif_samples, run->config.test_samples, stages, err);
}

/* Called when g does not change any more: begins to train the head alone, or begins the evaluation. */
static enum status fix_motifs(struct method_run *run, struct error *err)
{
    if (!reading_begin(run))
        return begin_evaluation(run, err);
    run->phase = PHASE_TRAIN;
    return STATUS_OK;
}

/* Called between two updates. If a stage has ended, its checkpoint has been saved by now, so the function starts the
 * next stage. After the last stage, or at the sample limit, it ends the training of g. */
static enum status settle(struct method_run *run, struct error *err)
{
    bool last = annealer_last(&run->annealer, &run->rule);
    if (reading_now(run))
        return run->samples < run->reading.to ? STATUS_OK : begin_evaluation(run, err);
    if (run->annealer.pending)
        run->stage_updates = 0;
    if (!last)
        annealer_advance(&run->annealer, &run->rule);
    if (!last && run->samples < reading_limit(run)) {
        bool check = run->reinitialise_due;
        run->reinitialise_due = 0;
        return check ? run_reinitialise(run, err) : STATUS_OK;
    }
    run->study.distribution.item_waits = study_of_many(run) && distribution_must_wait(&run->study.distribution);
    if (run->study.distribution.item_waits)
        return STATUS_OK;
    if (!run->config.calibrate)
        return fix_motifs(run, err);
    run->phase = PHASE_CALIBRATE;
    return STATUS_OK;
}

enum status run_finish(struct method_run *run, struct error *err)
{
    (void)err;
    run->phase = PHASE_DONE;
    run_artifacts(run);
    return STATUS_OK;
}

/* Ends an evaluation: writes the artifacts or, in a study, stores the figures of the seed. */
static enum status finish(struct method_run *run, struct error *err)
{
    if (!study_of_many(run))
        return run_finish(run, err);
    study_keep(run);
    return STATUS_OK;
}

enum status run_advance(struct method_run *run, enum method_request *request, struct error *err)
{
    double began = run_clock();
    enum status status = STATUS_OK;
    *request = METHOD_CONTINUE;
    while (!status && *request == METHOD_CONTINUE && !run->study.distribution.item_done) {
        bool done = false;
        if (run->phase == PHASE_TRAIN)
            status = settle(run, err);
        if (status || run->study.distribution.item_waits)
            break;
        switch ((enum run_phase)run->phase) {
        case PHASE_TRAIN:
            status = train(run, request, err);
            break;
        case PHASE_VALIDATE:
            status = validate(run, request, err);
            break;
        case PHASE_CALIBRATE:
            status = calibration_piece(run, &done, err);
            if (!status && done)
                status = fix_motifs(run, err);
            break;
        case PHASE_EVALUATE:
            status = evaluation_piece(run, &done, err);
            if (!status && done)
                status = finish(run, err);
            break;
        case PHASE_DONE:
            *request = METHOD_DONE;
            break;
        }
        if (*request != METHOD_DONE && study_of_many(run) && !distribution_drives(&run->study.distribution))
            *request = METHOD_CONTINUE;
        if (run->phase != PHASE_DONE && run_clock() - began >= run->step_seconds)
            break;
    }
    return status;
}

const char *run_stage(int64_t phase)
{
    static const char *const stages[] = {"training", "validating", "evaluating", "done", "calibrating"};
    return stages[phase];
}

void run_progress(const struct method_run *run, struct method_progress *out)
{
    static const double training = 0.95; /* share of the progress bar that training takes */
    const struct sparling_config *c = &run->config;
    double samples = (double)run->samples, limit = (double)reading_limit(run);
    double left = limit - samples + sparling_reading_time(c, sparling_reading(c));
    double before_last = sparling_stages(&run->config) - 1,
           ended = (double)(run->annealer.stage + run->annealer.pending);
    double annealed = before_last > 0 ? SPARLING_ANNEALING * fmin(1, ended / before_last) : 0;
    double part = reading_part(run, fmin(1, ended > before_last ? 1 : fmax(samples / limit, annealed)));
    *out = (struct method_progress){
        .step = run->updates,
        .samples = run->samples,
        .fraction = training * part,
        .density = run->annealer.density,
        .target_accuracy = run->annealer.target,
        .accuracy = run->accuracy,
        .eta_samples = part > 0 && ended < before_last ? fmin(left, samples * (1 / part - 1)) : fmax(0, left),
        .stage = run_stage(run->phase),
    };
    if (reading_now(run))
        out->eta_samples = fmax(0, (double)run->reading.to - samples);
    if (run->phase == PHASE_EVALUATE || run->phase == PHASE_DONE) {
        out->fraction = run->phase == PHASE_DONE ? 1 : training + (1 - training) * evaluation_fraction(run);
        out->eta_samples = 0;
    }
}
