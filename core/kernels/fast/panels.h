/* Matrix product by the method of Goto and van de Geijn (ACM TOMS 2008) and of BLIS: blocks of B and A are copied into
 * panels that the innermost loop reads in order, and a tile of C stays in registers during the loop over the inner
 * dimension.
 *
 * The tile is 14 rows x 2 registers of columns with AVX-512 (28 accumulators), 6 x 2 with AVX2. Rows are cut into
 * panels of equal size. If the lines of a panel are stored as rows, they are transposed in registers while they are
 * copied. The panels are on the stack (PANEL_BYTES).
 *
 * The including file decides what a 32-bit lane of a panel contains: one float (gemm.c) or two bf16 (gemm_bf16.c). It
 * defines before the include:
 *
 * - DEEP: steps of the inner dimension in a lane;
 * - vf lanes_across(from, part): V lanes from `part` (<= DEEP V) floats in order, zero behind them;
 * - vf lanes_along(from, ld, lines, deep): `lines` (<= V) lanes from `deep` (<= DEEP) stored rows;
 * - vf lanes_fma(a, b, c): c plus the products of the lanes.
 *
 * This file then defines product(call). */
#ifndef MOTIF_CORE_KERNELS_FAST_PANELS_H
#define MOTIF_CORE_KERNELS_FAST_PANELS_H

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/simd.h"

enum {
    MR = V_TILE(V_WIDE ? 14 : 6), /* rows of a tile */
    NR = 2 * V,                   /* columns of a tile */
    DEPTH = 256,                  /* maximum number of lanes along the inner dimension in a panel */
    ROWS = 18 * MR,               /* rows of A in a block: 256 KiB with AVX-512, fits the second-level cache */
    COLUMNS = 512,                /* columns of B in a block: 512 KiB */
    PANEL_BYTES = (ROWS + V + COLUMNS + NR) * DEPTH * 4
};

