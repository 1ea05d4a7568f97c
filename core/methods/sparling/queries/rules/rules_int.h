/* Private declarations of the files of the query "rules". */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_RULES_INT_H

#include "core/methods/sparling/queries/rules/trial.h"
#include "core/methods/sparling/queries/query_model.h"

struct rule_left {
    int first, second; /* channels */
};

/* A pair or a channel, and the number of samples that contain it. */
struct rule_ranked {
    int index, samples;
};

/* The motifs of a sample of the data set. */
struct rule_found {
    int *centre; /* [channels][RULE_PLACES] columns of their centres */
    int *count;  /* [channels] number of motifs; further ones than RULE_PLACES are left out */
};

/* What the labels of the data set say about a rule. */
struct rule_checked {
    int pair, name;
    struct rule_sets sets;
    struct rule_labels labels;
};

struct rules_controls; /* controls.c defines it */

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
    struct rule_left *left; /* [lefts] pairs that the query left out, because they would take too long */
    int lefts, unseen;      /* unseen: number of pairs of which the data set contains no arrangement often enough */
    struct rules_controls *controls; /* while controls are measured */
    struct rule_checked *checked;    /* [checks] the rules that the labels can confirm, by pair and name */
    int checks;
    bool *listed;           /* [pairs][names] whether the answer lists a name */
    int first_name;         /* names with a lower index are no answers; 1 if labels are at positions, else 0 */
    double quantile;        /* normal quantile of the intervals that decide about rules */
    struct map_shape shape; /* shape of a motif map */
    float *map;             /* [channels][cols] of the current sample */
    float *maps;            /* [RULE_MAPS][channels][cols] */
    bool *has;              /* [RULE_MAPS][names] */
    bool strands;
};
enum { RULE_LEAST = 5, RULE_PLACES = 64, RULE_SETS = 1 << (RULE_ORDERS * RULE_BINS) };

/* Makes the list of all pairs that the question asks for, without counts. Refuses more than 2048 pairs. */
enum status rules_make_pairs(struct rules *rules, struct error *err);
/* Keeps a pair only if the data set contains an arrangement of the pair often enough. If the limit of trials or of
 * memory does not allow all these pairs, keeps the most frequent ones and leaves the others out. If the question names
 * both channels of a pair, the pair always stays. Makes the counts of the pairs that stay. */
enum status rules_keep_pairs(struct rules *rules, struct error *err);
/* Removes the pairs that do not stay. stays: [pairs] */
void rules_drop_pairs(struct rules *rules, const bool *stays);
/* Adds a pair to the list of pairs that the query left out. */
void rules_leave_out(struct rules *rules, int pair);
/* Returns how many trials the question allows for each sample; at least 1. */
int rules_limit(const struct rules *rules);
/* Returns how many samples of the data set contain a pair in an arrangement that is frequent enough. */
int rules_seen_samples(const struct rules *rules, int pair);
/* Sorts a list by descending number of samples, and by ascending index if the numbers are the same. */
void rules_rank(struct rule_ranked *list, int count);

/* Counts the arrangements of all pairs in the data set, and fills `samples` and `seen` of their evidence. */
enum status rules_support(struct rules *rules, struct error *err);
/* Returns how many samples of the data set contain a pair in one of the arrangements that have a mark. */
int rules_samples(const struct rules *rules, int pair, const int marks[RULE_ORDERS][RULE_BINS]);
/* Finds the motifs in up to 10,000 samples of the data set, at equal distances, and calls `see` for each sample. truth:
 * the truth of the sample, NULL unless `labels`. */
typedef void (*rules_see)(struct rules *rules, const struct rule_found *found, const struct domain_truth *truth);
enum status rules_search(struct rules *rules, bool labels, rules_see see, struct error *err);
/* Returns the set of the arrangements (rule_bit) of a pair in a sample. */
unsigned rules_found(const struct rules *rules, int pair, const struct rule_found *found);
/* Compares all rules with the labels of the data set, and fills rules->checked. Does nothing if labels are at positions
 * or no pair has a rule. */
enum status rules_check_labels(struct rules *rules, struct error *err);
/* Adds the label of a sample to the entries of rules->checked. */
void rules_add_labels(struct rules *rules, const struct rule_found *found, const struct domain_truth *truth);
/* Returns the entry of rules->checked; NULL if there is none. */
const struct rule_checked *rules_checked(const struct rules *rules, int pair, int name);
/* rule_mark() with controls, without the marks that the labels contradict. */
bool rules_marks(const struct rules *rules, int pair, int name, int marks[RULE_ORDERS][RULE_BINS]);
/* Sets rules->quantile, and measures the controls of the arrangements that seem to have a rule. Leaves out pairs whose
 * controls exceed the limit of trials. */
enum status rules_measure_controls(struct rules *rules, struct error *err);
/* Fills rules->listed. */
enum status rules_list(struct rules *rules, struct error *err);
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
struct rule_reader rules_reader(struct rules *rules);
/* Calls `try` for all samples that have room for motifs. */
enum status rules_each_sample(struct rules *rules,
                              enum status (*try)(struct rules *, const struct rule_sample *, struct error *),
                              struct error *err);
/* Measures the effect of strands and adds it to the counts of all pairs. Only for models of DNA. */
enum status rules_strands(struct rules *rules, struct error *err);

#endif
