/* The sparse layer: moves the thresholds to the quantiles of a batch (sparse_quantile.c) and applies them. */
#include "core/nn/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nn/sparse_int.h"

/* Allocates for s->config. Returns false if memory is lacking; sparse_destroy() frees what was allocated. */
static bool nn_sparse_allocate(struct sparse *s)
{
    const struct sparse_config *config = &s->config;
    s->groups = config->mode == SPARSE_SINGLE ? 1 : config->channels;
    s->bound = calloc((size_t)map_padded(config->channels), sizeof(real));
    s->times = calloc((size_t)config->channels, sizeof(*s->times));
    s->share = calloc((size_t)config->channels, sizeof(*s->share));
    s->keep = config->elements > 0       ? config->elements
              : config->accumulate > 0.0 ? 2 * (int64_t)ceil(config->accumulate) + 8
                                         : 0;
    s->top = s->keep > 0 ? calloc((size_t)(s->keep * s->groups), sizeof(real)) : NULL;
    return s->bound != NULL && s->times != NULL && s->share != NULL && (s->keep == 0 || s->top != NULL);
}

enum status sparse_create(struct sparse **out, struct params *params, const char *name,
                          const struct sparse_config *config, struct error *err)
{
    struct sparse *s = calloc(1, sizeof(*s));
    if (s != NULL)
        *s = (struct sparse){.config = *config, .fade = 1.0};
    if (s == NULL || !nn_sparse_allocate(s)) {
        sparse_destroy(s);
        return error_memory(err, "the sparse layer");
    }
    snprintf(s->name, sizeof(s->name), "%s", name);
    for (int c = 0; c < config->channels; c++)
        s->times[c] = s->share[c] = 1.0;
    char full[2 * SNAPSHOT_NAME];
    snprintf(full, sizeof(full), "%s.threshold", name);
    if (config->mode == SPARSE_PER_CHANNEL || config->mode == SPARSE_SINGLE)
        s->threshold = params_add_state(params, full, config->channels, 0.0);
    *out = s;
    return STATUS_OK;
}

void sparse_destroy(struct sparse *sparse)
{
    if (sparse == NULL)
        return;
    free(sparse->bound);
    free(sparse->times);
    free(sparse->share);
    free(sparse->top);
    free(sparse);
}

/* --- the layer ---------------------------------------------------------------------------------- */

static void move_thresholds(struct sparse *s, const real *quantile)
{
    double momentum = s->config.momentum;
    for (int c = 0; c < s->config.channels; c++) {
        real q = quantile[s->config.mode == SPARSE_SINGLE ? 0 : c], *t = &s->threshold->value[c];
        *t = isinf(*t) ? q : (real)(momentum * (double)*t + (1.0 - momentum) * (double)q);
    }
}

void sparse_set_shares(struct sparse *s, const double *shares)
{
    s->uneven = false;
    for (int c = 0; c < s->config.channels; c++) {
        s->share[c] = shares[c];
        s->uneven = s->uneven || shares[c] != 1.0;
    }
}

void sparse_reinitialise(struct sparse *s, int channel, double times, int64_t updates)
{
    s->threshold->value[channel] = (real)INFINITY;
    s->times[channel] = times;
    s->fade = pow(1.0 / times, 1.0 / (double)(updates < 1 ? 1 : updates));
}

/* --- one update --------------------------------------------------------------------------------- */

/* Whether `values` values are enough to move a threshold. */
static bool enough(const struct sparse *s, int64_t values, double density)
{
    return s->config.elements > 0 ? values >= s->config.elements : (double)values * density >= s->config.accumulate;
}

/* Drops the collected values if the density has risen since the last batch: they may then be too few for the exact
 * quantile. With `elements` all values are stored, so this cannot happen. Also drops the values if their counts are
 * impossible, as in a damaged checkpoint, because other code uses the counts as the lengths of arrays. */
static void drop_unusable(struct sparse *s, double density)
{
    bool sound = s->kept >= 0 && s->kept <= s->keep && s->kept <= s->collected && s->collected < INT64_C(1) << 53;
    if (!sound || (density > s->density && s->config.elements == 0))
        s->collected = s->kept = 0;
    s->density = density;
}

