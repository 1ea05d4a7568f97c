/* Builds the networks g and h from layers and runs them (network.h).
 *
 * A change must keep the names of the parameters, because checkpoints store parameters by name, and the name of a
 * parameter determines its random initial values. It should also keep the order of the parameters, because a checkpoint
 * contains them in this order. */
#include "core/methods/sparling/model/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double POSITION_DEVIATION = 0.25; /* standard deviation of the initial learned positional encodings */
static const double PRESENCE_BIAS = -2;        /* initial logit of a name whose channel has score 0 */

static void build_g(struct network *n)
{
    const struct sparling_config *c = &n->config;
    int width = (int)c->width, motifs = (int)c->channels_motif;
    int planes = domain_planes_read(&n->shape) * n->map.stride * n->map.stride;
    conv_layer_build(&n->first, n->params, "g.first", planes, width, n->map.first_h, n->map.first_w);
    for (int i = 0; i < (int)c->units; i++) {
        char name[32];
        snprintf(name, sizeof name, "g.units.%d", i);
        residual_unit_build(&n->unit[i], n->params, name, width, n->map.kernel_h, n->map.kernel_w);
    }
    for (int i = 0; i < (int)c->narrow_units; i++) {
        char name[32];
        snprintf(name, sizeof name, "g.narrow.%d", i);
        residual_unit_build(&n->unit[c->units + i], n->params, name, width, 1, 1);
    }
    conv_layer_build(&n->last, n->params, "g.last", width, motifs, 1, 1);
    if (c->batch_norm != BATCH_NORM_NONE)
        batch_norm_build(&n->norm, n->params, "sparse.norm", motifs, c->batch_norm == BATCH_NORM_AFFINE);
    if (c->sparsity == SPARSITY_NOISE)
        batch_norm_build(&n->noise, n->params, "sparse.noise", 1, false);
}

/* Builds the layers of the guide, the objective that trains g directly if the targets are numbers. A gain and a bias
 * for each channel give its presence; they begin with the values of build_presence(). A linear layer computes the
 * numbers from the presences. */
static void build_guide(struct network *n)
{
    int channels = (int)n->config.channels_motif;
    n->guide_gain = params_add(n->params, "presence.gain", 1, &channels, init_constant(1));
    n->guide_bias = params_add(n->params, "presence.bias", 1, &channels, init_constant(PRESENCE_BIAS));
    linear_build(&n->guide, n->params, "presence.numbers", NULL, channels, n->shape.numbers);
}

/* Builds the weights of the presence objective: the logit of name k is gain_k * score_k + bias_k. The bias begins at
 * PRESENCE_BIAS, below 0, so that every name begins as improbable. */
static void build_presence(struct network *n)
{
    if (sparling_guided(&n->config) && n->shape.numbers > 0)
        build_guide(n);
    int names = sparling_presence_names(&n->config);
    if (names == 0)
        return;
    int parts = sparling_parts(&n->config), channels = names * parts;
    n->presence_gain = params_add(n->params, "presence.gain", 1, &channels, init_constant(1));
    n->presence_bias = params_add(n->params, "presence.bias", 1, &channels, init_constant(PRESENCE_BIAS));
    if (parts == 1)
        return;
    n->presence_effect = params_add(n->params, "presence.effect", 1, &channels, init_constant(0));
    n->presence_base = params_add(n->params, "presence.base", 1, &names, init_constant(0));
    n->presence_used = params_add_state(n->params, "presence.used", names, 1);
}

static void build_positions(struct network *n)
{
    const struct sparling_config *c = &n->config;
    if (c->positions != POSITIONS_LEARNED)
        return;
    int rows[2] = {n->map.grid_rows, (int)c->channels}, cols[2] = {n->map.grid_cols, (int)c->channels};
    if (n->map.grid_rows > 1)
        n->row_positions = params_add(n->params, "h.positions.rows", 2, rows, init_normal(POSITION_DEVIATION));
    n->column_positions = params_add(n->params, "h.positions.columns", 2, cols, init_normal(POSITION_DEVIATION));
}

