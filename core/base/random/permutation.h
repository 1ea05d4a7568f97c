/* A random order of [0, count) that needs no memory: each place is computed on its own.
 *
 * The permutation is a Feistel network of four rounds. It works on numbers with an even number of bits, the smallest
 * that suffices for `count`. Numbers outside the range are permuted again until they are inside (Black and Rogaway
 * 2002), at most four times on average. Pure functions; any thread. */
#ifndef MOTIF_CORE_BASE_RANDOM_PERMUTATION_H
#define MOTIF_CORE_BASE_RANDOM_PERMUTATION_H

#include <stdint.h>

struct permutation {
    int64_t count;
    int half; /* bits of each half */
    uint32_t key[2];
};

/* The order of this (seed, stream, step). count: at least 1, at most 2^62. */
struct permutation permutation_make(int64_t count, uint64_t seed, uint32_t stream, uint64_t step);
/* Returns the number at place `at` of the order, 0 <= at < count. Each number in [0, count) has one place. */
int64_t permutation_at(const struct permutation *order, int64_t at);

#endif
