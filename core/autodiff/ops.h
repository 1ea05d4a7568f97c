/* The operations of a network. Each operation has a file of its own in ops/, which contains its check of shapes, its
 * forward pass and its backward pass.
 *
 * Every operation returns a tensor in the step arena. After a failure it returns NULL and stores the error in
 * exec.error (tape.h): STATUS_INTERNAL for wrong shapes, STATUS_NO_MEMORY. Weights have the same shapes as in
 * PyTorch. `dropout` is the probability that training sets a value to zero; the other values are multiplied by 1 / (1
 * - dropout). Evaluation ignores `dropout`. "Borrowed until backward" means: the caller's memory must not change
 * before tape_backward() returns. */
#ifndef MOTIF_CORE_AUTODIFF_OPS_H
#define MOTIF_CORE_AUTODIFF_OPS_H

#include "core/autodiff/tape.h"

/* --- maps ------------------------------------------------------------------------------------- */

/* Convolution of planes [images][in][height][width] (borrowed until backward) to a map of w->dim[0] channels, with zero
 * padding that keeps the size. w: [out][in][kh][kw], kh and kw odd; b: [out]. The input gets no gradient. Planes that
 * are mostly zero take less time. */
struct tensor *op_conv_planar(struct exec *e, const real *planes, int images, int in, int height, int width, int halo_h,
                              struct weight *w, struct weight *b);

/* The same convolution of texts, whose planes would be one-hot over a vocabulary: words [images][width] are the number
 * of the word at each position, counted from 1; 0: none, so all planes would be 0 there. The result has height 1. w:
 * [out][vocabulary][1][kw]. Each output is a sum of columns of w, so the time does not grow with the vocabulary. */
struct tensor *op_conv_words(struct exec *e, const real *words, int images, int width, int halo_h, struct weight *w,
                             struct weight *b);

/* Blocks of block x block pixels, from the upper left corner on; those at the right and lower edges may have fewer
 * pixels. blocks_of(): number of blocks along an axis of `size` pixels. block_pixel(): which pixel of a block, along
 * such an axis, stands for the block: the one before its middle, or an earlier one that every block has. */
int blocks_of(int size, int block);
int block_pixel(int size, int block);
/* Makes a position of each block and a channel of each of its pixels: `count` planes [height][width] become
 * [count][block * block][blocks_of(height)][blocks_of(width)]. Pixels outside the planes are 0. Returns step memory, or
 * `planes` itself if block is 1. A convolution of the result is a convolution of the planes with stride `block`. */
const real *op_space_to_depth(struct exec *e, const real *planes, int count, int height, int width, int block);
/* Spreads a map over height x width pixels: the value of each block goes to its block_pixel(), and all other pixels
 * become `fill`. x: a map with a position for each block. Returns x itself if block is 1. */
struct tensor *op_spread(struct exec *e, struct tensor *x, int height, int width, int block, double fill);

/* Convolution of a map with zero padding that keeps the size. w: [out][in][kh][kw] with kernel 1x1, 3x3 or 1x3; b:
 * [out] or NULL; residual: a map of the result's shape that is added, or NULL. */
struct tensor *op_conv(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, struct tensor *residual);

/* Convolution along the rows of maps of height 1 (halo_h 0). The kernel has any odd number of elements ("taps"),
 * which read positions `dilation` >= 1 columns apart. w: [out][in][1][taps]. */
enum { LINE_PIECE = 768 }; /* number of columns that op_conv_line() computes at once */
struct tensor *op_conv_line(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int dilation,
                            struct tensor *residual);

/* Batch norm: y = gain (x - mean) / sqrt(variance + epsilon) + bias, then ReLU if `relu`. Training uses the statistics
 * of the batch (biased variance) and moves the running statistics towards them by `momentum` (with the unbiased
 * variance). Evaluation uses the running statistics; so does training if norm->hold is set.
 *
 * exec.hold is a different setting. With exec.hold, the part of the gradient that flows through the batch's statistics
 * goes to a single image, a different one in each step, multiplied by the number of images. Averaged over steps, this
 * gradient is exact for a single norm and nearly exact for several norms in sequence. */
struct batch_norm {
    struct weight *gain, *bias;     /* [channels]; both NULL: gain 1, bias 0 */
    struct weight *mean, *variance; /* running statistics, [channels], no gradient */
    double momentum, epsilon;       /* batch_norm_build() (nn/layers.h) sets momentum to 0.1 and epsilon to 1e-5 */
    bool hold;                      /* true: training uses the running statistics too, and does not change them */
};
struct tensor *op_batch_norm(struct exec *e, struct tensor *x, struct batch_norm *norm, bool relu);