static void build_h(struct network *n)
{
    const struct sparling_config *c = &n->config;
    int width = (int)c->channels, vocabulary = sparling_vocabulary(c);
    int outputs = n->shape.numbers > 0 ? n->shape.numbers : vocabulary;
    struct transformer_config stack = {
        .width = width,
        .heads = (int)c->heads,
        .feed_forward = (int)c->feed_forward,
        .layers = (int)c->layers,
        .norm = c->head_norm == HEAD_NORM_PRE ? TRANSFORMER_PRE_NORM : TRANSFORMER_POST_NORM,
        .dropout = c->dropout,
        .identical = c->identical_layers,
    };
    if (c->motif_scale == MOTIF_SCALE_RMS)
        rms_scale_build(&n->scale, n->params, "h.scale");
    if (n->shape.positions) {
        struct dilated_config dilated = {(int)c->channels_motif, width, n->shape.tokens, (int)c->context};
        dilated_build(&n->dilated, n->params, "h", &dilated);
        return;
    }
    if (n->shape.numbers > 0) {
        n->number_mean = params_add_state(n->params, "h.numbers.mean", n->shape.numbers, 0);
        n->number_deviation = params_add_state(n->params, "h.numbers.deviation", n->shape.numbers, 1);
        linear_build(&n->additive, n->params, "h.additive", NULL, (int)c->channels_motif, n->shape.numbers);
    }
    linear_build(&n->embed, n->params, "h.embed", NULL, (int)c->channels_motif, width);
    if (c->lstm)
        bilstm_build(&n->rows, n->params, "h.rows", width, width / 2);
    build_positions(n);
    encoder_build(&n->encoder, n->params, "h.encoder", &stack);
    n->tokens = embedding_build(n->params, "h.tokens", n->shape.numbers > 0 ? 1 : vocabulary, width);
    decoder_build(&n->decoder, n->params, "h.decoder", &stack);
    linear_build(&n->out, n->params, "h.out", NULL, width, outputs);
}

static enum sparse_mode sparse_mode(const struct sparling_config *c)
{
    switch ((enum sparling_sparsity)c->sparsity) {
    case SPARSITY_PER_CHANNEL:
        return SPARSE_PER_CHANNEL;
    case SPARSITY_SINGLE:
        return SPARSE_SINGLE;
    case SPARSITY_L1:
    case SPARSITY_SCALED_L1:
        return SPARSE_L1;
    case SPARSITY_KL:
    case SPARSITY_NOISE:
    case SPARSITY_NONE:
    case SPARSITY_IDENTITY:
        break;
    }
    return SPARSE_NONE;
}

/* Builds the bottleneck. trained: false leaves out the memory in which training collects values for the thresholds. */
static enum status build_sparse(struct network *n, bool trained, struct error *err)
{
    const struct sparling_config *c = &n->config;
    struct sparse_config sparse = {
        .mode = sparse_mode(c),
        .channels = (int)c->channels_motif,
        .momentum = c->momentum,
        .accumulate = trained && sparling_collects(c) ? c->accumulate_motifs : 0,
        .elements = trained && sparling_collects(c) ? c->accumulate_elements : 0,
        .interpolate = c->quantile == QUANTILE_INTERPOLATED,
    };
    return sparse_create(&n->sparse, n->params, "sparse", &sparse, err);
}

/* Makes the tables of positional encodings. They depend only on the shape, so they are not saved. A map with a single
 * row encodes columns. */
static enum status make_tables(struct network *n, struct error *err)
{
    const struct sparling_config *c = &n->config;
    if (n->shape.positions)
        return STATUS_OK;
    size_t width = (size_t)c->channels, target = (size_t)n->longest;
    bool flat = n->map.grid_rows == 1, grid = c->positions == POSITIONS_GRID && !flat;
    int lines = flat ? n->map.grid_cols : n->map.grid_rows;
    int sites = n->map.grid_rows * n->map.grid_cols;
    size_t cells = grid ? (size_t)sites : (size_t)lines, ranks = c->rank_positions ? (size_t)sites : 0;
    n->tables = calloc((cells + target + ranks) * width, sizeof(real));
    if (!n->tables)
        return error_memory(err, "the position tables");
    real *target_table = n->tables + cells * width, *rank_table = target_table + target * width;
    if (grid)
        positions_grid(n->tables, n->map.grid_rows, n->map.grid_cols, (int)width);
    else
        positions_sine(n->tables, lines, (int)width);
    positions_sine(target_table, n->longest, (int)width);
    n->sines = weight_constant(n->tables, (int)cells, (int)width);
    n->target_sines = weight_constant(target_table, n->longest, (int)width);
    positions_backward(rank_table, (int)ranks, (int)width);
    n->ranks = weight_constant(rank_table, (int)ranks, (int)width);
    return STATUS_OK;
}

