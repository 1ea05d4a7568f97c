/* Small layers: each declares its arrays under a name and runs an operation with them.
 *
 * *_build() declares the arrays in `params` as NAME.weight, NAME.bias and so on; errors appear in params_seal().
 * *_forward() may be called after params_seal() and returns NULL after a failure (tape.h). shared_init: the name of a
 * layer with the same shapes whose initial values this layer shares; NULL: initial values of its own. The structs are
 * plain values; the arrays belong to `params`. */
#ifndef MOTIF_CORE_NN_LAYERS_H
#define MOTIF_CORE_NN_LAYERS_H

#include "core/autodiff/ops.h"
#include "core/nn/params.h"

struct linear {
    struct weight *w, *b;
};
/* Linear layer: y = x w' + b. It has PyTorch's default initialisation: weight and bias uniform in [-1 / sqrt(in), 1 /
 * sqrt(in)). */
void linear_build(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                  int out);
/* A linear layer with other initial values: `weight` says how the weights are initialised, and the biases begin at
 * 0. */
void linear_build_with(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                       int out, struct init weight);
struct tensor *linear_forward(struct exec *e, struct linear *layer, struct tensor *x, bool relu, double dropout);

/* Convolution with kernel 1x1, 3x3 or 1x3; weight [out][in][kh][kw], bias [out]. */
struct conv {
    struct weight *w, *b;
};
/* conv_layer_forward() convolves x, a map of `in` channels, and adds `residual`, a map of `out` channels, to the
 * result. residual may be NULL. */
void conv_layer_build(struct conv *layer, struct params *params, const char *name, int in, int out, int kh, int kw);
struct tensor *conv_layer_forward(struct exec *e, struct conv *layer, struct tensor *x, struct tensor *residual);

#define BATCH_NORM_MOMENTUM 0.1 /* share by which running statistics move towards those of a batch */

/* Batch norm with initial running mean 0 and variance 1, epsilon 1e-5. affine: with gain and bias. */
void batch_norm_build(struct batch_norm *norm, struct params *params, const char *name, int channels, bool affine);

/* Layer norm; the initial gain is 1 and the initial bias 0. */
struct layer_norm {
    struct weight *gain, *bias;
};
void layer_norm_build(struct layer_norm *norm, struct params *params, const char *name, int cols);

/* x + conv(relu(bn(conv(relu(bn(x)))))) with two 3x3 convolutions, or 1x3 for sequences. */
struct residual_unit {
    struct batch_norm norm1, norm2;
    struct conv conv1, conv2;
};
/* Declares a unit whose input and result are maps of `width` channels. kh, kw: size of both kernels. */
void residual_unit_build(struct residual_unit *unit, struct params *params, const char *name, int width, int kh,
                         int kw);
struct tensor *residual_unit_forward(struct exec *e, struct residual_unit *unit, struct tensor *x);
/* The same for maps of height 1, with kernels whose taps are `dilation` columns apart (op_conv_line()). */
struct tensor *residual_unit_dilated(struct exec *e, struct residual_unit *unit, int dilation, struct tensor *x);

/* Bidirectional LSTM with `hidden` units per direction; all arrays uniform in [-1 / sqrt(hidden), 1 / sqrt(hidden)). x:
 * [sequences * length][in]; the result is [sequences * length][2 hidden]. */
struct bilstm {
    struct lstm_weights direction[2];
};
void bilstm_build(struct bilstm *lstm, struct params *params, const char *name, int in, int hidden);
struct tensor *bilstm_forward(struct exec *e, struct bilstm *lstm, struct tensor *x, int sequences, int length);

/* y = x / sqrt(square + epsilon), where `square` is a running mean of the squares of the positive elements of x. In
 * training, `square` first moves by 1 - momentum towards the batch's value, unless no element is positive. The
 * gradient treats `square` as a constant. x: rows.
 *
 * The layer is meant for sparse maps. While annealing makes a map sparser, its remaining values grow by orders of
 * magnitude. Without the layer they would become much larger than the positional encodings that are added to them. */
struct rms_scale {
    struct weight *square;    /* [1] a state array; its initial value is 1 */
    double momentum, epsilon; /* rms_scale_build() sets 0.99 and 1e-6 */
};
void rms_scale_build(struct rms_scale *scale, struct params *params, const char *name);
struct tensor *rms_scale_forward(struct exec *e, struct rms_scale *scale, struct tensor *x);

/* An embedding table [tokens][cols]; initial values are normal with standard deviation 1. */
struct weight *embedding_build(struct params *params, const char *name, int tokens, int cols);

/* Linear layers with ReLU between them. sizes: [layers + 1], from the input to the output. */
#define MLP_LAYERS 8
struct mlp {
    struct linear layer[MLP_LAYERS];
    int layers;
    double dropout; /* dropout after each ReLU */
};
void mlp_build(struct mlp *mlp, struct params *params, const char *name, int layers, const int *sizes, double dropout);
struct tensor *mlp_forward(struct exec *e, struct mlp *mlp, struct tensor *x);

/* Fixed positional encodings, to be added with op_add_rows(): sines in even columns, cosines in odd ones, with
 * wavelengths from 2 pi to 10000 * 2 pi (Vaswani et al. 2017). table: [rows][cols], owned by the caller.
 * weight_constant() makes a weight over the table, without a gradient. */
void positions_sine(real *table, int rows, int cols);
/* Fixed positional encodings of a two-dimensional grid. table: [height * width][cols]; the first half of the columns
 * encodes the row, the second half the column. cols must be a multiple of 4. */
void positions_grid(real *table, int height, int width, int cols);
/* The encodings of positions_sine() with the columns in reverse order. The encodings differ from those of
 * positions_sine(), so both can be added to the same row. */
void positions_backward(real *table, int rows, int cols);
struct weight weight_constant(real *table, int rows, int cols);

#endif
