/* Computes rows of W a block at a time and reduces each to a few sums, so that W never exists as a whole. The symmetric
 * part also needs tr(W W), which equals tr(M M) for the n_d x n_d matrix M = encoder' decoder. */
#include "core/superposed/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/superposed/data.h"
#include "core/superposed/theory.h"

enum { BLOCK = 64, NORMALITY_SAMPLES = 1000, NORMALITY_WORK = 1 << 27 };

/* Sums over row i, without the diagonal unless stated. */
struct row {
    double diagonal, sum, squares, cubes, kept_squares; /* cubes: |W_ij|^3; signed_cubes: W_ij^3 */
    double signed_cubes, min, max;
};

static void reduce(const float *w, int n, int i, const bool *kept, struct row *out)
{
    struct row r = {.diagonal = (double)w[i], .min = INFINITY, .max = -INFINITY};
    for (int j = 0; j < n; j++) {
        double v = (double)w[j], square = v * v;
        if (j == i)
            continue;
        r.sum += v;
        r.squares += square;
        r.cubes += square * fabs(v);
        r.signed_cubes += square * v;
        r.kept_squares += !kept || kept[j] ? square : 0;
        r.min = fmin(r.min, v);
        r.max = fmax(r.max, v);
    }
    *out = r;
}

/* ---- sums over features ------------------------------------------------------------------------------- */

struct spread {
    double mean, variance;
};

/* Spread of value[i] over the chosen i (NULL: all). */
static struct spread spread_of(const double *value, const bool *chosen, int n)
{
    struct spread s = {0, 0};
    int count = 0;
    for (int i = 0; i < n; i++)
        if (!chosen || chosen[i]) {
            s.mean += value[i];
            count++;
        }
    s.mean = count > 0 ? s.mean / count : NAN;
    for (int i = 0; i < n; i++)
        if (!chosen || chosen[i])
            s.variance += (value[i] - s.mean) * (value[i] - s.mean);
    s.variance = count > 1 ? s.variance / (count - 1) : NAN;
    return s;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *value, int n, double *scratch)
{
    memcpy(scratch, value, (size_t)n * sizeof *scratch);
    qsort(scratch, (size_t)n, sizeof *scratch, by_size);
    return n % 2 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2;
}

/* What is averaged over features. */
enum figure { DIAGONAL, BIAS, NOISE, NOISE_CODE, MEAN, MEAN_CODE, KEPT_NOISE };

static double figure_of(enum figure figure, const struct row *r, double bias, double p, int n)
{
    double square = r->diagonal * r->diagonal;
    switch (figure) {
    case DIAGONAL:
        return r->diagonal;
    case BIAS:
        return bias;
    case NOISE:
        return theory_variance(p) * r->squares / square;
    case NOISE_CODE:
        return theory_variance(p) * (r->squares + square);
    case MEAN:
        return p / 2 * r->sum / r->diagonal;
    case MEAN_CODE:
        return p / 2 * (r->sum + r->diagonal) / n;
    case KEPT_NOISE:
        return theory_variance(p) * r->kept_squares / square;
    }
    return NAN;
}

static struct spread over(enum figure figure, const struct row *rows, const double *bias, const bool *chosen, int n,
                          double p, double *scratch)
{
    for (int i = 0; i < n; i++)
        scratch[i] = figure_of(figure, &rows[i], bias[i], p, n);
    return spread_of(scratch, chosen, n);
}

