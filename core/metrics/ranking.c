/* Recall and NDCG of one row of scores. */
#include "core/metrics/ranking.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { RANKS_MOST = 256 };

/* Finds the indices of the `most` best scores, best first, by insertion into a short list. */
static int best_of(const float *scores, int count, int most, int best[RANKS_MOST])
{
    int have = 0;
    for (int i = 0; i < count; i++) {
        if (have == most && !(scores[i] > scores[best[have - 1]]))
            continue;
        int at = have < most ? have++ : have - 1;
        for (; at > 0 && scores[i] > scores[best[at - 1]]; at--)
            best[at] = best[at - 1];
        best[at] = i;
    }
    return have;
}

enum status ranking_row(const float *scores, const float *likes, int count, int r, int k, struct ranking *out,
                        struct error *err)
{
    int best[RANKS_MOST], most = r > k ? r : k, liked = 0, found = 0;
    double gain = 0, ideal = 0;
    if (r < 1 || k < 1 || most > RANKS_MOST)
        return error_set(err, STATUS_INVALID, NULL, "ranks must be from 1 to %d", RANKS_MOST);
    for (int i = 0; i < count; i++)
        liked += likes[i] > 0;
    int have = best_of(scores, count, most, best);
    for (int t = 0; t < have; t++) {
        bool hit = likes[best[t]] > 0;
        found += t < r && hit;
        gain += t < k && hit ? 1 / log2(t + 2) : 0;
    }
    for (int t = 0; t < k && t < liked; t++)
        ideal += 1 / log2(t + 2);
    *out = liked ? (struct ranking){(double)found / (liked < r ? liked : r), gain / ideal} : (struct ranking){NAN, NAN};
    return STATUS_OK;
}
