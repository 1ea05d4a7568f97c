/* 3x3 convolutions by F(4x4, 3x3): 36 products for 16 outputs. For the same outputs, F(2x2) (winograd.c) takes 64
 * products and the plain sum 144.
 *
 * The interpolation points are 0, 1, -1, 1/2, -2 and infinity. Rounding errors are about a third of those with the
 * usual points 0, 1, -1, 2, -2: measured at 64 channels, the largest error is 2e-6 of the largest output (plain sum:
 * 7e-7). Because the product of 1/2 and -2 is -1, the rows of B' share most of their terms:
 *
 *     with e = d4 - d2, o = d3 - d1
 *     0:  e + 3/2 o - (d2 - d0)        infinity:  (d5 - d3) + 3/2 e - o
 *     1:  e + o + 3/2 (d2 + d3)        -1:  e - o + 3/2 (d3 - d2)
 *     1/2:  e + 2 o                    -2:  e - 1/2 o
 *
 * All coefficients of A and B are exact in binary; G divides by 3, 15/16 and 15. Pixels of a tile outside the strip are
 * read as zeros and not written. All scratch memory is on the stack (below 1 MiB). A forward pass transforms the inputs
 * of at most INPUTS blocks together. With more blocks, it adds the results of several parts in the output. The caller
 * may transform the weights once for all strips (conv_transform); otherwise a part has at most GROUP x GROUP blocks.
 *
 * A row of a map can be longer than a memory page, so the hardware does not prefetch the next tile row. The code
 * prefetches its inputs and outputs, a few pixels with each product of the current row: if it prefetched all of them at
 * once, the core would stall, because it can load only a few dozen cache lines at a time. */
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/simd.h"
#include "core/kernels/fast/winograd.h"

enum {
    L = MAP_LANES,
    TILE = L * L,
    SIDE = 6,
    SPOTS = SIDE * SIDE,
    MOST = WINOGRAD_TILES,
    GROUP = 4,  /* maximum number of input blocks, and of output blocks, whose weights are in scratch memory */
    INPUTS = 8, /* maximum number of input blocks of a part of the forward pass */
    ROW = 25    /* number of tiles of the gradient that are transformed together */
};

/* G: the row of a point p is (1, p, p^2), divided by the product of its distances to the other points. */
static const float g_rows[SIDE][3] = {
    {1, 0, 0},
    {1 / 3.0f, 1 / 3.0f, 1 / 3.0f},
    {-1 / 3.0f, 1 / 3.0f, -1 / 3.0f},
    {-16 / 15.0f, -8 / 15.0f, -4 / 15.0f},
    {1 / 15.0f, -2 / 15.0f, 4 / 15.0f},
    {0, 0, 1},
};

/* Multiplies a line of six values by B'. */
INLINE void input_line(const vf d[6], vf out[6])
{
    vf e = v_sub(d[4], d[2]), o = v_sub(d[3], d[1]), half3 = v_all(1.5f);
    out[0] = v_sub(v_fma(half3, o, e), v_sub(d[2], d[0]));
    out[1] = v_fma(half3, v_add(d[2], d[3]), v_add(e, o));
    out[2] = v_fma(half3, v_sub(d[3], d[2]), v_sub(e, o));
    out[3] = v_fma(v_all(2.0f), o, e);
    out[4] = v_fma(v_all(-0.5f), o, e);
    out[5] = v_sub(v_fma(half3, e, v_sub(d[5], d[3])), o);
}

/* Multiplies a line of six values by A'. */
INLINE void output_line(const vf m[6], vf out[4])
{
    vf s = v_add(m[1], m[2]), t = v_sub(m[1], m[2]);
    out[0] = v_add(v_add(m[0], s), v_add(m[3], m[4]));
    out[1] = v_fma(v_all(0.5f), m[3], v_fma(v_all(-2.0f), m[4], t));
    out[2] = v_fma(v_all(0.25f), m[3], v_fma(v_all(4.0f), m[4], s));
    out[3] = v_add(v_fma(v_all(0.125f), m[3], v_fma(v_all(-8.0f), m[4], t)), m[5]);
}