/* Computes all statistics except symmetry and normality from the rows' sums. scratch: [n]. */
static void statistics_summarise(const struct row *rows, const double *bias, const bool *kept, int n, int n_d, double p,
                                 double *scratch, struct statistics *s)
{
    double off[3] = {0}, others = (double)n * (n - 1);
    int kept_count = 0;
    s->off_min = INFINITY;
    s->off_max = -INFINITY;
    for (int i = 0; i < n; i++) {
        kept_count += kept[i];
        off[0] += rows[i].sum;
        off[1] += rows[i].squares;
        off[2] += rows[i].signed_cubes;
        s->off_min = fmin(s->off_min, rows[i].min);
        s->off_max = fmax(s->off_max, rows[i].max);
        double whole = rows[i].squares + rows[i].diagonal * rows[i].diagonal, most = pow(fabs(rows[i].diagonal), 3);
        double ratio = rows[i].squares > 0 ? rows[i].cubes / pow(rows[i].squares, 1.5) : 0;
        s->lyapunov = fmax(s->lyapunov, ratio);
        if (kept[i])
            s->kept_lyapunov = fmax(s->kept_lyapunov, ratio);
        if (whole > 0)
            s->lyapunov_code = fmax(s->lyapunov_code, (rows[i].cubes + most) / whole);
    }
    double m1 = off[0] / others, m2 = off[1] / others - m1 * m1;
    double m3 = off[2] / others - 3 * m1 * off[1] / others + 2 * m1 * m1 * m1;
    s->off_mean = m1;
    s->off_sd = sqrt(fmax(m2, 0));
    s->off_skewness = m2 > 0 ? m3 / pow(m2, 1.5) : NAN;
    s->row_sum = off[0] / n;
    s->dropped = 1 - (double)kept_count / n;
    struct spread of = over(DIAGONAL, rows, bias, NULL, n, p, scratch);
    s->diagonal_mean = of.mean;
    s->diagonal_sd = sqrt(of.variance);
    of = over(DIAGONAL, rows, bias, kept, n, p, scratch);
    s->kept_diagonal_mean = of.mean;
    s->kept_diagonal_sd = sqrt(of.variance);
    of = over(BIAS, rows, bias, NULL, n, p, scratch);
    s->bias_mean = of.mean;
    s->bias_sd = sqrt(of.variance);
    of = over(BIAS, rows, bias, kept, n, p, scratch);
    s->kept_bias_mean = of.mean;
    s->kept_bias_sd = sqrt(of.variance);
    of = over(NOISE, rows, bias, kept, n, p, scratch);
    s->noise = of.mean;
    s->noise_variance = of.variance;
    s->noise_variance_code = over(NOISE_CODE, rows, bias, NULL, n, p, scratch).variance;
    s->mean_variance = over(MEAN, rows, bias, kept, n, p, scratch).variance;
    s->mean_variance_code = over(MEAN_CODE, rows, bias, NULL, n, p, scratch).variance;
    /* the bound also holds for the square matrix of the kept rows and columns, because its rank is at most n_d */
    double bound = theory_variance(p) * ((double)kept_count / n_d - 1);
    s->saturation = bound > 0 ? over(KEPT_NOISE, rows, bias, kept, n, p, scratch).mean / bound : NAN;
}

/* ---- normality ---------------------------------------------------------------------------------------- */

static double distance_from_normal(double *nu, int count)
{
    struct spread s = spread_of(nu, NULL, count);
    double most = 0;
    qsort(nu, (size_t)count, sizeof *nu, by_size);
    for (int i = 0; i < count; i++) {
        double below = theory_normal_below((nu[i] - s.mean) / sqrt(s.variance));
        most = fmax(most, fmax(below - (double)i / count, (double)(i + 1) / count - below));
    }
    return most;
}

struct normality {
    const float *w;
    int n;
    double p;
    uint64_t seed;
    double *nu; /* [samples] */
    float *x;   /* [threads][n] */
};

static void interference_task(void *context, int chunk, int worker)
{
    const struct normality *t = context;
    float *x = t->x + (size_t)worker * (size_t)t->n;
    sample_draw(t->seed, STREAM_QUERY, chunk, t->p, t->n, x);
    for (int j = 1; j < t->n; j++)
        t->nu[chunk] += (double)t->w[j] * (double)x[j];
}

int statistics_samples(int n)
{
    int count = n > NORMALITY_WORK / NORMALITY_SAMPLES ? NORMALITY_WORK / n : NORMALITY_SAMPLES;
    return count > 50 ? count : 50;
}

/* Tests the interference at feature 0, whose row of W is `w`, for normality. Very wide models take fewer samples,
 * because a step must end soon. Each sample is a chunk of its own, so the result does not depend on the threads. */
