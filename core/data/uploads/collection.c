/* A collection in memory: names of kinds and targets, access to one sample, and release. */
#include "core/data/uploads/collection.h"

#include <stdlib.h>
#include <sys/mman.h>

const char *const collection_kinds[] = {"table", "images", "sequences", "recordings", "motifs", NULL};
const char *const collection_targets[] = {"none", "class", "sequence", "labels", "positions", "count", NULL};

const char *const collection_negatives[] = {"none", "shuffle", "gc", NULL};

static void names_close(struct collection_names *names, bool own)
{
    for (int i = 0; own && i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct collection_names){0};
}

void collection_close(struct collection *c)
{
    /* a mapped file contains all arrays except those of names; without a mapping every array is allocated */
    bool own = c->mapping == NULL;
    names_close(&c->vocabulary, own);
    names_close(&c->columns, own);
    names_close(&c->groups, own);
    names_close(&c->records, own);
    free(c->warning);
    if (c->store)
        munmap(c->store, c->stored);
    else if (own)
        free(c->values);
    if (own) {
        free(c->start);
        free(c->label);
        free(c->label_start);
        free(c->group);
        free(c->box_start);
        free(c->box);
    } else {
        munmap(c->mapping, c->mapped);
    }
    *c = (struct collection){0};
}

int64_t collection_length(const struct collection *c, int64_t sample)
{
    return c->start[sample + 1] - c->start[sample];
}

void collection_copy(const struct collection *c, int64_t index, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = collection_value(c, index + i);
}

struct collection_moments collection_measure(const struct collection *c)
{
    if (c->moments.count > 0)
        return c->moments;
    double first = (double)collection_value(c, 0);
    struct collection_moments m = {collection_begin(c, c->count), first, first, 0, 0};
    for (int64_t i = 0; i < m.count; i++) {
        double v = (double)collection_value(c, i);
        m.sum += v;
        m.squares += v * v;
        m.min = v < m.min ? v : m.min;
        m.max = v > m.max ? v : m.max;
    }
    return m;
}

int collection_labels(const struct collection *c, int64_t sample, const int32_t **label)
{
    *label = c->label ? c->label + c->label_start[sample] : NULL; /* a collection may have no labels */
    return (int)(c->label_start[sample + 1] - c->label_start[sample]);
}

int64_t collection_place(const struct collection *c)
{
    const char *at = c->values ? (const char *)c->values : (const char *)c->bytes;
    return at - (const char *)c->mapping;
}
