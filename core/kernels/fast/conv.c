/* Direct convolutions on blocked maps: kernels of 1x1 and 1 x n, and 3x3 where winograd.c and winograd4.c do not apply.
 *
 * Forward: the accumulators of N neighbouring output pixels times one or two blocks of output channels stay in
 * registers. For each input channel and tap, a register of weights (16 outputs) is loaded and multiplied by N broadcast
 * inputs. AVX-512 has registers for 2 blocks x 14 pixels or 1 block x 28, AVX2 for 1 block (2 registers) x 6 pixels. A
 * row is cut into tiles of equal size. Moments are computed from a finished row while it is in the first-level cache.
 *
 * Gradient of the weights: 8 input channels x 3 horizontal taps x 16 outputs are 24 accumulators of 16 floats. Each
 * input pixel is broadcast once for all three taps and multiplied by the output gradients of three neighbouring pixels,
 * which stay in registers and shift by one from pixel to pixel. */
#include <stddef.h>
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/simd.h"

enum {
    L = MAP_LANES,
    TILE = L * L,
    NARROW = V_TILE(V_WIDE ? 28 : 6), /* number of pixels of a tile that covers one block of output channels */
    PAIRED = V_TILE(V_WIDE ? 14 : 0)  /* number of pixels of a tile that covers two blocks of output channels; 0:
                                       * such tiles are not used */
};

INLINE ptrdiff_t tap_step(int dilation)
{
    return (dilation > 1 ? dilation : 1) * L;
}

/* Computes one tile of n pixels and `groups` registers of output channels (PV registers make a block); n and groups are
 * constants after inlining. `in`, `out` and `add` point at the tile's first pixel. */
INLINE void tile(const int n, const int groups, const struct conv_call *c, const float *in, const float *weights,
                 ptrdiff_t weight_block, const float *bias, const float *add, float *out)
{
    vf acc[32];
    UNROLL for (int p = 0; p < n; p++)
    {
        UNROLL for (int g = 0; g < groups; g++) acc[p * groups + g] = bias ? v_load(bias + g * V) : v_zero();
    }
    for (int ib = 0; ib < c->in_blocks; ib++) {
        for (int ky = 0; ky < c->kernel_h; ky++) {
            const ptrdiff_t step = tap_step(c->dilation);
            const float *row =
                in + ib * c->in.block + (ky - (c->kernel_h >> 1)) * c->in.row - (c->kernel_w >> 1) * step;
            for (int kx = 0; kx < c->kernel_w; kx++, weights += TILE, row += step) {
                for (int i = 0; i < L; i++) {
                    vf w[4];
                    UNROLL for (int g = 0; g < groups; g++) w[g] =
                        v_load(weights + i * L + (g / PV) * weight_block + (g % PV) * V);
                    UNROLL for (int p = 0; p < n; p++)
                    {
                        vf x = v_all(row[p * L + i]);
                        UNROLL for (int g = 0; g < groups; g++) acc[p * groups + g] =
                            v_fma(x, w[g], acc[p * groups + g]);
                    }
                }
            }
        }
    }
    UNROLL for (int p = 0; p < n; p++)
    {
        UNROLL for (int g = 0; g < groups; g++)
        {
            vf v = acc[p * groups + g];
            if (add)
                v = v_add(v, v_load(add + p * L + (g / PV) * c->add.block + (g % PV) * V));
            v_store(out + p * L + (g / PV) * c->out.block + (g % PV) * V, v);
        }
    }
}

#define NARROW_TILE(size)                                                                                              \
    case size:                                                                                                         \
        tile(size, PV, c, in, weights, 0, bias, add, out);                                                             \
        break;
#define PAIRED_TILE(size)                                                                                              \
    case size:                                                                                                         \
        tile(size, 2 * PV, c, in, weights, weight_block, bias, add, out);                                              \
        break;

