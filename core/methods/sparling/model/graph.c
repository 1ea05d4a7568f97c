/* Writes the motif model as a graph of standard operations, as it computes in evaluation: g, batch norm, sparse layer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/autodiff/ops.h"
#include "core/methods/sparling/model/graph.h"

enum { NAME = 64, BASES = 4 };

struct writing {
    const struct graph_writer *out;
    char value[NAME]; /* name of the last result */
    int failed;       /* 1 after a failed allocation of a constant */
};

static void constant(struct writing *w, const char *name, const char *part, int rank, const int64_t *dim,
                     const real *values)
{
    char full[2 * NAME];
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= (size_t)dim[d];
    float *copy = malloc((count + 1) * sizeof *copy);
    w->failed |= !copy;
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = (float)values[i];
    snprintf(full, sizeof full, "%s.%s", name, part);
    if (copy)
        w->out->constant(w->out->context, full, rank, dim, copy);
    free(copy);
}

/* Adds a constant with one number for each channel: those of the array or, if the array is NULL, `otherwise` for every
 * channel. */
static void per_channel(struct writing *w, const char *name, const char *part, int channels,
                        const struct weight *values, double otherwise)
{
    real same[4096];
    const int64_t dim[1] = {channels};
    for (int i = 0; i < channels; i++)
        same[i] = values ? values->value[i] : (real)otherwise;
    constant(w, name, part, 1, dim, same);
}

/* Adds the operation op(last result, NAME.PART ...) -> NAME.op, which becomes the last result. */
static void node(struct writing *w, const char *op, const char *name, const char *const *parts, size_t count,
                 const struct graph_attribute *attributes, size_t attribute_count)
{
    char full[4][2 * NAME], result[2 * NAME];
    const char *inputs[5] = {w->value};
    for (size_t i = 0; i < count; i++) {
        snprintf(full[i], sizeof full[i], "%s.%s", name, parts[i]);
        inputs[i + 1] = full[i];
    }
    snprintf(result, sizeof result, "%s.%s", name, op);
    w->out->node(w->out->context, op, inputs, count + 1, result, attributes, attribute_count);
    snprintf(w->value, sizeof w->value, "%.63s", result);
}

/* Writes the first convolution: with a stride, as a convolution of the input's pixels. Its kernel has the pixels of the
 * blocks that op_space_to_depth() makes channels, and its padding completes the blocks at the edges. */
static void first_conv(struct writing *w, const struct network *n)
{
    static const char *const parts[] = {"weight", "bias"};
    const struct weight *of = n->first.w;
    int64_t s = n->map.stride, high = of->dim[2], wide = of->dim[3];
    const int64_t dim[4] = {of->dim[0], of->dim[1] / (s * s), high * s, wide * s}, top = high / 2 * s,
                  left = wide / 2 * s, bottom = top + n->map.inner_rows * s - n->map.rows,
                  right = left + n->map.inner_cols * s - n->map.cols;
    const struct graph_attribute attributes[] = {{"kernel_shape", 2, {dim[2], dim[3]}, 0},
                                                 {"pads", 4, {top, left, bottom, right}, 0},
                                                 {"strides", 2, {s, s}, 0}};
    real *weight = malloc(of->count * sizeof *weight), *to = weight;
    w->failed |= !weight;
    for (int64_t plane = 0; weight && plane < dim[0] * dim[1]; plane++)
        for (int64_t row = 0; row < dim[2]; row++)
            for (int64_t col = 0; col < dim[3]; col++)
                *to++ = of->value[((plane * s * s + row % s * s + col % s) * high + row / s) * wide + col / s];
    if (weight)
        constant(w, "g.first", parts[0], 4, dim, weight);
    free(weight);
    constant(w, "g.first", parts[1], 1, dim, n->first.b->value);
    node(w, "Conv", "g.first", parts, 2, attributes, 3);
}

