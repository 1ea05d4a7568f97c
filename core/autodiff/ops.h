/* The operations. Each lives in a file of its own: shape rule, forward, backward.
 *
 * All return a tensor of the step arena, or NULL after a failure (tape.h). Weights keep the shapes
 * that PyTorch gives them, so exported files read as one expects. `dropout` is the probability of
 * zeroing, ignored in evaluation; what is kept is scaled by 1 / (1 - dropout). */
#ifndef MOTIF_CORE_AUTODIFF_OPS_H
#define MOTIF_CORE_AUTODIFF_OPS_H

#include "core/autodiff/tape.h"

/* --- maps ------------------------------------------------------------------------------------- */

/* 1x1 convolution of a plain input: planes [images][in][height][width] (borrowed until backward) to a
 * map of w->dim[0] channels. w: [out][in][1][1]; b: [out]. The input gets no gradient. */
struct tensor *op_conv_planar(struct exec *e, const real *planes, int images, int in, int height, int width, int halo_h,
                              struct weight *w, struct weight *b);

/* Convolution with zero padding that keeps the size. w: [out][in][kh][kw] with kernel 1x1, 3x3 or
 * 1x3; b: [out] or NULL; `residual` (same shape as the result, or NULL) is added. */
struct tensor *op_conv(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, struct tensor *residual);

/* The same along lines (maps of height 1, halo_h 0), with any odd number of taps `dilation` >= 1 columns apart.
 * w: [out][in][1][taps]. */
struct tensor *op_conv_line(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int dilation,
                            struct tensor *residual);

/* y = gain (x - mean) / sqrt(var + epsilon) + bias, then ReLU if asked. In training the statistics
 * are those of the batch (biased variance) and the running ones move towards them by `momentum`
 * (with the unbiased variance); in evaluation, or with `hold`, the running ones are used. With the
 * exec's `hold` what the gradient sends through the batch's statistics goes to one image, another each step, as many
 * times as strong as there are images: right in the mean over steps for one norm, and nearly so for norms behind one
 * another. */
struct batch_norm {
    struct weight *gain, *bias;     /* [channels]; both NULL: plain */
    struct weight *mean, *variance; /* running statistics, [channels], no gradient */
    double momentum, epsilon;       /* 0.1, 1e-5 */
    bool hold;                      /* running statistics even in training, and they stay as they are */
};
struct tensor *op_batch_norm(struct exec *e, struct tensor *x, struct batch_norm *norm, bool relu);

/* op_conv() of op_batch_norm() with ReLU. With a 3x3 kernel the normalised map is not written: the convolution
 * normalises what it reads, in both directions. */
struct tensor *op_norm_conv(struct exec *e, struct tensor *x, struct batch_norm *norm, struct weight *w,
                            struct weight *b, struct tensor *residual);

/* max(0, x - t), t: [channels] constant; the gradient passes where the result is > 0 (SPARLING §4.1).
 * relu false: x - t as it is. active, or NULL: [channels], overwritten with counts of results > 0 (with
 * ReLU). The policy that moves t is nn/sparse.h. */
struct tensor *op_threshold(struct exec *e, struct tensor *x, const real *t, bool relu, int64_t *active);

/* Channels [first, first + count) of a map; and up to 16 maps of one size, one after another, as the channels of one.
 */
struct tensor *op_channels(struct exec *e, struct tensor *x, int first, int count);
struct tensor *op_join_channels(struct exec *e, struct tensor *const *parts, int count);

/* (x - mean) / sqrt(var + epsilon) with the mean and variance of all elements together, and Gaussian noise of the given
 * standard deviation added, in evaluation too. `norm`: mean and variance of one element each, no gain. The noise is
 * a function of (seed, stream, step, place). */
struct tensor *op_noise(struct exec *e, struct tensor *x, struct batch_norm *norm, double deviation);

struct tensor *op_relu(struct exec *e, struct tensor *x);
struct tensor *op_sigmoid(struct exec *e, struct tensor *x); /* padding channels stay zero */

