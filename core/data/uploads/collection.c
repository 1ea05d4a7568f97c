/* A collection in memory: names of kinds and targets, access to one sample, and release. */
#include "core/data/uploads/collection.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>

const char *const collection_kinds[] = {"table", "images", "sequences", "recordings", "motifs", "texts", NULL};
const char *const collection_targets[] = {"none", "class", "sequence", "labels", "positions", "count", "number", NULL};

const char *const collection_parts[] = {"training", "validation", "test", NULL};

int collection_part_named(const char *text)
{
    static const struct {
        const char *name;
        enum collection_part part;
    } words[] = {{"train", PART_OF_TRAINING},   {"training", PART_OF_TRAINING}, {"validation", PART_OF_VALIDATION},
                 {"valid", PART_OF_VALIDATION}, {"val", PART_OF_VALIDATION},    {"dev", PART_OF_VALIDATION},
                 {"test", PART_OF_TEST},        {"testing", PART_OF_TEST}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i].name) == 0)
            return (int)words[i].part;
    return -1;
}

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
    /* true: every array and every name was allocated; false: they are in the mapped file, except the arrays of pointers
     * to names */
    bool own = c->mapping == NULL;
    names_close(&c->vocabulary, own);
    names_close(&c->columns, own);
    names_close(&c->groups, own);
    names_close(&c->records, own);
    names_close(&c->words, own);
    names_close(&c->texts, own);
    free(c->warning);
    for (int i = 0; i < c->recognised.columns; i++)
        free(c->recognised.column[i].name);
    free(c->recognised.column);
    if (c->store)
        munmap(c->store, c->stored);
    else if (own)
        free(c->values);
    if (own) {
        free(c->start);
        free(c->label);
        free(c->label_start);
        free(c->number);
        free(c->group);
        free(c->part);
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

/* Returns whether the values at one position are one-hot, or all equal (no known symbol). */
static bool shows_symbol(const struct collection *c, int64_t sample, int64_t position)
{
    int64_t length = collection_length(c, sample), first = collection_begin(c, sample) + position;
    int ones = 0, zeros = 0, alike = 1;
    for (int k = 0; k < c->channels; k++) {
        float value = collection_value(c, first + k * length);
        ones += value == 1;
        zeros += value == 0;
        alike += k > 0 && value == collection_value(c, first);
    }
    return (alike == c->channels && ones == 0) || (ones == 1 && zeros == c->channels - 1);
}

bool collection_one_hot(const struct collection *c)
{
    enum { LOOKED_AT = 64 };
    int64_t known = 0;
    if (c->kind != COLLECTION_SEQUENCES || c->rows != 1 || c->channels < 2)
        return false;
    for (int64_t sample = 0; sample < c->count && sample < LOOKED_AT; sample++)
        for (int64_t position = 0; position < collection_length(c, sample); position++) {
            if (!shows_symbol(c, sample, position))
                return false;
            known += collection_value(c, collection_begin(c, sample) + position) == 1;
        }
    return known > 0;
}

void collection_copy(const struct collection *c, int64_t index, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = collection_value(c, index + i);
}

static void measure_values(const struct collection *c, int64_t from, int64_t count, struct collection_moments *m)
{
    for (int64_t i = from; i < from + count; i++) {
        double v = (double)collection_value(c, i);
        m->sum += v;
        m->squares += v * v;
        m->min = v < m->min ? v : m->min;
        m->max = v > m->max ? v : m->max;
    }
    m->count += count;
}

enum { MEASURED = 1 << 20 }; /* values between two looks at the budget */

struct collection_moments collection_measure(const struct collection *c)
{
    if (c->moments.count > 0)
        return c->moments;
    double first = (double)collection_value(c, 0);
    struct collection_moments m = {0, first, first, 0, 0};
    for (int64_t at = 0, end = collection_begin(c, c->count); at < end && !work_stopped(c->work); at += MEASURED)
        measure_values(c, at, end - at < MEASURED ? end - at : MEASURED, &m);
    return m;
}

struct collection_moments collection_measure_channel(const struct collection *c, int channel)
{
    struct collection_moments m = {0, INFINITY, -INFINITY, 0, 0};
    for (int64_t i = 0; i < c->count; i++) {
        int64_t values = collection_length(c, i) * c->rows;
        measure_values(c, collection_begin(c, i) + channel * values, values, &m);
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
