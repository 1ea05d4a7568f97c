/* Order statistics of values that ranks hold together, exactly: digit by digit, each a histogram that ranks add up.
 */
#ifndef MOTIF_CORE_NN_SELECT_RANKS_H
#define MOTIF_CORE_NN_SELECT_RANKS_H

#include "core/autodiff/tape.h"

/* out[g]: the k[g]-th smallest (from 1) of the values of channel g, or, with `together`, of all channels as one
 * group; over all ranks of e->comm. Every rank has the same k. */
enum status select_ranks(struct exec *e, const struct kth_set *set, bool together, const int64_t *k, real *out,
                         struct error *err);

/* The largest `most` of all ranks' values, of each of `groups`: values[g * most] come in as this rank's, `count[g]`
 * of them (at most `most`), and leave as those of all, count[g] of them, in no order. sum[g] += the other ranks'
 * sum[g]; once it is negative on one rank, it is -1 on all. */
enum status largest_ranks(struct exec *e, int groups, int most, real *values, int *count, int64_t *sum,
                          struct error *err);

#endif
