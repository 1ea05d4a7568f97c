/* 3x3 convolutions by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, CVPR 2016): 16 products instead of 36
 * for every 2x2 tile of outputs and pair of channels.
 *
 *     Y = A' [ (G g G') . (B' d B) ] A        d: 4x4 inputs, g: 3x3 weights, Y: 2x2 outputs
 *
 * The transforms of inputs and outputs need additions only. A transformed input serves all output channels, and a
 * transformed output sums over all input channels. For each of the 16 positions of a tile, the product in the middle is
 * a matrix product [tiles][in] x [in][16 out], with the accumulators of a dozen tiles in registers. The coefficients of
 * F(2x2) are 0, 1 and 1/2, so its rounding error is within about a factor of two of the plain sum's.
 *
 * The gradient of the weights uses the same algebra, F(3x3, 2x2): dg = G' [ sum over tiles (A dY A') . (B' d B) ] G. A
 * prime means transposed, a point the element-wise product.
 *
 * All scratch memory is on the stack (below 600 KiB). Each call transforms the weights again, which costs little
 * compared with an image. Pixels of a tile outside the strip are read as zeros and not written. */
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/simd.h"
#include "core/kernels/fast/winograd.h"

enum {
    L = MAP_LANES,
    TILE = L * L,
    SPOTS = 16, /* positions in a transformed tile */
    MOST = WINOGRAD_TILES,
    GROUP = WINOGRAD_BLOCKS, /* maximum number of input blocks, and of output blocks, in a group */
    ROW = 28                 /* number of tiles of the gradient that are transformed together */
};

/* Multiplies a line of four values by B'. */
INLINE void input_line(vf d0, vf d1, vf d2, vf d3, vf out[4])
{
    out[0] = v_sub(d0, d2);
    out[1] = v_add(d1, d2);
    out[2] = v_sub(d2, d1);
    out[3] = v_sub(d1, d3);
}

/* Multiplies one column of four pixels by B'; pixels outside the strip count as zero. */
INLINE void input_column(const float *const row[4], ptrdiff_t at, bool there, vf out[4])
{
    vf d[4];
    UNROLL for (int r = 0; r < 4; r++) d[r] = there && row[r] ? v_load(row[r] + at) : v_zero();
    input_line(d[0], d[1], d[2], d[3], out);
}

/* Computes B' d B for `tiles` neighbouring tiles of V channels (one register). to: [16][stride] pixels. row: the four
 * rows, at the column left of the first tile. columns: number of columns that may be read from there. */
static void transform_input(const float *const row[4], int columns, int tiles, float *to, ptrdiff_t stride)
{
    vf c[4][4];
    input_column(row, 0, true, c[0]);
    input_column(row, L, columns > 1, c[1]);
    for (int t = 0; t < tiles; t++) {
        input_column(row, (ptrdiff_t)(2 * t + 2) * L, 2 * t + 2 < columns, c[2]);
        input_column(row, (ptrdiff_t)(2 * t + 3) * L, 2 * t + 3 < columns, c[3]);
        UNROLL for (int r = 0; r < 4; r++)
        {
            vf v[4];
            input_line(c[0][r], c[1][r], c[2][r], c[3][r], v);
            UNROLL for (int k = 0; k < 4; k++) v_store(to + (r * 4 + k) * stride + t * L, v[k]);
            c[0][r] = c[2][r];
            c[1][r] = c[3][r];
        }
    }
}

/* Finds the four input rows of the tile row at output row y, from column x - 1 on. */
static void input_rows(const float *row[4], const float *in, ptrdiff_t stride, int y, int rows, int x)
{
    for (int r = 0; r < 4; r++)
        row[r] = y - 1 + r <= rows ? in + (y - 1 + r) * stride + (ptrdiff_t)(x - 1) * L : NULL;
}

/* Computes G g G' for one pair of blocks: from [9][16 in][16 out] to [16] matrices `stride` apart. */
static void transform_weights(const float *from, float *to, ptrdiff_t stride)
{
    vf half = v_all(0.5f);
    for (int at = 0; at < TILE; at += V) {
        vf rows[4][3];
        for (int x = 0; x < 3; x++) {
            vf a = v_load(from + x * TILE + at), b = v_load(from + (3 + x) * TILE + at),
               c = v_load(from + (6 + x) * TILE + at);
            vf ends = v_mul(half, v_add(a, c)), middle = v_mul(half, b);
            rows[0][x] = a;
            rows[1][x] = v_add(ends, middle);
            rows[2][x] = v_sub(ends, middle);
            rows[3][x] = c;
        }
        for (int r = 0; r < 4; r++) {
            vf ends = v_mul(half, v_add(rows[r][0], rows[r][2])), middle = v_mul(half, rows[r][1]);
            v_store(to + (r * 4 + 0) * stride + at, rows[r][0]);
            v_store(to + (r * 4 + 1) * stride + at, v_add(ends, middle));
            v_store(to + (r * 4 + 2) * stride + at, v_sub(ends, middle));
            v_store(to + (r * 4 + 3) * stride + at, rows[r][2]);
        }
    }
}

