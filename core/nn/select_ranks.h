/* Exact order statistics of values that are distributed over ranks.
 *
 * select_ranks() finds the result digit by digit, from a histogram of each digit that is summed over all ranks. All
 * ranks make the same calls with the same k and get the same result. Memory comes from the step arena. Errors:
 * STATUS_NO_MEMORY and those of comm.h. */
#ifndef MOTIF_CORE_NN_SELECT_RANKS_H
#define MOTIF_CORE_NN_SELECT_RANKS_H

#include "core/autodiff/tape.h"

/* out[g] = the k[g]-th smallest (1-based) value of channel g over all ranks of e->comm; with `together`, all channels
 * are one group and out[0] is the only result. */
enum status select_ranks(struct exec *e, const struct kth_set *set, bool together, const int64_t *k, real *out,
                         struct error *err);

/* Finds the `most` largest values of each group over all ranks. values: [groups][most], count: [groups]. On entry,
 * the first count[g] (<= most) values of row g are the largest of this rank. On return they are the largest of all
 * ranks, unordered. sum: [groups]; each sum[g] is overwritten with its sum over ranks, or with -1 if it is negative
 * on any rank. */
enum status largest_ranks(struct exec *e, int groups, int most, real *values, int *count, int64_t *sum,
                          struct error *err);

#endif