/* Writes op_spread(): a transposed convolution of each channel, whose kernel is 1 at one pixel of a block. */
static void spread(struct writing *w, const struct network *n)
{
    static const char *const parts[] = {"pixel"};
    const struct sparling_geometry *map = &n->map;
    int64_t s = map->stride, channels = n->config.channels_motif;
    const int64_t dim[4] = {channels, 1, s, s},
                  pixel = block_pixel(map->rows, (int)s) * s + block_pixel(map->cols, (int)s);
    const struct graph_attribute attributes[] = {
        {"kernel_shape", 2, {s, s}, 0},
        {"pads", 4, {0, 0, map->inner_rows * s - map->rows, map->inner_cols * s - map->cols}, 0},
        {"strides", 2, {s, s}, 0},
        {"group", GRAPH_ONE, {channels}, 0}};
    real *weight = calloc((size_t)(channels * s * s), sizeof *weight);
    w->failed |= !weight;
    for (int64_t c = 0; weight && c < channels; c++)
        weight[c * s * s + pixel] = R(1.0);
    if (weight)
        constant(w, "spread", parts[0], 4, dim, weight);
    free(weight);
    node(w, "ConvTranspose", "spread", parts, 1, attributes, 4);
}

static void conv(struct writing *w, const char *name, const struct conv *layer, int dilation)
{
    static const char *const parts[] = {"weight", "bias"};
    int64_t dim[4];
    for (int d = 0; d < 4; d++)
        dim[d] = layer->w->dim[d];
    int64_t high = dim[2] / 2, wide = dim[3] / 2 * dilation;
    const struct graph_attribute attributes[] = {{"kernel_shape", 2, {dim[2], dim[3]}, 0},
                                                 {"pads", 4, {high, wide, high, wide}, 0},
                                                 {"strides", 2, {1, 1}, 0},
                                                 {"dilations", 2, {1, dilation}, 0}};
    constant(w, name, parts[0], 4, dim, layer->w->value);
    constant(w, name, parts[1], 1, dim, layer->b->value);
    node(w, "Conv", name, parts, 2, attributes, dilation > 1 ? 4 : 3);
}

static void norm(struct writing *w, const char *name, const struct batch_norm *layer, int channels)
{
    static const char *const parts[] = {"gain", "bias", "mean", "variance"};
    const struct graph_attribute attribute = {"epsilon", 0, {0}, layer->epsilon};
    per_channel(w, name, parts[0], channels, layer->gain, 1);
    per_channel(w, name, parts[1], channels, layer->bias, 0);
    per_channel(w, name, parts[2], channels, layer->mean, 0);
    per_channel(w, name, parts[3], channels, layer->variance, 1);
    node(w, "BatchNormalization", name, parts, 4, &attribute, 1);
}

static void unit(struct writing *w, const char *name, const struct residual_unit *layer, int width, int dilation)
{
    const struct conv *convs[] = {&layer->conv1, &layer->conv2};
    const struct batch_norm *norms[] = {&layer->norm1, &layer->norm2};
    char before[NAME], part[NAME], result[NAME];
    snprintf(before, sizeof before, "%s", w->value);
    for (int i = 0; i < 2; i++) {
        snprintf(part, sizeof part, "%.40s.norm%d", name, i + 1);
        norm(w, part, norms[i], width);
        node(w, "Relu", part, NULL, 0, NULL, 0);
        snprintf(part, sizeof part, "%.40s.conv%d", name, i + 1);
        conv(w, part, convs[i], dilation);
    }
    snprintf(result, sizeof result, "%.40s.Add", name);
    const char *inputs[] = {w->value, before};
    w->out->node(w->out->context, "Add", inputs, 2, result, NULL, 0);
    snprintf(w->value, sizeof w->value, "%s", result);
}

/* An operation of the graph, with the names of its inputs and of its result; unused inputs are NULL. Transpose
 * exchanges the two axes. */
struct graph_step {
    const char *op, *input[3], *result;
};

static void take_step(struct writing *w, const struct graph_step *step)
{
    const struct graph_attribute perm = {"perm", 2, {1, 0}, 0};
    size_t inputs = step->input[2] ? 3 : step->input[1] ? 2 : 1;
    bool transposes = strcmp(step->op, "Transpose") == 0;
    w->out->node(w->out->context, step->op, step->input, inputs, step->result, &perm, transposes);
}

