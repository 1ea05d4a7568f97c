/* Matrix product of numbers rounded to bf16 (8 bits of precision, the range of float), summed in float.
 *
 * A lane contains two neighbours of the inner dimension, the first in its lower half, as the instruction vdpbf16ps
 * requires. This instruction does twice as many multiply-adds as a float instruction. For processors without it, the
 * code turns each half into a float (a bf16 is the upper half of a float) and multiplies floats. core/meson.build
 * compiles this file a second time with the instruction, and the code here selects the variant at run time. */
#include <stddef.h>

#include "core/kernels/fast/simd.h"

enum { DEEP = 2 };

#ifdef __AVX512BF16__

INLINE vf pair(vf low, vf high)
{
    const __m512i weave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(weave, (__m512i)_mm512_cvtne2ps_pbh(high, low)));
}

/* Packs 2 V numbers: the first V into the lower halves of the lanes, the others into the upper halves. */
INLINE vf neighbours(vf first, vf second)
{
    return _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(second, first));
}

INLINE vf lanes_fma(vf a, vf b, vf c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b));
}

#else
#if V_WIDE
INLINE vi bits(vf v)
{
    return _mm512_castps_si512(v);
}
INLINE vf floats(vi v)
{
    return _mm512_castsi512_ps(v);
}
INLINE vi bits_and(vi a, vi b)
{
    return _mm512_and_si512(a, b);
}
INLINE vi bits_or(vi a, vi b)
{
    return _mm512_or_si512(a, b);
}
INLINE vi bits_add(vi a, vi b)
{
    return _mm512_add_epi32(a, b);
}
INLINE vi bits_down(vi a)
{
    return _mm512_srli_epi32(a, 16);
}
INLINE vi bits_up(vi a)
{
    return _mm512_slli_epi32(a, 16);
}
INLINE vf evens(vf a, vf b)
{
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}
INLINE vf odds(vf a, vf b)
{
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}
#else
INLINE vi bits(vf v)
{
    return _mm256_castps_si256(v);
}
INLINE vf floats(vi v)
{
    return _mm256_castsi256_ps(v);
}
INLINE vi bits_and(vi a, vi b)
{
    return _mm256_and_si256(a, b);
}
INLINE vi bits_or(vi a, vi b)
{
    return _mm256_or_si256(a, b);
}
INLINE vi bits_add(vi a, vi b)
{
    return _mm256_add_epi32(a, b);
}
INLINE vi bits_down(vi a)
{
    return _mm256_srli_epi32(a, 16);
}
INLINE vi bits_up(vi a)
{
    return _mm256_slli_epi32(a, 16);
}
INLINE vf in_order(vf v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}
INLINE vf evens(vf a, vf b)
{
    return in_order(_mm256_shuffle_ps(a, b, 0x88));
}
INLINE vf odds(vf a, vf b)
{
    return in_order(_mm256_shuffle_ps(a, b, 0xdd));
}
#endif

enum { UPPER = -65536 }; /* the mask 0xffff0000 */

/* Rounds floats to bf16 (ties to even), which is then the upper half of each lane; a NaN stays a NaN. */
INLINE vi rounded(vf v)
{
    vi x = bits(v), odd = bits_and(bits_down(x), vi_all(1));
    vi near = bits_add(x, bits_add(vi_all(0x7fff), odd)), quiet = bits_or(x, vi_all(0x400000));
    return bits_and(vi_select(v_ne(v, v), quiet, near), vi_all(UPPER));
}

INLINE vf pair(vf low, vf high)
{
    return floats(bits_or(bits_down(rounded(low)), rounded(high)));
}

INLINE vf neighbours(vf first, vf second)
{
    return pair(evens(first, second), odds(first, second));
}

INLINE vf lanes_fma(vf a, vf b, vf c)
{
    c = v_fma(floats(bits_up(bits(a))), floats(bits_up(bits(b))), c);
    return v_fma(floats(bits_and(bits(a), vi_all(UPPER))), floats(bits_and(bits(b), vi_all(UPPER))), c);
}

#endif

INLINE vf some(const float *from, int n)
{
    return n >= V ? v_load(from) : n > 0 ? v_load_part(from, n) : v_zero();
}

INLINE vf lanes_across(const float *from, int part)
{
    return neighbours(some(from, part), some(from + V, part - V));
}

INLINE vf lanes_along(const float *from, ptrdiff_t ld, int lines, int deep)
{
    return pair(some(from, lines), deep > 1 ? some(from + ld, lines) : v_zero());
}

#include "core/kernels/fast/panels.h"

#ifdef __AVX512BF16__
void FAST(product)(const struct gemm_call *call)
{
    product(call);
}
#else
void FAST(gemm_bf16_apart)(const struct gemm_call *call)
{
    product(call);
}

void FAST(gemm_bf16)(const struct gemm_call *call)
{
#if V_WIDE
    if (__builtin_cpu_supports("avx512bf16"))
        avx512bf16_product(call);
    else
#endif
        product(call);
}
#endif
