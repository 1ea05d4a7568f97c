/* Finds enriched motifs (enriched_motif.h).
 *
 * A word counts once in a sequence, on either strand if there are two. The score of a word is the log-likelihood ratio
 * of two shares: of the positive sequences (those with set->with true) that contain the word, and of the other
 * sequences that contain it. The windows around the best words in the positive sequences are aligned to matrices. Each
 * matrix is then refined: the code finds the best site of the matrix in every sequence, and chooses a threshold for the
 * scores of these sites. The log-likelihood ratio of the shares of positive and of other sequences with a site above
 * the threshold must be as large as possible. The bases at these sites of the positive sequences are counted; the
 * counts are the next matrix. */
#include "core/genomics/matrices/enriched_motif.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 6, LONG = 8, WORDS = 3, ROUNDS = 3, SHIFT = 3, WINDOWS = 1000, LEAST_SITES = 10, COPIES = 4 };
/* Minimum log-likelihood ratio of a word from which a matrix is made. Below this ratio, even the most enriched of
 * all words may be enriched by chance. */
static const double LEAST_RATIO = 12;
static const double LEAST_BITS = 0.2; /* minimum information of the end positions of a matrix */
static const double PSEUDO = 1;       /* observations that are added to each position of a matrix */
static const double uniform[BASES] = {0.25, 0.25, 0.25, 0.25};

struct word {
    int length;
    uint32_t code; /* two bits for each base, the first base in the highest ones */
    double ratio;
};

/* A site of a matrix in a sequence. */
struct found {
    struct enriched_site site; /* at: -1 if the sequence is too short for a site */
    double score;
};

struct work {
    const struct enriched_set *set;
    int with, without;
    int32_t *seen, *count[2]; /* seen: [4^LONG] index of the last sequence that contains each word; count[w]: [4^LONG]
                                 number of sequences with set->with equal to w that contain it */
    struct found *found;      /* [sequences] */
    unsigned char *windows;   /* [WINDOWS][MATRIX_WIDTH] */
    struct site_placement *placement;
};

/* Returns x log(x / n), and 0 for x = 0. */
static double term(double x, double n)
{
    return x > 0 ? x * log(x / n) : 0;
}

/* Returns the log-likelihood ratio of two shares, `a` of `n` and `b` of `m`, against a common share; 0 unless the
 * first share is larger. */
static double ratio(double a, double n, double b, double m)
{
    if (a * m <= b * n)
        return 0;
    return term(a, n) + term(n - a, n) + term(b, m) + term(m - b, m) - term(a + b, n + m) - term(n + m - a - b, n + m);
}

static uint32_t reverse_code(uint32_t code, int length)
{
    uint32_t out = 0;
    for (int i = 0; i < length; i++) {
        out = out << 2 | (3 - (code & 3));
        code >>= 2;
    }
    return out;
}

/* Counts, for each word of `length` bases, the positive sequences and the other sequences that contain it. */
static void count_words(struct work *w, int length)
{
    const struct enriched_set *set = w->set;
    uint32_t mask = (1u << 2 * length) - 1;
    memset(w->seen, 0xFF, sizeof *w->seen << 2 * LONG);
    for (int side = 0; side < 2; side++)
        memset(w->count[side], 0, sizeof *w->count[side] << 2 * LONG);
    for (int s = 0; s < set->sequences; s++) {
        uint32_t code = 0;
        int known = 0;
        for (int64_t i = set->first[s]; i < set->first[s + 1]; i++) {
            known = set->base[i] < BASES ? known + 1 : 0;
            code = (code << 2 | (set->base[i] & 3u)) & mask;
            if (known < length)
                continue;
            uint32_t other = set->both_strands ? reverse_code(code, length) : code;
            uint32_t one = other < code ? other : code;
            if (w->seen[one] == s)
                continue;
            w->seen[one] = s;
            w->count[set->with[s]][one]++;
        }
    }
}

/* Inserts the words of `length` bases into the list of the best words, which is sorted by ratio. */
static void best_words(struct work *w, int length, struct word best[WORDS])
{
    count_words(w, length);
    for (uint32_t code = 0; code < 1u << 2 * length; code++) {
        if (w->count[1][code] < LEAST_SITES)
            continue;
        struct word word = {length, code, ratio(w->count[1][code], w->with, w->count[0][code], w->without)};
        for (int i = 0; i < WORDS; i++)
            if (word.ratio > best[i].ratio) {
                struct word kept = best[i];
                best[i] = word;
                word = kept;
            }
    }
}

/* Returns whether the word begins at base[0]. */
static bool has_word(const unsigned char *base, const struct word *word, uint32_t code)
{
    for (int i = 0; i < word->length; i++)
        if (base[i] != (code >> 2 * (word->length - 1 - i) & 3))
            return false;
    return true;
}

