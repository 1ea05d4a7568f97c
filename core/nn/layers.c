/* Small layers. Array names are those of PyTorch's state dictionaries where PyTorch has the same layer. */
#include "core/nn/layers.h"

#include <math.h>
#include <stdio.h>

/* An array of a layer. name: NAME.part; shared_init: name of the array whose initial values this array shares.
 * params_add() refuses names that are too long. */
struct part_name {
    char name[2 * SNAPSHOT_NAME], shared_init[2 * SNAPSHOT_NAME];
    struct init init;
};

static struct part_name layers_part(const char *name, const char *shared_init, const char *what, struct init init)
{
    struct part_name p;
    snprintf(p.name, sizeof(p.name), "%s.%s", name, what);
    snprintf(p.shared_init, sizeof(p.shared_init), "%s.%s", shared_init == NULL ? name : shared_init, what);
    p.init = init;
    return p;
}

static struct weight *add_part(struct params *params, const char *name, const char *shared_init, const char *what,
                               int rank, const int *dim, struct init init)
{
    struct part_name p = layers_part(name, shared_init, what, init);
    p.init.shared_init = p.shared_init;
    return params_add(params, p.name, rank, dim, p.init);
}

void linear_build(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                  int out)
{
    layer->w = add_part(params, name, shared_init, "weight", 2, (int[]){out, in}, init_fan_in(in));
    layer->b = add_part(params, name, shared_init, "bias", 1, &out, init_fan_in(in));
}

void linear_build_with(struct linear *layer, struct params *params, const char *name, const char *shared_init, int in,
                       int out, struct init weight)
{
    layer->w = add_part(params, name, shared_init, "weight", 2, (int[]){out, in}, weight);
    layer->b = add_part(params, name, shared_init, "bias", 1, &out, init_constant(0.0));
}

struct tensor *linear_forward(struct exec *e, struct linear *layer, struct tensor *x, bool relu, double dropout)
{
    return op_linear(e, x, layer->w, layer->b, relu, dropout);
}

void conv_layer_build(struct conv *layer, struct params *params, const char *name, int in, int out, int kh, int kw)
{
    layer->w = add_part(params, name, NULL, "weight", 4, (int[]){out, in, kh, kw}, init_fan_in(in * kh * kw));
    layer->b = add_part(params, name, NULL, "bias", 1, &out, init_fan_in(in * kh * kw));
}

struct tensor *conv_layer_forward(struct exec *e, struct conv *layer, struct tensor *x, struct tensor *residual)
{
    return op_conv(e, x, layer->w, layer->b, residual);
}

void batch_norm_build(struct batch_norm *norm, struct params *params, const char *name, int channels, bool affine)
{
    *norm = (struct batch_norm){.momentum = BATCH_NORM_MOMENTUM, .epsilon = 1e-5};
    if (affine) {
        norm->gain = add_part(params, name, NULL, "weight", 1, &channels, init_constant(1.0));
        norm->bias = add_part(params, name, NULL, "bias", 1, &channels, init_constant(0.0));
    }
    norm->mean =
        params_add_state(params, layers_part(name, NULL, "running_mean", init_constant(0.0)).name, channels, 0.0);
    norm->variance =
        params_add_state(params, layers_part(name, NULL, "running_var", init_constant(0.0)).name, channels, 1.0);
}

void layer_norm_build(struct layer_norm *norm, struct params *params, const char *name, int cols)
{
    norm->gain = add_part(params, name, NULL, "weight", 1, &cols, init_constant(1.0));
    norm->bias = add_part(params, name, NULL, "bias", 1, &cols, init_constant(0.0));
}

/* --- residual unit ------------------------------------------------------------------------------ */

void residual_unit_build(struct residual_unit *unit, struct params *params, const char *name, int width, int kh, int kw)
{
    struct init none = init_constant(0.0);
    batch_norm_build(&unit->norm1, params, layers_part(name, NULL, "norm1", none).name, width, true);
    conv_layer_build(&unit->conv1, params, layers_part(name, NULL, "conv1", none).name, width, width, kh, kw);
    batch_norm_build(&unit->norm2, params, layers_part(name, NULL, "norm2", none).name, width, true);
    conv_layer_build(&unit->conv2, params, layers_part(name, NULL, "conv2", none).name, width, width, kh, kw);
}

struct tensor *residual_unit_forward(struct exec *e, struct residual_unit *unit, struct tensor *x)
{
    struct tensor *y = op_norm_conv(e, x, &unit->norm1, unit->conv1.w, unit->conv1.b, NULL);
    return op_norm_conv(e, y, &unit->norm2, unit->conv2.w, unit->conv2.b, x);
}

struct tensor *residual_unit_dilated(struct exec *e, struct residual_unit *unit, int dilation, struct tensor *x)
{
    struct tensor *y = op_batch_norm(e, x, &unit->norm1, true);
    y = op_conv_line(e, y, unit->conv1.w, unit->conv1.b, dilation, NULL);
    y = op_batch_norm(e, y, &unit->norm2, true);
    return op_conv_line(e, y, unit->conv2.w, unit->conv2.b, dilation, x);
}

