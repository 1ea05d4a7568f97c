/* Fits a position matrix to the motifs of each channel that has a name of the labels. If the matrix predicts the name
 * at least as well as the channel, its scores replace the channel's values.
 *
 * g has learned from labels where a motif is. But it has many weights, and weighs the letters of the motif less well
 * than a position matrix, which has three free numbers for each position. The fit has four steps:
 *
 * 1. DRAW: reads training samples. In the first of them, g marks the strongest motif of each channel.
 * 2. ALIGN: for each channel, aligns the letters around these marks (position_matrix_align()).
 * 3. REFINE: expectation maximisation with known labels (Bailey and Elkan 1995, the model of one or more sites for each
 *    sequence). A sample whose label has the name c times contains c sites; each position gets its share of them.
 * 4. CHOOSE: on validation samples, compares how well the matrix and the channel of g predict the name, by the area
 *    under the ROC curve.
 *
 * Parts of motifs at the ends of samples are mostly chance matches, so each letter of a site that is no base (N, or
 * padding) lowers its score by OUTSIDE. All matrices in use have one scale, so that their scores are log odds up to one
 * factor and can be compared. The thresholds and the head expect values in the range of g's values, so the scores
 * must have the same range. In samples with the name, the mean of the scores is that of g's values. Their standard
 * deviation is about that of g's values, or smaller.
 *
 * One thread computes everything in a fixed order. REFINE and CHOOSE work in pieces of a limited number of letters; a
 * piece ends between two samples. */
#include "core/methods/sparling/genomics/matrix_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/genomics/matrices/position_matrix.h"
#include "core/methods/sparling/genomics/enriched_filters.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"

enum {
    SAMPLES = 8000, /* training samples; fewer if they are long */
    LETTERS_MOST =
        1 << 22,   /* letters of all these samples together, unless this were fewer than MARKED_LEAST samples */
    MARKED = 3000, /* samples in which g marks motifs */
    MARKED_LEAST = 200,
    ALIGNED = 1000,          /* windows of a channel that are aligned */
    SITES_LEAST = 20,        /* minimum number of windows for a matrix */
    NARROWEST = 4,           /* minimum width of a matrix */
    ROUNDS = 10,             /* rounds of the refinement; ends of the matrix are removed after every fifth */
    CHOICES = 2000,          /* validation samples */
    PIECE_LETTERS = 1 << 26, /* letters that a piece compares with matrices; a piece has at least one sample */
    MARGIN = 6               /* additional positions on each side of a window */
};
static const double PSEUDO = 1;
static const double NEGLIGIBLE = 1e-4;                 /* shares of a site below this number are not counted */
static const double TRIMMED = 0.02, TRIMMED_SITES = 4; /* in bits: ends with less than TRIMMED, or less than
                                                          TRIMMED_SITES divided by the number of sites, are removed */
/* Score of each position of a matrix whose letter is no base, or lies outside of the sample. */
static const double OUTSIDE = -8;
/* Of a matrix's scores, in nats^2. All sites of a word without substitutions have nearly the same score. Without this
 * limit, the scale that gives such scores the deviation of g's values would be huge. */
static const double VARIANCE_LEAST = 1;

enum step { DRAW, ALIGN, REFINE, CHOOSE };

struct peaks {
    float g, matrix; /* largest values in a sample */
    bool has;        /* whether the label has the channel's name */
};

struct matrices_fit {
    enum step step;
    int names, cols, samples, marked, width, next; /* next: the next sample, or the channel in progress */
    int round;
    int sample, drawn; /* the next sample of a round or of the CHOICES in base, and how many of these are there */
    int name;          /* the matrix with which the CHOICES in base are compared */
    struct position_matrix better; /* counts of a round in progress */
    bool both;
    unsigned char *base;  /* [samples][cols]; later those of the validation samples in progress */
    unsigned char *count; /* [samples][names] how often the label contains the name; 255: more often, too */
    /* [marked][names] column of the channel's largest value; -1: this value is not above the threshold, or the label
     * does not contain the name */
    int *mark;
    double background[BASES];
    struct position_matrix *matrix;           /* [names]; width 0: none */
    double (*ratio)[MATRIX_WIDTH][BASES + 1]; /* [2] of the channel in progress, on both strands */
    double *odds;                             /* [2][cols] of a sample */
    struct peaks *peaks;                      /* [names][CHOICES] */
    struct peaks *sorted;                     /* [CHOICES] */
};

