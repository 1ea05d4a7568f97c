/* Draws marks for a review and estimates the share of false marks (review.h). */
#include "core/metrics/review.h"

#include <math.h>

#include "core/base/log_gamma.h"
#include "core/base/random/permutation.h"
#include "core/base/random/philox.h"

/* ---- draws --------------------------------------------------------------------------------------------- */

enum { STREAM_ORDER = 0x5257, STREAM_PLACE };

int64_t review_draw(int64_t marks, uint64_t seed, int64_t k)
{
    const struct permutation order = permutation_make(REVIEW_BLOCK, seed, STREAM_ORDER, (uint64_t)(k / REVIEW_BLOCK));
    const struct philox random = philox_stream(seed, STREAM_PLACE, 0);
    double place = ldexp((double)philox_u32(&random, (uint64_t)k), -32);
    double stratum = (double)permutation_at(&order, k % REVIEW_BLOCK);
    int64_t at = (int64_t)floor((stratum + place) * (double)marks / REVIEW_BLOCK);
    return at < marks ? at : marks - 1;
}

/* Whether an earlier draw took the mark of draw k. */
static bool is_repeated(const struct review *review, int64_t k, int64_t mark)
{
    for (int64_t i = 0; i < k; i++)
        if (review_draw(review->marks, review->seed, i) == mark)
            return true;
    return false;
}

/* Number of draws that count: up to the last one that took a mark with an answer for the first time, and the
 * repetitions of marks with answers that follow it directly. */
static int64_t length_of(const struct review *review)
{
    int64_t length = 0;
    for (int64_t k = 0; k < review->most; k++) {
        int64_t mark = review_draw(review->marks, review->seed, k);
        if (review->answer[mark] != REVIEW_NONE && (length == k || !is_repeated(review, k, mark)))
            length = k + 1;
    }
    return length;
}

/* ---- the exact interval -------------------------------------------------------------------------------- */

/* The probability of at most `hits` successes in `count` trials. */
static double tail_of(int64_t hits, int64_t count, double share)
{
    double n = (double)count, sum = 0;
    if (share <= 0 || share >= 1)
        return share <= 0 || hits >= count ? 1 : 0;
    for (int64_t k = 0; k <= hits; k++) {
        double at = (double)k;
        sum += exp(log_gamma(n + 1) - log_gamma(at + 1) - log_gamma(n - at + 1) + at * log(share) +
                   (n - at) * log1p(-share));
    }
    return fmin(1, sum);
}

/* The largest share at which at most `hits` successes have a probability above `error`. */
static double upper_limit(int64_t hits, int64_t count, double error)
{
    double low = (double)hits / (double)count, high = 1;
    if (hits >= count)
        return 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (tail_of(hits, count, middle) > error)
            low = middle;
        else
            high = middle;
    }
    /* 1 - error / count: one failure is at most as probable as the sum of the trials' failures */
    return hits == count - 1 ? fmax(high, 1 - error / (double)count) : high;
}

struct interval review_interval(int64_t hits, int64_t count, double error)
{
    if (count <= 0)
        return (struct interval){0, 1};
    /* a success is the failure of the opposite event */
    return (struct interval){1 - upper_limit(count - hits, count, error / 2), upper_limit(hits, count, error / 2)};
}

/* ---- estimates ----------------------------------------------------------------------------------------- */

/* Number of the strata of a block that overlap the part. */
static int64_t overlapping(int64_t marks, const bool *inside)
{
    bool overlaps[REVIEW_BLOCK] = {false};
    int64_t count = 0;
    for (int64_t i = 0; i < marks; i++) {
        if (inside && !inside[i])
            continue;
        int64_t first = i * REVIEW_BLOCK / marks, last = ((i + 1) * REVIEW_BLOCK - 1) / marks;
        for (int64_t s = first; s <= last; s++)
            overlaps[s] = true;
    }
    for (int s = 0; s < REVIEW_BLOCK; s++)
        count += overlaps[s];
    return count;
}

/* Whether every mark of the part has an answer yes or no. *false_marks: how many of them are false. */
static bool all_known(const struct review *review, const bool *inside, int64_t *false_marks)
{
    *false_marks = 0;
    for (int64_t i = 0; i < review->marks; i++) {
        if (inside && !inside[i])
            continue;
        if (review->answer[i] != REVIEW_YES && review->answer[i] != REVIEW_NO)
            return false;
        *false_marks += review->answer[i] == REVIEW_NO;
    }
    return true;
}

static void count_draws(const struct review *review, const bool *inside, int64_t length, struct review_estimate *out)
{
    for (int64_t k = 0; k < length; k++) {
        int64_t mark = review_draw(review->marks, review->seed, k);
        if (inside && !inside[mark])
            continue;
        out->answers++;
        out->yes += review->answer[mark] == REVIEW_YES;
        out->no += review->answer[mark] == REVIEW_NO;
    }
    out->unsure = out->answers - out->yes - out->no;
}

void review_estimate(const struct review *review, const bool *inside, double error, struct review_estimate *out)
{
    int64_t length = length_of(review), false_marks;
    *out = (struct review_estimate){.marks = 0, .share = NAN, .interval = {0, 1}};
    for (int64_t i = 0; i < review->marks; i++)
        out->marks += !inside || inside[i];
    count_draws(review, inside, length, out);
    if (out->marks == 0)
        return;
    if (all_known(review, inside, &false_marks)) {
        out->exact = true;
        out->share = (double)false_marks / (double)out->marks;
        out->interval = (struct interval){out->share, out->share};
        return;
    }
    if (length == 0)
        return;
    int64_t trials = length / REVIEW_BLOCK * overlapping(review->marks, inside) + length % REVIEW_BLOCK;
    /* turns the mean probability of a trial into the false share of the part */
    double draws = (double)length * (double)out->marks / (double)review->marks, scale = (double)trials / draws;
    struct interval low = review_interval(out->no, trials, error),
                    high = review_interval(out->no + out->unsure, trials, error);
    out->interval = (struct interval){fmin(1, low.low * scale), fmin(1, high.high * scale)};
    if (out->yes + out->no > 0)
        out->share = fmin(1, (double)out->no / draws * (double)out->answers / (double)(out->yes + out->no));
}

bool review_threshold(const struct review *review, const double *key, const double *limits, int count, double wanted,
                      double error, bool *room, struct review_threshold *out)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        struct review_estimate estimate;
        for (int64_t k = 0; k < review->marks; k++)
            room[k] = key[k] <= limits[i];
        review_estimate(review, room, error / count, &estimate);
        if (!(estimate.share <= wanted))
            continue;
        *out = (struct review_threshold){limits[i], estimate};
        found = true;
    }
    return found;
}