/* --- LSTM --------------------------------------------------------------------------------------- */

void bilstm_build(struct bilstm *lstm, struct params *params, const char *name, int in, int hidden)
{
    static const char *const names[2][4] = {
        {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"},
        {"weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse"},
    };
    struct init init = init_fan_in(hidden);
    int gates = 4 * hidden;
    for (int d = 0; d < 2; d++) {
        struct lstm_weights *w = &lstm->direction[d];
        w->w_ih = add_part(params, name, NULL, names[d][0], 2, (int[]){gates, in}, init);
        w->w_hh = add_part(params, name, NULL, names[d][1], 2, (int[]){gates, hidden}, init);
        w->b_ih = add_part(params, name, NULL, names[d][2], 1, &gates, init);
        w->b_hh = add_part(params, name, NULL, names[d][3], 1, &gates, init);
    }
}

struct tensor *bilstm_forward(struct exec *e, struct bilstm *lstm, struct tensor *x, int sequences, int length)
{
    return op_bilstm(e, x, sequences, length, lstm->direction);
}

void rms_scale_build(struct rms_scale *scale, struct params *params, const char *name)
{
    *scale = (struct rms_scale){.momentum = 0.99, .epsilon = 1e-6};
    scale->square =
        params_add_state(params, layers_part(name, NULL, "running_square", init_constant(0.0)).name, 1, 1.0);
}

struct tensor *rms_scale_forward(struct exec *e, struct rms_scale *scale, struct tensor *x)
{
    if (x == NULL || e->error.code)
        return NULL;
    real *square = scale->square->value;
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = 0; e->training && i < x->count; i++)
        if (x->data[i] > R(0.0)) {
            sum += (double)x->data[i] * (double)x->data[i];
            count++;
        }
    double both[2] = {sum, (double)count};
    if (e->comm != NULL && e->training && comm_sum(e->comm, both, 2, &e->error))
        return NULL;
    if (both[1] > 0)
        *square = (real)(scale->momentum * (double)*square + (1.0 - scale->momentum) * both[0] / both[1]);
    return op_scale(e, x, 1.0 / sqrt((double)*square + scale->epsilon));
}

struct weight *embedding_build(struct params *params, const char *name, int tokens, int cols)
{
    return add_part(params, name, NULL, "weight", 2, (int[]){tokens, cols}, init_normal(1.0));
}

/* --- multi-layer perceptron --------------------------------------------------------------------- */

void mlp_build(struct mlp *mlp, struct params *params, const char *name, int layers, const int *sizes, double dropout)
{
    mlp->layers = layers < MLP_LAYERS ? layers : MLP_LAYERS;
    mlp->dropout = dropout;
    for (int i = 0; i < mlp->layers; i++) {
        char what[16];
        snprintf(what, sizeof(what), "%d", i);
        linear_build(&mlp->layer[i], params, layers_part(name, NULL, what, init_constant(0.0)).name, NULL, sizes[i],
                     sizes[i + 1]);
    }
}

struct tensor *mlp_forward(struct exec *e, struct mlp *mlp, struct tensor *x)
{
    for (int i = 0; i < mlp->layers; i++) {
        bool inner = i < mlp->layers - 1;
        x = linear_forward(e, &mlp->layer[i], x, inner, inner ? mlp->dropout : 0.0);
    }
    return x;
}

/* --- positions ---------------------------------------------------------------------------------- */

static void sine_row(real *row, int cols, int position)
{
    for (int j = 0; j < cols; j += 2) {
        double angle = position * exp(-log(10000.0) * j / cols);
        row[j] = (real)sin(angle);
        if (j + 1 < cols)
            row[j + 1] = (real)cos(angle);
    }
}

void positions_sine(real *table, int rows, int cols)
{
    for (int r = 0; r < rows; r++)
        sine_row(table + (size_t)r * (size_t)cols, cols, r);
}

void positions_backward(real *table, int rows, int cols)
{
    positions_sine(table, rows, cols);
    for (int r = 0; r < rows; r++) {
        real *row = table + (size_t)r * (size_t)cols;
        for (int j = 0; j < cols / 2; j++) {
            real kept = row[j];
            row[j] = row[cols - 1 - j];
            row[cols - 1 - j] = kept;
        }
    }
}

void positions_grid(real *table, int height, int width, int cols)
{
    for (int r = 0; r < height * width; r++) {
        real *row = table + (size_t)r * (size_t)cols;
        sine_row(row, cols / 2, r / width);
        sine_row(row + cols / 2, cols - cols / 2, r % width);
    }
}

struct weight weight_constant(real *table, int rows, int cols)
{
    return (struct weight){.value = table, .rank = 2, .dim = {rows, cols}, .count = (size_t)rows * (size_t)cols};
}
