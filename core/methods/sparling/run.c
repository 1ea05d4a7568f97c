/* Creating, stepping and destroying a SPARLING run: the functions behind struct method (core/methods/method.h).
 *
 * The phases of a run are in phases.c. */
#include "core/methods/sparling/run.h"

#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/error_rate/measure.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/phases.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/presence.h"

/* Time of a step in seconds. It is so short that a pause takes effect at once, and long compared with the overhead of a
 * step. A step does at least one update, or one piece of a validation or evaluation, so a slow update or piece makes
 * the step longer. */
static const double STEP_SECONDS = 0.15;

enum { PIECE_SAMPLES = 16, ARENA_BLOCK = 16 << 20 };

static struct annealer_rule rule_of(const struct sparling_config *c)
{
    return (struct annealer_rule){
        .factor = c->density_factor,
        .density_final = c->density_final,
        .target_min = c->target_min,
        .target_max = c->target_max,
        .decay = c->target_decay,
        .spacing = c->minimal_spacing,
        .plateau_validations = c->plateau_validations,
        .wait = sparling_reinitialises(c) ? c->reinitialise_wait : 0,
        .plateau_gain = c->plateau_gain,
        .plateau_density = c->plateau_density,
    };
}

/* Returns the time after which a step ends. 0: each step does one update, or one piece of a validation or evaluation.
 * Ranks that share a batch must end their steps together, so they cannot use their clocks. */
static double step_seconds(const struct method_run *run)
{
    double limit = run->env.step_seconds;
    if (comm_size(run->env.comm) == 1)
        return limit > 0 ? limit : STEP_SECONDS;
    return 0;
}

static enum status check_ranks(const struct method_run *run, struct error *err)
{
    int ranks = comm_size(run->env.comm);
    if (ranks <= run->config.batch)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "/config/batch",
                     "must be at least the number of ranks (%d), because each rank takes part of the batch; got %lld",
                     ranks, (long long)run->config.batch);
}

static enum status open_data(struct method_run *run, struct error *err)
{
    const struct domain *domain = domain_of(&run->config);
    enum status status = domain_open(&run->config, run->env.data, &run->domain, err);
    if (status)
        return status;
    if (domain->digest)
        status = domain->digest(run->domain.state, run->data, err);
    if (status)
        return status;
    memcpy(run->trained_on, run->data, sizeof run->data);
    if (domain->single)
        run->single = domain_single(&run->config, &run->domain);
    run->head = head_of(&run->domain.shape);
    return numbers_open(run, err);
}

/* Allocates the tables of an evaluation. Their sizes depend on the configuration and the domain. */
static enum status allocate_tables(struct method_run *run, struct error *err)
{
    const struct sparling_config *c = &run->config;
    const struct domain_shape *shape = &run->domain.shape;
    struct evaluation *e = &run->evaluation;
    bool complete = true;
    e->channels = calloc((size_t)c->channels_motif, sizeof *e->channels);
    complete &= e->channels != NULL;
    if (shape->positions) {
        e->topk = calloc((size_t)shape->tokens - 1, sizeof *e->topk);
        complete &= e->topk != NULL;
    }
    if (!complete)
        return error_memory(err, "a run");
    enum status status = evidence_open(run, err);
    if (status)
        return status;
    status = extents_open(run, err);
    if (!status)
        status = negatives_open(&e->negatives, (int)c->channels_motif, err);
    if (!status)
        status = reference_figures_open(run, err);
    if (!status)
        status = marked_evidence_open(run, err);
    if (status)
        return status;
    return motif_errors_init(&e->errors, shape->symbols, (int)c->channels_motif, sparling_geometry(c).reach, err);
}

/* Opens everything that can fail. After a failure sparling_destroy() frees what was opened. */
static enum status open_run(struct method_run *run, struct error *err)
{
    enum status status = check_ranks(run, err);
    if (status)
        return status;
    status = open_data(run, err);
    if (status)
        return status;
    status = presence_open(run, err);
    if (status)
        return status;
    status = run_begin(run, err);
    if (status)
        return status;
    status = selection_open(run, err);
    if (status)
        return status;
    status = batch_source_create(run->direct ? &run->single : &run->domain, (int)run->config.batch, &run->source, err);
    if (status)
        return status;
    return allocate_tables(run, err);
}

enum status sparling_create(const void *config, const struct method_env *env, struct method_run **run,
                            struct error *err)
{
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *(const struct sparling_config *)config;
    r->env = *env;
    r->rule = rule_of(&r->config);
    plan_build(&r->config, &r->plan);
    r->direct = r->config.objective == OBJECTIVE_SINGLE_MOTIFS;
    r->piece = r->config.batch < PIECE_SAMPLES ? (int)r->config.batch : PIECE_SAMPLES;
    r->step_seconds = step_seconds(r);
    r->evaluation.loaded = -1;
    arena_init(&r->arena, ARENA_BLOCK, 0);
    enum status status = open_run(r, err);
    if (status) {
        sparling_destroy(r);
        return status;
    }
    *run = r;
    return STATUS_OK;
}

void sparling_destroy(struct method_run *run)
{
    if (!run)
        return;
    network_destroy(run->evaluation.other);
    analysis_clear(run);
    motif_errors_close(&run->evaluation.errors);
    chance_drop(&run->evaluation);
    marked_evidence_close(&run->evaluation.marked);
    reference_pass_drop(&run->evaluation);
    reference_figures_close(&run->evaluation.reference);
    evidence_close(&run->evaluation.evidence);
    extents_close(&run->evaluation.extents);
    negatives_drop(run);
    negatives_close(&run->evaluation.negatives);
    free(run->evaluation.topk);
    numbers_close(&run->numbers);
    free(run->evaluation.channels);
    batch_source_destroy(run->source);
    calibration_drop(run);
    head_phase_drop(run);
    presence_close(run);
    selection_close(run);
    average_close(run);
    domain_close(&run->domain);
    adam_destroy(run->adam);
    network_destroy(run->network);
    arena_close(&run->arena);
    free(run);
}

enum status sparling_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    run->activity = ACTIVITY_EVALUATE;
    run->at = plan_find(&run->plan, PHASE_EVALUATION);
    return evaluation_begin(run, what->seed, what->samples, what->samples, false, err);
}
