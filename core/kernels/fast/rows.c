/* Vector kernels on tables of rows: element-wise functions, sums, softmax, layer norm. */
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/math.h"

void FAST(bias_add)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x)
{
    for (int r = 0; r < rows; r++)
        FAST(add)((size_t)columns, bias, x + r * ld_x);
}

void FAST(bias_relu)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x)
{
    for (int r = 0; r < rows; r++) {
        float *row = x + r * ld_x;
        FOR_VECTORS(i, part, columns) STORE(row + i, v_relu(v_add(LOAD(row + i), LOAD(bias + i))));
    }
}

void FAST(relu_backward)(size_t count, const real *y, const real *dy, real *dx)
{
    FOR_VECTORS(i, part, count) STORE(dx + i, v_keep(v_gt(LOAD(y + i), v_zero()), LOAD(dy + i)));
}

/* Processes all rows for four registers of columns at a time. */
void FAST(column_sums)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums)
{
    int j = 0;
    for (; j + 4 * V <= columns; j += 4 * V) {
        vf acc[4];
        UNROLL for (int s = 0; s < 4; s++) acc[s] = v_load(sums + j + s * V);
        for (int r = 0; r < rows; r++)
            UNROLL for (int s = 0; s < 4; s++) acc[s] = v_add(acc[s], v_load(x + r * ld_x + j + s * V));
        UNROLL for (int s = 0; s < 4; s++) v_store(sums + j + s * V, acc[s]);
    }
    for (; j < columns; j += V) {
        int part = columns - j < V ? columns - j : V;
        vf acc = LOAD(sums + j);
        for (int r = 0; r < rows; r++)
            acc = v_add(acc, LOAD(x + r * ld_x + j));
        STORE(sums + j, acc);
    }
}

void FAST(add)(size_t count, const real *x, real *y)
{
    FOR_VECTORS(i, part, count) STORE(y + i, v_add(LOAD(y + i), LOAD(x + i)));
}

void FAST(scale)(size_t count, real factor, real *x)
{
    vf f = v_all(factor);
    FOR_VECTORS(i, part, count) STORE(x + i, v_mul(LOAD(x + i), f));
}

void FAST(axpy)(size_t count, real factor, const real *x, real *y)
{
    vf f = v_all(factor);
    FOR_VECTORS(i, part, count) STORE(y + i, v_fma(LOAD(x + i), f, LOAD(y + i)));
}

real FAST(dot)(size_t count, const real *x, const real *y)
{
    vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    size_t i = 0;
    for (; i + 4 * V <= count; i += 4 * V)
        UNROLL for (int s = 0; s < 4; s++) sum[s] = v_fma(v_load(x + i + s * V), v_load(y + i + s * V), sum[s]);
    for (; i < count; i += V) {
        int part = count - i < V ? (int)(count - i) : V;
        sum[0] = v_fma(LOAD(x + i), LOAD(y + i), sum[0]);
    }
    return v_sum(v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])));
}

enum { BANDED_STRIP = V_WIDE ? 2 : 1 };

/* Adds the terms of one pattern (struct banded_call in kernels.h). Each pair of draws has two sums: of the terms with
 * equal signs in both draws, and of the terms with opposite signs. Bit q of the pattern selects one of the two sums of
 * pair q. */
INLINE void banded_terms(const struct banded_call *c, int pattern, int at, vf sum[BANDED_PAIRS][2][BANDED_STRIP])
{
    for (int i = c->begin[pattern]; i < c->end[pattern]; i++) {
        const float *from = c->table + c->terms[i].offset + c->shift + at;
        vf t[BANDED_STRIP];
        UNROLL for (int s = 0; s < BANDED_STRIP; s++) t[s] = v_load(from + s * V);
        UNROLL for (int q = 0; q < BANDED_PAIRS; q++)
        {
            vf f = v_all(c->terms[i].factor[q]), *to = sum[q][pattern >> q & 1];
            UNROLL for (int s = 0; s < BANDED_STRIP; s++) to[s] = v_fma(t[s], f, to[s]);
        }
    }
}

