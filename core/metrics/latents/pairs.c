/* Matchings of two sets of latents, by direction and by correlation of codes (pairs.h). */
#include "core/metrics/latents/pairs.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/metrics/assignment.h"

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
