/* Shared by what makes and what reads environments. Private to core/data. */
#ifndef MOTIF_CORE_DATA_TREES_ENVIRONMENTS_INT_H
#define MOTIF_CORE_DATA_TREES_ENVIRONMENTS_INT_H

#include <stdbool.h>

#include "core/data/trees/environments.h"

enum status environments_no_memory(struct error *err);
enum status environments_table(int rows, int features, int latent, int nodes, struct environments **environments,
                               struct error *err);
/* Weights and changes of all nodes. */
void environments_weights(const struct tree *tree, const struct environments_outcome *outcome, struct environments *e);
/* Does a column of this name hold the outcome? */
bool environments_outcome_name(const char *name);
/* Features as they are trained on, then latent variables and outcomes where they are to be planted (latent > 0). */
enum status environments_finish(const struct tree *tree, const struct environments_reading *reading,
                                struct environments *e, struct error *err);
/* STATUS_NOT_FOUND where the data set was not uploaded. After a failure both may be there all the same. */
enum status environments_uploaded(const char *folder, const struct environments_reading *reading, struct tree **tree,
                                  struct environments **environments, struct error *err);
float environments_outcome_at(const struct environments *e, int node, const float *z, double noise);

#endif
