/* Finds new weights for the channel of a name that g does not read yet. They must already separate the samples with
 * this name a little from the samples without it.
 *
 * In the first phase, the presence loss of a name may stay at that of a constant answer, because no direction in g's
 * features points to the name's motif yet. Random weights would find it only by luck. But the features at a position of
 * a sample with the name may be those of the motif. This file therefore takes the features at many random positions of
 * such samples as prototypes. With motif_start_words, the first prototypes are means of the features at the sites of
 * motifs that are enriched among the samples that g reads wrongly (genomics/missed_motifs.c). In long sequences, random
 * positions would rarely lie on the motif. From each prototype it computes a channel: the linear discriminant between
 * this feature vector and all features. One channel has the pooled score that separates the two groups of samples best
 * (Welch's t). If it separates them better than the present channel does, it replaces the weights of g's last layer for
 * this name. Everything runs in a fixed order on one thread, so a run gives the same weights for any number of
 * threads. */
#include "core/methods/sparling/training/prototype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"

enum status probe_batch(struct method_run *run, int index, const struct batch **batch, struct error *err)
{
    int64_t first = run->samples + index * run->config.batch;
    struct batch_request request = {.seed = run->config.seed,
                                    .first = first,
                                    .seen = first,
                                    .count = (int)run->config.batch,
                                    .set = DOMAIN_LESSON,
                                    .turns = run->presence.turns == TURNS_YES ? TURN_HALF : TURN_NONE};
    return batch_source_take(run->source, &request, NULL, batch, err);
}

void misread_close(struct misread *m)
{
    free(m->middle);
    free(m->reverse);
    *m = (struct misread){0};
}

enum {
    CANDIDATES = 128, /* prototypes that are compared */
    EACH = 4,         /* prototypes from one sample */
    STREAM = 0x7072   /* stream of the random numbers */
};
/* CERTAIN: Welch's t above which a candidate for an additional channel separates its groups; it is high, because many
 * candidates are compared. STEEP: difference between the logits of an additional channel at the means of the groups. */
static const double CERTAIN = 3.5, STEEP = 4;
/* This share of the features' mean variance is added to each variance before the covariance is factorised. */
static const double RIDGE = 0.01;

/* The sites of a motif over which a prototype is the mean: those on one strand, or all. */
enum strand { STRAND_OWN, STRAND_OTHER, STRAND_EITHER, STRANDS };
struct mean {
    int motif;
    enum strand strand;
    int sites;
};

/* Sums of scores over one group of samples: those with the name, or those without it. */
struct group {
    double count, sum[CANDIDATES], squares[CANDIDATES];
};

/* A search in progress. Candidate 0 is the present channel; the next `means` are means over the sites of motifs; the
 * others are features at random positions. */
struct search {
    const struct prototype_groups *groups; /* NULL: samples with the name, and those without it */
    struct misread misread;
    int means;
    struct mean mean_of[MISREAD_MOTIFS * STRANDS]; /* [means] element i: motif and strand of the sites over which
                                                      candidate 1 + i is the mean */
    int name, channel, width, positions, candidates;
    struct philox random;
    uint64_t drawn;
    double sharpness;      /* sharpness of the mean over positions (presence_sharpness) */
    double vectors;        /* number of feature vectors in `mean` and `square` */
    double *mean, *square; /* mean: [width]; square: [width][width]; first sums over feature vectors, then their mean
                              and covariance */
    double *candidate;     /* [CANDIDATES][width] prototypes, then weights */
    double offset[CANDIDATES];
    float *features; /* [width][positions] of one sample */
    float *response; /* [positions] of one candidate */
    struct group group[2];
};

static enum status open_search(struct method_run *run, int channel, struct search *s, struct error *err)
{
    int name = channel % run->presence.names;
    const struct sparling_geometry *map = &run->network->map;
    size_t width = (size_t)run->config.width;
    *s = (struct search){
        .name = name, .channel = channel, .width = (int)width, .positions = map->inner_rows * map->inner_cols};
    s->random = philox_stream((uint64_t)run->config.seed, STREAM, (uint64_t)run->updates * 4096 + (uint64_t)channel);
    s->mean = calloc(width, sizeof *s->mean);
    s->square = calloc(width * width, sizeof *s->square);
    s->candidate = calloc(CANDIDATES * width, sizeof *s->candidate);
    s->candidates = 1;
    s->sharpness = run->config.presence_sharpness;
    s->features = calloc(width * (size_t)s->positions, sizeof *s->features);
    s->response = calloc((size_t)s->positions, sizeof *s->response);
    return s->mean && s->square && s->candidate && s->features && s->response
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to search a channel's weights");
}

