/* Decides when the first phase ends, in which g trains alone. It ends when the loss of g's own objective on the
 * validation set no longer falls. It ends at the latest after presence_samples samples, or after half of the samples
 * that remained when it began, whichever is less. */
#include <math.h>

#include "core/methods/sparling/run_int.h"

/* A loss is better if it is lower than the best one by more than this share. */
static const double GAIN = 0.01;

static void end_alone(struct method_run *run)
{
    run->presence.alone = 0;
    run->presence.ended_updates = run->updates;
    run->presence.ended_samples = run->samples;
    run->annealer.updated = run->samples;
    run->stage_updates = 0;
}

bool alone_ends(struct method_run *run, double loss, bool better, int64_t patience)
{
    struct presence_phase *p = &run->presence;
    const struct sparling_config *c = &run->config;
    p->flat = better || loss < p->best * (1 - GAIN) ? 0 : p->flat + 1;
    if (p->flat == 0)
        p->best = fmin(p->best, loss);
    int64_t began = run->starts.samples, half = (c->total_samples - began) / 2,
            most = c->presence_samples < half ? c->presence_samples : half;
    bool ends = (patience > 0 && p->flat >= patience) || run->samples - began >= most;
    if (ends)
        end_alone(run);
    return ends;
}

enum status alone_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct presence_phase *p = &run->presence;
    if (!sparling_guided(&run->config))
        return STATUS_OK;
    enum status status = snapshot_add_i64(snapshot, "presence.alone", &p->alone, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "presence.flat", &p->flat, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "presence.ended_updates", &p->ended_updates, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "presence.ended_samples", &p->ended_samples, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "presence.turns", &p->turns, err);
    return status ? status : snapshot_add_f64(snapshot, "presence.best", &p->best, err);
}
