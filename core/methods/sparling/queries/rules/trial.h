/* Trials of pairs of motifs in a motif map: what a model answers when a pair is removed from the map, and when it is
 * put back in chosen orders and at chosen distances. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/methods/sparling/queries/rules/effects.h"

enum { RULE_MAPS = 3 + RULE_ORDERS * RULE_BINS };

/* The centres of the two motifs of a map, or twice the centre of one. */
struct rule_places {
    int at[2];
};

/* What reads a map. */
struct rule_reader {
    void *context;
    int channels, cols, names;
    /* Answers which names the model reads from maps: [count][channels][cols], count at most RULE_MAPS. places: [count].
     * has: [count][names]. */
    enum status (*read)(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                        struct error *err);
};

/* A motif of a pair: its channel, the value that it gets, how many columns its maximum lies before its centre, and the
 * width of its extent. */
struct rule_motif {
    int channel;
    float value;
    int shift, width;
};

struct rule_sample {
    const float *map; /* [channels][cols] as the model reads it */
    int from, to;     /* centres of motifs may be in [from, to) */
    uint64_t number;  /* decides the random positions, together with `pair` */
};

struct rule_pair {
    struct rule_motif first, second;
    uint64_t number;
    int tried[RULE_BINS];
    struct rule_counts *counts; /* [names] */
};

/* Tries a pair in a sample, and adds to its counts. maps: scratch [RULE_MAPS][channels][cols]. has: scratch
 * [RULE_MAPS][names]. Errors are those of the reader. */
enum status rule_try(const struct rule_reader *reader, const struct rule_sample *sample, struct rule_pair *pair,
                     float *maps, bool *has, struct error *err);

#endif
