/* Compares a learned pattern of nonzero entries with the true one, after matching their columns. */
#include "core/metrics/support.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/metrics/assignment.h"

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
