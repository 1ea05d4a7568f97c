/* Recall and NDCG of one row of scores, and top-k accuracy from counts of logits. */
#include "core/metrics/ranking.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

void topk_clear(struct topk *topk)
{
    memset(topk, 0, sizeof *topk);
}

static int step_of(double p)
{
    if (!(p > 0 && p <= 1))
        return 0;
    double logit = p < 1 ? log(p) - log1p(-p) : INFINITY;
    double step = floor((logit + 16) * (TOPK_STEPS / 32.0));
    return step < 0 ? 0 : step >= TOPK_STEPS ? TOPK_STEPS - 1 : (int)step;
}

void topk_add(struct topk *topk, double probability, int is_true)
{
    int step = step_of(probability);
    topk->all[step]++;
    topk->true_[step] += is_true;
}

/* The bound is between the (k + 1)-th and the k-th largest score. The loop adds the counts of the steps, from
 * the highest step down, as long as the sum is at most k. So it stops at the step of the (k + 1)-th largest score.
 * Positions in that step count as tied with the bound. */
double topk_share(const struct topk *topk)
{
    int64_t k = 0, above = 0, found = 0;
    for (int i = 0; i < TOPK_STEPS; i++)
        k += topk->true_[i];
    if (k == 0)
        return NAN;
    for (int i = TOPK_STEPS - 1; i >= 0 && above + topk->all[i] <= k; i--) {
        above += topk->all[i];
        found += topk->true_[i];
    }
    return (double)found / (double)k;
}