/* Builds the layers. Their arrays have shapes but no memory yet. */
static enum status network_build(struct network *n, bool trained, struct error *err)
{
    enum status status = params_create(&n->params, err);
    if (status)
        return status;
    build_g(n);
    if (n->config.matrix_scores)
        matrix_scores_build(&n->matrix, n->params, (int)n->config.channels_motif, n->map.reach);
    status = build_sparse(n, trained, err);
    if (status)
        return status;
    build_presence(n);
    build_h(n);
    if (domain_of(&n->config)->scale) {
        n->input_zero = params_add_state(n->params, "input.zero", n->shape.channels, 0);
        n->input_unit = params_add_state(n->params, "input.unit", n->shape.channels, 1);
    }
    return STATUS_OK;
}

static enum status network_declare(const struct sparling_config *config, bool trained, struct network **network,
                                   struct error *err)
{
    struct network *n = calloc(1, sizeof *n);
    if (!n)
        return error_memory(err, "a network");
    n->config = *config;
    n->shape = domain_shape(config);
    n->map = sparling_geometry(config);
    n->longest = sparling_decode_steps(config) + 1;
    n->limits = n->matrices = true;
    enum status status = network_build(n, trained, err);
    if (status) {
        network_destroy(n);
        return status;
    }
    *network = n;
    return STATUS_OK;
}

enum status network_fit(const struct sparling_config *config, const struct snapshot_reader *from, struct error *err)
{
    struct network *n = NULL;
    enum status status = network_declare(config, false, &n, err);
    if (!status)
        status = params_fit(n->params, from, err);
    network_destroy(n);
    return status;
}

enum status network_create(const struct sparling_config *config, bool trained, struct thread_pool *pool,
                           struct network **network, struct error *err)
{
    struct network *n = NULL;
    enum status status = network_declare(config, trained, &n, err);
    if (status)
        return status;
    status = params_seal(n->params, trained, err);
    if (!status)
        status = make_tables(n, err);
    if (!status) {
        params_init(n->params, (uint64_t)config->seed, pool);
        status = thread_pool_check(pool, err);
    }
    if (status) {
        network_destroy(n);
        return status;
    }
    params_freeze(n->params, "g.", config->freeze == FREEZE_MOTIFS);
    *network = n;
    return STATUS_OK;
}

void network_scale(struct network *n, const struct scale *scale)
{
    for (int c = 0; n->input_zero && c < n->shape.channels; c++) {
        n->input_zero->value[c] = (real)scale->shift[scale->columns > 1 ? c : 0];
        n->input_unit->value[c] = (real)scale->unit[scale->columns > 1 ? c : 0];
    }
}

void network_destroy(struct network *n)
{
    if (!n)
        return;
    sparse_destroy(n->sparse);
    params_destroy(n->params);
    free(n->tables);
    free(n);
}

/* Returns the standard deviation of the noise with which an element of variance 1 can carry log(1 + 1 / deviation^2) /
 * 2 nats of information. This must equal the entropy of a bit that is 1 with probability `density`. */
static double noise_deviation(double density)
{
    double entropy = -density * log(density) - (density < 1 ? (1 - density) * log1p(-density) : 0);
    return 1 / sqrt(fmax(expm1(2 * entropy), 1e-12));
}

/* Applies the layer of KL sparsity: computes activations p = sigmoid(z) and passes on p - 1/2 where that is positive,
 * and 0 elsewhere. */
static struct tensor *activate(struct exec *e, struct network *n, struct tensor *z, struct tensor **penalty)
{
    real half[4096];
    for (int64_t i = 0; i < n->config.channels_motif; i++)
        half[i] = R(0.5);
    struct tensor *p = op_sigmoid(e, z);
    if (penalty)
        *penalty = op_rate_divergence(e, op_mean(e, p), n->config.kl_rate);
    return op_threshold(e, p, half, true);
}

/* Applies the bottleneck to a map of g. The result has the size of the motif map. `density` is a share of the positions
 * of the motif map; only one of each block can be active. */
