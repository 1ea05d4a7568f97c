/* How well the latents of a dictionary represent the true features of planted data (the metrics of SAELens and
 * SAEBench).
 *
 * Each latent is compared with its own feature: the one whose direction has the largest |cosine|. */
#ifndef MOTIF_CORE_METRICS_LATENTS_H
#define MOTIF_CORE_METRICS_LATENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

enum { RECOVERY_DECILES = 10 };
#define RECOVERY_FOUND 0.9 /* smallest |cosine| at which a feature counts as found */

struct recovery {
    int latents, features;
    double *cosine;    /* [latents][features] cosines of the dictionary's rows with the true directions */
    int *own;          /* [latents] the latent's own feature */
    int *next, *first; /* For each feature, a list of the latents whose own feature it is. first: [features] the first
                          latent of the list; next: [latents] the latent after this one; -1: end of the list */
    int *match;        /* [latents] the feature in the one-to-one matching with the largest sum of |cosine|; -1: none */
    double mcc;        /* mean |cosine| of that matching */
    int64_t *fired, *both; /* [latents] fired: samples in which the latent is active; both: those in which its own
                              feature is active too */
    int64_t *active;       /* [features] samples in which the feature is active */
    int64_t samples;
    int64_t absorption_cases, absorbed; /* see recovery_absorb() */
    double absorbed_share;
    double *row;                    /* [features] scratch */
    struct recovery_ranked *ranked; /* [features] scratch */
};

/* Compares the rows of the dictionary with the directions of the true features; samples are added later. dictionary:
 * [latents][inputs]; truth: [features][inputs], rows of norm 1. A row of zeros has cosine 0 with all. The caller calls
 * recovery_close(), after an error too. STATUS_NO_MEMORY, STATUS_NUMERIC for numbers that are not finite, or
 * STATUS_CANCELLED when `pool` was stopped (NULL: never); the function computes on the calling thread. */
enum status recovery_create(const float *dictionary, int latents, const float *truth, int features, int inputs,
                            struct recovery *out, struct thread_pool *pool, struct error *err);
void recovery_close(struct recovery *r); /* a zeroed struct is allowed */

/* The sparse codes of one sample: the latents that are active, and the features that truly are. */
struct recovery_sample {
    const int32_t *latent;
    const float *value; /* values of the active latents; each is above 0 */
    int latents;
    const int32_t *feature;
    int features;
};
void recovery_add(struct recovery *r, const struct recovery_sample *sample);

/* Counts absorption (SAEBench) in one sample for feature `feature`, which is active and has children. The latents whose
 * own feature this is are its main latents. Absorption: another latent represents the feature in their place.
 * projection: x . direction. norm: [latents] norms of the dictionary's rows. Latent j contributes c_j = value_j norm_j
 * cosine_j. Features without main latents do not count.
 *
 * Full absorption: no main latent is active, and the latent j with the largest c_j has cosine_j >= 0.025 and c_j >= 0.4
 * projection.
 *
 * Fraction: let M be the sum of c_j over the main latents, A the sum of the three largest positive c_j of other latents
 * with cosine_j >= 0.1, and q = min(A, projection - M). The fraction is 0 if M >= projection or A < 0.4 projection, 1
 * if M <= 0, and otherwise q / (q + M). */
void recovery_absorb(struct recovery *r, const struct recovery_sample *sample, int feature, double projection,
                     const float *norm);

struct recovery_scores {
    double mcc, uniqueness; /* uniqueness: number of features that are the own feature of at least one latent, divided
                               by the number of latents */
    /* Means over all latents, dead ones too; 0 where undefined. */
    double precision, recall, f1, accuracy;
    double absorption_full, absorption_fraction; /* NaN without cases */
    double found[RECOVERY_DECILES]; /* share of the features found in each tenth of the features, which are sorted by
                                       descending frequency */
};
struct recovery_scores recovery_scores(const struct recovery *r);

/* Compares two dictionaries, or two codes of the same samples, by a one-to-one matching of their latents. */

/* The functions with a pool compute on the calling thread, and only ask `pool` whether they must stop (NULL: never).
 * When the pool was stopped, they return STATUS_CANCELLED. */

/* Finds the matching of the rows of a: [rows][inputs] with the rows of b: [others][inputs] that has the largest sum of
 * cosines, or of their absolute values. other_of: [rows], -1 without a match. cosine: [rows], signed, of the matched
 * rows; 0 without a match. mean: mean cosine of the min(rows, others) matched pairs; with `absolute`, mean absolute
 * cosine. A row of zeros has cosine 0 with all. */
enum status pairs_by_cosine(const float *a, int rows, const float *b, int others, int inputs, bool absolute,
                            int *other_of, double *cosine, double *mean, struct thread_pool *pool, struct error *err);

/* Moments of two sparse codes over the same samples, for their correlations. */
struct pair_moments {
    int rows, others;
    int64_t samples;
    double *sum, *square;             /* [rows] */
    double *other_sum, *other_square; /* [others] */
    double *cross;                    /* [rows][others] sums of products */
};
/* Creates moments without samples. The caller calls pair_moments_close(), after an error too. */
enum status pair_moments_create(int rows, int others, struct pair_moments *out, struct error *err);
void pair_moments_close(struct pair_moments *p); /* a zeroed struct is allowed */
/* Adds one sample: the non-zeros of both codes. */
void pair_moments_add(struct pair_moments *p, const int32_t *index, const float *value, int count,
                      const int32_t *other_index, const float *other_value, int other_count);
/* Matches min(rows, others) pairs of latents one to one, so that the mean |Pearson correlation| of the pairs is
 * largest, and writes this mean. A latent that is constant has correlation 0 with all. */
enum status pair_moments_mcc(const struct pair_moments *p, double *mean, struct thread_pool *pool, struct error *err);

#endif
