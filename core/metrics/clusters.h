/* Samples that come in groups, such as the recordings of a patient: what their figures tell about further groups.
 *
 * Samples of a group resemble each other, so an interval for independent samples is too narrow. These functions compute
 * the effective number of samples: that number of independent samples which would give a figure with the same variance.
 * Intervals for independent samples (interval.h) then get this number. The method is that of surveys (J. N. K. Rao,
 * A. J. Scott, A simple method for the analysis of clustered binary data, Biometrics 48, 1992; E. L. Korn,
 * B. I. Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
 * survey data, Survey Methodology 24, 1998):
 *
 *   variance   V = G / (G - 1) sum over groups of (sum over the group's samples of u)^2 / n^2, where u is the influence
 *              of a sample on the figure (y - p for a share p), and G the number of groups
 *   effective  (variance of one independent sample / V) * (1.96 / t)^2, at most n; t is Student's quantile with G - 1
 *              degrees of freedom, because V is an estimate from G groups
 *
 * A cluster is a group or, with more than CLUSTERS groups, several groups that are counted together. This bounds the
 * memory, and the estimate stays right. Arrays are [CLUSTERS]; a cluster without samples is no group. If all samples
 * are of one cluster, the effective number is that of the samples: the figure is then about this group only. Pure
 * functions; any thread. */
#ifndef MOTIF_CORE_METRICS_CLUSTERS_H
#define MOTIF_CORE_METRICS_CLUSTERS_H

#include <stdint.h>

#include "core/base/error.h"

enum { CLUSTERS = 64 };

/* Effective number of samples of the share with / of. If all or none of the samples are counted, each cluster counts as
 * one sample. */
double clusters_of_share(const int64_t *with, const int64_t *of);
/* Effective number of samples of the phi coefficient of two facts (association.h). n: samples; first, second, both:
 * samples for which the first fact, the second, and both are true. If a fact never varies, the number of samples. */
double clusters_of_phi(const int64_t *n, const int64_t *first, const int64_t *second, const int64_t *both);
/* Effective number of samples of a figure, from the sums of u of its clusters. n: samples of the clusters; one:
 * variance of one independent sample. */
double clusters_effective(const double *sum, const int64_t *n, double one);
/* The exact test whether the differences of clusters lean to the positive side. Without a lean, each difference is as
 * likely as its opposite (R. A. Fisher, The Design of Experiments, 1935, section 21). *p: the probability that random
 * signs give at least the sum of net[count]; the smallest possible value is 2^-count. STATUS_NO_MEMORY. */
enum status clusters_sign_test(const int64_t *net, int count, double *p, struct error *err);

#endif
