/* Rules between two motifs: how order, distance and strand of a pair change what a model answers.
 *
 * A trial places both motifs into one sample in several arrangements and notes for a name of the labels in which of
 * them the model answers the name. The effects are differences within a sample, so what else is in the sample cancels.
 * The interval of a mean difference is that of Agresti and Min for matched pairs (Statistics in Medicine 24, 2005),
 * with sums of differences in place of counts; p is that of the two-sided sign test. Pure functions; any thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Gaps are positions between the ends of two motifs. Bin i: gaps in [rule_edges[i], rule_edges[i + 1]). The first
 * RULE_NEAR bins are near. */
enum { RULE_BINS = 6, RULE_NEAR = 2, RULE_TEXT = 256, RULE_NAME = 80 };
extern const int rule_edges[RULE_BINS + 1];

enum rule_order { FIRST_BEFORE_SECOND, SECOND_BEFORE_FIRST, RULE_ORDERS };

/* What a model answers about one name in one sample. */
struct rule_trial {
    bool neither, first, second;       /* with neither of the two motifs, and with only one */
    bool with[RULE_ORDERS][RULE_BINS]; /* with both */
};

/* Sums of the differences of one kind. */
struct rule_effect {
    int samples, more, less; /* samples; those with a positive and with a negative difference */
    double sum, squares;
};
/* Mean difference, its interval of 95 %, and p. */
struct rule_difference {
    double mean, low, high, p;
};
struct rule_difference rule_difference_of(const struct rule_effect *effect);

/* The counts of one name of the labels for one pair of motifs; they begin at zero. */
struct rule_counts {
    int samples;                                              /* number of trials */
    int neither, first, second, with[RULE_ORDERS][RULE_BINS]; /* trials in which the model answers the name */
    struct rule_effect order, distance, strand; /* of the first before the second, a short gap, one strand */
    int same, opposite;                         /* samples with the name, of strand.samples */
};
/* Adds a trial. tried: [RULE_BINS] bins that fit into the sample; the others are left out. */
void rule_counts_add(struct rule_counts *counts, const struct rule_trial *trial, const bool *tried);
/* Adds a sample in which the pair was on one strand, and on both strands. */
void rule_counts_strand(struct rule_counts *counts, bool same, bool opposite);

/* Writes the rule as text: the arrangements in which the model answers the name more often than without the motifs and
 * with one of them, such as "CTCF before GATA within 30 bases", and after "not " those in which it does so more seldom.
 * A share counts if it differs from the largest of these three by RULE_CLEAR, and that one is outside of its interval
 * of 95 %. tried: [RULE_BINS] number of trials of each bin. unit: "bases" or "positions". Returns whether there is a
 * rule; without one the text is "". */
#define RULE_CLEAR 0.15
bool rule_text(const struct rule_counts *counts, const int *tried, const char *first, const char *second,
               const char *unit, char out[RULE_TEXT]);

#endif
