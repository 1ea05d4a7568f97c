/* Computes the statistics of rules between two motifs, and writes a rule as text (effects.h). */
#include "core/methods/sparling/queries/rules/effects.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/metrics/interval.h"

const int rule_edges[RULE_BINS + 1] = {0, 10, 30, 60, 120, 240, INT_MAX};

static const double Z = 1.959963985; /* normal quantile of a two-sided interval of 95 % */

static void add(struct rule_effect *effect, double difference)
{
    effect->samples++;
    effect->more += difference > 0;
    effect->less += difference < 0;
    effect->sum += difference;
    effect->squares += difference * difference;
}

/* Returns P(X <= least) for X ~ Binomial(n, 1/2). */
static double tail(int n, int least)
{
    double sum = 0;
    for (int k = 0; k <= least; k++)
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    return sum;
}

struct rule_difference rule_difference_of(const struct rule_effect *effect)
{
    int n = effect->samples, signs = effect->more + effect->less;
    if (n == 0)
        return (struct rule_difference){0, -1, 1, 1};
    double wider = n + 2, centre = effect->sum / wider;
    double half = Z * sqrt(fmax(effect->squares + 1 - effect->sum * centre, 0)) / wider;
    double p = 2 * tail(signs, effect->more < effect->less ? effect->more : effect->less);
    return (struct rule_difference){effect->sum / n, fmax(centre - half, -1), fmin(centre + half, 1), fmin(p, 1)};
}

void rule_counts_add(struct rule_counts *counts, const struct rule_trial *trial, const bool *tried)
{
    double order = 0, near = 0, far = 0;
    int bins = 0, near_bins = 0;
    counts->samples++;
    counts->neither += trial->neither;
    counts->first += trial->first;
    counts->second += trial->second;
    for (int b = 0; b < RULE_BINS; b++) {
        if (!tried[b])
            continue;
        int one = trial->with[FIRST_BEFORE_SECOND][b], other = trial->with[SECOND_BEFORE_FIRST][b];
        counts->with[FIRST_BEFORE_SECOND][b] += one;
        counts->with[SECOND_BEFORE_FIRST][b] += other;
        order += one - other;
        *(b < RULE_NEAR ? &near : &far) += (one + other) / 2.0;
        bins++;
        near_bins += b < RULE_NEAR;
    }
    if (bins > 0)
        add(&counts->order, order / bins);
    if (near_bins > 0 && near_bins < bins)
        add(&counts->distance, near / near_bins - far / (bins - near_bins));
}

void rule_counts_strand(struct rule_counts *counts, bool same, bool opposite)
{
    counts->same += same;
    counts->opposite += opposite;
    add(&counts->strand, (double)same - (double)opposite);
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

/* Appends up to three strings to a text, and cuts a text that becomes too long. */
static void append(char out[RULE_TEXT], const char *one, const char *two, const char *three)
{
    size_t used = strlen(out);
    snprintf(out + used, RULE_TEXT - used, "%s%s%s", one, two, three);
}

/* Appends the range of gaps of the bins [from, to): "at any distance", "within 30 bases", "at least 30 bases apart". */
static void append_gaps(char out[RULE_TEXT], int from, int to, int bins, const char *unit)
{
    char text[96];
    if (from == 0 && to == bins)
        snprintf(text, sizeof text, " at any distance");
    else if (from == 0)
        snprintf(text, sizeof text, " within %d %s", rule_edges[to], unit);
    else if (to == bins)
        snprintf(text, sizeof text, " at least %d %s apart", rule_edges[from], unit);
    else
        snprintf(text, sizeof text, " %d to %d %s apart", rule_edges[from], rule_edges[to], unit);
    append(out, text, "", "");
}

/* For each run of neighbouring bins for which `high` is true, appends the range from the smallest to the largest gap of
 * the run. */
static void append_runs(char out[RULE_TEXT], const bool *high, int bins, const char *unit)
{
    bool any = false;
    for (int from = 0, to; from < bins; from = to + 1) {
        for (to = from; to < bins && high[to]; to++) {
        }
        if (to == from)
            continue;
        if (any)
            append(out, " or", "", "");
        append_gaps(out, from, to, bins, unit);
        any = true;
    }
}

/* Appends the arrangements that have the mark `mark`. marks: 1 for an arrangement in which the model answers the name
 * more often, -1 for one in which the model answers it less often, 0 for others. */
static void append_arrangements(char out[RULE_TEXT], int mark, const int marks[RULE_ORDERS][RULE_BINS], int bins,
                                const char *first, const char *second, const char *unit)
{
    bool marked[RULE_ORDERS][RULE_BINS], any[RULE_ORDERS] = {false};
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < bins; b++) {
            marked[o][b] = marks[o][b] == mark;
            any[o] = any[o] || marked[o][b];
        }
    bool same = memcmp(marked[0], marked[1], (size_t)bins * sizeof(bool)) == 0;
    for (int o = 0; o < (same ? 1 : RULE_ORDERS); o++) {
        if (!any[o])
            continue;
        append(out, out[0] != '\0' ? "; " : "", mark < 0 ? "not " : "", o == 0 ? first : second);
        append(out, same ? " and " : " before ", o == 0 ? second : first, "");
        append_runs(out, marked[o], bins, unit);
    }
}

bool rule_text(const struct rule_counts *counts, const int *tried, const char *first, const char *second,
               const char *unit, char out[RULE_TEXT])
{
    int marks[RULE_ORDERS][RULE_BINS] = {{0}}, bins = 0;
    double alone =
        counts->samples > 0 ? fmax(counts->neither, fmax(counts->first, counts->second)) / counts->samples : 0;
    out[0] = '\0';
    while (bins < RULE_BINS && tried[bins] > 0)
        bins++;
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < bins; b++) {
            double share = (double)counts->with[o][b] / tried[b];
            struct interval interval = interval_share(share, tried[b], Z);
            if (fabs(share - alone) >= RULE_CLEAR && (alone < interval.low || alone > interval.high))
                marks[o][b] = share > alone ? 1 : -1;
        }
    append_arrangements(out, 1, marks, bins, first, second, unit);
    append_arrangements(out, -1, marks, bins, first, second, unit);
    return out[0] != '\0';
}