static void close_search(struct search *s)
{
    misread_close(&s->misread);
    free(s->mean);
    free(s->square);
    free(s->candidate);
    free(s->features);
    free(s->response);
}

/* Copies the features of one image of a map to s->features. */
static void copy_features(struct search *s, const struct tensor *map, int image)
{
    const struct map_shape *m = &map->map;
    for (int d = 0; d < s->width; d++) {
        float *to = s->features + (size_t)d * (size_t)s->positions;
        for (int row = 0; row < m->height; row++) {
            const real *at = map->data + map_offset(m, image, d / MAP_LANES, row, 0) + d % MAP_LANES;
            for (int col = 0; col < m->width; col++)
                *to++ = (float)at[(ptrdiff_t)col * MAP_LANES];
        }
    }
}

/* ---- motifs of misread samples --------------------------------------------------------------------------------- */

/* Whether a motif has a site on a strand in a sample. */
static bool has_site(const struct misread *m, int motif, enum strand strand, int sample)
{
    size_t at = (size_t)motif * (size_t)m->samples + (size_t)sample;
    return m->middle[at] >= 0 && (strand == STRAND_EITHER || m->reverse[at] == (strand == STRAND_OTHER));
}

/* Lists the means. The mean over both strands is left out if all sites lie on one strand. */
static void list_means(struct search *s)
{
    for (int motif = 0; motif < s->misread.motifs; motif++) {
        int sites[STRANDS] = {0};
        for (int strand = 0; strand < STRANDS; strand++)
            for (int i = 0; i < s->misread.samples; i++)
                sites[strand] += has_site(&s->misread, motif, (enum strand)strand, i);
        for (int strand = 0; strand < STRANDS; strand++)
            if (sites[strand] > 0 && (strand != STRAND_EITHER || (sites[STRAND_OWN] > 0 && sites[STRAND_OTHER] > 0)))
                s->mean_of[s->means++] = (struct mean){motif, (enum strand)strand, sites[strand]};
    }
    s->candidates += s->means;
}

/* Adds the features at the sites of a sample to the means. */
static void add_sites(struct search *s, int sample)
{
    for (int i = 0; i < s->means; i++) {
        const struct mean *mean = &s->mean_of[i];
        if (!has_site(&s->misread, mean->motif, mean->strand, sample))
            continue;
        size_t at = (size_t)s->misread.middle[(size_t)mean->motif * (size_t)s->misread.samples + (size_t)sample];
        for (int d = 0; d < s->width; d++)
            s->candidate[(1 + i) * s->width + d] +=
                (double)s->features[(size_t)d * (size_t)s->positions + at] / mean->sites;
    }
}

/* ---- first pass: moments and prototypes --------------------------------------------------------------------- */

static void add_moments(struct search *s)
{
    for (int a = 0; a < s->width; a++) {
        const float *x = s->features + (size_t)a * (size_t)s->positions;
        for (int p = 0; p < s->positions; p++)
            s->mean[a] += (double)x[p];
        for (int b = 0; b <= a; b++) {
            const float *y = s->features + (size_t)b * (size_t)s->positions;
            double sum = 0;
            for (int p = 0; p < s->positions; p++)
                sum += (double)x[p] * (double)y[p];
            s->square[a * s->width + b] += sum;
        }
    }
    s->vectors += s->positions;
}

static void draw_prototypes(struct search *s)
{
    for (int i = 0; i < EACH && s->candidates < CANDIDATES; i++) {
        int at = (int)(philox_u32(&s->random, s->drawn++) % (uint32_t)s->positions);
        for (int d = 0; d < s->width; d++)
            s->candidate[s->candidates * s->width + d] =
                (double)s->features[(size_t)d * (size_t)s->positions + (size_t)at];
        s->candidates++;
    }
}

/* ---- weights from prototypes ---------------------------------------------------------------------------------- */

