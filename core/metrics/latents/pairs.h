/* Compares two dictionaries, or two codes of the same samples, by a one-to-one matching of their latents. */
#ifndef MOTIF_CORE_METRICS_LATENTS_PAIRS_H
#define MOTIF_CORE_METRICS_LATENTS_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

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
