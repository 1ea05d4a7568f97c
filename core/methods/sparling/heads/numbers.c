/* Numbers as targets: sums of predictions, checkpoints, the result, and what each channel does to the numbers
 * (numbers.h). */
#include "core/methods/sparling/heads/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"
#include "core/metrics/regression.h"

/* Normal quantiles. RESULT: for the 95 % intervals of the result. EFFECT: for the effects of channels on numbers.
 * EFFECT is larger than RESULT, because there are many pairs of a channel and a number, and chance makes some pairs
 * look related (see association.c). */
static const double RESULT = 1.96, EFFECT = 3.9;

enum { EFFECT_CHANNELS = 256 }; /* with more channels, their effects are not computed */

enum status numbers_open(struct method_run *run, struct error *err)
{
    struct numbers *n = &run->numbers;
    size_t count = (size_t)run->domain.shape.numbers;
    n->count = (int)count;
    if (count == 0)
        return STATUS_OK;
    n->sums = calloc(NUMBER_SUMS * (count + 1), sizeof *n->sums);
    n->room = calloc(2 * count, sizeof *n->room);
    n->effect = calloc((size_t)run->config.channels_motif * count, sizeof *n->effect);
    bool grouped = domain_groups(&run->domain) > 0;
    if (grouped)
        n->cluster = calloc((count + 1) * CLUSTERS, sizeof *n->cluster);
    return n->sums && n->room && n->effect && (n->cluster || !grouped) ? STATUS_OK
                                                                       : error_memory(err, "numbers as targets");
}

void numbers_close(struct numbers *n)
{
    free(n->sums);
    free(n->cluster);
    free(n->room);
    free(n->effect);
    *n = (struct numbers){0};
}

enum status numbers_begin(struct method_run *run, struct error *err)
{
    struct numbers *n = &run->numbers;
    struct network *network = run->network;
    if (n->count == 0)
        return STATUS_OK;
    if (!run->domain.domain->spread)
        return error_set(err, STATUS_INTERNAL, NULL, "the domain has numbers without a mean");
    run->domain.domain->spread(run->domain.state, n->room, n->room + n->count);
    for (int k = 0; k < n->count; k++) {
        network->number_mean->value[k] = (real)n->room[k];
        network->number_deviation->value[k] = (real)n->room[n->count + k];
    }
    n->best_guide = 0;
    memset(n->sums, 0, NUMBER_SUMS * (size_t)(n->count + 1) * sizeof *n->sums);
    return STATUS_OK;
}

enum status numbers_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct numbers *n = &run->numbers;
    if (n->count == 0)
        return STATUS_OK;
    const uint64_t effects[2] = {(uint64_t)run->config.channels_motif, (uint64_t)n->count};
    const int sums = NUMBER_SUMS * (n->count + 1), clusters = (n->count + 1) * CLUSTERS;
    struct regression *by_cluster = n->cluster ? n->cluster : n->sums; /* without groups the rows are left out */
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMN("numbers.samples", n->sums, sums, n),
        SNAPSHOT_COLUMNS("numbers.sums", n->sums, sums, y, n),
        SNAPSHOT_COLUMN(n->cluster ? "numbers.cluster.samples" : NULL, by_cluster, clusters, n),
        SNAPSHOT_COLUMNS(n->cluster ? "numbers.cluster.sums" : NULL, by_cluster, clusters, y, n),
        SNAPSHOT_ARRAY("numbers.effects", n->effect, effects[0], effects[1]),
        SNAPSHOT_NUMBER("numbers.best_guide", &n->best_guide),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

bool numbers_sound(const struct method_run *run)
{
    const struct numbers *n = &run->numbers;
    bool sound = n->best_guide >= 0 && n->best_guide <= 1;
    for (int i = 0; sound && n->count > 0 && i < NUMBER_SUMS * (n->count + 1); i++)
        sound = snapshot_counts_sound(&n->sums[i].n, 1);
    for (int i = 0; sound && n->cluster && i < (n->count + 1) * CLUSTERS; i++)
        sound = snapshot_counts_sound(&n->cluster[i].n, 1);
    return sound;
}

/* ---- sums -------------------------------------------------------------------------------------------------- */

struct regression *numbers_of(const struct method_run *run, enum number_sums which)
{
    return run->numbers.sums + (ptrdiff_t)which * (run->numbers.count + 1);
}

/* Returns the sums over all numbers together. If there is only one number, returns the sums of this number,
 * which give a more precise R squared: the sums over all numbers assume that each number has the mean 0. */