/* Largest of each ph x pw cell, stride the same, floor; the first in scan order wins ties. */
struct tensor *op_max_pool(struct exec *e, struct tensor *x, int ph, int pw);
/* The same to rows: [images * (height/ph) * (width/pw)][channels]. */
struct tensor *op_max_pool_rows(struct exec *e, struct tensor *x, int ph, int pw);
/* 1x1 convolution to w->dim[0] features and max-pool in one pass, to rows as above. w: [out][in] (or
 * [out][in][1][1]), b: [out]. The map in between never exists. */
struct tensor *op_embed_max_pool(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int ph, int pw);
/* Every position a row: [images * height * width][channels]. */
struct tensor *op_map_rows(struct exec *e, struct tensor *x);

/* Cells of ph x pw positions in which any channel of a motif map is above zero, in scan order. Step memory. */
struct active_sites {
    int images, sites; /* cells: of one image, all of them */
    int capacity;      /* the most active cells of an image */
    int *lengths;      /* [images] active cells; at least 1: an image without any keeps its first */
    int *index;        /* [images][cells]: which they are, `lengths[i]` of each row */
};
struct active_sites *op_active_sites(struct exec *e, const struct tensor *motifs, int ph, int pw);
/* Rows [images * cells] of x to [images * capacity]: those of the active cells first, zeros behind them. */
struct tensor *op_gather_sites(struct exec *e, struct tensor *x, const struct active_sites *active);

/* --- rows ------------------------------------------------------------------------------------- */

/* y = dropout(act(x w' + b)). w: [out][in]; b: [out] or NULL. Dropout only together with ReLU. */
struct tensor *op_linear(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, bool relu,
                         double dropout);

/* Rows (t / divisor) % period of `table` ([>= period][cols]) are added to rows t of x; dropout after.
 * For a token grid [images][gh][gw]: row positions have divisor gw and period gh, columns 1 and gw,
 * both at once 1 and gh * gw. `table` may be trained or constant (grad NULL). */
struct tensor *op_add_rows(struct exec *e, struct tensor *x, struct weight *table, int divisor, int period,
                           double dropout);

/* w: [tokens][cols]; ids: count of them, borrowed until backward, each in [0, tokens). */
struct tensor *op_embedding(struct exec *e, const int32_t *ids, int count, struct weight *w);

struct tensor *op_add(struct exec *e, struct tensor *x, struct tensor *y);
struct tensor *op_scale(struct exec *e, struct tensor *x, double factor);
struct tensor *op_dropout(struct exec *e, struct tensor *x, double dropout);
/* x + dropout(y). */
struct tensor *op_residual(struct exec *e, struct tensor *x, struct tensor *y, double dropout);
/* Over the columns of each row; epsilon 1e-5. gain, bias: [cols]. */
struct tensor *op_layer_norm(struct exec *e, struct tensor *x, struct weight *gain, struct weight *bias);
/* layer_norm(x + dropout(y)) in one pass: the joint of a post-norm transformer. */
struct tensor *op_residual_norm(struct exec *e, struct tensor *x, struct tensor *y, double dropout, struct weight *gain,
                                struct weight *bias);

/* Scaled dot-product attention of several heads, softmax with masks and dropout fused. Rows are
 * sample-major: row = sample * length + position. Head h has columns [h * d, (h + 1) * d). */
struct attention {
    int batch, queries, keys, heads;
    bool causal;            /* query i sees keys 0..i; needs queries == keys */
    const int *key_lengths; /* [batch] keys that exist, borrowed until backward; NULL: all. At least 1 each */
    double dropout;         /* on the probabilities */
};
/* qkv: [batch * queries][3 * cols], query, key and value one after another. Returns [..][cols]. */
struct tensor *op_self_attention(struct exec *e, struct tensor *qkv, const struct attention *shape);
/* q: [batch * queries][cols], kv: [batch * keys][2 * cols]. */
struct tensor *op_cross_attention(struct exec *e, struct tensor *q, struct tensor *kv, const struct attention *shape);
/* Evaluation only: queries are the first `cols` columns of q's rows, keys and values lie in
 * kv [batch][..][2 * cols], `kv_sample` reals from sample to sample, of which shape->keys rows are used. */
