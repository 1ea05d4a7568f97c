/* Order statistics of an array in memory. */
#ifndef MOTIF_CORE_NN_SELECT_KTH_H
#define MOTIF_CORE_NN_SELECT_KTH_H

#include <stddef.h>

#include "core/base/real.h"

/* Returns the k-th smallest of n values (1 <= k <= n, no NaN) and reorders them: afterwards values[0 .. k - 2] are at
 * most the result, and values[k .. n - 1] are at least the result. Linear time on average. */
real select_kth(real *values, size_t n, size_t k);

#endif
