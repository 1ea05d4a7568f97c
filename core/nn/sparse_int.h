/* The state of a sparse layer, and the search for its quantiles (sparse_quantile.c). Private to core/nn.
 *
 * Functions that return false have stored an error in exec.error. */
#ifndef MOTIF_CORE_NN_SPARSE_INT_H
#define MOTIF_CORE_NN_SPARSE_INT_H

#include "core/nn/sparse.h"

struct sparse {
    struct sparse_config config;
    char name[SNAPSHOT_NAME];
    struct weight *threshold;
    int groups; /* number of independent thresholds: channels, or 1 */
    /* [padded channels] the quantile of the next batch is expected to be above this value; infinity in the padding
     * channels */
    real *bound;
    /* [channels] density of a channel divided by the common density: 1, or more after a reinitialisation */
    double *times;
    double *share; /* [channels] factor on the common density, from sparse_set_shares(); `times` multiplies it
                    * further */
    bool uneven;   /* some share is not 1 */
    double fade;   /* factor that multiplies `times` at each update, until `times` is 1 */
    bool bounded;  /* whether `bound` is valid, for a quantile that is the `bounded_rank`-th largest value */
    int64_t bounded_rank;
    /* the members below are used with accumulate or elements > 0: */
    int64_t keep;      /* capacity of `top` for each group */
    int64_t collected; /* number of values of each group in the batches since the last update */
    int64_t kept;      /* number of values of each group in `top`: min(collected, keep) */
    double density;    /* density at the last training step; a higher density makes the collected values unusable */
    real *top;         /* [groups][keep] the largest values, unordered */
};

/* A quantile of n values: the k-th smallest, plus `share` times the distance to the next one. */
struct order_statistic {
    int64_t k;
    double share;
};

/* One search for the quantiles of a batch. */
struct quantile_task {
    const struct sparse *sparse;
    const struct kernels *kernels;
    struct kth_set set;
    struct order_statistic order;
    const struct order_statistic
        *orders;    /* [channels] the order of each channel if the shares differ; NULL: `order` for all */
    real *quantile; /* the quantiles: [padded channels], or [1] if there is one threshold */
    char *scratch;  /* [workers][KTH_SCRATCH_BYTES], allocated when all values of a batch are needed */
    int64_t batch;  /* number of values of one group in this batch, over all ranks */
    bool update;    /* the thresholds move after this batch */
    real *values;   /* [workers][capacity] scratch of sparse_select_from_collected() */
    size_t capacity;
};

/* Stores STATUS_NO_MEMORY in e->error and returns false. */
bool sparse_no_memory(struct exec *e);
/* Returns the order statistic that is the quantile of n values for this density. */
struct order_statistic sparse_order_of(const struct sparse *s, int64_t n, double density);
/* Describes to the kernels where the values of a map lie. */
struct kth_set sparse_set_of(const struct tensor *z);
/* Write the quantiles to task->quantile. sparse_select_from_batch() finds the quantiles of this batch alone.
 * sparse_select_from_collected() finds the quantiles of this batch and the collected ones together; if task->update is
 * false, it only collects this batch. */
bool sparse_select_from_batch(struct exec *e, struct sparse *s, const struct tensor *z, struct quantile_task *task);
bool sparse_select_from_collected(struct exec *e, struct sparse *s, struct quantile_task *task);
/* Replaces the quantiles of reinitialised channels, whose density is higher. */
bool sparse_select_reinitialised(struct exec *e, struct sparse *s, struct quantile_task *task, double density);

#endif
