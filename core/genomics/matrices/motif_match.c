/* Compares a motif with a database (motif_match.h).
 *
 * Scores of columns become integers. One unit is 1 / `scale`, and at most BINS units lie between the lowest and the
 * highest score. The code adds `zero` units to each score, so that none is negative. A column without a partner has
 * score 0 and therefore counts `zero` units.
 *
 * A target of width t overlaps the query at width + t - 1 offsets. At each offset it covers a span of query columns.
 * The distribution of the sum over a span is the convolution of the distributions of its columns. The probability that
 * all offsets and strands stay below a score is the product over the spans. The code adds logarithms of 1 - (upper
 * tail) instead of multiplying, so that p-values far below 1e-16 keep their precision. */
#include "core/genomics/matrices/motif_match.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"

enum { BINS = 100, LEVELS = BINS + 1 };

struct matching {
    const struct motif_database *database;
    const double (*query)[BASES];
    int width, columns, strands; /* columns: number of columns of the database on one strand */
    short *score;                /* [width][strands][columns] integers in [0, BINS] */
    double *share;               /* [width][LEVELS] distribution of each query column's integers */
    double *work;                /* scratch: scores of one query column, or two distributions of sums */
    int zero;                    /* the integer of a column without a partner */
    int *best;                   /* [targets] best sum of integers of each target */
    double *below;               /* [targets] log of the probability that the score on one strand is below `best` */
};

/* ---- column scores ------------------------------------------------------------------------------------------ */

