/* The last part of a training (reading_samples): only the head trains, on the motif maps of the final motif model.
 *
 * Before this part, the head has read maps of a motif model that changed with every update, and whose thresholds
 * followed the density. Then the calibration has changed the thresholds once more. In this part, g computes maps in
 * the same way as for a client: with its running statistics and final thresholds. It needs no gradients, so a sample
 * takes about a third of the time. The learning rate falls from its full value. */
#include <math.h>

#include "core/methods/sparling/run_int.h"

static int64_t length_of(const struct sparling_config *c)
{
    double most = SPARLING_READING * (double)c->total_samples;
    return (double)c->reading_samples < most ? c->reading_samples : (int64_t)most;
}

int64_t reading_limit(const struct method_run *run)
{
    return run->config.total_samples - length_of(&run->config);
}

bool reading_begin(struct method_run *run)
{
    int64_t length = length_of(&run->config);
    if (length == 0)
        return false;
    run->reading.from = run->samples;
    run->reading.to = run->samples + length;
    return true;
}

bool reading_now(const struct method_run *run)
{
    return run->reading.to > 0;
}

void reading_follow(struct method_run *run)
{
    run->network->limits = run->network->matrices = reading_now(run);
}

double reading_rate(const struct method_run *run)
{
    const struct reading *r = &run->reading;
    double at = fmin(1, (double)(run->samples - r->from) / (double)(r->to - r->from));
    return 1 - (1 - run->config.learning_rate_final) * at;
}

double reading_part(const struct method_run *run, double before)
{
    const struct reading *r = &run->reading;
    double share = (double)length_of(&run->config) / (double)run->config.total_samples;
    double done = reading_now(run) ? (double)(run->samples - r->from) / (double)(r->to - r->from) : 0;
    return (reading_now(run) ? 1 : before) * (1 - share) + done * share;
}

struct tensor *reading_motifs(struct method_run *run, const struct batch *batch)
{
    struct exec *e = &run->exec;
    bool training = e->training;
    e->training = false;
    struct tensor *motifs = network_motifs(e, run->network, batch->images, batch->request.count, run->annealer.density);
    e->training = training;
    return motifs;
}

bool reading_sound(const struct method_run *run)
{
    const struct reading *r = &run->reading;
    return r->from >= 0 && r->from <= run->samples && (r->to == 0 || r->to > r->from) &&
           (double)r->to <= 2 * CONFIG_INT_MAX;
}

enum status reading_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    if (run->config.reading_samples == 0)
        return STATUS_OK;
    enum status status = snapshot_add_i64(snapshot, "reading.from", &run->reading.from, err);
    return status ? status : snapshot_add_i64(snapshot, "reading.to", &run->reading.to, err);
}
