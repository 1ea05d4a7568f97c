/* Vector kernels that work element by element: nonlinearities, the LSTM cell, cross-entropy and Adam. */
#include <math.h>
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/math.h"

void FAST(vector_exp)(size_t count, const real *x, real *y)
{
    FOR_VECTORS(i, part, count) STORE(y + i, v_exp(LOAD(x + i)));
}

void FAST(vector_tanh)(size_t count, const real *x, real *y)
{
    FOR_VECTORS(i, part, count) STORE(y + i, v_tanh(LOAD(x + i)));
}

void FAST(vector_sigmoid)(size_t count, const real *x, real *y)
{
    FOR_VECTORS(i, part, count) STORE(y + i, v_sigmoid(LOAD(x + i)));
}

void FAST(lstm_forward)(const struct lstm_call *c)
{
    ptrdiff_t n = c->hidden;
    for (int r = 0; r < c->rows; r++) {
        float *g = c->gates + r * c->ld_gates, *h = c->h + r * c->ld_h, *cell = c->c + r * n;
        const float *before = c->c_prev ? c->c_prev + r * n : NULL;
        FOR_VECTORS(j, part, n)
        {
            vf i = v_sigmoid(LOAD(g + j)), f = v_sigmoid(LOAD(g + n + j));
            vf t = v_tanh(LOAD(g + 2 * n + j)), o = v_sigmoid(LOAD(g + 3 * n + j));
            vf now = v_mul(i, t);
            if (before)
                now = v_fma(f, LOAD(before + j), now);
            STORE(g + j, i);
            STORE(g + n + j, f);
            STORE(g + 2 * n + j, t);
            STORE(g + 3 * n + j, o);
            STORE(cell + j, now);
            STORE(h + j, v_mul(o, v_tanh(now)));
        }
    }
}

void FAST(lstm_backward)(const struct lstm_call *c)
{
    ptrdiff_t n = c->hidden;
    vf one = v_all(1.0f);
    for (int r = 0; r < c->rows; r++) {
        const float *g = c->gates + r * c->ld_gates, *dh = c->dh + r * c->ld_h, *cell = c->c + r * n;
        const float *before = c->c_prev ? c->c_prev + r * n : NULL;
        float *dc = c->dc + r * n, *dg = c->dgates + r * c->ld_dgates;
        FOR_VECTORS(j, part, n)
        {
            vf i = LOAD(g + j), f = LOAD(g + n + j), t = LOAD(g + 2 * n + j), o = LOAD(g + 3 * n + j);
            vf th = v_tanh(LOAD(cell + j)), d = LOAD(dh + j);
            vf carry = v_fma(v_mul(d, o), v_fnma(th, th, one), LOAD(dc + j));
            vf previous = before ? LOAD(before + j) : v_zero();
            STORE(dg + j, v_mul(v_mul(carry, t), v_mul(i, v_sub(one, i))));
            STORE(dg + n + j, v_mul(v_mul(carry, previous), v_mul(f, v_sub(one, f))));
            STORE(dg + 2 * n + j, v_mul(v_mul(carry, i), v_fnma(t, t, one)));
            STORE(dg + 3 * n + j, v_mul(v_mul(d, th), v_mul(o, v_sub(one, o))));
            STORE(dc + j, v_mul(carry, f));
        }
    }
}

/* Returns the largest of the n values of x. */
static float row_most(const float *x, int n)
{
    vf most = v_all(-__builtin_inff());
    FOR_VECTORS(i, part, n)
    {
        vf v = LOAD(x + i);
        most = v_max(part == V ? v : v_select(v_first((int)part), v, most), most);
    }
    return v_most(most);
}

static int row_best(const float *x, int n, float most)
{
    for (int j = 0; j < n; j++)
        if (x[j] == most)
            return j;
    return 0;
}

void FAST(cross_entropy)(const struct cross_entropy_call *c)
{
    for (int r = 0; r < c->rows; r++) {
        const float *x = c->logits + r * c->ld_logits;
        float *dx = c->dlogits ? c->dlogits + r * c->ld_dlogits : NULL, most = row_most(x, c->classes);
        int target = c->targets[r];
        if (c->best)
            c->best[r] = row_best(x, c->classes, most);
        c->loss[r] = 0;
        if (target < 0) {
            if (dx)
                memset(dx, 0, (size_t)c->classes * sizeof *dx);
            continue;
        }
        vf sum = v_zero(), top = v_all(most);
        FOR_VECTORS(i, part, c->classes)
        {
            vf e = v_exp(v_sub(LOAD(x + i), top));
            sum = v_add(sum, part == V ? e : v_keep(v_first((int)part), e));
        }
        float total = v_sum(sum);
        c->loss[r] = logf(total) + most - x[target];
        if (!dx)
            continue;
        vf factor = v_all(c->scale / total);
        FOR_VECTORS(i, part, c->classes) STORE(dx + i, v_mul(v_exp(v_sub(LOAD(x + i), top)), factor));
        dx[target] -= c->scale;
    }
}

void FAST(adam)(const struct adam_call *c)
{
    vf step = v_all((float)(c->rate / (1 - pow(c->beta1, (double)c->t))));
    vf root = v_all((float)sqrt(1 - pow(c->beta2, (double)c->t))), epsilon = v_all((float)c->epsilon);
    vf take1 = v_all((float)(1 - c->beta1)), take2 = v_all((float)(1 - c->beta2)), b2 = v_all((float)c->beta2);
    vf scale = v_all((float)c->gradient_scale);
    FOR_VECTORS(i, part, c->count)
    {
        vf g = v_mul(scale, LOAD(c->gradient + i)), m = LOAD(c->m + i), v = LOAD(c->v + i);
        m = v_fma(take1, v_sub(g, m), m);
        v = v_fma(v_mul(take2, g), g, v_mul(b2, v));
        STORE(c->m + i, m);
        STORE(c->v + i, v);
        vf move = v_div(m, v_add(v_div(v_sqrt(v), root), epsilon));
        STORE(c->weight + i, v_fnma(step, move, LOAD(c->weight + i)));
    }
}

/* Sums at most 64 registers in float, then adds to a double. */
double FAST(sum_squares)(size_t count, const real *x)
{
    double lanes[V] = {0}, total = 0;
    for (size_t from = 0; from < count; from += 64 * V) {
        size_t n = count - from < 64 * V ? count - from : 64 * V;
        vf sum = v_zero();
        FOR_VECTORS(i, part, n)
        {
            vf v = LOAD(x + from + i);
            sum = v_fma(v, v, sum);
        }
        v_add_double(lanes, sum);
    }
    for (int l = 0; l < V; l++)
        total += lanes[l];
    return total;
}

/* Uses that x - x is 0 if x is finite, and NaN otherwise. */
bool FAST(all_finite)(size_t count, const real *x)
{
    unsigned bad = 0;
    FOR_VECTORS(i, part, count)
    {
        vf v = LOAD(x + i);
        bad |= v_bits(v_ne(v_sub(v, v), v_zero()));
    }
    return bad == 0;
}
