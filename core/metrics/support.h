/* Compares the nonzero entries of a learned mask with those of the true one. */
#ifndef MOTIF_CORE_METRICS_SUPPORT_H
#define MOTIF_CORE_METRICS_SUPPORT_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct support_score {
    double f1;      /* 2 TP / (2 TP + FP + FN), counted over all entries */
    double hamming; /* share of entries that differ */
    int used;       /* columns with at least one nonzero entry */
};

/* Matches the columns of mask: [features][columns] one to one with those of truth: [features][factors], so that the sum
 * of |correlation| of codes: [rows][columns] with values: [rows][factors] is largest. Nonzero entries of unmatched
 * columns count as wrong. columns >= factors. */
enum status support_compare(const float *mask, const unsigned char *truth, int features, int columns, int factors,
                            const float *codes, const float *values, int rows, struct thread_pool *pool,
                            struct support_score *out, struct error *err);

#endif