static struct tensor *bottleneck(struct exec *e, struct network *n, struct tensor *z, double density,
                                 struct tensor **penalty)
{
    switch ((enum sparling_sparsity)n->config.sparsity) {
    case SPARSITY_PER_CHANNEL:
    case SPARSITY_SINGLE:
    case SPARSITY_IDENTITY:
        break;
    case SPARSITY_NONE:
        return op_relu(e, z);
    case SPARSITY_KL:
        return activate(e, n, z, penalty);
    case SPARSITY_NOISE:
        return op_noise(e, z, &n->noise, noise_deviation(density));
    case SPARSITY_L1:
    case SPARSITY_SCALED_L1: {
        struct tensor *map = sparse_forward(e, n->sparse, z, density, false);
        if (penalty)
            *penalty = op_mean(e, map);
        if (penalty && n->config.sparsity == SPARSITY_SCALED_L1)
            *penalty = op_scale(e, *penalty, 1 / density);
        return map;
    }
    }
    const struct sparling_geometry *size = &n->map;
    double each = (double)size->rows * size->cols / ((double)size->inner_rows * size->inner_cols);
    z = sparse_forward(e, n->sparse, z, fmin(1, density * each), false);
    return op_spread(e, z, size->rows, size->cols, size->stride, 0);
}

/* Computes g without its last layer. */
static struct tensor *features(struct exec *e, struct network *n, const real *inputs, int count,
                               const struct domain_shape *s)
{
    int halo = n->map.kernel_h / 2, block = n->map.stride, planes = s->channels * block * block;
    if (s->words == 0)
        inputs = op_space_to_depth(e, inputs, count * s->channels, s->rows, s->cols, block);
    struct tensor *x = s->words > 0 ? op_conv_words(e, inputs, count, s->cols, halo, n->first.w, n->first.b)
                                    : op_conv_planar(e, inputs, count, planes, blocks_of(s->rows, block),
                                                     blocks_of(s->cols, block), halo, n->first.w, n->first.b);
    for (int i = 0; i < (int)(n->config.units + n->config.narrow_units); i++) {
        bool dilated = s->rows == 1 && i < n->config.units && sparling_dilation(&n->config, i) > 1;
        exec_done_from(e, n->unit[i].norm1.gain);
        x = dilated ? residual_unit_dilated(e, &n->unit[i], sparling_dilation(&n->config, i), x)
                    : residual_unit_forward(e, &n->unit[i], x);
    }
    return op_drop_channels(e, x, n->config.motif_dropout);
}

struct tensor *network_features(struct exec *e, struct network *n, const real *inputs, int count)
{
    return features(e, n, inputs, count, &n->shape);
}

/* Writes the reverse complement of each input. The bases A, C, G, T are the channels 0 to 3, so the complement of
 * channel c is 3 - c. */
static void turn(const real *inputs, int count, const struct domain_shape *s, real *turned)
{
    size_t one = domain_inputs(s), cols = (size_t)s->cols;
    for (size_t line = 0; line < (size_t)count * (size_t)s->channels; line++) {
        size_t sample = line / (size_t)s->channels, channel = line % (size_t)s->channels;
        const real *from = inputs + sample * one + ((size_t)s->channels - 1 - channel) * cols;
        real *to = turned + line * cols;
        for (size_t i = 0; i < cols; i++)
            to[i] = from[cols - 1 - i];
    }
}

/* Allocates memory for `times` * `count` inputs in the step arena; NULL after a failure. */
static real *room_for_inputs(struct exec *e, int times, int count, const struct domain_shape *s)
{
    real *room = arena_alloc(e->arena, (size_t)times * (size_t)count * domain_inputs(s) * sizeof *room);
    if (!room)
        error_memory(&e->error, "both strands");
    return room;
}

/* Copies the inputs and appends the reverse complement of each. Returns step memory, or NULL after a failure. */
static const real *both_strands(struct exec *e, const real *inputs, int count, const struct domain_shape *s)
{
    size_t all = (size_t)count * domain_inputs(s);
    real *both = room_for_inputs(e, 2, count, s);
    if (!both)
        return NULL;
    memcpy(both, inputs, all * sizeof *both);
    turn(inputs, count, s, both + all);
    return both;
}

/* Computes the input of the bottleneck: g, then the batch norm and the matrices. *reverse (may be NULL): as in struct
 * network_extras. */
