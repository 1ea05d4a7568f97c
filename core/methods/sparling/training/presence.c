/* The presence objective of a run: finds which names occur in the labels of a batch, decides how long this objective
 * trains alone, and sets the density of each channel by the frequency of its name.
 *
 * The loss of the labels reaches the motif model only through the head. While the head cannot read the map, this loss
 * does not tell the motif model which motifs to mark, and the head cannot learn to read a map without motifs. Motifs
 * that are hard to see are then never found. In the first phase the presence objective trains the motif model alone:
 * channel k learns to be large somewhere if and only if name k occurs in the label. During this phase the thresholds
 * and the running scale of the head's input are updated as usual. Then the head is trained as well, on motifs that are
 * already there, and the presence objective keeps each channel at its name.
 *
 * Each validation measures how well g reads each name. In the first phase, names that g reads badly weigh more. If g
 * does not read a name, the name's channel gets new weights (prototype.c). The phase ends when neither the presence
 * loss of the validation set nor that of a name falls any more (motif_phase.c). */
#include <math.h>
#include <stdlib.h>

#include "core/base/logistic.h"
#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/grow.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/prototype.h"

/* The level of a name is its loss divided by the loss of the best constant answer; 1 means that g has learned nothing
 * about the name. LEVEL_GAIN: fall of a name's level that counts as better. UNREAD: g does not read a name yet while
 * its level is above this limit. */
static const double LEVEL_GAIN = 0.05, UNREAD = 0.7;
/* If g does not read a name, and the name's level has not fallen for this number of validations, the name's channel
 * gets new weights. */
static const double STILL = 4;
enum { SEARCHES = 16 }; /* upper limit of the searches after one validation */
/* Smallest weight of a name in the first phase, relative to that of a name that g does not read. */
static const double LEAST_WEIGHT = 0.1;
/* Largest weight of a name. Names in few labels get larger weights, but the few samples must not dominate the loss. */
static const double LARGEST_WEIGHT = 20;
/* CLEAR: g recognises a name if its level is at most this limit. STRAND: motifs lie on either strand if, with samples
 * read from the other strand, the level of every recognised name rises by less than this share of 1 - level. */
static const double CLEAR = 0.6, STRAND = 0.25;
/* FACTOR_MOST: largest factor on the density of a channel. FACTOR_STEP: largest change of this factor after one
 * validation. */
static const double FACTOR_MOST = 10, FACTOR_STEP = 1.25;
/* Smallest density of a channel as a multiple of the mean density. A name that no training label contains would
 * otherwise give its channel the density 0. */
static const double LEAST_SHARE = 0.01;

/* Sets weights and densities for labels that are counts: one channel marks every motif and gets nearly all of the
 * density. */
static void follow_counts(struct method_run *run, const double *share)
{
    struct presence_phase *p = &run->presence;
    int channels = (int)run->config.channels_motif, tokens = run->domain.shape.tokens;
    double motifs = 0, with = 0;
    for (int k = 0; k < tokens; k++) {
        double count = (double)run->domain.domain->counts(run->domain.state, k);
        motifs += share[k] * fmax(count, 0);
        with += count > 0 ? share[k] : 0;
    }
    with = fmax(with, 1e-9);
    p->weight[p->counted] = (real)fmin(LARGEST_WEIGHT, fmax(1, (1 - with) / with));
    for (int c = 0; c < channels; c++)
        p->share[c] = c == p->counted ? fmax(1, motifs) * channels : LEAST_SHARE;
}