/* Computes one or two registers of columns at a time. Their sums stay in registers while the terms of all patterns are
 * added. */
void FAST(banded_sum)(const struct banded_call *c)
{
    for (int at = 0; at < BANDED_WIDTH; at += BANDED_STRIP * V) {
        vf sum[BANDED_PAIRS][2][BANDED_STRIP];
        UNROLL for (int q = 0; q < BANDED_PAIRS; q++) UNROLL for (int s = 0; s < BANDED_STRIP; s++) sum[q][0][s] =
            sum[q][1][s] = v_zero();
        banded_terms(c, 0, at, sum), banded_terms(c, 1, at, sum), banded_terms(c, 2, at, sum),
            banded_terms(c, 3, at, sum);
        banded_terms(c, 4, at, sum), banded_terms(c, 5, at, sum), banded_terms(c, 6, at, sum),
            banded_terms(c, 7, at, sum);
        banded_terms(c, 8, at, sum), banded_terms(c, 9, at, sum), banded_terms(c, 10, at, sum),
            banded_terms(c, 11, at, sum);
        banded_terms(c, 12, at, sum), banded_terms(c, 13, at, sum), banded_terms(c, 14, at, sum),
            banded_terms(c, 15, at, sum);
        UNROLL for (int q = 0; q < BANDED_PAIRS; q++) UNROLL for (int s = 0; s < BANDED_STRIP; s++)
        {
            float *to = c->out + 2 * q * BANDED_WIDTH + at + s * V, *other = to + BANDED_WIDTH;
            v_store(to, v_add(v_load(to), v_add(sum[q][0][s], sum[q][1][s])));
            v_store(other, v_add(v_load(other), v_sub(sum[q][0][s], sum[q][1][s])));
        }
    }
}

void FAST(row_peaks)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks)
{
    for (int r = 0; r < rows; r++) {
        const float *row = x + r * ld_x;
        vf most = v_zero();
        FOR_VECTORS(i, part, columns) most = v_max(most, v_abs(LOAD(row + i)));
        float peak = v_most(most);
        peaks[r] = peak > peaks[r] ? peak : peaks[r];
    }
}

void FAST(add_periodic)(int rows, int columns, int first, int divisor, int period, const real *table, const real *x,
                        real *y)
{
    for (int r = 0; r < rows; r++) {
        const float *t = table + (ptrdiff_t)((first + r) / divisor % period) * columns;
        const float *from = x + (ptrdiff_t)r * columns;
        float *to = y + (ptrdiff_t)r * columns;
        FOR_VECTORS(i, part, columns) STORE(to + i, v_add(LOAD(from + i), LOAD(t + i)));
    }
}

static int softmax_length(const struct softmax_call *c, int row)
{
    int n = c->causal ? row + 1 + c->offset : c->columns;
    n = n < c->limit ? n : c->limit;
    n = n < c->columns ? n : c->columns;
    return n > 0 ? n : 0;
}

static void softmax_row(const float *x, float *y, int n, float scale)
{
    vf most = v_all(-__builtin_inff()), sum = v_zero(), s = v_all(scale);
    FOR_VECTORS(i, part, n)
    {
        vf v = v_mul(LOAD(x + i), s);
        v = part == V ? v : v_select(v_first((int)part), v, most);
        most = v_max(v, most);
    }
    vf top = v_all(v_most(most));
    FOR_VECTORS(i, part, n)
    {
        vf e = v_exp(v_sub(v_mul(LOAD(x + i), s), top));
        sum = v_add(sum, part == V ? e : v_keep(v_first((int)part), e));
        STORE(y + i, e);
    }
    vf inverse = v_all(1.0f / v_sum(sum));
    FOR_VECTORS(i, part, n) STORE(y + i, v_mul(LOAD(y + i), inverse));
}

void FAST(softmax_forward)(const struct softmax_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        float *y = c->y + r * c->ld_y;
        int n = softmax_length(c, r);
        if (n > 0)
            softmax_row(c->x + r * c->ld_x, y, n, c->scale);
        memset(y + n, 0, (size_t)(c->columns - n) * sizeof *y);
    }
}

