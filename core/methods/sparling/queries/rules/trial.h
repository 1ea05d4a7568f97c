/* Trials of pairs of motifs in a motif map: what a model answers when a pair is removed from the map, and when it is
 * put back in chosen orders and at chosen distances. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_TRIAL_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/methods/sparling/queries/rules/effects.h"

/* RULE_MAPS: the largest number of maps that are read at once. */
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
    bool all;                      /* try also arrangements that the data set does not contain often enough */
    struct rule_evidence evidence; /* samples and seen are input; trials fill the rest */
    struct rule_counts *counts;    /* [names] */
};

/* Finds the arrangements of two motifs in a sample. one, other: columns of the centres of the motifs of each channel.
 * Motifs that overlap have no arrangement. Returns the set of the bits of the arrangements (rule_bit). */
unsigned rule_arrangements(const struct rule_motif *first, const int *one, int ones, const struct rule_motif *second,
                           const int *other, int others);

/* Tries the arrangements of a pair in a sample, and adds the answers to the pair's counts. An arrangement is an order
 * of the motifs and a bin, a range of gaps. A bin that fits into the sample is tried in both orders if the data set
 * contains one of these arrangements often enough (seen), or if pair->all is set. maps: scratch
 * [RULE_MAPS][channels][cols]. has: scratch [RULE_MAPS][names]. Errors are those of the reader. */
enum status rule_try(const struct rule_reader *reader, const struct rule_sample *sample, struct rule_pair *pair,
                     float *maps, bool *has, struct error *err);

/* Tries the controls of a pair in a sample. The motifs have the same places as in rule_try(). wanted: [RULE_BINS] the
 * bins to try. third: the motif that replaces one of the pair; NULL: only controls with one motif. */
enum status rule_try_controls(const struct rule_reader *reader, const struct rule_sample *sample,
                              struct rule_pair *pair, const struct rule_motif *third, const bool *wanted, float *maps,
                              bool *has, struct error *err);

#endif
