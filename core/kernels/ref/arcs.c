/* Reference kernels of arc_call: a linear function of two numbers, ReLU, and a linear head for each feature. */
#include "core/kernels/ref/ref.h"

static real arc_value(const struct arc_call *c, const struct arc_row *row, int i)
{
    return c->bias[i] + row->s[0] * c->p[0][i] + row->s[1] * c->p[1][i];
}

void ref_arc_forward(const struct arc_call *c)
{
    for (int r = 0; r < c->count; r++) {
        const struct arc_row *row = &c->rows[r];
        const real *v = c->heads + (ptrdiff_t)row->feature * c->width;
        real sum = 0;
        for (int i = 0; i < c->width; i++) {
            real x = arc_value(c, row, i);
            sum += v[i] * (x <= 0 ? 0 : x);
        }
        c->values[r] = sum;
    }
}

void ref_arc_backward(const struct arc_call *c)
{
    for (int r = 0; r < c->count; r++) {
        const struct arc_row *row = &c->rows[r];
        ptrdiff_t head = (ptrdiff_t)row->feature * c->width;
        real *pull = c->pulls + 2 * r;
        pull[0] = pull[1] = 0;
        for (int i = 0; i < c->width; i++) {
            real x = arc_value(c, row, i), d = x > 0 ? c->values[r] * c->heads[head + i] : 0;
            pull[0] += d * c->p[0][i];
            pull[1] += d * c->p[1][i];
            c->dbias[i] += d;
            c->dp[0][i] += row->s[0] * d;
            c->dp[1][i] += row->s[1] * d;
            if (c->dheads && x > 0)
                c->dheads[head + i] += c->values[r] * x;
        }
    }
}
