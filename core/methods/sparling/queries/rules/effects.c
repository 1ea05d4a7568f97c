/* Computes the statistics of rules between two motifs, and writes a rule as text (effects.h). */
#include "core/methods/sparling/queries/rules/effects.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log_gamma.h"
#include "core/metrics/interval.h"

const int rule_edges[RULE_BINS + 1] = {0, 10, 30, 60, 120, 240, INT_MAX};

static const double Z = 1.959963985; /* normal quantile of a two-sided interval of 95 % */

static void effects_add(struct rule_effect *effect, double difference)
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
        sum += exp(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) - n * log(2));
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

void rule_counts_add(struct rule_counts *counts, const struct rule_trial *trial, const bool *tried,
                     const bool used[RULE_ORDERS][RULE_BINS])
{
    double order = 0, near = 0, far = 0;
    int ordered = 0, near_count = 0, far_count = 0;
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
        if (used[FIRST_BEFORE_SECOND][b] && used[SECOND_BEFORE_FIRST][b]) {
            order += one - other;
            ordered++;
        }
        for (int o = 0; o < RULE_ORDERS; o++) {
            if (!used[o][b])
                continue;
            *(b < RULE_NEAR ? &near : &far) += trial->with[o][b];
            *(b < RULE_NEAR ? &near_count : &far_count) += 1;
        }
    }
    if (ordered > 0)
        effects_add(&counts->order, order / ordered);
    if (near_count > 0 && far_count > 0)
        effects_add(&counts->distance, near / near_count - far / far_count);
}

void rule_counts_strand(struct rule_counts *counts, bool same, bool opposite)
{
    counts->same += same;
    counts->opposite += opposite;
    effects_add(&counts->strand, (double)same - (double)opposite);
}

/* ---- marks ---------------------------------------------------------------------------------------------------- */

double rule_quantile(double tests)
{
    double low = 0, high = 40, tail_of_one = 0.025 / fmax(tests, 1);
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(0.5 * erfc(middle * sqrt(0.5)) > tail_of_one ? &low : &high) = middle;
    }
    return high;
}

/* Compares the share with / of with a reference. Returns 1 if the share is higher by at least `least`, -1 if it is
 * lower by at least `least`, and otherwise 0. Also returns 0 if the interval of the difference contains 0. */
static int sign_of(int with, int of, double reference, int references, double quantile, double least)
{
    double share = (double)with / of;
    struct interval interval = interval_difference(share, of, reference, references, quantile);
    if (fabs(share - reference) < least || (interval.low <= 0 && interval.high >= 0))
        return 0;
    return share > reference ? 1 : -1;
}

/* Compares two controls, `one` and `other`, of an arrangement. Returns the larger of their shares of trials in which
 * the model answers the name. */
static double control_of(const struct rule_counts *c, int one, int other, int order, int bin, int of)
{
    return fmax(c->control[one][order][bin], c->control[other][order][bin]) / of;
}

static int mark_of(const struct rule_counts *c, const struct rule_evidence *e, double quantile, bool controlled,
                   int order, int bin)
{
    int with = c->with[order][bin], of = e->tried[bin], controls = e->controlled[bin];
    double alone = fmax(c->neither, fmax(c->first, c->second)) / c->samples;
    int mark = sign_of(with, of, alone, c->samples, quantile, RULE_CLEAR);
    if (mark == 0 || !controlled || controls == 0)
        return mark;
    double placed = control_of(c, CONTROL_FIRST, CONTROL_SECOND, order, bin, controls);
    if (sign_of(with, of, placed, controls, quantile, RULE_CLEAR) != mark)
        return 0;
    double third = control_of(c, CONTROL_FIRST_THIRD, CONTROL_THIRD_SECOND, order, bin, controls);
    return !e->third || sign_of(with, of, third, controls, Z, 0) == mark ? mark : 0;
}