const struct regression *numbers_all(const struct method_run *run, enum number_sums which)
{
    return numbers_of(run, which) + (run->numbers.count > 1 ? run->numbers.count : 0);
}

const struct regression *numbers_cluster(const struct method_run *run, int k)
{
    return run->numbers.cluster ? run->numbers.cluster + (ptrdiff_t)k * CLUSTERS : NULL;
}

const struct regression *numbers_all_cluster(const struct method_run *run)
{
    return numbers_cluster(run, run->numbers.count > 1 ? run->numbers.count : 0);
}

void numbers_clear(struct method_run *run, enum number_sums which)
{
    if (which == NUMBERS_TEST && run->numbers.cluster)
        memset(run->numbers.cluster, 0, (size_t)(run->numbers.count + 1) * CLUSTERS * sizeof(struct regression));
    memset(numbers_of(run, which), 0, (size_t)(run->numbers.count + 1) * sizeof(struct regression));
}

const real *numbers_standard(struct method_run *run, const struct batch *batch)
{
    const struct network *network = run->network;
    size_t count = (size_t)run->numbers.count;
    real *out = arena_alloc(run->exec.arena, (size_t)batch->request.count * count * sizeof *out);
    if (!out) {
        error_memory(&run->exec.error, "numbers");
        return NULL;
    }
    for (size_t i = 0; i < (size_t)batch->request.count * count; i++)
        out[i] = (batch->truths[i / count].number[i % count] - network->number_mean->value[i % count]) /
                 network->number_deviation->value[i % count];
    return out;
}

void numbers_add(struct method_run *run, enum number_sums which, const struct batch *batch,
                 const struct tensor *outputs)
{
    struct numbers *n = &run->numbers;
    struct regression *sums = numbers_of(run, which);
    const struct network *network = run->network;
    double *y = n->room, *p = n->room + n->count;
    for (int i = 0; i < batch->request.count; i++) {
        struct regression *cluster = which == NUMBERS_TEST && n->cluster
                                         ? n->cluster + batch_cluster(&run->domain, batch, i)
                                         : NULL; /* those of the first number */
        for (int k = 0; k < n->count; k++) {
            y[k] = ((double)batch->truths[i].number[k] - (double)network->number_mean->value[k]) /
                   (double)network->number_deviation->value[k];
            p[k] = (double)outputs->data[i * n->count + k];
            regression_add(&sums[k], y[k], p[k]);
            if (cluster)
                regression_add(&cluster[k * CLUSTERS], y[k], p[k]);
        }
        regression_add_all(&sums[n->count], y, p, n->count);
        if (cluster)
            regression_add_all(&cluster[n->count * CLUSTERS], y, p, n->count);
    }
}

/* ---- effects of channels ------------------------------------------------------------------------------------ */

static bool active_in(const struct association *a, int channel, int64_t sample)
{
    return a->active[(size_t)channel * a->words + (size_t)sample / 64] >> (sample % 64) & 1;
}

/* Adds the samples of the evidence to the regression. The terms of the regression are the channels and, as the last
 * one, a constant. */
static void add_samples(const struct method_run *run, struct least_squares *s)
{
    const struct evidence *e = &run->evaluation.evidence;
    int n = s->terms, m = s->numbers;
    for (int64_t i = 0; i < e->pairs.samples; i++) {
        const float *number = e->number + i * m;
        for (int a = 0; a < n; a++) {
            if (a < n - 1 && !active_in(&e->pairs, a, i))
                continue;
            for (int b = 0; b < n; b++)
                s->gram[a * n + b] += b == n - 1 || active_in(&e->pairs, b, i);
            for (int k = 0; k < m; k++)
                s->products[a * m + k] += (double)number[k] - (double)run->network->number_mean->value[k];
        }
        for (int k = 0; k < m; k++)
            s->squares[k] += pow((double)number[k] - (double)run->network->number_mean->value[k], 2);
        s->samples++;
    }
}

/* Names a channel by the target numbers on which it has an effect: at most CHANNEL_NAMES numbers, the largest |t|
 * first. The strength of a name is the partial correlation of the channel with the number. t: [count] t-values of the
 * channel's effects */
