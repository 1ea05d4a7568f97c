/* Calibrates g after training: running statistics of the batch norms, then the thresholds of named channels. Trained
 * weights do not change. In training, both follow small batches, so at the end they depend mostly on the last few
 * batches. Motifs are rare, so these values are noisy, and even a small error of a threshold causes many false or
 * missed motifs.
 *
 * 1. The running statistics become the means over many training batches.
 * 2. The threshold of channel k is computed from validation samples. A false sample: the channel is active, but the
 *    label does not contain name k. A missed sample: the channel is not active, but the label contains name k. The
 *    threshold becomes as low as possible without more false than missed samples. If labels state how often a name
 *    occurs, the largest peaks of a channel in a sample count instead of samples: peak j is right if the label contains
 *    the name at least j times. If targets are numbers, calibration_numbers() computes the thresholds.
 *
 * With never_empty, a sample without active channels makes one channel active: the one whose peak is closest to its
 * threshold. Which one this is depends on all thresholds, so thresholds are computed in several rounds.
 *
 * Each step of a calibration reads one batch. Checkpoints do not contain the scores of validation samples, so after a
 * resume the computation of the thresholds begins again. */
#include "core/methods/sparling/training/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate_parts.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/train.h"
#include "core/metrics/regression.h"

/* Thresholds of channels if targets are numbers (calibrate.c).
 *
 * No label states in which samples a motif occurs. A threshold divides the samples into those in which the channel is
 * active, and the others. The calibration chooses the threshold whose two groups differ most in their numbers. Before,
 * a regression of the numbers on which channels are active subtracts what the other channels explain. Each threshold
 * depends little on the others, so two rounds are enough. A threshold stays as it is if no division is certain. */

enum { SPLIT_ROUNDS = 2, LEAST = 10 }; /* LEAST: smallest number of samples of a group */
/* Normal quantile above which a division is certain. It is high, because many thresholds are tried. */
static const double CERTAIN = 5;

struct dividing {
    int channels, numbers, samples;
    const struct calibration_score *score; /* [channels][samples] */
    const real *number;                    /* [samples][numbers] standardised */
    double *cut;                           /* [channels] difference between the new threshold and the model's */
    double *gram, *products, *coefficient, *t, *squares;
    double *rest; /* [samples][numbers] the numbers minus what the other channels explain */
    int *order;   /* [samples] by falling score */
};

static bool is_active(const struct dividing *d, int channel, int sample)
{
    return channel == d->channels || (double)d->score[(ptrdiff_t)channel * d->samples + sample].peak > d->cut[channel];
}

/* Fits a linear regression of the numbers. The variables are 1 or 0 for each channel (active or not), and a
 * constant. */
static bool fit_regression(const struct dividing *d)
{
    int n = d->channels + 1, m = d->numbers;
    memset(d->gram, 0, (size_t)n * (size_t)n * sizeof *d->gram);
    memset(d->products, 0, (size_t)n * (size_t)m * sizeof *d->products);
    memset(d->squares, 0, (size_t)m * sizeof *d->squares);
    for (int i = 0; i < d->samples; i++)
        for (int a = 0; a < n; a++) {
            for (int b = 0; is_active(d, a, i) && b < n; b++)
                d->gram[a * n + b] += is_active(d, b, i);
            for (int k = 0; is_active(d, a, i) && k < m; k++) {
                d->products[a * m + k] += (double)d->number[i * m + k];
                d->squares[k] += a == n - 1 ? (double)d->number[i * m + k] * (double)d->number[i * m + k] : 0;
            }
        }
    struct least_squares sums = {n, m, d->samples, d->gram, d->products, d->squares};
    return least_squares_solve(&sums, d->coefficient, d->t);
}

static int compare_scores(const void *a, const void *b, void *context)
{
    const struct calibration_score *score = context;
    int x = *(const int *)a, y = *(const int *)b;
    if (score[x].peak != score[y].peak)
        return score[x].peak < score[y].peak ? 1 : -1;
    return (x > y) - (x < y);
}

