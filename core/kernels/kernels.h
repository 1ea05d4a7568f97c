/* The tables of compute kernels.
 *
 * A kernel is a serial function without state. An operation cuts its work into chunks that depend on the shapes only,
 * and runs them on a thread pool; each chunk calls kernels. There are up to three tables: "ref" (plain C in `real`; it
 * defines the results), "avx2" and "avx512" (float only; equal to ref up to rounding). Every table is complete. Within
 * a table, results depend on the arguments only, because sums are taken in a fixed order. Any thread may call a kernel;
 * kernels allocate nothing and cannot fail.
 *
 * Terms used below:
 *
 * - map, strip: blocked maps (map.h). `blocks` counts blocks of 16 channels. A per-channel vector has 16 * blocks
 *   entries, zero in the padding channels.
 * - rows: a table [rows][columns] with `ld_x` reals from one row of x to the next (>= columns).
 * - partial: the gradient buffer of one chunk. The caller clears it, kernels add to it, and the caller sums the
 *   partials in chunk order.
 *
 * Inputs and outputs must not overlap unless a comment allows it. Alignment to 64 bytes is faster but not required. */
#ifndef MOTIF_CORE_KERNELS_KERNELS_H
#define MOTIF_CORE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/real.h"
#include "core/kernels/map.h"

/* ---- maps: convolution ------------------------------------------------------------------------- */

/* The optional first step of a 3x3 convolution: batch norm and ReLU of its input. A pixel of the image has the value
 * max(0, in * scale + shift), a pixel of the halo the value 0. Columns -1 and `width` of the strip are halo. Row -1
 * belongs to the image if `above` is set, and row `rows` if `below` is set; otherwise these rows are halo. scale
 * NULL: the input is used unchanged. */
struct conv_norm {
    const real *scale, *shift; /* each [16 in_blocks] */
    bool above, below;
};

/* Stride-1 "same" convolution of a strip: `rows` x `width` output pixels. kernel_h and kernel_w are 1 or 3. If kernel_h
 * is 1, kernel_w may be any odd number, and the kernel's elements (taps) may be `dilation` columns apart: 0 means 1,
 * and values above 1 require that there is no norm. The input strip points at the pixel under the centre tap of output
 * pixel (0, 0). The pixels under the other taps must be readable (halo, or neighbouring rows and columns).
 *
 *     out = weights * in + bias + add
 *
 * weights: from conv_pack_blocks(); for the gradient of the input, from conv_pack_transposed_blocks(), with `in` = the
 * gradient of the output. bias: [16 out_blocks] or NULL. add: optional strip, may be `out`. moments: NULL, or [2][16
 * out_blocks], overwritten with the mean and the sum of squared deviations of the strip's rows * width outputs, for
 * moments_merge(). The vector tables compute 3x3 kernels by Winograd's algorithm in tiles of 4x4 outputs, so `rows` is
 * best a multiple of 4; the rounding error is below 3e-6 of the largest output at 64 channels.
 *
 * in_lanes, out_lanes: the number of channels of the last input and output block, 0 for 16. The other channels of the
 * block are padding: their inputs and weights must be zero, and kernels may skip them. transformed: the weights of a
 * 3x3 kernel, written by conv_transform(), or NULL; without them, conv_forward() transforms `weights` itself. */
struct conv_call {
    int in_blocks, out_blocks, kernel_h, kernel_w, rows, width;
    struct map_strip in, out, add;
    const real *weights, *bias;
    double *moments;
    struct conv_norm norm;
    int dilation;
    int in_lanes, out_lanes;
    const real *transformed;
};

/* Number of reals of the transformed weights of one pair of an output and an input block (conv_transform). */
enum { CONV_TRANSFORMED = 36 * MAP_LANES * MAP_LANES };

/* Gradient of the weights over a strip: dweights[o][i][kh][kw] += sum over pixels of dout[o] * shifted in[i].
 * dweights: packed partial of conv_packed_size() reals. dbias: partial [16 out_blocks], or NULL. in_lanes, out_lanes:
 * as in conv_call. */
struct conv_gradient_call {
    int in_blocks, out_blocks, kernel_h, kernel_w, rows, width;
    struct map_strip in, dout;
    real *dweights, *dbias;
    struct conv_norm norm;
    int dilation;
    int in_lanes, out_lanes;
};