/* op_batch_norm() with ReLU, followed by op_conv(). With a 3x3 kernel the normalised map is never stored: the
 * convolution normalises its input as it reads it, in the forward and the backward pass. */
struct tensor *op_norm_conv(struct exec *e, struct tensor *x, struct batch_norm *norm, struct weight *w,
                            struct weight *b, struct tensor *residual);

/* The sparse layer's threshold (SPARLING §4.1): max(0, x - t), or x - t without `relu`. t: [channels]; it gets no
 * gradient, because the sparse layer (nn/sparse.h) moves it. With `relu`, the gradient passes only where the result
 * is > 0. */
struct tensor *op_threshold(struct exec *e, struct tensor *x, const real *t, bool relu);
/* Copies a map. If no value of an image exceeds the threshold of its channel, the value that is closest to its
 * threshold (the first of equally close values) becomes threshold + rise. threshold: [channels]. The operation has no
 * gradient, so using it in a training step is an error. */
struct tensor *op_lift(struct exec *e, struct tensor *x, const real *threshold, double rise);
/* op_limit() copies a map and limits the number of peaks. The height of a value is its excess over the threshold of its
 * channel. A peak is the largest value of its channel within `near` rows and columns. If more than `most` (1 to
 * OP_LIMIT_MOST) peaks of an image have a height above 0, let h be the height of the (most + 1)-th highest peak: every
 * value with a height above 0 and at most h is lowered to its threshold. threshold: [channels]. The operation has no
 * gradient, so using it in a training step is an error. */
enum { OP_LIMIT_MOST = 64 };
struct tensor *op_limit(struct exec *e, struct tensor *x, const real *threshold, int most, int near);
/* Copies a map. A value that exceeds the threshold of its channel, but is not a peak, becomes the threshold. A peak is
 * the largest value of its channel within `near` rows and columns. threshold: [channels]. marked: [channels]; 0: the
 * channel is only copied. The operation has no gradient, so using it in a training step is an error. */
struct tensor *op_peaks(struct exec *e, struct tensor *x, const real *threshold, const real *marked, int near);

/* Position matrices over one-hot letters; the complement of letter b is 3 - b. */
struct matrices {
    int width;                  /* number of positions of each matrix, odd */
    bool both_strands;          /* whether the score is the larger one of both strands */
    const real *table;          /* [channels][width][4] */
    const real *scale, *offset; /* [channels]; scale 0: the channel has no matrix */
};
/* A copy of a map of one row in which each channel with a matrix has the value offset + scale * score. The score at a
 * position is the sum over j and b of table[j][b] times the input of letter b at `position - width / 2 + j`; inputs
 * outside of the row are 0. inputs: [images][4][columns]. It has no gradient, so it is an error in a training step. */
struct tensor *op_matrices(struct exec *e, struct tensor *x, const real *inputs, const struct matrices *m);

/* Normalises x by the mean and variance of all its elements together, then adds Gaussian noise with the given
 * standard deviation. Evaluation adds the noise too. norm: its running mean and variance have one element each, and
 * it has no gain. The noise is a function of (seed, stream, step, position). */
struct tensor *op_noise(struct exec *e, struct tensor *x, struct batch_norm *norm, double deviation);

/* ReLU and the sigmoid function of each element, on rows or maps. The halo and the padding of a map stay zero. */
struct tensor *op_relu(struct exec *e, struct tensor *x);
struct tensor *op_sigmoid(struct exec *e, struct tensor *x);

/* Max pooling of a map over windows of ph x pw positions that do not overlap, with the result as rows
 * [images * (height/ph) * (width/pw)][channels]. Positions that fill no window are ignored. The first position in scan
 * order wins ties. */
struct tensor *op_max_pool_rows(struct exec *e, struct tensor *x, int ph, int pw);
/* 1x1 convolution to w->dim[0] features and max pooling in one pass, to rows as in op_max_pool_rows(). The map in
 * between is never stored. w: [out][in] or [out][in][1][1]; b: [out]. */
struct tensor *op_embed_max_pool(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int ph, int pw);
/* Returns the positions of a map as rows of channels: [images * height * width][channels]. */
struct tensor *op_map_rows(struct exec *e, struct tensor *x);