/* Removes from the numbers what the other channels explain, and sorts the samples by the channel's score. */
static void prepare_channel(const struct dividing *d, int channel)
{
    const struct calibration_score *score = d->score + (ptrdiff_t)channel * d->samples;
    for (int i = 0; i < d->samples; i++) {
        d->order[i] = i;
        for (int k = 0; k < d->numbers; k++) {
            double rest = (double)d->number[i * d->numbers + k];
            for (int c = 0; c < d->channels; c++)
                rest -= c != channel && is_active(d, c, i) ? d->coefficient[c * d->numbers + k] : 0;
            d->rest[i * d->numbers + k] = rest;
        }
    }
    qsort_r(d->order, (size_t)d->samples, sizeof *d->order, compare_scores, (void *)(uintptr_t)score);
}

/* Finds the best division into the samples with the largest scores and the others. Returns how many samples have the
 * largest scores; 0: no division is certain. */
static int find_division(const struct dividing *d, int channel)
{
    const struct calibration_score *score = d->score + (ptrdiff_t)channel * d->samples;
    int n = d->samples, m = d->numbers, best = 0;
    double most = 0, *sum = d->products, *all = d->coefficient + (ptrdiff_t)d->channels * m, total = 0;
    memset(sum, 0, (size_t)m * sizeof *sum);
    memset(all, 0, (size_t)m * sizeof *all);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            all[k] += d->rest[i * m + k] / n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            total += pow(d->rest[i * m + k] - all[k], 2);
    for (int i = 0; i + LEAST < n; i++) {
        double between = 0, count = i + 1;
        for (int k = 0; k < m; k++) {
            sum[k] += d->rest[d->order[i] * m + k] - all[k];
            between += sum[k] * sum[k] / (count * (1 - count / n));
        }
        if (i + 1 >= LEAST && between > most && score[d->order[i]].peak > score[d->order[i + 1]].peak) {
            most = between;
            best = i + 1;
        }
    }
    /* `between` measures how much the numbers of two groups differ; `most` is its largest value. If the channel has no
     * effect, the mean of `between` is about `usual`, and its standard deviation about `usual` * sqrt(2 / m), where
     * each sample has m numbers. */
    double usual = total / n;
    return most > usual * (1 + CERTAIN * CERTAIN / m) ? best : 0;
}

static bool make_room(struct dividing *d)
{
    size_t n = (size_t)d->channels + 1, m = (size_t)d->numbers, samples = (size_t)d->samples;
    d->cut = calloc(n, sizeof *d->cut);
    d->gram = calloc(n * n, sizeof *d->gram);
    d->products = calloc(n * m, sizeof *d->products);
    d->coefficient = calloc(n * m, sizeof *d->coefficient);
    d->t = calloc(n * m, sizeof *d->t);
    d->squares = calloc(m, sizeof *d->squares);
    d->rest = calloc(samples * m, sizeof *d->rest);
    d->order = calloc(samples, sizeof *d->order);
    return d->cut && d->gram && d->products && d->coefficient && d->t && d->squares && d->rest && d->order;
}

static void close_dividing(struct dividing *d)
{
    free(d->cut);
    free(d->gram);
    free(d->products);
    free(d->coefficient);
    free(d->t);
    free(d->squares);
    free(d->rest);
    free(d->order);
}

/* Sets the thresholds from the scores of `samples` samples, if targets are numbers.
 * Error: STATUS_NO_MEMORY. */
static enum status calibration_numbers(struct method_run *run, int samples, struct error *err)
{
    const struct calibration *c = &run->calibration;
    real *thresholds = sparse_edit_thresholds(run->network->sparse);
    struct dividing d = {.channels = (int)run->config.channels_motif,
                         .numbers = run->numbers.count,
                         .samples = samples,
                         .score = c->score,
                         .number = c->number};
    bool room = make_room(&d);
    for (int round = 0; room && round < SPLIT_ROUNDS && fit_regression(&d); round++)
        for (int channel = 0; channel < d.channels; channel++) {
            const struct calibration_score *score = d.score + (ptrdiff_t)channel * samples;
            prepare_channel(&d, channel);
            int count = find_division(&d, channel);
            if (count > 0)
                d.cut[channel] = ((double)score[d.order[count - 1]].peak + (double)score[d.order[count]].peak) / 2;
        }
    for (int channel = 0; room && channel < d.channels; channel++)
        thresholds[channel] += (real)d.cut[channel];
    close_dividing(&d);
    return room ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate a model");
}