static struct tensor *normalised(struct exec *e, struct network *n, const real *inputs, int count,
                                 const struct domain_shape *s, struct tensor **reverse)
{
    bool both = n->config.strands == STRANDS_BOTH;
    if (both && !(inputs = both_strands(e, inputs, count, s)))
        return NULL;
    struct tensor *x = features(e, n, inputs, both ? 2 * count : count, s);
    exec_done_from(e, n->last.w);
    x = conv_layer_forward(e, &n->last, x, NULL);
    if (n->config.batch_norm != BATCH_NORM_NONE && n->config.sparsity != SPARSITY_IDENTITY)
        x = op_batch_norm(e, x, &n->norm, false);
    if (network_uses_matrices(n) && !e->training)
        x = matrix_scores_forward(e, &n->matrix, x, inputs);
    return both ? op_strand_max(e, x, reverse) : x;
}

/* With never_empty: if no value of an input is above its threshold, sets the value that is closest to its threshold to
 * one above the threshold. Training does not do this, because its thresholds follow the density. */
static struct tensor *lift(struct exec *e, struct network *n, struct tensor *z)
{
    const real *thresholds = sparse_thresholds(n->sparse);
    bool lifts = n->config.never_empty && thresholds && !e->training;
    return lifts ? op_lift(e, z, thresholds, NETWORK_LIFT) : z;
}

bool network_uses_matrices(const struct network *n)
{
    return n->matrices && matrix_scores_used(&n->matrix);
}

_Static_assert((int)SPARLING_MOST == (int)OP_LIMIT_MOST, "a configuration may ask for every limit");

int network_near(const struct network *n)
{
    return n->config.most_names > 0 ? (n->map.rows > n->map.cols ? n->map.rows : n->map.cols) : n->map.reach / 4;
}

int network_most(const struct network *n)
{
    int64_t most = n->config.most_names > 0 ? n->config.most_names : n->config.most_motifs;
    return n->limits && sparse_thresholds(n->sparse) ? (int)most : 0;
}

/* In evaluation, keeps only the peaks of the channels that have a matrix (op_peaks()). If a motif repeats within
 * itself, its matrix also exceeds the threshold at shifted places, which are no motifs. */
static struct tensor *peaks(struct exec *e, struct network *n, struct tensor *z)
{
    const real *thresholds = sparse_thresholds(n->sparse);
    bool chooses = network_uses_matrices(n) && !e->training && thresholds;
    return chooses ? op_peaks(e, z, thresholds, n->matrix.scale->value, n->map.reach / 4) : z;
}

/* In evaluation, applies the settings for the number of motifs of a map: lift() if the map would be empty, and
 * op_limit() if it would have too many. Between them, only the peaks of matrices stay. Training applies none of this,
 * because its thresholds follow the density. */
static struct tensor *select_motifs(struct exec *e, struct network *n, struct tensor *z)
{
    z = peaks(e, n, lift(e, n, z));
    int most = e->training ? 0 : network_most(n);
    return most > 0 ? op_limit(e, z, sparse_thresholds(n->sparse), most, network_near(n) / n->map.stride) : z;
}

struct tensor *network_motifs_extras(struct exec *e, struct network *n, const real *inputs, int count, double density,
                                     struct network_extras *extras)
{
    struct tensor *reverse = NULL, *x = normalised(e, n, inputs, count, &n->shape, &reverse);
    if (!extras)
        return bottleneck(e, n, select_motifs(e, n, x), density, NULL);
    *extras = (struct network_extras){.reverse = reverse, .before = x};
    if (n->presence_gain || n->guide.w)
        extras->scores = op_log_mean_exp(e, x, n->config.presence_sharpness);
    x = bottleneck(e, n, select_motifs(e, n, x), density, &extras->penalty);
    if (extras->penalty)
        extras->penalty = op_scale(e, extras->penalty, n->config.sparsity_penalty);
    return x;
}

struct tensor *network_turned_scores(struct exec *e, struct network *n, const real *inputs, int count)
{
    real *turned = room_for_inputs(e, 1, count, &n->shape);
    if (!turned)
        return NULL;
    turn(inputs, count, &n->shape, turned);
    return op_log_mean_exp(e, normalised(e, n, turned, count, &n->shape, NULL), n->config.presence_sharpness);
}

/* The presence objective without labels. *parts: memory for the channels of names, which must live as long as the
 * result. */
static struct presence presence_of(const struct network *n, struct presence_parts *parts)
{
    int names = sparling_presence_names(&n->config);
    *parts = (struct presence_parts){.most = n->presence_gain->dim[0] / names,
                                     .used = n->presence_used,
                                     .effect = n->presence_effect,
                                     .base = n->presence_base};
    return (struct presence){
        .names = names, .gain = n->presence_gain, .bias = n->presence_bias, .parts = n->presence_used ? parts : NULL};
}

