/* Statistics of a pair (W, b) (arXiv:2410.12101, section 1.9): each in the paper's definition and, where it differs, as
 * the authors' code computes it. A feature is dropped when W_ii is below half the median of the diagonal. */
#ifndef MOTIF_CORE_SUPERPOSED_STATISTICS_H
#define MOTIF_CORE_SUPERPOSED_STATISTICS_H

#include "core/superposed/model.h"
#include "core/superposed/rug.h"

/* NaN marks a figure that does not apply.
 * Variances are unbiased. */
struct statistics {
    double diagonal_mean, diagonal_sd; /* mean and deviation of W_ii over all features */
    double kept_diagonal_mean, kept_diagonal_sd;
    double bias_mean, bias_sd, kept_bias_mean, kept_bias_sd;
    double dropped;                                          /* fraction of the features that are dropped */
    double off_mean, off_sd, off_skewness, off_min, off_max; /* statistics of all W_ij with i != j */
    double row_sum;                                          /* mean over rows of the sum of off-diagonal entries */
    double noise;          /* mean over kept rows of Var(nu_i); nu_i: interference at feature i, divided by W_ii */
    double noise_variance; /* variance over kept rows of Var(nu_i) (Fig. 6) */
    /* noise_variance as the authors' code computes it: with the diagonal, not divided by W_ii, over all rows */
    double noise_variance_code;
    /* mean_variance: variance over rows of the mean of nu, the interference in the row. mean_variance_code: the same as
     * the authors' code computes it, which includes the diagonal in the mean */
    double mean_variance, mean_variance_code;
    double saturation;    /* noise divided by the bound of eq. (6), at least 1; for kept rows and columns only */
    double lyapunov;      /* largest value over all rows of sum |W_ij|^3 / (sum W_ij^2)^1.5, eq. (3) */
    double kept_lyapunov; /* largest value over the kept rows of sum |W_ij|^3 / (sum W_ij^2)^1.5, eq. (3) */
    double lyapunov_code; /* largest value over all rows of sum |W_ij|^3 / sum W_ij^2, with the diagonal: eq. (3) in the
                             authors' code */
    double symmetric, antisymmetric; /* Frobenius norms of (W +- W') / 2 */
    double kolmogorov, kolmogorov_p; /* Kolmogorov-Smirnov distance of up to 1000 standardised nu_0 from a normal
                                        distribution, and its p-value */
};

/* Computes the statistics of a trained model in blocks of rows on the thread pool. `seed` draws the samples of the
 * Kolmogorov-Smirnov test. */
enum status statistics_model(const struct autoencoder *model, struct thread_pool *pool, const struct kernels *kernels,
                             double p, uint64_t seed, struct statistics *out, struct error *err);
/* Computes the statistics of a rug with the given scale and offset from its first row. */
enum status statistics_rug(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, double p,
                           double scale, double offset, uint64_t seed, struct statistics *out, struct error *err);

/* Number of samples that the test for normality draws for a model of n features. These samples take most of the time of
 * the statistics. */
int statistics_samples(int n);

#endif
