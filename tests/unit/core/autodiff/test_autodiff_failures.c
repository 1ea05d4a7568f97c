/* Tests failures of every operation, forward and backward, in float:
 *
 * - If any one of its allocations fails, the step returns the error, and a later step has the same bits as before.
 * - An operation on NULL returns NULL.
 * - After a failure nothing more is computed and the first error stays.
 * - Wrong shapes are refused with the name of the operation. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/autodiff/ops.h"
#include "core/base/random/philox.h"
#include "tests/support/fault.h"

enum { WEIGHTS = 40 };

struct kit {
    /* how the backward pass treats zeros; unless it is EXEC_DENSE, the test sets exec.hold */
    enum exec_sparse sparse;
    struct exec exec;
    struct arena arena;
    struct thread_pool *pool;
    struct weight weights[WEIGHTS];
    int weight_count;
    real *memory[64]; /* the arrays of inputs and weights */
    int pieces;
    /* Inputs, which are created again for each step: */
    struct tensor *map, *second_map, *line, *rows, *same, *wide, *pairs, *small, *spread, *odds, *share, *prior,
        *prior_spread, *prior_odds, *one, *hidden, *image;
    struct tensor *odd_rows, *odd_map;
    real *values[24], mostly[16]; /* mostly: thresholds above most of the values */
    /* Weights: */
    struct weight *w33, *w13, *w15, *w11, *planar, *words, *square, *b, *gain, *bias, *mean, *variance, *one_mean,
        *one_variance, *table, *sigma, *heads, *head_bias, *mask, *first, *second, *arc_bias, *arc_head, *base,
        *changes, *odd, *deviation, *k4;
    struct lstm_weights lstm[2];
    struct batch_norm norm, all;
    struct presence presence;
};

static real *numbers(struct kit *k, size_t count, double low, double high)
{
    struct philox from = philox_stream(31, 7, (uint64_t)k->pieces);
    real *at = malloc(count * sizeof *at);
    assert_non_null(at);
    for (size_t i = 0; i < count; i++)
        at[i] = (real)(low + (high - low) * (double)philox_uniform(&from, i));
    assert_true(k->pieces < 64);
    return k->memory[k->pieces++] = at;
}

static struct weight *weight(struct kit *k, int a, int b, int c, int d)
{
    struct weight *w = &k->weights[k->weight_count++];
    const int dim[4] = {a, b, c, d};
    assert_true(k->weight_count <= WEIGHTS);
    *w = (struct weight){.count = 1};
    for (; w->rank < 4 && dim[w->rank] > 0; w->rank++) {
        w->dim[w->rank] = dim[w->rank];
        w->count *= (size_t)dim[w->rank];
    }
    w->value = numbers(k, w->count, -0.3, 0.3);
    w->grad = calloc(w->count, sizeof *w->grad);
    assert_non_null(w->grad);
    return w;
}