/* Turns the sums into mean and covariance, and the covariance into its Cholesky factor (lower triangle). */
static void factorise_matrix(struct search *s)
{
    int n = s->width;
    double trace = 0;
    for (int a = 0; a < n; a++)
        s->mean[a] /= s->vectors;
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++)
            s->square[a * n + b] = s->square[a * n + b] / s->vectors - s->mean[a] * s->mean[b];
    for (int a = 0; a < n; a++)
        trace += s->square[a * n + a];
    for (int a = 0; a < n; a++)
        s->square[a * n + a] += RIDGE * trace / n + 1e-12;
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++) {
            double sum = s->square[a * n + b];
            for (int i = 0; i < b; i++)
                sum -= s->square[a * n + i] * s->square[b * n + i];
            s->square[a * n + b] = a == b ? sqrt(fmax(sum, 1e-12)) : sum / s->square[b * n + b];
        }
}

/* Turns a prototype into the weights of a channel whose response has mean 0 and about variance 1 over all features. */
static void solve_weights(struct search *s, int candidate)
{
    int n = s->width;
    double *x = s->candidate + (ptrdiff_t)candidate * n, length = 0;
    for (int a = 0; a < n; a++) {
        x[a] -= s->mean[a];
        for (int i = 0; i < a; i++)
            x[a] -= s->square[a * n + i] * x[i];
        x[a] /= s->square[a * n + a];
        length += x[a] * x[a];
    }
    for (int a = n - 1; a >= 0; a--) {
        for (int i = a + 1; i < n; i++)
            x[a] -= s->square[i * n + a] * x[i];
        x[a] /= s->square[a * n + a];
    }
    s->offset[candidate] = 0;
    for (int a = 0; a < n; a++) {
        x[a] /= sqrt(fmax(length, 1e-12));
        s->offset[candidate] += x[a] * s->mean[a];
    }
}

/* Stores the present channel as candidate 0, normalised by its running statistics. */
static void keep_current(const struct method_run *run, struct search *s)
{
    const struct network *n = run->network;
    double deviation = sqrt((double)n->norm.variance->value[s->channel] + n->norm.epsilon);
    for (int d = 0; d < s->width; d++)
        s->candidate[d] = (double)n->last.w->value[s->channel * s->width + d] / deviation;
    s->offset[0] = ((double)n->norm.mean->value[s->channel] - (double)n->last.b->value[s->channel]) / deviation;
}

/* ---- second pass: scores ---------------------------------------------------------------------------------------- */

/* Returns the log of the mean of the exponentials of the response, as op_log_mean_exp() pools a channel. */
static double pool_scores(struct search *s, int candidate)
{
    const double *w = s->candidate + (ptrdiff_t)candidate * s->width;
    float peak = -INFINITY, sharpness = (float)s->sharpness;
    double sum = 0;
    for (int p = 0; p < s->positions; p++)
        s->response[p] = (float)-s->offset[candidate];
    for (int d = 0; d < s->width; d++) {
        const float *x = s->features + (size_t)d * (size_t)s->positions;
        float weight = (float)w[d];
        for (int p = 0; p < s->positions; p++)
            s->response[p] += weight * x[p];
    }
    for (int p = 0; p < s->positions; p++)
        peak = s->response[p] > peak ? s->response[p] : peak;
    for (int p = 0; p < s->positions; p++)
        s->response[p] = expf(sharpness * (s->response[p] - peak));
    for (int p = 0; p < s->positions; p++)
        sum += (double)s->response[p];
    return (double)peak + log(sum / s->positions) / s->sharpness;
}

static void add_scores(struct search *s, bool with)
{
    struct group *g = &s->group[with];
    g->count++;
    for (int c = 0; c < s->candidates; c++) {
        double score = pool_scores(s, c);
        g->sum[c] += score;
        g->squares[c] += score * score;
    }
}

/* Welch's t of a candidate's scores. */
static double measure_separation(const struct search *s, int candidate)
{
    double mean[2], error = 0;
    for (int i = 0; i < 2; i++) {
        const struct group *g = &s->group[i];
        if (g->count < 2)
            return 0;
        mean[i] = g->sum[candidate] / g->count;
        error += fmax(g->squares[candidate] / g->count - mean[i] * mean[i], 0) / (g->count - 1);
    }
    return (mean[1] - mean[0]) / sqrt(error + 1e-12);
}

/* ---- the search ---------------------------------------------------------------------------------------------------
 */

/* The group of a sample: 1 or 0, or -1 for a sample that belongs to none. sample: its index among all PROBES batches.
 */
