/* Mean correlation coefficient and linear R squared, with the small symmetric solver that R squared needs, and the
 * comparison of patterns of nonzero entries. */
#include "core/metrics/identify.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/assignment.h"

enum { ROWS = 64 }; /* rows between two checks whether the pool was stopped */

static void centre(const float *x, int rows, int cols, struct thread_pool *pool, double *mean, double *deviation)
{
    for (int c = 0; c < cols && !thread_pool_stopped(pool); c++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < rows; r++)
            sum += (double)x[(ptrdiff_t)r * cols + c];
        mean[c] = sum / rows;
        for (int r = 0; r < rows; r++) {
            double d = (double)x[(ptrdiff_t)r * cols + c] - mean[c];
            squares += d * d;
        }
        deviation[c] = sqrt(squares / rows);
    }
}

/* Computes the covariance of each column i of x with each column j of y as entry [i][j]. The columns' means are given.
 */
static void covariances(const float *x, int p, const double *mean_x, const float *y, int q, const double *mean_y,
                        int rows, struct thread_pool *pool, double *covariance)
{
    for (int i = 0; i < p * q; i++)
        covariance[i] = 0;
    for (int r = 0; r < rows && (r % ROWS != 0 || !thread_pool_stopped(pool)); r++)
        for (int i = 0; i < p; i++) {
            double d = ((double)x[(ptrdiff_t)r * p + i] - mean_x[i]) / rows;
            for (int j = 0; j < q; j++)
                covariance[i * q + j] += d * ((double)y[(ptrdiff_t)r * q + j] - mean_y[j]);
        }
}

enum status identify_mcc(const float *truth, int factors, const float *codes, int code_count, int rows, int *match,
                         double *mcc, struct thread_pool *pool, struct error *err)
{
    int p = factors, q = code_count;
    double *numbers = malloc(((size_t)p * (size_t)q + 2 * (size_t)(p + q)) * sizeof *numbers), total;
    int *own = malloc((size_t)p * sizeof *own);
    enum status status = numbers && own ? STATUS_OK : error_memory(err, "correlations");
    if (!status) {
        double *score = numbers, *mean_t = score + p * q, *sd_t = mean_t + p, *mean_c = sd_t + p, *sd_c = mean_c + q;
        centre(truth, rows, p, pool, mean_t, sd_t);
        centre(codes, rows, q, pool, mean_c, sd_c);
        covariances(truth, p, mean_t, codes, q, mean_c, rows, pool, score);
        for (int i = 0; i < p * q; i++) {
            double scale = sd_t[i / q] * sd_c[i % q];
            score[i] = scale > 1e-12 ? fabs(score[i]) / scale : 0;
        }
        status = thread_pool_check(pool, err);
        if (!status)
            status = assignment_best(score, p, q, match ? match : own, &total, pool, err);
        if (!status)
            *mcc = total / p;
    }
    free(numbers);
    free(own);
    return status;
}

/* Returns the beginning of row i of a lower triangle, in which row k has k + 1 entries. */
static double *row_of(double *triangle, int i)
{
    return triangle + (ptrdiff_t)i * (i + 1) / 2;
}

/* Decomposes a = l l'. Column by column, l replaces a; the entry [i][j] of l needs the rows i and j up to column j. */
static void decompose(double *a, int n, struct thread_pool *pool)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, row_of(a, i)[i]);
    for (int j = 0; j < n && !thread_pool_stopped(pool); j++) { /* column j */
        double *row = row_of(a, j), pivot = row[j];
        for (int m = 0; m < j; m++)
            pivot -= row[m] * row[m];
        row[j] = pivot > 1e-12 * most ? sqrt(pivot) : 0;
        for (int i = j + 1; i < n; i++) {
            double *at = row_of(a, i), sum = at[j];
            for (int m = 0; m < j; m++)
                sum -= at[m] * row[m];
            at[j] = row[j] > 0 ? sum / row[j] : 0;
        }
    }
}