/* Multiplies a line of four values by A. */
INLINE void dout_line(const vf y[4], vf out[6])
{
    vf even = v_add(y[0], y[2]), odd = v_add(y[1], y[3]);
    out[0] = y[0];
    out[1] = v_add(even, odd);
    out[2] = v_sub(even, odd);
    out[3] = v_fma(v_all(0.5f), v_fma(v_all(0.5f), v_fma(v_all(0.5f), y[3], y[2]), y[1]), y[0]);
    out[4] = v_fma(v_all(-2.0f), v_fma(v_all(-2.0f), v_fma(v_all(-2.0f), y[3], y[2]), y[1]), y[0]);
    out[5] = y[3];
}

/* A group of tiles of the next tile row, for prefetches: four rows of pixels of its inputs, and four rows of its
 * outputs. */
struct ahead {
    struct map_strip strip[2];
    int blocks[2];
    int pieces, pixels;       /* pieces: pieces of a row; pixels: pixels of a piece */
    int map, block, y, piece; /* the next piece */
};

/* Prepares the prefetch of the group of tiles below the one at (y, x). in, out: strips that begin at the group's first
 * blocks; `out` may be the gradient of outputs. products: number of calls of prefetch_ahead() that will follow, at
 * least 4 (ins + outs). Each call prefetches one piece. */
static struct ahead ahead(struct map_strip in, int ins, struct map_strip out, int outs, int y, int x, int tiles,
                          int products)
{
    int pieces = products / (4 * (ins + outs));
    in.at += (y + 5) * in.row + (ptrdiff_t)x * L;
    out.at += (y + 4) * out.row + (ptrdiff_t)x * L;
    return (struct ahead){
        .strip = {in, out}, .blocks = {ins, outs}, .pieces = pieces, .pixels = (4 * tiles + pieces - 1) / pieces};
}

INLINE void prefetch_ahead(struct ahead *a)
{
    if (a->map == 2)
        return;
    const struct map_strip *s = &a->strip[a->map];
    const float *at = s->at + a->block * s->block + a->y * s->row + (ptrdiff_t)(a->piece * a->pixels) * L;
    for (int p = 0; p < a->pixels; p++)
        __builtin_prefetch(at + (ptrdiff_t)p * L, 0, 2);
    if (++a->piece < a->pieces)
        return;
    a->piece = 0;
    if (++a->y < 4)
        return;
    a->y = 0;
    if (++a->block < a->blocks[a->map])
        return;
    a->block = 0;
    a->map++;
}

/* The inputs of a group of tiles: six rows of V channels (one register), from the column left of the first tile on. */
struct inlet {
    const float *row[SIDE]; /* NULL: the row is outside the strip */
    int first, end;         /* the columns [first, end) of `row` lie inside the strip */
    int apart;              /* half blocks: distance in columns between the two tiles of a register; else 0 */
    const float *scale, *shift;
};

static struct inlet inlet(const struct conv_norm *n, const struct map_strip *in, int rows, int width, int lane, int y,
                          int x)
{
    const float *at = in->at + lane / L * in->block + lane % L;
    struct inlet i = {.end = width - x + 2};
    for (int r = 0; r < SIDE; r++)
        i.row[r] = y - 1 + r <= rows ? at + (y - 1 + r) * in->row + (ptrdiff_t)(x - 1) * L : NULL;
    if (!n->scale)
        return i;
    i.scale = n->scale + lane;
    i.shift = n->shift + lane;
    i.first = x == 0;
    i.end--;
    if (y == 0 && !n->above)
        i.row[0] = NULL;
    if (y - 1 + SIDE > rows && !n->below)
        i.row[rows - y + 1] = NULL;
    return i;
}

