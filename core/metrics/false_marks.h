/* How many of the marks of a channel are false, calibrated on inputs in which each of its marks is false.
 *
 * Some inputs certainly lack what a channel marks, because their labels lack its name. All marks of the channel in such
 * inputs, the negatives, are false. The false marks of a further input are assumed to be drawn as those of a negative.
 * This holds for an input without the name from the same source, and an input with the name has no more room for false
 * marks than one without. docs/explanation/error-rate.md explains the figures for users.
 *
 * Let n be the number of negatives and m that of the inputs of a query. F_i(t) is the number of false marks of input i
 * with a score of at least t, S(t) its sum over the negatives, V(t) its sum over the query, and R(t) the number of all
 * marks of the query with a score of at least t.
 *
 * p. A mark of score s has p = (1 + number of negatives with a mark of at least s) / (n + 1). This is the conformal
 * p-value of the strongest mark of an input (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World,
 * 2005). An input without the name has a mark with p <= a with a probability of at most a.
 *
 * q. Let B(t) be the largest F_i(t) of a negative, at least 1, and r(t) = (B(t) + S(t)) / (n + 1). q(s) is the minimum
 * of m r(t) / R(t) over t <= s. For any t, the mean of V(t) / (B + S(t)) is at most m / (n + 1): if F_j <= B, then
 * F_j / (B + S) <= F_j / (F_j + S), and the mean of the latter over the n + 1 exchangeable inputs is at most 1 / (n +
 * 1). If no input has two false marks, q is the adjusted p-value of Benjamini and Hochberg over m hypotheses, one for
 * each input, which controls the expected share of false marks with conformal p-values (S. Bates, E. Candès, L. Lei, Y.
 * Romano, M. Sesia, Testing for outliers with conformal p-values, Annals of Statistics 51, 2023).
 *
 * bound. An upper bound of V(t) that holds for all t at the same time with the stated probability, so also for a
 * threshold that was chosen after looking. Let V_k(t) be the number of query inputs with at least k false marks of at
 * least t, and S_k(t) that of the negatives; V is the sum of the V_k. The order of the k-th strongest false marks of
 * n + m exchangeable inputs is uniform. So the number of query inputs before the (g + 1)-th negative has the negative
 * hypergeometric distribution, whatever the distribution of the scores is. U_k(g) is its quantile for an error that is
 * shared among a grid of values g and the levels k (2^-k of the whole error for level k). By the union bound,
 * V_k(t) <= U_k(g) for all t with S_k(t) <= g. Let R_k(t) be the number of query inputs with at least k marks of at
 * least t. Then also V_k(t) <= R_k(t), and V_k(t) <= V_k(u) + R_k(t) - R_k(u) for u >= t (C. Genovese, L. Wasserman,
 * Exceedance control of the false discovery proportion, JASA 101, 2006; an envelope of the process of conformal
 * p-values as in U. Gazin, G. Blanchard, E. Roquain, Transductive conformal inference with adaptive scores, AISTATS
 * 2024).
 *
 * If inputs come in groups, the negatives count as `effective` independent ones (clusters.h). Ties count as false. Pure
 * functions; any thread. */
#ifndef MOTIF_CORE_METRICS_FALSE_MARKS_H
#define MOTIF_CORE_METRICS_FALSE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The strongest marks of the negatives of a channel. */
struct false_marks {
    int64_t inputs;            /* number of negatives */
    double effective;          /* effective number of negatives, at most `inputs` */
    int64_t count;             /* number of marks in the list */
    bool cut;                  /* true: the negatives have more marks, which are weaker than those in the list */
    const float *score;        /* [count] falling */
    const unsigned char *rank; /* [count] rank of the mark among those of its input: 1 for the strongest; at most 255;
                                  NULL: all have 1 */
};

/* A mark of a query. */
struct false_mark {
    double score;
    int64_t input; /* index of its input */
    bool part; /* true: a part of a stronger mark. It has a q, but it is no mark of its own in R(t) and the bound. */
};

/* p of a score; 1 if the list was cut above this score, NaN without negatives. */
double false_marks_p(const struct false_marks *known, double score);
/* q of each mark of a channel. marks: [count], all marks of the channel in the query, in any order. q: [count]. NaN
 * without negatives. Error: STATUS_NO_MEMORY. */
enum status false_marks_q(const struct false_marks *known, const struct false_mark *marks, int64_t count,
                          int64_t inputs, double *q, struct error *err);
/* q is the same for all marks between two neighbouring scores of the negatives. So it can be computed from counts,
 * without a list of the marks: step k has the marks to which k marks of the negatives are at least equal. marks:
 * [known->count + 1] marks of the query in each step, without parts; q: the same size. */
int64_t false_marks_step(const struct false_marks *known, double score);
void false_marks_step_q(const struct false_marks *known, const int64_t *marks, int64_t inputs, double *q);
/* The bound of the number of false marks among the marks with a score of at least `least`. error: the probability that
 * the bound fails for any `least`. Without negatives it is the number of marks. Error: STATUS_NO_MEMORY. */
enum status false_marks_bound(const struct false_marks *known, const struct false_mark *marks, int64_t count,
                              int64_t inputs, double least, double error, int64_t *bound, struct error *err);

/* Smallest v for which the number of query inputs before the (g + 1)-th negative exceeds v with a probability of at
 * most `error`: the quantile of the negative hypergeometric distribution with `negatives` and `inputs`. g <
 * negatives. */
int64_t false_marks_quantile(int64_t negatives, int64_t inputs, int64_t g, double error);

#endif
