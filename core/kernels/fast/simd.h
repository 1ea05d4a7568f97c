/* One set of vector types and functions for AVX-512 and for AVX2 with FMA.
 *
 * The files of this folder are compiled once for each instruction set (flags in core/meson.build), and the name of
 * every function begins with the set: FAST(conv_forward) is avx512_conv_forward or avx2_conv_forward. This header and
 * the few uses of V_WIDE contain all differences: the number of floats in a register (V) and the number of registers.
 *
 * The program may call these functions only if the processor has the instruction set (cpu.c). The files must not
 * include headers with inline functions, because the linker might use their vector version in the rest of the program.
 */
#ifndef MOTIF_CORE_KERNELS_FAST_SIMD_H
#define MOTIF_CORE_KERNELS_FAST_SIMD_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __AVX512BF16__
#define V_WIDE 1
#define FAST(name) avx512bf16_##name
#elif defined(__AVX512F__)
#define V_WIDE 1
#define FAST(name) avx512_##name
#else
#define V_WIDE 0
#define FAST(name) avx2_##name
#endif

#define INLINE static inline __attribute__((always_inline))
#ifdef MOTIF_SMALL_TILES
#define V_TILE(full) ((full) > 4 ? 4 : (full)) /* smaller tiles for instrumented builds (core/meson.build) */
#define UNROLL
#elif defined(__clang__)
#define V_TILE(full) (full)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define V_TILE(full) (full)
#define UNROLL _Pragma("GCC unroll 32")
#endif

#if V_WIDE

enum { V = 16 };
typedef __m512 vf;    /* a register of V floats */
typedef __m512i vi;   /* a register of V 32-bit integers */
typedef __mmask16 vm; /* V truth values, one for each lane */

INLINE vf v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void v_store(float *p, vf v)
{
    _mm512_storeu_ps(p, v);
}
INLINE vm v_first(int n)
{
    return (vm)(n >= V ? 0xffff : (1u << n) - 1);
}
INLINE vf v_load_part(const float *p, int n)
{
    return _mm512_maskz_loadu_ps(v_first(n), p);
}
INLINE void v_store_part(float *p, int n, vf v)
{
    _mm512_mask_storeu_ps(p, v_first(n), v);
}
INLINE vf v_all(float x)
{
    return _mm512_set1_ps(x);
}
INLINE vf v_zero(void)
{
    return _mm512_setzero_ps();
}
INLINE vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
INLINE vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
INLINE vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
INLINE vf v_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
INLINE vf v_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
}
INLINE vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
} /* if an operand of v_max() or v_min() is NaN, the result is the second one, b */
INLINE vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
} /* computes a b + c */
INLINE vf v_fnma(vf a, vf b, vf c)
{
    return _mm512_fnmadd_ps(a, b, c);
} /* computes c - a b */
INLINE vf v_round(vf a)
{
    return _mm512_roundscale_ps(a, 8);
} /* rounds to the nearest integer; ties go to the even one */
INLINE vm v_gt(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
INLINE vm v_lt(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
INLINE vm v_le(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
INLINE vm v_ne(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}
INLINE vf v_select(vm m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
INLINE vf v_keep(vm m, vf v)
{
    return _mm512_maskz_mov_ps(m, v);
} /* returns v where m is set, else 0 */
INLINE unsigned v_bits(vm m)
{
    return m;
}
INLINE vm v_mask(unsigned bits)
{
    return (vm)bits;
}
INLINE vf v_abs(vf a)
{
    return _mm512_abs_ps(a);
}
INLINE vf v_copysign(vf magnitude, vf sign)
{
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(magnitude), _mm512_castps_si512(sign),
                                                         _mm512_set1_epi32((int)0x80000000u), 0xd8));
}
INLINE vf v_scale2(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
} /* computes a 2^n for integral n */
INLINE vi vi_all(int x)
{
    return _mm512_set1_epi32(x);
}
INLINE vi vi_zero(void)
{
    return _mm512_setzero_si512();
}
INLINE vi vi_select(vm m, vi yes, vi no)
{
    return _mm512_mask_blend_epi32(m, no, yes);
}
INLINE vi vi_count(vi n, vm m)
{
    return _mm512_mask_add_epi32(n, m, n, _mm512_set1_epi32(1));
}
INLINE void vi_store(int32_t *p, vi v)
{
    _mm512_storeu_si512(p, v);
}
INLINE vi vi_load_u16(const uint16_t *p, int n)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(v_first(n), p));
}
INLINE void vi_store_u16(uint16_t *p, int n, vi v)
{
    _mm256_mask_storeu_epi16(p, v_first(n), _mm512_cvtepi32_epi16(v));
}