enum {
    NORM_BATCHES = 128, /* batches whose statistics are averaged */
    SAMPLES = 2000,     /* number of validation samples for the thresholds; if the validation set has fewer, some count
                           several times */
    MOST_WITH_NUMBERS = 256, /* with more channels, thresholds are not calibrated if targets are numbers */
    PEAKS = 4,               /* peaks of a sample that count if labels say how often a name occurs */
    MOST_PARTS = 8,          /* upper limit of channels_per_name */
    ROUNDS = 8               /* rounds with never_empty; each moves a threshold half of the way to its new value */
};

void calibration_drop(struct method_run *run)
{
    free(run->calibration.score);
    free(run->calibration.number);
    if (run->calibration.fit)
        sparling_genomics.matrices_drop(run->calibration.fit);
    run->calibration.score = NULL;
    run->calibration.number = NULL;
    run->calibration.fit = NULL;
    run->calibration.fitted = false;
}

bool calibration_loaded(struct method_run *run)
{
    struct calibration *c = &run->calibration;
    calibration_drop(run);
    if (c->position < 0 || c->position >= NORM_BATCHES + SAMPLES)
        return false;
    if (c->position > NORM_BATCHES)
        c->position = NORM_BATCHES;
    return true;
}

/* Channels whose thresholds are calibrated. */
static int names_of(const struct method_run *run)
{
    const struct sparling_config *c = &run->config;
    bool several = c->sparsity == SPARSITY_PER_CHANNEL && !sparling_collects(c);
    if (run->numbers.count > 0)
        return several && sparling_guided(c) && c->channels_motif <= MOST_WITH_NUMBERS ? (int)c->channels_motif : 0;
    return several ? run->presence.channels : 0;
}

/* Returns how many peaks of a sample count for a name. */
static int peaks_of(const struct method_run *run)
{
    return run->config.tally_weight > 0 && run->presence.exact ? PEAKS : 1;
}

/* ---- running statistics -------------------------------------------------------------------------------------- */

/* Runs g on one training batch, after which the running statistics are the means over all batches so far. */
static enum status follow_norms(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    network_average_norms(run->network, 1 / (double)(c->position + 1));
    enum status status = run_observe(run, run->samples + c->position * run->config.batch, err);
    network_average_norms(run->network, 0);
    c->position++;
    return status;
}

/* ---- thresholds ---------------------------------------------------------------------------------------------- */

static enum status open_scores(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    size_t names = (size_t)names_of(run);
    c->score = calloc(names * (size_t)(SAMPLES * peaks_of(run)) + 1, sizeof *c->score);
    c->number = calloc((size_t)SAMPLES * (size_t)run->numbers.count + 1, sizeof *c->number);
    return c->score && c->number ? STATUS_OK
                                 : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate a model");
}

/* Returns whether a position is so close to an earlier peak that both belong to one motif: at most a quarter of the
 * window of g away. */
static bool is_near(const struct method_run *run, const int (*peak)[2], int peaks, int row, int col)
{
    int least = run->network->map.reach / 4;
    for (int i = 0; i < peaks; i++)
        if (abs(row - peak[i][0]) <= least && abs(col - peak[i][1]) <= least)
            return true;
    return false;
}

/* Finds the largest values of a channel that are not near each other. value: [peaks_of(run)], padded with -INFINITY if
 * there are fewer. */
static void find_peaks(const struct method_run *run, const struct tensor *map, int image, int channel, float *value)
{
    const struct map_shape *s = &map->map;
    int place[PEAKS][2] = {{0}};
    for (int i = 0; i < peaks_of(run); i++) {
        value[i] = -INFINITY;
        for (int row = 0; row < s->height; row++) {
            const real *at = map->data + map_offset(s, image, channel / MAP_LANES, row, 0) + channel % MAP_LANES;
            for (int col = 0; col < s->width; col++) {
                float here = (float)at[(ptrdiff_t)col * MAP_LANES];
                if (here > value[i] && !is_near(run, (const int(*)[2])place, i, row, col)) {
                    value[i] = here;
                    place[i][0] = row;
                    place[i][1] = col;
                }
            }
        }
    }
}

