/* Reference kernels on tables of rows: matrix products, sums, element-wise functions, softmax, layer norm. */
#include <math.h>
#include <string.h>

#include "core/kernels/ref/ref.h"

void ref_gemm(const struct gemm_call *c)
{
    ptrdiff_t a_row = c->transpose_a ? 1 : c->lda, a_col = c->transpose_a ? c->lda : 1;
    ptrdiff_t b_row = c->transpose_b ? 1 : c->ldb, b_col = c->transpose_b ? c->ldb : 1;
    for (int i = 0; i < c->m; i++) {
        for (int j = 0; j < c->n; j++) {
            real sum = 0, *out = c->c + i * c->ldc + j;
            for (int p = 0; p < c->k; p++)
                sum += c->a[i * a_row + p * a_col] * c->b[p * b_row + j * b_col];
            *out = c->beta == 0 ? c->alpha * sum : c->alpha * sum + c->beta * *out;
        }
    }
}

static real bf16(real value)
{
    float rounded = (float)value;
    uint32_t bits;
    if (value != value)
        return value;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&rounded, &bits, sizeof bits);
    return (real)rounded;
}

void ref_gemm_bf16(const struct gemm_call *c)
{
    ptrdiff_t a_row = c->transpose_a ? 1 : c->lda, a_col = c->transpose_a ? c->lda : 1;
    ptrdiff_t b_row = c->transpose_b ? 1 : c->ldb, b_col = c->transpose_b ? c->ldb : 1;
    for (int i = 0; i < c->m; i++) {
        for (int j = 0; j < c->n; j++) {
            real sum = 0, *out = c->c + i * c->ldc + j;
            for (int p = 0; p < c->k; p++)
                sum += bf16(c->a[i * a_row + p * a_col]) * bf16(c->b[p * b_row + j * b_col]);
            *out = c->beta == 0 ? c->alpha * sum : c->alpha * sum + c->beta * *out;
        }
    }
}

void ref_bias_add(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x)
{
    for (int r = 0; r < rows; r++)
        ref_add((size_t)columns, bias, x + r * ld_x);
}

void ref_bias_relu(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x)
{
    for (int r = 0; r < rows; r++) {
        for (int j = 0; j < columns; j++) {
            real v = x[r * ld_x + j] + bias[j];
            x[r * ld_x + j] = v <= 0 ? 0 : v;
        }
    }
}

