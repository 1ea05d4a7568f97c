/* The first convolution of a network, from planes to the blocked layout.
 *
 * planar_* run over all positions. The forward kernel keeps the sums of TILE_PIXELS pixels in registers, while it goes
 * through the channels. The gradient kernel keeps two sums for each channel: one over the even pixels of a row and one
 * over the odd pixels. So additions do not wait for each other.
 *
 * sites_* run over the values that are not zero. For each such value, the forward kernel adds a column of weights to
 * each output pixel whose window contains the value. A row of outputs stays in the first-level cache. The gradient
 * kernel keeps the sums of TAPS neighbouring taps in registers. Both kernels leave out products with zero. They add all
 * other products in the same order as planar_* would (see sites_call in kernels.h).
 *
 * sum_rows adds up rows of weights, or of gradients, for words. */
#include "core/kernels/fast/fast.h"
#include "core/kernels/fast/simd.h"

enum {
    L = MAP_LANES,
    TILE_PIXELS = V_TILE(8),
    CHANNELS = 4,         /* channels of planar_gradient whose sums are in registers together */
    TAPS = V_WIDE ? 8 : 4 /* taps of sites_gradient whose sums are in registers together */
};

/* Computes one row of `n` pixels of one register of output channels; n is a constant after inlining. */
INLINE void forward_tile(int n, const struct planar_call *c, const float *in, const float *w, vf bias, float *out)
{
    size_t padded = (size_t)c->out_blocks * L;
    vf acc[TILE_PIXELS];
    UNROLL for (int p = 0; p < n; p++) acc[p] = bias;
    for (int i = 0; i < c->channels; i++, in += c->in_plane, w += padded) {
        vf weight = v_load(w);
        UNROLL for (int p = 0; p < n; p++) acc[p] = v_fma(v_all(in[p]), weight, acc[p]);
    }
    UNROLL for (int p = 0; p < n; p++) v_store(out + p * L, acc[p]);
}

void FAST(planar_forward)(const struct planar_call *c)
{
    for (int y = 0; y < c->rows; y++) {
        const float *in = c->in + y * c->in_row;
        for (int g = 0; g < c->out_blocks * PV; g++) {
            float *out = c->out.at + g / PV * c->out.block + y * c->out.row + g % PV * V;
            const float *w = c->weights + (ptrdiff_t)g * V;
            vf bias = c->bias ? v_load(c->bias + g * V) : v_zero();
            int x = 0;
            for (; x + TILE_PIXELS <= c->width; x += TILE_PIXELS)
                forward_tile(TILE_PIXELS, c, in + x, w, bias, out + (ptrdiff_t)x * L);
            for (; x < c->width; x++)
                forward_tile(1, c, in + x, w, bias, out + (ptrdiff_t)x * L);
        }
        if (c->moments)
            fast_row_moments(c->out_blocks, c->width, c->out.at + y * c->out.row, c->out.block, c->moments, y);
    }
}

/* Adds the gradients of `n` channels over one row; n is a constant after inlining. */
INLINE void gradient_row(int n, const struct planar_call *c, const float *in, const float *dout, float *dweights)
{
    size_t padded = (size_t)c->out_blocks * L;
    vf even[CHANNELS], odd[CHANNELS];
    int x = 0;
    UNROLL for (int i = 0; i < n; i++) even[i] = odd[i] = v_zero();
    for (; x + 1 < c->width; x += 2) {
        vf first = v_load(dout + (ptrdiff_t)x * L), second = v_load(dout + (ptrdiff_t)(x + 1) * L);
        UNROLL for (int i = 0; i < n; i++)
        {
            even[i] = v_fma(v_all(in[i * c->in_plane + x]), first, even[i]);
            odd[i] = v_fma(v_all(in[i * c->in_plane + x + 1]), second, odd[i]);
        }
    }
    UNROLL for (int i = 0; i < n; i++)
    {
        if (x < c->width)
            even[i] = v_fma(v_all(in[i * c->in_plane + x]), v_load(dout + (ptrdiff_t)x * L), even[i]);
        float *to = dweights + (size_t)i * padded;
        v_store(to, v_add(v_load(to), v_add(even[i], odd[i])));
    }
}

void FAST(planar_gradient)(const struct planar_call *c)
{
    size_t padded = (size_t)c->out_blocks * L;
    for (int y = 0; y < c->rows; y++) {
        for (int g = 0; g < c->out_blocks * PV; g++) {
            const float *dout = c->out.at + g / PV * c->out.block + y * c->out.row + g % PV * V;
            const float *in = c->in + y * c->in_row;
            float *dweights = c->dweights + (ptrdiff_t)g * V;
            int i = 0;
            for (; i + CHANNELS <= c->channels; i += CHANNELS)
                gradient_row(CHANNELS, c, in + i * c->in_plane, dout, dweights + (size_t)i * padded);
            for (; i < c->channels; i++)
                gradient_row(1, c, in + i * c->in_plane, dout, dweights + (size_t)i * padded);
        }
        if (c->dbias)
            for (int ob = 0; ob < c->out_blocks; ob++)
                fast_row_sums(1, c->width, c->out.at + ob * c->out.block + y * c->out.row, 0, c->dbias + ob * L);
    }
}

/* Returns a pointer `first`: the non-zero values (sites) of one row of a plane have the indices i with first[0] <=
 * i < first[1]. A row outside the image has none. */
static const int *row_sites(const struct sites_call *c, int plane, int row)
{
    static const int none[2] = {0, 0};
    return row < 0 || row >= c->height ? none : c->sites.first + (ptrdiff_t)plane * c->height + row;
}

/* Multiplies an input value in column `q` of the strip by the weights of one kernel row, and adds the products to the
 * outputs. */