static enum status test_normality(const float *w, int n, struct thread_pool *pool, double p, uint64_t seed,
                                  struct statistics *s, struct error *err)
{
    int count = statistics_samples(n);
    struct normality t = {w,
                          n,
                          p,
                          seed,
                          calloc(NORMALITY_SAMPLES, sizeof *t.nu),
                          malloc((size_t)thread_pool_threads(pool) * (size_t)n * sizeof *t.x)};
    enum status status = STATUS_OK;
    if (!t.nu || !t.x)
        status = error_memory(err, "samples of the interference");
    if (!status)
        status = thread_pool_run(pool, interference_task, &t, count) ? STATUS_OK : thread_pool_check(pool, err);
    if (!status) {
        s->kolmogorov = distance_from_normal(t.nu, count);
        s->kolmogorov_p = theory_kolmogorov(s->kolmogorov, count);
    }
    free(t.nu);
    free(t.x);
    return status;
}

/* ---- trained ------------------------------------------------------------------------------------------ */

struct work {
    const struct autoencoder *model;
    const struct kernels *kernels;
    const bool *kept;
    struct row *rows;
    float *blocks; /* blocks of a worker: [BLOCK][n_s] */
    float *small;  /* [n_d][n_d] */
};

static void make_rows(const struct work *w, int row, int rows, float *to)
{
    int n = w->model->shape.n_s, d = w->model->shape.n_d;
    struct gemm_call call = {.transpose_b = true,
                             .m = rows,
                             .n = n,
                             .k = d,
                             .alpha = 1,
                             .a = w->model->decoder->value + (ptrdiff_t)row * d,
                             .b = w->model->encoder->value,
                             .c = to,
                             .lda = d,
                             .ldb = d,
                             .ldc = n};
    w->kernels->gemm(&call);
}

static void rows_task(void *context, int chunk, int worker)
{
    struct work *w = context;
    int n = w->model->shape.n_s, row = chunk * BLOCK, rows = n - row < BLOCK ? n - row : BLOCK;
    float *block = w->blocks + (ptrdiff_t)worker * BLOCK * n;
    make_rows(w, row, rows, block);
    for (int r = 0; r < rows; r++)
        reduce(block + (ptrdiff_t)r * n, n, row + r, w->kept, &w->rows[row + r]);
}

static void small_task(void *context, int chunk, int worker)
{
    struct work *w = context;
    int n = w->model->shape.n_s, d = w->model->shape.n_d, row = chunk * BLOCK, rows = d - row < BLOCK ? d - row : BLOCK;
    struct gemm_call call = {.transpose_a = true,
                             .m = rows,
                             .n = d,
                             .k = n,
                             .alpha = 1,
                             .a = w->model->encoder->value + row,
                             .b = w->model->decoder->value,
                             .c = w->small + (ptrdiff_t)row * d,
                             .lda = d,
                             .ldb = d,
                             .ldc = d};
    w->kernels->gemm(&call);
}

static void symmetry(const struct work *w, struct thread_pool *pool, struct statistics *s)
{
    int n = w->model->shape.n_s, d = w->model->shape.n_d;
    double all = 0, trace = 0;
    for (int i = 0; i < n; i++)
        all += w->rows[i].squares + w->rows[i].diagonal * w->rows[i].diagonal;
    for (int a = 0; a < d && !thread_pool_stopped(pool); a++)
        for (int b = 0; b < d; b++)
            trace += (double)w->small[(ptrdiff_t)a * d + b] * (double)w->small[(ptrdiff_t)b * d + a];
    s->symmetric = sqrt(fmax(all + trace, 0) / 2);
    s->antisymmetric = sqrt(fmax(all - trace, 0) / 2);
}

