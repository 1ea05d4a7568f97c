/* The phase in which g trains alone (PHASE_MOTIFS). It ends when the loss of g's own objective on the validation set no
 * longer falls. It ends at the latest after presence_samples samples, or after half of the samples that remained when
 * it began, whichever is less. */
#include <math.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/grow.h"
#include "core/methods/sparling/training/phases/motif_phase.h"

/* A loss is better if it is lower than the best one by more than this share. */
static const double GAIN = 0.01;
/* Factor by which the phase waits longer while there are names that g does not read. */
enum { UNREAD_PATIENCE = 2 };

enum status motif_phase_validated(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    struct presence_phase *p = &run->presence;
    const struct sparling_config *c = &run->config;
    int64_t patience = c->presence_validations * (v->own_unread > 0 ? UNREAD_PATIENCE : 1);
    if (v->own_unread >= 0)
        run_metric(run, "presence_unread", v->own_unread);
    p->flat = v->own_better || v->own_loss < p->best * (1 - GAIN) ? 0 : p->flat + 1;
    if (p->flat == 0)
        p->best = fmin(p->best, v->own_loss);
    int64_t began = run->starts.samples, half = (c->total_samples - began) / 2,
            most = c->presence_samples < half ? c->presence_samples : half;
    if ((patience > 0 && p->flat >= patience && !grow_on_trial(run)) || run->samples - began >= most) {
        v->advance++;
        return STATUS_OK;
    }
    int64_t before = run->reinitialisation.count;
    enum status status = run->head->search ? run->head->search(run, err) : STATUS_OK;
    if (run->reinitialisation.count > before)
        average_restart(run);
    return status;
}

/* The schedule and the warm-up of the learning rate begin again, because the head begins to train. */
static void end_motif_phase(struct method_run *run)
{
    run->presence.ended_updates = run->updates;
    run->presence.ended_samples = run->samples;
    run->annealer.updated = run->samples;
    run->stage_updates = 0;
}

const struct phase_rule motif_rule = {.validated = motif_phase_validated, .end = end_motif_phase};

enum status motif_phase_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct presence_phase *p = &run->presence;
    if (!sparling_guided(&run->config))
        return STATUS_OK;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("presence.flat", &p->flat),
        SNAPSHOT_NUMBER("presence.ended_updates", &p->ended_updates),
        SNAPSHOT_NUMBER("presence.ended_samples", &p->ended_samples),
        SNAPSHOT_NUMBER("presence.turns", &p->turns),
        SNAPSHOT_NUMBER("presence.best", &p->best),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