/* Adds a convolution of the input with the matrices of all channels: NAME.weight, NAME.bias -> NAME.Conv. */
static void matrix_conv(struct writing *w, const char *name, const struct matrix_scores *m, int channels, bool reverse)
{
    static const char *const parts[] = {"weight", "bias"};
    const int64_t dim[4] = {channels, BASES, 1, m->width}, half = m->width / 2;
    const struct graph_attribute attributes[] = {
        {"kernel_shape", 2, {1, m->width}, 0}, {"pads", 4, {0, half, 0, half}, 0}, {"strides", 2, {1, 1}, 0}};
    real *weight = malloc((size_t)channels * BASES * (size_t)m->width * sizeof *weight), *to = weight;
    w->failed |= !weight;
    for (int c = 0; weight && c < channels; c++)
        for (int b = 0; b < BASES; b++)
            for (int j = 0; j < m->width; j++)
                *to++ = m->table->value[(c * m->width + (reverse ? m->width - 1 - j : j)) * BASES +
                                        (reverse ? BASES - 1 - b : b)];
    if (weight)
        constant(w, name, parts[0], 4, dim, weight);
    free(weight);
    per_channel(w, name, parts[1], channels, NULL, 0);
    snprintf(w->value, sizeof w->value, "input");
    node(w, "Conv", name, parts, 2, attributes, 3);
}

/* Writes op_matrices() as a sum for all channels: the last result times matrix.keeps, plus the score times
 * matrix.scale, plus matrix.offset. For a channel with a matrix, keeps is 0. For every other channel, keeps is 1, and
 * scale and offset are 0. */
static void matrices(struct writing *w, const struct matrix_scores *m, int channels)
{
    real keeps[4096], uses[4096], offset[4096];
    const int64_t dim[4] = {1, channels, 1, 1};
    bool both = m->strands->value[0] > 0;
    char before[NAME];
    snprintf(before, sizeof before, "%s", w->value);
    for (int c = 0; c < channels; c++) {
        keeps[c] = m->scale->value[c] > 0 ? R(0.0) : R(1.0);
        uses[c] = R(1.0) - keeps[c];
        offset[c] = m->scale->value[c] > 0 ? m->offset->value[c] : R(0.0);
    }
    constant(w, "matrix", "keeps", 4, dim, keeps);
    constant(w, "matrix", "uses", 4, dim, uses);
    constant(w, "matrix", "scale", 4, dim, m->scale->value);
    constant(w, "matrix", "offset", 4, dim, offset);
    matrix_conv(w, "matrix.own", m, channels, false);
    if (both)
        matrix_conv(w, "matrix.other", m, channels, true);
    const struct graph_step larger = {"Max", {"matrix.own.Conv", "matrix.other.Conv"}, "matrix.score"};
    const struct graph_step steps[] = {
        {"Mul", {both ? "matrix.score" : "matrix.own.Conv", "matrix.scale"}, "matrix.scaled"},
        {"Add", {"matrix.scaled", "matrix.offset"}, "matrix.values"},
        {"Mul", {before, "matrix.keeps"}, "matrix.kept"},
        {"Add", {"matrix.kept", "matrix.values"}, "matrix.map"},
    };
    if (both)
        take_step(w, &larger);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        take_step(w, &steps[i]);
    snprintf(w->value, sizeof w->value, "matrix.map");
}

/* Subtracts the thresholds, [1][channels][1][1], before the ReLU. */
static void threshold(struct writing *w, const struct network *n, const real *thresholds)
{
    static const char *const parts[] = {"threshold"};
    real same[4096];
    const int64_t dim[4] = {1, n->config.channels_motif, 1, 1};
    for (int64_t i = 0; i < dim[1]; i++)
        same[i] = thresholds ? thresholds[i] : (real)0.5;
    constant(w, "sparse", parts[0], 4, dim, same);
    node(w, "Sub", "sparse", parts, 1, NULL, 0);
}

/* If no value of an image is above 0, sets the largest one to NETWORK_LIFT (op_lift()). The map is flattened and
 * transposed first, so that the first axis runs over all values of an image. */
