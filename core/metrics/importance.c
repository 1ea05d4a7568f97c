/* Computes alpha, the share of the data that gets a partner (importance.h). A random process makes a partner, the
 * pattern m2, from a motif pattern of the data. How often it makes a given m2 depends on three numbers:
 * - the number of motifs of m2;
 * - the number of places at which one more motif would fit, because deleting this motif gives m2;
 * - how often m2 contains the symbols that the process deletes or exchanges.
 *
 * The code therefore need not visit single patterns. It counts sets of places by the first two numbers, and assignments
 * of symbols by the third. */
#include "core/metrics/importance.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/log_gamma.h"

/* sets[n][free]: in how many ways n motifs can be placed on the line so that one more motif would fit at exactly `free`
 * places. all[n]: in how many ways n motifs can be placed on the line. */
struct places {
    int most, slots;
    double *sets; /* [most + 1][slots + 1] */
    double *all;  /* [most + 1] */
};

static double *at(const struct places *p, int n, int room)
{
    return &p->sets[(size_t)n * ((size_t)p->slots + 1) + (size_t)room];
}

static int positive(int value)
{
    return value > 0 ? value : 0;
}

/* Fills the counts of *p by adding one motif after another, from left to right. After each motif, now[last][room] is
 * the number of ways in which the last motif is at place `last` and one more motif would fit at `room` places to its
 * left. */
static enum status count_places(const struct importance_line *line, struct places *p, struct error *err)
{
    int slots = line->slots, spacing = line->spacing;
    size_t rooms = (size_t)slots + 1, table = (size_t)slots * rooms;
    double *now = calloc(2 * table, sizeof *now);
    *p = (struct places){line->most, slots, calloc(((size_t)line->most + 1) * rooms, sizeof(double)),
                         calloc((size_t)line->most + 1, sizeof(double))};
    if (!now || !p->sets || !p->all) {
        free(now);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to count motif patterns");
    }
    double *next = now + table, *first = now;
    *at(p, 0, slots) = 1;
    for (int last = 0; last < slots; last++)
        now[(size_t)last * rooms + (size_t)positive(last - spacing + 1)] = 1;
    for (int n = 1; n <= line->most; n++) {
        for (size_t i = 0; i < table; i++)
            next[i] = 0;
        for (int last = 0; last < slots; last++)
            for (int room = 0; room <= last; room++) {
                double sets = now[(size_t)last * rooms + (size_t)room];
                if (sets <= 0)
                    continue;
                *at(p, n, room + positive(slots - last - spacing)) += sets;
                for (int to = last + spacing; to < slots; to++)
                    next[(size_t)to * rooms + (size_t)(room + positive(to - last - 2 * spacing + 1))] += sets;
            }
        double *swap = now;
        now = next;
        next = swap;
    }
    for (int n = 0; n <= line->most; n++)
        for (int room = 0; room <= slots; room++)
            p->all[n] += *at(p, n, room);
    free(first);
    return STATUS_OK;
}

/* Returns the share of the data that has n motifs and gets a partner m2 with n - 1 motifs. Each m2 contributes the
 * smaller of two probabilities: that of m2 in the data, and that with which the process makes m2. If one more motif
 * fits at `room` places of m2, the process can make m2 from `room` sets of places, one for each. gain: the probability
 * that the process deletes just the motif that m2 lacks, times a factor for the symbols. */
static double matched(const struct importance_line *line, const struct places *p, int n, double gain)
{
    double sum = 0;
    for (int room = 0; room <= line->slots; room++)
        sum += *at(p, n - 1, room) * fmin(room * gain * line->share[n] / p->all[n], line->share[n - 1] / p->all[n - 1]);
    return sum;
}

static double deletion(const struct importance_line *line, const struct places *p)
{
    double sum = 0;
    for (int n = 1; n <= line->most; n++)
        if (line->share[n] > 0)
            sum += matched(line, p, n, 1.0 / (line->picks > 0 ? line->picks : n));
    return sum;
}

/* Probability of `hits` successes in n trials of probability `chance` each. */
static double binomial(int n, int hits, double chance)
{
    if (chance >= 1)
        return hits == n;
    return exp(log_gamma(n + 1) - log_gamma(hits + 1) - log_gamma(n - hits + 1) + hits * log(chance) +
               (n - hits) * log1p(-chance));
}

/* Alpha for the deletion of a given symbol. m1 has n motifs, m2 has n - 1, and there are S symbols.
 *
 * Distinct symbols: m2 must not contain the given symbol, which is true of a share (S - n + 1) / S of all patterns. The
 * motif that m1 has in addition has one of the S - n + 1 symbols that m2 lacks, each with the same probability.
 *
 * Independent symbols: m2 may contain the given symbol `kept` times. m1 then contains it kept + 1 times, and the
 * process picks one of these motifs. */
static double symbol(const struct importance_line *line, const struct places *p)
{
    double sum = 0, kinds = line->symbols;
    for (int n = 1; n <= line->most; n++) {
        if (line->share[n] <= 0)
            continue;
        if (line->distinct) {
            double share = (kinds - n + 1) / kinds;
            sum += share > 0 ? share * matched(line, p, n, 1 / (kinds - n + 1)) : 0;
            continue;
        }
        for (int kept = 0; kept < n; kept++)
            sum += binomial(n - 1, kept, 1 / kinds) * matched(line, p, n, 1 / (kinds * (kept + 1)));
    }
    return sum;
}

/* Alpha for exchanges: the process gives one motif of an old symbol a new symbol. The places do not change.
 *
 * Independent symbols: let m2 have `gained` motifs of the new symbol and `kept` motifs of the old one. Any of the
 * `gained` motifs may be the one that was changed, so there are `gained` patterns m1. Each of them has kept + 1 motifs
 * of the old symbol, and the process picks the right one with probability 1 / (kept + 1). */
static double exchange(const struct importance_line *line)
{
    double sum = 0, kinds = line->symbols;
    for (int n = 1; n <= line->most && line->symbols > 1; n++) {
        if (line->distinct) {
            sum += line->share[n] * n / kinds * (kinds - n) / (kinds - 1);
            continue;
        }
        for (int gained = 1; gained <= n; gained++)
            for (int kept = 0; kept <= n - gained; kept++)
                sum += line->share[n] * binomial(n, gained, 1 / kinds) * binomial(n - gained, kept, 1 / (kinds - 1)) *
                       fmin(1, (double)gained / (kept + 1));
    }
    return sum;
}

enum status importance_of(const struct importance_line *line, struct importance *out, struct error *err)
{
    if (line->slots < 1 || line->slots > 256 || line->spacing < 1 || line->spacing > line->slots || line->most < 1 ||
        line->most > IMPORTANCE_MOST || (line->most - 1) * line->spacing >= line->slots || line->symbols < 1 ||
        (line->distinct && line->symbols < line->most))
        return error_set(err, STATUS_INVALID, NULL,
                         "a line of %d motifs of %d symbols on %d slots, %d apart, is outside the limits", line->most,
                         line->symbols, line->slots, line->spacing);
    struct places places;
    enum status status = count_places(line, &places, err);
    if (!status)
        *out = (struct importance){deletion(line, &places), symbol(line, &places), exchange(line)};
    free(places.sets);
    free(places.all);
    return status;
}

double importance_constant(double most, double mean, double cell, int symbols, double alpha)
{
    double pairs = symbols > 1 ? (double)symbols * (symbols - 1) : 1;
    return alpha > 0 ? 16 * most * most * cell * pairs / (mean * alpha * alpha) : INFINITY;
}