/* Returns the number of values in the whole batch, on all ranks, for one threshold. */
static int64_t batch_values(const struct exec *e, const struct sparse *s, const struct map_shape *map)
{
    int images = e->comm == NULL ? map->images : e->share.total;
    int64_t positions = (int64_t)images * map->height * map->width;
    return s->config.mode == SPARSE_SINGLE ? positions * map->channels : positions;
}

/* For channels with different shares of the density: computes for each channel which order statistic is the channel's
 * quantile. */
static bool plan_ranks(struct exec *e, const struct sparse *s, double density, struct quantile_task *task)
{
    struct order_statistic *orders = arena_alloc(e->arena, (size_t)s->config.channels * sizeof *orders);
    for (int c = 0; orders != NULL && c < s->config.channels; c++)
        orders[c] = sparse_order_of(s, task->batch, fmin(1.0, density * s->share[c]));
    task->orders = orders;
    return orders != NULL;
}

/* Decides whether the thresholds move after this batch and which order statistic is their quantile; allocates memory.
 */
static bool plan_update(struct exec *e, struct sparse *s, const struct tensor *z, double density,
                        struct quantile_task *task)
{
    *task = (struct quantile_task){.sparse = s, .kernels = e->kernels, .set = sparse_set_of(z)};
    task->batch = batch_values(e, s, &z->map);
    int64_t total = s->collected + task->batch;
    task->update = enough(s, total, density);
    task->order = sparse_order_of(s, total, density);
    if (s->uneven && !plan_ranks(e, s, density, task))
        return sparse_no_memory(e);
    task->quantile = arena_zalloc(e->arena, (size_t)map_padded(s->config.channels), sizeof(real));
    return task->quantile != NULL || sparse_no_memory(e);
}

/* Moves the thresholds to the quantiles of batch z, or only collects its values. Stores a failure in e->error. */
static void update_thresholds(struct exec *e, struct sparse *s, const struct tensor *z, double density)
{
    struct quantile_task task;
    drop_unusable(s, density);
    if (!plan_update(e, s, z, density, &task))
        return;
    bool batch_alone = task.update && s->collected == 0;
    if (!(batch_alone ? sparse_select_from_batch(e, s, z, &task) : sparse_select_from_collected(e, s, &task)))
        return;
    if (sparse_select_reinitialised(e, s, &task, density) && task.update)
        move_thresholds(s, task.quantile);
}

struct tensor *sparse_forward(struct exec *e, struct sparse *s, struct tensor *z, double density, bool raw)
{
    if (z == NULL || e->error.code)
        return NULL;
    if (z->kind != TENSOR_MAP || z->map.channels != s->config.channels) {
        error_set(&e->error, STATUS_INTERNAL, NULL, "sparse layer: the input is not a map of %d channels",
                  s->config.channels);
        return NULL;
    }
    if (s->config.mode == SPARSE_NONE)
        return z;
    if (s->config.mode == SPARSE_L1)
        return raw ? z : op_relu(e, z);
    if (e->training) {
        double since = exec_clock(e);
        update_thresholds(e, s, z, density);
        exec_profiled(e, "quantile", since);
    }
    return op_threshold(e, z, s->threshold->value, !raw);
}

const real *sparse_thresholds(const struct sparse *sparse)
{
    return sparse->threshold == NULL ? NULL : sparse->threshold->value;
}

real *sparse_edit_thresholds(struct sparse *sparse)
{
    return sparse->threshold == NULL ? NULL : sparse->threshold->value;
}

enum status sparse_snapshot(struct sparse *s, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {
        SNAPSHOT_ARRAY("times", s->times, (uint64_t)s->config.channels),
        SNAPSHOT_NUMBER("fade", &s->fade),
        SNAPSHOT_ARRAY("collected.top", s->top, (uint64_t)s->groups, (uint64_t)s->keep),
        SNAPSHOT_NUMBER("collected.count", &s->collected),
        SNAPSHOT_NUMBER("collected.kept", &s->kept),
        SNAPSHOT_NUMBER("collected.density", &s->density),
    };
    enum { ALWAYS = 2 }; /* the other rows only if values are collected */
    char prefix[2 * SNAPSHOT_NAME];
    snprintf(prefix, sizeof prefix, "%s.", s->name);
    size_t count = s->keep == 0 ? ALWAYS : sizeof rows / sizeof rows[0];
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, prefix, rows, count, err);
}