static void lift(struct writing *w)
{
    static const float zero[1] = {0}, rise[1] = {NETWORK_LIFT};
    static const int64_t one[1] = {1};
    static const struct graph_step steps[] = {
        {"Shape", {"sparse.Sub"}, "lift.shape"},
        {"Flatten", {"sparse.Sub"}, "lift.flat"},
        {"Transpose", {"lift.flat"}, "lift.values"},
        {"ArgMax", {"lift.values"}, "lift.at"},
        {"GatherElements", {"lift.values", "lift.at"}, "lift.largest"},
        {"Greater", {"lift.largest", "lift.zero"}, "lift.active"},
        {"Where", {"lift.active", "lift.largest", "lift.rise"}, "lift.least"},
        {"ScatterElements", {"lift.values", "lift.at", "lift.least"}, "lift.lifted"},
        {"Transpose", {"lift.lifted"}, "lift.images"},
        {"Reshape", {"lift.images", "lift.shape"}, "lift.map"},
    };
    w->out->constant(w->out->context, "lift.zero", 1, one, zero);
    w->out->constant(w->out->context, "lift.rise", 1, one, rise);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        take_step(w, &steps[i]);
    snprintf(w->value, sizeof w->value, "lift.map");
}

/* Finds the peaks of the last result, NAME.peaks: values that are not the largest one of their channel within `near`
 * positions become 0. */
static void find_peaks(struct writing *w, const struct network *n, const char *name, int64_t near)
{
    int64_t high = near, wide = near;
    char pooled[NAME], lower[NAME], zero[NAME], peaks[NAME];
    snprintf(pooled, sizeof pooled, "%s.pooled", name);
    snprintf(lower, sizeof lower, "%s.lower", name);
    snprintf(zero, sizeof zero, "%s.zero", name);
    snprintf(peaks, sizeof peaks, "%s.peaks", name);
    high = high < n->map.inner_rows ? high : n->map.inner_rows - 1;
    wide = wide < n->map.inner_cols ? wide : n->map.inner_cols - 1;
    const struct graph_attribute window[] = {{"kernel_shape", 2, {2 * high + 1, 2 * wide + 1}, 0},
                                             {"pads", 4, {high, wide, high, wide}, 0}};
    const char *inputs[] = {w->value};
    w->out->node(w->out->context, "MaxPool", inputs, 1, pooled, window, 2);
    take_step(w, &(struct graph_step){"Less", {w->value, pooled}, lower});
    take_step(w, &(struct graph_step){"Where", {lower, zero, w->value}, peaks});
}

/* Leaves only the peaks of the channels that have a matrix (op_peaks()). */
static void thin(struct writing *w, const struct network *n)
{
    static const float zero[1] = {0};
    static const int64_t one[1] = {1};
    const struct graph_step steps[] = {
        {"Mul", {"thin.peaks", "matrix.uses"}, "thin.own"},
        {"Mul", {w->value, "matrix.keeps"}, "thin.kept"},
        {"Add", {"thin.own", "thin.kept"}, "thin.map"},
    };
    w->out->constant(w->out->context, "thin.zero", 1, one, zero);
    find_peaks(w, n, "thin", n->map.reach / 4);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        take_step(w, &steps[i]);
    snprintf(w->value, sizeof w->value, "thin.map");
}

/* Writes the operations that make limit.values.(i + 1) from limit.values.i: the largest value of each column becomes 0.
 * The largest values are limit.largest.i. */
static void remove_largest(struct writing *w, int i)
{
    char values[NAME], at[NAME], largest[NAME], zero[NAME], rest[NAME];
    snprintf(values, sizeof values, "limit.values.%d", i);
    snprintf(at, sizeof at, "limit.at.%d", i);
    snprintf(largest, sizeof largest, "limit.largest.%d", i);
    snprintf(zero, sizeof zero, "limit.zero.%d", i);
    snprintf(rest, sizeof rest, "limit.values.%d", i + 1);
    take_step(w, &(struct graph_step){"ArgMax", {values}, at});
    take_step(w, &(struct graph_step){"GatherElements", {values, at}, largest});
    take_step(w, &(struct graph_step){"Sub", {largest, largest}, zero});
    take_step(w, &(struct graph_step){"ScatterElements", {values, at, zero}, rest});
}

/* Writes op_limit(): the network_most() largest peaks of an image and all values above the next largest peak stay; all
 * other values become 0. To find that next peak, the graph sets the largest peak to 0, again and again. An image is a
 * column, as in lift(). */