void FAST(softmax_backward)(const struct softmax_call *c)
{
    vf scale = v_all(c->scale);
    for (int r = 0; r < c->rows; r++) {
        const float *y = c->y + r * c->ld_y, *dy = c->dy + r * c->ld_dy;
        float *dx = c->dx + r * c->ld_dx;
        int n = softmax_length(c, r);
        vf sum = v_zero();
        FOR_VECTORS(i, part, n) sum = v_fma(LOAD(y + i), LOAD(dy + i), sum);
        vf dot = v_all(v_sum(sum));
        FOR_VECTORS(i, part, n) STORE(dx + i, v_mul(v_mul(scale, LOAD(y + i)), v_sub(LOAD(dy + i), dot)));
        memset(dx + n, 0, (size_t)(c->columns - n) * sizeof *dx);
    }
}

void FAST(layer_norm_forward)(const struct layer_norm_call *c)
{
    float share = 1.0f / (float)c->columns;
    for (int r = 0; r < c->rows; r++) {
        const float *x = c->x + r * c->ld_x;
        float *y = c->y + r * c->ld_y;
        vf sum = v_zero(), squares = v_zero();
        FOR_VECTORS(i, part, c->columns) sum = v_add(sum, LOAD(x + i));
        vf mean = v_all(v_sum(sum) * share);
        FOR_VECTORS(i, part, c->columns)
        {
            vf d = v_sub(LOAD(x + i), mean);
            d = part == V ? d : v_keep(v_first((int)part), d);
            squares = v_fma(d, d, squares);
        }
        c->inv_std[r] = 1.0f / __builtin_sqrtf(v_sum(squares) * share + c->epsilon);
        v_store_part(c->mean + r, 1, mean);
        vf inv_std = v_all(c->inv_std[r]);
        FOR_VECTORS(i, part, c->columns)
        {
            vf xhat = v_mul(v_sub(LOAD(x + i), mean), inv_std);
            STORE(y + i, v_fma(xhat, LOAD(c->gamma + i), LOAD(c->beta + i)));
        }
    }
}

void FAST(layer_norm_backward)(const struct layer_norm_call *c)
{
    vf share = v_all(1.0f / (float)c->columns);
    for (int r = 0; r < c->rows; r++) {
        const float *x = c->x + r * c->ld_x, *dy = c->dy + r * c->ld_dy, *add = c->add ? c->add + r * c->ld_add : NULL;
        float *dx = c->dx + r * c->ld_dx;
        vf mean = v_all(c->mean[r]), inv_std = v_all(c->inv_std[r]), sum = v_zero(), dot = v_zero();
        FOR_VECTORS(i, part, c->columns)
        {
            vf d = LOAD(dy + i), xhat = v_mul(v_sub(LOAD(x + i), mean), inv_std), g = v_mul(d, LOAD(c->gamma + i));
            sum = v_add(sum, g);
            dot = v_fma(g, xhat, dot);
            STORE(c->dgamma + i, v_fma(d, xhat, LOAD(c->dgamma + i)));
            STORE(c->dbeta + i, v_add(d, LOAD(c->dbeta + i)));
        }
        sum = v_mul(v_all(v_sum(sum)), share);
        dot = v_mul(v_all(v_sum(dot)), share);
        FOR_VECTORS(i, part, c->columns)
        {
            vf xhat = v_mul(v_sub(LOAD(x + i), mean), inv_std);
            vf v = v_fma(LOAD(dy + i), LOAD(c->gamma + i), v_sub(v_zero(), v_fma(xhat, dot, sum)));
            v = v_mul(inv_std, v);
            STORE(dx + i, add ? v_add(v, LOAD(add + i)) : v);
        }
    }
}

void FAST(scatter_add)(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable)
{
    for (int r = 0; r < rows; r++)
        if (index[r] >= 0)
            FAST(add)((size_t)columns, dy + r * ld_dy, dtable + (ptrdiff_t)index[r] * columns);
}
