/* Declares everything that a SPARLING run saves: weights with statistics and thresholds, the moments of Adam, then the
 * state. Saving and loading use the same declarations. */
#include <string.h>

#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/phases.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/compare_starts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/phases/joint_phase.h"
#include "core/methods/sparling/training/phases/motif_phase.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/phases/restore_stage.h"

struct named_integer {
    const char *name;
    int64_t *at;
};
struct named_real {
    const char *name;
    double *at;
};

static enum status add_progress(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const struct named_integer integers[] = {
        {"run.phase", &run->at},
        {"run.activity", &run->activity},
        {"run.updates", &run->updates},
        {"run.stage_updates", &run->stage_updates},
        {"run.samples", &run->samples},
        {"run.reinitialise_due", &run->reinitialise_due},
        {"run.checkpoint_due", &run->checkpoint_due},
        {"run.loss_count", &run->loss_count},
        {"validation.position", &run->validation_position},
        {"validation.correct", &run->validation_correct},
        {"validation.counted", &run->validation_counted},
    };
    const struct named_real reals[] = {
        {"run.accuracy", &run->accuracy},           {"run.best_accuracy", &run->best_accuracy},
        {"run.loss_sum", &run->loss_sum},           {"run.norm_sum", &run->norm_sum},
        {"validation.loss", &run->validation_loss}, {"reinitialisation.count", &run->reinitialisation.count},
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof integers / sizeof integers[0]; i++)
        status = snapshot_add_i64(snapshot, integers[i].name, integers[i].at, err);
    for (size_t i = 0; !status && i < sizeof reals / sizeof reals[0]; i++)
        status = snapshot_add_f64(snapshot, reals[i].name, reals[i].at, err);
    return status;
}

static enum status add_evaluation(struct evaluation *e, struct snapshot *snapshot, struct error *err)
{
    const struct named_integer integers[] = {
        {"evaluation.rows", &e->rows},
        {"evaluation.at", &e->at},
        {"evaluation.part", &e->part},
        {"evaluation.position", &e->position},
        {"evaluation.seed", &e->seed},
        {"evaluation.exact", &e->exact},
        {"evaluation.samples", &e->errors.samples},
        {"evaluation.motifs", &e->errors.motifs},
        {"evaluation.weaker", &e->errors.weaker},
        {"evaluation.taken", &e->errors.taken},
        {"evaluation.most", &e->errors.most},
        {"evaluation.crowded", &e->errors.crowded},
    };
    const uint64_t shape[2] = {(uint64_t)e->errors.symbols + 1, (uint64_t)e->errors.channels + 1};
    const uint64_t counts[1] = {MOTIF_COUNTS + 1};
    const uint64_t table[2] = {EVALUATION_MAX, EVALUATION_COLUMNS};
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof integers / sizeof integers[0]; i++)
        status = snapshot_add_i64(snapshot, integers[i].name, integers[i].at, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add_f64(snapshot, "evaluation.edit_sum", &e->edit_sum, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "evaluation.boxes", 2, shape, e->errors.boxes, err);
    if (status != STATUS_OK)
        return status;
    status =
        snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "evaluation.windows", 2, shape, e->errors.windows, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "evaluation.lone", 2, shape, e->errors.lone, err);
    if (status != STATUS_OK)
        return status;
    status =
        snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "evaluation.counts", 1, counts, e->errors.counts, err);
    if (status != STATUS_OK)
        return status;
    return snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "evaluation.rows_done", 2, table, e->row, err);
}