/* 1x1 convolution of a planar input: out[o] = bias[o] + sum_c weights[c][o] in[c], in the order of c.
 * in: [channels] planes, `in_plane` reals apart, with rows `in_row` reals apart. weights: [channels][16 out_blocks],
 * zero in the padding. moments: as in conv_call. The gradient kernel reads dout and adds to the partials dweights and
 * dbias, which have the same shapes. The input gets no gradient, because it is data. */
struct planar_call {
    int channels, out_blocks, rows, width;
    const real *in;
    ptrdiff_t in_plane, in_row;
    struct map_strip out; /* the result, which the forward kernel writes; the gradient kernel reads dout here */
    const real *weights, *bias;
    double *moments;
    real *dweights, *dbias;
};

/* The values of an image's planes that are not zero: value[i] is in column col[i]. The values of row r of plane p have
 * the indices first[p * height + r] to first[p * height + r + 1] - 1, in the order of their columns. */
struct planar_sites {
    const int *first, *col;
    const real *value;
};

/* Convolution of planes that are zero nearly everywhere, such as the one-hot planes of letters. Planes are continued
 * with zeros beyond their edges. The result is that of a planar_call that has one channel for each plane and tap, in
 * the order [planes][kernel_h][kernel_w]: the plane, shifted by the tap. The kernels add the same products in the same
 * order, but leave out products with zero. The strip has `rows` rows from `row` and `width` columns from `col`. height,
 * columns: sizes of the image. weights: [planes][kernel_h][kernel_w][16 out_blocks]. Everything else: as in
 * planar_call. */
struct sites_call {
    int planes, kernel_h, kernel_w, out_blocks;
    int height, columns, row, rows, col, width;
    struct planar_sites sites;
    struct map_strip out;
    const real *weights, *bias;
    double *moments;
    real *dweights, *dbias;
};

/* Adds up rows that are anywhere in memory: to = start + from[0] + from[1] + ..., in this order. A row has `blocks`
 * blocks of MAP_LANES reals; the blocks of a row of `from` are `from_block` reals apart, those of `to` `to_block`.
 * start: [16 blocks], which may be `to` if to_block is MAP_LANES; NULL: zeros. */
struct sum_rows_call {
    int blocks, count;
    const real *const *from; /* [count] */
    ptrdiff_t from_block, to_block;
    const real *start;
    real *to;
};

/* ---- maps: batch norm, sparse layer ------------------------------------------------------------ */

/* y = x * scale + shift; with `relu`, y = max(0, x * scale + shift). y may be x. */
struct affine_call {
    int blocks, rows, width;
    bool relu;
    struct map_strip x, y;
    const real *scale, *shift;
};

/* Backward pass of batch norm (and ReLU). dy' = dy where x * scale + shift > 0, else 0 (without `relu`: dy' = dy), and
 * xhat = (x - mean) * inv_std.
 *
 * - norm_sums overwrites sums[0][c] = sum dy' and sums[1][c] = sum dy' * xhat over the strip.
 * - norm_backward computes dx = a * dy' + b * (x - mean) + c + add, per channel. `dx` may be `dy` or `add`.
 *
 * In training, a = gamma inv_std, b = -gamma inv_std^2 sums[1] / n and c = -gamma inv_std sums[0] / n, over all n
 * pixels of the batch. With frozen statistics, b = c = 0 (NULL). */
struct norm_call {
    int blocks, rows, width;
    bool relu;
    struct map_strip x, dy, dx, add;
    const real *scale, *shift, *mean, *inv_std;
    const real *a, *b, *c;
    double *sums; /* [2][16 blocks] sums of dy' and of dy' * xhat */
};

/* Sparse layer: y = max(0, x - threshold). active: [16 blocks], may be NULL; the kernel adds the number of y > 0 of
 * each channel to it. The backward pass is map_mask: dx = dy where y > 0, else 0; dx may be dy. */
struct threshold_call {
    int blocks, rows, width;
    struct map_strip x, y;
    const real *threshold;
    int64_t *active;
};

/* The values whose quantile is computed: `channels` channels of a map. Strides are in reals. */
struct kth_set {
    const real *at; /* the first pixel inside the halo of image 0, block 0 */
    int images, channels, height, width;
    ptrdiff_t image, block, row;
};

enum { KTH_SCRATCH_BYTES = 1 << 22 };

/* Appends the values of one block that exceed the bound of their channel, in scan order. list[c] has room for `room`
 * values. count[c] is the number of values above the bound, including those for which list[c] has no room. A bound
 * of infinity excludes a channel. */
