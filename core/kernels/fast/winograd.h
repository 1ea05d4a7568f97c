/* The matrix products in the middle of Winograd's convolutions, for any tile size. A transformed tile has `spots`
 * positions; each position is a separate matrix product. */
#ifndef MOTIF_CORE_KERNELS_FAST_WINOGRAD_H
#define MOTIF_CORE_KERNELS_FAST_WINOGRAD_H

#include "core/kernels/fast/simd.h"
#include "core/kernels/map.h"

/* The number of tiles whose accumulators are in registers together. */
enum { WINOGRAD_TILES = V_TILE(V_WIDE ? 14 : 6) };

/* A half block is a last block of inputs or outputs of which at most 8 channels are in use. For a half block, a
 * register of AVX-512 contains two tiles: with n tiles and h = (n + 1) / 2, tile t < h has the first 8 lanes of pixel
 * t, and tile t + h has the last 8 lanes. With AVX2 a pixel of a half block is one register instead of two, at the
 * usual place. */
struct winograd_use {
    int lanes;          /* number of channels in use of the last input block */
    bool in_half, half; /* in_half: the last input block is a half block; half: the output block is one */
};

INLINE bool winograd_half(int lanes)
{
    return lanes > 0 && lanes <= MAP_LANES / 2;
}

/* Returns the offset, in floats, of tile t in an array of n tiles. half: the tiles belong to a half block. */
INLINE ptrdiff_t winograd_at(bool half, int t, int n)
{
    int h = (n + 1) / 2;
    return !half || !V_WIDE || t < h ? t * MAP_LANES : (t - h) * MAP_LANES + MAP_LANES / 2;
}

/* Finds out whether the last input block and the output block are half blocks. in_lanes, out_lanes: number of channels
 * in use of these two blocks; 0 means 16. */
INLINE struct winograd_use winograd_use(int in_lanes, int out_lanes)
{
    return (struct winograd_use){in_lanes > 0 ? in_lanes : MAP_LANES, winograd_half(in_lanes),
                                 winograd_half(out_lanes)};
}

/* acc[n tiles][16 out] += inputs of one block x weights[16 in][16 out], for the first `lanes` inputs. in_half and n are
 * constants. */
INLINE void winograd_block(const int n, const bool in_half, int lanes, const float *from, const float *weights, vf *acc)
{
    for (int i = 0; i < lanes; i++, weights += MAP_LANES) {
        vf w[PV];
        UNROLL for (int g = 0; g < PV; g++) w[g] = v_load(weights + g * V);
        UNROLL for (int t = 0; t < n; t++)
        {
            vf x = v_all(from[winograd_at(in_half, t, n) + i]);
            UNROLL for (int g = 0; g < PV; g++) acc[t * PV + g] = v_fma(x, w[g], acc[t * PV + g]);
        }
    }
}

/* to[n tiles][16 out] = from[blocks][n tiles][16 in] x weights[blocks][16 in][16 out]. n is a constant. */
INLINE void winograd_product(const int n, int blocks, struct winograd_use use, const float *from, ptrdiff_t block,
                             const float *weights, float *to)
{
    vf acc[WINOGRAD_TILES * PV];
    UNROLL for (int a = 0; a < n * PV; a++) acc[a] = v_zero();
    int whole = blocks - use.in_half;
    for (int b = 0; b < whole; b++, from += block, weights += MAP_LANES * MAP_LANES)
        winograd_block(n, false, b + 1 < blocks ? MAP_LANES : use.lanes, from, weights, acc);
    if (use.in_half)
        winograd_block(n, true, use.lanes, from, weights, acc);
    UNROLL for (int a = 0; a < n * PV; a++) v_store(to + a * V, acc[a]);
}

/* winograd_block() for a half block of outputs, of which 8 channels are in use. AVX-512: a register contains these
 * outputs twice, for an even and for an odd input channel, so weights must be in the order of winograd_halve(). AVX2:
 * the 8 outputs fill a register, and weights keep their order. */
INLINE void winograd_block_half(const int n, const bool in_half, int lanes, const float *from, const float *weights,
                                vf *acc)
{
#if V_WIDE
    for (int i = 0; i < lanes; i += 2, weights += V) {
        vf w = v_load(weights);
        UNROLL for (int t = 0; t < n; t++) acc[t] = v_fma(v_pair(from + winograd_at(in_half, t, n) + i), w, acc[t]);
    }
#else
    for (int i = 0; i < lanes; i++, weights += MAP_LANES) {
        vf w = v_load(weights);
        UNROLL for (int t = 0; t < n; t++) acc[t] = v_fma(v_all(from[t * MAP_LANES + i]), w, acc[t]);
    }
#endif
}

