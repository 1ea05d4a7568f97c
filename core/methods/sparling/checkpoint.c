/* Declares everything that a SPARLING run saves: weights with statistics and thresholds, the moments of Adam, then the
 * state. Saving and loading use the same declarations. */
#include <string.h>

#include "core/methods/sparling/error_rate/measure.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/training/initialise.h"
#include "core/methods/sparling/phases.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/compare_starts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/phases/joint_phase.h"
#include "core/methods/sparling/training/phases/motif_phase.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/selection.h"

static enum status declare_progress(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const uint64_t channels = (uint64_t)run->config.channels_motif;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("run.phase", &run->at),
        SNAPSHOT_NUMBER("run.activity", &run->activity),
        SNAPSHOT_NUMBER("run.updates", &run->updates),
        SNAPSHOT_NUMBER("run.stage_updates", &run->stage_updates),
        SNAPSHOT_NUMBER("run.samples", &run->samples),
        SNAPSHOT_NUMBER("run.reinitialise_due", &run->reinitialise_due),
        SNAPSHOT_NUMBER("run.checkpoint_due", &run->checkpoint_due),
        SNAPSHOT_NUMBER("run.loss_count", &run->loss_count),
        SNAPSHOT_NUMBER("run.loss_sum", &run->loss_sum),
        SNAPSHOT_NUMBER("run.norm_sum", &run->norm_sum),
        SNAPSHOT_NUMBER("run.accuracy", &run->accuracy),
        SNAPSHOT_NUMBER("run.best_accuracy", &run->best_accuracy),
        SNAPSHOT_ARRAY(run->domain.domain->digest ? "run.data" : NULL, run->trained_on, HASH_BYTES),
        SNAPSHOT_NUMBER("validation.position", &run->validation_position),
        SNAPSHOT_NUMBER("validation.correct", &run->validation_correct),
        SNAPSHOT_NUMBER("validation.counted", &run->validation_counted),
        SNAPSHOT_NUMBER("validation.loss", &run->validation_loss),
        SNAPSHOT_NUMBER("reinitialisation.count", &run->reinitialisation.count),
        SNAPSHOT_ARRAY("reinitialisation.worthless", run->reinitialisation.worthless, channels),
        SNAPSHOT_ARRAY("reinitialisation.rests", run->reinitialisation.rests, channels),
        SNAPSHOT_NUMBER(run->config.calibrate ? "calibration.position" : NULL, &run->calibration.position),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

static enum status declare_evaluation(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    struct motif_errors *m = &e->errors;
    struct motif_counts *c = &e->motif_counts;
    const uint64_t symbols = (uint64_t)m->symbols + 1, columns = (uint64_t)m->channels + 1;
    const uint64_t topk = run->domain.shape.positions ? (uint64_t)run->domain.shape.tokens - 1 : 0;
    const bool chance = run->config.chance_shuffles > 0;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("evaluation.rows", &e->rows),
        SNAPSHOT_NUMBER("evaluation.at", &e->at),
        SNAPSHOT_NUMBER("evaluation.part", &e->part),
        SNAPSHOT_NUMBER("evaluation.position", &e->position),
        SNAPSHOT_NUMBER("evaluation.seed", &e->seed),
        SNAPSHOT_NUMBER("evaluation.exact", &e->exact),
        SNAPSHOT_NUMBER("evaluation.edit_sum", &e->edit_sum),
        SNAPSHOT_NUMBER("evaluation.samples", &m->samples),
        SNAPSHOT_NUMBER("evaluation.motifs", &m->motifs),
        SNAPSHOT_NUMBER("evaluation.weaker", &m->weaker),
        SNAPSHOT_NUMBER("evaluation.taken", &m->taken),
        SNAPSHOT_NUMBER("evaluation.most", &m->most),
        SNAPSHOT_NUMBER("evaluation.crowded", &m->crowded),
        SNAPSHOT_ARRAY("evaluation.boxes", m->boxes, symbols, columns),
        SNAPSHOT_ARRAY("evaluation.windows", m->windows, symbols, columns),
        SNAPSHOT_ARRAY("evaluation.lone", m->lone, symbols, columns),
        SNAPSHOT_ARRAY("evaluation.counts", m->counts, MOTIF_COUNTS + 1),
        SNAPSHOT_COLUMNS("evaluation.row.figures", e->row, EVALUATION_MAX, density, checkpoint),
        SNAPSHOT_COLUMN("evaluation.row.checkpoint", e->row, EVALUATION_MAX, checkpoint),
        SNAPSHOT_COLUMN("evaluation.row.motif_samples", e->row, EVALUATION_MAX, motif_samples),
        SNAPSHOT_COLUMN("evaluation.row.test_samples", e->row, EVALUATION_MAX, test_samples),
        SNAPSHOT_COLUMN("evaluation.row.effective", e->row, EVALUATION_MAX, effective),
        SNAPSHOT_ARRAY("evaluation.tested", e->tested, CLUSTERS),
        SNAPSHOT_ARRAY("evaluation.tested_exact", e->tested_exact, CLUSTERS),
        SNAPSHOT_COLUMNS("evaluation.motif_counts", c, 1, samples, overlap),
        SNAPSHOT_NUMBER("evaluation.overlap", &c->overlap),
        SNAPSHOT_COLUMN("evaluation.channel.motifs", e->channels, run->config.channels_motif, motifs),
        SNAPSHOT_COLUMN("evaluation.channel.inputs", e->channels, run->config.channels_motif, inputs),
        SNAPSHOT_ARRAY(e->topk ? "evaluation.topk" : NULL, (int64_t *)e->topk, topk, 2, TOPK_STEPS),
        SNAPSHOT_COLUMNS(chance ? "evaluation.chance" : NULL, &e->chance, 1, all.mean[0], samples),
        SNAPSHOT_NUMBER(chance ? "evaluation.chance.samples" : NULL, &e->chance.samples),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    if (!status)
        status = evidence_declare(run, snapshot, err);
    if (!status)
        status = reference_figures_declare(run, snapshot, err);
    if (!status)
        status = extents_declare(run, snapshot, err);
    if (!status)
        status = marked_evidence_declare(run, snapshot, err);
    return status ? status : negatives_declare(&e->negatives, snapshot, err);
}

/* Declares what the modules of the training save. */
static enum status declare_modules(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    static enum status (*const modules[])(struct method_run *, struct snapshot *, struct error *) = {
        motif_phase_snapshot, presence_snapshot, numbers_snapshot, starts_snapshot,     selection_snapshot,
        average_snapshot,     ending_snapshot,   restore_snapshot, head_phase_snapshot,
    };
    enum status status = annealer_snapshot(&run->annealer, snapshot, err);
    for (size_t i = 0; !status && i < sizeof modules / sizeof modules[0]; i++)
        status = modules[i](run, snapshot, err);
    return status;
}

static enum status declare_all(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct method_run *run = owner;
    enum status status = params_snapshot(run->network->params, snapshot, err);
    if (!status)
        status = adam_snapshot(run->adam, snapshot, err);
    if (!status)
        status = sparse_snapshot(run->network->sparse, snapshot, err);
    if (!status)
        status = declare_progress(run, snapshot, err);
    if (!status)
        status = declare_modules(run, snapshot, err);
    if (!status)
        status = declare_evaluation(run, snapshot, err);
    return status ? status : publish_snapshot(&run->findings, snapshot, err);
}

enum status sparling_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err)
{
    /* A run continues from its checkpoints, so none may contain a weight that is not finite. */
    average_show(run);
    enum status status = params_check(run->network->params, err);
    return status ? status : snapshot_save(declare_all, run, to, bytes, err);
}