/* Computes two output rows of `tiles` tiles: A' M A + bias + add. across, down: number of columns and rows inside the
 * strip; others are not written. */
static void transform_output(const float *from, int tiles, int across, int down, const float *bias, const float *add,
                             ptrdiff_t add_row, float *out, ptrdiff_t out_row)
{
    for (int g = 0; g < PV; g++) {
        vf shift = bias ? v_load(bias + g * V) : v_zero();
        for (int t = 0; t < tiles; t++) {
            vf z[4][2];
            UNROLL for (int r = 0; r < 4; r++)
            {
                const float *m = from + (ptrdiff_t)(r * 4) * MOST * L + t * L + g * V;
                vf m1 = v_load(m + MOST * L), m2 = v_load(m + 2 * MOST * L);
                z[r][0] = v_add(v_add(v_load(m), m1), m2);
                z[r][1] = v_sub(v_sub(m1, m2), v_load(m + 3 * MOST * L));
            }
            UNROLL for (int x = 0; x < 2; x++)
            {
                ptrdiff_t at = (ptrdiff_t)(2 * t + x) * L + g * V;
                vf y0 = v_add(v_add(v_add(z[0][x], z[1][x]), z[2][x]), shift);
                vf y1 = v_add(v_sub(v_sub(z[1][x], z[2][x]), z[3][x]), shift);
                if (2 * t + x >= across)
                    continue;
                v_store(out + at, add ? v_add(y0, v_load(add + at)) : y0);
                if (down > 1)
                    v_store(out + out_row + at, add ? v_add(y1, v_load(add + add_row + at)) : y1);
            }
        }
    }
}

/* Processes one group of tiles of one tile row, for all output blocks. */
static void forward_group(const struct conv_call *c, int y, int x, int tiles, const float *weights, float *inputs,
                          float *products_)
{
    ptrdiff_t block = (ptrdiff_t)tiles * L, spot = c->in_blocks * block;
    int down = c->rows - y, across = c->width - x;
    for (int ib = 0; ib < c->in_blocks; ib++) {
        const float *row[4];
        for (int g = 0; g < PV; g++) {
            input_rows(row, c->in.at + ib * c->in.block + g * V, c->in.row, y, c->rows, x);
            transform_input(row, across + 2, tiles, inputs + ib * block + g * V, spot);
        }
    }
    for (int ob = 0; ob < c->out_blocks; ob++) {
        ptrdiff_t out = ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L;
        const float *add = c->add.at ? c->add.at + ob * c->add.block + y * c->add.row + (ptrdiff_t)x * L : NULL;
        for (int s = 0; s < SPOTS; s++)
            winograd_products(tiles, c->in_blocks, winograd_use(0, 0), inputs + s * spot, block,
                              weights + (ptrdiff_t)(ob * SPOTS + s) * c->in_blocks * TILE, products_ + s * MOST * L);
        transform_output(products_, tiles, across, down, c->bias ? c->bias + ob * L : NULL, add, c->add.row,
                         c->out.at + out, c->out.row);
    }
}

void fast_winograd_forward(const struct conv_call *c)
{
    _Alignas(64) float weights[GROUP * GROUP * SPOTS * TILE], inputs[GROUP * SPOTS * MOST * L],
        middle[SPOTS * MOST * L];
    int across = (c->width + 1) / 2, groups = (across + MOST - 1) / MOST;
    for (int ob = 0; ob < c->out_blocks; ob++)
        for (int ib = 0; ib < c->in_blocks; ib++)
            transform_weights(c->weights + (ptrdiff_t)(ob * c->in_blocks + ib) * 9 * TILE,
                              weights + (ptrdiff_t)ob * c->in_blocks * SPOTS * TILE + ib * TILE, c->in_blocks * TILE);
    for (int y = 0; y < c->rows; y += 2) {
        for (int g = 0, x = 0; g < groups; g++) {
            int tiles = across / groups + (g < across % groups);
            forward_group(c, y, x, tiles, weights, inputs, middle);
            x += 2 * tiles;
        }
        for (int r = y; r < y + 2 && r < c->rows && c->moments; r++)
            fast_row_moments(c->out_blocks, c->width, c->out.at + r * c->out.row, c->out.block, c->moments, r);
    }
}

/* Computes A dY A' for the first `tiles` tiles of V channels (one register). at: the first pixel of the upper of two
 * rows. */
static void transform_dout(const float *at, ptrdiff_t row, int across, int down, int tiles, float *to, ptrdiff_t stride)
{
    for (int t = 0; t < tiles; t++) {
        vf z[4][2];
        UNROLL for (int x = 0; x < 2; x++)
        {
            const float *p = at + (ptrdiff_t)(2 * t + x) * L;
            bool there = 2 * t + x < across;
            vf a = there ? v_load(p) : v_zero(), b = there && down > 1 ? v_load(p + row) : v_zero();
            z[0][x] = a;
            z[1][x] = v_add(a, b);
            z[2][x] = v_sub(a, b);
            z[3][x] = v_sub(v_zero(), b);
        }
        UNROLL for (int r = 0; r < 4; r++)
        {
            float *spot = to + (ptrdiff_t)(r * 4) * stride + t * L;
            v_store(spot, z[r][0]);
            v_store(spot + stride, v_add(z[r][0], z[r][1]));
            v_store(spot + 2 * stride, v_sub(z[r][0], z[r][1]));
            v_store(spot + 3 * stride, v_sub(v_zero(), z[r][1]));
        }
    }
}