/* Copies the window of `width` bases around a place of a sequence. */
static void copy_window(const struct enriched_set *set, int sequence, int64_t middle, int width, unsigned char *to)
{
    for (int i = 0; i < width; i++) {
        int64_t at = middle - width / 2 + i;
        to[i] = at >= set->first[sequence] && at < set->first[sequence + 1] ? set->base[at] : BASE_UNKNOWN;
    }
}

/* Aligns the windows around a word in the positive sequences (those with set->with true). */
static enum status align_word(struct work *w, const struct word *word, struct position_matrix *out, struct error *err)
{
    const struct enriched_set *set = w->set;
    uint32_t other = set->both_strands ? reverse_code(word->code, word->length) : word->code;
    struct site_windows windows = {.width = set->width + 2 * SHIFT, .base = w->windows};
    for (int s = 0; s < set->sequences && windows.count < WINDOWS; s++)
        for (int64_t i = set->first[s]; set->with[s] && i + word->length <= set->first[s + 1]; i++)
            if (has_word(set->base + i, word, word->code) || has_word(set->base + i, word, other)) {
                copy_window(set, s, i + word->length / 2, windows.width,
                            w->windows + (ptrdiff_t)windows.count * windows.width);
                windows.count++;
                break;
            }
    return position_matrix_align(&windows, set->width, SHIFT, set->both_strands, out, w->placement, err);
}

/* ---- reading sequences with a matrix ------------------------------------------------------------------------- */

/* log_odds: of each base at each position; [0]: on the strand of the sequence, [1]: on the other strand. rest: upper
 * limit of what the positions from i on add to a score. */
struct scores {
    int width;
    double log_odds[MATRIX_WIDTH][BASES + 1][2], rest[MATRIX_WIDTH + 1];
};

/* An unknown base gets the mean log-odds of a random base. */
static void make_scores(const struct position_matrix *m, struct scores *out)
{
    double ratio[MATRIX_WIDTH][BASES];
    position_matrix_ratios(m, uniform, PSEUDO, ratio);
    out->width = m->width;
    for (int i = 0; i < m->width; i++) {
        double unknown = 0;
        for (int b = 0; b < BASES; b++)
            unknown += ratio[i][b] * uniform[b];
        for (int b = 0; b <= BASES; b++) {
            double value = b < BASES ? ratio[i][b] : unknown;
            out->log_odds[i][b][0] = value;
            out->log_odds[m->width - 1 - i][b < BASES ? BASES - 1 - b : b][1] = value;
        }
    }
    out->rest[m->width] = 0;
    for (int i = m->width - 1; i >= 0; i--) {
        double most = -INFINITY;
        for (int b = 0; b <= BASES; b++)
            most = fmax(most, fmax(out->log_odds[i][b][0], out->log_odds[i][b][1]));
        out->rest[i] = out->rest[i + 1] + most;
    }
}

/* Finds the best of the sites that begin in [from, to) in a sequence. A site whose first letters fit so badly that it
 * cannot become the best is not read to its end; SLACK is far larger than the rounding errors of a score. */
static struct found best_site(const struct enriched_set *set, const struct scores *m, int sequence, int64_t from,
                              int64_t to)
{
    enum { PART = 4 }; /* positions between two comparisons with the best score */
    static const double SLACK = 1e-6;
    struct found best = {{sequence, -1, false}, -INFINITY};
    int64_t last = set->first[sequence + 1] - m->width + 1;
    for (int64_t at = from; at < to && at < last; at++) {
        const unsigned char *base = set->base + at;
        double sum[2] = {0, 0};
        int i = 0;
        while (i < m->width && (sum[0] > sum[1] ? sum[0] : sum[1]) + m->rest[i] + SLACK > best.score) {
            int end = i + PART < m->width ? i + PART : m->width;
            for (; i < end; i++) {
                sum[0] += m->log_odds[i][base[i]][0];
                sum[1] += m->log_odds[i][base[i]][1];
            }
        }
        for (int side = 0; i == m->width && side < (set->both_strands ? 2 : 1); side++)
            if (sum[side] > best.score)
                best = (struct found){{sequence, at, side == 1}, sum[side]};
    }
    return best;
}

static int by_score(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1)
                                : (x->site.sequence > y->site.sequence) - (x->site.sequence < y->site.sequence);
}

/* Finds the best site of each sequence, and sorts the sites by descending score. Returns how many of the first sites
 * give the largest log-likelihood ratio *most. */
static int read_all(struct work *w, const struct position_matrix *m, double *most)
{
    const struct enriched_set *set = w->set;
    struct scores scores;
    int sites = 0, with = 0;
    make_scores(m, &scores);
    for (int s = 0; s < set->sequences; s++)
        w->found[s] = best_site(set, &scores, s, set->first[s], set->first[s + 1]);
    qsort(w->found, (size_t)set->sequences, sizeof *w->found, by_score);
    *most = 0;
    for (int i = 0; i < set->sequences && w->found[i].site.at >= 0; i++) {
        with += set->with[w->found[i].site.sequence];
        double now = with >= LEAST_SITES ? ratio(with, w->with, i + 1 - with, w->without) : 0;
        if (now > *most) {
            *most = now;
            sites = i + 1;
        }
    }
    return sites;
}

