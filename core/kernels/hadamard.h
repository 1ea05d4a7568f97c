/* Walsh-Hadamard transforms of any length on a thread pool, alone or with a diagonal matrix between two of them.
 *
 * H_ij = (-1)^popcount(i AND j) with indices from 0 (Sylvester's order); H H = n I. A long vector is treated as a
 * table of n1 rows of n2 numbers: to multiply it by H, the code transforms every row and then every column, or every
 * column and then every row. The results have the same bits for any number of threads. One thread at a time may use
 * a pool. */
#ifndef MOTIF_CORE_KERNELS_HADAMARD_H
#define MOTIF_CORE_KERNELS_HADAMARD_H

#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"

enum { HADAMARD_ROW = 8192 }; /* the longest vector that one chunk transforms alone */

/* The element H_ij: 1 or -1. */
static inline int hadamard_sign(uint64_t i, uint64_t j)
{
    return __builtin_parityll(i & j) ? -1 : 1;
}

/* x <- H x in place. n: a power of two up to 2^30. x: [n]. scratch: hadamard_scratch() reals. Returns false, and leaves
 * x undefined, if the pool was stopped. */
bool hadamard_transform(struct thread_pool *pool, const struct kernels *kernels, int n, real *x, real *scratch);
/* x <- H diag(d) H x in place, in three passes over memory. d: [n]. Returns false, and leaves x undefined, if the pool
 * was stopped. */
bool hadamard_sandwich(struct thread_pool *pool, const struct kernels *kernels, int n, const real *d, real *x,
                       real *scratch);
/* The number of reals of scratch memory that hadamard_transform() or hadamard_sandwich() needs with this pool. */
size_t hadamard_scratch(const struct thread_pool *pool, int n);

#endif
