/* Several sparse layers, each on some channels of one motif map (ParallelSparsityLayers in SPARLING's package). Some
 * channels can have thresholds of their own, others a common threshold, and others can pass unchanged, for example
 * known signals that a model gets in addition to the motifs that it learns. All layers have the same density. */
#ifndef MOTIF_CORE_NN_PARALLEL_H
#define MOTIF_CORE_NN_PARALLEL_H

#include "core/nn/sparse.h"

enum { PARALLEL_MOST = 16 };

struct sparse_parallel;

/* layers: [count], in the order of the map's channels; each states its number of `channels`. Declares the thresholds as
 * NAME.0.threshold, NAME.1.threshold, ... Errors: STATUS_INVALID unless count is in [1, PARALLEL_MOST],
 * STATUS_NO_MEMORY. */
enum status sparse_parallel_create(struct sparse_parallel **parallel, struct params *params, const char *name,
                                   const struct sparse_config *layers, int count, struct error *err);
void sparse_parallel_destroy(struct sparse_parallel *parallel); /* accepts NULL */

/* Call sparse_forward() and sparse_snapshot() for each layer, with the layer's channels. */
struct tensor *sparse_parallel_forward(struct exec *e, struct sparse_parallel *parallel, struct tensor *z,
                                       double density, bool raw);
enum status sparse_parallel_snapshot(struct sparse_parallel *parallel, struct snapshot *snapshot, struct error *err);

#endif