struct tensor *op_cached_attention(struct exec *e, struct tensor *q, int cols, const real *kv, ptrdiff_t kv_sample,
                                   const struct attention *shape);

/* Bidirectional LSTM, one layer, zero initial state. x: [sequences * length][in], sequence-major.
 * Each direction as in PyTorch: w_ih [4h][in], w_hh [4h][h], b_ih, b_hh [4h], gates i, f, g, o.
 * Returns [sequences * length][2h]: forward, then backward half. */
struct lstm_weights {
    struct weight *w_ih, *w_hh, *b_ih, *b_hh;
};
struct tensor *op_bilstm(struct exec *e, struct tensor *x, int sequences, int length,
                         const struct lstm_weights direction[2]);

/* --- latent variables (nn/latent.h) ------------------------------------------------------------ */

/* z = mean + exp(log_variance / 2) noise, of the same shape. Noise is standard normal, a function of (seed, call site,
 * step, `first` + row, column): `first` tells the pieces of a batch apart. In evaluation too. */
struct tensor *op_gaussian_sample(struct exec *e, struct tensor *mean, struct tensor *log_variance, int64_t first);
/* factor * sum of (mean^2 + exp(log_variance) - 1 - log_variance) / 2: the divergence from a standard normal. */
struct tensor *op_gaussian_kl(struct exec *e, struct tensor *mean, struct tensor *log_variance, double factor);

/* Latent variables that may be off (variational sparse coding). min(1, exp(x)): */
struct tensor *op_spike_odds(struct exec *e, struct tensor *x);
/* Log variances x of slabs whose deviations are warmth of their own and 1 - warmth of 1. */
struct tensor *op_spike_warm(struct exec *e, struct tensor *x, double warmth);
/* x sigmoid(sharpness (u - 1 + odds)), u uniform in [0, 1), a function of (seed, call site, step, `first` + row,
 * column). */
struct tensor *op_spike_gate(struct exec *e, struct tensor *x, struct tensor *odds, double sharpness, int64_t first);
/* factor * sum over rows i and pseudo-inputs u of selector[i][u] times the divergence of i's spike and slab from u's:
 *     gamma (log(s_u / s) + (s^2 + (m - m_u)^2) / (2 s_u^2) - 1/2) + (1 - gamma) log((1 - gamma) / (1 - gamma_u))
 *     + gamma log(gamma / gamma_u)
 * `printed`: as a published program has it, with s for s^2, s_u for 2 s_u^2, and that term not times gamma.
 * of: [rows][k], prior: [pseudo-inputs][k], selector: [rows][pseudo-inputs]. */
struct spike_code {
    struct tensor *mean, *log_variance, *odds;
};
struct tensor *op_spike_kl(struct exec *e, const struct spike_code *of, const struct spike_code *prior,
                           struct tensor *selector, bool printed, double factor);
/* factor * divergence of a coin with the mean of all odds from one with `rate`. */
struct tensor *op_rate_kl(struct exec *e, struct tensor *odds, double rate, double factor);
struct tensor *op_softmax_rows(struct exec *e, struct tensor *x);
/* A weight [rows][cols] as rows. */
struct tensor *op_weight_rows(struct exec *e, struct weight *w);

/* Row i * count + f is w_j * z_i (elementwise) for j = features[f] (NULL: j = f). z: [rows][k], w: [features][k];
 * `features` is borrowed until backward. */
struct tensor *op_mask_rows(struct exec *e, struct tensor *z, struct weight *w, const int32_t *features, int count);
/* The whole decoder of features that at most two latent variables feed: y_ij = c_j + v_j . max(0, b + B max(0, A u)), u
 * the w_jk z_ik of those latent variables, for the features of all groups; 0 in the others' columns. Costs H a row and
 * H^2 a group (arcs.c). Entries of w other than the groups' count as zero and get no gradient. z: [rows][k].
 * `features`: by groups; borrowed until backward, as are `groups`. */