/* For blocks of which 8 channels are in use, two pixels or two input channels share a register.
 *
 * v_pair() repeats two floats in all pairs of lanes; v_twice() loads 8 floats, each into both lanes of its pair.
 * v_fold() adds the lanes of each pair: the 8 sums of a, then those of b. v_interleave() pairs the first 8 lanes: a0,
 * b0, a1, ... v_halves() loads 8 floats into each half of a register; v_halves_part() loads zeros into a half that the
 * mask leaves out. v_low() and v_high() return one half, followed by zeros. */
INLINE vf v_pair(const float *p)
{
    double both;
    __builtin_memcpy(&both, p, sizeof both);
    return _mm512_castpd_ps(_mm512_set1_pd(both));
}
INLINE vf v_twice(const float *p)
{
    __m512i each = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(each, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
}
INLINE vf v_evens(vf a, vf b)
{
    __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}
INLINE vf v_odds(vf a, vf b)
{
    __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}
INLINE vf v_fold(vf a, vf b)
{
    return v_add(v_evens(a, b), v_odds(a, b));
}
INLINE vf v_interleave(vf a, vf b)
{
    __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(a, order, b);
}
INLINE vm v_halves_mask(bool low, bool high)
{
    return (vm)((low ? 0xff : 0) | (high ? 0xff00 : 0));
}
INLINE vf v_halves(const float *low, const float *high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}
INLINE vf v_halves_part(const float *low, const float *high, vm mask)
{
    return _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps((vm)(mask & 0xff), low), (vm)(mask & 0xff00), high - 8);
}
INLINE vf v_low(vf a)
{
    return _mm512_maskz_mov_ps(0xff, a);
}
INLINE vf v_high(vf a)
{
    return _mm512_maskz_shuffle_f32x4(0xff, a, a, 0x4e);
}

/* Sums the lanes in a fixed order. */
INLINE float v_sum(vf v)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
INLINE float v_most(vf v)
{
    return _mm512_reduce_max_ps(v);
}

/* Adds the lanes of v to acc[0..V), in double. */
INLINE void v_add_double(double *acc, vf v)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v)), high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    _mm512_storeu_pd(acc, _mm512_add_pd(_mm512_loadu_pd(acc), low));
    _mm512_storeu_pd(acc + 8, _mm512_add_pd(_mm512_loadu_pd(acc + 8), high));
}

#else

enum { V = 8 };
typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