/* The active sites of a motif map: windows of ph x pw positions in which any channel is above zero, in scan order.
 * The struct and its arrays are in the step arena. */
struct active_sites {
    int images, sites; /* images: number of images; sites: number of windows in one image */
    int capacity;      /* the largest number of active sites in an image */
    int *lengths;      /* [images] number of active sites of each image; an image without active sites gets 1, and its
                        * list contains its first site */
    int *index;        /* [images][sites] the first lengths[i] entries of row i are the active sites of image i */
};
/* Lists the active sites of a motif map; NULL after a failure. */
struct active_sites *op_active_sites(struct exec *e, const struct tensor *motifs, int ph, int pw);
/* Copies the rows of the active sites of each image to the beginning of this image's rows in the result, and sets
 * unused rows to zero. x: rows [images * sites]; result: rows [images * capacity]. */
struct tensor *op_gather_sites(struct exec *e, struct tensor *x, const struct active_sites *active);

/* --- rows ------------------------------------------------------------------------------------- */

/* Linear layer: y = dropout(x w' + b), with ReLU before the dropout if `relu`. w: [out][in]; b: [out] or NULL. Dropout
 * requires ReLU. */
struct tensor *op_linear(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, bool relu,
                         double dropout);

/* Positional encoding: adds row (t / divisor) % period of `table` ([>= period][cols]) to row t of x, then applies
 * dropout. `table` may be trained or constant (grad NULL). For a token grid [images][gh][gw]:
 *
 * - to encode the row of the grid: divisor gw and period gh;
 * - to encode the column of the grid: divisor 1 and period gw;
 * - to give each place of the grid an encoding of its own: divisor 1 and period gh * gw. */
struct tensor *op_add_rows(struct exec *e, struct tensor *x, struct weight *table, int divisor, int period,
                           double dropout);

/* The rows of w [tokens][cols] with the given ids. ids: [count], each in [0, tokens), borrowed until backward. */
struct tensor *op_embedding(struct exec *e, const int32_t *ids, int count, struct weight *w);

/* op_add(): x + y; op_scale(): factor * x. */
struct tensor *op_add(struct exec *e, struct tensor *x, struct tensor *y);
struct tensor *op_scale(struct exec *e, struct tensor *x, double factor);
/* Adds `rise` to the elements of rows x that are above zero. The derivative is 1 everywhere. */
struct tensor *op_raise(struct exec *e, struct tensor *x, double rise);
/* Dropout of whole channels: in training, each channel of each map is 0 with probability `share` and otherwise
 * multiplied by 1 / (1 - share). In evaluation, and with share 0, returns x itself. */
struct tensor *op_drop_channels(struct exec *e, struct tensor *x, double share);
/* A residual connection: x + dropout(y). */
struct tensor *op_residual(struct exec *e, struct tensor *x, struct tensor *y, double dropout);
/* Layer norm over the columns of each row, epsilon 1e-5. gain, bias: [cols]. */
struct tensor *op_layer_norm(struct exec *e, struct tensor *x, struct weight *gain, struct weight *bias);
/* layer_norm(x + dropout(y)) in one pass, as post-norm transformers use it. */
struct tensor *op_residual_norm(struct exec *e, struct tensor *x, struct tensor *y, double dropout, struct weight *gain,
                                struct weight *bias);

/* Scaled dot-product attention with several heads; masks, softmax and dropout in one pass. Rows are sample-major:
 * row = sample * length + position. Head h has columns [h * d, (h + 1) * d). */
struct attention {
    int batch, queries, keys, heads;
    bool causal;            /* query i attends to keys 0..i; requires queries == keys */
    const int *key_lengths; /* [batch] number of valid keys, at least 1, borrowed until backward; NULL: all */
    double dropout;         /* dropout of the attention probabilities */
};
/* Self-attention. qkv: [batch * queries][3 * cols]: query, key, value. Returns [batch * queries][cols], as
 * op_cross_attention() and op_cached_attention() do. */
struct tensor *op_self_attention(struct exec *e, struct tensor *qkv, const struct attention *shape);
/* Cross-attention. q: [batch * queries][cols], kv: [batch * keys][2 * cols]. */
struct tensor *op_cross_attention(struct exec *e, struct tensor *q, struct tensor *kv, const struct attention *shape);
/* Attention over stored keys and values, in evaluation only. The queries are the first `cols` columns of q. kv:
 * [batch][>= shape->keys][2 * cols], keys and values; the data of two successive samples begin `kv_sample` reals
 * apart. */