void ref_relu_backward(size_t count, const real *y, const real *dy, real *dx)
{
    for (size_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

void ref_column_sums(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums)
{
    for (int r = 0; r < rows; r++)
        ref_add((size_t)columns, x + r * ld_x, sums);
}

void ref_add(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

void ref_scale(size_t count, real factor, real *x)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
}

void ref_axpy(size_t count, real factor, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

real ref_dot(size_t count, const real *x, const real *y)
{
    real sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

void ref_banded_sum(const struct banded_call *c)
{
    for (int p = 0; p < BANDED_PATTERNS; p++)
        for (int i = c->begin[p]; i < c->end[p]; i++)
            for (int q = 0; q < BANDED_PAIRS; q++) {
                const real *row = c->table + c->terms[i].offset + c->shift;
                real f = c->terms[i].factor[q];
                ref_axpy(BANDED_WIDTH, f, row, c->out + 2 * q * BANDED_WIDTH);
                ref_axpy(BANDED_WIDTH, p >> q & 1 ? -f : f, row, c->out + (2 * q + 1) * BANDED_WIDTH);
            }
}

void ref_row_peaks(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            real magnitude = x[r * ld_x + c] < 0 ? -x[r * ld_x + c] : x[r * ld_x + c];
            peaks[r] = magnitude > peaks[r] ? magnitude : peaks[r];
        }
}

void ref_add_periodic(int rows, int columns, int first, int divisor, int period, const real *table, const real *x,
                      real *y)
{
    for (int r = 0; r < rows; r++) {
        const real *t = table + (ptrdiff_t)((first + r) / divisor % period) * columns;
        for (int j = 0; j < columns; j++)
            y[(ptrdiff_t)r * columns + j] = x[(ptrdiff_t)r * columns + j] + t[j];
    }
}

static int softmax_length(const struct softmax_call *c, int row)
{
    int n = c->causal ? row + 1 + c->offset : c->columns;
    n = n < c->limit ? n : c->limit;
    n = n < c->columns ? n : c->columns;
    return n > 0 ? n : 0;
}

void ref_softmax_forward(const struct softmax_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const real *x = c->x + r * c->ld_x;
        real *y = c->y + r * c->ld_y, most = -INFINITY, sum = 0;
        int n = softmax_length(c, r);
        for (int j = 0; j < n; j++)
            most = x[j] * c->scale > most ? x[j] * c->scale : most;
        for (int j = 0; j < n; j++)
            sum += y[j] = real_exp(x[j] * c->scale - most);
        for (int j = 0; j < n; j++)
            y[j] /= sum;
        for (int j = n; j < c->columns; j++)
            y[j] = 0;
    }
}

void ref_softmax_backward(const struct softmax_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const real *y = c->y + r * c->ld_y, *dy = c->dy + r * c->ld_dy;
        real *dx = c->dx + r * c->ld_dx, dot = 0;
        int n = softmax_length(c, r);
        for (int j = 0; j < n; j++)
            dot += y[j] * dy[j];
        for (int j = 0; j < n; j++)
            dx[j] = c->scale * y[j] * (dy[j] - dot);
        for (int j = n; j < c->columns; j++)
            dx[j] = 0;
    }
}

void ref_layer_norm_forward(const struct layer_norm_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const real *x = c->x + r * c->ld_x;
        real *y = c->y + r * c->ld_y, sum = 0, squares = 0;
        for (int j = 0; j < c->columns; j++)
            sum += x[j];
        real mean = sum / (real)c->columns;
        for (int j = 0; j < c->columns; j++)
            squares += (x[j] - mean) * (x[j] - mean);
        real inv_std = 1 / real_sqrt(squares / (real)c->columns + c->epsilon);
        for (int j = 0; j < c->columns; j++)
            y[j] = (x[j] - mean) * inv_std * c->gamma[j] + c->beta[j];
        c->mean[r] = mean;
        c->inv_std[r] = inv_std;
    }
}

void ref_layer_norm_backward(const struct layer_norm_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const real *x = c->x + r * c->ld_x, *dy = c->dy + r * c->ld_dy, *add = c->add ? c->add + r * c->ld_add : NULL;
        real *dx = c->dx + r * c->ld_dx, mean = c->mean[r], inv_std = c->inv_std[r], sum = 0, dot = 0;
        for (int j = 0; j < c->columns; j++) {
            real xhat = (x[j] - mean) * inv_std, g = dy[j] * c->gamma[j];
            sum += g;
            dot += g * xhat;
            c->dgamma[j] += dy[j] * xhat;
            c->dbeta[j] += dy[j];
        }
        sum /= (real)c->columns;
        dot /= (real)c->columns;
        for (int j = 0; j < c->columns; j++) {
            real xhat = (x[j] - mean) * inv_std, v = inv_std * (dy[j] * c->gamma[j] - sum - xhat * dot);
            dx[j] = add ? v + add[j] : v;
        }
    }
}

void ref_gather(int rows, int columns, const int32_t *index, const real *table, real *y, ptrdiff_t ld_y)
{
    for (int r = 0; r < rows; r++)
        if (index[r] < 0)
            memset(y + r * ld_y, 0, (size_t)columns * sizeof *y);
        else
            memcpy(y + r * ld_y, table + (ptrdiff_t)index[r] * columns, (size_t)columns * sizeof *y);
}

void ref_scatter_add(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable)
{
    for (int r = 0; r < rows; r++)
        if (index[r] >= 0)
            ref_add((size_t)columns, dy + r * ld_dy, dtable + (ptrdiff_t)index[r] * columns);
}