/* Transposes a square of V registers in place. */
#if V_WIDE
INLINE void transpose(vf r[16])
{
    vf t[16];
    UNROLL for (int i = 0; i < 16; i += 2)
    {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 16; i += 4)
    {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}
#else
INLINE void transpose(vf r[8])
{
    vf t[8];
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4)
    {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    UNROLL for (int i = 0; i < 8; i++) r[i] = t[i];
}
#endif

/* Transposes `lines` (<= V) stored rows of `from`, each of `count` numbers, into to[depth][step] lanes: lane i of each
 * store comes from row i. Each store writes V lanes; the next store overwrites those beyond `step`. */
static void pack_across(const float *from, ptrdiff_t ld, int lines, int count, float *to, ptrdiff_t step)
{
    for (int p = 0; p < count; p += DEEP * V) {
        vf r[V];
        int part = count - p < DEEP * V ? count - p : DEEP * V, depth = (part + DEEP - 1) / DEEP;
        for (int i = 0; i < V; i++)
            r[i] = i >= lines ? v_zero() : lanes_across(from + i * ld + p, part);
        transpose(r);
        if (depth == V)
            UNROLL for (int i = 0; i < V; i++) v_store(to + i * step, r[i]);
        else
            for (int i = 0; i < depth; i++)
                v_store(to + i * step, r[i]);
        to += V * step;
    }
}

/* Packs `lines` (<= V) numbers of each of `count` stored rows into to[depth][step] lanes. */
static void pack_along(const float *from, ptrdiff_t ld, int lines, int count, float *to, ptrdiff_t step)
{
    for (int p = 0; p < count; p += DEEP, to += step)
        v_store(to, lanes_along(from + p * ld, ld, lines, count - p));
}

/* Computes one tile: c[mr][columns] = alpha a b + beta c. mr and nv are constants after inlining. */
INLINE void tile(const int mr, const int nv, const struct gemm_call *call, int depth, const float *a, const float *b,
                 float *c, int columns, float beta)
{
    vf acc[MR * 2], alpha = v_all(call->alpha), keep = v_all(beta);
    UNROLL for (int i = 0; i < mr * nv; i++) acc[i] = v_zero();
    for (int p = 0; p < depth; p++, a += mr, b += nv * V) {
        vf w[2];
        UNROLL for (int g = 0; g < nv; g++) w[g] = v_load(b + g * V);
        UNROLL for (int i = 0; i < mr; i++)
        {
            vf x = v_all(a[i]);
            UNROLL for (int g = 0; g < nv; g++) acc[i * nv + g] = lanes_fma(x, w[g], acc[i * nv + g]);
        }
    }
    if (columns == nv * V) {
        UNROLL for (int i = 0; i < mr; i++)
        {
            UNROLL for (int g = 0; g < nv; g++)
            {
                float *at = c + i * call->ldc + g * V;
                vf v = v_mul(alpha, acc[i * nv + g]);
                v_store(at, beta == 0 ? v : v_fma(keep, v_load(at), v));
            }
        }
        return;
    }
    UNROLL for (int g = 0; g < nv; g++)
    {
        int part = columns - g * V < V ? columns - g * V : V;
        UNROLL for (int i = 0; i < mr; i++)
        {
            float *at = c + i * call->ldc + g * V;
            vf v = v_mul(alpha, acc[i * nv + g]);
            v_store_part(at, part, beta == 0 ? v : v_fma(keep, v_load_part(at, part), v));
        }
    }
}

#define TILE_OF(rows)                                                                                                  \
    case rows:                                                                                                         \
        if (nv == 2)                                                                                                   \
            tile(rows, 2, call, depth, a, b, c, columns, beta);                                                        \
        else                                                                                                           \
            tile(rows, 1, call, depth, a, b, c, columns, beta);                                                        \
        break;

static void any_tile(int mr, int nv, const struct gemm_call *call, int depth, const float *a, const float *b, float *c,
                     int columns, float beta)
{
    switch (mr) {
        TILE_OF(1)
        TILE_OF(2)
        TILE_OF(3)
        TILE_OF(4)
#ifndef MOTIF_SMALL_TILES
        TILE_OF(5)
        TILE_OF(6)
#endif
#if V_WIDE && !defined(MOTIF_SMALL_TILES)
        TILE_OF(7)
        TILE_OF(8)
        TILE_OF(9)
        TILE_OF(10)
        TILE_OF(11)
        TILE_OF(12)
        TILE_OF(13)
        TILE_OF(14)
#endif
    }
}

/* Packs panels of B: each [depth][NR], the last one [depth][V] if V columns are enough. */
static void pack_b(const struct gemm_call *call, int p, int count, int j, int columns, float *to)
{
    int depth = (count + DEEP - 1) / DEEP;
    for (int at = 0; at < columns; at += NR) {
        int width = columns - at > V ? NR : V;
        for (int g = 0; g < width; g += V) {
            int left = columns - at - g, lines = left < V ? left : V;
            if (call->transpose_b)
                pack_across(call->b + (ptrdiff_t)(j + at + g) * call->ldb + p, call->ldb, lines, count, to + g, width);
            else
                pack_along(call->b + (ptrdiff_t)p * call->ldb + j + at + g, call->ldb, lines, count, to + g, width);
        }
        to += (ptrdiff_t)depth * width;
    }
}

/* Packs panels of A: each [depth][rows of the panel]. */
static void pack_a(const struct gemm_call *call, int i, int rows, int panels, int p, int count, float *to)
{
    int depth = (count + DEEP - 1) / DEEP;
    for (int n = 0; n < panels; n++) {
        int mr = rows / panels + (n < rows % panels);
        if (call->transpose_a)
            pack_along(call->a + (ptrdiff_t)p * call->lda + i, call->lda, mr, count, to, mr);
        else
            pack_across(call->a + (ptrdiff_t)i * call->lda + p, call->lda, mr, count, to, mr);
        to += (ptrdiff_t)depth * mr;
        i += mr;
    }
}

/* The memory that is packed next: the code prefetches a few of its cache lines after each tile. */
struct ahead {
    const float *at;
    ptrdiff_t ld;
    int rows, columns, row, column;
};

static void look_ahead(struct ahead *next, int lines)
{
    for (; lines > 0 && next->row < next->rows; lines--) {
        __builtin_prefetch(next->at + next->row * next->ld + next->column, 0, 2);
        next->column += 16;
        if (next->column >= next->columns) {
            next->column = 0;
            next->row++;
        }
    }
}

/* Computes all tiles of one block of rows of A with the packed columns of B. */
static void block(const struct gemm_call *call, int i, int rows, int panels, int j, int columns, int depth,
                  const float *a, const float *b, float beta, struct ahead *next)
{
    enum { LINES = 16 }; /* number of cache lines to prefetch after a tile; about enough for a whole block of A */

    for (int at = 0; at < columns; at += NR) {
        int nv = columns - at > V ? 2 : 1, wide = columns - at < NR ? columns - at : NR, row = i;
        const float *panel = a;
        for (int n = 0; n < panels; n++) {
            int mr = rows / panels + (n < rows % panels);
            look_ahead(next, LINES);
            for (int r = 0; r < mr; r++)
                for (int g = 0; g < nv; g++)
                    __builtin_prefetch(call->c + (row + r) * call->ldc + j + at + g * V, 1, 3);
            any_tile(mr, nv, call, depth, panel, b, call->c + row * call->ldc + j + at, wide, beta);
            panel += (ptrdiff_t)depth * mr;
            row += mr;
        }
        b += (ptrdiff_t)depth * nv * V;
    }
}

static void product(const struct gemm_call *call)
{
    _Alignas(64) float packed[PANEL_BYTES / 4];
    float *a = packed, *b = packed + (ROWS + V) * DEPTH;
    int lanes = (call->k + DEEP - 1) / DEEP;
    int row_blocks = (call->m + ROWS - 1) / ROWS, depths = (lanes + DEPTH - 1) / DEPTH;
    for (int j = 0; j < call->n; j += COLUMNS) {
        int columns = call->n - j < COLUMNS ? call->n - j : COLUMNS;
        for (int d = 0, p = 0; d < depths; d++) {
            int depth = lanes / depths + (d < lanes % depths);
            int count = call->k - p < DEEP * depth ? call->k - p : DEEP * depth;
            float beta = p == 0 ? call->beta : 1.0f;
            pack_b(call, p, count, j, columns, b);
            for (int n = 0, i = 0; n < row_blocks; n++) {
                int rows = call->m / row_blocks + (n < call->m % row_blocks), panels = (rows + MR - 1) / MR;
                pack_a(call, i, rows, panels, p, count, a);
                i += rows;
                struct ahead next = {NULL, call->lda, 0, 0, 0, 0};
                if (n + 1 < row_blocks)
                    next = call->transpose_a
                               ? (struct ahead){call->a + (ptrdiff_t)p * call->lda + i, call->lda, count, rows, 0, 0}
                               : (struct ahead){call->a + (ptrdiff_t)i * call->lda + p, call->lda, rows, count, 0, 0};
                block(call, i - rows, rows, panels, j, columns, depth, a, b, beta, &next);
            }
            p += count;
        }
    }
}

#endif
