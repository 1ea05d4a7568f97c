/* Measures the controls of the pairs that seem to have a rule, for the query "rules" (effects.h).
 *
 * Some controls replace one motif of the pair by a third motif. The third motif must not change the answer by itself,
 * so the query first tries each such motif alone. The question's limit `trials` counts these trials and the controls
 * together. If it is too low for all pairs, the query drops the least frequent pairs: without controls, it could not
 * tell a rule of a pair from an effect of one of its motifs. */
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/queries/rules/rules_int.h"

/* THIRDS: most motifs that may replace one of a pair. SINGLES: limit for the entries of the table [thirds][names]. */
enum { THIRDS = 1024, SINGLES = 1 << 20, STREAM_THIRD = 0x74686972 };

/* How often the model answers a name with one motif alone, and without it. */
struct rule_single {
    int samples, with, without;
};

/* The controls of all pairs. A third is a motif that may replace one of a pair. */
struct rules_controls {
    bool *doubtful;          /* [pairs][names] whether a pair seems to have a rule about a name */
    bool (*bins)[RULE_BINS]; /* [pairs] the ranges of gaps in which a pair seems to have a rule */
    bool *is_third;          /* [channels] */
    uint16_t *third;         /* [thirds] channels, ascending */
    int thirds;
    struct rule_single *single; /* [thirds][names] */
    struct rule_counts *counts; /* [names] scratch for the trials of one motif in one sample */
    uint16_t *choice;           /* [pairs][thirds] for each pair, the channels that may replace one of the pair */
    int *choices;               /* [pairs] number of these channels */
};

/* ---- which pairs ----------------------------------------------------------------------------------------------- */

/* Returns the number of intervals that decide about rules: one for each name and each arrangement that is seen. */
static double count_tests(const struct rules *r)
{
    double tests = 0;
    for (int i = 0; i < r->pairs; i++)
        for (int o = 0; o < RULE_ORDERS; o++)
            for (int b = 0; b < RULE_BINS; b++)
                tests += r->pair[i].evidence.seen[o][b] && r->pair[i].evidence.tried[b] > 0;
    return tests * (r->names - r->first_name);
}

/* Finds the names about which a pair seems to have a rule, and the ranges of gaps. */
static void find_doubts(const struct rules *r, struct rules_controls *w, int pair)
{
    memset(w->bins[pair], 0, sizeof w->bins[pair]);
    for (int k = r->first_name; k < r->names; k++) {
        int marks[RULE_ORDERS][RULE_BINS];
        w->doubtful[(ptrdiff_t)pair * r->names + k] =
            rule_mark(&r->pair[pair].counts[k], &r->pair[pair].evidence, r->quantile, false, marks);
        for (int b = 0; b < RULE_BINS; b++)
            if (marks[FIRST_BEFORE_SECOND][b] != 0 || marks[SECOND_BEFORE_FIRST][b] != 0)
                w->bins[pair][b] = true;
    }
}

/* Returns the number of ranges of gaps in which a pair seems to have a rule. */
static int count_bins(const struct rules_controls *w, int pair)
{
    int count = 0;
    for (int b = 0; b < RULE_BINS; b++)
        count += w->bins[pair][b];
    return count;
}

/* Leaves out the pairs whose controls exceed the limit. If the question names both channels of a pair, the pair always
 * stays. */
static enum status limit_pairs(struct rules *r, struct rules_controls *w, struct error *err)
{
    int room = rules_limit(r) - w->thirds;
    struct rule_ranked *ranked = calloc((size_t)r->pairs, sizeof *ranked);
    bool *stays = calloc((size_t)r->pairs, sizeof *stays);
    if (!ranked || !stays) {
        free(ranked);
        free(stays);
        return error_memory(err, "rules");
    }
    for (int i = 0; i < r->pairs; i++)
        ranked[i] = (struct rule_ranked){i, rules_seen_samples(r, i)};
    rules_rank(ranked, r->pairs);
    for (int i = 0; i < r->pairs; i++) {
        int pair = ranked[i].index;
        bool doubtful = count_bins(w, pair) > 0;
        stays[pair] = !doubtful || room > 0 || r->pair[pair].all;
        room -= doubtful;
        if (!stays[pair])
            rules_leave_out(r, pair);
    }
    rules_drop_pairs(r, stays);
    for (int i = 0; i < r->pairs; i++)
        find_doubts(r, w, i);
    free(ranked);
    free(stays);
    return STATUS_OK;
}

/* ---- third motifs ---------------------------------------------------------------------------------------------- */

/* Returns whether a motif occurs in enough samples, and a pair that seems to have a rule does not contain it. */
static bool may_be_third(const struct rules *r, const struct rules_controls *w, int channel)
{
    for (int i = 0; i < r->pairs && r->with[channel] >= RULE_LEAST; i++)
        if (count_bins(w, i) > 0 && channel != r->pair[i].first.channel && channel != r->pair[i].second.channel)
            return true;
    return false;
}

/* Fills w->third: the most frequent motifs, for which at most half of the limit is used. */
static enum status choose_thirds(const struct rules *r, struct rules_controls *w, struct error *err)
{
    int most = rules_limit(r) / 2, found = 0;
    most = most < 1 ? 1 : most < THIRDS ? most : THIRDS;
    most = most < SINGLES / r->names ? most : SINGLES / r->names;
    struct rule_ranked *ranked = calloc((size_t)r->channels, sizeof *ranked);
    w->is_third = calloc((size_t)r->channels, sizeof *w->is_third);
    w->third = calloc((size_t)most, sizeof *w->third);
    w->single = calloc((size_t)most * (size_t)r->names, sizeof *w->single);
    if (!ranked || !w->is_third || !w->third || !w->single) {
        free(ranked);
        return error_memory(err, "rules");
    }
    for (int c = 0; c < r->channels; c++)
        if (may_be_third(r, w, c))
            ranked[found++] = (struct rule_ranked){c, r->with[c]};
    rules_rank(ranked, found);
    for (int i = 0; i < found && i < most; i++)
        w->is_third[ranked[i].index] = true;
    for (int c = 0; c < r->channels; c++)
        if (w->is_third[c])
            w->third[w->thirds++] = (uint16_t)c;
    free(ranked);
    return STATUS_OK;
}

