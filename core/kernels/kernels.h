/* The table of compute kernels.
 *
 * A kernel is a serial function over a stated piece of work and keeps nothing between calls: an
 * operation splits its work into chunks fixed by the shapes, and runs them on a pool. There are up
 * to three tables: "ref" (plain C in `real`, the definition), "avx2" and "avx512" (float only, equal
 * to ref up to rounding). Every table is complete. For one table results depend on the arguments
 * alone; sums run in a fixed order.
 *
 * Words used below
 *   map, strip    blocked maps, map.h. `blocks` counts blocks of 16 channels. A per-channel vector
 *                 given to a map kernel has 16 * blocks entries, zero in the padding channels.
 *   rows          a table [rows][columns], `ld_x` reals from one row of x to the next (>= columns).
 *   partial       a gradient buffer that belongs to one chunk; kernels add to it, the caller clears it
 *                 first and adds the partials up in chunk order.
 * Inputs and outputs do not overlap unless said. No alignment is required beyond that of `real`, but
 * 64 bytes is faster. */
#ifndef MOTIF_CORE_KERNELS_KERNELS_H
#define MOTIF_CORE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/real.h"
#include "core/kernels/map.h"

/* ---- maps: convolution ------------------------------------------------------------------------- */

/* Batch norm and ReLU on the way into a 3x3 convolution: each pixel of the image counts as max(0, in * scale + shift),
 * the halo as 0. Columns -1 and `width` of such a strip are halo; `above` and `below` say whether rows -1 and `rows`
 * are of the image. scale NULL: the input as it is. For at most CONV_NORM_BLOCKS blocks on either side. */
enum { CONV_NORM_BLOCKS = 4 };
struct conv_norm {
    const real *scale, *shift; /* [16 in_blocks] */
    bool above, below;
};

/* Stride-1 "same" convolution of a strip: `rows` x `width` output pixels. kernel_h is 1 or 3; kernel_w is 1 or 3, or
 * with kernel_h 1 any odd number, of taps `dilation` columns apart (0: 1; others only without a norm). The input strip
 * stands at the pixel under the centre tap of output pixel (0, 0); the pixels that the other taps reach must be
 * readable (a halo, or neighbouring rows and columns).
 *
 *     out = weights * in + bias + add
 *
 * `weights`: conv_pack() or, for the gradient of the input, conv_pack_transposed() with `in` = the
 * gradient of the output. `bias`: [16 out_blocks] or NULL. `add`: optional strip, may be `out` itself.
 * `moments`: NULL, or [2][16 out_blocks], overwritten with the mean and the sum of squared deviations
 * from it of the strip's rows * width outputs, for moments_merge().
 * The vector tables compute 3x3 by Winograd's algorithm in tiles of 4x4 outputs (rows of a strip best come in
 * multiples of 4); rounding stays below 3e-6 of the largest output at 64 channels. */
struct conv_call {
    int in_blocks, out_blocks, kernel_h, kernel_w, rows, width;
    struct map_strip in, out, add;
    const real *weights, *bias;
    double *moments;
    struct conv_norm norm;
    int dilation;
};

/* Gradient of the weights over a strip: dweights[o][i][kh][kw] += sum of dout[o] * in[i] shifted.
 * `dweights`: packed partial of conv_packed_size(), `dbias`: [16 out_blocks] partial or NULL. */
struct conv_gradient_call {
    int in_blocks, out_blocks, kernel_h, kernel_w, rows, width;
    struct map_strip in, dout;
    real *dweights, *dbias;
    struct conv_norm norm;
    int dilation;
};

/* 1x1 convolution of a planar input of few channels: out[o] = bias[o] + sum_c weights[o][c] in[c].
 * `in`: [channels] planes `in_plane` apart, rows `in_row` apart. `weights`: [16 out_blocks][channels],
 * zero in padding rows. `moments` as above. Backward: dout in, dweights and dbias partials of the same
 * shapes. The input gets no gradient: it is data. */
struct planar_call {
    int channels, out_blocks, rows, width;
    const real *in;
    ptrdiff_t in_plane, in_row;
    struct map_strip out; /* forward: written; gradient: dout, read */
    const real *weights, *bias;
    double *moments;
    real *dweights, *dbias;
};

/* ---- maps: batch norm, sparse layer ------------------------------------------------------------ */

/* y = x * scale + shift, with `relu` max(0, that). `y` may be `x`. */
struct affine_call {
    int blocks, rows, width;
    bool relu;
    struct map_strip x, y;
    const real *scale, *shift;
};

