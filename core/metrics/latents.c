/* Matches latents with true features or with other latents, and scores them (latents.h). */
#include "core/metrics/latents.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/assignment.h"

struct recovery_ranked {
    int64_t active;
    int feature;
};

static double norm_of(const float *row, int d)
{
    double square = 0;
    for (int k = 0; k < d; k++)
        square += (double)row[k] * (double)row[k];
    return sqrt(square);
}

static void compare_rows(struct recovery *r, const float *dictionary, const float *truth, int d,
                         struct thread_pool *pool)
{
    for (int j = 0; j < r->latents; j++) {
        const float *row = dictionary + (ptrdiff_t)j * d;
        double norm = norm_of(row, d), *cosine = r->cosine + (ptrdiff_t)j * r->features;
        r->own[j] = 0;
        for (int i = 0; i < r->features && !thread_pool_stopped(pool); i++) {
            const float *direction = truth + (ptrdiff_t)i * d;
            double inner = 0;
            for (int k = 0; k < d; k++)
                inner += (double)row[k] * (double)direction[k];
            cosine[i] = norm > 0 ? inner / norm : 0;
            if (fabs(cosine[i]) > fabs(cosine[r->own[j]]))
                r->own[j] = i;
        }
    }
    for (int j = r->latents - 1; j >= 0; j--) {
        r->next[j] = r->first[r->own[j]];
        r->first[r->own[j]] = j;
    }
}

static enum status match_rows(struct recovery *r, struct thread_pool *pool, struct error *err)
{
    size_t all = (size_t)r->latents * (size_t)r->features;
    double *score = malloc(all * sizeof *score);
    if (!score)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match %d latents", r->latents);
    for (size_t i = 0; i < all; i++)
        score[i] = fabs(r->cosine[i]);
    enum status status = assignment_best(score, r->latents, r->features, r->match, &r->mcc, pool, err);
    r->mcc /= r->latents < r->features ? r->latents : r->features;
    free(score);
    return status;
}

enum status recovery_create(const float *dictionary, int latents, const float *truth, int features, int inputs,
                            struct recovery *out, struct thread_pool *pool, struct error *err)
{
    size_t m = (size_t)latents, n = (size_t)features;
    *out = (struct recovery){.latents = latents, .features = features};
    out->cosine = malloc(m * n * sizeof *out->cosine);
    out->own = malloc(m * sizeof *out->own);
    out->next = malloc(m * sizeof *out->next);
    out->first = malloc(n * sizeof *out->first);
    out->match = malloc(m * sizeof *out->match);
    out->fired = calloc(m, sizeof *out->fired);
    out->both = calloc(m, sizeof *out->both);
    out->active = calloc(n, sizeof *out->active);
    out->row = calloc(n, sizeof *out->row);
    out->ranked = malloc(n * sizeof *out->ranked);
    if (!out->cosine || !out->own || !out->next || !out->first || !out->match || !out->fired || !out->both ||
        !out->active || !out->row || !out->ranked)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare %d latents with %d features",
                         latents, features);
    for (int i = 0; i < features; i++)
        out->first[i] = -1;
    compare_rows(out, dictionary, truth, inputs, pool);
    return match_rows(out, pool, err);
}

void recovery_close(struct recovery *r)
{
    free(r->cosine);
    free(r->own);
    free(r->next);
    free(r->first);
    free(r->match);
    free(r->fired);
    free(r->both);
    free(r->active);
    free(r->row);
    free(r->ranked);
    *r = (struct recovery){0};
}

void recovery_add(struct recovery *r, const struct recovery_sample *sample)
{
    for (int k = 0; k < sample->features; k++) {
        r->row[sample->feature[k]] = 1;
        r->active[sample->feature[k]]++;
    }
    for (int k = 0; k < sample->latents; k++) {
        int j = sample->latent[k];
        r->fired[j]++;
        r->both[j] += r->row[r->own[j]] > 0;
    }
    for (int k = 0; k < sample->features; k++)
        r->row[sample->feature[k]] = 0;
    r->samples++;
}

/* ---- absorption ---------------------------------------------------------------------------------------------- */

