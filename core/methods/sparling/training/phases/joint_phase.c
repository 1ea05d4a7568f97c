/* The phases in which g and the head train together (PHASE_JOINT, PHASE_FALLING_RATE): decides when a stage of the
 * annealing ends and, with `patience`, when the run ends by itself.
 *
 * With `patience`, training at the last density continues at the full learning rate as long as the validation loss or
 * the accuracy improves. When neither improves any more, or when the accuracy reaches its target, the learning rate
 * begins to fall. The length of the fall is a fixed share of the number of samples since g trained alone. After the
 * fall, the training of g ends. The fall begins early enough to end at the sample limit (head_phase_limit()). */
#include "core/methods/sparling/training/phases/joint_phase.h"

#include <math.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/reinitialise.h"

/* Goes back to an earlier stage if the model reads labels clearly worse at the last density. This happens if labels
 * depend on patterns with many active positions, such as a texture.
 *
 * The run compares the accuracy at the end of each earlier stage with the best accuracy at the last density, all at the
 * full learning rate. If an earlier stage was clearly better, the run reads the weights of the best one from its
 * checkpoint before the learning rate begins to fall. It then ends at the density of that stage. */

/* An earlier stage is clearly better if its accuracy is higher by MARGIN and by DEVIATIONS standard deviations of the
 * difference of two validations. */
static const double MARGIN = 0.03, DEVIATIONS = 3;

/* Notes the accuracy of a stage that ends before the last density. */
static void restore_note_stage(struct method_run *run)
{
    struct kept *k = &run->kept;
    if (run->accuracy < k->accuracy)
        return;
    k->accuracy = run->accuracy;
    k->density = run->annealer.density;
}

/* Returns whether the best accuracy of an earlier stage was clearly higher than the accuracy at the last density. */
static bool restore_is_better(const struct method_run *run)
{
    const struct kept *k = &run->kept;
    double now = run->ending.accuracy, mean = (k->accuracy + now) / 2,
           deviation = sqrt(2 * mean * (1 - mean) / (double)run->config.validation_samples);
    return !k->restored && k->density > 0 && run->env.checkpoints.count &&
           k->accuracy > now + fmax(MARGIN, DEVIATIONS * deviation);
}

/* Declares the entries of a checkpoint from which a stage is restored: weights, optimiser and thresholds. */
static enum status declare_weights(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct method_run *run = owner;
    enum status status = params_snapshot(run->network->params, snapshot, err);
    if (!status)
        status = adam_snapshot(run->adam, snapshot, err);
    return status ? status : sparse_snapshot(run->network->sparse, snapshot, err);
}

/* Finds the newest checkpoint at the end of a stage with this density. *at is *count if there is none. */
static enum status find_checkpoint(struct method_run *run, double density, size_t *at, size_t *count, struct error *err)
{
    const struct method_checkpoints *list = &run->env.checkpoints;
    enum status status = list->count(list->context, count, err);
    *at = *count;
    for (size_t i = 0; !status && i < *count; i++) {
        struct method_checkpoint stage;
        status = list->describe(list->context, i, &stage, err);
        if (!status && stage.stage_end && stage.density == density)
            *at = i;
    }
    return status;
}

/* Reads the weights of the best earlier stage from its checkpoint, and sets the run's last density to that of this
 * stage. Errors are those of reading checkpoints. */
static enum status restore_stage(struct method_run *run, struct error *err)
{
    const struct method_checkpoints *list = &run->env.checkpoints;
    struct snapshot_reader reader;
    size_t at, count;
    enum status status = find_checkpoint(run, run->kept.density, &at, &count, err);
    if (status || at == count)
        return status; /* without the checkpoint, training ends at the last density */
    status = list->open(list->context, at, &reader, err);
    if (!status)
        status = snapshot_load(declare_weights, run, &reader, SNAPSHOT_ALL, err);
    if (status)
        return status;
    run->kept.restored = 1;
    run->annealer.density = run->kept.density;
    run_metric(run, "restored_density", run->kept.density);
    restore_follow(run);
    return STATUS_OK;
}

void restore_follow(struct method_run *run)
{
    if (run->kept.restored)
        run->rule.density_final = run->kept.density;
}

bool restore_sound(const struct method_run *run)
{
    const struct kept *k = &run->kept;
    return k->accuracy >= 0 && k->accuracy <= 1 && k->density >= 0 && k->density <= 1 &&
           (k->restored == 0 || (k->restored == 1 && k->density > 0));
}