/* Declares the entries that only some configurations have. */
static enum status add_extras(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    const uint64_t numbers[1] = {CHANCE_NUMBERS};
    const uint64_t topk[3] = {run->domain.shape.positions ? (uint64_t)run->domain.shape.tokens - 1 : 0, 2, TOPK_STEPS};
    enum status status = STATUS_OK;
    const uint64_t digest[1] = {HASH_BYTES};
    const uint64_t motif_counts[1] = {MOTIF_COUNTS_NUMBERS}, channels[2] = {(uint64_t)run->config.channels_motif, 2};
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "evaluation.motif_counts", 1, motif_counts,
                          &e->motif_counts, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "evaluation.channels", 2, channels, e->channels, err);
    if (status != STATUS_OK)
        return status;
    if (run->domain.domain->digest)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_U8, "run.data", 1, digest, run->trained_on, err);
    if (status != STATUS_OK)
        return status;
    if (e->topk)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "evaluation.topk", 3, topk, e->topk, err);
    if (status != STATUS_OK)
        return status;
    if (run->config.calibrate)
        status = snapshot_add_i64(snapshot, "calibration.position", &run->calibration.position, err);
    if (status != STATUS_OK)
        return status;
    if (run->config.chance_shuffles > 0)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "evaluation.chance", 1, numbers, &e->chance, err);
    if (status != STATUS_OK)
        return status;
    status = evidence_declare(run, snapshot, err);
    return status ? status : extents_declare(run, snapshot, err);
}

static enum status declare_state(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = params_snapshot(run->network->params, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = adam_snapshot(run->adam, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = sparse_snapshot(run->network->sparse, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = annealer_snapshot(&run->annealer, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = add_progress(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    const uint64_t channels[1] = {(uint64_t)run->config.channels_motif};
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "reinitialisation.worthless", 1, channels,
                          run->reinitialisation.worthless, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "reinitialisation.rests", 1, channels,
                          run->reinitialisation.rests, err);
    if (status != STATUS_OK)
        return status;
    status = motif_phase_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = presence_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = numbers_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = starts_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = ending_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = restore_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = head_phase_snapshot(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = add_evaluation(&run->evaluation, snapshot, err);
    if (status != STATUS_OK)
        return status;
    return add_extras(run, snapshot, err);
}

static enum status declare_all(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct method_run *run = owner;
    enum status status = declare_state(run, snapshot, err);
    return status ? status : publish_snapshot(&run->findings, snapshot, err);
}

enum status sparling_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err)
{
    /* A run continues from its checkpoints, so none may contain a weight that is not finite. */
    enum status status = params_check(run->network->params, err);
    return status ? status : snapshot_save(declare_all, run, to, bytes, err);
}

/* Whether a row that is not evaluated yet has possible sample counts and a possible checkpoint number. */
static bool sound_row(const struct evaluation_row *row)
{
    const double most = 1e7;
    return row->motif_samples >= 1 && row->motif_samples <= most && row->test_samples >= 1 &&
           row->test_samples <= most && row->checkpoint >= -1 && row->checkpoint <= CONFIG_INT_MAX;
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

static bool sound_counts(const double *counts, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(counts[i] >= 0 && counts[i] <= 1e15))
            return false;
    return true;
}

static bool sound_motif_counts(const struct method_run *run)
{
    const struct evaluation *e = &run->evaluation;
    return sound_counts((const double *)&e->motif_counts, MOTIF_COUNTS_NUMBERS) &&
           sound_counts((const double *)e->channels, 2 * run->config.channels_motif);
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
            ending_sound(run) && restore_sound(run) && head_phase_sound(run) && starts_sound(run) && numbers_sound(run);
    if (sound && run->activity == ACTIVITY_VALIDATE)
        sound = run->validation_position >= 0 && run->validation_position < 2 * run->config.validation_samples;
    if (sound && run->activity == ACTIVITY_EVALUATE)
        sound = sound_evaluation(run);
    if (sound && run->activity == ACTIVITY_DONE)
        sound = run->evaluation.rows >= 1 && run->evaluation.rows <= EVALUATION_MAX;
    sound = calibration_loaded(run) && sound && sound_motif_counts(run);
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state is inconsistent");
}

static enum status check_and_follow(struct method_run *run, struct error *err)
{
    chance_drop(&run->evaluation);
    head_phase_drop(run);
    enum status status = check_data(run, err);
    if (!status)
        status = check_loaded(run, err);
    run->evaluation.loaded = -1;
    analysis_clear(run);
    if (!status) {
        restore_follow(run);
        presence_densities(run);
    }
    if (run->activity == ACTIVITY_EVALUATE && run->evaluation.part > PART_TEST &&
        run->evaluation.part != PART_EVIDENCE && run->evaluation.part < PART_BOXES)
        run->evaluation.position = 0;
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
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    }
    snapshot_destroy(snapshot);
    return status;
}