#if V_WIDE
/* Loads one pixel of each of the two tiles of a register; with `normed`, normalised. inside: both pixels lie inside the
 * strip. */
INLINE vf input_pair(const bool normed, const bool inside, const struct inlet *in, const float *at, vf scale, vf shift,
                     int x)
{
    const float *high = at + (ptrdiff_t)in->apart * L;
    if (inside) {
        vf d = v_halves(at, high);
        return normed ? v_relu(v_fma(d, scale, shift)) : d;
    }
    vm part = v_halves_mask(x >= in->first && x < in->end, x + in->apart < in->end);
    vf d = v_halves_part(at, high, part);
    return normed ? v_keep(part, v_relu(v_fma(d, scale, shift))) : d;
}
#endif

/* Multiplies one column of six pixels by B'; with `half`, two columns. inside: whether the column lies inside the
 * strip; with `half`, whether both columns do. */
INLINE void input_column(const bool normed, const bool half, const bool inside, const struct inlet *in, vf scale,
                         vf shift, int x, float *down)
{
    vf d[SIDE], z[SIDE];
    UNROLL for (int r = 0; r < SIDE; r++)
    {
        d[r] = v_zero();
#if V_WIDE
        if (half && in->row[r])
            d[r] = input_pair(normed, inside, in, in->row[r] + (ptrdiff_t)x * L, scale, shift, x);
#endif
        if (!half && inside && in->row[r]) {
            d[r] = v_load(in->row[r] + (ptrdiff_t)x * L);
            if (normed)
                d[r] = v_relu(v_fma(d[r], scale, shift));
        }
    }
    input_line(d, z);
    UNROLL for (int r = 0; r < SIDE; r++) v_store(down + r * V, z[r]);
}

INLINE void each_input_column(const bool normed, const bool half, const struct inlet *in, vf scale, vf shift,
                              int columns, float (*down)[SIDE * V])
{
    for (int x = 0; x < columns; x++)
        if (x >= in->first && x + in->apart < in->end)
            input_column(normed, half, true, in, scale, shift, x, down[x]);
        else
            input_column(normed, half, false, in, scale, shift, x, down[x]);
}

INLINE void input_columns(const bool half, const struct inlet *in, int columns, float (*down)[SIDE * V])
{
    if (!in->scale) {
        each_input_column(false, half, in, v_zero(), v_zero(), columns, down);
        return;
    }
    vf scale = v_load(in->scale), shift = v_load(in->shift);
#if V_WIDE
    if (half) {
        scale = v_halves(in->scale, in->scale);
        shift = v_halves(in->shift, in->shift);
    }
#endif
    each_input_column(true, half, in, scale, shift, columns, down);
}

/* Computes B' d B for `tiles` neighbouring tiles of V channels (one register). Neighbouring tiles share two of their
 * six columns, so the function first multiplies all columns by B' into a buffer. half: the channels are a half block;
 * with AVX-512, a register then contains two tiles. to: [36], `stride` apart, of [tiles][16]. */
static void transform_input(struct inlet *in, bool half, int tiles, float *to, ptrdiff_t stride)
{
    _Alignas(64) float down[4 * ROW + 2][SIDE * V];
    if (half && V_WIDE) {
        tiles = (tiles + 1) / 2;
        in->apart = 4 * tiles;
        input_columns(true, in, 4 * tiles + 2, down);
    } else {
        input_columns(false, in, 4 * tiles + 2, down);
    }
    for (int t = 0; t < tiles; t++) {
        UNROLL for (int r = 0; r < SIDE; r++)
        {
            vf d[SIDE], z[SIDE];
            UNROLL for (int x = 0; x < SIDE; x++) d[x] = v_load(down[4 * t + x] + r * V);
            input_line(d, z);
            UNROLL for (int x = 0; x < SIDE; x++) v_store(to + (r * SIDE + x) * stride + t * L, z[x]);
        }
    }
}

