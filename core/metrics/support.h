/* Whether a learned pattern of zeros is the true one. */
#ifndef MOTIF_CORE_METRICS_SUPPORT_H
#define MOTIF_CORE_METRICS_SUPPORT_H

#include "core/base/error.h"

struct support_score {
    double f1;      /* 2 TP / (2 TP + FP + FN) over features and columns */
    double hamming; /* share of entries that differ */
    int used;       /* columns with any entry */
};

/* Columns of `mask` [features][columns] (zero or not) are matched one to one with those of `truth`
 * [features][factors] so that the sum of |correlation| of their codes is largest: codes [rows][columns], factor
 * values [rows][factors]. Unmatched columns count as wrong wherever they are not zero. columns >= factors. */
enum status support_compare(const float *mask, const unsigned char *truth, int features, int columns, int factors,
                            const float *codes, const float *values, int rows, struct support_score *out,
                            struct error *err);

#endif
