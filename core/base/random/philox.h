/* Counter-based random numbers: Philox4x32 with 10 rounds (Salmon et al., SC 2011).
 *
 * There is no generator state. A value is a pure function of (seed, stream, step, index), so any thread may compute any
 * element in any order, and a resumed run draws the same numbers as an uninterrupted one. Each use (a dropout layer, a
 * parameter table) has a `stream` of its own; `step` is the optimiser step; element `index` is word index mod 4 of
 * block index / 4. The inputs of philox_block() are:
 *
 * - counter = {block low, block high, step low, step high};
 * - key = the first two words of the block with counter {seed low, seed high, stream, 0} and key {0, 0}.
 *
 * Small seeds and streams that differ therefore have unrelated keys. All functions are pure; any thread may call them.
 */
#ifndef MOTIF_CORE_BASE_RANDOM_PHILOX_H
#define MOTIF_CORE_BASE_RANDOM_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/* The Philox function: maps a 128-bit counter and a 64-bit key to 128 random bits. */
void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A stream of words, addressed by index. A plain value that may be copied. */
struct philox {
    uint32_t key[2], step[2];
};

/* The stream with index `stream`, for step `step` of a run with seed `seed`. */
struct philox philox_stream(uint64_t seed, uint32_t stream, uint64_t step);

/* Word `index` of the stream. */
uint32_t philox_u32(const struct philox *from, uint64_t index);
/* A uniform number in [0, 1) from the upper 24 bits of word `index`. */
float philox_uniform(const struct philox *from, uint64_t index);
/* A standard normal number by Box-Muller: elements 2k and 2k+1 come from words 2k and 2k+1. */
double philox_normal(const struct philox *from, uint64_t index);

/* Fill `out` with elements first to first + count - 1. The values equal those of the functions above, but are computed
 * faster. */
void philox_fill_u32(const struct philox *from, uint64_t first, uint32_t *out, size_t count);
void philox_fill_uniform(const struct philox *from, uint64_t first, float *out, size_t count);
void philox_fill_normal(const struct philox *from, uint64_t first, double *out, size_t count);

#endif
