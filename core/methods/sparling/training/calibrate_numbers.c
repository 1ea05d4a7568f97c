/* Thresholds of channels if targets are numbers (calibrate.c).
 *
 * No label states in which samples a motif occurs. A threshold divides the samples into those in which the channel is
 * active, and the others. The calibration chooses the threshold whose two groups differ most in their numbers. Before,
 * a regression of the numbers on which channels are active subtracts what the other channels explain. Each threshold
 * depends little on the others, so two rounds are enough. A threshold stays as it is if no division is certain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/metrics/regression.h"

enum { ROUNDS = 2, LEAST = 10 }; /* LEAST: smallest number of samples of a group */
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

enum status calibration_numbers(struct method_run *run, int samples, struct error *err)
{
    const struct calibration *c = &run->calibration;
    real *thresholds = sparse_edit_thresholds(run->network->sparse);
    struct dividing d = {.channels = (int)run->config.channels_motif,
                         .numbers = run->numbers.count,
                         .samples = samples,
                         .score = c->score,
                         .number = c->number};
    bool room = make_room(&d);
    for (int round = 0; room && round < ROUNDS && fit_regression(&d); round++)
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