static int group_of(const struct method_run *run, const struct search *s, const struct domain_truth *truth, int sample)
{
    if (!s->groups)
        return presence_true(run, truth, s->name);
    double rest = s->groups->sign * (double)s->groups->rest[sample];
    return rest > s->groups->cut ? 1 : rest < -s->groups->cut ? 0 : -1;
}

/* Reads the next training samples. The first pass sums the features and draws the prototypes; the second pass computes
 * the scores of the candidates. */
static enum status read_samples(struct method_run *run, struct search *s, bool second, struct error *err)
{
    struct exec *e = &run->exec;
    for (int i = 0; i < PROBES; i++) {
        const struct batch *batch;
        enum status status = probe_batch(run, i, &batch, err);
        if (status)
            return status;
        exec_begin(e, false, (uint64_t)run->updates);
        struct tensor *map = network_features(e, run->network, batch->images, batch->request.count);
        status = exec_status(e, err);
        if (status)
            return status;
        for (int image = 0; image < batch->request.count; image++) {
            int group = group_of(run, s, &batch->truths[image], i * batch->request.count + image);
            copy_features(s, map, image);
            if (second && group >= 0)
                add_scores(s, group > 0);
            if (!second)
                add_moments(s);
            if (!second && group > 0) {
                add_sites(s, i * batch->request.count + image);
                draw_prototypes(s);
            }
        }
    }
    return STATUS_OK;
}

/* Writes the weights of the best candidate. Its response is normalised, so the running mean becomes 0 and the running
 * variance 1. The bias makes the logit at the mean score fit the frequency of the name. */
static void install_weights(struct method_run *run, const struct search *s, int best)
{
    struct network *n = run->network;
    const double *w = s->candidate + (ptrdiff_t)best * s->width;
    double with = s->group[1].count, without = s->group[0].count;
    double mean = (s->group[0].sum[best] + s->group[1].sum[best]) / (with + without);
    double share = with * (double)run->presence.weight[s->name] / without;
    for (int d = 0; d < s->width; d++)
        n->last.w->value[s->channel * s->width + d] = (real)w[d];
    n->last.b->value[s->channel] = (real)-s->offset[best];
    n->norm.mean->value[s->channel] = R(0.0);
    n->norm.variance->value[s->channel] = R(1.0);
    n->presence_gain->value[s->channel] = R(1.0);
    n->presence_bias->value[s->channel] = (real)(log(share) - mean);
    if (s->groups) { /* a probability of .88 and .12 at the mean scores of the two groups */
        double low = s->group[0].sum[best] / without, gain = STEEP / (s->group[1].sum[best] / with - low);
        n->presence_gain->value[s->channel] = (real)gain;
        n->presence_bias->value[s->channel] = (real)(-gain * low - STEEP / 2);
    }
}

/* Searches weights for a channel. least: separation that a candidate needs; the present channel needs none. */
static enum status search_weights(struct method_run *run, int channel, const struct prototype_groups *groups,
                                  double least, bool *found, struct error *err)
{
    struct search s;
    int best = 0;
    enum status status = open_search(run, channel, &s, err);
    s.groups = groups;
    if (!status && sparling_genomics.missed_motifs && (!groups || groups->sign > 0))
        status = sparling_genomics.missed_motifs(run, s.name, &s.misread, err);
    if (!status) {
        list_means(&s);
        status = read_samples(run, &s, false, err);
    }
    if (!status) {
        factorise_matrix(&s);
        keep_current(run, &s);
        for (int c = 1; c < s.candidates; c++)
            solve_weights(&s, c);
        status = read_samples(run, &s, true, err);
    }
    for (int c = 1; !status && c < s.candidates; c++)
        if (measure_separation(&s, c) > fmax(least, best > 0 || !groups ? measure_separation(&s, best) : -INFINITY))
            best = c;
    *found = best > 0;
    if (*found) {
        install_weights(run, &s, best);
        run->reinitialisation.count++;
    }
    close_search(&s);
    return status;
}

enum status prototype_search(struct method_run *run, int name, struct error *err)
{
    bool found;
    return search_weights(run, name, NULL, -INFINITY, &found, err);
}

enum status prototype_add(struct method_run *run, int channel, const struct prototype_groups *groups, bool *found,
                          struct error *err)
{
    return search_weights(run, channel, groups, CERTAIN, found, err);
}
