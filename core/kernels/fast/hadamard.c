/* Walsh-Hadamard transforms of length n have log2 n levels. The level of distance h replaces each pair of elements (a,
 * b) that are h apart by (a + b, a - b). The code computes two levels in one pass over the data, from four rows at a
 * time. Within a register, a level is a permutation, an addition and a subtraction. */
#include "core/kernels/fast/fast.h"

void FAST(multiply)(size_t count, const real *x, real *y)
{
    FOR_VECTORS(i, part, count) STORE(y + i, v_mul(LOAD(y + i), LOAD(x + i)));
}

/* Replaces the pairs (a, b), (c, d) and then (a, c), (b, d) by their sums and differences. */
#define FOUR(a, b, c, d)                                                                                               \
    do {                                                                                                               \
        vf ab = v_add(a, b), a_b = v_sub(a, b), cd = v_add(c, d), c_d = v_sub(c, d);                                   \
        (a) = v_add(ab, cd);                                                                                           \
        (b) = v_add(a_b, c_d);                                                                                         \
        (c) = v_sub(ab, cd);                                                                                           \
        (d) = v_sub(a_b, c_d);                                                                                         \
    } while (0)

INLINE void four_rows(int columns, float *p0, float *p1, float *p2, float *p3)
{
    FOR_VECTORS(i, part, columns)
    {
        vf a = LOAD(p0 + i), b = LOAD(p1 + i), c = LOAD(p2 + i), d = LOAD(p3 + i);
        FOUR(a, b, c, d);
        STORE(p0 + i, a);
        STORE(p1 + i, b);
        STORE(p2 + i, c);
        STORE(p3 + i, d);
    }
}

INLINE void two_rows(int columns, float *p0, float *p1)
{
    FOR_VECTORS(i, part, columns)
    {
        vf a = LOAD(p0 + i), b = LOAD(p1 + i);
        STORE(p0 + i, v_add(a, b));
        STORE(p1 + i, v_sub(a, b));
    }
}

/* Computes the levels of distance h, 2 h, 4 h, ... up to n / 2. */
INLINE void levels(int h, int n, int columns, float *x, ptrdiff_t ld)
{
    for (; 4 * h <= n; h *= 4)
        for (int i = 0; i < n; i += 4 * h)
            for (int j = i; j < i + h; j++)
                four_rows(columns, x + j * ld, x + (j + h) * ld, x + (j + 2 * h) * ld, x + (j + 3 * h) * ld);
    for (; 2 * h <= n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++)
                two_rows(columns, x + j * ld, x + (j + h) * ld);
}

void FAST(hadamard_columns)(int n, int columns, real *x, ptrdiff_t ld)
{
    levels(1, n, columns, x, ld);
}

/* The transform of the V floats of a register. */
INLINE vf within(vf x)
{
#if V_WIDE
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    UNROLL for (int h = 1; h < V; h *= 2)
    {
        __m512i distance = _mm512_set1_epi32(h);
        vf other = _mm512_permutexvar_ps(_mm512_xor_si512(lane, distance), x);
        x = _mm512_mask_sub_ps(_mm512_add_ps(other, x), _mm512_test_epi32_mask(lane, distance), other, x);
    }
#else
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    UNROLL for (int h = 1; h < V; h *= 2)
    {
        __m256i distance = _mm256_set1_epi32(h);
        vf other = _mm256_permutevar8x32_ps(x, _mm256_xor_si256(lane, distance));
        vf high = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(lane, distance), distance));
        x = v_select(high, v_sub(other, x), v_add(other, x));
    }
#endif
    return x;
}

/* Transforms a vector of n >= 4 V numbers as [n / V] rows of one register. The first pass also computes the levels
 * whose pairs are in one register. */
static void long_row(int n, float *x)
{
    for (int i = 0; i < n; i += 4 * V) {
        vf a = within(v_load(x + i)), b = within(v_load(x + i + V)), c = within(v_load(x + i + 2 * V)),
           d = within(v_load(x + i + 3 * V));
        FOUR(a, b, c, d);
        v_store(x + i, a);
        v_store(x + i + V, b);
        v_store(x + i + 2 * V, c);
        v_store(x + i + 3 * V, d);
    }
    for (int h = 4 * V; 2 * h <= n; h *= 4) {
        if (4 * h > n) { /* one level remains */
            two_rows(h, x, x + h);
            return;
        }
        for (int i = 0; i < n; i += 4 * h)
            four_rows(h, x + i, x + i + h, x + i + 2 * h, x + i + 3 * h);
    }
}

void FAST(hadamard_rows)(int rows, int n, real *x, ptrdiff_t ld)
{
    for (int r = 0; r < rows; r++) {
        float *row = x + r * ld;
        if (n >= 4 * V)
            long_row(n, row);
        else
            for (int h = 1; h < n; h *= 2)
                for (int i = 0; i < n; i++)
                    if (!(i & h)) {
                        float low = row[i], high = row[i + h];
                        row[i] = low + high;
                        row[i + h] = low - high;
                    }
    }
}
