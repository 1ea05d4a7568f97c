/* How well scores rank what was liked. */
#ifndef MOTIF_CORE_METRICS_RANKING_H
#define MOTIF_CORE_METRICS_RANKING_H

#include "core/base/error.h"

/* Of one row: scores and likes (> 0) of `count` items; ties in the order of items. NaN when nothing is liked.
 * recall: the share of min(r, liked) that is among the first r. ndcg: sum of 1 / log2(rank + 1) over likes among the
 * first k, over the best possible. */
struct ranking {
    double recall, ndcg;
};
enum status ranking_row(const float *scores, const float *likes, int count, int r, int k, struct ranking *out,
                        struct error *err);

#endif