/* winograd_product() for a half block of outputs. */
INLINE void winograd_product_half(const int n, int blocks, struct winograd_use use, const float *from, ptrdiff_t block,
                                  const float *weights, float *to)
{
    vf acc[WINOGRAD_TILES + 1];
    UNROLL for (int t = 0; t <= n; t++) acc[t] = v_zero();
    int whole = blocks - use.in_half;
    for (int b = 0; b < whole; b++, from += block, weights += MAP_LANES * MAP_LANES)
        winograd_block_half(n, false, b + 1 < blocks ? MAP_LANES : use.lanes, from, weights, acc);
    if (use.in_half)
        winograd_block_half(n, true, use.lanes, from, weights, acc);
#if V_WIDE
    const int h = (n + 1) / 2;
    UNROLL for (int t = 0; t < h; t++) v_store(to + t * MAP_LANES, v_fold(acc[t], acc[t + h]));
#else
    UNROLL for (int t = 0; t < n; t++) v_store(to + t * MAP_LANES, acc[t]);
#endif
}

/* Puts a matrix [16 in][16 out], whose last 8 outputs are zero, into the order of winograd_block_half():
 * [8 pairs of inputs][8 out][2 in]. */
INLINE void winograd_halve(float *matrix)
{
#if V_WIDE
    for (int p = 0; p < MAP_LANES / 2; p++)
        v_store(matrix + p * V, v_interleave(v_load(matrix + 2 * p * V), v_load(matrix + (2 * p + 1) * V)));
#else
    (void)matrix;
#endif
}

#define WINOGRAD_PRODUCT(n)                                                                                            \
    case n:                                                                                                            \
        if (use.half)                                                                                                  \
            winograd_product_half(n, blocks, use, from, block, weights, to);                                           \
        else                                                                                                           \
            winograd_product(n, blocks, use, from, block, weights, to);                                                \
        break;

/* to = from x weights, for one position of the transformed tiles. from: [blocks][n tiles][16], with steps of `block`
 * reals between blocks. weights: [blocks][16][16]. to: [n tiles][16]. */
