/* Position matrices: probabilities, information, trimming, and the alignment of windows around motifs.
 *
 * The alignment is the hard form of expectation maximisation. It repeats two steps: it places each window where the
 * window fits the matrix best, and counts the bases again. It starts from words, because the mean over unaligned
 * windows shows nothing when sites are on both strands. */
#include "core/genomics/matrices/position_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log_gamma.h"

enum { WORD = 6, WORDS = 4096, SEEDS = 5, ROUNDS = 20 };
enum { NEAR = 2 };
static const double ALONE = 2.5;
static const double WORD_BASE = 0.85; /* probability of a word's own base in the first matrix */
static const double PSEUDO = 1;       /* pseudo-counts of a column while windows are placed */

/* ---- columns ----------------------------------------------------------------------------------------------- */

static double column_total(const struct position_matrix *m, int position)
{
    const double *count = m->count[position];
    return count[0] + count[1] + count[2] + count[3];
}

void position_matrix_column(const struct position_matrix *m, int position, const double background[BASES],
                            double pseudo, double probability[BASES])
{
    double total = column_total(m, position) + pseudo;
    for (int b = 0; b < BASES; b++)
        probability[b] = total > 0 ? (m->count[position][b] + pseudo * background[b]) / total : background[b];
}

void position_matrix_ratios(const struct position_matrix *m, const double background[BASES], double pseudo,
                            double (*ratio)[BASES])
{
    for (int i = 0; i < m->width; i++) {
        double p[BASES];
        position_matrix_column(m, i, background, pseudo, p);
        for (int b = 0; b < BASES; b++)
            ratio[i][b] = log(p[b] / background[b]);
    }
}

double position_matrix_information(const struct position_matrix *m, int position)
{
    double total = column_total(m, position), bits = 2;
    if (!(total > 0))
        return 0;
    for (int b = 0; b < BASES; b++) {
        double p = m->count[position][b] / total;
        bits += p > 0 ? p * log2(p) : 0;
    }
    bits -= 3 / (2 * log(2) * total);
    return bits > 0 ? bits : 0;
}

void position_matrix_reverse(struct position_matrix *m)
{
    struct position_matrix from = *m;
    for (int i = 0; i < m->width; i++)
        for (int b = 0; b < BASES; b++)
            m->count[i][b] = from.count[m->width - 1 - i][BASES - 1 - b];
}

/* Whether a position may be the end of a matrix. inwards: 1 or -1, the step from this end to the next position. */
static bool ends_well(const struct position_matrix *m, int position, int inwards, double least)
{
    double bits = position_matrix_information(m, position);
    if (bits < least || bits >= ALONE * least)
        return bits >= least;
    for (int i = 1; i <= NEAR; i++) {
        int next = position + i * inwards;
        if (next >= 0 && next < m->width && position_matrix_information(m, next) >= least)
            return true;
    }
    return false;
}

int position_matrix_trim(struct position_matrix *m, double least)
{
    int first = 0, end = m->width;
    while (first < end && !ends_well(m, first, 1, least))
        first++;
    while (end > first && !ends_well(m, end - 1, -1, least))
        end--;
    memmove(m->count, m->count + first, (size_t)(end - first) * sizeof *m->count);
    m->width = end - first;
    return first;
}

/* ---- words ------------------------------------------------------------------------------------------------- */

struct alignment {
    const struct site_windows *windows;
    int width, shift;
    bool both;
    double background[BASES]; /* composition of the windows */
};

/* The composition of all windows, on both strands if these are read, with one pseudo-count for each base. */
static void measure_background(struct alignment *a)
{
    double count[BASES] = {1, 1, 1, 1}, total = 0;
    size_t all = (size_t)a->windows->count * (size_t)a->windows->width;
    for (size_t i = 0; i < all; i++) {
        int b = a->windows->base[i];
        if (b == BASE_UNKNOWN)
            continue;
        count[b]++;
        count[a->both ? BASES - 1 - b : b]++;
    }
    for (int b = 0; b < BASES; b++)
        total += count[b];
    for (int b = 0; b < BASES; b++)
        a->background[b] = count[b] / total;
}

/* Returns the index of the word at `base` in the order of all words, in which the first base counts most; -1 if a base
 * is unknown. */
static int word_at(const unsigned char *base)
{
    int word = 0;
    for (int i = 0; i < WORD; i++) {
        if (base[i] == BASE_UNKNOWN)
            return -1;
        word = word * BASES + base[i];
    }
    return word;
}

static int word_reverse(int word)
{
    int other = 0;
    for (int i = 0; i < WORD; i++, word /= BASES)
        other = other * BASES + BASES - 1 - word % BASES;
    return other;
}

/* Returns the index of a word or, if both strands are read, the smaller of the indices of the word and of its reverse
 * complement. */
static int word_class(const struct alignment *a, int word)
{
    int other = a->both ? word_reverse(word) : word;
    return other < word ? other : word;
}

static double word_probability(const struct alignment *a, int word)
{
    double p = 1;
    for (int i = 0; i < WORD; i++, word /= BASES)
        p *= a->background[word % BASES];
    return p;
}

