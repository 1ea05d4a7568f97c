/* Fits from different starts that run side by side until the one with the least objective goes on alone. */
#ifndef MOTIF_CORE_METHODS_STARTS_H
#define MOTIF_CORE_METHODS_STARTS_H

#include "core/base/error.h"
#include "core/base/pool.h"

enum { STARTS_MOST = 64, STARTS_PREFIX = 24 };

/* One update of each of `count`: of several at once on the pool, where each has a thread of its own; of a single one
 * on the caller's, which may use the pool itself. The first error in their order is the one that comes back. pool NULL: one after another, as ranks want it that
 * share the rows of each. */
enum status starts_update(struct pool *pool, int count,
                          enum status (*update)(void *context, int start, struct error *err), void *context,
                          struct error *err);

/* What the names of a start's arrays begin with: nothing for the first. */
void starts_prefix(int start, char prefix[STARTS_PREFIX]);

#endif