static void limit(struct writing *w, const struct network *n)
{
    static const float zero[1] = {0};
    static const int64_t one[1] = {1};
    int most = network_most(n);
    char largest[NAME];
    snprintf(largest, sizeof largest, "limit.largest.%d", most);
    w->out->constant(w->out->context, "limit.zero", 1, one, zero);
    find_peaks(w, n, "limit", network_near(n) / n->map.stride);
    take_step(w, &(struct graph_step){"Flatten", {"limit.peaks"}, "limit.flat"});
    take_step(w, &(struct graph_step){"Transpose", {"limit.flat"}, "limit.values.0"});
    for (int i = 0; i <= most; i++)
        remove_largest(w, i);
    const struct graph_step steps[] = {
        {"Relu", {largest}, "limit.row"},
        {"Transpose", {"limit.row"}, "limit.cut"},
        {"Shape", {w->value}, "limit.shape"},
        {"Flatten", {w->value}, "limit.all"},
        {"Greater", {"limit.all", "limit.cut"}, "limit.stays"},
        {"Where", {"limit.stays", "limit.all", "limit.zero"}, "limit.images"},
        {"Reshape", {"limit.images", "limit.shape"}, "limit.map"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        take_step(w, &steps[i]);
    snprintf(w->value, sizeof w->value, "limit.map");
}

static void sparse(struct writing *w, const struct network *n)
{
    const real *thresholds = sparse_thresholds(n->sparse);
    if (n->config.sparsity == SPARSITY_KL)
        node(w, "Sigmoid", "sparse", NULL, 0, NULL, 0);
    if (n->config.sparsity == SPARSITY_KL || thresholds)
        threshold(w, n, thresholds);
    if (n->config.never_empty && thresholds)
        lift(w);
    if (network_uses_matrices(n) && thresholds)
        thin(w, n);
    if (network_most(n) > 0)
        limit(w, n);
    if (n->config.sparsity != SPARSITY_IDENTITY)
        node(w, "Relu", "sparse", NULL, 0, NULL, 0);
    if (n->map.stride > 1)
        spread(w, n);
}

/* Scales the input, so that the graph reads values as in the data set. */
static void scale_input(struct writing *w, const struct network *n)
{
    const int64_t dim[4] = {1, n->shape.channels, 1, 1};
    bool scaled = false;
    for (int c = 0; n->input_zero && c < n->shape.channels; c++)
        scaled |= !(n->input_zero->value[c] == 0 && n->input_unit->value[c] == 1);
    if (!scaled)
        return;
    constant(w, "input", "zero", 4, dim, n->input_zero->value);
    constant(w, "input", "unit", 4, dim, n->input_unit->value);
    const char *shift[] = {"input", "input.zero"}, *divide[] = {"input.shifted", "input.unit"};
    w->out->node(w->out->context, "Sub", shift, 2, "input.shifted", NULL, 0);
    w->out->node(w->out->context, "Div", divide, 2, "input.scaled", NULL, 0);
    snprintf(w->value, sizeof w->value, "input.scaled");
}

enum status network_graph(const struct network *n, const struct graph_writer *out, struct error *err)
{
    const struct sparling_config *c = &n->config;
    struct writing w = {.out = out, .value = "input"};
    const int64_t input[4] = {-1, domain_planes_read(&n->shape), n->shape.rows, n->shape.cols};
    const int64_t motifs[4] = {-1, c->channels_motif, n->map.rows, n->map.cols};
    const char *last[1];
    char name[NAME];
    if (c->sparsity == SPARSITY_NOISE)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "a model with sparsity noise has no graph, because its output is random");
    if (c->strands == STRANDS_BOTH)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "a model that reads both strands has no graph; its field strands is both");
    out->input(out->context, "input", 4, input);
    scale_input(&w, n);
    first_conv(&w, n);
    for (int i = 0; i < (int)(c->units + c->narrow_units); i++) {
        snprintf(name, sizeof name, "g.units.%d", i);
        unit(&w, name, &n->unit[i], (int)c->width, n->shape.rows == 1 && i < c->units ? sparling_dilation(c, i) : 1);
    }
    conv(&w, "g.last", &n->last, 1);
    if (c->batch_norm != BATCH_NORM_NONE && c->sparsity != SPARSITY_IDENTITY)
        norm(&w, "sparse.norm", &n->norm, (int)c->channels_motif);
    if (network_uses_matrices(n))
        matrices(&w, &n->matrix, (int)c->channels_motif);
    sparse(&w, n);
    last[0] = w.value;
    out->node(out->context, "Identity", last, 1, "motifs", NULL, 0);
    out->output(out->context, "motifs", 4, motifs);
    return w.failed ? error_memory(err, "a graph") : STATUS_OK;
}