struct tensor *op_cached_attention(struct exec *e, struct tensor *q, int cols, const real *kv, ptrdiff_t kv_sample,
                                   const struct attention *shape);

/* Bidirectional LSTM of one layer with initial state zero. x: [sequences * length][in], sequence-major. Each direction
 * has PyTorch's weights: w_ih [4h][in], w_hh [4h][h], b_ih and b_hh [4h], gates i, f, g, o. Returns [sequences *
 * length][2h]: the forward direction's h columns, then the backward direction's. */
struct lstm_weights {
    struct weight *w_ih, *w_hh, *b_ih, *b_hh;
};
struct tensor *op_bilstm(struct exec *e, struct tensor *x, int sequences, int length,
                         const struct lstm_weights direction[2]);

/* --- latent variables --------------------------------------------------------------------------- */

/* A sample of Gaussian latent variables: z = mean + exp(log_variance / 2) noise, element by element, in evaluation too.
 * The noise is standard normal, a function of (seed, stream, step, first + row, column); `first` is the index of the
 * first row in the whole batch. */
struct tensor *op_gaussian_sample(struct exec *e, struct tensor *mean, struct tensor *log_variance, int64_t first);
/* factor * sum of (mean^2 + exp(log_variance) - 1 - log_variance) / 2: the KL divergence from a standard normal. */
struct tensor *op_gaussian_kl(struct exec *e, struct tensor *mean, struct tensor *log_variance, double factor);

/* Spike-and-slab latent variables (Tonolini, Jensen, Murray-Smith, UAI 2020). A variable is exactly 0 with probability
 * 1 - gamma (the spike) and otherwise normal (the slab). op_spike_odds() returns gamma = min(1, exp(x)). */
struct tensor *op_spike_odds(struct exec *e, struct tensor *x);
/* Warm-up of the standard deviations s of slabs: replaces s by warmth * s + (1 - warmth). During the first part of a
 * training, warmth rises to 1, so the deviations begin near 1. x and the result contain log variances, 2 log s. */
struct tensor *op_spike_warm(struct exec *e, struct tensor *x, double warmth);
/* The gate of spike-and-slab variables: x sigmoid(sharpness (u - 1 + odds)) with u uniform in [0, 1), a function of
 * (seed, stream, step, first + row, column). */
struct tensor *op_spike_gate(struct exec *e, struct tensor *x, struct tensor *odds, double sharpness, int64_t first);
/* op_spike_kl() returns factor * sum over rows i and pseudo-inputs u of selector[i][u] * KL(i, u). KL(i, u) is the
 * divergence of the spike-and-slab code of row i (mean m, deviation s, gamma) from that of u (m_u, s_u, gamma_u),
 * summed over the latent variables:
 *     gamma (log(s_u / s) + (s^2 + (m - m_u)^2) / (2 s_u^2) - 1/2) + (1 - gamma) log((1 - gamma) / (1 - gamma_u))
 *     + gamma log(gamma / gamma_u)
 * With `printed`, the function uses the formula of the published program instead, which has s in place of s^2, s_u in
 * place of 2 s_u^2, and no factor gamma in the first term. `of`: [rows][k], prior: [pseudo-inputs][k], selector:
 * [rows][pseudo-inputs]. */
struct spike_code {
    struct tensor *mean, *log_variance, *odds;
};
struct tensor *op_spike_kl(struct exec *e, const struct spike_code *of, const struct spike_code *prior,
                           struct tensor *selector, bool printed, double factor);
/* factor * KL(Bernoulli(a) || Bernoulli(rate)), where a is the mean of all entries of `odds`. */
struct tensor *op_rate_kl(struct exec *e, struct tensor *odds, double rate, double factor);
/* Softmax over the columns of each row. */
struct tensor *op_softmax_rows(struct exec *e, struct tensor *x);
/* Returns a weight [rows][cols] as a tensor of rows. */
struct tensor *op_weight_rows(struct exec *e, struct weight *w);

/* Masks latent variables for each feature: row i * count + f of the result is w_j * z_i, element by element, with
 * j = features[f] (NULL: j = f). z: [rows][k]; w: [features][k]. `features` is borrowed until backward. */