/* Computes G g G' for one pair of blocks: from [9][16 in][16 out] to [36] matrices `stride` apart. */
static void transform_weights(const float *from, float *to, ptrdiff_t stride)
{
    for (int at = 0; at < TILE; at += V) {
        vf down[SIDE][3];
        for (int r = 0; r < SIDE; r++)
            for (int x = 0; x < 3; x++) {
                vf sum = v_mul(v_all(g_rows[r][0]), v_load(from + x * TILE + at));
                sum = v_fma(v_all(g_rows[r][1]), v_load(from + (3 + x) * TILE + at), sum);
                down[r][x] = v_fma(v_all(g_rows[r][2]), v_load(from + (6 + x) * TILE + at), sum);
            }
        for (int r = 0; r < SIDE; r++)
            for (int x = 0; x < SIDE; x++) {
                vf sum = v_mul(v_all(g_rows[x][0]), down[r][0]);
                sum = v_fma(v_all(g_rows[x][1]), down[r][1], sum);
                v_store(to + (r * SIDE + x) * stride + at, v_fma(v_all(g_rows[x][2]), down[r][2], sum));
            }
    }
}

/* Where the outputs of a group of tiles go. across, down: number of the group's columns and rows that lie inside the
 * strip. */
struct outlet {
    int across, down;
    const float *bias, *add;
    ptrdiff_t add_row;
    float *out;
    ptrdiff_t out_row;
};

/* Computes A' M A of one tile, or of the two tiles of a register. from: [36][MOST][16], at the tile's first value. */
INLINE void output_tile(const float *from, vf out[4][4])
{
    vf across[SIDE][4];
    UNROLL for (int r = 0; r < SIDE; r++)
    {
        vf m[SIDE];
        UNROLL for (int x = 0; x < SIDE; x++) m[x] = v_load(from + (ptrdiff_t)(r * SIDE + x) * MOST * L);
        output_line(m, across[r]);
    }
    UNROLL for (int x = 0; x < 4; x++)
    {
        vf m[SIDE];
        UNROLL for (int r = 0; r < SIDE; r++) m[r] = across[r][x];
        output_line(m, out[x]);
    }
}

/* Writes A' M A + bias + add of `tiles` tiles. */
static void transform_output(const float *from, int tiles, const struct outlet *o)
{
    for (int g = 0; g < PV; g++) {
        vf shift = o->bias ? v_load(o->bias + g * V) : v_zero();
        for (int t = 0; t < tiles; t++) {
            vf y[4][4];
            int rows = o->down < 4 ? o->down : 4, columns = o->across - 4 * t < 4 ? o->across - 4 * t : 4;
            output_tile(from + (ptrdiff_t)t * L + g * V, y);
            UNROLL for (int x = 0; x < 4; x++)
            {
                ptrdiff_t at = (ptrdiff_t)(4 * t + x) * L + g * V;
                UNROLL for (int r = 0; r < 4; r++)
                {
                    vf v = v_add(y[x][r], shift);
                    if (r >= rows || x >= columns)
                        continue;
                    v_store(o->out + r * o->out_row + at, o->add ? v_add(v, v_load(o->add + r * o->add_row + at)) : v);
                }
            }
        }
    }
}

