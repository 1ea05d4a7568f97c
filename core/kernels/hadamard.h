/* Walsh-Hadamard transforms of any length over a pool, and what is diagonal between two of them.
 *
 * H_ij = (-1)^popcount(i AND j), indices from 0 (Sylvester), H H = n I. A long vector is taken as a table of n1 rows
 * of n2: H is the transform along the rows followed by that down the columns, in either order. */
#ifndef MOTIF_CORE_KERNELS_HADAMARD_H
#define MOTIF_CORE_KERNELS_HADAMARD_H

#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"

enum { HADAMARD_ROW = 8192 }; /* the longest vector that one chunk transforms by itself */

/* H_ij. */
static inline int hadamard_sign(uint64_t i, uint64_t j)
{
    return __builtin_parityll(i & j) ? -1 : 1;
}

/* x <- H x, n a power of two up to 2^30. `scratch`: hadamard_scratch() reals. Same bits for any number of threads. */
void hadamard_transform(struct thread_pool *pool, const struct kernels *kernels, int n, real *x, real *scratch);
/* x <- H diag(d) H x: three trips through memory in all. */
void hadamard_sandwich(struct thread_pool *pool, const struct kernels *kernels, int n, const real *d, real *x,
                       real *scratch);
/* Reals of scratch that either needs with this pool. */
size_t hadamard_scratch(const struct thread_pool *pool, int n);

#endif