/* Backward of batch norm (+ ReLU). With dy' = dy where x * scale + shift > 0, else 0 (all of dy
 * without `relu`) and xhat = (x - mean) * inv_std:
 *   norm_sums      sums[0][c] = sum dy', sums[1][c] = sum dy' * xhat over the strip (overwritten).
 *   norm_backward  dx = a * dy' + b * (x - mean) + c + add, per channel. Training: a = gamma inv_std,
 *                  b = -gamma inv_std^2 sums[1] / n, c = -gamma inv_std sums[0] / n over all n pixels of
 *                  the batch; frozen statistics: b = c = 0 (NULL). `dx` may be `dy` or `add`. */
struct norm_call {
    int blocks, rows, width;
    bool relu;
    struct map_strip x, dy, dx, add;
    const real *scale, *shift, *mean, *inv_std;
    const real *a, *b, *c;
    double *sums; /* [2][16 blocks] */
};

/* Sparse layer: y = max(0, x - threshold). `active`: [16 blocks] counts of y > 0, added to; may be
 * NULL. Backward (map_mask): dx = dy where y > 0, else 0; dx may be dy. */
struct threshold_call {
    int blocks, rows, width;
    struct map_strip x, y;
    const real *threshold;
    int64_t *active;
};

/* The values over which a quantile is taken: `channels` channels of a map. */
struct kth_set {
    const real *at; /* first pixel inside the halo of image 0, block 0 */
    int images, channels, height, width;
    ptrdiff_t image, block, row;
};

enum { KTH_SCRATCH_BYTES = 1 << 22 };

/* The values of one block above a bound of their channel, in scan order behind those that are there: list[c] has room
 * for `room`, count[c] counts on when it is full. A bound of infinity closes a channel. */
struct above_call {
    int rows, width, room;
    struct map_strip x;
    const real *bound; /* [16] */
    real *list;        /* [16][room] */
    int *count;        /* [16] */
};

/* ---- maps: pooling ----------------------------------------------------------------------------- */

/* Non-overlapping max-pool of max_pool_h x max_pool_w windows, floor; a tie goes to the first pixel in scan
 * order. `rows` x `width` counts windows; `in` stands at the first window's first pixel. `arg`:
 * [blocks][rows][width][16], position in the window, dy * max_pool_w + dx. Backward writes din over all
 * rows * max_pool_h x din_width pixels (those outside any window get 0). */
struct max_pool_call {
    int blocks, rows, width, max_pool_h, max_pool_w;
    struct map_strip in, out;
    uint16_t *arg;
    int din_rows, din_width; /* backward: what to write, >= rows * max_pool_h and width * max_pool_w */
};

/* 1x1 convolution to `features` followed by max-pooling, without the map in between.
 *
 *     tokens[w][d] = max over pixels p of window w of  bias[d] + sum_c weights[d][c] in[p][c]
 *
 * Windows as in max_pool_call; token w = row * width + column. A pixel whose channels are all zero has the
 * value bias[d], and competes like any other, so a tie goes to the first in scan order. Time falls
 * with the number of active pixels.
 * `packed`: embed_pack(). `arg`: [rows * width][features].
 * Backward: dtokens in (ld_tokens); din (if there) written over din_rows x din_width pixels; dweights
 * [features][16 blocks] and dbias [features] partials, each may be NULL. */
struct embed_call {
    int blocks, rows, width, max_pool_h, max_pool_w, features;
    struct map_strip in;
    const real *packed, *bias;
    real *tokens;
    ptrdiff_t ld_tokens;
    uint16_t *arg;
    /* backward */
    const real *dtokens;
    struct map_strip din;
    int din_rows, din_width;
    real *dweights, *dbias;
};

/* ---- rows -------------------------------------------------------------------------------------- */

/* C = alpha op(A) op(B) + beta C; row-major; op(A) is m x k, op(B) is k x n. beta 0 does not read C. */
struct gemm_call {
    bool transpose_a, transpose_b;
    int m, n, k;
    real alpha, beta;
    const real *a, *b;
    real *c;
    ptrdiff_t lda, ldb, ldc;
};

/* C = S T, or C += S T with `add`, where S is sparse: its row r holds value[i] in column index[i] for the count[r]
 * indices i from start[r] on. T: [.][columns]. Products are added in the order of i. */