enum status restore_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    if (run->config.patience == 0)
        return STATUS_OK;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("kept.accuracy", &run->kept.accuracy),
                                        SNAPSHOT_NUMBER("kept.density", &run->kept.density),
                                        SNAPSHOT_NUMBER("kept.restored", &run->kept.restored)};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

/* An improvement is a relative decrease of the validation loss by more than GAIN, or an increase of the accuracy by
 * more than RISE. */
static const double GAIN = 0.02, RISE = 0.005;
/* Minimum length of the learning rate's fall, in validations. */
enum { FALL_VALIDATIONS = 4 };

void ending_begin(struct method_run *run)
{
    run->ending = (struct ending){.loss = INFINITY};
}

bool ending_sound(const struct method_run *run)
{
    const struct ending *c = &run->ending;
    return c->flat >= 0 && c->from >= 0 && c->from <= run->samples && c->to >= c->from &&
           (double)c->to <= 2 * CONFIG_INT_MAX;
}

/* Returns over how many samples the learning rate would fall if the fall began now. The fall ends at a validation. */
static int64_t length_of_fall(const struct method_run *run)
{
    int64_t every = run->config.validation_every;
    double trained = (double)(run->samples - run->presence.ended_samples);
    int64_t validations = (int64_t)ceil(SPARLING_FALL * trained / (double)every);
    return every * (validations > FALL_VALIDATIONS ? validations : FALL_VALIDATIONS);
}

/* Updates the annealing of the density. *ended: whether the stage has ended. */
static enum status update_annealing(struct method_run *run, double loss, bool *ended, struct error *err)
{
    run->reinitialise_due =
        sparling_reinitialises(&run->config) && run->annealer.density < run->config.reinitialise_below;
    return annealer_update(&run->annealer, &run->rule, run->samples, run->accuracy, loss, run_spare(run), ended, err);
}

/* Returns whether the learning rate must begin to fall. reached: the accuracy is above its target. */
static bool must_fall(struct method_run *run, double loss, bool reached)
{
    struct ending *c = &run->ending;
    bool better = loss < c->loss * (1 - GAIN) || run->accuracy > c->accuracy + RISE;
    c->flat = better ? 0 : c->flat + 1;
    if (better) {
        c->loss = fmin(c->loss, loss);
        c->accuracy = fmax(c->accuracy, run->accuracy);
    }
    return reached || c->flat >= run->config.patience || run->samples + length_of_fall(run) >= head_phase_limit(run);
}

static enum status validated_joint(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    enum status status = update_annealing(run, v->loss, &v->stage_ended, err);
    if (status)
        return status;
    if (run->config.patience == 0 || !annealer_at_least(&run->annealer, &run->rule)) {
        if (v->stage_ended)
            restore_note_stage(run);
        return STATUS_OK;
    }
    v->advance = must_fall(run, v->loss, v->stage_ended);
    run->annealer.pending = v->stage_ended = false; /* the last stage ends with the next phase */
    return STATUS_OK;
}

static enum status begin_fall(struct method_run *run, struct error *err)
{
    run->ending.from = run->samples;
    run->ending.to = run->samples + length_of_fall(run);
    return restore_is_better(run) ? restore_stage(run, err) : STATUS_OK;
}

static enum status validated_fall(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    enum status status = update_annealing(run, v->loss, &v->stage_ended, err);
    if (status)
        return status;
    run->annealer.pending = v->stage_ended = run->samples >= run->ending.to;
    return STATUS_OK;
}

/* The schedule begins with the training of the head. */
static void joint_span(const struct method_run *run, int64_t *from, int64_t *to)
{
    *from = run->presence.ended_samples;
    *to = run->config.total_samples;
}

static void fall_span(const struct method_run *run, int64_t *from, int64_t *to)
{
    *from = run->ending.from;
    *to = run->ending.to;
}

const struct phase_rule single_motifs_rule = {.span = joint_span},
                        joint_rule = {.validated = validated_joint, .span = joint_span},
                        falling_rate_rule = {.begin = begin_fall, .validated = validated_fall, .span = fall_span};

enum status ending_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct ending *c = &run->ending;
    if (run->config.patience == 0)
        return STATUS_OK;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("ending.loss", &c->loss), SNAPSHOT_NUMBER("ending.accuracy", &c->accuracy),
        SNAPSHOT_NUMBER("ending.flat", &c->flat), SNAPSHOT_NUMBER("ending.from", &c->from),
        SNAPSHOT_NUMBER("ending.to", &c->to),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