struct tensor *op_mask_rows(struct exec *e, struct tensor *z, struct weight *w, const int32_t *features, int count);
/* The whole decoder for features that depend on at most two latent variables: y_ij = c_j + v_j . max(0, b + B max(0, A
 * u)), where u are the values w_jk z_ik of these latent variables. Computes the features of all groups; the other
 * columns are 0. With H units in each hidden layer, the cost is O(H) per row and O(H^2) per group (arc_heads.c).
 * Entries of w outside the groups count as zero and get no gradient. z: [rows][k]. `features`, in the order of the
 * groups, and `groups` are borrowed until backward. */
struct arc_layers {
    struct weight *mask, *first, *second, *bias, *head, *head_bias; /* in the formula above: w, A [units][k], B
                                                                     * [width][units], b, v, c */
};
struct arc_group {
    int32_t latent[2]; /* the group's two latent variables, which differ; -1 stands for a missing one (the second, or
                        * both) */
    int first, count;  /* the group's features: features[first .. first + count - 1] */
};
struct tensor *op_arc_head(struct exec *e, struct tensor *z, const struct arc_layers *layers, const int32_t *features,
                           const struct arc_group *groups, int count);
/* A linear head for each feature: y_ij = v_j . h_(i, f) + c_j for j = features[f] (NULL: j = f). The columns of
 * other features are 0. h_(i, f) is row i * count + f of h. v: [features][columns of h]; c: [features]. `features` is
 * borrowed until backward. */
struct tensor *op_feature_head(struct exec *e, struct tensor *h, int rows, const int32_t *features, int count,
                               struct weight *v, struct weight *c);

/* --- environments as nodes of a tree ------------------------------------------------------------ */

/* Divides each column by its standard deviation sqrt(variance + 1e-8); the means are not subtracted. Training uses
 * the standard deviations of the rows of x. Evaluation uses `deviation` [cols] (borrowed, not trained). */
struct tensor *op_unit_columns(struct exec *e, struct tensor *x, const struct weight *deviation);
/* Linear heads of a tree's nodes. The root has w_0 = base (NULL: zeros); node v has w_v = w_parent(v) + share_v
 * changes[edge_v]. */
struct tree_heads {
    int nodes;
    const int *parent; /* [nodes] parents come before their children; node 0 is the root */
    const int *edge;   /* [nodes] edge_v: the row of `changes` for the edge to the parent; -1: the node equals its
                        * parent */
    const real *share; /* [nodes] share_v: the factor of changes[edge_v] */
};
/* Computes the heads of all nodes. weights: [nodes][cols], written. changes: [edges][cols]; NULL if there are none. */
void tree_heads_expand(const struct tree_heads *heads, const struct weight *base, const struct weight *changes,
                       int cols, real *weights);
/* Applies the head of a node to each row: y_i = w_node(i) . z_i, a result of [rows][1]. node: [rows], the node of each
 * row; node and heads are borrowed until backward. */
struct tensor *op_tree_heads(struct exec *e, struct tensor *z, const int32_t *node, struct weight *base,
                             struct weight *changes, const struct tree_heads *heads);

/* --- likelihoods of x [rows][cols] (borrowed until backward), as losses: [1][1] ----------------- */

/* Gaussian: factor * sum of ((x - y) / sigma_j)^2 / 2. log_sigma: [cols]. */
struct tensor *op_gaussian_loss(struct exec *e, struct tensor *y, const real *x, struct weight *log_sigma,
                                double factor);
/* Multinomial: -factor * sum of x_j log(softmax_j(y) + guard). */
struct tensor *op_multinomial_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor);
/* Bernoulli: -factor * sum of x log(p + guard) + (1 - x) log(1 - p + guard), p = sigmoid(y). */
struct tensor *op_bernoulli_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor);

/* An inverse gamma prior on variances: logs * sum of log sigma + squares * sum of 1 / sigma^2. */
struct tensor *op_sigma_prior(struct exec *e, struct weight *log_sigma, double logs, double squares);
/* A penalty on a weight: factor * sum of coefficient * |w| (power 1) or of coefficient * w^2 (power 2). coefficient:
 * [w->count], borrowed until backward; NULL: ones. */
struct tensor *op_weight_penalty(struct exec *e, struct weight *w, const real *coefficient, int power, double factor);