struct sparse_call {
    int rows, columns;
    bool add;
    const int *start, *count;
    const int32_t *index;
    const real *value, *t;
    real *c;
    ptrdiff_t ld_t, ld_c;
};

/* Softmax over columns [0, n_r) of each row, n_r = min(limit, causal ? r + 1 + offset : columns);
 * the rest of the row becomes 0. `x` is multiplied by `scale` first. y may be x.
 * Backward: dx = scale * y * (dy - sum y dy); dx may be dy. A row with n_r <= 0 becomes all 0. */
struct softmax_call {
    int rows, columns, limit, offset;
    bool causal;
    real scale;
    const real *x, *dy;
    real *y, *dx; /* backward reads y */
    ptrdiff_t ld_x, ld_y, ld_dy, ld_dx;
};

/* Layer norm: y = (x - mean) * inv_std * gamma + beta with biased variance + epsilon; mean and inv_std
 * are kept per row. Backward: dx (written, + add when add is not NULL; may be add or dy) and the
 * partials dgamma, dbeta. */
struct layer_norm_call {
    int rows, columns;
    real epsilon;
    const real *x, *gamma, *beta, *dy, *add;
    real *y, *mean, *inv_std, *dx, *dgamma, *dbeta;
    ptrdiff_t ld_x, ld_y, ld_dy, ld_dx, ld_add;
};

/* Position of a random number: element `index` of draw `stream` in `step` of the run `seed`
 * (core/base/philox.h). */
struct random_at {
    uint64_t seed, step;
    uint32_t stream;
    uint64_t index;
};

/* Inverted dropout of `count` values: y[i] = (add ? add[i] : 0) + x[i] * (kept(i) ? 1 / (1 - p) : 0),
 * where element i is dropped when the 32-bit word at `at.index + i` is below p * 2^32. at.index must be
 * a multiple of 4. y may be x or add. Its own backward (with add = NULL): the mask is a pure
 * function of `at`. p = 0 copies or adds. x2 and y2 (or NULL both): a second pair under the same mask, without add. */
struct dropout_call {
    size_t count;
    double p;
    struct random_at at;
    const real *x, *add;
    real *y;
    const real *x2;
    real *y2;
};

/* LSTM cell over `rows` sequences, gate order i, f, g, o in `gates` [rows][4 hidden].
 * Forward: gates come in as sums before the nonlinearity, leave as i, f, tanh g, o; c and h written
 * ([rows][hidden], c contiguous, h with ld_h). c_prev NULL: zeros.
 * Backward: gates as left by forward, dh (ld_h) and dc (contiguous, in: gradient of c from later
 * steps; out: gradient of c_prev), dgates [rows][4 hidden] written (before the nonlinearity). */
struct lstm_call {
    int rows, hidden;
    real *gates;
    ptrdiff_t ld_gates, ld_h, ld_dgates;
    const real *c_prev;
    real *c, *h;
    const real *dh;
    real *dc, *dgates;
};

/* Softmax cross-entropy: for row r with target t_r >= 0, loss[r] = -log softmax(logits[r])[t_r] and
 * dlogits[r] = scale * (softmax - onehot); rows with t_r < 0 get 0 in both. dlogits may be NULL or
 * `logits`. best: NULL or index of the largest logit, first on a tie. */
struct cross_entropy_call {
    int rows, classes;
    real scale;
    const real *logits;
    const int32_t *targets;
    ptrdiff_t ld_logits, ld_dlogits;
    real *loss, *dlogits;
    int32_t *best;
};

/* Sums of shifted rows of a table, for BANDED_PAIRS pairs of outputs at a time. A term adds its row to both outputs of
 * a pair, or to the second with the other sign; terms are listed by which it is, bit q of a pattern standing for pair
 * q:
 *
 *     out[2 q][c]     += sum over terms of f t                        f = factor[q], t = table[offset + shift + c]
 *     out[2 q + 1][c] += sum over terms of (bit q of its pattern ? -f t : f t)       c in [0, BANDED_WIDTH)
 *
 * A pair's two sums of terms alike and unalike are kept apart until the end, so each term costs one operation a pair.
 * What a product of a banded matrix with vectors that differ in signs is, where few of its columns count. */
enum { BANDED_WIDTH = 64, BANDED_PAIRS = 4, BANDED_ROWS = 2 * BANDED_PAIRS, BANDED_PATTERNS = 1 << BANDED_PAIRS };
struct banded_term {
    ptrdiff_t offset, first; /* first: the caller's */
    real factor[BANDED_PAIRS];
};
struct banded_call {
    const real *table;
    const struct banded_term *terms;
    int begin[BANDED_PATTERNS], end[BANDED_PATTERNS]; /* terms of each pattern */
    ptrdiff_t shift;
    real *out; /* [BANDED_ROWS][BANDED_WIDTH] */
};