void recovery_absorb(struct recovery *r, const struct recovery_sample *sample, int feature, double projection,
                     const float *norm)
{
    double top[3] = {0}, main = 0, largest = 0, cosine_of_largest = 0;
    bool main_active = false;
    if (r->first[feature] < 0)
        return;
    for (int k = 0; k < sample->latents; k++) {
        int j = sample->latent[k];
        double cosine = r->cosine[(ptrdiff_t)j * r->features + feature];
        double c = (double)sample->value[k] * (double)norm[j] * cosine;
        if (r->own[j] == feature) {
            main += c;
            main_active = main_active || (double)sample->value[k] >= 1e-8;
        } else if (cosine >= 0.1 && c > top[2]) {
            int at = 2;
            for (; at > 0 && c > top[at - 1]; at--)
                top[at] = top[at - 1];
            top[at] = c;
        }
        if (c > largest) {
            largest = c;
            cosine_of_largest = cosine;
        }
    }
    double others = top[0] + top[1] + top[2], q = fmin(others, projection - main);
    r->absorption_cases++;
    r->absorbed +=
        !main_active && projection >= 0 && cosine_of_largest >= 0.025 && largest >= 0.4 * projection && largest > 0;
    if (main >= projection || others < 0.4 * projection)
        return;
    r->absorbed_share += main <= 0 ? 1 : q / (q + main);
}

/* ---- scores -------------------------------------------------------------------------------------------------- */

static void classify(const struct recovery *r, struct recovery_scores *out)
{
    for (int j = 0; j < r->latents; j++) {
        double fired = (double)r->fired[j], active = (double)r->active[r->own[j]], both = (double)r->both[j];
        out->precision += fired > 0 ? both / fired : 0;
        out->recall += active > 0 ? both / active : 0;
        out->f1 += fired + active > 0 ? 2 * both / (fired + active) : 0;
        out->accuracy += r->samples > 0 ? 1 - (fired + active - 2 * both) / (double)r->samples : 0;
    }
    out->precision /= r->latents;
    out->recall /= r->latents;
    out->f1 /= r->latents;
    out->accuracy /= r->latents;
}

/* The most frequent feature first; of equal frequencies, the smaller index. */
static int by_frequency(const void *a, const void *b)
{
    const struct recovery_ranked *u = a, *v = b;
    return u->active != v->active ? (u->active < v->active) - (u->active > v->active) : u->feature - v->feature;
}

static void share_found(const struct recovery *r, struct recovery_scores *out)
{
    struct recovery_ranked *ranked = r->ranked;
    for (int i = 0; i < r->features; i++)
        r->row[i] = 0;
    for (int j = 0; j < r->latents; j++)
        if (r->match[j] >= 0)
            r->row[r->match[j]] = fabs(r->cosine[(ptrdiff_t)j * r->features + r->match[j]]) >= RECOVERY_FOUND;
    for (int i = 0; i < r->features; i++)
        ranked[i] = (struct recovery_ranked){r->active[i], i};
    qsort(ranked, (size_t)r->features, sizeof *ranked, by_frequency);
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++) {
        int from = tenth * r->features / RECOVERY_DECILES, to = (tenth + 1) * r->features / RECOVERY_DECILES;
        double found = 0;
        for (int i = from; i < to; i++)
            found += r->row[ranked[i].feature];
        out->found[tenth] = to > from ? found / (to - from) : NAN;
    }
    memset(r->row, 0, (size_t)r->features * sizeof *r->row);
}

struct recovery_scores recovery_scores(const struct recovery *r)
{
    struct recovery_scores out = {.mcc = r->mcc, .absorption_full = NAN, .absorption_fraction = NAN};
    int different = 0;
    for (int i = 0; i < r->features; i++)
        different += r->first[i] >= 0;
    out.uniqueness = (double)different / r->latents;
    classify(r, &out);
    share_found(r, &out);
    if (r->absorption_cases > 0) {
        out.absorption_full = (double)r->absorbed / (double)r->absorption_cases;
        out.absorption_fraction = r->absorbed_share / (double)r->absorption_cases;
    }
    return out;
}

static void fill_cosines(const float *a, int rows, const float *b, int others, int d, struct thread_pool *pool,
                         double *cosine)
{
    for (int i = 0; i < rows && !thread_pool_stopped(pool); i++)
        for (int j = 0; j < others; j++) {
            double inner = 0, square = 0, other = 0;
            for (int k = 0; k < d; k++) {
                double u = (double)a[(ptrdiff_t)i * d + k], v = (double)b[(ptrdiff_t)j * d + k];
                inner += u * v;
                square += u * u;
                other += v * v;
            }
            cosine[(ptrdiff_t)i * others + j] = square > 0 && other > 0 ? inner / sqrt(square * other) : 0;
        }
}