/* Sets the weights of names and the shares of the density from the labels of the training part. */
static enum status follow_names(struct method_run *run, struct error *err)
{
    struct presence_phase *p = &run->presence;
    int tokens = run->domain.shape.tokens, channels = (int)run->config.channels_motif;
    int named = tokens < channels ? tokens : channels;
    double *count = calloc(2 * (size_t)tokens, sizeof *count), sum = 0;
    if (!count)
        return error_memory(err, "the frequencies of names");
    (void)run->domain.domain->frequencies(run->domain.state, count, count + tokens);
    for (int k = 0; k < p->names; k++) {
        double share = fmax(count[tokens + k], 1e-9);
        p->weight[k] = (real)fmin(LARGEST_WEIGHT, fmax(1, (1 - share) / share));
    }
    tally_follow(run, count, count + tokens);
    if (p->counted >= 0) {
        follow_counts(run, count + tokens);
        free(count);
        return STATUS_OK;
    }
    for (int k = 0; k < named; k++)
        sum += count[k] / named;
    if (sparling_uneven(&run->config))
        for (int c = 0; c < named && sum > 0; c++)
            p->share[c] = fmax(count[c] / sum, LEAST_SHARE);
    free(count);
    return STATUS_OK;
}

enum status presence_open(struct method_run *run, struct error *err)
{
    const struct sparling_config *c = &run->config;
    struct presence_phase *p = &run->presence;
    const struct sparling_geometry map = sparling_geometry(c);
    p->names = sparling_presence_names(c);
    p->channels = p->names * sparling_parts(c);
    p->counted = presence_counted(run);
    p->occurs = calloc((size_t)c->batch * (size_t)(p->names + 1), sizeof *p->occurs);
    p->tally = calloc((size_t)c->batch * (size_t)(p->names + 1), sizeof *p->tally);
    p->offset = calloc((size_t)p->names + 1, sizeof *p->offset);
    p->weight = calloc((size_t)p->names + 1, sizeof *p->weight);
    p->share = calloc(2 * (size_t)c->channels_motif, sizeof *p->share);
    p->scale = calloc((size_t)p->names + 1, sizeof *p->scale);
    p->tally_scale = calloc((size_t)p->names + 1, sizeof *p->tally_scale);
    p->names_table = calloc((size_t)PRESENCE_COLUMNS * (size_t)(p->channels + 1), sizeof *p->names_table);
    if (!p->occurs || !p->tally || !p->offset || !p->weight || !p->share || !p->scale || !p->tally_scale ||
        !p->names_table)
        return error_memory(err, "the presence objective");
    for (int k = 0; k < p->names; k++) {
        p->weight[k] = R(1.0);
        p->offset[k] = (real)-log((double)map.inner_rows * map.inner_cols);
    }
    for (int64_t i = 0; i < c->channels_motif; i++)
        p->share[i] = 1;
    bool follows = p->names > 0 || sparling_uneven(c);
    return follows && run->domain.domain->frequencies ? follow_names(run, err) : STATUS_OK;
}

void presence_close(struct method_run *run)
{
    free(run->presence.occurs);
    free(run->presence.tally);
    free(run->presence.offset);
    free(run->presence.weight);
    free(run->presence.share);
    free(run->presence.scale);
    free(run->presence.tally_scale);
    free(run->presence.names_table);
}

/* Returns a column of the table of names: an array [channels]. */
static double *column_of(const struct presence_phase *p, enum presence_column which)
{
    return presence_cell(p, which, 0);
}

void presence_clear(struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    for (int k = 0; k < p->names; k++)
        column_of(p, PRESENCE_TURNED)[k] = column_of(p, PRESENCE_LOSS)[k] = column_of(p, PRESENCE_WITH)[k] = 0;
    for (int c = 0; c < p->channels; c++)
        column_of(p, PRESENCE_ACTIVE)[c] = column_of(p, PRESENCE_WANTED)[c] = 0;
}

bool presence_spare(const struct method_run *run, int channel)
{
    const struct presence_phase *p = &run->presence;
    return channel < p->channels && channel / p->names >= network_parts_used(run->network, channel % p->names);
}

void presence_densities(struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    int channels = (int)run->config.channels_motif;
    if (!sparling_uneven(&run->config))
        return;
    /* The common density is one motif of a name for all channels. With several channels for a name, those that count
     * get a larger share, and the others the least. */
    double several = p->names > 0 ? p->channels / p->names : 1;
    for (int c = 0; c < channels; c++)
        p->share[channels + c] = c >= p->channels ? p->share[c]
                                 : presence_spare(run, c)
                                     ? LEAST_SHARE
                                     : several * p->share[c % p->names] * column_of(p, PRESENCE_FACTOR)[c];
    sparse_set_shares(run->network->sparse, p->share + channels);
}

