/* Builds the motif maps of a trial, lets the model read them, and counts its answers (trial.h). */
#include "core/methods/sparling/queries/rules/trial.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_RULES = 0x72756C65 };

unsigned rule_arrangements(const struct rule_motif *first, const int *one, int ones, const struct rule_motif *second,
                           const int *other, int others)
{
    unsigned found = 0;
    int apart = (first->width + second->width + 1) / 2;
    for (int i = 0; i < ones; i++)
        for (int j = 0; j < others; j++) {
            int gap = abs(one[i] - other[j]) - apart, bin = 0;
            if (gap < 0)
                continue;
            while (gap >= rule_edges[bin + 1])
                bin++;
            found |= rule_bit(one[i] < other[j] ? FIRST_BEFORE_SECOND : SECOND_BEFORE_FIRST, bin);
        }
    return found;
}

struct trial {
    const struct rule_reader *reader;
    const struct rule_sample *sample;
    const struct rule_pair *pair;
    float *maps;
    struct rule_places places[RULE_MAPS];
    int count;
    struct philox from;
    uint64_t drawn;
};

static int rules_trial_draw(struct trial *t, int below)
{
    return below > 1 ? (int)(philox_u32(&t->from, t->drawn++) % (uint32_t)below) : 0;
}

/* Adds a copy of the sample's map without the two motifs, and returns it. The caller may put motifs into it. */
static float *add_map(struct trial *t, int one, int other)
{
    size_t cols = (size_t)t->reader->cols, map = (size_t)t->reader->channels * cols;
    float *at = t->maps + (size_t)t->count * map;
    memcpy(at, t->sample->map, map * sizeof *at);
    memset(at + (size_t)t->pair->first.channel * cols, 0, cols * sizeof *at);
    memset(at + (size_t)t->pair->second.channel * cols, 0, cols * sizeof *at);
    t->places[t->count++] = (struct rule_places){{one, other}};
    return at;
}

/* Puts a motif into a map so that its centre is at column `centre`. */
static void rules_trial_put(const struct trial *t, float *map, const struct rule_motif *motif, int centre)
{
    int cols = t->reader->cols, at = centre - motif->shift;
    at = at < 0 ? 0 : at >= cols ? cols - 1 : at;
    map[(size_t)motif->channel * (size_t)cols + (size_t)at] = motif->value;
}

/* Adds three maps to the trial: one with neither motif, one with the first only, and one with the second only. Both
 * motifs are put at the same random place. */
static void add_alone(struct trial *t)
{
    const struct rule_sample *s = t->sample;
    int centre = s->from + rules_trial_draw(t, s->to - s->from);
    (void)add_map(t, centre, centre);
    rules_trial_put(t, add_map(t, centre, centre), &t->pair->first, centre);
    rules_trial_put(t, add_map(t, centre, centre), &t->pair->second, centre);
}

/* The places of the two motifs of an arrangement. */
struct spots {
    bool fit; /* whether the sample is long enough */
    int left, right;
};

/* Draws two places with a gap in this bin. */
static struct spots draw_spots(struct trial *t, int bin)
{
    const struct rule_sample *s = t->sample;
    int apart = (t->pair->first.width + t->pair->second.width + 1) / 2; /* distance of the centres if there is no gap */
    int room = s->to - s->from - 1 - apart;                             /* largest gap */
    if (room < rule_edges[bin])
        return (struct spots){.fit = false};
    int most = room < rule_edges[bin + 1] - 1 ? room : rule_edges[bin + 1] - 1;
    int gap = rule_edges[bin] + rules_trial_draw(t, most - rule_edges[bin] + 1);
    int left = s->from + rules_trial_draw(t, s->to - s->from - apart - gap);
    return (struct spots){true, left, left + apart + gap};
}

/* Adds a map with two motifs. NULL stands for no motif. */
static void add_two(struct trial *t, const struct rule_motif *one, int at, const struct rule_motif *other, int there)
{
    float *map = add_map(t, one ? at : there, other ? there : at);
    if (one)
        rules_trial_put(t, map, one, at);
    if (other)
        rules_trial_put(t, map, other, there);
}

/* Adds one map for each order of the two motifs. Both maps use the same two places. */
static void add_both(struct trial *t, struct spots spots)
{
    add_two(t, &t->pair->first, spots.left, &t->pair->second, spots.right);
    add_two(t, &t->pair->first, spots.right, &t->pair->second, spots.left);
}