/* Counts for each word the windows that contain it. last: [WORDS] the last window in which a word was seen. */
static void count_words(const struct alignment *a, int *count, int *last)
{
    const struct site_windows *w = a->windows;
    for (int i = 0; i < WORDS; i++)
        last[i] = -1;
    for (int n = 0; n < w->count; n++)
        for (int at = 0; at + WORD <= w->width; at++) {
            int word = word_at(w->base + (size_t)n * (size_t)w->width + at);
            if (word < 0)
                continue;
            word = word_class(a, word);
            count[word] += last[word] != n;
            last[word] = n;
        }
}

/* Finds the words that occur more often than the frequencies of the bases predict: those with the largest count *
 * log(count / expected). Returns their number. */
static int best_words(const struct alignment *a, const int *count, int best[SEEDS])
{
    double score[SEEDS] = {0};
    int found = 0, places = a->windows->width - WORD + 1;
    for (int word = 0; word < WORDS; word++) {
        if (count[word] == 0)
            continue;
        int other = word_reverse(word);
        double p = word_probability(a, word) + (a->both && other != word ? word_probability(a, other) : 0);
        double s = count[word] * log(count[word] / (a->windows->count * -expm1(places * log1p(-p))));
        if (found == SEEDS && score[SEEDS - 1] >= s)
            continue;
        int at = found < SEEDS ? found++ : SEEDS - 1;
        for (; at > 0 && score[at - 1] < s; at--) {
            score[at] = score[at - 1];
            best[at] = best[at - 1];
        }
        score[at] = s;
        best[at] = word;
    }
    return found;
}

/* ---- placements -------------------------------------------------------------------------------------------- */

/* The base of a window under column i of the matrix. */
static int base_under(const struct alignment *a, const unsigned char *window, struct site_placement at, int i)
{
    int position = at.first + (at.reverse ? a->width - 1 - i : i);
    if (position < 0 || position >= a->windows->width || window[position] == BASE_UNKNOWN)
        return BASE_UNKNOWN;
    return at.reverse ? BASES - 1 - window[position] : window[position];
}

static double fit_at(const struct alignment *a, const unsigned char *window, struct site_placement at,
                     double (*ratio)[BASES])
{
    double sum = 0;
    for (int i = 0; i < a->width; i++) {
        int b = base_under(a, window, at, i);
        sum += b < BASES ? ratio[i][b] : 0;
    }
    return sum;
}

static double place_window(const struct alignment *a, const unsigned char *window, double (*ratio)[BASES],
                           struct site_placement *out)
{
    int middle = (a->windows->width - a->width) / 2;
    double best = -INFINITY;
    for (int strand = 0; strand < (a->both ? 2 : 1); strand++)
        for (int shift = -a->shift; shift <= a->shift; shift++) {
            struct site_placement at = {middle + shift, strand == 1};
            double s = fit_at(a, window, at, ratio);
            if (s > best) {
                best = s;
                *out = at;
            }
        }
    return best;
}

static void count_bases(const struct alignment *a, const struct site_placement *placement, struct position_matrix *m)
{
    memset(m, 0, sizeof *m);
    m->width = a->width;
    m->sites = a->windows->count;
    for (int n = 0; n < a->windows->count; n++)
        for (int i = 0; i < a->width; i++) {
            int b = base_under(a, a->windows->base + (size_t)n * (size_t)a->windows->width, placement[n], i);
            if (b < BASES)
                m->count[i][b]++;
        }
}

/* The first matrix: the word in the middle, the background elsewhere. */
static void begin_matrix(const struct alignment *a, int word, struct position_matrix *m)
{
    int first = (a->width - WORD) / 2;
    memset(m, 0, sizeof *m);
    m->width = a->width;
    for (int i = WORD - 1; i >= 0; i--, word /= BASES) {
        if (first + i < 0 || first + i >= a->width)
            continue;
        for (int b = 0; b < BASES; b++)
            m->count[first + i][b] =
                a->windows->count * (b == word % BASES ? WORD_BASE : (1 - WORD_BASE) / (BASES - 1));
    }
}

/* Aligns all windows, beginning with a word. Returns the sum of the log-likelihood ratios. */
static double align_from(const struct alignment *a, int word, struct position_matrix *m,
                         struct site_placement *placement)
{
    double ratio[MATRIX_WIDTH][BASES], sum = 0;
    bool moved = true;
    begin_matrix(a, word, m);
    for (int n = 0; n < a->windows->count; n++)
        placement[n] = (struct site_placement){.first = -MATRIX_WIDTH - a->windows->width};
    for (int round = 0; moved && round < ROUNDS; round++) {
        moved = false;
        sum = 0;
        position_matrix_ratios(m, a->background, PSEUDO, ratio);
        for (int n = 0; n < a->windows->count; n++) {
            struct site_placement now = placement[n];
            sum += place_window(a, a->windows->base + (size_t)n * (size_t)a->windows->width, ratio, &now);
            moved = moved || now.first != placement[n].first || now.reverse != placement[n].reverse;
            placement[n] = now;
        }
        count_bases(a, placement, m);
    }
    return sum;
}

