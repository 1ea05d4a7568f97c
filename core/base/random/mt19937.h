/* The Mersenne Twister MT19937 with the rules of numpy's legacy generator (numpy.random.RandomState), so that
 * published data sets are reproduced bit for bit. Data sets and the bootstrap use it; all other random numbers come
 * from philox.h. A generator is a plain value that may be copied; each thread uses its own. */
#ifndef MOTIF_CORE_BASE_RANDOM_MT19937_H
#define MOTIF_CORE_BASE_RANDOM_MT19937_H

#include <stdint.h>

struct mt19937 {
    uint32_t state[624];
    uint32_t words[624]; /* the 624 outputs that MT19937 computes from `state` by tempering */
    int next;            /* index of the next output word; 624: none is left */
};

/* Seeds the generator as numpy's RandomState(seed) does. */
void mt19937_init(struct mt19937 *rng, uint32_t seed);
/* A uniform number in [0, 1) with 53 random bits; takes two words. */
double mt19937_uniform(struct mt19937 *rng);
/* The next `count` uniform numbers: the same values as from mt19937_uniform(), faster. */
void mt19937_uniforms(struct mt19937 *rng, double *out, int count);
/* A uniform integer in [low, high), by masking and rejection; requires low < high and high - low <= 2^32. Takes no word
 * if high - low is 1, exactly one word if high - low is another power of two, and otherwise at least one word. */
int64_t mt19937_integer(struct mt19937 *rng, int64_t low, int64_t high);

/* Shuffles in place, from the last element down. */
void mt19937_shuffle(struct mt19937 *rng, int *values, int count);
/* Writes 0..count-1, shuffled. The first n numbers are those of numpy's choice(count, n, replace=False). */
void mt19937_permutation(struct mt19937 *rng, int *out, int count);
/* A uniform index in [0, count), drawn as numpy's choice with replacement draws it. */
int mt19937_choice(struct mt19937 *rng, int count);
/* An index in [0, count) with probability proportional to its weight: the first index whose cumulative weight, divided
 * by the total, exceeds one uniform number. Weights must be >= 0 and not all 0. */
int mt19937_weighted(struct mt19937 *rng, const double *weights, int count);

/* The generator seed of sample `index` of a data set: SHA-256 of the text "(seed, index)" mod 2^32. */
uint32_t mt19937_sample_seed(int64_t seed, int64_t index);

#endif