double network_presence_logit(const struct network *n, const real *scores, int name)
{
    struct presence_parts parts;
    const struct presence presence = presence_of(n, &parts);
    return presence_logit(&presence, scores, name);
}

int network_parts_used(const struct network *n, int name)
{
    return n->presence_used ? (int)(n->presence_used->value[name] + R(0.5)) : 1;
}

struct tensor *network_presence(struct exec *e, struct network *n, struct tensor *scores, const bool *occurs,
                                const real *weight, const real *scale)
{
    struct presence_parts *parts = arena_alloc(e->arena, sizeof *parts);
    if (!parts)
        return NULL;
    struct presence presence = presence_of(n, parts);
    presence.occurs = occurs;
    presence.weight = weight;
    presence.scale = scale;
    return op_presence(e, scores, &presence);
}

void network_follow_scale(struct exec *e, struct network *n, struct tensor *motifs)
{
    if (n->config.motif_scale == MOTIF_SCALE_RMS && motifs)
        (void)rms_scale_forward(e, &n->scale, op_max_pool_rows(e, motifs, n->map.max_pool_h, n->map.max_pool_w));
}

/* Subtracts the thresholds, if there are any. With a stride, positions at which no motif can be get -INFINITY. */
static struct tensor *above(struct exec *e, struct network *n, struct tensor *z, const struct domain_shape *shape)
{
    const real *thresholds = sparse_thresholds(n->sparse);
    z = thresholds ? op_threshold(e, z, thresholds, false) : z;
    return op_spread(e, z, shape->rows, shape->cols, n->map.stride, -INFINITY);
}

struct tensor *network_scores(struct exec *e, struct network *n, const real *inputs, int count,
                              const struct domain_shape *shape)
{
    return above(e, n, normalised(e, n, inputs, count, shape, NULL), shape);
}

struct tensor *network_window(struct exec *e, struct network *n, const real *inputs, int count,
                              const struct domain_shape *shape)
{
    return above(e, n, peaks(e, n, normalised(e, n, inputs, count, shape, NULL)), shape);
}

struct tensor *network_motifs(struct exec *e, struct network *n, const real *inputs, int count, double density)
{
    return network_motifs_extras(e, n, inputs, count, density, NULL);
}

static struct tensor *add_positions(struct exec *e, struct network *n, struct tensor *x)
{
    int rows = n->map.grid_rows, cols = n->map.grid_cols;
    double dropout = n->config.dropout;
    if (n->config.positions == POSITIONS_NONE)
        return x;
    if (n->config.positions == POSITIONS_LEARNED) {
        if (rows > 1)
            x = op_add_rows(e, x, n->row_positions, cols, rows, 0);
        return op_add_rows(e, x, n->column_positions, 1, cols, dropout);
    }
    if (rows == 1 || n->config.positions == POSITIONS_GRID)
        return op_add_rows(e, x, &n->sines, 1, rows * cols, dropout);
    return op_add_rows(e, x, &n->sines, cols, rows, dropout);
}

/* Computes what the decoder attends to. *pooled (may be NULL): the pooled map, [count * keys][motif channels]. */
static struct network_memory read_map(struct exec *e, struct network *n, struct tensor *motifs, struct tensor **pooled)
{
    int ph = n->map.max_pool_h, pw = n->map.max_pool_w, rows = n->map.grid_rows, cols = n->map.grid_cols;
    struct network_memory memory = {.keys = rows * cols};
    if (!motifs)
        return memory;
    int images = motifs->map.images;
    struct tensor *x;
    exec_done_from(e, n->embed.w);
    if (n->config.embed_order == EMBED_THEN_POOL) {
        x = op_embed_max_pool(e, motifs, n->embed.w, n->embed.b, ph, pw);
        if (pooled)
            *pooled = op_max_pool_rows(e, motifs, ph, pw);
    } else {
        x = op_max_pool_rows(e, motifs, ph, pw);
        if (n->config.motif_scale == MOTIF_SCALE_RMS)
            x = rms_scale_forward(e, &n->scale, x);
        if (n->config.motif_floor > 0)
            x = op_raise(e, x, n->config.motif_floor);
        if (pooled)
            *pooled = x;
        x = linear_forward(e, &n->embed, x, false, 0);
    }
    if (n->config.lstm)
        x = bilstm_forward(e, &n->rows, x, images * rows, cols);
    x = add_positions(e, n, x);
    if (n->config.attend == ATTEND_ACTIVE) {
        struct active_sites *active = op_active_sites(e, motifs, ph, pw);
        if (!active)
            return memory;
        x = op_gather_sites(e, x, active);
        if (n->config.rank_positions)
            x = op_add_rows(e, x, &n->ranks, 1, active->capacity, 0);
        memory.keys = active->capacity;
        memory.lengths = active->lengths;
    }
    memory.rows = encoder_forward(e, &n->encoder, x, images, memory.keys, memory.lengths);
    return memory;
}