static void align_best(const struct alignment *a, const int *words, int count, struct position_matrix *out,
                       struct site_placement *best, struct site_placement *trial)
{
    double most = -INFINITY;
    for (int i = 0; i < count; i++) {
        struct position_matrix m;
        double sum = align_from(a, words[i], &m, trial);
        if (!(sum > most))
            continue;
        most = sum;
        *out = m;
        memcpy(best, trial, (size_t)a->windows->count * sizeof *best);
    }
}

enum status position_matrix_align(const struct site_windows *windows, int width, int shift, bool both_strands,
                                  struct position_matrix *out, struct site_placement *placement, struct error *err)
{
    struct alignment a = {windows, width, shift, both_strands, {0}};
    int *count = calloc(2 * (size_t)WORDS, sizeof *count), best[SEEDS], found = 0;
    size_t sites = (size_t)windows->count + 1;
    struct site_placement *two = calloc(2 * sites, sizeof *two);
    enum status status = STATUS_OK;
    memset(out, 0, sizeof *out);
    if (!count || !two)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to align %d windows", windows->count);
    if (!status) {
        measure_background(&a);
        count_words(&a, count, count + WORDS);
        found = best_words(&a, count, best);
        if (found == 0)
            status = error_set(err, STATUS_NOT_FOUND, NULL, "no window has %d known bases in a row", WORD);
    }
    if (!status)
        align_best(&a, best, found, out, two, two + sites);
    if (!status && placement)
        memcpy(placement, two, (size_t)windows->count * sizeof *placement);
    free(count);
    free(two);
    return status;
}

/* ---- significance ------------------------------------------------------------------------------------------ */

static double log_choose(int n, int k)
{
    return log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0);
}

double position_fisher(int all, int labelled, int sites, int both)
{
    int most = labelled < sites ? labelled : sites;
    double p = 0;
    for (int k = both > labelled + sites - all ? both : labelled + sites - all; k <= most; k++)
        p += exp(log_choose(labelled, k) + log_choose(all - labelled, sites - k) - log_choose(all, sites));
    return p < 1 ? p : 1;
}

enum { LEAST = 5 };
static const double even[BASES] = {0.25, 0.25, 0.25, 0.25};

/* The mean of the probabilities of a position is 1/4 in both matrices, so no mean need be computed. */
static double motif_similarity_correlation(const struct position_matrix *one, const struct position_matrix *two,
                                           int offset, int first, int end)
{
    double xx = 0, yy = 0, xy = 0;
    for (int i = first; i < end; i++) {
        double x[BASES], y[BASES];
        position_matrix_column(one, i, even, 0, x);
        position_matrix_column(two, i - offset, even, 0, y);
        for (int b = 0; b < BASES; b++) {
            xx += (x[b] - even[b]) * (x[b] - even[b]);
            yy += (y[b] - even[b]) * (y[b] - even[b]);
            xy += (x[b] - even[b]) * (y[b] - even[b]);
        }
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

double motif_similarity(const struct position_matrix *one, const struct position_matrix *two, bool both_strands)
{
    struct position_matrix other = *two;
    int shorter = one->width < two->width ? one->width : two->width, part = (3 * shorter + 3) / 4;
    int least = part > LEAST ? part : LEAST;
    double best = -1;
    for (int strand = 0; strand < (both_strands ? 2 : 1); strand++) {
        for (int offset = least - other.width; offset <= one->width - least; offset++) {
            int first = offset > 0 ? offset : 0;
            int end = offset + other.width < one->width ? offset + other.width : one->width;
            if (end - first >= least)
                best = fmax(best, motif_similarity_correlation(one, &other, offset, first, end));
        }
        position_matrix_reverse(&other);
    }
    return best;
}

/* Finds the best placement of a matrix near a position. The alignment (position_matrix.c) may place a matrix beyond the
 * ends of a window. A site, in contrast, must lie inside the sequence, because its coordinates are written into
 * files. */

void site_ratios_make(const struct position_matrix *m, const double background[BASES], struct site_ratios *out)
{
    *out = (struct site_ratios){.width = m->width};
    position_matrix_ratios(m, background, 1, out->ratio);
}

static double site_fit_at(const struct site_ratios *r, const unsigned char *base, bool reverse)
{
    double sum = 0;
    for (int i = 0; i < r->width; i++) {
        int b = base[reverse ? r->width - 1 - i : i];
        if (b < BASES)
            sum += r->ratio[i][reverse ? BASES - 1 - b : b];
    }
    return sum;
}

bool site_place(const struct site_ratios *ratios, const unsigned char *base, int count, int middle, int shift,
                bool both_strands, struct site_placement *out)
{
    double best = -INFINITY;
    for (int strand = 0; strand < (both_strands ? 2 : 1); strand++)
        for (int first = middle - ratios->width / 2 - shift; first <= middle - ratios->width / 2 + shift; first++) {
            if (first < 0 || first + ratios->width > count)
                continue;
            double sum = site_fit_at(ratios, base + first, strand == 1);
            if (sum > best) {
                best = sum;
                *out = (struct site_placement){first, strand == 1};
            }
        }
    return best > -INFINITY;
}