/* transform_output() for a half block. It writes zeros to the other 8 channels. */
static void transform_output_half(const float *from, int tiles, const struct outlet *o)
{
#if V_WIDE
    const int h = (tiles + 1) / 2;
    vf shift = o->bias ? v_halves(o->bias, o->bias) : v_zero();
    for (int t = 0; t < h; t++) {
        vf y[4][4];
        int rows = o->down < 4 ? o->down : 4, low = o->across - 4 * t, high = t + h < tiles ? low - 4 * h : 0;
        output_tile(from + (ptrdiff_t)t * L, y);
        UNROLL for (int x = 0; x < 4; x++)
        {
            ptrdiff_t at = (ptrdiff_t)(4 * t + x) * L, to = at + (ptrdiff_t)(4 * h) * L;
            UNROLL for (int r = 0; r < 4; r++)
            {
                if (r >= rows || x >= low)
                    continue;
                vf v = v_add(y[x][r], shift);
                const float *add = o->add ? o->add + r * o->add_row : NULL;
                float *out = o->out + r * o->out_row;
                if (add)
                    v = v_add(v, v_halves_part(add + at, add + to, v_halves_mask(true, x < high)));
                v_store(out + at, v_low(v));
                if (x < high)
                    v_store(out + to, v_high(v));
            }
        }
    }
#else
    vf shift = o->bias ? v_load(o->bias) : v_zero();
    for (int t = 0; t < tiles; t++) {
        vf y[4][4];
        int rows = o->down < 4 ? o->down : 4;
        output_tile(from + (ptrdiff_t)t * L, y);
        for (int x = 0; x < 4 && x < o->across - 4 * t; x++)
            for (int r = 0; r < rows; r++) {
                ptrdiff_t at = (ptrdiff_t)(4 * t + x) * L;
                vf v = v_add(y[x][r], shift);
                v_store(o->out + r * o->out_row + at, o->add ? v_add(v, v_load(o->add + r * o->add_row + at)) : v);
                v_store(o->out + r * o->out_row + at + V, v_zero());
            }
    }
#endif
}

/* Transforms the weights of input blocks [first, first + ins) of one output block: to [36][ins][16 in][16 out]. */
static void transform_block(const struct conv_call *c, int ob, int first, int ins, float *to)
{
    for (int i = 0; i < ins; i++) {
        transform_weights(c->weights + (ptrdiff_t)(ob * c->in_blocks + first + i) * 9 * TILE, to + i * TILE,
                          (ptrdiff_t)ins * TILE);
        for (int spot = 0; spot < SPOTS && ob == c->out_blocks - 1 && winograd_half(c->out_lanes); spot++)
            winograd_halve(to + (ptrdiff_t)(spot * ins + i) * TILE);
    }
}

/* Stores the transformed weights of an output block in parts of INPUTS input blocks, as forward passes read them. */
void FAST(conv_transform)(const struct conv_call *c, int first, int count, real *transformed)
{
    ptrdiff_t block = (ptrdiff_t)c->in_blocks * CONV_TRANSFORMED;
    for (int ob = first; ob < first + count; ob++)
        for (int ib = 0; ib < c->in_blocks; ib += INPUTS)
            transform_block(c, ob, ib, c->in_blocks - ib < INPUTS ? c->in_blocks - ib : INPUTS,
                            transformed + ob * block + ib * CONV_TRANSFORMED);
}

/* Part of a forward pass: the sums over `ins` input blocks from ib on, for `outs` output blocks from ob on. */
struct part {
    int ob, outs, ib, ins;
    const float *weights; /* transformed weights of output block ob: [36][ins][16 in][16 out] */
    ptrdiff_t weight_block;
    float *inputs, *middle; /* scratch memory */
};

/* Computes one group of tiles of one tile row for the input blocks of the part p. The first part of an output adds bias
 * and `add`; each later part adds to the output of the part before. */