static void narrow_tile(int n, const struct conv_call *c, const float *in, const float *weights, const float *bias,
                        const float *add, float *out)
{
    switch (n) {
        NARROW_TILE(1)
        NARROW_TILE(2)
        NARROW_TILE(3)
        NARROW_TILE(4)
#ifndef MOTIF_SMALL_TILES
        NARROW_TILE(5)
        NARROW_TILE(6)
#endif
#if V_WIDE && !defined(MOTIF_SMALL_TILES)
        NARROW_TILE(7)
        NARROW_TILE(8)
        NARROW_TILE(9)
        NARROW_TILE(10)
        NARROW_TILE(11)
        NARROW_TILE(12)
        NARROW_TILE(13)
        NARROW_TILE(14)
        NARROW_TILE(15)
        NARROW_TILE(16)
        NARROW_TILE(17)
        NARROW_TILE(18)
        NARROW_TILE(19)
        NARROW_TILE(20)
        NARROW_TILE(21)
        NARROW_TILE(22)
        NARROW_TILE(23)
        NARROW_TILE(24)
        NARROW_TILE(25)
        NARROW_TILE(26)
        NARROW_TILE(27)
        NARROW_TILE(28)
#endif
    }
}

#if V_WIDE
static void paired_tile(int n, const struct conv_call *c, const float *in, const float *weights, ptrdiff_t weight_block,
                        const float *bias, const float *add, float *out)
{
    switch (n) {
        PAIRED_TILE(1)
        PAIRED_TILE(2)
        PAIRED_TILE(3)
        PAIRED_TILE(4)
#ifndef MOTIF_SMALL_TILES
        PAIRED_TILE(5)
        PAIRED_TILE(6)
        PAIRED_TILE(7)
        PAIRED_TILE(8)
        PAIRED_TILE(9)
        PAIRED_TILE(10)
        PAIRED_TILE(11)
        PAIRED_TILE(12)
        PAIRED_TILE(13)
        PAIRED_TILE(14)
#endif
    }
}
#endif

/* Computes one output row for one or two blocks of output channels. */
static void conv_row(const struct conv_call *c, int y, int ob, int blocks)
{
    ptrdiff_t weight_block = (ptrdiff_t)c->in_blocks * c->kernel_h * c->kernel_w * TILE;
    const float *in = c->in.at + y * c->in.row, *weights = c->weights + ob * weight_block;
    const float *bias = c->bias ? c->bias + ob * L : NULL;
    const float *add = c->add.at ? c->add.at + ob * c->add.block + y * c->add.row : NULL;
    float *out = c->out.at + ob * c->out.block + y * c->out.row;
    int most = blocks == 2 ? PAIRED : NARROW;
    int tiles = (c->width + most - 1) / most, size = c->width / tiles, longer = c->width % tiles;
    for (int t = 0; t < tiles; t++) {
        int n = size + (t < longer);
#if V_WIDE
        if (blocks == 2)
            paired_tile(n, c, in, weights, weight_block, bias, add, out);
        else
#endif
            narrow_tile(n, c, in, weights, bias, add, out);
        in += n * L;
        out += n * L;
        add = add ? add + n * L : NULL;
    }
}

void FAST(conv_forward)(const struct conv_call *c)
{
    bool square = c->kernel_h == 3 && c->kernel_w == 3 && c->rows > 1 && c->width > 1;
    if (c->norm.scale || (square && c->rows > 3 && c->width > 3)) {
        fast_winograd4_forward(c);
        return;
    }
    if (square && c->in_blocks <= WINOGRAD_BLOCKS && c->out_blocks <= WINOGRAD_BLOCKS) {
        fast_winograd_forward(c);
        return;
    }
    for (int y = 0; y < c->rows; y++) {
        for (int ob = 0; ob < c->out_blocks;) {
            int blocks = PAIRED > 0 && c->out_blocks - ob >= 2 ? 2 : 1;
            conv_row(c, y, ob, blocks);
            ob += blocks;
        }
        if (c->moments)
            fast_row_moments(c->out_blocks, c->width, c->out.at + y * c->out.row, c->out.block, c->moments, y);
    }
}

/* Adds the weights' gradient, summed over all rows, to dweights: for `taps` neighbouring horizontal taps, `inputs`
 * input channels and one output block. `in` points at the pixel under tap 0 of output pixel 0. taps and inputs are
 * constants after inlining. */
