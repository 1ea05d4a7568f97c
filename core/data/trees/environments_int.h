/* Functions that the simulation and the reader of environments share. Private to core/data/trees. */
#ifndef MOTIF_CORE_DATA_TREES_ENVIRONMENTS_INT_H
#define MOTIF_CORE_DATA_TREES_ENVIRONMENTS_INT_H

#include <stdbool.h>

#include "core/data/trees/environments.h"

enum status environments_no_memory(struct error *err);
/* Creates a table of zeros. nodes: number of nodes of the tree. The caller frees *environments. */
enum status environments_table(int rows, int features, int latent, int nodes, struct environments **environments,
                               struct error *err);
/* Draws the weights and changes of all nodes. */
void environments_weights(const struct tree *tree, const struct environments_outcome *outcome, struct environments *e);
/* Computes the outcome of a row that belongs to `node`, from its latent variables z: [latent] and its noise. */
float environments_outcome_at(const struct environments *e, int node, const float *z, double noise);

#endif
