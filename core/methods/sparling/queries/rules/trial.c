/* Builds the motif maps of a trial, lets the model read them, and counts its answers (trial.h). */
#include "core/methods/sparling/queries/rules/trial.h"

#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_RULES = 0x72756C65 };

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

static int draw(struct trial *t, int below)
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
static void put(const struct trial *t, float *map, const struct rule_motif *motif, int centre)
{
    int cols = t->reader->cols, at = centre - motif->shift;
    at = at < 0 ? 0 : at >= cols ? cols - 1 : at;
    map[(size_t)motif->channel * (size_t)cols + (size_t)at] = motif->value;
}

/* Adds three maps: one without the two motifs, one with only the first, and one with only the second. The single motif
 * is at the same place in the last two. */
static void add_alone(struct trial *t)
{
    const struct rule_sample *s = t->sample;
    int centre = s->from + draw(t, s->to - s->from);
    (void)add_map(t, centre, centre);
    put(t, add_map(t, centre, centre), &t->pair->first, centre);
    put(t, add_map(t, centre, centre), &t->pair->second, centre);
}

/* Adds one map for each order of the two motifs. Both maps use the same two places, with a gap from the bin `bin`
 * between them. Returns whether the sample is long enough. */
static bool add_both(struct trial *t, int bin)
{
    const struct rule_sample *s = t->sample;
    int apart = (t->pair->first.width + t->pair->second.width + 1) / 2; /* distance of the centres if there is no gap */
    int room = s->to - s->from - 1 - apart;                             /* largest gap */
    if (room < rule_edges[bin])
        return false;
    int most = room < rule_edges[bin + 1] - 1 ? room : rule_edges[bin + 1] - 1;
    int gap = rule_edges[bin] + draw(t, most - rule_edges[bin] + 1);
    int left = s->from + draw(t, s->to - s->from - apart - gap), right = left + apart + gap;
    for (int o = 0; o < RULE_ORDERS; o++) {
        float *map = add_map(t, left, right);
        put(t, map, &t->pair->first, o == FIRST_BEFORE_SECOND ? left : right);
        put(t, map, &t->pair->second, o == FIRST_BEFORE_SECOND ? right : left);
    }
    return true;
}

enum status rule_try(const struct rule_reader *reader, const struct rule_sample *sample, struct rule_pair *pair,
                     float *maps, bool *has, struct error *err)
{
    struct trial t = {.reader = reader,
                      .sample = sample,
                      .pair = pair,
                      .maps = maps,
                      .from = philox_stream(sample->number, STREAM_RULES, pair->number)};
    bool tried[RULE_BINS];
    add_alone(&t);
    for (int b = 0; b < RULE_BINS; b++) {
        tried[b] = add_both(&t, b);
        pair->tried[b] += tried[b];
    }
    enum status status = reader->read(reader->context, maps, t.count, t.places, has, err);
    for (int k = 0; !status && k < reader->names; k++) {
        const bool *at = has + k;
        size_t names = (size_t)reader->names, next = 3;
        struct rule_trial trial = {.neither = at[0], .first = at[names], .second = at[2 * names]};
        for (int b = 0; b < RULE_BINS; b++)
            for (int o = 0; tried[b] && o < RULE_ORDERS; o++)
                trial.with[o][b] = at[names * next++];
        rule_counts_add(&pair->counts[k], &trial, tried);
    }
    return status;
}
