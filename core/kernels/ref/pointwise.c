/* Reference kernels that work element by element: nonlinearities, the LSTM cell, dropout, cross-entropy and Adam. */
#include <math.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/kernels/ref/ref.h"

static real sigmoid(real x)
{
    return 1 / (1 + real_exp(-x));
}

void ref_vector_exp(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = real_exp(x[i]);
}

void ref_vector_tanh(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = real_tanh(x[i]);
}

void ref_vector_sigmoid(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = sigmoid(x[i]);
}

void ref_dropout(const struct dropout_call *c)
{
    struct philox stream = philox_stream(c->at.seed, c->at.stream, c->at.step);
    double bound = c->p * 4294967296.0;
    real keep = (real)(1 / (1 - c->p));
    uint32_t words[4] = {0};
    for (size_t i = 0; i < c->count; i++) {
        if (c->p > 0 && i % 4 == 0)
            philox_fill_u32(&stream, c->at.index + i, words, 4);
        real factor = c->p > 0 ? (words[i % 4] < bound ? 0 : keep) : 1, v = factor > 0 ? c->x[i] * factor : 0;
        c->y[i] = c->add ? c->add[i] + v : v;
        if (c->y2)
            c->y2[i] = factor > 0 ? c->x2[i] * factor : 0;
    }
}

void ref_lstm_forward(const struct lstm_call *c)
{
    int n = c->hidden;
    for (int r = 0; r < c->rows; r++) {
        real *g = c->gates + r * c->ld_gates;
        for (int j = 0; j < n; j++) {
            real i = sigmoid(g[j]), f = sigmoid(g[n + j]), t = real_tanh(g[2 * n + j]), o = sigmoid(g[3 * n + j]);
            real cell = i * t + (c->c_prev ? f * c->c_prev[(ptrdiff_t)r * n + j] : 0);
            g[j] = i;
            g[n + j] = f;
            g[2 * n + j] = t;
            g[3 * n + j] = o;
            c->c[(ptrdiff_t)r * n + j] = cell;
            c->h[r * c->ld_h + j] = o * real_tanh(cell);
        }
    }
}

void ref_lstm_backward(const struct lstm_call *c)
{
    int n = c->hidden;
    for (int r = 0; r < c->rows; r++) {
        const real *g = c->gates + r * c->ld_gates;
        real *dg = c->dgates + r * c->ld_dgates;
        for (int j = 0; j < n; j++) {
            ptrdiff_t at = (ptrdiff_t)r * n + j;
            real i = g[j], f = g[n + j], t = g[2 * n + j], o = g[3 * n + j], th = real_tanh(c->c[at]);
            real dh = c->dh[r * c->ld_h + j], dc = c->dc[at] + dh * o * (1 - th * th);
            dg[j] = dc * t * i * (1 - i);
            dg[n + j] = c->c_prev ? dc * c->c_prev[at] * f * (1 - f) : 0;
            dg[2 * n + j] = dc * i * (1 - t * t);
            dg[3 * n + j] = dh * th * o * (1 - o);
            c->dc[at] = dc * f;
        }
    }
}

void ref_cross_entropy(const struct cross_entropy_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const real *x = c->logits + r * c->ld_logits;
        real *dx = c->dlogits ? c->dlogits + r * c->ld_dlogits : NULL, sum = 0;
        int target = c->targets[r], best = 0;
        for (int j = 1; j < c->classes; j++)
            best = x[j] > x[best] ? j : best;
        if (c->best)
            c->best[r] = best;
        c->loss[r] = 0;
        if (target < 0) {
            if (dx)
                memset(dx, 0, (size_t)c->classes * sizeof *dx);
            continue;
        }
        real most = x[best];
        for (int j = 0; j < c->classes; j++)
            sum += real_exp(x[j] - most);
        c->loss[r] = real_log(sum) + most - x[target];
        for (int j = 0; dx && j < c->classes; j++)
            dx[j] = c->scale * (real_exp(x[j] - most) / sum - (real)(j == target));
    }
}

void ref_adam(const struct adam_call *c)
{
    real step = (real)(c->rate / (1 - pow(c->beta1, (double)c->t)));
    real root = (real)sqrt(1 - pow(c->beta2, (double)c->t)), epsilon = (real)c->epsilon, b2 = (real)c->beta2;
    real take1 = (real)(1 - c->beta1), take2 = (real)(1 - c->beta2), scale = (real)c->gradient_scale;
    for (size_t i = 0; i < c->count; i++) {
        real g = scale * c->gradient[i];
        c->m[i] += take1 * (g - c->m[i]);
        c->v[i] = b2 * c->v[i] + take2 * g * g;
        c->weight[i] -= step * c->m[i] / (real_sqrt(c->v[i]) / root + epsilon);
    }
}

double ref_sum_squares(size_t count, const real *x)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

bool ref_all_finite(size_t count, const real *x)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}