static enum status add_scores(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    int64_t first = c->position - NORM_BATCHES, left = SAMPLES - first;
    struct batch_request request = {
        .seed = VALIDATION_SEED, .first = first, .seen = first, .count = (int)(left < run->piece ? left : run->piece)};
    const struct batch *batch;
    enum status status = batch_source_take(run->source, &request, NULL, &batch, err);
    if (status)
        return status;
    exec_begin(&run->exec, false, 0);
    struct tensor *scores = network_scores(&run->exec, run->network, batch->images, request.count, &run->domain.shape);
    const real *standard = run->numbers.count > 0 ? numbers_standard(run, batch) : NULL;
    status = exec_status(&run->exec, err);
    if (!status && standard)
        memcpy(c->number + first * run->numbers.count, standard,
               (size_t)request.count * (size_t)run->numbers.count * sizeof *standard);
    for (int i = 0; !status && i < request.count; i++)
        for (int k = 0; k < names_of(run); k++) {
            int peaks = peaks_of(run),
                count = run->numbers.count > 0 ? 0 : tally_of(run, &batch->truths[i], k % run->presence.names);
            float value[PEAKS];
            struct calibration_score *to = c->score + ((ptrdiff_t)k * SAMPLES + first + i) * peaks;
            find_peaks(run, scores, i, k, value);
            for (int j = 0; j < peaks; j++)
                to[j] = (struct calibration_score){value[j], count == TALLY_SOME || count > j};
        }
    c->position += request.count;
    return status;
}

/* Sorts by falling score. Of equal scores, samples without the name come first, so that they count against the
 * threshold. */
static int compare_peaks(const void *a, const void *b)
{
    const struct calibration_score *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak < y->peak ? 1 : -1;
    return x->has - y->has;
}

int calibration_active_peaks(const struct channel_peaks *p)
{
    int first = 0, wrong = p->wrong, right = p->right;
    while (first < p->count) { /* one round for all peaks with the same score, because no threshold separates them */
        int last = first, before = p->with - right - wrong, w = wrong, r = right;
        bool fit = true;
        do { /* at least one peak, because NaN is not equal to itself */
            r += p->score[last].has;
            w += !p->score[last].has;
            fit = fit && w <= p->with - r;
            last++;
        } while (last < p->count && p->score[last].peak == p->score[first].peak);
        bool closer = last > first + 1 && before >= 0 && w - (p->with - r) <= before;
        if (!fit && !closer)
            break;
        first = last;
        wrong = w;
        right = r;
        if (!fit)
            break;
    }
    return first;
}

/* Returns how far the threshold of a channel must rise. 0: all peaks or no peaks have the name, and such peaks do not
 * determine a threshold. If labels are counts, one channel marks all motifs. The peaks of the other channels then never
 * have the name, and their thresholds rise so far that the channels become silent. */
static real rise_of(const struct method_run *run, const struct channel_peaks *p)
{
    if (p->with == p->count + p->right || (p->with == 0 && run->presence.counted < 0))
        return 0;
    real rise = p->with == 0 ? (real)p->score[0].peak : 0;
    int active = calibration_active_peaks(p);
    if (active > 0 && active < p->count && p->score[active].peak > -INFINITY)
        rise += (real)((p->score[active - 1].peak + p->score[active].peak) / 2);
    return rise;
}

/* Supposes that thresholds have risen by `rise`. For each sample in which no channel is then active, finds the channel
 * that never_empty makes active: the one closest to its threshold. lifted: [SAMPLES]; -1: a channel is active. */
static void find_lifted(const struct method_run *run, const real *rise, int *lifted)
{
    const struct calibration *c = &run->calibration;
    for (int i = 0; i < SAMPLES; i++) {
        float most = -INFINITY;
        lifted[i] = -1;
        for (int k = 0; k < names_of(run); k++) {
            float above = c->score[((ptrdiff_t)k * SAMPLES + i) * peaks_of(run)].peak - (float)rise[k];
            if (above > most) {
                most = above;
                lifted[i] = k;
            }
        }
        if (most > 0)
            lifted[i] = -1;
    }
}

/* Collects the peaks of a channel in `score`, which has room for all of them. */
static struct channel_peaks peaks_of_channel(const struct method_run *run, int channel, const int *lifted,
                                             struct calibration_score *score)
{
    int peaks = peaks_of(run);
    const struct calibration_score *from = run->calibration.score + (ptrdiff_t)channel * SAMPLES * peaks;
    struct channel_peaks p = {.score = score};
    for (int i = 0; i < SAMPLES * peaks; i++) {
        bool always = i % peaks == 0 && lifted[i / peaks] == channel;
        p.with += from[i].has;
        p.right += always && from[i].has;
        p.wrong += always && !from[i].has;
        if (!always)
            score[p.count++] = from[i];
    }
    qsort(score, (size_t)p.count, sizeof *score, compare_peaks);
    return p;
}