/* Rows of a layer that is linear in two numbers of each row, and a head on each: with x = bias + s[0] p[0] + s[1] p[1],
 *     values[r] = v . max(0, x), v the head of the row's feature.
 * Backward, with g = values[r] and d = g v where x > 0, else 0:
 *     pulls[r] = {d . p[0], d . p[1]}; added: dheads[feature] += g max(0, x), dbias += d, dp[t] += s[t] d. */
struct arc_row {
    real s[2];
    int32_t sample, feature; /* sample: the caller's */
};
struct arc_call {
    int count, width; /* of rows; of p, bias and heads */
    const struct arc_row *rows;
    const real *p[2], *bias, *heads;      /* heads: [features][width] */
    real *values;                         /* [count] */
    real *pulls, *dheads, *dbias, *dp[2]; /* pulls: [count][2], written; dheads may be NULL */
};

/* Adam as in Kingma & Ba, in the arrangement of torch.optim.Adam: with g = gradient_scale * gradient,
 * m += (1 - beta1)(g - m), v = beta2 v + (1 - beta2) g^2,
 * w -= rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon). t counts from 1. */
struct adam_call {
    size_t count;
    int64_t t;
    double rate, beta1, beta2, epsilon, gradient_scale;
    const real *gradient;
    real *weight, *m, *v;
};

/* ---- the table --------------------------------------------------------------------------------- */

struct kernels {
    const char *name; /* "ref", "avx2", "avx512" */

    void (*conv_forward)(const struct conv_call *call);
    void (*conv_gradient)(const struct conv_gradient_call *call);
    void (*planar_forward)(const struct planar_call *call);
    void (*planar_gradient)(const struct planar_call *call);

    /* moments [2][16 blocks] of a strip, overwritten; see conv_call. */
    void (*map_moments)(int blocks, int rows, int width, struct map_strip x, double *moments);
    void (*map_affine)(const struct affine_call *call);
    void (*norm_sums)(const struct norm_call *call);
    void (*norm_backward)(const struct norm_call *call);
    /* sums[c] += sum of x over the strip. */
    void (*map_sums)(int blocks, int rows, int width, struct map_strip x, double *sums);
    void (*map_add)(int blocks, int rows, int width, struct map_strip x, struct map_strip y); /* y += x */
    void (*map_threshold)(const struct threshold_call *call);
    void (*map_mask)(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx);

    /* out[c], c in [0, channels) of block `block` (16 values, fewer in the last): the k-th smallest
     * (1-based) value of that channel. Exact for any data without NaN. */
    void (*kth_block)(const struct kth_set *set, int block, int64_t k, real *out, void *scratch);
    /* The same over all channels together. */
    real (*kth_all)(const struct kth_set *set, int64_t k, void *scratch);
    void (*collect_above)(const struct above_call *call);

    void (*max_pool_forward)(const struct max_pool_call *call);
    /* `out` holds the gradient of the pooled map, `in` is written with that of the input. */
    void (*max_pool_backward)(const struct max_pool_call *call);
    void (*embed_max_pool_forward)(const struct embed_call *call);
    void (*embed_max_pool_backward)(const struct embed_call *call);