struct above_call {
    int rows, width, room;
    struct map_strip x;
    const real *bound; /* [16] bound of each channel */
    real *list;        /* [16][room] values of each channel */
    int *count;        /* [16] for each channel, the number of values above the bound */
};

/* ---- maps: max pooling ------------------------------------------------------------------------- */

/* Max pooling over windows of max_pool_h x max_pool_w pixels that do not overlap. Pixels at the right and lower edges
 * that are too few for a whole window are ignored. A tie goes to the first pixel in scan order. `rows` x `width` is the
 * number of windows; `in` points at the first pixel of the first window. arg: [blocks][rows][width][16], the position
 * of the maximum in its window, dy * max_pool_w + dx. The backward kernel writes din_rows x din_width pixels; pixels
 * outside all windows get 0. */
struct max_pool_call {
    int blocks, rows, width, max_pool_h, max_pool_w;
    struct map_strip in, out;
    uint16_t *arg;
    /* backward: size of the area to write, at least rows * max_pool_h and width * max_pool_w */
    int din_rows, din_width;
};

/* 1x1 convolution to `features` features followed by max pooling; the map in between is never stored.
 *
 *     tokens[w][d] = max over pixels p of window w of  bias[d] + sum_c weights[d][c] in[p][c]
 *
 * Windows are as in max_pool_call; token w = row * width + column. A pixel whose channels are all zero has the value
 * bias[d] and takes part like any other; a tie goes to the first pixel in scan order. The fewer pixels are active, the
 * less time the kernel takes. packed: from embed_pack(). arg: [rows * width][features]. Backward: reads dtokens
 * (ld_tokens), writes din_rows x din_width pixels of the optional din, and adds to the partials dweights [features][16
 * blocks] and dbias [features], each of which may be NULL. */
struct embed_call {
    int blocks, rows, width, max_pool_h, max_pool_w, features;
    struct map_strip in;
    const real *packed, *bias;
    real *tokens;
    ptrdiff_t ld_tokens;
    uint16_t *arg;
    /* used by the backward kernel only */
    const real *dtokens;
    struct map_strip din;
    int din_rows, din_width;
    real *dweights, *dbias;
};

/* ---- rows -------------------------------------------------------------------------------------- */

/* C = alpha op(A) op(B) + beta C, row-major. op(A) is m x k, op(B) is k x n. With beta 0, C is not read. */
struct gemm_call {
    bool transpose_a, transpose_b;
    int m, n, k;
    real alpha, beta;
    const real *a, *b;
    real *c;
    ptrdiff_t lda, ldb, ldc;
};

/* C = S T, or with `add` C += S T, where S is sparse. Row r of S has the entries value[i] in the columns index[i],
 * for start[r] <= i < start[r] + count[r]. T: [rows of T][columns]. Products are added in the order of i. */
struct sparse_call {
    int rows, columns;
    bool add;
    const int *start, *count;
    const int32_t *index;
    const real *value, *t;
    real *c;
    ptrdiff_t ld_t, ld_c;
};

/* Softmax of scale * x over columns [0, n_r) of each row, with n_r = min(limit, causal ? r + 1 + offset : columns). The
 * other columns become 0; a row with n_r <= 0 becomes all 0. y may be x. Backward: dx = scale * y * (dy - sum of y dy);
 * dx may be dy. */
struct softmax_call {
    int rows, columns, limit, offset;
    bool causal;
    real scale;
    const real *x, *dy;
    real *y, *dx; /* y: written by the forward kernel, read by the backward kernel */
    ptrdiff_t ld_x, ld_y, ld_dy, ld_dx;
};

/* Layer norm: y = (x - mean) * inv_std * gamma + beta, inv_std = 1 / sqrt(biased variance + epsilon). mean, inv_std:
 * [rows]. Backward: writes dx (plus `add`, if not NULL; dx may be add or dy) and adds to the partials dgamma and dbeta.
 */
struct layer_norm_call {
    int rows, columns;
    real epsilon;
    const real *x, *gamma, *beta, *dy, *add;
    real *y, *mean, *inv_std, *dx, *dgamma, *dbeta;
    ptrdiff_t ld_x, ld_y, ld_dy, ld_dx, ld_add;
};

/* The position of a random number: element `index` of stream `stream` in step `step` of seed `seed`
 * (core/base/random/philox.h). */
