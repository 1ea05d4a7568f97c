/* Vector kernels for struct arc_call (kernels.h). For each row they compute a ReLU layer with the input bias + s[0]
 * p[0] + s[1] p[1], where s are two numbers of the row, and then a linear head. Several rows are processed together,
 * because all rows read the same vectors p and bias. */
#include "core/kernels/fast/fast.h"

enum { TOGETHER = 4 };

INLINE vf arc_value(vf bias, vf p0, vf p1, const struct arc_row *row)
{
    return v_fma(v_all(row->s[1]), p1, v_fma(v_all(row->s[0]), p0, bias));
}

INLINE void forward_rows(const int rows, const struct arc_call *c, int first)
{
    const struct arc_row *row = c->rows + first;
    const float *v[TOGETHER];
    vf sum[TOGETHER];
    UNROLL for (int r = 0; r < rows; r++)
    {
        v[r] = c->heads + (ptrdiff_t)row[r].feature * c->width;
        sum[r] = v_zero();
    }
    FOR_VECTORS(i, part, c->width)
    {
        vf bias = LOAD(c->bias + i), p0 = LOAD(c->p[0] + i), p1 = LOAD(c->p[1] + i);
        UNROLL for (int r = 0; r < rows; r++) sum[r] =
            v_fma(LOAD(v[r] + i), v_relu(arc_value(bias, p0, p1, &row[r])), sum[r]);
    }
    UNROLL for (int r = 0; r < rows; r++) c->values[first + r] = v_sum(sum[r]);
}

void FAST(arc_forward)(const struct arc_call *call)
{
    int r = 0;
    for (; r + TOGETHER <= call->count; r += TOGETHER)
        forward_rows(TOGETHER, call, r);
    for (; r < call->count; r++)
        forward_rows(1, call, r);
}

/* Computes the gradients of `rows` rows, from row `first` on. Rows of the same feature add to the same gradient, in the
 * order of the rows. */
INLINE void backward_rows(const int rows, const struct arc_call *c, int first)
{
    const struct arc_row *row = c->rows + first;
    ptrdiff_t head[TOGETHER];
    vf pull[TOGETHER][2];
    UNROLL for (int r = 0; r < rows; r++)
    {
        head[r] = (ptrdiff_t)row[r].feature * c->width;
        pull[r][0] = pull[r][1] = v_zero();
    }
    FOR_VECTORS(i, part, c->width)
    {
        vf bias = LOAD(c->bias + i), p0 = LOAD(c->p[0] + i), p1 = LOAD(c->p[1] + i);
        vf dbias = LOAD(c->dbias + i), d0 = LOAD(c->dp[0] + i), d1 = LOAD(c->dp[1] + i);
        UNROLL for (int r = 0; r < rows; r++)
        {
            vf x = v_relu(arc_value(bias, p0, p1, &row[r])), g = v_all(c->values[first + r]);
            vf d = v_keep(v_gt(x, v_zero()), v_mul(g, LOAD(c->heads + head[r] + i)));
            if (c->dheads)
                STORE(c->dheads + head[r] + i, v_fma(g, x, LOAD(c->dheads + head[r] + i)));
            dbias = v_add(dbias, d);
            d0 = v_fma(v_all(row[r].s[0]), d, d0);
            d1 = v_fma(v_all(row[r].s[1]), d, d1);
            pull[r][0] = v_fma(d, p0, pull[r][0]);
            pull[r][1] = v_fma(d, p1, pull[r][1]);
        }
        STORE(c->dbias + i, dbias);
        STORE(c->dp[0] + i, d0);
        STORE(c->dp[1] + i, d1);
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        c->pulls[2 * (first + r)] = v_sum(pull[r][0]);
        c->pulls[2 * (first + r) + 1] = v_sum(pull[r][1]);
    }
}

void FAST(arc_backward)(const struct arc_call *call)
{
    int r = 0;
    for (; r + TOGETHER <= call->count; r += TOGETHER)
        backward_rows(TOGETHER, call, r);
    for (; r < call->count; r++)
        backward_rows(1, call, r);
}
