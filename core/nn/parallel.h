/* Sparse layers side by side: each takes some channels of one motif map (ParallelSparsityLayers of SPARLING's package).
 * So some channels may have thresholds of their own, others one in common, and others pass as they are, as known
 * signals do that a model is given beside the motifs that it finds. All follow one density. */
#ifndef MOTIF_CORE_NN_PARALLEL_H
#define MOTIF_CORE_NN_PARALLEL_H

#include "core/nn/sparse.h"

enum { PARALLEL_MOST = 16 };

struct sparse_parallel;

/* layers: [count], each with its `channels`, in the order of the map's; count in [1, PARALLEL_MOST]. Thresholds are
 * declared as NAME.0.threshold, NAME.1.threshold, ... */
enum status sparse_parallel_create(struct sparse_parallel **parallel, struct params *params, const char *name,
                                   const struct sparse_config *layers, int count, struct error *err);
void sparse_parallel_destroy(struct sparse_parallel *parallel); /* NULL is fine */

/* As sparse_forward(), of each layer on its channels. */
struct tensor *sparse_parallel_forward(struct exec *e, struct sparse_parallel *parallel, struct tensor *z,
                                       double density, bool raw);
enum status sparse_parallel_snapshot(struct sparse_parallel *parallel, struct snapshot *snapshot, struct error *err);

#endif
