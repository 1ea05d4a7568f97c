/* Small layers: arrays of a model, declared under a name, and the operation they feed.
 *
 * *_build() declares the arrays in `params` as NAME.weight, NAME.bias and so on; *_forward() may be
 * called after params_seal(). `shared_init` is the name of the layer whose initial values are shared, or NULL. */
#ifndef MOTIF_CORE_NN_LAYERS_H
#define MOTIF_CORE_NN_LAYERS_H

#include "core/autodiff/ops.h"
#include "core/nn/params.h"

struct linear {
    struct weight *w, *b;
};
/* Framework default: weight and bias uniform in 1 / sqrt(in). */
void linear_build(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                  int out);
/* Weight as told, bias 0. */
void linear_build_with(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                       int out, struct init weight);
struct tensor *linear_forward(struct exec *e, struct linear *layer, struct tensor *x, bool relu, double dropout);

/* Kernel 1x1, 3x3 or 1x3; weight [out][in][kh][kw], bias. */
struct conv {
    struct weight *w, *b;
};
void conv_layer_build(struct conv *layer, struct params *params, const char *name, int in, int out, int kh, int kw);
struct tensor *conv_layer_forward(struct exec *e, struct conv *layer, struct tensor *x, struct tensor *residual);

/* Running mean 0, variance 1, momentum 0.1, epsilon 1e-5. */
void batch_norm_build(struct batch_norm *norm, struct params *params, const char *name, int channels, bool affine);

struct layer_norm {
    struct weight *gain, *bias;
};
void layer_norm_build(struct layer_norm *norm, struct params *params, const char *name, int cols);

/* x + conv(relu(bn(conv(relu(bn(x)))))), two 3x3 (or, for sequences, 1x3) convolutions. */
struct residual_unit {
    struct batch_norm norm1, norm2;
    struct conv conv1, conv2;
};
void residual_unit_build(struct residual_unit *unit, struct params *params, const char *name, int width, int kh,
                         int kw);
struct tensor *residual_unit_forward(struct exec *e, struct residual_unit *unit, struct tensor *x);

/* Bidirectional, `hidden` a direction; all arrays uniform in 1 / sqrt(hidden). */
struct bilstm {
    struct lstm_weights direction[2];
};
void bilstm_build(struct bilstm *lstm, struct params *params, const char *name, int in, int hidden);
struct tensor *bilstm_forward(struct exec *e, struct bilstm *lstm, struct tensor *x, int sequences, int length);

/* y = x / sqrt(square + epsilon). `square` follows the mean square of the elements of x above zero: in training it
 * moves by 1 - momentum towards that of the batch before it is used, unless nothing is above zero. A constant to the
 * gradient. For maps that are sparse: what is left of them grows by orders of magnitude while they are made
 * sparser, and would drown what is added to it (positions). x: rows. */
struct rms_scale {
    struct weight *square;    /* [1], state, 1 at first */
    double momentum, epsilon; /* 0.99, 1e-6 */
};
void rms_scale_build(struct rms_scale *scale, struct params *params, const char *name);
struct tensor *rms_scale_forward(struct exec *e, struct rms_scale *scale, struct tensor *x);

/* Normal with deviation 1. */
struct weight *embedding_build(struct params *params, const char *name, int tokens, int cols);

/* Linear layers with ReLU between them. sizes[0] in, sizes[layers] out. */
#define MLP_LAYERS 8
struct mlp {
    struct linear layer[MLP_LAYERS];
    int layers;
    double dropout; /* after each ReLU */
};
void mlp_build(struct mlp *mlp, struct params *params, const char *name, int layers, const int *sizes, double dropout);
struct tensor *mlp_forward(struct exec *e, struct mlp *mlp, struct tensor *x);

/* Fixed positions as rows to be added (op_add_rows): sines at even columns, cosines at odd ones, wave
 * lengths from 2 pi to base 10000. `table` is the caller's [rows][cols]; the weight made over it has no
 * gradient. */
void positions_sine(real *table, int rows, int cols);
/* Two-dimensional: [height * width][cols]; the first half of the columns tells the row, the other the
 * column. cols a multiple of 4. */
void positions_grid(real *table, int height, int width, int cols);
struct weight weight_constant(real *table, int rows, int cols);

#endif
