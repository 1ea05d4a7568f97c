/* MT19937 with the rules of numpy's legacy generator, so that published data sets can be drawn
 * again bit for bit. Used for data and bootstrap only; everything else draws from philox.h.
 * Plain values: copy them, each thread its own. */
#ifndef MOTIF_CORE_BASE_MT19937_H
#define MOTIF_CORE_BASE_MT19937_H

#include <stdint.h>

struct mt19937 {
    uint32_t state[624];
    uint32_t words[624]; /* the state, tempered: what is handed out */
    int next;            /* the next of words; 624: all are used up */
};

void mt19937_init(struct mt19937 *rng, uint32_t seed);
uint32_t mt19937_u32(struct mt19937 *rng);
/* In [0, 1), 53 bits, two words. */
double mt19937_uniform(struct mt19937 *rng);
/* The next `count` of them: the same values, faster. */
void mt19937_uniforms(struct mt19937 *rng, double *out, int count);
/* In [low, high), by masking and rejection; no draw when there is one value only.
 * Requires low < high and high - low <= 2^32. */
int64_t mt19937_integer(struct mt19937 *rng, int64_t low, int64_t high);

/* In place, from the last element down. */
void mt19937_shuffle(struct mt19937 *rng, int *values, int count);
/* 0..count-1, shuffled. Choice of n without replacement is the first n of it. */
void mt19937_permutation(struct mt19937 *rng, int *out, int count);
/* An index in [0, count), all equally likely: choice with replacement. */
int mt19937_choice(struct mt19937 *rng, int count);
/* An index in [0, count) by weight: one uniform; the first index whose cumulative weight, divided
 * by the total, is greater. Weights are >= 0 and not all 0. */
int mt19937_weighted(struct mt19937 *rng, const double *weights, int count);

/* The generator seed of one sample of a data set: SHA-256 of the text "(seed, index)" mod 2^32. */
uint32_t mt19937_sample_seed(int64_t seed, int64_t index);

#endif