static void add_site(const struct sites_call *c, int q, float value, const float *w, float *out)
{
    const ptrdiff_t padded = (ptrdiff_t)c->out_blocks * L;
    int at = q + c->kernel_w / 2; /* column of the output to which tap 0 adds; tap k adds to column `at` - k */
    int from = at >= c->width ? at - c->width + 1 : 0, to = at < c->kernel_w ? at + 1 : c->kernel_w;
    vf all = v_all(value);
    for (int k = from; k < to; k++) {
        float *o = out + (ptrdiff_t)(at - k) * L;
        v_store(o, v_fma(all, v_load(w + k * padded), v_load(o)));
    }
}

void FAST(sites_forward)(const struct sites_call *c)
{
    const ptrdiff_t padded = (ptrdiff_t)c->out_blocks * L, per_row = c->kernel_w * padded;
    for (int y = 0; y < c->rows; y++) {
        for (int g = 0; g < c->out_blocks * PV; g++) {
            float *out = c->out.at + g / PV * c->out.block + y * c->out.row + g % PV * V;
            vf bias = c->bias ? v_load(c->bias + g * V) : v_zero();
            for (int x = 0; x < c->width; x++)
                v_store(out + (ptrdiff_t)x * L, bias);
            const float *w = c->weights + (ptrdiff_t)g * V;
            for (int p = 0; p < c->planes; p++)
                for (int ky = 0; ky < c->kernel_h; ky++, w += per_row) {
                    const int *first = row_sites(c, p, c->row + y + ky - c->kernel_h / 2);
                    for (int i = first[0]; i < first[1]; i++)
                        add_site(c, c->sites.col[i] - c->col, c->sites.value[i], w, out);
                }
        }
        if (c->moments)
            fast_row_moments(c->out_blocks, c->width, c->out.at + y * c->out.row, c->out.block, c->moments, y);
    }
}

/* Adds the gradients of the taps [k, k + n) of one kernel row, summed over the non-zero values (sites) of one row. n is
 * a constant after inlining. */
INLINE void gradient_taps(int n, const struct sites_call *c, const int *first, int k, const float *dout,
                          float *dweights)
{
    const ptrdiff_t padded = (ptrdiff_t)c->out_blocks * L;
    vf sum[2][TAPS]; /* two sums for each tap: [0] over the sites with even `at` (below), [1] with odd `at` */
    UNROLL for (int t = 0; t < n; t++) sum[0][t] = sum[1][t] = v_zero();
    for (int i = first[0]; i < first[1]; i++) {
        /* tap k of the output in column `at` reads this site, and so does tap k + t of the output in column `at` - t */
        int at = c->sites.col[i] - c->col + c->kernel_w / 2 - k;
        if (at < 0 || at - n + 1 >= c->width)
            continue;
        const float *d = dout + (ptrdiff_t)at * L;
        vf all = v_all(c->sites.value[i]);
        if (at >= c->width || at - n + 1 < 0) {
            UNROLL for (int t = 0; t < n; t++) if (at - t >= 0 && at - t < c->width)
            {
                vf product = v_fma(all, v_load(d - (ptrdiff_t)t * L), at & 1 ? sum[1][t] : sum[0][t]);
                if (at & 1)
                    sum[1][t] = product;
                else
                    sum[0][t] = product;
            }
        } else if (at & 1) {
            UNROLL for (int t = 0; t < n; t++) sum[1][t] = v_fma(all, v_load(d - (ptrdiff_t)t * L), sum[1][t]);
        } else {
            UNROLL for (int t = 0; t < n; t++) sum[0][t] = v_fma(all, v_load(d - (ptrdiff_t)t * L), sum[0][t]);
        }
    }
    UNROLL for (int t = 0; t < n; t++)
    {
        float *to = dweights + (k + t) * padded;
        v_store(to, v_add(v_load(to), v_add(sum[0][t], sum[1][t])));
    }
}

void FAST(sites_gradient)(const struct sites_call *c)
{
    const ptrdiff_t padded = (ptrdiff_t)c->out_blocks * L, per_row = c->kernel_w * padded;
    for (int y = 0; y < c->rows; y++) {
        for (int g = 0; g < c->out_blocks * PV; g++) {
            const float *dout = c->out.at + g / PV * c->out.block + y * c->out.row + g % PV * V;
            float *dweights = c->dweights + (ptrdiff_t)g * V;
            for (int p = 0; p < c->planes; p++)
                for (int ky = 0; ky < c->kernel_h; ky++, dweights += per_row) {
                    const int *first = row_sites(c, p, c->row + y + ky - c->kernel_h / 2);
                    int k = 0;
                    if (first[0] == first[1])
                        continue;
                    for (; k + TAPS <= c->kernel_w; k += TAPS)
                        gradient_taps(TAPS, c, first, k, dout, dweights);
                    for (; k < c->kernel_w; k++)
                        gradient_taps(1, c, first, k, dout, dweights);
                }
        }
        if (c->dbias)
            for (int ob = 0; ob < c->out_blocks; ob++)
                fast_row_sums(1, c->width, c->out.at + ob * c->out.block + y * c->out.row, 0, c->dbias + ob * L);
    }
}

void FAST(sum_rows)(const struct sum_rows_call *c)
{
    for (int g = 0; g < c->blocks * PV; g++) {
        ptrdiff_t at = g / PV * c->from_block + g % PV * V;
        vf sum = c->start ? v_load(c->start + g * V) : v_zero();
        for (int i = 0; i < c->count; i++)
            sum = v_add(sum, v_load(c->from[i] + at));
        v_store(c->to + g / PV * c->to_block + g % PV * V, sum);
    }
}
