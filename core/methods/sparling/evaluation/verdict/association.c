/* Computes the association between channels and labels (association.h).
 *
 * Each channel and each token is a row of bits, one for each sample, so that a correlation is a count of common bits.
 * 1,024 channels and 4,096 tokens over 2,000 samples take some tenths of a second. */
#include "core/methods/sparling/evaluation/verdict/association.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/clusters.h"
#include "core/metrics/interval.h"

/* The normal quantile of all intervals here. It is larger than the usual 1.96, because every channel is compared with
 * every token: of 10,000 unrelated pairs, about one is outside its interval by chance. */
static const double SURE = 3.9;
/* A greedy choice of channels ends when the next one adds less than this to the correlation. */
static const double GAIN = 0.02;

enum status association_open(struct association *a, int channels, int tokens, int64_t room, struct error *err)
{
    *a = (struct association){.channels = channels, .tokens = tokens, .room = room, .words = (size_t)(room + 63) / 64};
    a->active = calloc((size_t)channels * a->words + 1, sizeof *a->active);
    a->present = calloc((size_t)tokens * a->words + 1, sizeof *a->present);
    return a->active && a->present ? STATUS_OK : error_memory(err, "the names of channels");
}

void association_close(struct association *a)
{
    free(a->active);
    free(a->present);
    *a = (struct association){.channels = 0};
}

void association_clear(struct association *a)
{
    memset(a->active, 0, (size_t)a->channels * a->words * sizeof *a->active);
    memset(a->present, 0, (size_t)a->tokens * a->words * sizeof *a->present);
    a->samples = 0;
}

void association_add(struct association *a, const bool *active, const int32_t *label, int length)
{
    if (a->samples == a->room)
        return;
    size_t word = (size_t)a->samples / 64;
    uint64_t bit = (uint64_t)1 << (a->samples % 64);
    for (int c = 0; active && c < a->channels; c++)
        if (active[c])
            a->active[(size_t)c * a->words + word] |= bit;
    for (int i = 0; i < length; i++)
        if (label[i] >= 0 && label[i] < a->tokens)
            a->present[(size_t)label[i] * a->words + word] |= bit;
    a->samples++;
}

/* ---- counts of bits -------------------------------------------------------------------------------- */

static int64_t ones(const uint64_t *x, size_t words)
{
    int64_t sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += __builtin_popcountll(x[i]);
    return sum;
}

double association_phi(double samples, double first, double second, double both)
{
    double square = first * (samples - first) * second * (samples - second);
    return square > 0 ? (samples * both - first * second) / sqrt(square) : NAN;
}

/* Returns the correlation of x with "y or z", or with y if z is NULL. */
static double association_correlation(const struct association *a, const uint64_t *x, const uint64_t *y,
                                      const uint64_t *z)
{
    int64_t first = 0, second = 0, both = 0;
    for (size_t i = 0; i < a->words; i++) {
        uint64_t either = z ? y[i] | z[i] : y[i];
        first += __builtin_popcountll(x[i]);
        second += __builtin_popcountll(either);
        both += __builtin_popcountll(x[i] & either);
    }
    return association_phi((double)a->samples, (double)first, (double)second, (double)both);
}

static bool bit(const uint64_t *row, int64_t sample)
{
    return row[sample / 64] >> (sample % 64) & 1;
}

/* Returns the effective number of samples of the correlation of x with y. */
static double effective_samples(const struct association *a, const uint64_t *x, const uint64_t *y)
{
    int64_t n[CLUSTERS] = {0}, first[CLUSTERS] = {0}, second[CLUSTERS] = {0}, both[CLUSTERS] = {0};
    if (!a->cluster)
        return (double)a->samples;
    for (int64_t i = 0; i < a->samples; i++) {
        int at = a->cluster[i];
        n[at]++;
        first[at] += bit(x, i);
        second[at] += bit(y, i);
        both[at] += bit(x, i) && bit(y, i);
    }
    return clusters_of_phi(n, first, second, both);
}

static const uint64_t *active_row(const struct association *a, int channel)
{
    return a->active + (size_t)channel * a->words;
}

static const uint64_t *present_row(const struct association *a, int token)
{
    return a->present + (size_t)token * a->words;
}

/* ---- channels --------------------------------------------------------------------------------------- */