void presence_begin(struct method_run *run)
{
    struct presence_phase *p = &run->presence;
    const struct domain *domain = run->domain.domain;
    bool decides = phase_of_g_alone(plan_now(run)) && run->config.other_strand;
    p->turns = decides && domain->turns && domain->turns(run->domain.state) ? TURNS_OPEN : TURNS_NO;
    p->flat = p->ended_updates = p->ended_samples = 0;
    p->best = INFINITY;
    presence_clear(run);
    for (int k = 0; k < p->names; k++)
        column_of(p, PRESENCE_LEVEL)[k] = column_of(p, PRESENCE_BEST)[k] = 1;
    for (int c = 0; c < p->channels; c++)
        column_of(p, PRESENCE_FACTOR)[c] = 1;
    for (int k = 0; k < p->names; k++) /* the first validation may begin a search for every name */
        column_of(p, PRESENCE_STILL)[k] = STILL;
    for (int k = 0; k < p->names; k++)
        column_of(p, PRESENCE_GROWTH)[k] = GROWTH_OPEN;
    presence_densities(run);
}

/* Sets the weights of names in the first phase. With equal weights, the gradients of names that g already reads would
 * be much larger than the gradient of a name that g does not read yet, and Adam scales only their sum. So the weight of
 * a name is proportional to its level, and g learns the names that it reads worst. The mean weight is 1. */
static void balance_names(struct presence_phase *p)
{
    double sum = 0;
    for (int k = 0; k < p->names; k++)
        sum += fmin(1, fmax(LEAST_WEIGHT, column_of(p, PRESENCE_LEVEL)[k])) / p->names;
    for (int k = 0; k < p->names; k++)
        p->scale[k] = (real)(fmin(1, fmax(LEAST_WEIGHT, column_of(p, PRESENCE_LEVEL)[k])) / sum);
}

struct tensor *presence_loss(struct method_run *run, const struct batch *batch, struct tensor *scores)
{
    struct presence_phase *p = &run->presence;
    int names = p->names;
    for (int i = 0; i < batch->request.count; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        for (int k = 0; k < names; k++)
            p->occurs[i * names + k] = presence_true(run, truth, k);
    }
    bool alone = phase_of_g_alone(plan_now(run));
    if (alone)
        balance_names(p);
    return network_presence(&run->exec, run->network, scores, p->occurs, p->weight, alone ? p->scale : NULL);
}

/* Whether a channel has an active position in an image of a motif map. */
static bool is_active(const struct tensor *motifs, int image, int channel)
{
    const struct map_shape *s = &motifs->map;
    for (int row = 0; row < s->height; row++) {
        const real *at = motifs->data + map_offset(s, image, channel / MAP_LANES, row, 0) + channel % MAP_LANES;
        for (int col = 0; col < s->width; col++)
            if (at[(ptrdiff_t)col * MAP_LANES] > 0)
                return true;
    }
    return false;
}

/* The loss of a name in a sample of the batch in progress. */
static double loss_of(const struct method_run *run, const struct tensor *scores, int sample, int name)
{
    const struct presence_phase *p = &run->presence;
    double logit = network_presence_logit(run->network, scores->data + (ptrdiff_t)sample * scores->cols, name);
    return p->occurs[sample * p->names + name] ? (double)p->weight[name] * soft_plus(-logit) : soft_plus(logit);
}

/* Whether a channel should be active in a sample of the batch in progress. */
static bool wanted(const struct method_run *run, const struct tensor *scores, int sample, int channel)
{
    const struct presence_phase *p = &run->presence;
    const struct network *n = run->network;
    int name = channel % p->names;
    if (network_parts_used(n, name) == 1)
        return p->occurs[sample * p->names + name];
    return (double)n->presence_gain->value[channel] * (double)scores->data[(ptrdiff_t)sample * scores->cols + channel] +
               (double)n->presence_bias->value[channel] >
           0;
}

