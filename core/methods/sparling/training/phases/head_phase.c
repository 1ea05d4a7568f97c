/* The phase in which only the head trains (PHASE_HEAD, reading_samples), on the motif maps of the final motif model.
 *
 * Before this phase, the head has read maps of a motif model that changed with every update, and whose thresholds
 * followed the density. Then the calibration has changed the thresholds once more. In this phase, g computes maps in
 * the same way as for a client: with its running statistics and final thresholds. It needs no gradients, so a sample
 * takes about a third of the time. Maps that are read again come from a cache (struct map_cache), so a sample then
 * takes a fifteenth of the time. The learning rate falls from its full value. */
#include "core/methods/sparling/training/phases/head_phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"

/* The values above zero of one map. `at` counts reals from the beginning of the image, halo included. */
struct active_value {
    uint32_t at;
    real value;
};
struct cached_map {
    struct active_value *active; /* [count]; NULL: the map is not kept */
    int64_t count;
};

enum status map_cache_open(struct map_cache *cache, int64_t inputs, int64_t most, struct error *err)
{
    *cache = (struct map_cache){.inputs = inputs, .most = most};
    cache->map = calloc((size_t)inputs, sizeof *cache->map);
    if (cache->map)
        return STATUS_OK;
    cache->inputs = 0;
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the motif maps of %lld inputs",
                     (long long)inputs);
}

void map_cache_close(struct map_cache *cache)
{
    for (int64_t i = 0; i < cache->inputs; i++)
        free(cache->map[i].active);
    free(cache->map);
    *cache = (struct map_cache){0};
}

static int64_t count_active(const real *image, size_t size)
{
    int64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += image[i] > 0;
    return count;
}

static void keep_map(struct map_cache *cache, struct cached_map *map, const real *image, size_t size)
{
    if (map->active)
        return;
    int64_t count = count_active(image, size);
    if (cache->values + count > cache->most)
        return;
    map->active = malloc((size_t)(count + 1) * sizeof *map->active); /* + 1: the list of an empty map is not NULL */
    if (!map->active)
        return;
    for (size_t i = 0; i < size; i++)
        if (image[i] > 0)
            map->active[map->count++] = (struct active_value){.at = (uint32_t)i, .value = image[i]};
    cache->values += count;
}

void map_cache_add(struct map_cache *cache, int64_t first, const struct tensor *map)
{
    size_t size = (size_t)map_image_stride(&map->map);
    if (size > UINT32_MAX)
        return;
    cache->shape = map->map;
    for (int i = 0; i < map->map.images && first + i < cache->inputs; i++)
        keep_map(cache, &cache->map[first + i], map->data + (size_t)i * size, size);
}

struct tensor *map_cache_get(const struct map_cache *cache, struct exec *e, int64_t first, int count)
{
    if (first + count > cache->inputs)
        return NULL;
    for (int i = 0; i < count; i++)
        if (!cache->map[first + i].active)
            return NULL;
    struct map_shape shape = cache->shape;
    shape.images = count;
    struct tensor *map = tensor_map(e, &shape);
    if (!map)
        return NULL;
    size_t size = (size_t)map_image_stride(&shape);
    memset(map->data, 0, (size_t)count * size * sizeof *map->data);
    for (int i = 0; i < count; i++) {
        const struct cached_map *kept = &cache->map[first + i];
        for (int64_t k = 0; k < kept->count; k++)
            map->data[(size_t)i * size + kept->active[k].at] = kept->active[k].value;
    }
    return map;
}

int64_t head_phase_limit(const struct method_run *run)
{
    return run->config.total_samples - (int64_t)sparling_reading(&run->config);
}

void head_phase_drop(struct method_run *run)
{
    map_cache_close(&run->reading.trained);
    map_cache_close(&run->reading.validated);
}

void head_phase_clear(struct method_run *run)
{
    head_phase_drop(run);
    run->reading = (struct reading){0};
}

static enum status begin_head_phase(struct method_run *run, struct error *err)
{
    (void)err;
    run->reading.from = run->samples;
    run->reading.to = run->samples + (int64_t)sparling_reading(&run->config);
    return STATUS_OK;
}

static void head_span(const struct method_run *run, int64_t *from, int64_t *to)
{
    *from = run->reading.from;
    *to = run->reading.to;
}

const struct phase_rule head_rule = {.begin = begin_head_phase, .span = head_span};

bool head_phase_now(const struct method_run *run)
{
    return plan_now(run)->name == PHASE_HEAD;
}

void head_phase_follow(struct method_run *run)
{
    run->network->limits = run->network->matrices = head_phase_now(run);
}

double head_phase_part(const struct method_run *run, double before)
{
    double time = sparling_reading_time(&run->config, sparling_reading(&run->config)),
           all = (double)head_phase_limit(run) + time;
    if (!head_phase_now(run))
        return before * (1 - time / all);
    return 1 - (time - sparling_reading_time(&run->config, (double)(run->samples - run->reading.from))) / all;
}

/* Returns how many training samples the last part reads, in whole batches; 0: new samples all the time. */
static int64_t count_inputs(const struct method_run *run)
{
    const struct sparling_config *c = &run->config;
    int64_t batches = c->reading_inputs / c->batch;
    return batches > 0 || c->reading_inputs == 0 ? batches * c->batch : c->batch;
}

int64_t head_phase_first(const struct method_run *run, int64_t first)
{
    int64_t from = run->reading.from, inputs = count_inputs(run);
    return head_phase_now(run) && inputs > 0 ? from + (first - from) % inputs : first;
}

/* Returns the cache that keeps the maps of a batch, and opens it at its first use. Returns NULL if no cache keeps these
 * maps. Sets *first to the index of the batch's first input in the cache. */
static struct map_cache *cache_of(struct method_run *run, const struct batch_request *batch, int64_t *first)
{
    bool trained = run->exec.training;
    struct map_cache *cache = trained ? &run->reading.trained : &run->reading.validated;
    int64_t inputs = trained ? count_inputs(run) : run->config.validation_samples;
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

struct tensor *head_phase_motifs(struct method_run *run, const struct batch *batch)
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

bool head_phase_sound(const struct method_run *run)
{
    const struct reading *r = &run->reading;
    return r->from >= 0 && r->from <= run->samples && (r->to == 0 || r->to > r->from) &&
           (double)r->to <= 2 * CONFIG_INT_MAX;
}

enum status head_phase_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    if (run->config.reading_samples == 0)
        return STATUS_OK;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("reading.from", &run->reading.from),
                                        SNAPSHOT_NUMBER("reading.to", &run->reading.to)};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