INLINE void gradient_tile(const int taps, const int inputs, const struct conv_gradient_call *c, int rows,
                          const float *in, const float *dout, float *dweights)
{
    vf acc[24];
    UNROLL for (int a = 0; a < taps * inputs * PV; a++) acc[a] =
        v_load(dweights + a / (inputs * PV) * TILE + a / PV % inputs * L + a % PV * V);
    for (int y = 0; y < rows; y++) {
        const float *x = in + y * c->in.row, *d = dout + y * c->dout.row;
        vf slide[3 * PV]; /* dout of the pixels that read the current input pixel under taps 0, 1 and 2 */
        UNROLL for (int s = 0; s < taps * PV; s++) slide[s] = v_zero();
        for (int q = 0; q < c->width + taps - 1; q++, x += L) {
            UNROLL for (int s = taps * PV - 1; s >= PV; s--) slide[s] = slide[s - PV];
            UNROLL for (int s = 0; s < PV; s++) slide[s] = q < c->width ? v_load(d + q * L + s * V) : v_zero();
            UNROLL for (int i = 0; i < inputs; i++)
            {
                vf value = v_all(x[i]);
                UNROLL for (int s = 0; s < taps * PV; s++)
                {
                    int a = (s / PV * inputs + i) * PV + s % PV;
                    acc[a] = v_fma(value, slide[s], acc[a]);
                }
            }
        }
    }
    UNROLL for (int a = 0; a < taps * inputs * PV; a++)
        v_store(dweights + a / (inputs * PV) * TILE + a / PV % inputs * L + a % PV * V, acc[a]);
}

/* Adds the weight gradients of all taps of one kernel row, for one pair of an input and an output block. */
static void gradient_taps(const struct conv_gradient_call *c, int rows, const float *in, const float *dout,
                          float *dweights)
{
    const ptrdiff_t step = tap_step(c->dilation);
#if V_WIDE
    if (c->kernel_w == 3 && step == L) {
        gradient_tile(3, 8, c, rows, in, dout, dweights);
        gradient_tile(3, 8, c, rows, in + 8, dout, dweights + 8 * L);
        return;
    }
    for (int kx = 0; kx < c->kernel_w; kx++, in += step, dweights += TILE)
        gradient_tile(1, 16, c, rows, in, dout, dweights);
#else
    for (int kx = 0; kx < c->kernel_w; kx++, in += step, dweights += TILE) {
        gradient_tile(1, 6, c, rows, in, dout, dweights);
        gradient_tile(1, 5, c, rows, in + 6, dout, dweights + 6 * L);
        gradient_tile(1, 5, c, rows, in + 11, dout, dweights + 11 * L);
    }
#endif
}

void FAST(conv_gradient)(const struct conv_gradient_call *c)
{
    if (c->norm.scale || (c->kernel_h == 3 && c->kernel_w == 3 && c->rows > 1 && c->width > 1)) {
        for (int ob = 0; ob < c->out_blocks && c->dbias; ob++)
            fast_row_sums(c->rows, c->width, c->dout.at + ob * c->dout.block, c->dout.row, c->dbias + ob * L);
        (c->norm.scale || (c->rows > 3 && c->width > 3) ? fast_winograd4_gradient : fast_winograd_gradient)(c);
        return;
    }
    /* number of rows whose input and output blocks fit into the second-level cache together, so that all taps can
     * reuse them */
    enum { ROWS = 8 };
    ptrdiff_t per_row = (ptrdiff_t)c->kernel_w * TILE;
    for (int y = 0; y < c->rows; y += ROWS) {
        int rows = c->rows - y < ROWS ? c->rows - y : ROWS;
        for (int ob = 0; ob < c->out_blocks; ob++) {
            const float *dout = c->dout.at + ob * c->dout.block + y * c->dout.row;
            if (c->dbias)
                fast_row_sums(rows, c->width, dout, c->dout.row, c->dbias + ob * L);
            for (int ib = 0; ib < c->in_blocks; ib++) {
                const float *in = c->in.at + ib * c->in.block + (y - (c->kernel_h >> 1)) * c->in.row -
                                  (c->kernel_w >> 1) * tap_step(c->dilation);
                float *dweights = c->dweights + (ob * c->in_blocks + ib) * c->kernel_h * per_row;
                for (int ky = 0; ky < c->kernel_h; ky++)
                    gradient_taps(c, rows, in + ky * c->in.row, dout, dweights + ky * per_row);
            }
        }
    }
}