/* Adds the controls of both orders, each in the order of enum rule_control. */
static void add_controls(struct trial *t, struct spots spots, const struct rule_motif *third)
{
    const struct rule_motif *first = &t->pair->first, *second = &t->pair->second;
    for (int o = 0; o < RULE_ORDERS; o++) {
        int at = o == FIRST_BEFORE_SECOND ? spots.left : spots.right, there = spots.left + spots.right - at;
        add_two(t, first, at, NULL, there);
        add_two(t, NULL, at, second, there);
        if (third) {
            add_two(t, first, at, third, there);
            add_two(t, third, at, second, there);
        }
    }
}

static struct trial rules_trial_begin(const struct rule_reader *reader, const struct rule_sample *sample,
                                      const struct rule_pair *pair, float *maps)
{
    return (struct trial){.reader = reader,
                          .sample = sample,
                          .pair = pair,
                          .maps = maps,
                          .from = philox_stream(sample->number, STREAM_RULES, pair->number)};
}

/* Returns whether an arrangement counts for the effects of order and distance. */
static bool used(const struct rule_pair *pair, int order, int bin)
{
    return pair->all || pair->evidence.seen[order][bin];
}

static void count_trial(const struct trial *t, struct rule_pair *pair, const bool *tried, const bool *has)
{
    size_t names = (size_t)t->reader->names;
    bool counted[RULE_ORDERS][RULE_BINS];
    for (int b = 0; b < RULE_BINS; b++)
        for (int o = 0; o < RULE_ORDERS; o++)
            counted[o][b] = used(pair, o, b);
    for (size_t k = 0; k < names; k++) {
        const bool *at = has + k;
        size_t next = 3;
        struct rule_trial trial = {.neither = at[0], .first = at[names], .second = at[2 * names]};
        for (int b = 0; b < RULE_BINS; b++)
            for (int o = 0; tried[b] && o < RULE_ORDERS; o++)
                trial.with[o][b] = at[names * next++];
        rule_counts_add(&pair->counts[k], &trial, tried, counted);
    }
}

enum status rule_try(const struct rule_reader *reader, const struct rule_sample *sample, struct rule_pair *pair,
                     float *maps, bool *has, struct error *err)
{
    struct trial t = rules_trial_begin(reader, sample, pair, maps);
    bool tried[RULE_BINS];
    add_alone(&t);
    for (int b = 0; b < RULE_BINS; b++) {
        /* Places are drawn also for bins that are not tried, so that the other places do not depend on the data set. */
        struct spots spots = draw_spots(&t, b);
        tried[b] = spots.fit && (used(pair, FIRST_BEFORE_SECOND, b) || used(pair, SECOND_BEFORE_FIRST, b));
        if (spots.fit && pair->evidence.bins <= b)
            pair->evidence.bins = b + 1;
        if (tried[b])
            add_both(&t, spots);
        pair->evidence.tried[b] += tried[b];
    }
    enum status status = reader->read(reader->context, maps, t.count, t.places, has, err);
    if (!status)
        count_trial(&t, pair, tried, has);
    return status;
}

static void count_controls(const struct trial *t, struct rule_pair *pair, int bin, const bool *has)
{
    int names = t->reader->names, controls = t->count / RULE_ORDERS;
    for (int i = 0; i < t->count; i++)
        for (int k = 0; k < names; k++)
            pair->counts[k].control[i % controls][i / controls][bin] += has[i * names + k];
    pair->evidence.controlled[bin]++;
}

enum status rule_try_controls(const struct rule_reader *reader, const struct rule_sample *sample,
                              struct rule_pair *pair, const struct rule_motif *third, const bool *wanted, float *maps,
                              bool *has, struct error *err)
{
    struct trial t = rules_trial_begin(reader, sample, pair, maps);
    enum status status = STATUS_OK;
    pair->evidence.third = third != NULL;
    (void)rules_trial_draw(&t, sample->to - sample->from); /* skips the number that add_alone() draws in rule_try(), so
                                                  that draw_spots() draws the same places */
    for (int b = 0; !status && b < RULE_BINS; b++) {
        struct spots spots = draw_spots(&t, b);
        if (!spots.fit || !wanted[b])
            continue;
        t.count = 0;
        add_controls(&t, spots, third);
        status = reader->read(reader->context, maps, t.count, t.places, has, err);
        if (!status)
            count_controls(&t, pair, b, has);
    }
    return status;
}
