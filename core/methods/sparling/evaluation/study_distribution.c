/* The seeds of a study as work items that are distributed over ranks (core/methods/shared/work_distribution.h). */
#include <math.h>

#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_int.h"

static void pending(const struct method_run *run, int64_t item, struct work_item *out)
{
    const struct sparling_config *c = &run->config;
    *out = (struct work_item){.training = 1,
                              .left = (double)c->total_samples,
                              .weight = 1,
                              .density = c->density_start,
                              .target = c->target_start,
                              .accuracy = NAN};
}

static void describe(const struct method_run *run, struct work_item *out)
{
    struct method_progress own;
    run_progress(run, &own);
    out->stage = (double)run->phase;
    out->training = run->phase != PHASE_EVALUATE && run->phase != PHASE_DONE;
    out->work = (double)own.step;
    out->seen = (double)own.samples;
    out->fraction = own.fraction;
    out->left = own.eta_samples;
    out->density = own.density;
    out->target = own.target_accuracy;
    out->accuracy = own.accuracy;
}

static void prepare(struct method_run *run)
{
    run->study.next_seq = run_last_checkpoint(run);
}

static bool show(struct method_run *run, int64_t item)
{
    run->config.seed = run->study.first + item;
    run->exec.seed = (uint64_t)run->config.seed;
    return true;
}

static enum status begin(struct method_run *run, int64_t item, struct error *err)
{
    run->study.first_seq = run->study.next_seq;
    show(run, item);
    return run_begin(run, err);
}

static size_t outcome(struct method_run *run, int64_t item, int part, void **at)
{
    struct study *s = &run->study;
    *at = part == 0 ? (void *)&s->row[item] : (void *)(s->motifs + item * STUDY_SAMPLES * STUDY_EACH);
    return part == 0 ? sizeof s->row[item] : part == 1 ? sizeof *s->motifs * STUDY_SAMPLES * STUDY_EACH : 0;
}

static void in_step(struct method_run *run)
{
    run->step_seconds = 0;
}
static bool done(const struct method_run *run)
{
    return run->phase == PHASE_DONE;
}

/* A run continues from its checkpoints, so none may contain a weight that is not finite. */
static enum status check(struct method_run *run, struct error *err)
{
    return params_check(run->network->params, err);
}

static enum status declare(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = run_declare(run, snapshot, err);
    return status ? status : snapshot_add_i64(snapshot, "study.first_seq", &run->study.first_seq, err);
}

static enum status share(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct study *s = &run->study;
    const uint64_t rows[2] = {STUDY_MOST, STUDY_COLUMNS},
                   found[3] = {(uint64_t)run->config.seeds, STUDY_SAMPLES, STUDY_EACH};
    enum status status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "study.rows", 2, rows, s->row, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "study.motifs", 3, found, s->motifs, err);
    return status ? status : publish_snapshot(&run->findings, snapshot, err);
}

/* Prepares the network and the optimiser of a seed for loading. */
static enum status ready(struct method_run *run, int64_t item, const struct snapshot_reader *from, struct error *err)
{
    (void)from;
    if (item < 0)
        return STATUS_OK;
    show(run, item);
    return run_begin(run, err);
}

static const struct distribution_table seeds = {
    .noun = "seed",
    .stage = run_stage,
    .pending = pending,
    .describe = describe,
    .prepare = prepare,
    .begin = begin,
    .advance = run_advance,
    .outcome = outcome,
    .in_step = in_step,
    .finish = run_finish,
    .done = done,
    .check = check,
    .declare = declare,
    .share = share,
    .ready = ready,
    .loaded = run_loaded,
    .show = show,
};

enum status study_open(struct method_run *run, struct error *err)
{
    return distribution_open(&run->study.distribution, &seeds, sparling_metrics, SPARLING_METRICS, &run->env,
                             run->env.comm, run->config.seeds, run, err);
}