static bool is_name(const struct association_channel *of, int token)
{
    for (int i = 0; i < of->names; i++)
        if (of->token[i] == token)
            return true;
    return false;
}

/* Whether `token` becomes a further name of the channel (association_of_channel()). Looks only at samples whose label
 * has none of the names that the channel has so far. */
static bool marks_too(const struct association *a, const uint64_t *x, const struct association_channel *of, int token)
{
    const uint64_t *t = present_row(a, token);
    int64_t with = 0, with_active = 0, without = 0, without_active = 0;
    for (size_t i = 0; i < a->words; i++) {
        size_t left = (size_t)a->samples - i * 64;
        uint64_t rest = a->samples <= (int64_t)(i * 64) ? 0 : left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
        for (int n = 0; n < of->names; n++)
            rest &= ~present_row(a, of->token[n])[i];
        with += __builtin_popcountll(rest & t[i]);
        with_active += __builtin_popcountll(rest & t[i] & x[i]);
        without += __builtin_popcountll(rest & ~t[i]);
        without_active += __builtin_popcountll(rest & ~t[i] & x[i]);
    }
    if (with == 0)
        return false;
    double low = interval_share((double)with_active / (double)with, (double)with, SURE).low;
    double other = without ? (double)without_active / (double)without : 0;
    return low > 0.5 && low > interval_share(other, (double)without, SURE).high * (without > 0);
}

static void add_name(const struct association *a, const uint64_t *x, struct association_channel *of, int token)
{
    of->token[of->names] = token;
    of->strength[of->names++] = association_correlation(a, x, present_row(a, token), NULL);
}

/* Correlation of the channel with the fact that at least one of its names is in the label. */
static double association_whole(const struct association *a, const uint64_t *x, const struct association_channel *of)
{
    int64_t second = 0, both = 0;
    for (size_t i = 0; i < a->words; i++) {
        uint64_t any = 0;
        for (int n = 0; n < of->names; n++)
            any |= present_row(a, of->token[n])[i];
        second += __builtin_popcountll(any);
        both += __builtin_popcountll(any & x[i]);
    }
    return association_phi((double)a->samples, (double)of->active, (double)second, (double)both);
}

struct association_channel association_of_channel(const struct association *a, int channel)
{
    const uint64_t *x = active_row(a, channel);
    struct association_channel of = {.active = ones(x, a->words), .whole = NAN};
    for (bool more = true; more && of.names < CHANNEL_NAMES;) {
        int best = -1;
        double most = 0;
        for (int t = 0; t < a->tokens; t++) {
            double r = is_name(&of, t) ? NAN : association_correlation(a, x, present_row(a, t), NULL);
            if (r > most && (of.names == 0 || marks_too(a, x, &of, t))) {
                most = r;
                best = t;
            }
        }
        more = best >= 0;
        if (more && of.names == 0)
            more = most >= ASSOCIATION_LEAST && interval_correlation(most, (double)a->samples, SURE).low > 0;
        if (more)
            add_name(a, x, &of, best);
    }
    if (of.names > 0)
        of.whole = association_whole(a, x, &of);
    return of;
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

struct association_token association_of_token(const struct association *a, int token, uint64_t *scratch)
{
    const uint64_t *t = present_row(a, token);
    struct association_token of = {.present = ones(t, a->words), .channel = -1, .strength = NAN, .explained = NAN};
    of.strength_samples = of.explained_samples = (double)a->samples;
    memset(scratch, 0, a->words * sizeof *scratch);
    for (int round = 0; round < CHANNEL_NAMES; round++) {
        int best = -1;
        double most = round == 0 ? -2 : of.explained + GAIN;
        for (int c = 0; c < a->channels; c++) {
            double r = association_correlation(a, t, active_row(a, c), round == 0 ? NULL : scratch);
            if (r > most) { /* false for NaN */
                most = r;
                best = c;
            }
        }
        if (best < 0)
            break;
        if (round == 0) {
            of.channel = best;
            of.strength = most;
            of.strength_samples = effective_samples(a, t, active_row(a, best));
        }
        of.explained = most;
        for (size_t i = 0; i < a->words; i++)
            scratch[i] |= active_row(a, best)[i];
    }
    of.explained_samples = effective_samples(a, t, scratch);
    return of;
}