static void name_channel(const struct least_squares *s, const double *t, struct channel_name *out)
{
    double rest = s->samples - s->terms;
    for (out->names = 0; out->names < CHANNEL_NAMES; out->names++) {
        int best = -1;
        for (int k = 0; k < s->numbers; k++) {
            bool there = false;
            for (int i = 0; i < (int)out->names; i++)
                there = there || (int)out->token[i] == k;
            if (!there && fabs(t[k]) > EFFECT && (best < 0 || fabs(t[k]) > fabs(t[best])))
                best = k;
        }
        if (best < 0)
            return;
        out->token[(int)out->names] = best;
        out->strength[(int)out->names] = t[best] / sqrt(t[best] * t[best] + rest);
        if (out->names == 0)
            out->whole = out->strength[0];
    }
}

/* Fits a linear regression of the numbers. The variables are 1 or 0 for each channel (active or not), and a
 * constant. */
static void find_effects(struct method_run *run, struct least_squares *s, double *coefficient, double *t)
{
    struct numbers *n = &run->numbers;
    int channels = s->terms - 1;
    add_samples(run, s);
    if (!least_squares_solve(s, coefficient, t))
        return;
    for (int c = 0; c < channels; c++) {
        name_channel(s, t + (ptrdiff_t)c * n->count, &run->evaluation.evidence.channels[c]);
        for (int k = 0; k < n->count; k++)
            n->effect[c * n->count + k] = (float)coefficient[c * n->count + k];
    }
}

enum status numbers_named(struct method_run *run, struct error *err)
{
    int terms = (int)run->config.channels_motif + 1, m = run->numbers.count;
    size_t table = (size_t)terms * (size_t)m, square = (size_t)terms * (size_t)terms;
    evidence_alike(run);
    memset(run->numbers.effect, 0, (table - (size_t)m) * sizeof *run->numbers.effect);
    if (terms > EFFECT_CHANNELS + 1)
        return STATUS_OK;
    double *room = calloc(square + 3 * table + (size_t)m, sizeof *room);
    if (!room)
        return error_memory(err, "the effects of channels");
    struct least_squares s = {.terms = terms, .numbers = m, .gram = room};
    s.products = room + square;
    s.squares = s.products + 3 * table;
    find_effects(run, &s, s.products + table, s.products + 2 * table);
    free(room);
    return STATUS_OK;
}

/* ---- the result ---------------------------------------------------------------------------------------------- */

static void write_figures(const struct regression *s, const struct regression *cluster, bool one,
                          const struct sink *out)
{
    struct interval r2 = regression_r2_interval(s, cluster, RESULT);
    sink_number(out, "r2", regression_r2(s));
    sink_number(out, "r2_low", r2.low);
    sink_number(out, "r2_high", r2.high);
    if (!one)
        return;
    double pearson = regression_pearson(s);
    struct interval range = interval_correlation(pearson, regression_pearson_samples(s, cluster), RESULT);
    sink_number(out, "pearson", pearson);
    sink_number(out, "pearson_low", range.low);
    sink_number(out, "pearson_high", range.high);
}

/* Writes the effects of the channels on a number. */
static void write_effects(const struct method_run *run, int number, const struct sink *out)
{
    const struct numbers *n = &run->numbers;
    sink_begin_list(out, "effects");
    for (int64_t c = 0; c < run->config.channels_motif; c++)
        sink_number(out, NULL, (double)n->effect[c * n->count + number]);
    sink_end_list(out);
}

void numbers_result(const struct method_run *run, const struct sink *out)
{
    const struct numbers *n = &run->numbers;
    const struct network *network = run->network;
    write_figures(numbers_all(run, NUMBERS_TEST), numbers_all_cluster(run), n->count == 1, out);
    sink_number(out, "trained_r2", regression_r2(numbers_all(run, NUMBERS_TRAINED)));
    sink_number(out, "guide_r2", n->best_guide);
    sink_begin_list(out, "numbers");
    for (int k = 0; k < n->count; k++) {
        const struct regression *s = &numbers_of(run, NUMBERS_TEST)[k];
        sink_begin_object(out, NULL);
        sink_text(out, "name", run->domain.domain->token(run->domain.state, k));
        sink_number(out, "mean", (double)network->number_mean->value[k]);
        sink_number(out, "deviation", (double)network->number_deviation->value[k]);
        write_figures(s, numbers_cluster(run, k), true, out);
        sink_number(out, "error",
                    sqrt(s->n > 0 ? s->ee / (double)s->n : (double)NAN) * (double)network->number_deviation->value[k]);
        write_effects(run, k, out);
        sink_end_object(out);
    }
    sink_end_list(out);
}
