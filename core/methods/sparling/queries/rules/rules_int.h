/* Private declarations of the files of the query "rules". */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H

#include "core/methods/sparling/queries/rules/trial.h"
#include "core/methods/sparling/queries/sites/sites.h"

struct rule_left {
    int first, second; /* channels */
};

/* The query in progress. */
struct rules {
    const struct method_question *question;
    const struct rules_parameters *asked;
    struct inquiry inquiry; /* inquiry.planes has room for one sample */
    int channels, cols, names;
    int64_t samples;          /* number of samples that were tried */
    struct rule_motif *motif; /* [channels] */
    int *with; /* [channels] number of samples with the channel; a channel with fewer than RULE_LEAST is left out */
    struct rule_pair *pair;     /* [pairs] */
    struct rule_counts *counts; /* [pairs][names] */
    int pairs;
    /* For each pair, how many samples of the data set contain each set of arrangements (support.c): [pairs][RULE_SETS].
     * `searched` samples were read. */
    uint16_t *sets;
    int64_t searched;
    struct rule_left *left;     /* [lefts] pairs that the query left out, because they would take too long */
    int lefts, unseen;          /* unseen: number of pairs of which the data set contains no arrangement often enough */
    bool *doubtful;             /* [pairs][names] whether a pair seems to have a rule about a name */
    struct rule_counts *single; /* [channels][names] trials of each motif alone (first) and without it (neither) */
    int first_name;             /* names with a lower index are no answers; 1 if labels are at positions, else 0 */
    double quantile;            /* normal quantile of the intervals that decide about rules */
    struct map_shape shape;     /* shape of a motif map */
    float *map;                 /* [channels][cols] of the current sample */
    float *maps;                /* [RULE_MAPS][channels][cols] */
    bool *has;                  /* [RULE_MAPS][names] */
    bool strands;
};
enum { RULE_LEAST = 5, RULE_SETS = 1 << (RULE_ORDERS * RULE_BINS) };

/* Counts the arrangements of all pairs in the data set, and fills `samples` and `seen` of their evidence. */
enum status rules_support(struct rules *rules, struct error *err);
/* Returns how many samples of the data set contain a pair in one of the arrangements that have a mark. */
int rules_samples(const struct rules *rules, int pair, const int marks[RULE_ORDERS][RULE_BINS]);
/* Writes the answer. */
void rules_write(const struct rules *rules, const struct sink *out);

/* Draws sample `index` of the test set into rules->inquiry.planes. *length: number of positions without padding.
 * *end: the set has no such sample. */
enum status rules_sample(struct rules *rules, int64_t index, int *length, bool *end, struct error *err);
/* Computes the motif map of rules->inquiry.planes into rules->map, as the head reads it. */
enum status rules_map(struct rules *rules, struct error *err);
/* The function `read` of struct rule_reader; `context` is the struct rules. */
enum status rules_read(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                       struct error *err);
/* Measures the effect of strands and adds it to the counts of all pairs. Only for models of DNA. */
enum status rules_strands(struct rules *rules, struct error *err);

#endif