bool matrices_wanted(const struct method_run *run)
{
    return run->config.matrix_scores && run->presence.names > 0 && run->network->matrix.table &&
           run->config.sparsity == SPARSITY_PER_CHANNEL && domain_alphabet(&run->domain);
}

void matrices_drop(struct matrices_fit *f)
{
    if (!f)
        return;
    free(f->base);
    free(f->count);
    free(f->mark);
    free(f->matrix);
    free(f->ratio);
    free(f->odds);
    free(f->peaks);
    free(f->sorted);
    free(f);
}

static enum status open_fit(struct method_run *run, struct matrices_fit **fit, struct error *err)
{
    struct matrices_fit *f = calloc(1, sizeof *f);
    int cols = run->domain.shape.cols, most = LETTERS_MOST / cols;
    *fit = f;
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to fit matrices");
    f->names = run->presence.names;
    f->cols = cols;
    f->width = run->network->matrix.width;
    f->samples = most > SAMPLES ? SAMPLES : most < MARKED_LEAST ? MARKED_LEAST : most;
    f->marked = f->samples < MARKED ? f->samples : MARKED;
    f->both = run->presence.turns == TURNS_YES;
    size_t names = (size_t)f->names, samples = (size_t)f->samples;
    f->base = malloc(samples * (size_t)cols);
    f->count = calloc(samples * names, sizeof *f->count);
    f->mark = malloc((size_t)f->marked * names * sizeof *f->mark);
    f->matrix = calloc(names, sizeof *f->matrix);
    f->ratio = calloc(2, sizeof *f->ratio);
    f->odds = malloc(2 * (size_t)cols * sizeof *f->odds);
    f->peaks = calloc(names * CHOICES, sizeof *f->peaks);
    f->sorted = malloc(CHOICES * sizeof *f->sorted);
    for (int b = 0; b < BASES; b++)
        f->background[b] = 1;
    matrix_scores_clear(&run->network->matrix);
    if (f->base && f->count && f->mark && f->matrix && f->ratio && f->odds && f->peaks && f->sorted)
        return STATUS_OK;
    matrices_drop(f);
    *fit = NULL;
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to fit matrices");
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

/* Returns the largest value of a channel, and its column. */
static float largest_value(const struct tensor *map, int image, int channel, int *col)
{
    const real *at = map->data + map_offset(&map->map, image, channel / MAP_LANES, 0, 0) + channel % MAP_LANES;
    *col = 0;
    for (int i = 1; i < map->map.width; i++)
        if (at[(ptrdiff_t)i * MAP_LANES] > at[(ptrdiff_t)*col * MAP_LANES])
            *col = i;
    return (float)at[(ptrdiff_t)*col * MAP_LANES];
}

/* Computes how far the values of g exceed the thresholds. */
static enum status scores_of(struct method_run *run, const struct batch *batch, struct tensor **scores,
                             struct error *err)
{
    exec_begin(&run->exec, false, 0);
    *scores = network_scores(&run->exec, run->network, batch->images, batch->request.count, &run->domain.shape);
    return exec_status(&run->exec, err);
}

static void keep_sample(struct method_run *run, struct matrices_fit *f, const struct batch *batch, int i,
                        const struct tensor *scores)
{
    int sample = f->next + i;
    unsigned char *base = f->base + (ptrdiff_t)sample * f->cols;
    words_bases(batch->images + (ptrdiff_t)i * BASES * f->cols, f->cols, base);
    for (int j = 0; j < f->cols; j++)
        if (base[j] < BASES) {
            f->background[base[j]]++;
            f->background[f->both ? BASES - 1 - base[j] : base[j]]++;
        }
    for (int k = 0; k < f->names; k++) {
        int count = tally_of(run, &batch->truths[i], k), col;
        count = count == TALLY_SOME ? 1 : count < 255 ? count : 255;
        f->count[(ptrdiff_t)sample * f->names + k] = (unsigned char)count;
        if (scores)
            f->mark[(ptrdiff_t)sample * f->names + k] = largest_value(scores, i, k, &col) > 0 && count != 0 ? col : -1;
    }
}

static enum status draw_samples(struct method_run *run, struct matrices_fit *f, struct error *err)
{
    bool marks = f->next < f->marked;
    int left = (marks ? f->marked : f->samples) - f->next;
    struct batch_request request = {
        .seed = run->config.seed, .first = f->next, .seen = f->next, .count = left < run->piece ? left : run->piece};
    const struct batch *batch;
    struct tensor *scores = NULL;
    enum status status = batch_source_take(run->source, &request, NULL, &batch, err);
    if (!status && marks)
        status = scores_of(run, batch, &scores, err);
    for (int i = 0; !status && i < request.count; i++)
        keep_sample(run, f, batch, i, scores);
    f->next += request.count;
    if (f->next < f->samples)
        return status;
    double all = f->background[0] + f->background[1] + f->background[2] + f->background[3];
    for (int b = 0; b < BASES; b++)
        f->background[b] /= all;
    f->next = 0;
    f->step = ALIGN;
    return status;
}

/* ---- matrices ------------------------------------------------------------------------------------------------ */

/* Removes the ends of a matrix that say little. */
static void trim_matrix(struct position_matrix *m)
{
    (void)position_matrix_trim(m, fmax(TRIMMED, TRIMMED_SITES / (m->sites + 1)));
    m->width = m->width < NARROWEST ? 0 : m->width;
}

static enum status align_channel(struct matrices_fit *f, struct error *err)
{
    int k = f->next, window = f->width + 2 * MARGIN;
    struct site_windows windows = {.width = window};
    unsigned char *base = malloc((size_t)ALIGNED * (size_t)window), *to = base;
    if (!base)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to fit matrices");
    for (int i = 0; i < f->marked && windows.count < ALIGNED; i++) {
        int first = f->mark[(ptrdiff_t)i * f->names + k] - window / 2;
        if (f->mark[(ptrdiff_t)i * f->names + k] < 0)
            continue;
        for (int j = first; j < first + window; j++)
            *to++ = j >= 0 && j < f->cols ? f->base[(ptrdiff_t)i * f->cols + j] : BASE_UNKNOWN;
        windows.count++;
    }
    windows.base = base;
    enum status status = STATUS_OK;
    if (windows.count >= SITES_LEAST)
        status = position_matrix_align(&windows, f->width, MARGIN, f->both, &f->matrix[k], NULL, err);
    if (status == STATUS_NOT_FOUND) {
        error_clear(err);
        status = STATUS_OK;
        f->matrix[k].width = 0;
    }
    free(base);
    f->round = 0;
    f->step = f->matrix[k].width > 0 ? REFINE : ALIGN;
    f->next += f->matrix[k].width == 0;
    return status;
}

/* Prepares odds_of() for a matrix. */
static void set_ratio(struct matrices_fit *f, const struct position_matrix *m)
{
    double ratio[MATRIX_WIDTH][BASES];
    position_matrix_ratios(m, f->background, PSEUDO, ratio);
    for (int i = 0; i < m->width; i++) {
        f->ratio[0][i][BASE_UNKNOWN] = f->ratio[1][i][BASE_UNKNOWN] = OUTSIDE;
        for (int b = 0; b < BASES; b++) {
            f->ratio[0][i][b] = ratio[i][b];
            f->ratio[1][i][b] = ratio[m->width - 1 - i][BASES - 1 - b];
        }
    }
}

/* Writes the log odds of a site that begins at each position of a sample, on the strands that count. Returns the
 * largest of them. */
static double odds_of(struct matrices_fit *f, const unsigned char *base, int width)
{
    double most = -INFINITY;
    for (int strand = 0; strand <= (f->both ? 1 : 0); strand++)
        for (int i = 0; i + width <= f->cols; i++) {
            double sum = 0;
            for (int j = 0; j < width; j++)
                sum += f->ratio[strand][j][base[i + j]];
            f->odds[strand * f->cols + i] = sum;
            most = sum > most ? sum : most;
        }
    return most;
}

/* Adds the letters of the possible sites of a sample to the counts, each with the probability of its site. */
static void add_sites(struct matrices_fit *f, const unsigned char *base, int count, int width,
                      struct position_matrix *to)
{
    double most = odds_of(f, base, width), total = 0;
    int strands = f->both ? 2 : 1;
    for (int s = 0; s < strands; s++)
        for (int i = 0; i + width <= f->cols; i++)
            total += f->odds[s * f->cols + i] = exp(f->odds[s * f->cols + i] - most);
    for (int s = 0; s < strands; s++)
        for (int i = 0; i + width <= f->cols; i++) {
            double share = fmin(1, count * f->odds[s * f->cols + i] / total);
            if (share < NEGLIGIBLE)
                continue;
            for (int j = 0; j < width; j++)
                if (base[i + j] < BASES)
                    to->count[s == 0 ? j : width - 1 - j][s == 0 ? base[i + j] : BASES - 1 - base[i + j]] += share;
        }
}

/* Returns how many letters odds_of() reads. */
static int64_t letters_of(const struct matrices_fit *f, int width)
{
    return (int64_t)f->cols * width * (f->both ? 2 : 1);
}

/* Does a part of a round of expectation maximisation for the channel in progress. */
static void refine_matrix(struct matrices_fit *f, int64_t most)
{
    int k = f->next, width = f->matrix[k].width;
    struct position_matrix *m = &f->matrix[k];
    if (f->sample == 0)
        f->better = (struct position_matrix){.width = width};
    set_ratio(f, m);
    for (int64_t read = 0; f->sample < f->samples && width <= f->cols && read < most; f->sample++) {
        int count = f->count[(ptrdiff_t)f->sample * f->names + k];
        f->better.sites += count;
        if (count == 0)
            continue;
        add_sites(f, f->base + (ptrdiff_t)f->sample * f->cols, count, width, &f->better);
        read += letters_of(f, width);
    }
    if (f->sample < f->samples && width <= f->cols)
        return;
    *m = f->better;
    f->sample = 0;
    f->round++;
    if (f->round % (ROUNDS / 2) == 0)
        trim_matrix(m);
    if (f->round < ROUNDS && m->width > 0)
        return;
    f->next++;
    f->step = ALIGN;
}

/* ---- choice -------------------------------------------------------------------------------------------------- */

/* Reads the next validation samples, and the largest values of g in them. */
static enum status draw_choices(struct method_run *run, struct matrices_fit *f, struct error *err)
{
    int left = CHOICES - f->next;
    struct batch_request request = {
        .seed = VALIDATION_SEED, .first = f->next, .seen = f->next, .count = left < run->piece ? left : run->piece};
    const struct batch *batch;
    struct tensor *scores = NULL;
    enum status status = batch_source_take(run->source, &request, NULL, &batch, err);
    if (!status)
        status = scores_of(run, batch, &scores, err);
    for (int i = 0; !status && i < request.count; i++) {
        words_bases(batch->images + (ptrdiff_t)i * BASES * f->cols, f->cols, f->base + (ptrdiff_t)i * f->cols);
        for (int k = 0; k < f->names; k++) {
            int col;
            f->peaks[(ptrdiff_t)k * CHOICES + f->next + i] =
                (struct peaks){.g = largest_value(scores, i, k, &col), .has = tally_of(run, &batch->truths[i], k) != 0};
        }
    }
    f->name = f->sample = 0;
    f->drawn = status ? 0 : request.count;
    return status;
}

/* Compares validation samples with the matrices: a part of those that were drawn, or the first of the next ones. */
static enum status compare_samples(struct method_run *run, struct matrices_fit *f, int64_t most, struct error *err)
{
    enum status status = f->drawn == 0 ? draw_choices(run, f, err) : STATUS_OK;
    for (int64_t read = 0; !status && f->name < f->names && read < most; f->name += f->sample == 0) {
        int width = f->matrix[f->name].width;
        if (width == 0)
            continue;
        set_ratio(f, &f->matrix[f->name]);
        for (; f->sample < f->drawn && read < most; f->sample++, read += letters_of(f, width))
            f->peaks[(ptrdiff_t)f->name * CHOICES + f->next + f->sample].matrix =
                (float)odds_of(f, f->base + (ptrdiff_t)f->sample * f->cols, width);
        f->sample = f->sample < f->drawn ? f->sample : 0;
    }
    if (status || f->name < f->names)
        return status;
    f->next += f->drawn;
    f->drawn = 0;
    return STATUS_OK;
}

static int by_g(const void *a, const void *b)
{
    const struct peaks *x = a, *y = b;
    return x->g != y->g ? (x->g > y->g) - (x->g < y->g) : x->has - y->has;
}

static int by_matrix(const void *a, const void *b)
{
    const struct peaks *x = a, *y = b;
    return x->matrix != y->matrix ? (x->matrix > y->matrix) - (x->matrix < y->matrix) : x->has - y->has;
}

/* Returns the number of pairs of a sample with the name and a sample without it in which the former has the larger
 * value, or both have the same one. */
static double pairs_in_order(struct matrices_fit *f, int name, int (*order)(const void *, const void *))
{
    double without = 0, pairs = 0;
    memcpy(f->sorted, f->peaks + (ptrdiff_t)name * CHOICES, CHOICES * sizeof *f->sorted);
    qsort(f->sorted, CHOICES, sizeof *f->sorted, order);
    for (int i = 0; i < CHOICES; i++) {
        without += !f->sorted[i].has;
        pairs += f->sorted[i].has ? without : 0;
    }
    return pairs;
}

/* Mean and variance of the peaks of samples with a name: [0] of g, [1] of the matrix. Returns how many samples have the
 * name. */
static int moments_of(const struct matrices_fit *f, int name, double mean[2], double variance[2])
{
    int count = 0;
    mean[0] = mean[1] = variance[0] = variance[1] = 0;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (int i = 0; i < CHOICES; i++) {
            const struct peaks *p = &f->peaks[(ptrdiff_t)name * CHOICES + i];
            const double value[2] = {(double)p->g, (double)p->matrix};
            for (int j = 0; p->has && j < 2; j++) {
                mean[j] += pass == 0 ? value[j] : 0;
                variance[j] += pass == 1 ? (value[j] - mean[j]) * (value[j] - mean[j]) : 0;
            }
            count += p->has;
        }
        for (int j = 0; count > 0 && j < 2; j++)
            *(pass == 0 ? &mean[j] : &variance[j]) /= count;
    }
    return count;
}