static void forward_group(const struct conv_call *c, const struct part *p, int y, int x, int tiles)
{
    ptrdiff_t block = (ptrdiff_t)tiles * L, spot = p->ins * block;
    int lanes = p->ib + p->ins == c->in_blocks ? c->in_lanes : 0;
    struct winograd_use use = winograd_use(lanes, 0);
    for (int b = 0; b < (p->ins - use.in_half) * PV + use.in_half; b++) {
        struct inlet in = inlet(&c->norm, &c->in, c->rows, c->width, p->ib * L + b * V, y, x);
        transform_input(&in, use.in_half && b / PV == p->ins - 1, tiles, p->inputs + b / PV * block + b % PV * V, spot);
    }
    struct map_strip from = {c->in.at + p->ib * c->in.block, c->in.block, c->in.row};
    struct map_strip to = {c->out.at + p->ob * c->out.block, c->out.block, c->out.row};
    struct ahead next = ahead(from, p->ins, to, p->outs, y, x, tiles, p->outs * SPOTS);
    const struct map_strip *add = p->ib > 0 ? &c->out : &c->add;
    for (int ob = p->ob; ob < p->ob + p->outs; ob++) {
        struct outlet o = {c->width - x, c->rows - y, c->bias && p->ib == 0 ? c->bias + ob * L : NULL,
                           NULL,         add->row,    c->out.at + ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L,
                           c->out.row};
        if (add->at)
            o.add = add->at + ob * add->block + y * add->row + (ptrdiff_t)x * L;
        use.half = ob == c->out_blocks - 1 && winograd_half(c->out_lanes);
        for (int s = 0; s < SPOTS; s++) {
            prefetch_ahead(&next);
            winograd_products(tiles, p->ins, use, p->inputs + s * spot, block,
                              p->weights + (ob - p->ob) * p->weight_block + (ptrdiff_t)(s * p->ins) * TILE,
                              p->middle + (ptrdiff_t)(s * MOST) * L);
        }
        (use.half ? transform_output_half : transform_output)(p->middle, tiles, &o);
    }
}

static void row_moments(const struct conv_call *c, int y)
{
    for (int r = y; r < y + 4 && r < c->rows && c->moments; r++)
        fast_row_moments(c->out_blocks, c->width, c->out.at + r * c->out.row, c->out.block, c->moments, r);
}

/* Computes one part of a forward pass. moments: whether to compute the moments too, because this part is the whole
 * pass. */
static void forward_part(const struct conv_call *c, const struct part *p, bool moments)
{
    int across = (c->width + 3) / 4, groups = (across + MOST - 1) / MOST;
    for (int y = 0; y < c->rows; y += 4) {
        for (int g = 0, x = 0; g < groups; g++) {
            int tiles = across / groups + (g < across % groups);
            forward_group(c, p, y, x, tiles);
            x += 4 * tiles;
        }
        if (moments)
            row_moments(c, y);
    }
}

void fast_winograd4_forward(const struct conv_call *c)
{
    _Alignas(64) float weights[GROUP * GROUP * CONV_TRANSFORMED], inputs[INPUTS * SPOTS * MOST * L],
        middle[SPOTS * MOST * L];
    int outs = c->transformed ? c->out_blocks : GROUP, ins = c->transformed ? INPUTS : GROUP;
    bool whole = outs >= c->out_blocks && ins >= c->in_blocks;
    for (int ob = 0; ob < c->out_blocks; ob += outs) {
        for (int ib = 0; ib < c->in_blocks; ib += ins) {
            struct part p = {.ob = ob, .ib = ib, .inputs = inputs, .middle = middle};
            p.outs = c->out_blocks - ob < outs ? c->out_blocks - ob : outs;
            p.ins = c->in_blocks - ib < ins ? c->in_blocks - ib : ins;
            p.weight_block = (ptrdiff_t)(c->transformed ? c->in_blocks : p.ins) * CONV_TRANSFORMED;
            p.weights = c->transformed ? c->transformed + ob * p.weight_block + ib * CONV_TRANSFORMED : weights;
            for (int o = 0; o < p.outs && !c->transformed; o++)
                transform_block(c, ob + o, ib, p.ins, weights + o * p.weight_block);
            forward_part(c, &p, whole);
        }
    }
    for (int y = 0; y < c->rows && !whole; y += 4)
        row_moments(c, y);
}

/* Finishes A dY A' for one tile: the caller has multiplied the columns by A, and this function multiplies the rows.
 * z[x]: the product of column x. to: [36], `stride` apart. */