/* Adds to w->single the trials of one sample: for each third, with this motif alone and without it. */
static enum status try_singles(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    const struct rule_reader reader = rules_reader(r);
    struct rules_controls *w = r->controls;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < w->thirds; i++) {
        int channel = w->third[i];
        struct rule_pair pair = {.first = r->motif[channel],
                                 .second = r->motif[channel],
                                 .number = (uint64_t)channel << 32 | (uint64_t)channel,
                                 .counts = w->counts};
        memset(w->counts, 0, (size_t)r->names * sizeof *w->counts);
        status = work_check(r->question->work, err);
        if (!status)
            status = rule_try(&reader, sample, &pair, r->maps, r->has, err);
        for (int k = 0; k < r->names; k++) {
            struct rule_single *single = &w->single[(ptrdiff_t)i * r->names + k];
            single->samples += w->counts[k].samples;
            single->with += w->counts[k].first;
            single->without += w->counts[k].neither;
        }
    }
    return status;
}

/* Returns whether a third motif may replace one of a pair in controls. It must not be a motif of the pair. By itself,
 * it must not change how often the model answers a name for which the pair seems to have a rule. */
static bool may_replace(const struct rules *r, const struct rules_controls *w, int third, int pair)
{
    const bool *wanted = w->doubtful + (ptrdiff_t)pair * r->names;
    if (w->third[third] == r->pair[pair].first.channel || w->third[third] == r->pair[pair].second.channel)
        return false;
    for (int k = 0; k < r->names; k++) {
        const struct rule_single *alone = &w->single[(ptrdiff_t)third * r->names + k];
        if (wanted[k] && abs(alone->with - alone->without) >= RULE_CLEAR * alone->samples)
            return false;
    }
    return true;
}

/* Fills, for each pair that seems to have a rule, the list of the motifs that may replace one of the pair. */
static enum status choose_replacements(const struct rules *r, struct rules_controls *w, struct error *err)
{
    w->choice = calloc((size_t)r->pairs * (size_t)w->thirds + 1, sizeof *w->choice);
    w->choices = calloc((size_t)r->pairs + 1, sizeof *w->choices);
    if (!w->choice || !w->choices)
        return error_memory(err, "rules");
    for (int i = 0; i < r->pairs; i++)
        for (int t = 0; t < w->thirds && count_bins(w, i) > 0; t++)
            if (may_replace(r, w, t, i))
                w->choice[(ptrdiff_t)i * w->thirds + w->choices[i]++] = w->third[t];
    return STATUS_OK;
}

/* ---- controls -------------------------------------------------------------------------------------------------- */

/* Draws the motif that replaces one of a pair in controls. Returns NULL if there is none. */
static const struct rule_motif *draw_third(const struct rules *r, const struct rule_sample *sample, int pair)
{
    const struct rules_controls *w = r->controls;
    struct philox from = philox_stream(sample->number, STREAM_THIRD, r->pair[pair].number);
    if (w->choices[pair] == 0)
        return NULL;
    uint32_t chosen = philox_u32(&from, 0) % (uint32_t)w->choices[pair];
    return &r->motif[w->choice[(ptrdiff_t)pair * w->thirds + chosen]];
}

static enum status try_controls(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    const struct rule_reader reader = rules_reader(r);
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < r->pairs; i++) {
        if (count_bins(r->controls, i) == 0)
            continue;
        status = work_check(r->question->work, err);
        if (!status)
            status = rule_try_controls(&reader, sample, &r->pair[i], draw_third(r, sample, i), r->controls->bins[i],
                                       r->maps, r->has, err);
    }
    return status;
}

/* Returns whether any pair seems to have a rule. */
static bool any_doubt(const struct rules *r, const struct rules_controls *w)
{
    for (int i = 0; i < r->pairs; i++)
        if (count_bins(w, i) > 0)
            return true;
    return false;
}

static enum status controls_measure(struct rules *r, struct rules_controls *w, struct error *err)
{
    w->doubtful = calloc((size_t)r->pairs * (size_t)r->names, sizeof *w->doubtful);
    w->bins = calloc((size_t)r->pairs, sizeof *w->bins);
    w->counts = calloc((size_t)r->names, sizeof *w->counts);
    if (!w->doubtful || !w->bins || !w->counts)
        return error_memory(err, "rules");
    for (int i = 0; i < r->pairs; i++)
        find_doubts(r, w, i);
    if (!any_doubt(r, w))
        return STATUS_OK;
    enum status status = choose_thirds(r, w, err);
    if (status)
        return status;
    status = limit_pairs(r, w, err);
    if (status || !any_doubt(r, w))
        return status;
    status = rules_each_sample(r, try_singles, err);
    if (status)
        return status;
    status = choose_replacements(r, w, err);
    return status ? status : rules_each_sample(r, try_controls, err);
}

enum status rules_measure_controls(struct rules *r, struct error *err)
{
    struct rules_controls w = {0};
    r->quantile = rule_quantile(count_tests(r));
    r->controls = &w;
    enum status status = controls_measure(r, &w, err);
    r->controls = NULL;
    free(w.doubtful);
    free(w.bins);
    free(w.is_third);
    free(w.third);
    free(w.single);
    free(w.counts);
    free(w.choice);
    free(w.choices);
    return status;
}