/* The maximum over both strands. x: a map of 2 n images; image n + i is image i of the other strand, whose last column
 * lies on the first column of image i. The result has n images: max(x[i][col], x[n + i][width - 1 - col]). In a tie the
 * gradient goes to the first strand. *reverse: a map with 1 where the other strand is larger, else 0; reverse may be
 * NULL. */
struct tensor *op_strand_max(struct exec *e, struct tensor *x, struct tensor **reverse);

/* --- losses: [1][1] --------------------------------------------------------------------------- */

/* Cross-entropy: the mean of -log softmax(logits)[target] over the rows with a target >= 0; 0 if there are none.
 * targets: [rows], -1 for rows that do not count; borrowed until backward. */
struct tensor *op_cross_entropy(struct exec *e, struct tensor *logits, const int32_t *targets);
/* The mean of (y - x)^2 over all elements of all ranks. y: rows; x: [y->count], read before the function returns. */
struct tensor *op_squared_error(struct exec *e, struct tensor *y, const real *x);
/* op_log_mean_exp() pools a map to one score for each image and channel, log(mean over positions of exp(sharpness x)) /
 * sharpness: [images][channels]. op_presence() predicts from these scores which names occur in a label. */
struct tensor *op_log_mean_exp(struct exec *e, struct tensor *x, double sharpness);
/* The binary cross-entropy of names, summed over the names and averaged over the images of all ranks. The logit of
 * name k is bias_k + gain_k * scores[image][k]; columns from `names` on are ignored. The arrays are borrowed until
 * backward. */
struct presence {
    int names;
    struct weight *gain, *bias; /* [names] */
    const bool *occurs;         /* [images][names] whether the label contains the name */
    const real *weight;         /* [names] factor on the cross-entropy of images whose label contains the name; NULL:
                                 * 1 */
    const real *scale;          /* [names] factor on the cross-entropy of the name in all images; NULL: 1 */
    const struct presence_parts *parts; /* NULL: each name has one channel */
};
/* Several channels for a name: name k has the channels k, k + names, k + 2 names, and so on; used[k] of them count. If
 * it is more than one, the logit is base_k + the sum over these channels c of effect_c sigmoid(gain_c scores_c +
 * bias_c). Such a sum can express any of, all of, k of, and, with an effect below 0, not. `gain` and `bias` then have
 * an element for each channel. */
struct presence_parts {
    int most;                     /* channels of a name */
    const struct weight *used;    /* [names] from 1 to `most` */
    struct weight *effect, *base; /* [names * most], [names] */
};
/* The logit of a name. scores: [channels] of one image. */
double presence_logit(const struct presence *presence, const real *scores, int name);
struct tensor *op_presence(struct exec *e, struct tensor *scores, const struct presence *presence);
/* The negative log-likelihood of counts (core/methods/sparling): -log of the probability that channel k of a map has
 * counts[image][k] motifs, summed over the names k and averaged over the images of all ranks. Each position has a
 * motif with probability sigmoid(x + offset_k), independently of the others. Channels from `names` on are ignored.
 * The arrays are read before the function returns. */
enum { TALLY_SOME = -1 }; /* a count with this value means "at least one" */
struct tally {
    int names;
    int most;              /* a larger count is treated as `most`; memory grows with `most` */
    const int32_t *counts; /* [images][names] */
    const real *offset;    /* [names] */
    const real *scale;     /* [names] factor on the loss of the name; NULL: 1 */
};
struct tensor *op_tally(struct exec *e, struct tensor *x, const struct tally *tally);
/* sigmoid(gain_c x + bias_c) for each column c. x: rows; gain, bias: [cols]. */
struct tensor *op_odds(struct exec *e, struct tensor *x, struct weight *gain, struct weight *bias);
/* Sums of groups of `each` neighbouring rows: [rows / each][cols]. */
struct tensor *op_sum_groups(struct exec *e, struct tensor *x, int each);
/* The mean of all elements of all ranks. Halo and padding of a map do not count. */
struct tensor *op_mean(struct exec *e, struct tensor *x);
/* A loss that the caller has computed: `value`, and its gradient with respect to x [x->count], borrowed until backward.
 */
struct tensor *op_known(struct exec *e, struct tensor *x, double value, const real *gradient);
/* The penalty of KL sparsity: rate ln(rate / mean) + (1 - rate) ln((1 - rate) / (1 - mean)), the distance of the mean
 * of activations in (0, 1) from the target rate. mean: [1][1]. */
struct tensor *op_rate_divergence(struct exec *e, struct tensor *mean, double rate);

#endif
