/* How many of a model's marks are false, from the answers of a person about some of them.
 *
 * The marks are listed in strata: by name, and within a name by q (false_marks.h). A draw takes one mark. Each block of
 * REVIEW_BLOCK draws cuts the list into as many strata of equal size and takes one mark from each, in a random order.
 * Draw k depends on the seed, k and the number of marks only, so a longer review begins with the draws of a shorter
 * one. A mark at the border of two strata can be drawn twice in a block; its answer then counts twice.
 *
 * Estimate. Let S be the number of false marks among the first n draws. Each mark is expected n / N times among them,
 * so S / n estimates the false share of all N marks without bias; all strata have equal weights.
 *
 * Interval. The draws of a block are independent, with different probabilities of a false mark in different strata. So
 * the number of false marks in a whole block is a sum of independent, unequal coin tosses: its generating function has
 * real zeros only. The first j draws are a random part of a block. Their generating function has real zeros only, too
 * (the polarisation of the function is stable by the theorem of Grace, Walsh and Szegő, and replacing variables by 1
 * keeps it stable), so S is always a sum of n independent coin tosses, and their mean probability is the false share P.
 * W. Hoeffding (On the distribution of the number of successes in independent trials, Annals of Mathematical Statistics
 * 27, 1956) proved that such a sum is in no tail more probable than the binomial distribution with n and P, if the tail
 * is at least one trial away from n P. The tails that the interval of Clopper and Pearson (C. Clopper, E. Pearson, The
 * use of confidence or fiducial limits, Biometrika 26, 1934) cuts off are so far away, because P(S <= n P) > 1/4 for a
 * binomial S unless P > 1 - 1/n (S. Greenberg, M. Mohri, Tight lower bound on the probability of a binomial exceeding
 * its expectation, Statistics and Probability Letters 86, 2014). In the remaining case, a limit for one false or one
 * right mark, P(S >= 1) <= n P replaces the binomial tail (Markov). So the interval covers P with at least the stated
 * probability, for every set of marks, at any number of answers that was fixed in advance.
 *
 * Part of the marks, such as those of one name: S counts false marks in the part only. The interval of S / n is that of
 * the product of the part's false share and the part's share of all marks, which is known. In a whole block, only draws
 * from strata that overlap the part count as trials.
 *
 * Unsure answers, and draws that were skipped before an answered one, may be right or false: the lower end of the
 * interval counts them as right, the upper end as false, and the estimate leaves them out. If all marks of a part have
 * an answer yes or no, the share is known, and the interval is a point.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_CORE_METRICS_REVIEW_H
#define MOTIF_CORE_METRICS_REVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/metrics/interval.h"

enum { REVIEW_BLOCK = 20 };

/* What the person says about a mark: it is right, it is false, or the person does not know. */
enum review_answer { REVIEW_NONE, REVIEW_YES, REVIEW_NO, REVIEW_UNSURE };

struct review {
    int64_t marks;               /* number of marks in the list, at least 1 */
    const unsigned char *answer; /* [marks] enum review_answer */
    uint64_t seed;
    int64_t most; /* number of draws; later ones do not count, even if their marks have answers */
};

struct review_estimate {
    int64_t marks;            /* number of marks in the part */
    int64_t answers, yes, no; /* answers: draws in the part that count; yes, no: those with this answer */
    int64_t unsure;           /* those that were answered with unsure, or skipped */
    double share;             /* estimated share of false marks; NaN without an answer yes or no */
    struct interval interval; /* of the false share */
    bool exact;               /* every mark of the part has an answer yes or no */
};

/* Returns the index of the mark that draw k takes, 0 <= k. */
int64_t review_draw(int64_t marks, uint64_t seed, int64_t k);
/* Computes the estimate for a part of the marks. The draws count up to the last one that took a mark with an answer for
 * the first time; later draws count as long as they repeat marks with answers. inside: [marks] which marks belong to
 * the part; NULL: all. error: probability that the interval does not cover the share, such as 0.05. */
void review_estimate(const struct review *review, const bool *inside, double error, struct review_estimate *out);

/* The exact interval of the mean probability of `count` independent trials of which `hits` succeeded, as derived above;
 * it differs from that of Clopper and Pearson for 1 and count - 1 hits only. [0, 1] without trials. */
struct interval review_interval(int64_t hits, int64_t count, double error);

/* A limit of the marks' keys, such as of q: a stricter limit leaves out more false marks. */
struct review_threshold {
    double limit;                    /* marks with a key of at most this are kept */
    struct review_estimate estimate; /* of the marks that are kept */
};
/* Finds the largest of the given limits with an estimated false share of at most `wanted` among the marks that are
 * kept. key: [marks]; NaN: never kept. limits: [count] rising. The interval is so wide that those of all limits hold at
 * the same time, so it holds although the limit was chosen after looking. room: [marks]. Returns false if there is no
 * such limit. */
bool review_threshold(const struct review *review, const double *key, const double *limits, int count, double wanted,
                      double error, bool *room, struct review_threshold *out);

#endif
