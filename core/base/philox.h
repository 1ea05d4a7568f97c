/* Counter-based random numbers: Philox4x32 with 10 rounds (Salmon et al., SC 2011).
 *
 * There is no generator state. A value is a pure function of (seed, stream, step, index), so any
 * thread can draw any element in any order, and a run that resumes draws what it would have drawn.
 * `stream` keeps uses apart (one for each dropout layer, each parameter table); `step` is the
 * optimiser step; `index` the element, word index mod 4 of block index / 4. The inputs of the bare
 * function are
 *   counter = {block low, block high, step low, step high}
 *   key     = the first two words of the block at counter {seed low, seed high, stream, 0}, key {0, 0}
 * so that small seeds and small streams share nothing. */
#ifndef MOTIF_CORE_BASE_PHILOX_H
#define MOTIF_CORE_BASE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/* The bare function: 128 bits of counter and 64 bits of key give 128 bits. */
void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A stream of words w[0], w[1], ... addressed by index. Plain values. */
struct philox {
    uint32_t key[2], step[2];
};

struct philox philox_stream(uint64_t seed, uint32_t stream, uint64_t step);

uint32_t philox_u32(const struct philox *from, uint64_t index);
/* In [0, 1): the upper 24 bits of word `index`. */
float philox_uniform(const struct philox *from, uint64_t index);
/* Standard normal by Box-Muller: elements 2k and 2k+1 come from words 2k and 2k+1. */
double philox_normal(const struct philox *from, uint64_t index);

/* out[i] = the value of element first + i, the same as by the functions above. */
void philox_fill_u32(const struct philox *from, uint64_t first, uint32_t *out, size_t count);
void philox_fill_uniform(const struct philox *from, uint64_t first, float *out, size_t count);
void philox_fill_normal(const struct philox *from, uint64_t first, double *out, size_t count);

#endif