struct arc_layers {
    struct weight *mask, *first, *second, *bias, *head, *head_bias; /* w, A [units][k], B [width][units], b, v, c */
};
struct arc_group {
    int32_t latent[2]; /* different; -1: none, the second before the first */
    int first, count;  /* of `features` */
};
struct tensor *op_arc_head(struct exec *e, struct tensor *z, const struct arc_layers *layers, const int32_t *features,
                           const struct arc_group *groups, int count);
/* y_ij = v_j . h_(i, f) + c_j for j = features[f] (NULL: j = f), 0 in the other columns. h: rows i * count + f of
 * `hidden` columns, however the tensor counts its rows; v: [features][hidden], c: [features]. `features` is borrowed
 * until backward. */
struct tensor *op_feature_head(struct exec *e, struct tensor *h, int rows, const int32_t *features, int count,
                               struct weight *v, struct weight *c);

/* --- environments that are nodes of a tree ------------------------------------------------------ */

/* Columns over their standard deviation sqrt(variance + 1e-8); the means stay. In training it is that of these rows,
 * else `deviation` [cols] (borrowed, not trained). */
struct tensor *op_unit_columns(struct exec *e, struct tensor *x, const struct weight *deviation);
/* Linear heads of a tree's nodes: w_0 = base (NULL: zeros), w_v = w_parent(v) + share_v changes[arc_v]. */
struct tree_heads {
    int nodes;
    const int *parent; /* [nodes] before its children; node 0 is the root */
    const int *arc;    /* [nodes] row of `changes`; -1: none, as its parent */
    const real *share; /* [nodes] */
};
/* weights: [nodes][cols]. changes: [arcs][cols], NULL where no node has an arc. */
void tree_heads_expand(const struct tree_heads *heads, const struct weight *base, const struct weight *changes,
                       int cols, real *weights);
/* y_i = w_node(i) . z_i, [rows][1]. node: [rows], borrowed until backward like `heads`. */
struct tensor *op_tree_heads(struct exec *e, struct tensor *z, const int32_t *node, struct weight *base,
                             struct weight *changes, const struct tree_heads *heads);

/* Likelihoods of x [rows][cols] (borrowed until backward), as losses: */
/* factor * sum of ((x - y) / sigma_j)^2 / 2; log_sigma: [cols]. */
struct tensor *op_gaussian_loss(struct exec *e, struct tensor *y, const real *x, struct weight *log_sigma,
                                double factor);
/* -factor * sum of x_j log(softmax_j(y) + guard). */
struct tensor *op_multinomial_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor);
/* -factor * sum of x log(p + guard) + (1 - x) log(1 - p + guard), p = sigmoid(y). */
struct tensor *op_bernoulli_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor);

/* logs * sum of log sigma + squares * sum of 1 / sigma^2: an inverse gamma prior on the variances. */
struct tensor *op_sigma_prior(struct exec *e, struct weight *log_sigma, double logs, double squares);
/* factor * sum of coefficient * |w| (power 1) or of coefficient * w^2 (power 2); coefficient: [w->count], borrowed,
 * NULL: ones. */
struct tensor *op_weight_penalty(struct exec *e, struct weight *w, const real *coefficient, int power, double factor);

/* --- losses: [1][1] --------------------------------------------------------------------------- */

/* Mean over the counted rows of -log softmax(logits)[target]; target -1: not counted. With nothing
 * counted the loss is 0. `targets`: [rows], borrowed until backward. */
struct tensor *op_cross_entropy(struct exec *e, struct tensor *logits, const int32_t *targets);
/* factor * sum of all elements (of a map: its positions, not halo or padding); of this rank's, where op_mean() is over
 * all. */
struct tensor *op_sum(struct exec *e, struct tensor *x, double factor);
struct tensor *op_mean(struct exec *e, struct tensor *x);
/* A loss of rows x that somebody else worked out: its value, and its gradient in x [x->count], borrowed until backward.
 */
struct tensor *op_known(struct exec *e, struct tensor *x, double value, const real *gradient);
/* rate ln(rate / mean) + (1 - rate) ln((1 - rate) / (1 - mean)): how far the mean of activations in (0, 1) is from the
 * rate that is wanted. mean: [1][1]. */
struct tensor *op_rate_divergence(struct exec *e, struct tensor *mean, double rate);

#endif