struct network_memory network_memory(struct exec *e, struct network *n, struct tensor *motifs)
{
    return read_map(e, n, motifs, NULL);
}

struct tensor *network_numbers(struct exec *e, struct network *n, struct tensor *motifs)
{
    if (!motifs)
        return NULL;
    int count = motifs->map.images;
    int32_t *start = arena_zalloc(e->arena, (size_t)count, sizeof *start); /* every token is START, which is 0 */
    struct tensor *pooled = NULL;
    if (!start) {
        error_set(&e->error, STATUS_NO_MEMORY, NULL, "not enough memory to read numbers");
        return NULL;
    }
    struct network_memory memory = read_map(e, n, motifs, &pooled);
    struct tensor *read = network_logits(e, n, &memory, start, count, 1);
    struct tensor *sums = op_sum_groups(e, pooled, n->map.grid_rows * n->map.grid_cols);
    return op_add(e, read, linear_forward(e, &n->additive, sums, false, 0));
}

struct tensor *network_guide(struct exec *e, struct network *n, struct tensor *scores)
{
    return linear_forward(e, &n->guide, op_odds(e, scores, n->guide_gain, n->guide_bias), false, 0);
}

double network_number(const struct network *n, int number, double standardised)
{
    return (double)n->number_mean->value[number] + (double)n->number_deviation->value[number] * standardised;
}

struct tensor *network_logits(struct exec *e, struct network *n, const struct network_memory *memory,
                              const int32_t *tokens, int count, int length)
{
    if (length > n->longest) {
        error_set(&e->error, STATUS_INTERNAL, NULL, "%d target tokens were given; the tables have %d positions", length,
                  n->longest);
        return NULL;
    }
    exec_done_from(e, n->tokens);
    struct tensor *y = op_embedding(e, tokens, count * length, n->tokens);
    y = op_add_rows(e, y, &n->target_sines, 1, length, n->config.dropout);
    y = decoder_forward(e, &n->decoder, y, memory->rows, count, length, memory->keys, memory->lengths);
    return linear_forward(e, &n->out, y, false, 0);
}

struct tensor *network_classes(struct exec *e, struct network *n, struct tensor *motifs)
{
    exec_done_from(e, n->dilated.first.w);
    if (n->config.motif_scale == MOTIF_SCALE_RMS)
        motifs = rms_scale_forward(e, &n->scale, motifs);
    return op_map_rows(e, dilated_forward(e, &n->dilated, motifs));
}

void network_average_norms(struct network *n, double share)
{
    struct batch_norm *motifs = n->norm.mean ? &n->norm : NULL;
    for (int i = 0; i < (int)(n->config.units + n->config.narrow_units); i++)
        n->unit[i].norm1.momentum = n->unit[i].norm2.momentum = share > 0 ? share : BATCH_NORM_MOMENTUM;
    if (motifs)
        motifs->momentum = share > 0 ? share : BATCH_NORM_MOMENTUM;
}

double network_threshold_mean(const struct network *n)
{
    const real *t = sparse_thresholds(n->sparse);
    if (!t)
        return 0;
    double sum = 0;
    for (int64_t i = 0; i < n->config.channels_motif; i++)
        sum += (double)t[i];
    return sum / (double)n->config.channels_motif;
}

double network_density(const struct tensor *motifs)
{
    /* Halo and padding channels are zero, so they never count. */
    int64_t active = 0;
    for (size_t i = 0; i < motifs->count; i++)
        active += motifs->data[i] > 0;
    const struct map_shape *s = &motifs->map;
    return (double)active / ((double)s->images * s->channels * s->height * s->width);
}
