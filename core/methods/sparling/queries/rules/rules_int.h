/* What the files of the query "rules" share. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H

#include "core/methods/sparling/queries/rules/trial.h"
#include "core/methods/sparling/queries/sites/sites.h"

/* The query in progress. */
struct rules {
    const struct method_question *question;
    const struct rules_parameters *asked;
    struct inquiry inquiry; /* planes: one sample */
    int channels, cols, names;
    int64_t samples;          /* number of samples that were tried */
    struct rule_motif *motif; /* [channels] */
    int *with;                /* [channels] samples with the channel; fewer than RULE_LEAST: the channel is left out */
    struct rule_pair *pair;   /* [pairs] */
    struct rule_counts *counts; /* [pairs][names] */
    int pairs;
    struct map_shape shape; /* of a motif map */
    float *map;             /* [channels][cols] of the current sample */
    float *maps;            /* [RULE_MAPS][channels][cols] */
    bool *has;              /* [RULE_MAPS][names] */
    bool strands;
};
enum { RULE_LEAST = 5 };

/* Draws sample `index` of the test set into rules->inquiry.planes. *length: positions that belong to it. *end: the set
 * has no such sample. */
enum status rules_sample(struct rules *rules, int64_t index, int *length, bool *end, struct error *err);
/* Computes the motif map of rules->inquiry.planes into rules->map, as the head reads it. */
enum status rules_map(struct rules *rules, struct error *err);
/* The reader of maps; its context is the query. */
enum status rules_read(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                       struct error *err);
/* Measures the effect of strands: adds to the counts of all pairs. Only for models of DNA. */
enum status rules_strands(struct rules *rules, struct error *err);

#endif