enum status pairs_by_cosine(const float *a, int rows, const float *b, int others, int inputs, bool absolute,
                            int *other_of, double *cosine, double *mean, struct thread_pool *pool, struct error *err)
{
    size_t all = (size_t)rows * (size_t)others;
    double *signed_score = calloc(2 * all, sizeof *signed_score), *score, total = 0;
    if (!signed_score)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match %d with %d latents", rows, others);
    score = signed_score + all;
    fill_cosines(a, rows, b, others, inputs, pool, signed_score);
    for (size_t i = 0; i < all; i++)
        score[i] = absolute ? fabs(signed_score[i]) : signed_score[i];
    enum status status = assignment_best(score, rows, others, other_of, &total, pool, err);
    for (int i = 0; !status && i < rows; i++)
        cosine[i] = other_of[i] < 0 ? 0 : signed_score[(ptrdiff_t)i * others + other_of[i]];
    *mean = total / (rows < others ? rows : others);
    free(signed_score);
    return status;
}

enum status pair_moments_create(int rows, int others, struct pair_moments *out, struct error *err)
{
    *out = (struct pair_moments){.rows = rows, .others = others};
    out->sum = calloc((size_t)rows, sizeof *out->sum);
    out->square = calloc((size_t)rows, sizeof *out->square);
    out->other_sum = calloc((size_t)others, sizeof *out->other_sum);
    out->other_square = calloc((size_t)others, sizeof *out->other_square);
    out->cross = calloc((size_t)rows * (size_t)others, sizeof *out->cross);
    return out->sum && out->square && out->other_sum && out->other_square && out->cross
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for correlations of %d with %d latents",
                           rows, others);
}

void pair_moments_close(struct pair_moments *p)
{
    free(p->sum);
    free(p->square);
    free(p->other_sum);
    free(p->other_square);
    free(p->cross);
    *p = (struct pair_moments){0};
}

static void add_side(double *sum, double *square, const int32_t *index, const float *value, int count)
{
    for (int k = 0; k < count; k++) {
        sum[index[k]] += (double)value[k];
        square[index[k]] += (double)value[k] * (double)value[k];
    }
}

void pair_moments_add(struct pair_moments *p, const int32_t *index, const float *value, int count,
                      const int32_t *other_index, const float *other_value, int other_count)
{
    add_side(p->sum, p->square, index, value, count);
    add_side(p->other_sum, p->other_square, other_index, other_value, other_count);
    for (int k = 0; k < count; k++) {
        double *row = p->cross + (ptrdiff_t)index[k] * p->others;
        for (int l = 0; l < other_count; l++)
            row[other_index[l]] += (double)value[k] * (double)other_value[l];
    }
    p->samples++;
}

/* Lists the latents that are not constant, and the variance of each over n samples, multiplied by n^2. Returns how many
 * latents it lists. */
static int varying(const double *sum, const double *square, int count, double n, int *list, double *variance)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        variance[found] = n * square[i] - sum[i] * sum[i];
        if (variance[found] > 0)
            list[found++] = i;
    }
    return found;
}

/* Computes the largest sum of correlations. Only latents that are not constant are matched: constant latents add
 * nothing to the sum, and a search among many equal scores of 0 takes long. After few samples, most latents are
 * constant, because they have never been active. */
static enum status best_sum(const struct pair_moments *p, int *list, double *variance, double *total,
                            struct thread_pool *pool, struct error *err)
{
    int *others = list + p->rows, *other_of = others + p->others;
    double n = (double)p->samples, *other_variance = variance + p->rows + 1;
    int rows = varying(p->sum, p->square, p->rows, n, list, variance);
    int count = varying(p->other_sum, p->other_square, p->others, n, others, other_variance);
    double *score = malloc(((size_t)rows * (size_t)count + 1) * sizeof *score);
    if (!score)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match codes");
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < count; j++) {
            double both = n * p->cross[(ptrdiff_t)list[i] * p->others + others[j]];
            both -= p->sum[list[i]] * p->other_sum[others[j]];
            score[(ptrdiff_t)i * count + j] = fabs(both) / sqrt(variance[i] * other_variance[j]);
        }
    enum status status = assignment_best(score, rows, count, other_of, total, pool, err);
    free(score);
    return status;
}

enum status pair_moments_mcc(const struct pair_moments *p, double *mean, struct thread_pool *pool, struct error *err)
{
    size_t all = (size_t)p->rows + (size_t)p->others;
    /* + 2: each of two calls of varying() may write one element behind the variances that it lists */
    double *variance = malloc((all + 2) * sizeof *variance), total = 0;
    int *list = malloc((all + (size_t)p->rows) * sizeof *list);
    enum status status = variance && list ? best_sum(p, list, variance, &total, pool, err)
                                          : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match codes");
    *mean = total / (p->rows < p->others ? p->rows : p->others);
    free(variance);
    free(list);
    return status;
}