/* Whether a row that is not evaluated yet has possible sample counts and a possible checkpoint number. */
static bool sound_row(const struct evaluation_row *row)
{
    const int64_t most = 10000000;
    return row->motif_samples >= 1 && row->motif_samples <= most && row->test_samples >= 1 &&
           row->test_samples <= most && row->checkpoint >= -1 && (double)row->checkpoint <= CONFIG_INT_MAX;
}

static bool sound_evaluation(const struct method_run *run)
{
    const struct evaluation *e = &run->evaluation;
    if (e->rows < 1 || e->rows > EVALUATION_MAX || e->at < 0 || e->at >= e->rows)
        return false;
    if (e->part < PART_EXTENTS || e->part >= PARTS)
        return false;
    for (int64_t i = 0; i < e->rows; i++)
        if (!sound_row(&e->row[i]))
            return false;
    int64_t samples = evaluation_part_samples(run, e->part);
    return e->position >= 0 && (e->position < samples || (evaluation_collects(e->part) && e->position == samples));
}

static bool sound_motif_counts(const struct method_run *run)
{
    const struct motif_counts *c = &run->evaluation.motif_counts;
    const int64_t counts[] = {c->samples, c->dense, c->motifs,  c->tokens,
                              c->as_many, c->met,   c->meeting, run->reinitialisation.count};
    bool sound = snapshot_counts_sound(counts, sizeof counts / sizeof counts[0]) && c->overlap >= 0 &&
                 snapshot_counts_sound(run->evaluation.tested, CLUSTERS) &&
                 snapshot_counts_sound(run->evaluation.tested_exact, CLUSTERS);
    for (int64_t i = 0; sound && i < run->config.channels_motif; i++)
        sound = snapshot_counts_sound(&run->evaluation.channels[i].motifs, 1) &&
                snapshot_counts_sound(&run->evaluation.channels[i].inputs, 1);
    return sound;
}