enum status statistics_model(const struct autoencoder *model, struct thread_pool *pool, const struct kernels *kernels,
                             double p, uint64_t seed, struct statistics *out, struct error *err)
{
    int n = model->shape.n_s, d = model->shape.n_d;
    size_t wide = (size_t)n;
    struct work w = {model,
                     kernels,
                     NULL,
                     calloc(wide, sizeof *w.rows),
                     malloc((size_t)thread_pool_threads(pool) * BLOCK * wide * sizeof(float)),
                     malloc((size_t)d * (size_t)d * sizeof(float))};
    double *numbers = malloc(3 * wide * sizeof *numbers);
    bool *kept = malloc(wide * sizeof *kept);
    enum status status = STATUS_OK;
    *out = (struct statistics){0};
    if (!w.rows || !w.blocks || !w.small || !numbers || !kept)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for statistics of %d features", n);
    if (!status) {
        double *diagonal = numbers, *bias = numbers + n;
        for (int i = 0; i < n && !thread_pool_stopped(pool); i++) {
            diagonal[i] = bias[i] = 0;
            for (int k = 0; k < d; k++)
                diagonal[i] +=
                    (double)(model->decoder->value[(ptrdiff_t)i * d + k] * model->encoder->value[(ptrdiff_t)i * d + k]);
            bias[i] = (double)model->bias->value[i];
        }
        double half = median_of(diagonal, n, numbers + 2 * n) / 2;
        for (int i = 0; i < n; i++)
            kept[i] = diagonal[i] >= half;
        w.kept = kept;
        bool done = thread_pool_run(pool, rows_task, &w, (n + BLOCK - 1) / BLOCK) &&
                    thread_pool_run(pool, small_task, &w, (d + BLOCK - 1) / BLOCK);
        status = done ? STATUS_OK : thread_pool_check(pool, err);
    }
    if (!status) {
        double *bias = numbers + n, *scratch = numbers + 2 * n;
        statistics_summarise(w.rows, bias, kept, n, d, p, scratch, out);
        symmetry(&w, pool, out);
        make_rows(&w, 0, 1, w.blocks);
        status = test_normality(w.blocks, n, pool, p, seed, out, err);
    }
    free(w.rows);
    free(w.blocks);
    free(w.small);
    free(numbers);
    free(kept);
    return status;
}

/* ---- rugs --------------------------------------------------------------------------------------------- */

/* Every row of a rug has the same sums as the first row, so only the first row is computed. */
enum status statistics_rug(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, double p,
                           double scale, double offset, uint64_t seed, struct statistics *out, struct error *err)
{
    enum { ALIKE = 4 };
    int n = rug->n_s;
    float *w = malloc((size_t)n * sizeof *w);
    double bias[ALIKE], scratch[ALIKE];
    const bool kept[ALIKE] = {true, true, true, true};
    struct row rows[ALIKE];
    if (!w)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a row of %d", n);
    *out = (struct statistics){0};
    enum status status = rug_row(rug, pool, kernels, w, err);
    if (!status) {
        for (int i = 0; i < n; i++)
            w[i] *= (float)scale;
        for (int i = 0; i < ALIKE; i++) {
            reduce(w, n, 0, NULL, &rows[i]);
            bias[i] = scale * offset;
        }
        /* ALIKE copies of the row stand for all n rows: means are the same, counts are corrected below */
        statistics_summarise(rows, bias, kept, ALIKE, rug->n_d, p, scratch, out);
        double mean = rows[0].sum / (n - 1), square = rows[0].squares / (n - 1), cube = rows[0].signed_cubes / (n - 1);
        double variance = fmax(square - mean * mean, 0), bound = theory_variance(p) * ((double)n / rug->n_d - 1);
        out->off_mean = mean;
        out->off_sd = sqrt(variance);
        out->off_skewness =
            variance > 0 ? (cube - 3 * mean * square + 2 * mean * mean * mean) / pow(variance, 1.5) : NAN;
        out->saturation = bound > 0 ? out->noise / bound : NAN;
        out->symmetric = sqrt((double)n * (rows[0].squares + rows[0].diagonal * rows[0].diagonal));
        out->antisymmetric = 0;
        status = test_normality(w, n, pool, p, seed, out, err);
    }
    free(w);
    return status;
}
