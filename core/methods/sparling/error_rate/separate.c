/* Decides whether labels tell a channel's name from another one (separate.h). */
#include "core/methods/sparling/error_rate/separate.h"

#include <math.h>
#include <stddef.h>

#include "core/methods/sparling/evaluation/verdict/association.h"
#include "core/metrics/interval.h"

static const double SURE = 3; /* normal quantile of the tests: about one in 700 pairs of names fails by chance */
static const double MORE_OFTEN = 0.2; /* a companion's share is larger by this much with the name than without */
static const double MORE_MARKS = 0.2; /* least difference of the mean numbers of marks that matters */
static const double ALONE = 0.5; /* a companion alone is marked at least this many times as often as with the name */
enum { COMPARED = 5 };           /* fewer inputs with the name and without the companion are no comparison */

/* Inputs with the same answers to "has the name" and "has the companion". */
struct cell {
    double inputs, active, marks, squares;
};

static bool bit(const uint64_t *row, int64_t i)
{
    return row[i / 64] >> (i % 64) & 1;
}

static double share(const struct cell *cell)
{
    return cell->inputs > 0 ? cell->active / cell->inputs : 0;
}

static double mean(const struct cell *cell)
{
    return cell->marks / cell->inputs;
}

/* Variance of the mean. One more input, of the other mean, keeps it above 0. */
static double uncertainty(const struct cell *cell)
{
    double m = mean(cell), variance = (cell->squares + 1) / cell->inputs - m * m;
    return fmax(variance, 1 / cell->inputs) / cell->inputs;
}

/* Whether the channel has clearly more marks in the inputs of `with` than in those of `without`. */
static bool more_marks(const struct cell *with, const struct cell *without)
{
    double more = mean(with) - mean(without);
    return more > MORE_MARKS && more > SURE * sqrt(uncertainty(with) + uncertainty(without));
}

enum separation separation_of(const struct separation_inputs *inputs, const uint64_t *other, int64_t least,
                              double *chosen)
{
    struct cell cell[2][2] = {{{0}}};
    int64_t words = (inputs->samples + 63) / 64, first = 0, second = 0, both = 0;
    for (int64_t i = 0; i < words; i++) {
        first += __builtin_popcountll(inputs->named[i]);
        second += __builtin_popcountll(other[i]);
        both += __builtin_popcountll(inputs->named[i] & other[i]);
    }
    double n = (double)inputs->samples, named = (double)first, accompanied = (double)both,
           alone = (double)(second - both);
    if (first == 0 || first == inputs->samples || accompanied / named < alone / (n - named) + MORE_OFTEN ||
        !(interval_correlation(association_phi(n, named, (double)second, accompanied), n, SURE).low > 0))
        return SEPARATION_FREE;
    for (int64_t i = 0; i < inputs->samples; i++) {
        struct cell *at = &cell[bit(inputs->named, i)][bit(other, i)];
        double marks = inputs->marks[i];
        at->inputs++;
        at->active += bit(inputs->active, i);
        at->marks += marks;
        at->squares += marks * marks;
    }
    const struct cell *without = &cell[1][0], *with = &cell[1][1], *negative = &cell[0][1];
    bool comparable = without->inputs >= COMPARED, depends = comparable && more_marks(with, without);
    if (negative->inputs < (double)least)
        return depends || !comparable ? SEPARATION_TOGETHER : SEPARATION_FREE;
    if (depends && share(negative) >= ALONE * share(with))
        return SEPARATION_TOGETHER;
    *chosen = share(negative);
    return share(negative) > share(&cell[0][0]) ? SEPARATION_STRATUM : SEPARATION_FREE;
}
