/* Collects the units of a division, with their sizes and names (units.h). */
#include "core/data/division/units.h"

#include <stdlib.h>
#include <string.h>

void division_units_close(struct division_units *u)
{
    free(u->size);
    free(u->start);
    free(u->times);
    free(u->sample_unit);
    free(u->key);
    free(u->name);
    free(u->part);
}

int division_names(const struct collection *c)
{
    return c->target == TARGET_NONE || c->target == TARGET_NUMBER ? 0 : c->vocabulary.count + 1;
}

void division_each_name(const struct collection *c, int64_t sample, int64_t *seen,
                        void (*take)(void *context, int64_t sample, int32_t name), void *context)
{
    const int32_t *label;
    int count = division_names(c) > 0 ? collection_labels(c, sample, &label) : 0, found = 0;
    for (int i = 0; i < count; i++) {
        if (label[i] < 0 || label[i] >= c->vocabulary.count || seen[label[i]] == sample + 1)
            continue;
        seen[label[i]] = sample + 1;
        take(context, sample, label[i]);
        found++;
    }
    if (found == 0 && division_names(c) > 0)
        take(context, sample, c->vocabulary.count);
}

/* Hash of a group's name. */
static uint64_t division_name_key(const char *name)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
    return hash;
}

/* Gives every open sample the index of its unit, and counts the samples of each unit. Units are numbered in the order
 * in which the file first mentions them. */
static enum status number_units(const struct collection *c, const unsigned char *part, bool groups,
                                struct division_units *u, struct error *err)
{
    int64_t most = groups ? c->groups.count : c->count;
    int64_t *unit_of = malloc((size_t)most * sizeof *unit_of);
    u->sample_unit = malloc((size_t)c->count * sizeof *u->sample_unit);
    u->size = calloc((size_t)most, sizeof *u->size);
    u->key = calloc((size_t)most, sizeof *u->key);
    u->part = calloc((size_t)most, 1);
    u->start = calloc((size_t)most + 2, sizeof *u->start);
    if (unit_of == NULL || !u->sample_unit || !u->size || !u->key || !u->part || !u->start) {
        free(unit_of);
        return error_memory(err, "a division");
    }
    for (int64_t i = 0; i < most; i++)
        unit_of[i] = -1;
    for (int64_t i = 0; i < c->count; i++) {
        int64_t what = groups ? c->group[i] : i;
        u->sample_unit[i] = -1;
        if (part[i] != DIVISION_OPEN)
            continue;
        if (unit_of[what] < 0) {
            unit_of[what] = u->plan.count;
            u->key[u->plan.count++] = groups ? division_name_key(c->groups.name[what]) : (uint64_t)i;
        }
        u->sample_unit[i] = unit_of[what];
        u->size[unit_of[what]]++;
    }
    free(unit_of);
    return STATUS_OK;
}

/* Counts a name for its unit, two places further on, so that the sums become the positions at which add_name() writes.
 */
static void count_name(void *context, int64_t sample, int32_t name)
{
    struct division_units *u = context;
    (void)name;
    u->start[u->sample_unit[sample] + 2]++;
}

static void add_name(void *context, int64_t sample, int32_t name)
{
    struct division_units *u = context;
    u->name[u->start[u->sample_unit[sample] + 1]++] = name;
}

/* Replaces repeated names of a unit by one name with the number of its samples (times). at: [names] where the current
 * unit has each name; all -1 before and after the call. */
static void join_names(struct division_units *u, int64_t *at)
{
    int64_t kept = 0, from = 0;
    for (int64_t unit = 0; unit < u->plan.count; unit++) {
        int64_t end = u->start[unit + 1], first = kept;
        for (int64_t i = from; i < end; i++) {
            int32_t name = u->name[i];
            if (at[name] < 0) {
                at[name] = kept;
                u->name[kept] = name;
                u->times[kept++] = 0;
            }
            u->times[at[name]]++;
        }
        for (int64_t i = first; i < kept; i++)
            at[u->name[i]] = -1;
        from = end;
        u->start[unit + 1] = kept;
    }
}

/* Writes the names of each unit, and how many of its samples have them, in two passes: the first counts the names, the
 * second stores them. */
static enum status name_units(const struct collection *c, struct division_units *u, struct error *err)
{
    int64_t names = division_names(c), all = 0;
    int64_t *seen = calloc((size_t)names + 1, sizeof *seen);
    if (seen == NULL)
        return error_memory(err, "a division");
    for (int64_t i = 0; i < c->count; i++)
        if (u->sample_unit[i] >= 0)
            division_each_name(c, i, seen, count_name, u);
    for (int64_t i = 0; i < u->plan.count; i++)
        u->start[i + 2] += u->start[i + 1];
    all = u->start[u->plan.count + 1];
    u->name = malloc((size_t)(all + 1) * sizeof *u->name);
    u->times = malloc((size_t)(all + 1) * sizeof *u->times);
    memset(seen, 0, (size_t)(names + 1) * sizeof *seen);
    for (int64_t i = 0; u->name && u->times && i < c->count; i++)
        if (u->sample_unit[i] >= 0)
            division_each_name(c, i, seen, add_name, u);
    for (int64_t i = 0; i < names; i++)
        seen[i] = -1;
    if (u->name && u->times)
        join_names(u, seen);
    free(seen);
    if (!u->name || !u->times)
        return error_memory(err, "a division");
    u->plan.names = (int)names;
    u->plan.size = u->size;
    u->plan.key = u->key;
    u->plan.start = u->start;
    u->plan.name = u->name;
    u->plan.times = u->times;
    return STATUS_OK;
}

enum status division_units(const struct collection *c, const unsigned char *part, bool groups, struct division_units *u,
                           struct error *err)
{
    enum status status = number_units(c, part, groups, u, err);
    return status ? status : name_units(c, u, err);
}
