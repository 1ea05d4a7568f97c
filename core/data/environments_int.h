/* Shared by what makes and what reads environments. Private to core/data. */
#ifndef MOTIF_CORE_DATA_ENVIRONMENTS_INT_H
#define MOTIF_CORE_DATA_ENVIRONMENTS_INT_H

#include "core/data/environments.h"

enum status environments_no_memory(struct error *err);
enum status environments_table(int rows, int features, int latent, int nodes, struct environments **environments,
                               struct error *err);
/* Weights and changes of all nodes. */
void environments_weights(const struct tree *tree, const struct environments_outcome *outcome,
                          struct environments *e);
float environments_outcome_at(const struct environments *e, int node, const float *z, double noise);

#endif