/* Adds G' sums G to dweights[9][16][16], for one pair of blocks. sums: [16][16 in][16 out]. */
static void untransform_weights(const float *sums, float *dweights)
{
    vf half = v_all(0.5f);
    for (int at = 0; at < TILE; at += V) {
        vf z[3][4];
        for (int x = 0; x < 4; x++) {
            const float *s = sums + x * TILE + at;
            vf a = v_load(s), b = v_load(s + 4 * TILE), c = v_load(s + 8 * TILE), d = v_load(s + 12 * TILE);
            z[0][x] = v_fma(half, v_add(b, c), a);
            z[1][x] = v_mul(half, v_sub(b, c));
            z[2][x] = v_fma(half, v_add(b, c), d);
        }
        for (int y = 0; y < 3; y++) {
            float *to = dweights + y * 3 * TILE + at;
            vf sum = v_add(z[y][1], z[y][2]), difference = v_sub(z[y][1], z[y][2]);
            v_store(to, v_add(v_load(to), v_fma(half, sum, z[y][0])));
            v_store(to + TILE, v_fma(half, difference, v_load(to + TILE)));
            v_store(to + 2 * TILE, v_add(v_load(to + 2 * TILE), v_fma(half, sum, z[y][3])));
        }
    }
}

struct gradient_scratch {
    _Alignas(64) float sums[GROUP * GROUP * SPOTS * TILE]; /* [out block][in block][16][16 in][16 out] */
    _Alignas(64) float inputs[GROUP * SPOTS * ROW * L];    /* [in block][16][tiles][16] transformed inputs */
    _Alignas(64) float douts[GROUP * SPOTS * ROW * L];
};

/* Processes one group of tiles, for all pairs of blocks in the group that begins at output block ob and input block
 * ib. */
static void gradient_group(const struct conv_gradient_call *c, int ob, int ib, int outs, int ins, int y, int x,
                           int tiles, struct gradient_scratch *s)
{
    ptrdiff_t stride = (ptrdiff_t)tiles * L;
    int across = c->width - x, down = c->rows - y;
    for (int b = 0; b < ins * PV; b++) {
        const float *row[4];
        input_rows(row, c->in.at + (ib + b / PV) * c->in.block + b % PV * V, c->in.row, y, c->rows, x);
        transform_input(row, across + 2, tiles, s->inputs + b / PV * SPOTS * stride + b % PV * V, stride);
    }
    for (int b = 0; b < outs * PV; b++)
        transform_dout(c->dout.at + (ob + b / PV) * c->dout.block + y * c->dout.row + (ptrdiff_t)x * L + b % PV * V,
                       c->dout.row, across, down, tiles, s->douts + b / PV * SPOTS * stride + b % PV * V, stride);
    for (int pair = 0; pair < outs * ins; pair++) {
        const float *inputs = s->inputs + pair % ins * SPOTS * stride, *douts = s->douts + pair / ins * SPOTS * stride;
        float *sums = s->sums + (ptrdiff_t)pair * SPOTS * TILE;
        for (int spot = 0; spot < SPOTS; spot += 2)
            winograd_outer(tiles, winograd_use(0, 0), inputs + spot * stride, douts + spot * stride, stride,
                           sums + spot * TILE);
    }
}

void fast_winograd_gradient(const struct conv_gradient_call *c)
{
    struct gradient_scratch s;
    int across = (c->width + 1) / 2, groups = (across + ROW - 1) / ROW;
    for (int ob = 0; ob < c->out_blocks; ob += GROUP) {
        for (int ib = 0; ib < c->in_blocks; ib += GROUP) {
            int outs = c->out_blocks - ob < GROUP ? c->out_blocks - ob : GROUP;
            int ins = c->in_blocks - ib < GROUP ? c->in_blocks - ib : GROUP;
            memset(s.sums, 0, (size_t)(outs * ins * SPOTS * TILE) * sizeof *s.sums);
            for (int y = 0; y < c->rows; y += 2) {
                for (int g = 0, x = 0; g < groups; g++) {
                    int tiles = across / groups + (g < across % groups);
                    gradient_group(c, ob, ib, outs, ins, y, x, tiles, &s);
                    x += 2 * tiles;
                }
            }
            for (int pair = 0; pair < outs * ins; pair++)
                untransform_weights(s.sums + (ptrdiff_t)pair * SPOTS * TILE,
                                    c->dweights +
                                        (ptrdiff_t)((ob + pair / ins) * c->in_blocks + ib + pair % ins) * 9 * TILE);
        }
    }
}