struct random_at {
    uint64_t seed, step;
    uint32_t stream;
    uint64_t index;
};

/* Inverted dropout of `count` values: y[i] = (add ? add[i] : 0) + x[i] * (kept(i) ? 1 / (1 - p) : 0). Element i is
 * dropped if the 32-bit word at at.index + i is below p * 2^32. at.index must be a multiple of 4. y may be x or add.
 * With p = 0 the kernel copies or adds. The backward pass is the same call with add = NULL, because the mask is a pure
 * function of `at`. x2 and y2: a second pair with the same mask and without `add`; NULL if not needed. */
struct dropout_call {
    size_t count;
    double p;
    struct random_at at;
    const real *x, *add;
    real *y;
    const real *x2;
    real *y2;
};

/* LSTM cell over `rows` sequences. gates: [rows][4 hidden] in the order i, f, g, o.
 * Forward: replaces the sums in `gates` by i, f, tanh g and o, and writes c and h ([rows][hidden]; c contiguous, h with
 * ld_h). c_prev NULL: zeros. Backward: reads dh (ld_h) and the gates that the forward pass wrote. dc (contiguous)
 * contains the gradient of c from later steps and is overwritten with the gradient of c_prev. Writes dgates [rows][4
 * hidden], the gradient of the sums. */
struct lstm_call {
    int rows, hidden;
    real *gates;
    ptrdiff_t ld_gates, ld_h, ld_dgates;
    const real *c_prev;
    real *c, *h;
    const real *dh;
    real *dc, *dgates;
};

/* Softmax cross-entropy: for a row r with target t_r >= 0, loss[r] = -log softmax(logits[r])[t_r] and
 * dlogits[r] = scale * (softmax - onehot). Rows with t_r < 0 get 0 in both. dlogits may be NULL or `logits`. best:
 * [rows], the index of the largest logit (the first on a tie), or NULL. */
struct cross_entropy_call {
    int rows, classes;
    real scale;
    const real *logits;
    const int32_t *targets;
    ptrdiff_t ld_logits, ld_dlogits;
    real *loss, *dlogits;
    int32_t *best;
};

/* Sums of shifted rows of a table, for BANDED_PAIRS pairs of outputs at a time. The kernel multiplies a banded matrix
 * by sparse vectors; the two vectors of a pair differ only in signs. Each term is a row of the table times a factor. It
 * is added to the first output of a pair, and added to or subtracted from the second. Terms are grouped by pattern; bit
 * q of a pattern is set if the term is subtracted for pair q:
 *
 *     out[2 q][c]     += sum over terms of f t                        f = factor[q], t = table[offset + shift + c]
 *     out[2 q + 1][c] += sum over terms of (bit q of its pattern ? -f t : f t)       c in [0, BANDED_WIDTH)
 *
 * The sums of terms with equal and with opposite signs are kept apart until the end, so a term costs one operation per
 * pair. */
enum { BANDED_WIDTH = 64, BANDED_PAIRS = 4, BANDED_ROWS = 2 * BANDED_PAIRS, BANDED_PATTERNS = 1 << BANDED_PAIRS };
struct banded_term {
    ptrdiff_t offset, first; /* first: for the caller's use; the kernel does not read it */
    real factor[BANDED_PAIRS];
};
struct banded_call {
    const real *table;
    const struct banded_term *terms;
    int begin[BANDED_PATTERNS], end[BANDED_PATTERNS]; /* the terms of pattern p are begin[p] to end[p] - 1 */
    ptrdiff_t shift;
    real *out; /* [BANDED_ROWS][BANDED_WIDTH] the sums */
};

/* A ReLU layer and a linear head for each row r. The layer's input x is a linear function of the row's two numbers s[0]
 * and s[1]; v is the head of the row's feature.
 *     x = bias + s[0] p[0] + s[1] p[1],   values[r] = v . max(0, x).
 * Backward: on entry, `values` contains the gradient g of the result. With d = g v where x > 0, else 0, the kernel
 * writes
 *     pulls[r] = {d . p[0], d . p[1]}
 * and adds: dheads[feature] += g max(0, x), dbias += d, dp[t] += s[t] d. */