bool rule_mark(const struct rule_counts *counts, const struct rule_evidence *evidence, double quantile, bool controlled,
               int marks[RULE_ORDERS][RULE_BINS])
{
    bool any = false;
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++) {
            bool known = counts->samples > 0 && evidence->tried[b] > 0 && evidence->seen[o][b];
            marks[o][b] = known ? mark_of(counts, evidence, quantile, controlled, o, b) : 0;
            any = any || marks[o][b] != 0;
        }
    return any;
}

/* ---- labels ---------------------------------------------------------------------------------------------------- */

struct rule_sets rule_sets_of(const struct rule_evidence *e, const int marks[RULE_ORDERS][RULE_BINS])
{
    struct rule_sets sets = {0};
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++) {
            bool known = e->tried[b] > 0 && e->seen[o][b];
            sets.more |= marks[o][b] > 0 ? rule_bit(o, b) : 0;
            sets.less |= marks[o][b] < 0 ? rule_bit(o, b) : 0;
            sets.other |= known && marks[o][b] == 0 ? rule_bit(o, b) : 0;
        }
    return sets;
}

void rule_labels_add(struct rule_labels *l, const struct rule_sets *sets, unsigned found, bool first, bool second,
                     bool has)
{
    const bool member[RULE_GROUPS] = {
        [GROUP_MORE] = (found & sets->more) != 0,
        [GROUP_LESS] = (found & sets->less) != 0,
        [GROUP_OTHER] = (found & sets->other) != 0 && (found & (sets->more | sets->less)) == 0,
        [GROUP_FIRST] = first && !second,
        [GROUP_SECOND] = second && !first,
    };
    for (int g = 0; g < RULE_GROUPS; g++) {
        l->of[g] += member[g];
        l->with[g] += member[g] && has;
    }
}

static double share_of(const struct rule_labels *l, enum rule_group group)
{
    return l->of[group] > 0 ? (double)l->with[group] / l->of[group] : 0;
}

enum rule_group rule_labels_reference(const struct rule_labels *l, int mark, int support)
{
    bool first = l->of[GROUP_FIRST] >= support, second = l->of[GROUP_SECOND] >= support;
    enum rule_group opposite = mark > 0 ? GROUP_LESS : GROUP_MORE;
    if (l->of[GROUP_OTHER] >= support)
        return GROUP_OTHER;
    if (first && (!second || share_of(l, GROUP_FIRST) >= share_of(l, GROUP_SECOND)))
        return GROUP_FIRST;
    if (second)
        return GROUP_SECOND;
    return l->of[opposite] >= support ? opposite : RULE_GROUPS;
}

bool rule_labels_agree(const struct rule_labels *l, int mark, int support)
{
    enum rule_group group = mark > 0 ? GROUP_MORE : GROUP_LESS, reference = rule_labels_reference(l, mark, support);
    return reference == RULE_GROUPS ||
           (l->of[group] > 0 &&
            sign_of(l->with[group], l->of[group], share_of(l, reference), l->of[reference], Z, 0) == mark);
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

/* Appends up to three strings to a text, and cuts a text that becomes too long. */
static void effects_append(char out[RULE_TEXT], const char *one, const char *two, const char *three)
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
    effects_append(out, text, "", "");
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
            effects_append(out, " or", "", "");
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
        effects_append(out, out[0] != '\0' ? "; " : "", mark < 0 ? "not " : "", o == 0 ? first : second);
        effects_append(out, same ? " and " : " before ", o == 0 ? second : first, "");
        append_runs(out, marked[o], bins, unit);
    }
}

void rule_text(const int marks[RULE_ORDERS][RULE_BINS], int bins, const char *first, const char *second,
               const char *unit, char out[RULE_TEXT])
{
    out[0] = '\0';
    append_arrangements(out, 1, marks, bins, first, second, unit);
    append_arrangements(out, -1, marks, bins, first, second, unit);
}