void solve_symmetric(double *a, int n, double *b, int count, struct thread_pool *pool)
{
    decompose(a, n, pool);
    for (int s = 0; s < count && !thread_pool_stopped(pool); s++) {
        double *x = b + (ptrdiff_t)s * n;
        for (int i = 0; i < n; i++) {
            const double *row = row_of(a, i);
            for (int m = 0; m < i; m++)
                x[i] -= row[m] * x[m];
            x[i] = row[i] > 0 ? x[i] / row[i] : 0;
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int m = i + 1; m < n; m++)
                x[i] -= row_of(a, m)[i] * x[m];
            x[i] = row_of(a, i)[i] > 0 ? x[i] / row_of(a, i)[i] : 0;
        }
    }
}

enum status identify_linear_r2(const float *truth, int factors, const float *codes, int code_count, int rows,
                               double *r2, struct thread_pool *pool, struct error *err)
{
    int p = factors, q = code_count;
    size_t cross = (size_t)p * (size_t)q;
    double *numbers = malloc((2 * cross + (size_t)q * (size_t)q + 2 * (size_t)(p + q)) * sizeof *numbers);
    if (!numbers)
        return error_memory(err, "correlations");
    double *b = numbers, *x = b + cross, *a = x + cross, *mean_t = a + q * q, *sd_t = mean_t + p, *mean_c = sd_t + p;
    centre(truth, rows, p, pool, mean_t, sd_t);
    centre(codes, rows, q, pool, mean_c, mean_c + q);
    covariances(truth, p, mean_t, codes, q, mean_c, rows, pool, b);
    covariances(codes, q, mean_c, codes, q, mean_c, rows, pool, a);
    for (int i = 1; i < q; i++) /* packs the lower triangle without gaps, as the solver reads it */
        memmove(row_of(a, i), a + (ptrdiff_t)i * q, (size_t)(i + 1) * sizeof *a);
    for (size_t i = 0; i < cross; i++)
        x[i] = b[i];
    solve_symmetric(a, q, x, p, pool);
    *r2 = 0;
    for (int i = 0; i < p; i++) {
        double explained = 0;
        for (int j = 0; j < q; j++)
            explained += x[i * q + j] * b[i * q + j];
        *r2 += sd_t[i] > 0 ? explained / (sd_t[i] * sd_t[i]) / p : 0;
    }
    free(numbers);
    return thread_pool_check(pool, err);
}

static double metrics_support_correlation(const float *x, int step_x, const float *y, int step_y, int rows)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < rows; i++) {
        mx += (double)x[(ptrdiff_t)i * step_x] / rows;
        my += (double)y[(ptrdiff_t)i * step_y] / rows;
    }
    for (int i = 0; i < rows; i++) {
        double a = (double)x[(ptrdiff_t)i * step_x] - mx, b = (double)y[(ptrdiff_t)i * step_y] - my;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static struct support_score count(const float *mask, const unsigned char *truth, int features, int columns, int factors,
                                  const int *column_of)
{
    int both = 0, either = 0, used = 0;
    for (int c = 0; c < columns; c++) {
        int factor = -1, any = 0;
        for (int f = 0; f < factors; f++)
            if (column_of[f] == c)
                factor = f;
        for (int j = 0; j < features; j++) {
            int have = mask[(ptrdiff_t)j * columns + c] != 0,
                want = factor >= 0 && truth[(ptrdiff_t)j * factors + factor];
            both += have && want;
            either += have != want;
            any |= have;
        }
        used += any;
    }
    return (struct support_score){.f1 = both || either ? 2.0 * both / (2.0 * both + either) : 1,
                                  .hamming = (double)either / ((double)features * columns),
                                  .used = used};
}

enum status support_compare(const float *mask, const unsigned char *truth, int features, int columns, int factors,
                            const float *codes, const float *values, int rows, struct thread_pool *pool,
                            struct support_score *out, struct error *err)
{
    double *score = calloc((size_t)factors * (size_t)columns, sizeof *score);
    int *column_of = calloc((size_t)factors, sizeof *column_of);
    enum status status =
        score && column_of ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match columns");
    for (int f = 0; !status && f < factors; f++)
        for (int c = 0; c < columns && !thread_pool_stopped(pool); c++)
            score[(ptrdiff_t)f * columns + c] =
                fabs(metrics_support_correlation(codes + c, columns, values + f, factors, rows));
    if (!status)
        status = thread_pool_check(pool, err);
    if (!status)
        status = assignment_best(score, factors, columns, column_of, NULL, NULL, err);
    if (!status)
        *out = count(mask, truth, features, columns, factors, column_of);
    free(score);
    free(column_of);
    return status;
}