struct arc_row {
    real s[2];
    int32_t sample, feature; /* sample: for the caller's use; the kernel does not read it */
};
struct arc_call {
    int count, width; /* count: number of rows; width: length of p, bias and each head */
    const struct arc_row *rows;
    const real *p[2], *bias, *heads; /* heads: [features][width] */
    real *values;                    /* [count] results of the rows */
    /* pulls: [count][2]; dheads (may be NULL), dbias and dp have the shapes of heads, bias and p */
    real *pulls, *dheads, *dbias, *dp[2];
};

/* Adam (Kingma and Ba, ICLR 2015), computed in the order of torch.optim.Adam: with g = gradient_scale * gradient,
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
    const char *name; /* "ref", "avx2" or "avx512" */

    void (*conv_forward)(const struct conv_call *call);
    /* Writes the transformed weights of output blocks [first, first + count) of a 3x3 kernel for conv_call.transformed,
     * [out_blocks][in_blocks * CONV_TRANSFORMED] reals. Strips and threads then share one transform. NULL in a table
     * whose conv_forward() does not read them. */
    void (*conv_transform)(const struct conv_call *call, int first, int count, real *transformed);
    void (*conv_gradient)(const struct conv_gradient_call *call);
    void (*planar_forward)(const struct planar_call *call);
    void (*planar_gradient)(const struct planar_call *call);
    void (*sites_forward)(const struct sites_call *call);
    void (*sites_gradient)(const struct sites_call *call);
    void (*sum_rows)(const struct sum_rows_call *call);

    /* Overwrites moments [2][16 blocks] with those of a strip (see conv_call). */
    void (*map_moments)(int blocks, int rows, int width, struct map_strip x, double *moments);
    void (*map_affine)(const struct affine_call *call);
    void (*norm_sums)(const struct norm_call *call);
    void (*norm_backward)(const struct norm_call *call);
    /* sums[c] += sum of x over the strip. */
    void (*map_sums)(int blocks, int rows, int width, struct map_strip x, double *sums);
    void (*map_add)(int blocks, int rows, int width, struct map_strip x, struct map_strip y); /* Adds map x to map y. */
    void (*map_threshold)(const struct threshold_call *call);
    void (*map_mask)(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx);

    /* Writes the k-th smallest (1-based) value of each channel of block `block` to out (16 values, fewer in the last
     * block). Exact for data without NaN. scratch: KTH_SCRATCH_BYTES. */
    void (*kth_block)(const struct kth_set *set, int block, int64_t k, real *out, void *scratch);
    /* The k-th smallest value of all channels together. */
    real (*kth_all)(const struct kth_set *set, int64_t k, void *scratch);
    void (*collect_above)(const struct above_call *call);

    void (*max_pool_forward)(const struct max_pool_call *call);
    /* Reads the gradient of the result from `out` and writes the gradient of the input to `in`. */
    void (*max_pool_backward)(const struct max_pool_call *call);
    void (*embed_max_pool_forward)(const struct embed_call *call);
    void (*embed_max_pool_backward)(const struct embed_call *call);

    void (*gemm)(const struct gemm_call *call);
    /* As `gemm`, but with A and B rounded to bf16 (8 bits of precision, to nearest even); products and sums are floats.
     */
    void (*gemm_bf16)(const struct gemm_call *call);
    void (*sparse_gemm)(const struct sparse_call *call);
    /* Lists the non-zero values of x. index[j] is `first` plus the place in x, in ascending order. index and value
     * have room for `count` entries each. Returns the number of non-zero values. */
    int (*nonzeros)(int count, const real *x, int32_t first, int32_t *index, real *value);
    /* x[r][j] += bias[j]; bias_relu then computes max(0, x). All ReLU kernels pass NaN on. */
    void (*bias_add)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
    void (*bias_relu)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
    /* dx[i] = y[i] > 0 ? dy[i] : 0 over count values; dx may be dy. */
    void (*relu_backward)(size_t count, const real *y, const real *dy, real *dx);
    /* sums[j] += sum over rows of x[r][j], in row order. */
    void (*column_sums)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums);
    void (*add)(size_t count, const real *x, real *y);               /* y += x */
    void (*scale)(size_t count, real factor, real *x);               /* x *= factor */
    void (*axpy)(size_t count, real factor, const real *x, real *y); /* y += factor x */
    real (*dot)(size_t count, const real *x, const real *y);         /* Returns the sum of x[i] y[i]. */
    void (*arc_forward)(const struct arc_call *call);
    void (*arc_backward)(const struct arc_call *call);
    void (*banded_sum)(const struct banded_call *call);
    /* peaks[r] = max(peaks[r], |x[r][c]|) over c in [0, columns). */
    void (*row_peaks)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks);
    /* y[r] = x[r] + table[((first + r) / divisor) % period], for positional encodings. y may be x. */
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
    /* gather: y[r] = table[index[r]]. scatter_add: dtable[index[r]] += dy[r], in row order. index < 0: zeros, no
     * gradient. */
    void (*gather)(int rows, int columns, const int32_t *index, const real *table, real *y, ptrdiff_t ld_y);
    void (*scatter_add)(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable);

    /* Element-wise exp, tanh and logistic function; y may be x. */
    void (*vector_exp)(size_t count, const real *x, real *y);
    void (*vector_tanh)(size_t count, const real *x, real *y);
    void (*vector_sigmoid)(size_t count, const real *x, real *y);

    void (*multiply)(size_t count, const real *x, real *y); /* y *= x */
    /* Unscaled Walsh-Hadamard transforms in Sylvester's order, in place: y_i = sum_j (-1)^popcount(i AND j) x_j, n a
     * power of two. hadamard_rows: of `rows` vectors of n reals, ld apart. hadamard_columns: of each column of x
     * [n][columns]. */
    void (*hadamard_rows)(int rows, int n, real *x, ptrdiff_t ld);
    void (*hadamard_columns)(int n, int columns, real *x, ptrdiff_t ld);

    void (*adam)(const struct adam_call *call);
    double (*sum_squares)(size_t count, const real *x);
    bool (*all_finite)(size_t count, const real *x);
};

