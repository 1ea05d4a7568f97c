/* The matrix products in the middle of Winograd's convolutions, for any tile size. A transformed tile has `spots`
 * positions; each position is a separate matrix product. */
#ifndef MOTIF_CORE_KERNELS_FAST_WINOGRAD_H
#define MOTIF_CORE_KERNELS_FAST_WINOGRAD_H

#include "core/kernels/fast/simd.h"
#include "core/kernels/map.h"

/* The number of tiles whose accumulators are in registers together. */
enum { WINOGRAD_TILES = V_TILE(V_WIDE ? 14 : 6) };

/* to[n tiles][16 out] = from[blocks][n tiles][16 in] x weights[blocks][16 in][16 out]. n is a constant. */
INLINE void winograd_product(const int n, int blocks, const float *from, ptrdiff_t block, const float *weights,
                             float *to)
{
    vf acc[WINOGRAD_TILES * PV];
    UNROLL for (int a = 0; a < n * PV; a++) acc[a] = v_zero();
    for (int b = 0; b < blocks; b++, from += block) {
        for (int i = 0; i < MAP_LANES; i++, weights += MAP_LANES) {
            vf w[PV];
            UNROLL for (int g = 0; g < PV; g++) w[g] = v_load(weights + g * V);
            UNROLL for (int t = 0; t < n; t++)
            {
                vf x = v_all(from[t * MAP_LANES + i]);
                UNROLL for (int g = 0; g < PV; g++) acc[t * PV + g] = v_fma(x, w[g], acc[t * PV + g]);
            }
        }
    }
    UNROLL for (int a = 0; a < n * PV; a++) v_store(to + a * V, acc[a]);
}

#define WINOGRAD_PRODUCT(n)                                                                                            \
    case n:                                                                                                            \
        for (int s = 0; s < spots; s++)                                                                                \
            winograd_product(n, blocks, from + s * spot, block, weights + s * blocks * MAP_LANES * MAP_LANES,          \
                             to + s * WINOGRAD_TILES * MAP_LANES);                                                     \
        break;

/* For each spot, to = from x weights. from: [spots][blocks][n tiles][16], with steps of `spot` reals between spots
 * and of `block` reals between blocks. weights: [spots][blocks][16][16]. to: [spots][WINOGRAD_TILES][16]. */
INLINE void winograd_products(int spots, int n, int blocks, const float *from, ptrdiff_t spot, ptrdiff_t block,
                              const float *weights, float *to)
{
    switch (n) {
        WINOGRAD_PRODUCT(1)
        WINOGRAD_PRODUCT(2)
        WINOGRAD_PRODUCT(3)
        WINOGRAD_PRODUCT(4)
#ifndef MOTIF_SMALL_TILES
        WINOGRAD_PRODUCT(5)
        WINOGRAD_PRODUCT(6)
#endif
#if V_WIDE && !defined(MOTIF_SMALL_TILES)
        WINOGRAD_PRODUCT(7)
        WINOGRAD_PRODUCT(8)
        WINOGRAD_PRODUCT(9)
        WINOGRAD_PRODUCT(10)
        WINOGRAD_PRODUCT(11)
        WINOGRAD_PRODUCT(12)
        WINOGRAD_PRODUCT(13)
        WINOGRAD_PRODUCT(14)
#endif
    }
}

/* sums[16 in][16 out] += inputs[tiles][16 in]' x douts[tiles][16 out], n inputs at a time (a constant). */
INLINE void winograd_outer_of(const int n, int tiles, const float *inputs, const float *douts, float *sums)
{
    vf acc[16];
    UNROLL for (int a = 0; a < n * PV; a++) acc[a] = v_load(sums + a * V);
    for (int t = 0; t < tiles; t++, inputs += MAP_LANES, douts += MAP_LANES) {
        vf d[PV];
        UNROLL for (int g = 0; g < PV; g++) d[g] = v_load(douts + g * V);
        UNROLL for (int i = 0; i < n; i++)
        {
            vf x = v_all(inputs[i]);
            UNROLL for (int g = 0; g < PV; g++) acc[i * PV + g] = v_fma(x, d[g], acc[i * PV + g]);
        }
    }
    UNROLL for (int a = 0; a < n * PV; a++) v_store(sums + a * V, acc[a]);
}

INLINE void winograd_outer(int tiles, const float *inputs, const float *douts, float *sums)
{
#if V_WIDE
    winograd_outer_of(16, tiles, inputs, douts, sums);
#else
    winograd_outer_of(6, tiles, inputs, douts, sums);
    winograd_outer_of(5, tiles, inputs + 6, douts, sums + 6 * MAP_LANES);
    winograd_outer_of(5, tiles, inputs + 11, douts, sums + 11 * MAP_LANES);
#endif
}

#endif