/* Computes how far the threshold of each channel must rise. score, lifted: scratch. */
static void find_rises(const struct method_run *run, struct calibration_score *score, int *lifted, real *rise)
{
    int rounds = run->config.never_empty ? ROUNDS : 1;
    for (int i = 0; i < SAMPLES; i++)
        lifted[i] = -1;
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < names_of(run); k++) {
            struct channel_peaks p = peaks_of_channel(run, k, lifted, score);
            real now = rise_of(run, &p);
            rise[k] = round == 0 ? now : (rise[k] + now) / 2;
        }
        find_lifted(run, rise, lifted);
    }
}

/* Finds the rises of names with several channels, and silences the channels that no name uses. */
static enum status find_part_rises(const struct method_run *run, real *rise, struct error *err)
{
    const int names = run->presence.names, most = run->presence.channels / (names > 0 ? names : 1),
              peaks = peaks_of(run);
    const struct calibration_score *score = run->calibration.score;
    float *peak = malloc((size_t)most * SAMPLES * sizeof *peak), cut[MOST_PARTS];
    bool *has = malloc(SAMPLES * sizeof *has);
    int *order = malloc(SAMPLES * sizeof *order);
    bool room = peak && has && order;
    for (int name = 0; room && name < names; name++) {
        int used = network_parts_used(run->network, name);
        float largest = 0;
        for (int k = 0; k < most; k++)
            for (int i = 0; i < SAMPLES; i++) {
                const struct calibration_score *from = &score[((ptrdiff_t)(k * names + name) * SAMPLES + i) * peaks];
                peak[k * SAMPLES + i] = from->peak;
                has[i] = from->has;
                largest = fmaxf(largest, k >= used ? from->peak : 0);
            }
        for (int k = used; k < most; k++)
            rise[k * names + name] = (real)largest;
        const struct part_peaks parts = {used, SAMPLES, peak, has};
        if (used > 1)
            calibrate_parts(&parts, cut, order);
        for (int k = 0; used > 1 && k < used; k++)
            rise[k * names + name] = (real)(isfinite(cut[k]) ? cut[k] : 0);
    }
    free(peak);
    free(has);
    free(order);
    return room ? STATUS_OK : error_memory(err, "the calibration of a model");
}

static enum status set_thresholds(struct method_run *run, struct error *err)
{
    real *thresholds = sparse_edit_thresholds(run->network->sparse);
    size_t names = (size_t)names_of(run);
    struct calibration_score *score = malloc((size_t)(SAMPLES * peaks_of(run)) * sizeof *score);
    int *lifted = malloc(SAMPLES * sizeof *lifted);
    real *rise = calloc(names, sizeof *rise);
    bool room = score && lifted && rise;
    enum status status = STATUS_OK;
    if (room)
        find_rises(run, score, lifted, rise);
    if (room && run->presence.channels > run->presence.names)
        status = find_part_rises(run, rise, err);
    for (size_t k = 0; room && !status && k < names; k++)
        thresholds[k] += rise[k];
    free(score);
    free(lifted);
    free(rise);
    if (!room)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate a model");
    return status;
}

enum status calibration_piece(struct method_run *run, bool *done, struct error *err)
{
    struct calibration *c = &run->calibration;
    enum status status = STATUS_OK;
    *done = false;
    if (c->position < NORM_BATCHES)
        return follow_norms(run, err);
    if (!c->fitted && sparling_genomics.matrices_wanted && sparling_genomics.matrices_wanted(run))
        return sparling_genomics.matrices_piece(run, &c->fit, &c->fitted, err);
    if (names_of(run) > 0 && c->position < NORM_BATCHES + SAMPLES) {
        if (!c->score)
            status = open_scores(run, err);
        if (!status)
            status = add_scores(run, err);
        if (status || c->position < NORM_BATCHES + SAMPLES)
            return status;
        status = run->numbers.count > 0 ? calibration_numbers(run, SAMPLES, err) : set_thresholds(run, err);
        if (status)
            return status;
    }
    calibration_drop(run);
    c->position = 0;
    *done = true;
    return STATUS_OK;
}
