/* The last part of a training: the head alone learns to read the motif maps of the final motif model (reading_samples).
 *
 * Until then the head reads maps of a motif model that changes with every update, with thresholds that follow the
 * density. Calibration changes these thresholds once more. In this part, g computes maps as it does for a client, with
 * its running statistics and final thresholds and without gradients, so a sample costs about a third. The learning rate
 * falls from its full value. */
#include <math.h>

#include "core/methods/sparling/run_int.h"

/* Largest share of total_samples, for short runs. */
static const double MOST = 0.25;

static int64_t length_of(const struct sparling_config *c)
{
    double most = MOST * (double)c->total_samples;
    return (double)c->reading_samples < most ? c->reading_samples : (int64_t)most;
}

int64_t reading_limit(const struct method_run *run)
{
    return run->config.total_samples - length_of(&run->config);
}

bool reading_begin(struct method_run *run)
{
    run->reading.from = run->samples;
    run->reading.to = run->samples + length_of(&run->config);
    return run->reading.to > run->reading.from;
}

bool reading_now(const struct method_run *run)
{
    return run->reading.to > 0;
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