INLINE void winograd_products(int n, int blocks, struct winograd_use use, const float *from, ptrdiff_t block,
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

/* The tiles of a weight gradient, as one or two runs. With AVX-512, a register of a half block contains two tiles; the
 * tiles in the lower halves are the first run, those in the upper halves the second. Without half blocks, the second
 * run is empty. */
struct winograd_runs {
    int tiles[2];
    const float *inputs[2], *douts[2];
};

/* sums += inputs' x douts, for the n inputs from `first` on. sums: [16 in][16 out], inputs: [tiles][16 in], douts:
 * [tiles][16 out]. The caller passes constants for n, first and count (the number of runs), so that the loops have
 * fixed lengths. */
INLINE void winograd_outer_of(const int n, const int first, const int count, const struct winograd_runs *runs,
                              float *sums)
{
    vf acc[16];
    sums += first * MAP_LANES;
    UNROLL for (int a = 0; a < n * PV; a++) acc[a] = v_load(sums + a * V);
    for (int r = 0; r < count; r++) {
        const float *inputs = runs->inputs[r] + first, *douts = runs->douts[r];
        for (int t = 0; t < runs->tiles[r]; t++, inputs += MAP_LANES, douts += MAP_LANES) {
            vf d[PV];
            UNROLL for (int g = 0; g < PV; g++) d[g] = v_load(douts + g * V);
            UNROLL for (int i = 0; i < n; i++)
            {
                vf x = v_all(inputs[i]);
                UNROLL for (int g = 0; g < PV; g++) acc[i * PV + g] = v_fma(x, d[g], acc[i * PV + g]);
            }
        }
    }
    UNROLL for (int a = 0; a < n * PV; a++) v_store(sums + a * V, acc[a]);
}

#if V_WIDE
/* acc[pairs of inputs][8 out][2 in] += the products of one tile. */
INLINE void winograd_outer_pairs(const int pairs, const float *inputs, const float *douts, vf *acc)
{
    vf d = v_twice(douts);
    UNROLL for (int a = 0; a < pairs; a++) acc[a] = v_fma(v_pair(inputs + 2 * a), d, acc[a]);
}

/* winograd_outer_of() for a half block of outputs. sums: [8 pairs of inputs][8 out][2 in]. */
INLINE void winograd_outer_half(const struct winograd_runs *runs, float *sums)
{
    vf acc[8];
    UNROLL for (int a = 0; a < 8; a++) acc[a] = v_load(sums + a * V);
    for (int r = 0; r < 2; r++)
        for (int t = 0; t < runs->tiles[r]; t++)
            winograd_outer_pairs(8, runs->inputs[r] + t * MAP_LANES, runs->douts[r] + t * MAP_LANES, acc);
    UNROLL for (int a = 0; a < 8; a++) v_store(sums + a * V, acc[a]);
}

/* winograd_outer_half() for 8 inputs and for two positions of the transformed tiles, whose inputs and douts are
 * `stride` reals apart. The sums of one position are too few to fill the pipeline of multiply-adds. */
INLINE void winograd_outer_halves(const struct winograd_runs *runs, ptrdiff_t stride, float *sums)
{
    vf acc[2][4];
    UNROLL for (int a = 0; a < 8; a++) acc[a / 4][a % 4] = v_load(sums + a / 4 * MAP_LANES * MAP_LANES + a % 4 * V);
    for (int r = 0; r < 2; r++)
        for (int t = 0; t < runs->tiles[r]; t++) {
            const float *inputs = runs->inputs[r] + t * MAP_LANES, *douts = runs->douts[r] + t * MAP_LANES;
            UNROLL for (int s = 0; s < 2; s++) winograd_outer_pairs(4, inputs + s * stride, douts + s * stride, acc[s]);
        }
    UNROLL for (int a = 0; a < 8; a++) v_store(sums + a / 4 * MAP_LANES * MAP_LANES + a % 4 * V, acc[a / 4][a % 4]);
}
#else
/* winograd_outer_of() for the 8 inputs from `first` on and for the first 8 outputs. sums: [16 inputs][16 outputs]; the
 * other entries do not change. */
INLINE void winograd_outer_half(const int first, const struct winograd_runs *runs, float *sums)
{
    vf acc[8];
    sums += first * MAP_LANES;
    UNROLL for (int a = 0; a < 8; a++) acc[a] = v_load(sums + a * MAP_LANES);
    for (int t = 0; t < runs->tiles[0]; t++) {
        const float *inputs = runs->inputs[0] + t * MAP_LANES + first;
        vf d = v_load(runs->douts[0] + t * MAP_LANES);
        UNROLL for (int a = 0; a < 8; a++) acc[a] = v_fma(v_all(inputs[a]), d, acc[a]);
    }
    UNROLL for (int a = 0; a < 8; a++) v_store(sums + a * MAP_LANES, acc[a]);
}
#endif

/* Puts sums in the order of winograd_outer_half() back into the order [16 in][16 out]. */
INLINE void winograd_unhalve(float *sums)
{
#if V_WIDE
    for (int p = MAP_LANES / 2 - 1; p >= 0; p--) {
        vf both = v_load(sums + p * V);
        v_store(sums + 2 * p * V, v_evens(both, v_zero()));
        v_store(sums + (2 * p + 1) * V, v_odds(both, v_zero()));
    }
#else
    (void)sums;
#endif
}

INLINE struct winograd_runs winograd_runs(int tiles, struct winograd_use use, const float *inputs, const float *douts)
{
    int first = V_WIDE && (use.half || use.in_half) ? (tiles + 1) / 2 : tiles;
    return (struct winograd_runs){{first, tiles - first},
                                  {inputs, inputs + winograd_at(use.in_half, first, tiles)},
                                  {douts, douts + winograd_at(use.half, first, tiles)}};
}

/* sums += inputs' x douts over `tiles` tiles, for one position of the transformed tiles. */
INLINE void winograd_outer_spot(int tiles, struct winograd_use use, const float *inputs, const float *douts,
                                float *sums)
{
    struct winograd_runs runs = winograd_runs(tiles, use, inputs, douts);
#if V_WIDE
    if (use.half)
        winograd_outer_half(&runs, sums);
    else if (use.in_half)
        winograd_outer_of(8, 0, 2, &runs, sums);
    else
        winograd_outer_of(16, 0, 1, &runs, sums);
#else
    if (use.half) {
        winograd_outer_half(0, &runs, sums);
        if (!use.in_half)
            winograd_outer_half(8, &runs, sums);
        return;
    }
    winograd_outer_of(6, 0, 1, &runs, sums);
    if (use.in_half) {
        winograd_outer_of(2, 6, 1, &runs, sums);
    } else {
        winograd_outer_of(5, 6, 1, &runs, sums);
        winograd_outer_of(5, 11, 1, &runs, sums);
    }
#endif
}

/* sums += inputs' x douts over `tiles` tiles, for two positions of the transformed tiles. inputs, douts: two arrays,
 * `stride` reals apart. sums: [2][16][16]. use.lanes: number of channels in use of this input block. */
INLINE void winograd_outer(int tiles, struct winograd_use use, const float *inputs, const float *douts,
                           ptrdiff_t stride, float *sums)
{
#if V_WIDE
    if (use.half && use.in_half) {
        struct winograd_runs runs = winograd_runs(tiles, use, inputs, douts);
        winograd_outer_halves(&runs, stride, sums);
        return;
    }
#endif
    for (int s = 0; s < 2; s++)
        winograd_outer_spot(tiles, use, inputs + s * stride, douts + s * stride, sums + s * MAP_LANES * MAP_LANES);
}

#endif
