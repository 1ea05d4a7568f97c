/* Rules between two motifs: how order, distance and strand of a pair change what a model answers.
 *
 * A trial places both motifs into one sample in several arrangements. For each name of the labels, it notes with
 * which arrangements the model answers the name. An effect is a difference between arrangements in the same sample,
 * so the rest of the sample does not bias the effect. The interval of a mean difference is that of Agresti and Min
 * for matched pairs (Statistics in Medicine 24, 2005), with sums of differences instead of counts. p is that of the
 * two-sided sign test.
 *
 * An effect of a pair may come from one of its motifs alone, for example if a model seldom reads this motif near the
 * end of a sequence. Controls show this: they are trials with one motif at its place, without the other motif or with
 * a third one instead. Pure functions; any thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RULES_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Gaps are positions between the ends of two motifs. Bin i: gaps in [rule_edges[i], rule_edges[i + 1]). The first
 * RULE_NEAR bins are near. RULE_TEXT: room for the longest rule, with two long names and marks that alternate. */
enum { RULE_BINS = 6, RULE_NEAR = 2, RULE_TEXT = 1280, RULE_NAME = 80 };
extern const int rule_edges[RULE_BINS + 1];

enum rule_order { FIRST_BEFORE_SECOND, SECOND_BEFORE_FIRST, RULE_ORDERS };
/* Returns the bit of an arrangement in a set of arrangements. */
static inline unsigned rule_bit(int order, int bin)
{
    return 1U << (order * RULE_BINS + bin);
}

/* States for each arrangement of the motifs in one sample whether the model answers one name. */
struct rule_trial {
    bool neither, first, second;       /* with neither motif, with only the first, and with only the second */
    bool with[RULE_ORDERS][RULE_BINS]; /* with both */
};

/* What replaces one motif of a pair in a control. The motif that remains keeps its place. */
enum rule_control {
    CONTROL_FIRST,        /* the first motif alone */
    CONTROL_SECOND,       /* the second motif alone */
    CONTROL_FIRST_THIRD,  /* the first motif, and a third one at the place of the second */
    CONTROL_THIRD_SECOND, /* a third motif at the place of the first, and the second motif */
    RULE_CONTROLS
};

/* What holds for all names of a pair. */
struct rule_evidence {
    int bins;             /* number of ranges of gaps that fit into a sample */
    int tried[RULE_BINS]; /* number of trials of each bin */
    /* Numbers of samples of the data set that contain the pair in an arrangement, and whether this is enough for a
     * rule. */
    int samples[RULE_ORDERS][RULE_BINS];
    bool seen[RULE_ORDERS][RULE_BINS];
    int controlled[RULE_BINS]; /* number of trials of the controls of each bin */
    bool third;                /* whether these trials include those with a third motif */
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
    /* Effects on the model's answer. order: the first motif before the second, compared with the second before the
     * first; distance: a short gap between the motifs, compared with a long gap; strand: both motifs on one strand,
     * compared with opposite strands */
    struct rule_effect order, distance, strand;
    int control[RULE_CONTROLS][RULE_ORDERS][RULE_BINS]; /* number of controls in which the model answers the name */
    int same, opposite; /* numbers of samples in which the model answers the name: with both motifs on one strand, and
                           with the motifs on opposite strands. strand.samples samples were tried */
};
/* Adds a trial. tried: [RULE_BINS] whether the trial contains a bin (a range of gaps); other bins are not counted.
 * used: the arrangements that count for the effects of order and distance. */
void rule_counts_add(struct rule_counts *counts, const struct rule_trial *trial, const bool *tried,
                     const bool used[RULE_ORDERS][RULE_BINS]);
/* Adds a sample in which both strands were tried. same: whether the model answers the name if both motifs are on one
 * strand. opposite: whether it does if they are on opposite strands. */
void rule_counts_strand(struct rule_counts *counts, bool same, bool opposite);

/* Returns the normal quantile of `tests` simultaneous two-sided intervals of 95 % (Bonferroni). tests: at least 1. */
double rule_quantile(double tests);

/* Decides for which arrangements there is a rule about one name.
 *
 * The share of an arrangement is the share of its trials in which the model answers the name. The reference is the
 * largest of three shares: with neither motif, with the first only, and with the second only. marks: 1 if the share is
 * above the reference, -1 if it is below the reference, and 0 without a rule. A rule requires:
 *   1. Enough samples of the data set contain the arrangement (seen).
 *   2. The share differs from the reference by at least RULE_CLEAR, and Newcombe's interval of this difference does not
 *      contain 0. quantile: the normal quantile of the interval.
 *   3. Only with `controlled`, and if there are controls: the share also differs from the shares of the controls. With
 *      only one of the motifs at its place, condition 2 must hold for the larger of the two shares. With a third motif
 *      in place of one of the two, the interval alone must exclude 0 for the larger share, and it is that of a single
 *      test of 95 %, because the third motif may have a rule of its own.
 * Returns whether any arrangement has a rule. */
#define RULE_CLEAR 0.15
bool rule_mark(const struct rule_counts *counts, const struct rule_evidence *evidence, double quantile, bool controlled,
               int marks[RULE_ORDERS][RULE_BINS]);

/* ---- labels of the data set ----------------------------------------------------------------------------------- */

/* The samples of the data set, by what they have of a pair. MORE and LESS: an arrangement that a rule marks with 1 and
 * with -1; OTHER: only arrangements that the query has tried and that no rule marks; FIRST and SECOND: only one of the
 * two motifs. */
enum rule_group { GROUP_MORE, GROUP_LESS, GROUP_OTHER, GROUP_FIRST, GROUP_SECOND, RULE_GROUPS };
/* Sets of arrangements (rule_bit) of a rule about one name. */
struct rule_sets {
    unsigned more, less, other;
};
/* For each group: its number of samples, and how many of them have the name in their label. */
struct rule_labels {
    int of[RULE_GROUPS], with[RULE_GROUPS];
};
struct rule_sets rule_sets_of(const struct rule_evidence *evidence, const int marks[RULE_ORDERS][RULE_BINS]);
/* Adds a sample. found: its arrangements of the pair. first, second: whether it contains the motifs. has: whether its
 * label has the name. */
void rule_labels_add(struct rule_labels *labels, const struct rule_sets *sets, unsigned found, bool first, bool second,
                     bool has);
/* Returns the group with which the labels of samples with the mark `mark` (1 or -1) are compared. It is the first of
 * these groups that has at least `support` samples: OTHER; FIRST or SECOND, whichever has the name more often; the
 * samples with the opposite mark. RULE_GROUPS: no group has enough samples. */
enum rule_group rule_labels_reference(const struct rule_labels *labels, int mark, int support);
/* Returns false if the labels contradict the mark `mark` (1 or -1). They agree if the name is more frequent (or rarer)
 * in the samples with these arrangements than in the reference, and Newcombe's interval of 95 % of the difference does
 * not contain 0. Without a reference the labels decide nothing, and the result is true. */
bool rule_labels_agree(const struct rule_labels *labels, int mark, int support);

/* Writes a rule as text, such as "CTCF before GATA within 30 bases". The text names the arrangements with the mark 1,
 * and after "not " those with the mark -1. bins: number of ranges of gaps that fit into a sample. unit: "bases" or
 * "positions". Without marks, the text is "". */
void rule_text(const int marks[RULE_ORDERS][RULE_BINS], int bins, const char *first, const char *second,
               const char *unit, char out[RULE_TEXT]);

#endif