/* Scores query column i with every column of the database, on both strands if these are compared. */
static void measure_column(const struct matching *m, int i, double *out)
{
    for (int strand = 0; strand < m->strands; strand++)
        for (int j = 0; j < m->columns; j++) {
            double sum = 0;
            for (int b = 0; b < BASES; b++) {
                double d = m->query[i][b] - m->database->column[j][strand ? BASES - 1 - b : b];
                sum += d * d;
            }
            out[strand * m->columns + j] = -sqrt(sum);
        }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; of an even number of values the lower one of the two in the middle. `sorted` is scratch. */
static double median_of(const double *values, int count, double *sorted)
{
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return sorted[(count - 1) / 2];
}

/* Fills `score`, `share` and `zero`. */
static void make_integers(struct matching *m)
{
    int all = m->strands * m->columns;
    double *value = m->work, *sorted = m->work + all, least = 0, most = 0, median[MATRIX_WIDTH] = {0};
    for (int i = 0; i < m->width; i++) {
        measure_column(m, i, value);
        median[i] = median_of(value, all, sorted);
        least = fmin(least, sorted[0] - median[i]);
        most = fmax(most, sorted[all - 1] - median[i]);
    }
    double floor_of = floor(least), scale = fmax(1, floor(BINS / fmax(most - floor_of, 1e-9)));
    m->zero = (int)lrint(-floor_of * scale);
    for (int i = 0; i < m->width; i++) {
        double *share = m->share + (size_t)i * LEVELS;
        measure_column(m, i, value);
        for (int j = 0; j < all; j++) {
            int at = (int)floor((value[j] - median[i] - floor_of) * scale + 0.5);
            at = at < 0 ? 0 : at > BINS ? BINS : at;
            m->score[(size_t)i * (size_t)all + (size_t)j] = (short)at;
            share[at] += 1.0 / all;
        }
    }
}

/* ---- the best placement of each target ----------------------------------------------------------------------- */

/* The sum of the integers at one placement, less `zero` for each aligned column. */
static int score_at(const struct matching *m, int target, const struct motif_hit *at)
{
    const int *first = m->database->first;
    int t = first[target + 1] - first[target], begin = at->offset > 0 ? at->offset : 0, sum = 0;
    size_t all = (size_t)(m->strands * m->columns), strand = at->reverse ? (size_t)m->columns : 0;
    for (int i = begin; i < m->width && i < at->offset + t; i++) {
        int j = at->reverse ? t - 1 - (i - at->offset) : i - at->offset;
        sum += m->score[(size_t)i * all + strand + (size_t)(first[target] + j)] - m->zero;
    }
    return sum;
}

static void place_target(struct matching *m, int target, struct motif_hit *hit)
{
    int t = m->database->first[target + 1] - m->database->first[target], most = 0;
    *hit = (struct motif_hit){.target = target};
    for (int strand = 0; strand < m->strands; strand++)
        for (int offset = 1 - t; offset < m->width; offset++) {
            struct motif_hit at = {.target = target, .offset = offset, .reverse = strand == 1};
            int sum = score_at(m, target, &at), end = offset + t < m->width ? offset + t : m->width;
            at.overlap = end - (offset > 0 ? offset : 0);
            /* of equal sums, the one with the larger overlap */
            if (hit->overlap > 0 && (sum < most || (sum == most && at.overlap <= hit->overlap)))
                continue;
            most = sum;
            *hit = at;
        }
    m->best[target] = most + m->width * m->zero;
}

/* ---- the null model ------------------------------------------------------------------------------------------ */

/* The number of offsets at which a target of width t covers the query columns [begin, end], and no others. */
static int offsets_of_span(int width, int t, int begin, int end)
{
    if (begin > 0 && end < width - 1)
        return t == end - begin + 1;
    if (begin > 0 || end < width - 1)
        return t >= end - begin + 1;
    return t >= width ? t - width + 1 : 0;
}

/* Adds the log probability that a random sum over this span is below the score of target k to below[k], once for each
 * offset at which the target covers just this span. tail: [units + 1]; tail[i] is the probability that the sum is at
 * least i. */
static void add_span(const struct matching *m, int begin, int end, const double *tail, int units)
{
    const int *first = m->database->first;
    int unaligned = m->zero * (m->width - (end - begin + 1));
    for (int k = 0; k < m->database->count; k++) {
        int offsets = offsets_of_span(m->width, first[k + 1] - first[k], begin, end);
        int needed = m->best[k] - unaligned;
        if (offsets == 0 || needed > units)
            continue;
        double upper = needed > 0 ? tail[needed] : 1;
        m->below[k] += offsets * log1p(-fmin(upper, 1));
    }
}

/* Visits all spans that begin at a column, from the shortest on. The distribution of a span's sum is the convolution of
 * the previous span's distribution with that of the next column. */
static void add_spans_from(const struct matching *m, int begin)
{
    size_t room = (size_t)m->width * BINS + 1;
    double *sum = m->work, *next = m->work + room, *tail = m->work + 2 * room;
    int units = 0;
    memset(sum, 0, room * sizeof *sum);
    sum[0] = 1;
    for (int end = begin; end < m->width; end++) {
        const double *share = m->share + (size_t)end * LEVELS;
        memset(next, 0, room * sizeof *next);
        for (int a = 0; a <= units; a++)
            for (int b = 0; sum[a] > 0 && b < LEVELS; b++)
                next[a + b] += sum[a] * share[b];
        double *kept = sum;
        sum = next;
        next = kept;
        units += BINS;
        double above = 0;
        for (int a = units; a >= 0; a--) {
            above += sum[a];
            tail[a] = above;
        }
        add_span(m, begin, end, tail, units);
    }
}

/* ---- q-values ------------------------------------------------------------------------------------------------ */

enum { LAMBDAS = 19 };

/* Estimates the share of true null hypotheses. For each threshold lambda, the p-values above it are taken to be null;
 * the threshold with the smallest mean squared error is used. */
static double null_share(const double *p, int count)
{
    double share[LAMBDAS], sorted[LAMBDAS], best = INFINITY, result = 1;
    int above[LAMBDAS];
    for (int l = 0; l < LAMBDAS; l++) {
        double lambda = 0.05 * (l + 1);
        above[l] = 0;
        for (int i = 0; i < count; i++)
            above[l] += p[i] >= lambda;
        share[l] = above[l] / (count * (1 - lambda));
    }
    memcpy(sorted, share, sizeof sorted);
    qsort(sorted, LAMBDAS, sizeof *sorted, ascending);
    double place = 0.1 * (LAMBDAS - 1), low = sorted[(int)place];
    double least = low + (place - floor(place)) * (sorted[(int)place + 1] - low); /* the quantile 0.1 */
    for (int l = 0; l < LAMBDAS; l++) {
        double rest = 1 - 0.05 * (l + 1), bias = share[l] - least;
        double error = above[l] / ((double)count * count * rest * rest) * (1 - (double)above[l] / count) + bias * bias;
        if (error < best) {
            best = error;
            result = share[l];
        }
    }
    return fmax(fmin(result, 1), 1.0 / count);
}

/* Computes q-values. p: [count] ascending. */
static void qvalues(const double *p, int count, double *q)
{
    double share = null_share(p, count), least = 1;
    for (int i = count - 1; i >= 0; i--) {
        least = fmin(least, share * p[i] * count / (i + 1));
        q[i] = least;
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------------- */

static int by_p(const void *a, const void *b)
{
    const struct motif_hit *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->target > y->target) - (x->target < y->target);
}

static void match_motif(struct matching *m, struct motif_hit *hit)
{
    int count = m->database->count;
    make_integers(m);
    for (int k = 0; k < count; k++)
        place_target(m, k, &hit[k]);
    for (int begin = 0; begin < m->width; begin++)
        add_spans_from(m, begin);
    for (int k = 0; k < count; k++) {
        hit[k].p = -expm1(m->strands * m->below[k]);
        hit[k].evalue = hit[k].p * count;
    }
    qsort(hit, (size_t)count, sizeof *hit, by_p);
    for (int k = 0; k < count; k++)
        m->below[k] = hit[k].p;
    qvalues(m->below, count, m->work);
    for (int k = 0; k < count; k++)
        hit[k].qvalue = m->work[k];
}

enum status motif_match(const struct motif_database *database, const double (*query)[BASES], int width,
                        struct motif_hit *hit, struct error *err)
{
    if (database->count < 1 || width < 1 || width > MATRIX_WIDTH)
        return error_set(err, STATUS_INVALID, NULL,
                         "a comparison needs a database with motifs and a query of 1 to %d positions; got %d motifs "
                         "and %d positions",
                         MATRIX_WIDTH, database->count, width);
    struct matching m = {.database = database,
                         .query = query,
                         .width = width,
                         .columns = database->first[database->count],
                         .strands = database->both_strands ? 2 : 1};
    size_t all = (size_t)m.strands * (size_t)m.columns, sums = 3 * ((size_t)width * BINS + 1);
    m.score = malloc((size_t)width * all * sizeof *m.score);
    m.share = calloc((size_t)width * LEVELS, sizeof *m.share);
    m.work = malloc((2 * all > sums ? 2 * all : sums) * sizeof *m.work); /* 2 * all >= count */
    m.best = malloc((size_t)database->count * sizeof *m.best);
    m.below = calloc((size_t)database->count, sizeof *m.below);
    enum status status = STATUS_OK;
    if (m.score && m.share && m.work && m.best && m.below)
        match_motif(&m, hit);
    else
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare a motif with %d motifs",
                           database->count);
    free(m.score);
    free(m.share);
    free(m.work);
    free(m.best);
    free(m.below);
    return status;
}

static enum status open_set(const char *data, const char *name, const char *pointer, struct collection *c,
                            struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    enum status status = dataset_folder(data, name, folder, &cause);
    if (status == STATUS_NOT_FOUND || status == STATUS_INVALID)
        return error_set(err, STATUS_INVALID, pointer, "%s", cause.message);
    if (status)
        return error_set(err, status, NULL, "%s", cause.message);
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    status = collection_open(path, c, err);
    if (status || c->kind == COLLECTION_MOTIFS)
        return status;
    return error_set(err, STATUS_INVALID, pointer,
                     "the data set %s contains %s; upload motifs in MEME's or JASPAR's format", name,
                     collection_kinds[c->kind]);
}

static void read_motif(const struct collection *c, int motif, double (*column)[BASES])
{
    int64_t begin = collection_begin(c, motif), width = collection_length(c, motif);
    for (int64_t i = 0; i < width; i++) {
        double sum = 0;
        for (int b = 0; b < BASES; b++)
            sum += column[i][b] = (double)collection_value(c, begin + b * width + i);
        for (int b = 0; b < BASES; b++)
            column[i][b] = sum > 0 ? column[i][b] / sum : 1.0 / BASES;
    }
}

enum status motif_library_open(const char *data, const char *name, const char *pointer, bool both_strands,
                               struct motif_library *out, struct error *err)
{
    *out = (struct motif_library){.first = NULL};
    enum status status = open_set(data, name, pointer, &out->collection, err);
    if (status)
        return status;
    const struct collection *c = &out->collection;
    out->first = calloc((size_t)c->count + 1, sizeof *out->first);
    out->column = calloc((size_t)c->start[c->count] + 1, sizeof *out->column);
    if (!out->first || !out->column)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the motifs of %s", name);
    for (int i = 0; i < (int)c->count; i++) {
        out->first[i + 1] = (int)c->start[i + 1];
        read_motif(c, i, out->column + out->first[i]);
    }
    out->database =
        (struct motif_database){(int)c->count, out->first, (const double(*)[BASES])out->column, both_strands};
    return STATUS_OK;
}

void motif_library_close(struct motif_library *library)
{
    collection_close(&library->collection);
    free(library->first);
    free(library->column);
    *library = (struct motif_library){.first = NULL};
}

static const char *label_of(const struct motif_library *library, int motif, int place)
{
    const int32_t *labels;
    int count = collection_labels(&library->collection, motif, &labels);
    return place < count ? library->collection.vocabulary.name[labels[place]] : NULL;
}

const char *motif_library_id(const struct motif_library *library, int motif)
{
    return label_of(library, motif, 0);
}

const char *motif_library_name(const struct motif_library *library, int motif)
{
    return label_of(library, motif, 1);
}