/* Writes a matrix to the network. At a position without a base all letters are 0, so the position adds nothing to the
 * score. It should add OUTSIDE, which is below 0. So OUTSIDE is subtracted from each entry of the matrix, and the
 * offset adds it again for each position. */
static void use_matrix(struct method_run *run, struct matrices_fit *f, int name, double scale, const double mean[2])
{
    struct network *n = run->network;
    const struct position_matrix *m = &f->matrix[name];
    real *table = n->matrix.table->value + (ptrdiff_t)name * f->width * BASES;
    int first = (f->width - m->width) / 2;
    memset(table, 0, (size_t)(f->width * BASES) * sizeof *table);
    set_ratio(f, m);
    for (int j = 0; j < m->width; j++)
        for (int b = 0; b < BASES; b++)
            table[(first + j) * BASES + b] = (real)(f->ratio[0][j][b] - OUTSIDE);
    n->matrix.scale->value[name] = (real)scale;
    n->matrix.offset->value[name] =
        (real)((double)sparse_thresholds(n->sparse)[name] + mean[0] - scale * (mean[1] - OUTSIDE * m->width));
}

static void choose_matrices(struct method_run *run, struct matrices_fit *f)
{
    double mean[2], variance[2], scale = 0;
    int used = 0;
    for (int k = 0; k < f->names; k++) {
        struct position_matrix *m = &f->matrix[k];
        int with = m->width > 0 ? moments_of(f, k, mean, variance) : 0;
        if (with == 0 || with == CHOICES || network_parts_used(run->network, k) > 1 || !(variance[0] > 0) ||
            !(variance[1] >= 0) || /* NaN */
            pairs_in_order(f, k, by_matrix) < pairs_in_order(f, k, by_g)) {
            m->width = 0;
            continue;
        }
        scale += log(variance[0] / fmax(variance[1], VARIANCE_LEAST)) / 2;
        used++;
    }
    for (int k = 0; k < f->names; k++)
        if (f->matrix[k].width > 0) {
            (void)moments_of(f, k, mean, variance);
            use_matrix(run, f, k, exp(scale / used), mean);
        }
    run->network->matrix.strands->value[0] = f->both ? R(1.0) : R(0.0);
    run->network->matrices = true;
}

enum status matrices_piece(struct method_run *run, struct matrices_fit **fit, bool *done, struct error *err)
{
    enum status status = STATUS_OK;
    *done = false;
    if (!*fit)
        status = open_fit(run, fit, err);
    if (status)
        return status;
    struct matrices_fit *f = *fit;
    int64_t letters = run->calibration.fit_letters > 0 ? run->calibration.fit_letters : PIECE_LETTERS;
    if (f->step == DRAW)
        return draw_samples(run, f, err);
    if (f->step == REFINE) {
        refine_matrix(f, letters);
        return STATUS_OK;
    }
    if (f->step == ALIGN && f->next < f->names)
        return align_channel(f, err);
    if (f->step == ALIGN) {
        f->step = CHOOSE;
        f->next = 0;
    }
    status = compare_samples(run, f, letters, err);
    if (status || f->next < CHOICES)
        return status;
    choose_matrices(run, f);
    matrices_drop(f);
    *fit = NULL;
    *done = true;
    return STATUS_OK;
}