    void (*gemm)(const struct gemm_call *call);
    /* The same of numbers rounded to bf16, to nearest even: 8 bits of precision, products and sums as floats. */
    void (*gemm_bf16)(const struct gemm_call *call);
    void (*sparse_gemm)(const struct sparse_call *call);
    /* Where x is not zero: index (ascending, counted from `first`) and value, `count` of room each. Returns how many.
     */
    int (*nonzeros)(int count, const real *x, int32_t first, int32_t *index, real *value);
    /* x[r][j] += bias[j]; bias_relu then takes max(0, .). ReLU anywhere here lets NaN pass. */
    void (*bias_add)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
    void (*bias_relu)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
    /* dx[i] = y[i] > 0 ? dy[i] : 0 over count values; dx may be dy. */
    void (*relu_backward)(size_t count, const real *y, const real *dy, real *dx);
    /* sums[j] += sum over rows of x[r][j], rows in order. */
    void (*column_sums)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums);
    void (*add)(size_t count, const real *x, real *y);               /* y += x */
    void (*scale)(size_t count, real factor, real *x);               /* x *= factor */
    void (*axpy)(size_t count, real factor, const real *x, real *y); /* y += factor x */
    real (*dot)(size_t count, const real *x, const real *y);         /* sum of x y */
    void (*arc_forward)(const struct arc_call *call);
    void (*arc_backward)(const struct arc_call *call);
    void (*banded_sum)(const struct banded_call *call);
    /* peaks[r] = max(peaks[r], |x[r][c]|) over c in [0, columns). */
    void (*row_peaks)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks);
    /* y[r] = x[r] + table[((first + r) / divisor) % period]: positional encodings. y may be x. */
    void (*add_periodic)(int rows, int columns, int first, int divisor, int period, const real *table, const real *x,
                         real *y);

    void (*softmax_forward)(const struct softmax_call *call);
    void (*softmax_backward)(const struct softmax_call *call);
    void (*layer_norm_forward)(const struct layer_norm_call *call);
    void (*layer_norm_backward)(const struct layer_norm_call *call);
    void (*dropout)(const struct dropout_call *call);
    void (*lstm_forward)(const struct lstm_call *call);
    void (*lstm_backward)(const struct lstm_call *call);
    void (*cross_entropy)(const struct cross_entropy_call *call);
    /* y[r] = table[index[r]] ; dtable[index[r]] += dy[r], r ascending. index < 0: zeros, no gradient. */
    void (*gather)(int rows, int columns, const int32_t *index, const real *table, real *y, ptrdiff_t ld_y);
    void (*scatter_add)(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable);

    void (*vector_exp)(size_t count, const real *x, real *y); /* y may be x in these three */
    void (*vector_tanh)(size_t count, const real *x, real *y);
    void (*vector_sigmoid)(size_t count, const real *x, real *y);

    void (*multiply)(size_t count, const real *x, real *y); /* y *= x */
    /* Walsh-Hadamard transforms in Sylvester's order, not scaled: y_i = sum_j (-1)^popcount(i AND j) x_j, in place, n a
     * power of two. Of `rows` vectors of n reals, ld apart; and down the columns of x [n][columns]. */
    void (*hadamard_rows)(int rows, int n, real *x, ptrdiff_t ld);
    void (*hadamard_columns)(int n, int columns, real *x, ptrdiff_t ld);

    void (*adam)(const struct adam_call *call);
    double (*sum_squares)(size_t count, const real *x);
    bool (*all_finite)(size_t count, const real *x);
};

/* The fastest table that this processor runs; never NULL. */
const struct kernels *kernels_best(void);
/* By name; NULL when unknown or not to be run here. */
const struct kernels *kernels_named(const char *name);

/* ---- helpers that are the same for all tables -------------------------------------------------- */

/* Packed weights: [out block][in block][kernel_h][kernel_w][16 in][16 out], zero in the padding. */
size_t conv_packed_size(int out_channels, int in_channels, int kernel_h, int kernel_w);
/* From [out][in][kernel_h][kernel_w]. */
void conv_pack(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w, real *packed);
/* For the gradient of the input: roles of in and out exchanged, taps turned round. The packed size is
 * conv_packed_size(in_channels, out_channels, ...). */
void conv_pack_transposed(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w,
                          real *packed);
/* weights[out][in][kh][kw] += sum of `count` packed partials that lie `stride` reals apart, in order. */
void conv_unpack_add(const real *partials, int count, size_t stride, int out_channels, int in_channels, int kernel_h,
                     int kernel_w, real *weights);

/* Packed weights of embed_max_pool: [16 blocks][features] and then [features][16 blocks]. */
size_t embed_packed_size(int features, int channels);
/* From [features][channels]. */
void embed_pack(const real *weights, int features, int channels, real *packed);

/* [rows][columns] to [rows'][columns'] with zeros in what is new; pads vectors (rows 1) and planar weights. */
void pad_rows(const real *from, int rows, int columns, real *to, int to_rows, int to_columns);
/* The other way round: to[rows][columns] += from[from_rows][from_columns]'s upper left part. */
void unpad_rows_add(const real *from, int from_columns, real *to, int rows, int columns);

/* `into` (of `count_into` values a channel) takes up `from` (of `count_from`): means and sums of
 * squared deviations as by Chan, Golub and LeVeque. Arrays are [2][channels]. */
void moments_merge(double *into, int64_t count_into, const double *from, int64_t count_from, int channels);

#endif
