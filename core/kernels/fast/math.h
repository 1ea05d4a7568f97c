/* exp, tanh and the logistic function of a register, accurate to about 2 units in the last place.
 *
 * exp: x = n ln 2 + r, with |r| <= 0.35 and ln 2 as the sum of two floats. The result is 2^n times a polynomial of
 * degree 6 in r (Taylor's coefficients; the truncation error is below 1e-8). tanh: 1 - 2 / (e^2x + 1), but near 0,
 * where this difference would lose digits, an odd polynomial. */
#ifndef MOTIF_CORE_KERNELS_FAST_MATH_H
#define MOTIF_CORE_KERNELS_FAST_MATH_H

#include "core/kernels/fast/simd.h"

INLINE vf v_exp(vf x)
{
    vf top = v_all(88.7228391f), bottom = v_all(-87.3365447f);
    vm over = v_gt(x, top), under = v_lt(x, bottom);
    vf in = v_max(bottom, v_min(top, x)); /* v_max() and v_min() return their second operand if an operand is NaN, so
                                           * a NaN stays a NaN */
    vf n = v_round(v_mul(in, v_all(1.44269504f)));
    vf r = v_fnma(n, v_all(0.693359375f), in);
    r = v_fnma(n, v_all(-2.12194440e-4f), r);
    vf p = v_all(1.0f / 5040.0f);
    p = v_fma(p, r, v_all(1.0f / 720.0f));
    p = v_fma(p, r, v_all(1.0f / 120.0f));
    p = v_fma(p, r, v_all(1.0f / 24.0f));
    p = v_fma(p, r, v_all(1.0f / 6.0f));
    p = v_fma(p, r, v_all(0.5f));
    p = v_add(v_fma(v_mul(r, r), p, r), v_all(1.0f));
    p = v_scale2(p, n);
    p = v_select(over, v_all(__builtin_inff()), p);
    return v_select(under, v_zero(), p);
}

INLINE vf v_sigmoid(vf x)
{
    return v_div(v_all(1.0f), v_add(v_all(1.0f), v_exp(v_sub(v_zero(), x))));
}

INLINE vf v_tanh(vf x)
{
    vf magnitude = v_abs(x), square = v_mul(x, x);
    vf large = v_sub(v_all(1.0f), v_div(v_all(2.0f), v_add(v_exp(v_add(magnitude, magnitude)), v_all(1.0f))));
    /* tanh x = x + x^3 q(x^2) for |x| < 0.625; q is a Chebyshev fit */
    vf q = v_all(-5.70498872745e-3f);
    q = v_fma(q, square, v_all(2.06390887954e-2f));
    q = v_fma(q, square, v_all(-5.37397155531e-2f));
    q = v_fma(q, square, v_all(1.33314422036e-1f));
    q = v_fma(q, square, v_all(-3.33332819422e-1f));
    vf small = v_fma(v_mul(q, square), x, x);
    return v_select(v_lt(magnitude, v_all(0.625f)), small, v_copysign(large, x));
}

#endif
