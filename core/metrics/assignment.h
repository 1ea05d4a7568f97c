/* Rectangular linear assignment: the best one-to-one matching of rows to columns. */
#ifndef MOTIF_CORE_METRICS_ASSIGNMENT_H
#define MOTIF_CORE_METRICS_ASSIGNMENT_H

#include "core/base/error.h"

/* Chooses min(rows, cols) cells of `score` [rows][cols], no two in a row or column, with the
 * largest sum. column_of: [rows], the column of each row or -1. `total` may be NULL. Scores are
 * finite (STATUS_NUMERIC). O(min^2 max) time; STATUS_NO_MEMORY. */
enum status assignment_best(const double *score, int rows, int cols, int *column_of, double *total, struct error *err);

#endif
