/* Goes back to an earlier stage if the model reads labels clearly worse at the last density. This happens if labels
 * depend on patterns with many active positions, such as a texture.
 *
 * The run compares the accuracy at the end of each earlier stage with the best accuracy at the last density, all at the
 * full learning rate. If an earlier stage was clearly better, the run reads the weights of the best one from its
 * checkpoint before the learning rate begins to fall. It then ends at the density of that stage. */
#include <math.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/phases/restore_stage.h"

/* An earlier stage is clearly better if its accuracy is higher by MARGIN and by DEVIATIONS standard deviations of the
 * difference of two validations. */
static const double MARGIN = 0.03, DEVIATIONS = 3;

void restore_note_stage(struct method_run *run)
{
    struct kept *k = &run->kept;
    if (run->accuracy < k->accuracy)
        return;
    k->accuracy = run->accuracy;
    k->density = run->annealer.density;
}

bool restore_is_better(const struct method_run *run)
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

enum status restore_stage(struct method_run *run, struct error *err)
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
