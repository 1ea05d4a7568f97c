/* Rules between two motifs: how order, distance and strand of a pair change what a model answers.
 *
 * A trial places both motifs into one sample in several arrangements. For each name of the labels, it notes with
 * which arrangements the model answers the name. An effect is a difference between arrangements in the same sample,
 * so the rest of the sample does not bias the effect. The interval of a mean difference is that of Agresti and Min
 * for matched pairs (Statistics in Medicine 24, 2005), with sums of differences instead of counts. p is that of the
 * two-sided sign test. Pure functions; any thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Gaps are positions between the ends of two motifs. Bin i: gaps in [rule_edges[i], rule_edges[i + 1]). The first
 * RULE_NEAR bins are near. */
enum { RULE_BINS = 6, RULE_NEAR = 2, RULE_TEXT = 256, RULE_NAME = 80 };
extern const int rule_edges[RULE_BINS + 1];

enum rule_order { FIRST_BEFORE_SECOND, SECOND_BEFORE_FIRST, RULE_ORDERS };

/* States for each arrangement of the motifs in one sample whether the model answers one name. */
struct rule_trial {
    bool neither, first, second;       /* with neither motif, with only the first, and with only the second */
    bool with[RULE_ORDERS][RULE_BINS]; /* with both */
};

/* Sums over samples of the differences that one property of the arrangement makes: order, distance or strand. */
struct rule_effect {
    int samples, more, less; /* more, less: numbers of samples with a positive and with a negative difference */
    double sum, squares;
};
/* Mean difference, its interval of 95 %, and p. */
struct rule_difference {
    double mean, low, high, p;
};
struct rule_difference rule_difference_of(const struct rule_effect *effect);

/* The counts of one name of the labels for one pair of motifs; they begin at zero. */
struct rule_counts {
    int samples; /* number of trials */
    /* numbers of trials in which the model answers the name: with neither motif, with only the first, with only the
     * second, and with both in each arrangement */
    int neither, first, second, with[RULE_ORDERS][RULE_BINS];
    /* Effects of three properties: first before second, a short gap, both on one strand. */
    struct rule_effect order, distance, strand;
    int same, opposite; /* numbers of samples, of the strand.samples that were tried, in which the model answers the
                           name. same: with the pair on one strand; opposite: with the pair on opposite strands */
};
/* Adds a trial. tried: [RULE_BINS] whether the gaps of a bin fit into the sample; other bins are not counted. */
void rule_counts_add(struct rule_counts *counts, const struct rule_trial *trial, const bool *tried);
/* Adds a sample. same, opposite: whether the model answers the name if the pair is on one strand, and if one motif
 * is on the other strand. */
void rule_counts_strand(struct rule_counts *counts, bool same, bool opposite);

/* Writes a rule as text, such as "CTCF before GATA within 30 bases". The share of an arrangement is the share of its
 * trials in which the model answers the name. The reference is the largest of three shares: with neither motif, with
 * the first only, and with the second only. The text names the arrangements whose share is above the reference, and
 * after "not " those whose share is below it. An arrangement counts if its share differs from the reference by at least
 * RULE_CLEAR, and if the reference is outside of the 95 % interval of the share. tried: [RULE_BINS] number of trials of
 * each bin. unit: "bases" or "positions". Returns whether there is a rule; if there is none, the text is "". */
#define RULE_CLEAR 0.15
bool rule_text(const struct rule_counts *counts, const int *tried, const char *first, const char *second,
               const char *unit, char out[RULE_TEXT]);

#endif