void presence_count(struct method_run *run, const struct batch *batch, struct tensor *scores,
                    const struct tensor *motifs)
{
    const struct presence_phase *p = &run->presence;
    for (int i = 0; i < batch->request.count; i++)
        for (int k = 0; k < p->names; k++) {
            column_of(p, PRESENCE_WITH)[k] += p->occurs[i * p->names + k];
            column_of(p, PRESENCE_LOSS)[k] += loss_of(run, scores, i, k);
            for (int c = k; c < p->channels && !presence_spare(run, c); c += p->names) {
                column_of(p, PRESENCE_ACTIVE)[c] += is_active(motifs, i, c);
                column_of(p, PRESENCE_WANTED)[c] += wanted(run, scores, i, c);
            }
        }
}

/* Returns the level of a name: its loss over the samples of a validation, divided by the loss of the best constant
 * answer. */
static double level_of(const struct presence_phase *p, int name, double samples)
{
    double with = column_of(p, PRESENCE_WITH)[name] * (double)p->weight[name],
           without = samples - column_of(p, PRESENCE_WITH)[name];
    double q = with / (with + without);
    double constant = q > 0 && q < 1 ? -(with * log(q) + without * log(1 - q)) : 0;
    return constant > 0 ? column_of(p, PRESENCE_LOSS)[name] / constant : 1;
}

/* A validation also reads the other strand only once g recognises half of the names. Before that, a comparison of the
 * strands would show nothing. Names that no validation sample has do not count. If labels are counts, that is true of
 * all names but one (label_counts.c). */
bool presence_turning(const struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    int clear = 0, present = 0;
    if (!phase_of_g_alone(plan_now(run)) || p->turns != TURNS_OPEN)
        return false;
    for (int k = 0; k < p->names; k++) {
        clear += level_of(p, k, (double)run->config.validation_samples) <= CLEAR;
        present += column_of(p, PRESENCE_WITH)[k] > 0;
    }
    return clear > 0 && 2 * clear >= present;
}

void presence_count_turned(struct method_run *run, const struct batch *batch, struct tensor *scores)
{
    const struct presence_phase *p = &run->presence;
    for (int i = 0; i < batch->request.count; i++)
        for (int k = 0; k < p->names; k++)
            column_of(p, PRESENCE_TURNED)[k] += loss_of(run, scores, i, k);
}

/* Decides whether motifs lie on either strand; training then reads half of its samples from the other strand. If motifs
 * lie on either strand, g has seen both forms of them, and recognises a name nearly as well in a sample that it reads
 * from the other strand. Only names that g recognises (CLEAR) count. If it fails to recognise one of them from the
 * other strand, motifs lie on one strand only. */
static void decide_strands(struct presence_phase *p)
{
    bool either = true;
    for (int k = 0; k < p->names; k++) {
        double level = column_of(p, PRESENCE_LEVEL)[k];
        double turned = level * column_of(p, PRESENCE_TURNED)[k] / fmax(column_of(p, PRESENCE_LOSS)[k], 1e-12);
        either &= level > CLEAR || turned < level + STRAND * (1 - level);
    }
    p->turns = either ? TURNS_YES : TURNS_NO;
}

/* Computes the level of each name at the end of a validation, and returns the loss of all names. *better: whether a
 * level fell clearly. */
static double measure_levels(struct presence_phase *p, double samples, bool *better)
{
    double all = 0;
    *better = false;
    for (int k = 0; k < p->names; k++) {
        double level = level_of(p, k, samples);
        column_of(p, PRESENCE_LEVEL)[k] = level;
        column_of(p, PRESENCE_STILL)[k]++;
        if (level < column_of(p, PRESENCE_BEST)[k] - LEVEL_GAIN) {
            column_of(p, PRESENCE_BEST)[k] = level;
            column_of(p, PRESENCE_STILL)[k] = 0;
            *better = true;
        }
        all += column_of(p, PRESENCE_LOSS)[k];
    }
    return all / samples;
}

