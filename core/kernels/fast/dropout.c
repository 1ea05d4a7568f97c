/* Dropout with the Philox words of core/base/random/philox.h, for a register of Philox blocks at a time. V is the
 * number of floats in a register.
 *
 * The lower half of a 64-bit lane contains one word of one block; the upper half is never read. The multiplication
 * reads the lower halves, and its 64-bit product contains the two words for the next round. A round therefore takes 2
 * products, 2 shifts and 4 exclusive-ors for V / 2 blocks. */
#include "core/base/random/philox.h"
#include "core/kernels/fast/fast.h"

enum { B = V / 2 }; /* Philox blocks in a register; they decide on 4 B = 2 V elements */

#if V_WIDE
typedef __m512i vl;
INLINE vl l_all(uint32_t x)
{
    return _mm512_set1_epi64((int64_t)(uint64_t)x);
}
INLINE vl l_product(vl a, vl b)
{
    return _mm512_mul_epu32(a, b);
}
INLINE vl l_high(vl a)
{
    return _mm512_srli_epi64(a, 32);
}
INLINE vl l_xor3(vl a, vl b, vl c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
INLINE vl l_count(uint64_t from)
{
    return _mm512_add_epi64(_mm512_set1_epi64((int64_t)from), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}
/* Returns a mask: bit b is set if the word of block b is at least `bound`. */
INLINE unsigned l_kept(vl word, uint32_t bound)
{
    __mmask16 at_least = _mm512_cmpge_epu32_mask(word, _mm512_set1_epi32((int)bound));
    return _pext_u32(at_least, 0x5555);
}
#else
typedef __m256i vl;
INLINE vl l_all(uint32_t x)
{
    return _mm256_set1_epi64x((int64_t)(uint64_t)x);
}
INLINE vl l_product(vl a, vl b)
{
    return _mm256_mul_epu32(a, b);
}
INLINE vl l_high(vl a)
{
    return _mm256_srli_epi64(a, 32);
}
INLINE vl l_xor(vl a, vl b)
{
    return _mm256_xor_si256(a, b);
}
INLINE vl l_xor3(vl a, vl b, vl c)
{
    return l_xor(l_xor(a, b), c);
}
INLINE vl l_count(uint64_t from)
{
    return _mm256_add_epi64(_mm256_set1_epi64x((int64_t)from), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE unsigned l_kept(vl word, uint32_t bound)
{
    __m256i at_least = _mm256_cmpeq_epi32(_mm256_max_epu32(word, _mm256_set1_epi32((int)bound)), word);
    return _pext_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(at_least)), 0x55);
}
#endif

/* Number of registers of Philox blocks that are computed side by side. If there were only one, each round would wait
 * for the multiplier. */
enum { SIDE = 2 };

/* Computes which elements dropout keeps, with SIDE registers. A register contains B Philox blocks, and each block
 * decides on 4 elements. So bits[s] has one bit for each of 4 B = 2 V elements: bit i is set if dropout keeps element
 * i, counted from the first element of block first + s B. */
INLINE void kept_bits(const struct philox *stream, uint64_t first, uint32_t bound, uint32_t bits[SIDE])
{
    vl c0[SIDE], c1[SIDE], c2[SIDE], c3[SIDE], m0 = l_all(0xD2511F53u), m1 = l_all(0xCD9E8D57u);
    uint32_t k0 = stream->key[0], k1 = stream->key[1];
    UNROLL for (int s = 0; s < SIDE; s++)
    {
        c0[s] = l_count(first + (uint64_t)(s * B));
        c1[s] = l_high(c0[s]);
        c2[s] = l_all(stream->step[0]);
        c3[s] = l_all(stream->step[1]);
    }
    UNROLL for (int round = 0; round < 10; round++)
    {
        UNROLL for (int s = 0; s < SIDE; s++)
        {
            vl p0 = l_product(c0[s], m0), p1 = l_product(c2[s], m1);
            c0[s] = l_xor3(l_high(p1), c1[s], l_all(k0));
            c2[s] = l_xor3(l_high(p0), c3[s], l_all(k1));
            c1[s] = p1;
            c3[s] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    UNROLL for (int s = 0; s < SIDE; s++) bits[s] =
        _pdep_u32(l_kept(c0[s], bound), 0x11111111u) | _pdep_u32(l_kept(c1[s], bound), 0x22222222u) |
        _pdep_u32(l_kept(c2[s], bound), 0x44444444u) | _pdep_u32(l_kept(c3[s], bound), 0x88888888u);
}

static void dropout_copy(const struct dropout_call *c)
{
    FOR_VECTORS(i, part, c->count)
    {
        vf v = LOAD(c->x + i);
        STORE(c->y + i, c->add ? v_add(LOAD(c->add + i), v) : v);
        if (c->y2)
            STORE(c->y2 + i, LOAD(c->x2 + i));
    }
}

void FAST(dropout)(const struct dropout_call *c)
{
    if (c->p <= 0) {
        dropout_copy(c);
        return;
    }
    struct philox stream = philox_stream(c->at.seed, c->at.stream, c->at.step);
    double edge = c->p * 4294967296.0;
    uint32_t bound = (uint32_t)edge + ((double)(uint32_t)edge < edge), bits[SIDE] = {0};
    vf keep = v_all((float)(1 / (1 - c->p)));
    FOR_VECTORS(i, part, c->count)
    {
        int at = (int)(i % (SIDE * 2 * V));
        if (at == 0)
            kept_bits(&stream, (c->at.index + (uint64_t)i) / 4, bound, bits);
        vm kept = v_mask(bits[at / (2 * V)] >> at % (2 * V));
        vf v = v_keep(kept, v_mul(LOAD(c->x + i), keep));
        STORE(c->y + i, c->add ? v_add(LOAD(c->add + i), v) : v);
        if (c->y2)
            STORE(c->y2 + i, v_keep(kept, v_mul(LOAD(c->x2 + i), keep)));
    }
}