/* The fastest table that this processor supports; never NULL. */
const struct kernels *kernels_best(void);
/* The table with this name; NULL if it is unknown or this processor does not support it. */
const struct kernels *kernels_named(const char *name);

/* ---- helpers for all tables -------------------------------------------------------------------- */

/* The number of reals of packed weights: [out block][in block][kernel_h][kernel_w][16 in][16 out], zero in the padding.
 */
size_t conv_packed_size(int out_channels, int in_channels, int kernel_h, int kernel_w);
/* Pack the output blocks [first, first + count) of weights [out][in][kernel_h][kernel_w]; threads can share the work.
 * packed: the array of all blocks. conv_pack_transposed_blocks() packs the weights for the gradient of the input: in
 * and out exchanged, taps reversed. The packed size is then conv_packed_size(in_channels, out_channels, ...). */
void conv_pack_blocks(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w, int first,
                      int count, real *packed);
void conv_pack_transposed_blocks(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w,
                                 int first, int count, real *packed);
/* conv_unpack_add_parts() computes weights[out][in][kh][kw] += sum of `count` packed partials, `stride` reals apart, in
 * order. The work has conv_unpack_parts() parts, so that threads can share it: a call adds the parts [first, first +
 * parts). */
int conv_unpack_parts(int out_channels, int in_channels);
void conv_unpack_add_parts(const real *partials, int count, size_t stride, int out_channels, int in_channels,
                           int kernel_h, int kernel_w, int first, int parts, real *weights);

/* The number of reals of packed weights for embed_max_pool: [16 blocks][features], then [features][16 blocks]. */
size_t embed_packed_size(int features, int channels);
/* Packs weights [features][channels]. */
void embed_pack(const real *weights, int features, int channels, real *packed);

/* Copies weights [out][in] to [in][padded out], zero in the padding. planar_unpack_add() adds to weights [out][in] the
 * sum of `count` partials [in][padded out], `stride` reals apart, in order. */
void planar_pack(const real *weights, int out_channels, int in_channels, real *packed);
void planar_unpack_add(const real *partials, int count, size_t stride, int out_channels, int in_channels,
                       real *weights);

/* Copies [rows][columns] to [to_rows][to_columns] and fills the rest with zeros. A vector has rows 1. */
void pad_rows(const real *from, int rows, int columns, real *to, int to_rows, int to_columns);
/* Adds the upper left [rows][columns] part of `from`, which has from_columns columns, to `to`. */
void unpad_rows_add(const real *from, int from_columns, real *to, int rows, int columns);

/* Joins the moments of two sets of values: `into` (count_into values per channel) becomes those of both sets together;
 * `from` has count_from values per channel. Both are [2][channels]: means, then sums of squared deviations. The formula
 * is that of Chan, Golub and LeVeque (1979). */
void moments_merge(double *into, int64_t count_into, const double *from, int64_t count_from, int channels);

#endif