/* Counts the bases in windows of set->width around the first `sites` sites, in the positive sequences only. */
static void count_sites(const struct work *w, int sites, int width, struct position_matrix *out)
{
    const struct enriched_set *set = w->set;
    unsigned char window[MATRIX_WIDTH];
    *out = (struct position_matrix){.width = set->width};
    for (int i = 0; i < sites; i++) {
        const struct enriched_site *f = &w->found[i].site;
        if (!set->with[f->sequence])
            continue;
        /* the window lies at the same place relative to the site on both strands, also if the widths differ by an odd
         * number */
        int before = (set->width - width) / 2, left = f->reverse ? set->width - width - before : before;
        copy_window(set, f->sequence, f->at - left + set->width / 2, set->width, window);
        for (int j = 0; j < set->width; j++) {
            unsigned char base = f->reverse ? window[set->width - 1 - j] : window[j];
            if (base < BASES)
                out->count[j][f->reverse ? BASES - 1 - base : base]++;
        }
        out->sites++;
    }
    (void)position_matrix_trim(out, LEAST_BITS);
}

/* Turns a word into a matrix. *most: the ratio of the matrix; 0: the matrix has become empty. */
static enum status refine_word(struct work *w, const struct word *word, struct position_matrix *m, double *most,
                               struct error *err)
{
    enum status status = align_word(w, word, m, err);
    *most = 0;
    if (status)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    (void)position_matrix_trim(m, LEAST_BITS);
    for (int round = 0; round < ROUNDS && m->width > 0; round++) {
        int sites = read_all(w, m, most);
        if (sites == 0)
            m->width = 0;
        else
            count_sites(w, sites, m->width, m);
    }
    *most = m->width > 0 ? *most : 0;
    return STATUS_OK;
}

/* Erases the sites of a matrix that have a score of at least `least`, up to COPIES sites in each sequence. */
static void erase_sites(const struct work *w, const struct position_matrix *m, double least)
{
    const struct enriched_set *set = w->set;
    struct scores scores;
    make_scores(m, &scores);
    for (int s = 0; s < set->sequences; s++)
        for (int copy = 0; copy < COPIES; copy++) {
            struct found f = best_site(set, &scores, s, set->first[s], set->first[s + 1]);
            if (f.site.at < 0 || f.score < least)
                break;
            memset(set->base + f.site.at, BASE_UNKNOWN, (size_t)m->width);
        }
}

static enum status find_motif(struct work *w, struct position_matrix *out, double *p, struct enriched_site *site,
                              int *count, struct error *err)
{
    struct word best[WORDS] = {{0}};
    double most = 0;
    best_words(w, SHORT, best);
    best_words(w, LONG, best);
    for (int i = 0; i < WORDS && best[i].ratio >= LEAST_RATIO; i++) {
        struct position_matrix m;
        double now;
        enum status status = refine_word(w, &best[i], &m, &now, err);
        if (status)
            return status;
        if (now > most) {
            most = now;
            *out = m;
        }
    }
    int sites = most > 0 ? read_all(w, out, &most) : 0, with = 0;
    if (sites == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no word is enriched");
    for (int i = 0; i < sites; i++)
        with += w->set->with[w->found[i].site.sequence];
    for (int i = 0; site && i < sites; i++)
        site[i] = w->found[i].site;
    if (count)
        *count = sites;
    *p = position_fisher(w->set->sequences, w->with, sites, with);
    erase_sites(w, out, w->found[sites - 1].score);
    return STATUS_OK;
}

enum status enriched_motif_find(const struct enriched_set *set, struct position_matrix *out, double *p,
                                struct enriched_site *site, int *sites, struct error *err)
{
    size_t codes = (size_t)1 << 2 * LONG;
    struct work w = {.set = set,
                     .seen = malloc(codes * sizeof *w.seen),
                     .count = {malloc(codes * sizeof(int32_t)), malloc(codes * sizeof(int32_t))},
                     .found = malloc(((size_t)set->sequences + 1) * sizeof *w.found),
                     .windows = malloc((size_t)WINDOWS * MATRIX_WIDTH),
                     .placement = malloc(WINDOWS * sizeof *w.placement)};
    for (int s = 0; s < set->sequences; s++)
        w.with += set->with[s];
    w.without = set->sequences - w.with;
    enum status status = w.seen && w.count[0] && w.count[1] && w.found && w.windows && w.placement
                             ? STATUS_OK
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to search for enriched words");
    if (!status)
        status = w.with > 0 && w.without > 0 ? find_motif(&w, out, p, site, sites, err)
                                             : error_set(err, STATUS_NOT_FOUND, NULL, "no word is enriched");
    free(w.seen);
    free(w.count[0]);
    free(w.count[1]);
    free(w.found);
    free(w.windows);
    free(w.placement);
    return status;
}
