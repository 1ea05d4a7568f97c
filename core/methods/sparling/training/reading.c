/* The last part of a training (reading_samples): only the head trains, on the motif maps of the final motif model.
 *
 * Before this part, the head has read maps of a motif model that changed with every update, and whose thresholds
 * followed the density. Then the calibration has changed the thresholds once more. In this part, g computes maps in
 * the same way as for a client: with its running statistics and final thresholds. It needs no gradients, so a sample
 * takes about a third of the time. Maps that are read again come from a cache (map_cache.h), so a sample then takes a
 * fifteenth of the time. The learning rate falls from its full value. */
#include <math.h>

#include "core/methods/sparling/run_int.h"

int64_t reading_limit(const struct method_run *run)
{
    return run->config.total_samples - (int64_t)sparling_reading(&run->config);
}

void reading_drop(struct method_run *run)
{
    map_cache_close(&run->reading.trained);
    map_cache_close(&run->reading.validated);
}

void reading_clear(struct method_run *run)
{
    reading_drop(run);
    run->reading = (struct reading){0};
}

bool reading_begin(struct method_run *run)
{
    int64_t length = (int64_t)sparling_reading(&run->config);
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
    double time = sparling_reading_time(&run->config, sparling_reading(&run->config)),
           all = (double)reading_limit(run) + time;
    if (!reading_now(run))
        return before * (1 - time / all);
    return 1 - (time - sparling_reading_time(&run->config, (double)(run->samples - run->reading.from))) / all;
}

/* Returns how many training samples the last part reads, in whole batches; 0: new samples all the time. */
static int64_t distinct(const struct method_run *run)
{
    const struct sparling_config *c = &run->config;
    int64_t batches = c->reading_inputs / c->batch;
    return batches > 0 || c->reading_inputs == 0 ? batches * c->batch : c->batch;
}

int64_t reading_first(const struct method_run *run, int64_t first)
{
    int64_t from = run->reading.from, inputs = distinct(run);
    return reading_now(run) && inputs > 0 ? from + (first - from) % inputs : first;
}

/* Returns the cache that keeps the maps of a batch, and opens it at its first use. Returns NULL if no cache keeps these
 * maps. Sets *first to the index of the batch's first input in the cache. */
static struct map_cache *cache_of(struct method_run *run, const struct batch_request *batch, int64_t *first)
{
    bool trained = run->exec.training;
    struct map_cache *cache = trained ? &run->reading.trained : &run->reading.validated;
    int64_t inputs = trained ? distinct(run) : run->config.validation_samples;
    *first = trained ? batch->first - (run->reading.from - run->starts.samples) : batch->first;
    if (inputs == 0 || inputs > SPARLING_KEPT || batch->turns == TURN_ALL)
        return NULL;
    if (cache->inputs == 0) {
        int64_t most = (int64_t)sparling_cached_values(&run->config, (double)inputs);
        if (map_cache_open(cache, inputs, most, &run->exec.error))
            return NULL;
    }
    return cache;
}

struct tensor *reading_motifs(struct method_run *run, const struct batch *batch)
{
    struct exec *e = &run->exec;
    bool training = e->training;
    int64_t first;
    struct map_cache *cache = cache_of(run, &batch->request, &first);
    struct tensor *motifs = cache ? map_cache_get(cache, e, first, batch->request.count) : NULL;
    if (motifs)
        return motifs;
    e->training = false;
    motifs = network_motifs(e, run->network, batch->images, batch->request.count, run->annealer.density);
    e->training = training;
    if (cache && motifs)
        map_cache_add(cache, first, motifs);
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
