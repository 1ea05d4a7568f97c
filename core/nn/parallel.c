/* Runs several sparse layers on consecutive channels of one map and joins their results. */
#include "core/nn/parallel.h"

#include <stdio.h>
#include <stdlib.h>

struct sparse_parallel {
    int count;
    int channels[PARALLEL_MOST];
    struct sparse *layer[PARALLEL_MOST];
};

enum status sparse_parallel_create(struct sparse_parallel **out, struct params *params, const char *name,
                                   const struct sparse_config *layers, int count, struct error *err)
{
    if (count < 1 || count > PARALLEL_MOST)
        return error_set(err, STATUS_INVALID, NULL, "the number of sparse layers must be in [1, %d]; got %d",
                         PARALLEL_MOST, count);
    struct sparse_parallel *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the sparse layers");
    p->count = count;
    for (int i = 0; i < count; i++) {
        char full[SNAPSHOT_NAME];
        snprintf(full, sizeof(full), "%s.%d", name, i);
        p->channels[i] = layers[i].channels;
        enum status status = sparse_create(&p->layer[i], params, full, &layers[i], err);
        if (status != STATUS_OK) {
            sparse_parallel_destroy(p);
            return status;
        }
    }
    *out = p;
    return STATUS_OK;
}

void sparse_parallel_destroy(struct sparse_parallel *parallel)
{
    for (int i = 0; parallel != NULL && i < parallel->count; i++)
        sparse_destroy(parallel->layer[i]);
    free(parallel);
}

struct tensor *sparse_parallel_forward(struct exec *e, struct sparse_parallel *p, struct tensor *z, double density,
                                       bool raw)
{
    struct tensor *parts[PARALLEL_MOST];
    int first = 0;
    for (int i = 0; i < p->count; i++) {
        parts[i] = sparse_forward(e, p->layer[i], op_channels(e, z, first, p->channels[i]), density, raw);
        first += p->channels[i];
    }
    if (z != NULL && e->error.code == STATUS_OK && first != z->map.channels) {
        error_set(&e->error, STATUS_INTERNAL, NULL, "the sparse layers have %d channels, the map has %d", first,
                  z->map.channels);
        return NULL;
    }
    return op_join_channels(e, parts, p->count);
}

enum status sparse_parallel_snapshot(struct sparse_parallel *p, struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < p->count && status == STATUS_OK; i++)
        status = sparse_snapshot(p->layer[i], snapshot, err);
    return status;
}
