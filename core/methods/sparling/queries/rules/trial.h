/* Trials of pairs of motifs in a motif map: what a model answers when a pair is removed from the map, and when it is
 * put back in chosen orders and at chosen distances. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/methods/sparling/queries/rules/effects.h"

enum { RULE_MAPS = 3 + RULE_ORDERS * RULE_BINS };

/* The columns of the centres of the two motifs in a map. With one motif, both columns are the centre of this motif. */
struct rule_places {
    int at[2];
};

/* The function that reads motif maps: the model, or in tests a planted rule. */
struct rule_reader {
    void *context;
    int channels, cols, names;
    /* Reads `count` maps: [count][channels][cols]. Writes to has: [count][names] which names the model answers for each
     * map. count: at most RULE_MAPS. places: [count]. */
    enum status (*read)(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                        struct error *err);
};

/* A motif of a pair. */
struct rule_motif {
    int channel;
    float value;      /* value that trials give the motif */
    int shift, width; /* shift: distance in columns from the maximum to the centre; width: width of the extent */
};

struct rule_sample {
    const float *map; /* [channels][cols] as the model reads it */
    int from, to;     /* centres of motifs may be in [from, to) */
    uint64_t number;  /* seeds the random positions, together with the pair */
};

struct rule_pair {
    struct rule_motif first, second;
    uint64_t number;
    int tried[RULE_BINS];
    struct rule_counts *counts; /* [names] */
};

/* Tries all arrangements of a pair in a sample, and adds the answers to the pair's counts. maps: scratch
 * [RULE_MAPS][channels][cols]. has: scratch [RULE_MAPS][names]. Errors are those of the reader. */
enum status rule_try(const struct rule_reader *reader, const struct rule_sample *sample, struct rule_pair *pair,
                     float *maps, bool *has, struct error *err);

#endif
