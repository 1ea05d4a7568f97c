/* Matrix product of floats. Products that are too thin for packed panels go to OpenBLAS. */
#include <stddef.h>

#include "core/kernels/blas.h"
#include "core/kernels/fast/simd.h"

enum { DEEP = 1 };

INLINE vf lanes_across(const float *from, int part)
{
    return part == V ? v_load(from) : v_load_part(from, part);
}

INLINE vf lanes_along(const float *from, ptrdiff_t ld, int lines, int deep)
{
    return lines == V ? v_load(from) : v_load_part(from, lines);
}

INLINE vf lanes_fma(vf a, vf b, vf c)
{
    return v_fma(a, b, c);
}

#include "core/kernels/fast/panels.h"

void FAST(gemm)(const struct gemm_call *call)
{
    if (call->m < 4 || call->n < 8 || call->k < 4)
        blas_gemm(call);
    else
        product(call);
}