/* Whether g does not read a name yet. false for a name that no validation sample has, because its level is then
 * unknown. */
static bool is_unread(const struct presence_phase *p, int name)
{
    return column_of(p, PRESENCE_BEST)[name] > UNREAD && column_of(p, PRESENCE_WITH)[name] > 0;
}

static int count_unread(const struct presence_phase *p)
{
    int count = 0;
    for (int k = 0; k < p->names; k++)
        count += is_unread(p, k);
    return count;
}

enum status presence_search(struct method_run *run, struct error *err)
{
    const struct presence_phase *p = &run->presence;
    double *still = column_of(p, PRESENCE_STILL);
    enum status status = STATUS_OK;
    if (run->config.freeze != FREEZE_NOTHING || run->config.batch_norm != BATCH_NORM_PLAIN)
        return STATUS_OK;
    if (p->channels > p->names)
        status = grow_names(run, err);
    for (int k = 0, searches = 0; !status && k < p->names && searches < SEARCHES; k++) {
        if (!is_unread(p, k) || still[k] < STILL || network_parts_used(run->network, k) > 1)
            continue;
        still[k] = 0;
        searches++;
        status = prototype_search(run, k, err);
    }
    run_metric(run, "reinitialised", (double)run->reinitialisation.count);
    return status;
}

/* Adapts the densities of the channels, so that each becomes active in as many samples as have its name. A density of
 * one active position for each token is not right for every channel: a motif that repeats within itself takes several
 * positions, and chance copies of a short motif take some of the positions. The function does nothing before the last
 * density, because earlier densities are larger on purpose. */
static void adapt_densities(struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    if (!sparling_uneven(&run->config) || !annealer_at_least(&run->annealer, &run->rule))
        return;
    for (int c = 0; c < p->channels; c++) {
        double ratio = (column_of(p, PRESENCE_WANTED)[c] + 1) / (column_of(p, PRESENCE_ACTIVE)[c] + 1);
        double factor = column_of(p, PRESENCE_FACTOR)[c] * fmin(FACTOR_STEP, fmax(1 / FACTOR_STEP, ratio));
        column_of(p, PRESENCE_FACTOR)[c] = fmin(FACTOR_MOST, fmax(1 / FACTOR_MOST, factor));
    }
    presence_densities(run);
}

void presence_measure(struct method_run *run, struct validation_outcome *v)
{
    struct presence_phase *p = &run->presence;
    v->own_loss = measure_levels(p, (double)run->config.validation_samples, &v->own_better);
    v->own_unread = count_unread(p);
    run_metric(run, "presence_loss", v->own_loss);
    if (presence_turning(run))
        decide_strands(p);
    if (!phase_of_g_alone(plan_now(run)))
        adapt_densities(run);
}

bool presence_sound(const struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    if (p->turns < TURNS_OPEN || p->turns > TURNS_NO)
        return false;
    for (int i = 0; i < PRESENCE_COLUMNS * p->channels; i++)
        if (!(p->names_table[i] >= 0 && p->names_table[i] <= 1e15))
            return false;
    for (int c = 0; c < p->channels; c++) {
        double factor = column_of(p, PRESENCE_FACTOR)[c];
        if (!(factor >= 1 / FACTOR_MOST && factor <= FACTOR_MOST))
            return false;
    }
    for (int k = 0; k < p->names; k++) {
        int used = network_parts_used(run->network, k);
        if (used < 1 || used > p->channels / p->names || column_of(p, PRESENCE_GROWTH)[k] > GROWTH_ENDED)
            return false;
    }
    return true;
}

enum status presence_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct presence_phase *p = &run->presence;
    const struct snapshot_row rows[] = {
        SNAPSHOT_ARRAY("presence.names", p->names_table, PRESENCE_COLUMNS, (uint64_t)p->channels)};
    return p->names == 0 ? STATUS_OK : snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
