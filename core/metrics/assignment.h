/* Rectangular linear assignment: the one-to-one matching of rows to columns with the largest sum. */
#ifndef MOTIF_CORE_METRICS_ASSIGNMENT_H
#define MOTIF_CORE_METRICS_ASSIGNMENT_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

/* Chooses min(rows, cols) entries of score: [rows][cols], no two in one row or column, with the largest sum. column_of:
 * [rows], the column of each row or -1. `total` may be NULL. Computes on the calling thread, in time
 * O(min^2 max), and only asks `pool` whether it must stop (NULL: never). STATUS_NUMERIC: a score is not finite.
 * STATUS_CANCELLED: the pool was stopped, and column_of has no meaning. */
enum status assignment_best(const double *score, int rows, int cols, int *column_of, double *total,
                            struct thread_pool *pool, struct error *err);

#endif
