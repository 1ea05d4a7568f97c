/* FISTA, orthogonal matching pursuit and iterative hard thresholding in a plain dictionary (plain.h). */
#include "core/coding/plain.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/random/philox.h"

/* Computes the signals of `count` codes: out = code * p->rows. out: [count][inputs]; code: [count][atoms]. */
static void synthesise(const struct plain *p, const float *code, int count, float *out)
{
    struct gemm_call call = {.m = count,
                             .n = p->inputs,
                             .k = p->atoms,
                             .alpha = 1,
                             .a = code,
                             .b = p->rows,
                             .c = out,
                             .lda = p->atoms,
                             .ldb = p->inputs,
                             .ldc = p->inputs};
    p->kernels->gemm(&call);
}

/* Computes the products of `count` signals with all rows of the dictionary: out = x * (transposed p->rows). out:
 * [count][atoms]; x: [count][inputs]. */
static void analyse(const struct plain *p, const float *x, int count, float *out)
{
    struct gemm_call call = {.transpose_b = true,
                             .m = count,
                             .n = p->atoms,
                             .k = p->inputs,
                             .alpha = 1,
                             .a = x,
                             .b = p->rows,
                             .c = out,
                             .lda = p->inputs,
                             .ldb = p->inputs,
                             .ldc = p->atoms};
    p->kernels->gemm(&call);
}

double plain_lipschitz(const struct plain *p, float *scratch)
{
    enum { ROUNDS = 40 };
    struct philox random = philox_stream(1, 0, 0);
    float *code = scratch, *signal = scratch + p->atoms;
    double norm = 1;
    for (int j = 0; j < p->atoms; j++)
        code[j] = (float)philox_normal(&random, (uint64_t)j);
    for (int round = 0; round < ROUNDS; round++) {
        double square = 0;
        for (int j = 0; j < p->atoms; j++)
            square += (double)code[j] * (double)code[j];
        p->kernels->scale((size_t)p->atoms, (float)(1 / sqrt(square)), code);
        synthesise(p, code, 1, signal);
        analyse(p, signal, 1, code);
        norm = 0;
        for (int j = 0; j < p->atoms; j++)
            norm += (double)code[j] * (double)code[j];
        norm = sqrt(norm);
        if (!(norm > 0))
            return 1;
    }
    return 1.05 * norm;
}

/* ---- FISTA --------------------------------------------------------------------------------------------------- */

size_t plain_fista_scratch(const struct plain *p)
{
    return PLAIN_ROWS * (2 * (size_t)p->atoms + (size_t)p->inputs);
}

void plain_fista(const struct plain *p, const float *x, int count, double penalty, int iterations, float *code,
                 float *scratch)
{
    size_t entries = (size_t)count * (size_t)p->atoms, values = (size_t)count * (size_t)p->inputs;
    float *point = scratch, *gradient = point + entries, *residual = gradient + entries;
    float step = (float)(1 / p->lipschitz), threshold = (float)(penalty / p->lipschitz);
    double t = 1;
    memset(code, 0, entries * sizeof *code);
    memset(point, 0, entries * sizeof *point);
    for (int round = 0; round < iterations; round++) {
        double next = 0.5 * (1 + sqrt(1 + 4 * t * t));
        float momentum = (float)((t - 1) / next);
        synthesise(p, point, count, residual);
        p->kernels->axpy(values, -1, x, residual);
        analyse(p, residual, count, gradient);
        for (size_t i = 0; i < entries; i++) {
            float moved = point[i] - step * gradient[i] - threshold;
            moved = moved > 0 ? moved : 0;
            point[i] = moved + momentum * (moved - code[i]);
            code[i] = moved;
        }
        t = next;
    }
}

/* ---- pursuit ------------------------------------------------------------------------------------------------- */

size_t plain_pursuit_scratch(const struct plain *p)
{
    return 3 * (size_t)p->atoms + (PLAIN_MOST_KEPT + 2) * (size_t)p->inputs;
}

/* Adds a row to the rows chosen so far, of whose span `basis` is an orthonormal basis. The new basis vector is the part
 * of the row outside this span. The residual loses its part along the new vector, and so stays the residual of the
 * least-squares fit to all chosen rows. False if the row is in the span. */
static bool extend(const struct plain *p, int row, int chosen, float *basis, float *residual)
{
    size_t d = (size_t)p->inputs;
    float *own = basis + (size_t)chosen * d;
    memcpy(own, p->rows + (size_t)row * d, d * sizeof *own);
    for (int pass = 0; pass < 2; pass++) /* in single precision one pass leaves the vectors not orthogonal enough */
        for (int i = 0; i < chosen; i++) {
            const float *other = basis + (size_t)i * d;
            p->kernels->axpy(d, -p->kernels->dot(d, own, other), other, own);
        }
    double norm = sqrt(p->kernels->sum_squares(d, own));
    if (norm < 1e-4)
        return false;
    p->kernels->scale(d, (float)(1 / norm), own);
    p->kernels->axpy(d, -p->kernels->dot(d, residual, own), own, residual);
    return true;
}

int plain_omp(const struct plain *p, const float *x, int keep, int32_t *index, float *scratch)
{
    float *products = scratch, *residual = scratch + 3 * (size_t)p->atoms, *basis = residual + p->inputs;
    memcpy(residual, x, (size_t)p->inputs * sizeof *x);
    int chosen = 0;
    while (chosen < keep) {
        int best = 0;
        analyse(p, residual, 1, products);
        for (int i = 0; i < chosen; i++)
            products[index[i]] = 0;
        for (int j = 1; j < p->atoms; j++)
            best = products[j] > products[best] ? j : best;
        if (!(products[best] > 1e-6f) || !extend(p, best, chosen, basis, residual))
            break;
        index[chosen++] = best;
    }
    return chosen;
}

/* Sets all entries of `code` to 0 except the `keep` largest positive ones; of equal entries, the first ones stay. index
 * receives the indices of the entries that stay, the largest entry first. Returns the number of these entries. */
static int threshold(float *code, int atoms, int keep, int32_t *index)
{
    int kept = 0;
    for (int j = 0; j < atoms; j++) {
        int at = kept;
        if (!(code[j] > 0) || (kept == keep && !(code[j] > code[index[keep - 1]]))) {
            code[j] = 0;
            continue;
        }
        if (kept < keep)
            kept++;
        else
            code[index[--at]] = 0;
        for (; at > 0 && code[j] > code[index[at - 1]]; at--)
            index[at] = index[at - 1];
        index[at] = j;
    }
    return kept;
}

int plain_iht(const struct plain *p, const float *x, int keep, int iterations, int32_t *index, float *scratch)
{
    float *code = scratch, *gradient = code + p->atoms, *residual = scratch + 3 * (size_t)p->atoms;
    int kept = 0;
    memset(code, 0, (size_t)p->atoms * sizeof *code);
    for (int round = 0; round < iterations; round++) {
        synthesise(p, code, 1, residual);
        p->kernels->axpy((size_t)p->inputs, -1, x, residual);
        analyse(p, residual, 1, gradient);
        p->kernels->axpy((size_t)p->atoms, -(float)(1 / p->lipschitz), gradient, code);
        kept = threshold(code, p->atoms, keep, index);
    }
    return kept;
}