INLINE void dout_tile(vf z[4][SIDE], float *to, ptrdiff_t stride)
{
    UNROLL for (int r = 0; r < SIDE; r++)
    {
        vf d[4], out[SIDE];
        UNROLL for (int x = 0; x < 4; x++) d[x] = z[x][r];
        dout_line(d, out);
        UNROLL for (int x = 0; x < SIDE; x++) v_store(to + (r * SIDE + x) * stride, out[x]);
    }
}

/* Computes A dY A' for `tiles` tiles of V channels (one register). at: the first pixel of four rows. */
static void transform_dout(const float *at, ptrdiff_t row, int across, int down, int tiles, float *to, ptrdiff_t stride)
{
    for (int t = 0; t < tiles; t++) {
        vf z[4][SIDE];
        UNROLL for (int x = 0; x < 4; x++)
        {
            vf d[4];
            UNROLL for (int r = 0; r < 4; r++) d[r] =
                4 * t + x < across && r < down ? v_load(at + r * row + (ptrdiff_t)(4 * t + x) * L) : v_zero();
            dout_line(d, z[x]);
        }
        dout_tile(z, to + t * L, stride);
    }
}

#if V_WIDE
/* transform_dout() for a half block, in which each register contains two tiles. */
static void transform_dout_half(const float *at, ptrdiff_t row, int across, int down, int tiles, float *to,
                                ptrdiff_t stride)
{
    const int h = (tiles + 1) / 2;
    for (int t = 0; t < h; t++) {
        vf z[4][SIDE];
        UNROLL for (int x = 0; x < 4; x++)
        {
            vf d[4];
            vm there = v_halves_mask(4 * t + x < across, 4 * (t + h) + x < across && t + h < tiles);
            UNROLL for (int r = 0; r < 4; r++)
            {
                const float *low = at + r * row + (ptrdiff_t)(4 * t + x) * L;
                d[r] = r < down ? v_halves_part(low, low + (ptrdiff_t)(4 * h) * L, there) : v_zero();
            }
            dout_line(d, z[x]);
        }
        dout_tile(z, to + t * L, stride);
    }
}
#endif

/* Adds G' sums G to dweights[9][16][16], for one pair of blocks. sums: [36][16 in][16 out]. */
static void untransform_weights(const float *sums, float *dweights)
{
    for (int at = 0; at < TILE; at += V) {
        vf down[3][SIDE];
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < SIDE; x++) {
                down[y][x] = v_zero();
                for (int r = 0; r < SIDE; r++)
                    down[y][x] = v_fma(v_all(g_rows[r][y]), v_load(sums + (r * SIDE + x) * TILE + at), down[y][x]);
            }
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 3; x++) {
                float *to = dweights + (y * 3 + x) * TILE + at;
                vf sum = v_zero();
                for (int k = 0; k < SIDE; k++)
                    sum = v_fma(v_all(g_rows[k][x]), down[y][k], sum);
                v_store(to, v_add(v_load(to), sum));
            }
    }
}

struct gradient_scratch {
    _Alignas(64) float sums[GROUP * GROUP * SPOTS * TILE]; /* [out block][in block][36][16 in][16 out] */
    _Alignas(64) float inputs[GROUP * SPOTS * ROW * L];    /* [in block][36][tiles][16] transformed inputs */
    _Alignas(64) float douts[SPOTS * ROW * L];             /* transformed gradients of one output block at a time */
};

static struct winograd_use gradient_use(const struct conv_gradient_call *c, int ob, int ib)
{
    return winograd_use(ib == c->in_blocks - 1 ? c->in_lanes : 0, ob == c->out_blocks - 1 ? c->out_lanes : 0);
}