static void open_kit(struct kit *k)
{
    static const size_t counts[] = {
        2 * 16 * 6 * 8, 2 * 16 * 6 * 8, 2 * 16 * 12, 12 * 16, 12 * 16, 12 * 48, 8 * 32,    6 * 4, 6 * 4,     6 * 4,
        6 * 3,          3 * 4,          3 * 4,       3 * 4,   1,       36 * 5,  2 * 6 * 8, 5 * 3, 16 * 3 * 5};
    memset(k, 0, sizeof *k);
    assert_int_equal(thread_pool_create(1, &k->pool, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        k->values[i] = numbers(k, counts[i], i >= 9 && i <= 14 ? 0.1 : -1, i >= 9 && i <= 14 ? 0.9 : 1);
    for (int i = 0; i < 16; i++)
        k->mostly[i] = R(1.0);
    k->w33 = weight(k, 16, 16, 3, 3);
    k->w13 = weight(k, 16, 16, 1, 3);
    k->w15 = weight(k, 16, 16, 1, 5);
    k->w11 = weight(k, 16, 16, 1, 1);
    k->planar = weight(k, 16, 1, 1, 1);
    k->words = weight(k, 16, 4, 1, 3);
    k->square = weight(k, 16, 16, 0, 0);
    k->b = weight(k, 16, 0, 0, 0);
    k->gain = weight(k, 16, 0, 0, 0);
    k->bias = weight(k, 16, 0, 0, 0);
    k->mean = weight(k, 16, 0, 0, 0);
    k->variance = weight(k, 16, 0, 0, 0);
    k->one_mean = weight(k, 1, 0, 0, 0);
    k->one_variance = weight(k, 1, 0, 0, 0);
    k->table = weight(k, 12, 16, 0, 0);
    k->sigma = weight(k, 16, 0, 0, 0);
    k->heads = weight(k, 6, 5, 0, 0);
    k->head_bias = weight(k, 6, 0, 0, 0);
    k->mask = weight(k, 6, 4, 0, 0);
    k->first = weight(k, 5, 4, 0, 0);
    k->second = weight(k, 3, 5, 0, 0);
    k->arc_bias = weight(k, 3, 0, 0, 0);
    k->arc_head = weight(k, 6, 3, 0, 0);
    k->base = weight(k, 16, 0, 0, 0);
    k->changes = weight(k, 2, 16, 0, 0);
    k->odd = weight(k, 7, 0, 0, 0);
    k->deviation = weight(k, 16, 0, 0, 0);
    k->k4 = weight(k, 6, 4, 0, 0);
    for (int i = 0; i < 2; i++)
        k->lstm[i] = (struct lstm_weights){weight(k, 16, 16, 0, 0), weight(k, 16, 4, 0, 0), weight(k, 16, 0, 0, 0),
                                           weight(k, 16, 0, 0, 0)};
    k->norm = (struct batch_norm){k->gain, k->bias, k->mean, k->variance, 0.1, 1e-5, false};
    k->all = (struct batch_norm){NULL, NULL, k->one_mean, k->one_variance, 0.1, 1e-5, false};
}

static void close_kit(struct kit *k)
{
    for (int i = 0; i < k->weight_count; i++)
        free(k->weights[i].grad);
    for (int i = 0; i < k->pieces; i++)
        free(k->memory[i]);
    thread_pool_destroy(k->pool);
}

static void begin(struct kit *k, bool training)
{
    const struct map_shape map = {2, 16, 6, 8, 1, 1}, line = {2, 16, 1, 12, 0, 1}, odd = {1, 16, 3, 5, 1, 1};
    struct exec *e = &k->exec;
    arena_init(&k->arena, 1, 0); /* every allocation takes a block of its own */
    exec_init(e, kernels_best(), k->pool, &k->arena, 5);
    e->sparse = k->sparse;
    e->hold = k->sparse != EXEC_DENSE;
    exec_begin(e, training, 3);
    for (int i = 0; i < k->weight_count; i++)
        k->weights[i].grad_ready = false;
    for (int i = 0; i < 16; i++) {
        k->mean->value[i] = R(0.1);
        k->variance->value[i] = R(0.5);
    }
    k->one_mean->value[0] = R(0.1);
    k->one_variance->value[0] = R(0.5);
    k->map = tensor_from_planes(e, k->values[0], &map, true);
    k->second_map = tensor_from_planes(e, k->values[1], &map, true);
    k->line = tensor_from_planes(e, k->values[2], &line, true);
    k->rows = tensor_wrap_rows(e, k->values[3], 12, 16, true);
    k->same = tensor_wrap_rows(e, k->values[4], 12, 16, true);
    k->wide = tensor_wrap_rows(e, k->values[5], 12, 48, true);
    k->pairs = tensor_wrap_rows(e, k->values[6], 8, 32, true);
    k->small = tensor_wrap_rows(e, k->values[7], 6, 4, true);
    k->spread = tensor_wrap_rows(e, k->values[8], 6, 4, true);
    k->odds = tensor_wrap_rows(e, k->values[9], 6, 4, true);
    k->share = tensor_wrap_rows(e, k->values[10], 6, 3, true);
    k->prior = tensor_wrap_rows(e, k->values[11], 3, 4, true);
    k->prior_spread = tensor_wrap_rows(e, k->values[12], 3, 4, true);
    k->prior_odds = tensor_wrap_rows(e, k->values[13], 3, 4, true);
    k->one = tensor_wrap_rows(e, k->values[14], 1, 1, true);
    k->hidden = tensor_wrap_rows(e, k->values[15], 36, 5, true);
    k->odd_rows = tensor_wrap_rows(e, k->values[17], 5, 3, true);
    k->odd_map = tensor_from_planes(e, k->values[18], &odd, true);
}

static void end(struct kit *k)
{
    arena_close(&k->arena);
}

/* ---- operations --------------------------------------------------------------------------------------------- */

static const struct attention self = {.batch = 2, .queries = 6, .keys = 6, .heads = 2, .causal = true, .dropout = 0.1};
static const struct attention cross = {
    .batch = 2, .queries = 6, .keys = 4, .heads = 2, .key_lengths = (const int[]){4, 2}};
static const struct attention no_heads = {.batch = 2, .queries = 6, .keys = 6, .heads = 5},
                              no_keys = {
                                  .batch = 2, .queries = 6, .keys = 4, .heads = 2, .key_lengths = (const int[]){4, 5}};
static const int32_t tokens[12] = {0, 5, 11, 3, 3, 0, 1, 2, 10, 9, 8, 7}, no_tokens[12] = {0, 12},
                     targets[12] = {0, 15, -1, 3, 3, 0, 1, 2, 10, 9, 8, 7}, no_targets[12] = {16},
                     nodes[12] = {0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0}, features[6] = {5, 4, 3, 2, 1, 0};
static const struct tree_heads tree = {3, (const int[]){-1, 0, 0}, (const int[]){-1, 0, 1},
                                       (const real[]){R(0.0), R(1.0), R(0.5)}};
static const struct arc_group groups[2] = {{{0, 2}, 0, 4}, {{3, -1}, 4, 2}};
static const real still[16];

static struct tensor *gathered(struct exec *e, struct tensor *map, struct tensor *rows)
{
    struct active_sites *sites = op_active_sites(e, map, 3, 2); /* the map has two images of eight sites */
    return sites == NULL ? NULL : op_gather_sites(e, rows, sites);
}

static const bool occurs[12 * 16] = {true, false, true};
static const int32_t numbers_of_names[2 * 2] = {1, 0, TALLY_SOME, 2};
static const struct tally counts_of_map = {2, 3, numbers_of_names, still, NULL};

static const struct presence *names(struct kit *k)
{
    k->presence = (struct presence){16, k->gain, k->bias, occurs, NULL, NULL, NULL};
    return &k->presence;
}

#define OP(name, right, wrong)                                                                                         \
    static struct tensor *name(struct exec *e, struct kit *k, bool fits)                                               \
    {                                                                                                                  \
        return fits ? (right) : (wrong);                                                                               \
    }
#define NONE ((struct tensor *)NULL)

OP(planar, op_conv_planar(e, k->values[16], 2, 1, 6, 8, 1, k->planar, k->b),
   op_conv_planar(e, k->values[16], 2, 1, 6, 8, 1, k->w11, k->b))
OP(planar_blocks, op_conv_planar(e, op_space_to_depth(e, k->values[16], 2, 6, 8, 4), 2, 16, 2, 2, 1, k->w11, k->b),
   op_conv_planar(e, op_space_to_depth(e, k->values[16], 2, 6, 8, 4), 2, 4, 2, 2, 1, k->w11, k->b))
OP(spread, op_spread(e, k->map, 11, 16, 2, 0), op_spread(e, k->map, 14, 16, 2, 0))
OP(thin_spread,
   op_max_pool_rows(
       e, op_spread(e, op_threshold(e, op_conv(e, k->map, k->w33, k->b, NULL), k->mostly, true), 16, 22, 3, 0), 4, 4),
   NONE)
static const real word_numbers[2 * 8] = {1, 2, 0, 4, 4, 3, 1, 1, 0, 0, 2, 2, 2, 3, 3, 1};
OP(words, op_conv_words(e, word_numbers, 2, 8, 0, k->words, k->b),
   op_conv_words(e, word_numbers, 2, 8, 0, k->w33, k->b))
OP(conv, op_conv(e, k->map, k->w33, k->b, k->second_map), op_conv(e, k->map, k->w33, k->b, k->odd_map))
OP(conv1, op_conv(e, k->map, k->w11, NULL, NULL), op_conv(e, k->rows, k->w11, NULL, NULL))
OP(conv_of_line, op_conv(e, k->line, k->w13, k->b, NULL), op_conv(e, k->line, k->table, k->b, NULL))
OP(line, op_conv_line(e, k->line, k->w15, k->b, 2, k->line), op_conv_line(e, k->map, k->w15, k->b, 2, NULL))
OP(norm, op_batch_norm(e, k->map, &k->norm, true), op_batch_norm(e, k->rows, &k->norm, true))
OP(norm_conv, op_norm_conv(e, k->map, &k->norm, k->w33, k->b, k->second_map),
   op_norm_conv(e, k->map, &k->all, k->w33, k->b, NULL))
OP(norm_conv1, op_norm_conv(e, k->map, &k->norm, k->w11, k->b, NULL), NONE)
OP(threshold, op_threshold(e, k->map, still, true), NONE)
OP(thin,
   op_conv(e,
           op_threshold(e, op_batch_norm(e, op_conv(e, k->map, k->w33, k->b, NULL), &k->norm, true), k->mostly, true),
           k->w33, k->b, NULL),
   NONE)
OP(thin_line,
   op_conv_line(e, op_threshold(e, op_conv(e, k->line, k->w13, k->b, NULL), k->mostly, true), k->w15, k->b, 2, NULL),
   NONE)
OP(thin_embed,
   op_embed_max_pool(e,
                     op_threshold(e, op_norm_conv(e, k->map, &k->norm, k->w33, k->b, k->second_map), k->mostly, true),
                     k->square, k->b, 3, 2),
   NONE)
OP(noise, op_noise(e, k->map, &k->all, 0.5), op_noise(e, k->map, &k->norm, 0.5))
OP(relu, op_relu(e, k->map), NONE)
OP(sigmoid, op_sigmoid(e, k->map), NONE)
OP(max_pool_rows, op_max_pool_rows(e, k->map, 3, 2), op_max_pool_rows(e, k->map, 7, 2))
OP(embed, op_embed_max_pool(e, k->map, k->square, k->b, 3, 2), op_embed_max_pool(e, k->map, k->k4, k->b, 3, 2))
OP(map_rows, op_map_rows(e, k->map), NONE)
OP(gather, gathered(e, k->map, op_max_pool_rows(e, k->map, 3, 2)), gathered(e, k->map, k->rows))
OP(linear, op_linear(e, k->rows, k->square, k->b, true, 0.2), op_linear(e, k->odd_rows, k->square, k->b, true, 0.2))
OP(add_rows, op_add_rows(e, k->rows, k->table, 2, 6, 0.1), op_add_rows(e, k->rows, k->table, 1, 13, 0.1))
OP(embedding, op_embedding(e, tokens, 12, k->table), op_embedding(e, no_tokens, 12, k->table))
OP(add, op_add(e, k->rows, k->same), op_add(e, k->rows, k->odd_rows))
OP(scale, op_scale(e, k->rows, 0.5), NONE)
OP(raise, op_raise(e, k->rows, 0.5), NONE)
OP(residual, op_residual(e, k->rows, k->same, 0.3), op_residual(e, k->map, k->same, 0.3))
OP(layer_norm, op_layer_norm(e, k->rows, k->gain, k->bias), op_layer_norm(e, k->odd_rows, k->gain, k->bias))
OP(residual_norm, op_residual_norm(e, k->rows, k->same, 0.1, k->gain, k->bias),
   op_residual_norm(e, k->rows, k->odd_rows, 0.1, k->gain, k->bias))
OP(self_attention, op_self_attention(e, k->wide, &self), op_self_attention(e, k->wide, &no_heads))
OP(cross_attention, op_cross_attention(e, k->rows, k->pairs, &cross),
   op_cross_attention(e, k->rows, k->pairs, &no_keys))
OP(bilstm, op_bilstm(e, k->rows, 2, 6, k->lstm), op_bilstm(e, k->rows, 5, 2, k->lstm))
OP(sample, op_gaussian_sample(e, k->small, k->spread, 0), op_gaussian_sample(e, k->small, k->share, 0))
OP(kl, op_gaussian_kl(e, k->small, k->spread, 0.5), op_gaussian_kl(e, k->map, k->spread, 0.5))
OP(spike_odds, op_spike_odds(e, k->small), NONE)
OP(spike_warm, op_spike_warm(e, k->spread, 0.5), NONE)
OP(spike_gate, op_spike_gate(e, k->small, k->odds, 5, 0), op_spike_gate(e, k->small, k->share, 5, 0))
OP(spike_kl,
   op_spike_kl(e, &(struct spike_code){k->small, k->spread, k->odds},
               &(struct spike_code){k->prior, k->prior_spread, k->prior_odds}, k->share, false, 1),
   op_spike_kl(e, &(struct spike_code){k->small, k->spread, k->odds},
               &(struct spike_code){k->prior, k->prior_spread, k->prior_odds}, k->rows, false, 1))
OP(spike_kl_printed,
   op_spike_kl(e, &(struct spike_code){k->small, k->spread, k->odds},
               &(struct spike_code){k->prior, k->prior_spread, k->prior_odds}, k->share, true, 1),
   NONE)
OP(rate_kl, op_rate_kl(e, k->odds, 0.1, 2), NONE)
OP(softmax, op_softmax_rows(e, k->rows), NONE)
OP(weight_rows, op_weight_rows(e, k->table), NONE)
OP(mask_rows, op_mask_rows(e, k->small, k->k4, features, 6), op_mask_rows(e, k->odd_rows, k->k4, features, 6))
OP(arcs,
   op_arc_head(e, k->small, &(struct arc_layers){k->mask, k->first, k->second, k->arc_bias, k->arc_head, k->head_bias},
               features, groups, 2),
   op_arc_head(e, k->odd_rows,
               &(struct arc_layers){k->mask, k->first, k->second, k->arc_bias, k->arc_head, k->head_bias}, features,
               groups, 2))
OP(feature_head, op_feature_head(e, k->hidden, 6, features, 6, k->heads, k->head_bias),
   op_feature_head(e, k->hidden, 5, features, 6, k->heads, k->head_bias))
OP(unit_columns, op_unit_columns(e, k->rows, k->deviation), NONE)
OP(tree_rows, op_tree_heads(e, k->rows, nodes, k->base, k->changes, &tree), NONE)
OP(gaussian, op_gaussian_loss(e, k->rows, k->values[4], k->sigma, 1),
   op_gaussian_loss(e, k->odd_rows, k->values[4], k->sigma, 1))
OP(multinomial, op_multinomial_loss(e, k->rows, k->values[4], 1e-6, 1), NONE)
OP(bernoulli, op_bernoulli_loss(e, k->rows, k->values[4], 1e-6, 1), NONE)
OP(sigma_prior, op_sigma_prior(e, k->sigma, 1, 2), NONE)
OP(penalty_1, op_weight_penalty(e, k->table, NULL, 1, 2), NONE)
OP(penalty_2, op_weight_penalty(e, k->table, k->values[4], 2, 2), NONE)
OP(cross_entropy, op_cross_entropy(e, k->rows, targets), op_cross_entropy(e, k->rows, no_targets))
OP(mean_of_map, op_mean(e, k->map), NONE)
OP(mean, op_mean(e, k->rows), NONE)
OP(known, op_known(e, k->rows, 3, k->values[4]), NONE)
OP(divergence, op_rate_divergence(e, k->one, 0.1), NONE)
OP(strand_max, op_strand_max(e, k->map, NULL), op_strand_max(e, k->odd_map, NULL))
OP(squared_error, op_squared_error(e, k->rows, k->values[4]), op_squared_error(e, k->map, k->values[4]))
OP(log_mean_exp, op_log_mean_exp(e, k->map, 2), op_log_mean_exp(e, k->rows, 2))
OP(presence, op_presence(e, k->rows, names(k)), op_presence(e, k->odd_rows, names(k)))
OP(tally, op_tally(e, k->map, &counts_of_map), op_tally(e, k->rows, &counts_of_map))
OP(share_of_odds, op_odds(e, k->rows, k->gain, k->bias), op_odds(e, k->odd_rows, k->gain, k->bias))
OP(sum_groups, op_sum_groups(e, k->rows, 3), op_sum_groups(e, k->rows, 5))
/* `twice`: two operations read one input, so their gradients are added. `chain`: operations in sequence, each of which
 * passes its buffers to the next. */
OP(twice, op_add(e, op_conv(e, k->map, k->w33, k->b, NULL), op_batch_norm(e, k->map, &k->norm, false)), NONE)
OP(chain,
   op_linear(e, op_layer_norm(e, op_linear(e, k->rows, k->square, k->b, false, 0), k->gain, k->bias), k->square, NULL,
             false, 0),
   NONE)

typedef struct tensor *operation(struct exec *e, struct kit *k, bool fits);
#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
static const struct {
    const char *name;
    operation *run;
} operations[] = {ENTRY(planar),
                  ENTRY(planar_blocks),
                  ENTRY(spread),
                  ENTRY(thin_spread),
                  ENTRY(words),
                  ENTRY(conv),
                  ENTRY(conv1),
                  ENTRY(conv_of_line),
                  ENTRY(line),
                  ENTRY(norm),
                  ENTRY(norm_conv),
                  ENTRY(norm_conv1),
                  ENTRY(threshold),
                  ENTRY(thin),
                  ENTRY(thin_line),
                  ENTRY(thin_embed),
                  ENTRY(noise),
                  ENTRY(relu),
                  ENTRY(sigmoid),
                  ENTRY(max_pool_rows),
                  ENTRY(embed),
                  ENTRY(map_rows),
                  ENTRY(gather),
                  ENTRY(linear),
                  ENTRY(add_rows),
                  ENTRY(embedding),
                  ENTRY(add),
                  ENTRY(scale),
                  ENTRY(raise),
                  ENTRY(residual),
                  ENTRY(layer_norm),
                  ENTRY(residual_norm),
                  ENTRY(self_attention),
                  ENTRY(cross_attention),
                  ENTRY(bilstm),
                  ENTRY(sample),
                  ENTRY(kl),
                  ENTRY(spike_odds),
                  ENTRY(spike_warm),
                  ENTRY(spike_gate),
                  ENTRY(spike_kl),
                  ENTRY(spike_kl_printed),
                  ENTRY(rate_kl),
                  ENTRY(softmax),
                  ENTRY(weight_rows),
                  ENTRY(mask_rows),
                  ENTRY(arcs),
                  ENTRY(feature_head),
                  ENTRY(unit_columns),
                  ENTRY(tree_rows),
                  ENTRY(gaussian),
                  ENTRY(multinomial),
                  ENTRY(bernoulli),
                  ENTRY(sigma_prior),
                  ENTRY(penalty_1),
                  ENTRY(penalty_2),
                  ENTRY(cross_entropy),
                  ENTRY(mean_of_map),
                  ENTRY(mean),
                  ENTRY(known),
                  ENTRY(divergence),
                  ENTRY(strand_max),
                  ENTRY(squared_error),
                  ENTRY(log_mean_exp),
                  ENTRY(presence),
                  ENTRY(tally),
                  ENTRY(share_of_odds),
                  ENTRY(sum_groups),
                  ENTRY(twice),
                  ENTRY(chain)};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- tests -------------------------------------------------------------------------------------------------- */

static double hash_of(const real *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * (1 + (double)(i % 97));
    return sum;
}

/* Runs a step of one operation and hashes its result and all gradients of weights. Once the inputs exist, `fault`
 * allocations succeed and the next one fails. */
static enum status step(struct kit *k, operation *run, bool training, int fault, double *hash, struct error *err)
{
    begin(k, training);
    if (fault >= 0)
        fault_after(fault);
    struct tensor *out = run(&k->exec, k, true);
    enum status status = exec_status(&k->exec, err);
    if ((out == NULL) != (status != STATUS_OK)) {
        error_set(err, STATUS_INTERNAL, NULL, "a result and a failure, or neither");
        status = STATUS_INTERNAL;
    }
    if (!status && training)
        status = tape_backward(&k->exec, out, NULL, err);
    if (!status) {
        *hash = hash_of(out->data, out->kind == TENSOR_MAP && out->data == NULL ? 0 : out->count);
        for (int i = 0; training && i < k->weight_count; i++)
            if (k->weights[i].grad_ready)
                *hash += hash_of(k->weights[i].grad, k->weights[i].count);
        if (training && k->map->grad_ready)
            *hash += hash_of(k->map->grad, k->map->count);
        if (training && k->rows->grad_ready)
            *hash += hash_of(k->rows->grad, k->rows->count);
    }
    end(k);
    return status;
}

static void failed_allocation_fails_the_step_and_leaves_later_steps_unchanged(void **state)
{
    struct kit k;
    open_kit(&k);
    for (int i = 0; i < OPERATIONS; i++)
        for (int training = 0; training < 2; training++)
            for (int sparse = EXEC_DENSE; sparse <= EXEC_SPARSE; sparse++) {
                double wanted = 0, found = 0;
                struct error err = {0};
                int failed = 0;
                k.sparse = (enum exec_sparse)sparse;
                if (step(&k, operations[i].run, training, -1, &wanted, &err) || !isfinite(wanted))
                    fail_msg("%s, %s: %s %g", operations[i].name, training ? "training" : "evaluation", err.message,
                             wanted);
                for (int n = 0;; n++) {
                    error_clear(&err);
                    enum status status = step(&k, operations[i].run, training, n, &found, &err);
                    bool happened = fault_happened();
                    failed += status != STATUS_OK;
                    if (status != STATUS_OK && (status != STATUS_NO_MEMORY || !happened))
                        fail_msg("%s, allocation %d: %s", operations[i].name, n, err.message);
                    if (status == STATUS_OK && found != wanted)
                        fail_msg("%s, allocation %d: %.17g, not %.17g", operations[i].name, n, found, wanted);
                    if (!happened)
                        break;
                }
                if (failed == 0)
                    fail_msg("%s needs no memory", operations[i].name);
            }
    close_kit(&k);
}

static void operation_on_null_returns_null(void **state)
{
    struct kit k;
    open_kit(&k);
    for (int i = 0; i < OPERATIONS; i++) {
        begin(&k, true);
        struct tensor **const from = &k.map, **const to = &k.odd_map;
        for (struct tensor **t = from; t <= to; t++)
            *t = NULL;
        struct tensor *out = operations[i].run(&k.exec, &k, true);
        bool of_weights = operations[i].run == planar || operations[i].run == planar_blocks ||
                          operations[i].run == words || operations[i].run == embedding ||
                          operations[i].run == weight_rows || operations[i].run == sigma_prior ||
                          operations[i].run == penalty_1 || operations[i].run == penalty_2;
        if ((out != NULL) != of_weights)
            fail_msg("%s", operations[i].name);
        end(&k);
    }
    close_kit(&k);
}

static void step_keeps_its_first_failure(void **state)
{
    struct kit k;
    open_kit(&k);
    for (int i = 0; i < OPERATIONS; i++) {
        struct error err = {0};
        begin(&k, true);
        error_set(&k.exec.error, STATUS_NUMERIC, NULL, "before it");
        fault_after(0);
        struct tensor *out = operations[i].run(&k.exec, &k, true);
        bool asked = fault_happened();
        if (out != NULL || asked || exec_status(&k.exec, &err) != STATUS_NUMERIC ||
            strcmp(err.message, "before it") != 0)
            fail_msg("%s goes on, or says '%s'", operations[i].name, err.message);
        end(&k);
    }
    close_kit(&k);
}

static void wrong_shapes_are_refused_with_the_name_of_the_operation(void **state)
{
    struct kit k;
    int refused = 0;
    open_kit(&k);
    for (int i = 0; i < OPERATIONS; i++) {
        begin(&k, true);
        struct tensor *out = operations[i].run(&k.exec, &k, false);
        enum status status = exec_status(&k.exec, NULL);
        if (out != NULL || (status != STATUS_OK && status != STATUS_INTERNAL))
            fail_msg("%s is not refused", operations[i].name);
        refused += status == STATUS_INTERNAL;
        end(&k);
    }
    assert_int_equal(refused, 40);
    close_kit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_allocation_fails_the_step_and_leaves_later_steps_unchanged),
        cmocka_unit_test(operation_on_null_returns_null), cmocka_unit_test(step_keeps_its_first_failure),
        cmocka_unit_test(wrong_shapes_are_refused_with_the_name_of_the_operation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