/* Refuses a changed data set: the run would continue on other samples, because a sample depends on seed, index and data
 * set. */
static enum status check_data(const struct method_run *run, struct error *err)
{
    return memcmp(run->trained_on, run->data, HASH_BYTES) == 0
               ? STATUS_OK
               : error_set(
                     err, STATUS_CONFLICT, NULL,
                     "the %s data set has changed since the checkpoint was saved; put the same data back or start a "
                     "new job",
                     run->domain.domain->name);
}

/* Whether the run can do what it does in its phase. */
static bool is_phase_sound(const struct method_run *run)
{
    if (run->at < 0 || run->at >= run->plan.count)
        return false;
    int64_t first = plan_now(run)->rule->activity;
    return run->activity == first || (run->activity == ACTIVITY_VALIDATE && first == ACTIVITY_TRAIN) ||
           (run->activity == ACTIVITY_DONE && first == ACTIVITY_EVALUATE);
}

/* A stream may be damaged, so this function checks every value that decides how much memory the run allocates or how
 * long it works. */
static enum status check_loaded(struct method_run *run, struct error *err)
{
    bool sound = is_phase_sound(run) && run->updates >= 0 && run->stage_updates >= 0 && run->samples >= 0 &&
                 (double)run->samples <= CONFIG_INT_MAX && run->annealer.density > 0 && run->annealer.density <= 1;
    const struct presence_phase *presence = &run->presence;
    sound = sound && presence->ended_updates >= 0 && presence->ended_updates <= run->updates &&
            presence->ended_samples >= 0 && presence->ended_samples <= run->samples && presence_sound(run) &&
            ending_sound(run) && restore_sound(run) && head_phase_sound(run) && starts_sound(run) &&
            selection_sound(run) && average_sound(run) && numbers_sound(run);
    if (sound && run->activity == ACTIVITY_VALIDATE)
        sound = run->validation_position >= 0 && run->validation_position < 2 * run->config.validation_samples;
    if (sound && run->activity == ACTIVITY_EVALUATE)
        sound = sound_evaluation(run);
    if (sound && run->activity == ACTIVITY_DONE)
        sound = run->evaluation.rows >= 1 && run->evaluation.rows <= EVALUATION_MAX;
    sound = calibration_loaded(run) && sound && sound_motif_counts(run) &&
            negatives_sound(&run->evaluation.negatives, run->domain.shape.tokens) && marked_evidence_sound(run);
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state is inconsistent");
}

static enum status check_and_follow(struct method_run *run, struct error *err)
{
    chance_drop(&run->evaluation);
    reference_pass_drop(&run->evaluation);
    negatives_drop(run);
    marked_evidence_drop(run);
    head_phase_drop(run);
    enum status status = check_data(run, err);
    if (!status)
        status = check_loaded(run, err);
    run->evaluation.loaded = -1;
    run->average.shown = true;
    analysis_clear(run);
    if (!status) {
        restore_follow(run);
        presence_densities(run);
    }
    if (run->activity == ACTIVITY_EVALUATE && run->evaluation.part > PART_TEST &&
        run->evaluation.part != PART_EVIDENCE && run->evaluation.part != PART_BOXES &&
        run->evaluation.part != PART_NEGATIVES)
        run->evaluation.position = 0;
    if (run->activity == ACTIVITY_EVALUATE && run->evaluation.part == PART_MARKED && reference_pass_samples(run) > 0)
        run->evaluation.part = PART_REFERENCE; /* the second judge is not saved */
    if (!status)
        status = extents_loaded(run, err);
    return status ? status : evidence_loaded(run, err);
}

enum status sparling_load(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    enum status status = snapshot_load(declare_all, run, from, SNAPSHOT_ALL, err);
    return status ? status : check_and_follow(run, err);
}

enum status sparling_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = params_snapshot(run->network->params, snapshot, err);
    if (!status) {
        snapshot_optional(snapshot, "g.matrix."); /* absent from a model without matrix_scores */
        snapshot_optional(snapshot, "input.");    /* absent from a model of generated data */
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    }
    snapshot_destroy(snapshot);
    if (!status) {
        run_scale_inputs(run);
        average_restart(run);
    }
    return status;
}