INLINE vf v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void v_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v);
}
INLINE __m256i v_first_int(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vm v_first(int n)
{
    return _mm256_castsi256_ps(v_first_int(n));
}
INLINE vf v_load_part(const float *p, int n)
{
    return _mm256_maskload_ps(p, v_first_int(n));
}
INLINE void v_store_part(float *p, int n, vf v)
{
    _mm256_maskstore_ps(p, v_first_int(n), v);
}
INLINE vf v_all(float x)
{
    return _mm256_set1_ps(x);
}
INLINE vf v_zero(void)
{
    return _mm256_setzero_ps();
}
INLINE vf v_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
INLINE vf v_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
INLINE vf v_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
INLINE vf v_div(vf a, vf b)
{
    return _mm256_div_ps(a, b);
}
INLINE vf v_sqrt(vf a)
{
    return _mm256_sqrt_ps(a);
}
INLINE vf v_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
INLINE vf v_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
/* For valgrind, which emulates fused multiply-add a thousand times slower. This version rounds the product and the
 * sum. */
#ifdef MOTIF_NO_FMA
INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm256_add_ps(_mm256_mul_ps(a, b), c);
}
INLINE vf v_fnma(vf a, vf b, vf c)
{
    return _mm256_sub_ps(c, _mm256_mul_ps(a, b));
}
#else
INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vf v_fnma(vf a, vf b, vf c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
#endif
INLINE vf v_round(vf a)
{
    return _mm256_round_ps(a, 8);
}
INLINE vm v_gt(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
INLINE vm v_lt(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
INLINE vm v_le(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
INLINE vm v_ne(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}
INLINE vf v_select(vm m, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, m);
}
INLINE vf v_keep(vm m, vf v)
{
    return _mm256_and_ps(m, v);
}
INLINE unsigned v_bits(vm m)
{
    return (unsigned)_mm256_movemask_ps(m);
}
INLINE vm v_mask(unsigned bits)
{
    __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lanes), lanes));
}
INLINE vf v_abs(vf a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
INLINE vf v_copysign(vf magnitude, vf sign)
{
    __m256 bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}
/* Returns a 2^n for n in [-252, 252]. Multiplies in two steps, because 2^n itself may be outside of the range of a
 * float. */
INLINE vf v_scale2(vf a, vf n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
    __m256i bias = _mm256_set1_epi32(127);
    a = _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23)));
}
INLINE vi vi_all(int x)
{
    return _mm256_set1_epi32(x);
}
INLINE vi vi_zero(void)
{
    return _mm256_setzero_si256();
}
INLINE vi vi_select(vm m, vi yes, vi no)
{
    return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(m));
}
INLINE vi vi_count(vi n, vm m)
{
    return _mm256_sub_epi32(n, _mm256_castps_si256(m));
}
INLINE void vi_store(int32_t *p, vi v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}
INLINE vi vi_load_u16(const uint16_t *p, int n)
{
    int32_t wide[8] = {0};
    for (int i = 0; i < n && i < V; i++)
        wide[i] = p[i];
    return _mm256_loadu_si256((const __m256i *)(const void *)wide);
}
INLINE void vi_store_u16(uint16_t *p, int n, vi v)
{
    int32_t wide[8];
    vi_store(wide, v);
    for (int i = 0; i < n && i < V; i++)
        p[i] = (uint16_t)wide[i];
}

INLINE float v_sum(vf h)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
INLINE float v_most(vf h)
{
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_shuffle_ps(q, q, 1)));
}

INLINE void v_add_double(double *acc, vf v)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    _mm256_storeu_pd(acc, _mm256_add_pd(_mm256_loadu_pd(acc), low));
    _mm256_storeu_pd(acc + 4, _mm256_add_pd(_mm256_loadu_pd(acc + 4), high));
}

#endif

enum { PV = 16 / V }; /* number of registers for the 16 channels of one pixel in a block */

INLINE vf v_relu(vf a)
{
    return v_max(v_zero(), a);
} /* a NaN stays a NaN, because v_max() returns its second operand */

/* Runs BODY for at = 0, V, 2V, ... with `part` valid lanes; LOAD and STORE use masks in the last round only.
 * NOLINTBEGIN(bugprone-macro-parentheses): two arguments are names of variables */
#define FOR_VECTORS(at, part, count)                                                                                   \
    for (ptrdiff_t at = 0, part = V;                                                                                   \
         at < (ptrdiff_t)(count) && (part = (ptrdiff_t)(count)-at < V ? (ptrdiff_t)(count)-at : V);                    \
         at += V) /* NOLINTEND(bugprone-macro-parentheses) */
#define LOAD(p) (part == V ? v_load(p) : v_load_part(p, (int)part))
#define STORE(p, v)                                                                                                    \
    do {                                                                                                               \
        if (part == V)                                                                                                 \
            v_store(p, v);                                                                                             \
        else                                                                                                           \
            v_store_part(p, (int)part, v);                                                                             \
    } while (0)

#endif