static void gradient_dout(const struct conv_gradient_call *c, int ob, int y, int x, int tiles, float *to,
                          ptrdiff_t stride)
{
    const float *dout = c->dout.at + ob * c->dout.block + y * c->dout.row + (ptrdiff_t)x * L;
    bool half = gradient_use(c, ob, 0).half;
#if V_WIDE
    if (half) {
        transform_dout_half(dout, c->dout.row, c->width - x, c->rows - y, tiles, to, stride);
        return;
    }
#endif
    for (int g = 0; g < (half ? 1 : PV); g++)
        transform_dout(dout + g * V, c->dout.row, c->width - x, c->rows - y, tiles, to + g * V, stride);
}

/* Adds the products of `tiles` neighbouring tiles for every pair of an output block in [ob, ob + outs) and an input
 * block in [ib, ib + ins). The first tile is at (y, x). */
static void gradient_group(const struct conv_gradient_call *c, int ob, int ib, int outs, int ins, int y, int x,
                           int tiles, struct gradient_scratch *s)
{
    ptrdiff_t stride = (ptrdiff_t)(tiles | 1) * L;
    bool in_half = gradient_use(c, ob, ib + ins - 1).in_half;
    struct map_strip from = {c->in.at + ib * c->in.block, c->in.block, c->in.row};
    struct map_strip to = {c->dout.at + ob * c->dout.block, c->dout.block, c->dout.row};
    struct ahead next = ahead(from, ins, to, outs, y, x, tiles, outs * ins * SPOTS / 2);
    for (int b = 0; b < (ins - in_half) * PV + in_half; b++) {
        struct inlet in = inlet(&c->norm, &c->in, c->rows, c->width, ib * L + b * V, y, x);
        transform_input(&in, in_half && b / PV == ins - 1, tiles, s->inputs + b / PV * SPOTS * stride + b % PV * V,
                        stride);
    }
    for (int o = 0; o < outs; o++) {
        gradient_dout(c, ob + o, y, x, tiles, s->douts, stride);
        for (int i = 0; i < ins; i++) {
            const float *inputs = s->inputs + i * SPOTS * stride;
            float *sums = s->sums + (ptrdiff_t)(o * ins + i) * SPOTS * TILE;
            struct winograd_use use = gradient_use(c, ob + o, ib + i);
            for (int spot = 0; spot < SPOTS; spot += 2) {
                prefetch_ahead(&next);
                winograd_outer(tiles, use, inputs + spot * stride, s->douts + spot * stride, stride,
                               sums + spot * TILE);
            }
        }
    }
}

static void collect_pair(const struct conv_gradient_call *c, int ob, int ib, float *sums)
{
    for (int spot = 0; spot < SPOTS && gradient_use(c, ob, ib).half; spot++)
        winograd_unhalve(sums + spot * TILE);
    untransform_weights(sums, c->dweights + (ptrdiff_t)(ob * c->in_blocks + ib) * 9 * TILE);
}

void fast_winograd4_gradient(const struct conv_gradient_call *c)
{
    struct gradient_scratch s;
    int across = (c->width + 3) / 4, groups = (across + ROW - 1) / ROW;
    for (int ob = 0; ob < c->out_blocks; ob += GROUP) {
        for (int ib = 0; ib < c->in_blocks; ib += GROUP) {
            int outs = c->out_blocks - ob < GROUP ? c->out_blocks - ob : GROUP;
            int ins = c->in_blocks - ib < GROUP ? c->in_blocks - ib : GROUP;
            memset(s.sums, 0, (size_t)(outs * ins * SPOTS * TILE) * sizeof *s.sums);
            for (int y = 0; y < c->rows; y += 4) {
                for (int g = 0, x = 0; g < groups; g++) {
                    int tiles = across / groups + (g < across % groups);
                    gradient_group(c, ob, ib, outs, ins, y, x, tiles, &s);
                    x += 4 * tiles;
                }
            }
            for (int pair = 0; pair < outs * ins; pair++)
                collect_pair(c, ob + pair / ins, ib + pair % ins, s.sums + (ptrdiff_t)pair * SPOTS * TILE);
        }
    }
}
