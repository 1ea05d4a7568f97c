/* Transformer stacks. Initial values are those of PyTorch's MultiheadAttention and Linear:
 * - in-projection (query, key and value): Xavier-uniform, bias 0. Cross-attention stores it as two arrays, but
 *   initialises both with the scale of one array of all three.
 * - out-projection: uniform with scale 1 / sqrt(width), bias 0.
 * - feed-forward part: the default of linear layers. */
#include "core/nn/transformer.h"

#include <stdio.h>

struct layer_name {
    char own[2 * SNAPSHOT_NAME], shared_init[2 * SNAPSHOT_NAME];
};

static struct layer_name layer_name(const char *stack, int layer, bool identical, const char *what)
{
    struct layer_name n;
    snprintf(n.own, sizeof(n.own), "%s.%d.%s", stack, layer, what);
    snprintf(n.shared_init, sizeof(n.shared_init), "%s.%d.%s", stack, identical ? 0 : layer, what);
    return n;
}

/* The arguments that the functions below share while they declare the arrays of a stack. */
struct stack {
    struct params *params;
    const char *name;
    const struct transformer_config *config;
    int layer;
};

static void stack_linear(const struct stack *s, struct linear *linear, const char *what, int in, int out,
                         const struct init *init)
{
    struct layer_name n = layer_name(s->name, s->layer, s->config->identical, what);
    if (init == NULL)
        linear_build(linear, s->params, n.own, n.shared_init, in, out);
    else
        linear_build_with(linear, s->params, n.own, n.shared_init, in, out, *init);
}

static void stack_norm(const struct stack *s, struct layer_norm *norm, const char *what)
{
    layer_norm_build(norm, s->params, layer_name(s->name, s->layer, false, what).own, s->config->width);
}

static void stack_feed_forward(const struct stack *s, struct linear *up, struct linear *down)
{
    stack_linear(s, up, "up", s->config->width, s->config->feed_forward, NULL);
    stack_linear(s, down, "down", s->config->feed_forward, s->config->width, NULL);
}

static void final_norm(struct layer_norm *norm, struct params *params, const char *name,
                       const struct transformer_config *config)
{
    char full[2 * SNAPSHOT_NAME];
    snprintf(full, sizeof(full), "%s.final", name);
    if (config->norm == TRANSFORMER_PRE_NORM)
        layer_norm_build(norm, params, full, config->width);
}

void encoder_build(struct encoder *encoder, struct params *params, const char *name,
                   const struct transformer_config *config)
{
    *encoder = (struct encoder){.config = *config};
    int width = config->width;
    struct init packed = init_xavier(width, 3 * width), out = init_fan_in(width);
    struct stack s = {params, name, config, 0};
    for (; s.layer < config->layers; s.layer++) {
        struct encoder_layer *l = &encoder->layer[s.layer];
        stack_linear(&s, &l->qkv, "attention.qkv", width, 3 * width, &packed);
        stack_linear(&s, &l->out, "attention.out", width, width, &out);
        stack_feed_forward(&s, &l->up, &l->down);
        stack_norm(&s, &l->norm1, "norm1");
        stack_norm(&s, &l->norm2, "norm2");
    }
    final_norm(&encoder->final, params, name, config);
}

void decoder_build(struct decoder *decoder, struct params *params, const char *name,
                   const struct transformer_config *config)
{
    *decoder = (struct decoder){.config = *config};
    int width = config->width;
    struct init packed = init_xavier(width, 3 * width), out = init_fan_in(width);
    struct stack s = {params, name, config, 0};
    for (; s.layer < config->layers; s.layer++) {
        struct decoder_layer *l = &decoder->layer[s.layer];
        stack_linear(&s, &l->self_qkv, "self.qkv", width, 3 * width, &packed);
        stack_linear(&s, &l->self_out, "self.out", width, width, &out);
        stack_linear(&s, &l->cross_q, "cross.q", width, width, &packed);
        stack_linear(&s, &l->cross_kv, "cross.kv", width, 2 * width, &packed);
        stack_linear(&s, &l->cross_out, "cross.out", width, width, &out);
        stack_feed_forward(&s, &l->up, &l->down);
        stack_norm(&s, &l->norm1, "norm1");
        stack_norm(&s, &l->norm2, "norm2");
        stack_norm(&s, &l->norm3, "norm3");
    }
    final_norm(&decoder->final, params, name, config);
}

/* --- forward ------------------------------------------------------------------------------------ */

static struct tensor *norm_of(struct exec *e, struct layer_norm *norm, struct tensor *x)
{
    return op_layer_norm(e, x, norm->gain, norm->bias);
}

/* Returns the input of a sub-layer: x (post-norm) or norm(x) (pre-norm). */
static struct tensor *enter(struct exec *e, const struct transformer_config *c, struct layer_norm *norm,
                            struct tensor *x)
{
    return c->norm == TRANSFORMER_PRE_NORM ? norm_of(e, norm, x) : x;
}

/* Adds the output of a sub-layer to x; post-norm stacks then apply the norm. */
static struct tensor *transformer_join(struct exec *e, const struct transformer_config *c, struct layer_norm *norm,
                                       struct tensor *x, struct tensor *part)
{
    if (c->norm == TRANSFORMER_PRE_NORM)
        return op_residual(e, x, part, c->dropout);
    return op_residual_norm(e, x, part, c->dropout, norm->gain, norm->bias);
}

static struct tensor *feed_forward(struct exec *e, const struct transformer_config *c, struct linear *up,
                                   struct linear *down, struct layer_norm *norm, struct tensor *x)
{
    struct tensor *y = linear_forward(e, up, enter(e, c, norm, x), true, c->dropout);
    return transformer_join(e, c, norm, x, linear_forward(e, down, y, false, 0.0));
}

static struct tensor *transformer_leave(struct exec *e, const struct transformer_config *c, struct layer_norm *final,
                                        struct tensor *x)
{
    return c->norm == TRANSFORMER_PRE_NORM ? norm_of(e, final, x) : x;
}

struct tensor *encoder_forward(struct exec *e, struct encoder *encoder, struct tensor *x, int batch, int length,
                               const int *lengths)
{
    const struct transformer_config *c = &encoder->config;
    struct attention shape = {.batch = batch,
                              .queries = length,
                              .keys = length,
                              .heads = c->heads,
                              .key_lengths = lengths,
                              .dropout = c->dropout};
    for (int i = 0; i < c->layers; i++) {
        struct encoder_layer *l = &encoder->layer[i];
        struct tensor *y = linear_forward(e, &l->qkv, enter(e, c, &l->norm1, x), false, 0.0);
        y = linear_forward(e, &l->out, op_self_attention(e, y, &shape), false, 0.0);
        x = transformer_join(e, c, &l->norm1, x, y);
        x = feed_forward(e, c, &l->up, &l->down, &l->norm2, x);
    }
    return transformer_leave(e, c, &encoder->final, x);
}

struct tensor *decoder_forward(struct exec *e, struct decoder *decoder, struct tensor *y, struct tensor *memory,
                               int batch, int length, int keys, const int *memory_lengths)
{
    const struct transformer_config *c = &decoder->config;
    struct attention self = {
        .batch = batch, .queries = length, .keys = length, .heads = c->heads, .causal = true, .dropout = c->dropout};
    struct attention cross = {.batch = batch,
                              .queries = length,
                              .keys = keys,
                              .heads = c->heads,
                              .key_lengths = memory_lengths,
                              .dropout = c->dropout};
    for (int i = 0; i < c->layers; i++) {
        struct decoder_layer *l = &decoder->layer[i];
        struct tensor *z = linear_forward(e, &l->self_qkv, enter(e, c, &l->norm1, y), false, 0.0);
        z = linear_forward(e, &l->self_out, op_self_attention(e, z, &self), false, 0.0);
        y = transformer_join(e, c, &l->norm1, y, z);
        z = linear_forward(e, &l->cross_q, enter(e, c, &l->norm2, y), false, 0.0);
        z = op_cross_attention(e, z, linear_forward(e, &l->cross_kv, memory, false, 0.0), &cross);
        y = transformer_join(e, c, &l->norm2, y, linear_forward(e, &l->cross_out, z, false, 0.0));
        y = feed_forward(e, c, &l->up, &l->down, &l->norm3, y);
    }
    return transformer_leave(e, c, &decoder->final, y);
}

/* --- one token at a time ------------------------------------------------------------------------ */

bool decode_begin(struct exec *e, struct decode_cache *cache, struct decoder *decoder, struct tensor *memory, int batch,
                  int keys, int capacity, const int *memory_lengths)
{
    *cache = (struct decode_cache){
        .decoder = decoder, .batch = batch, .keys = keys, .capacity = capacity, .memory_lengths = memory_lengths};
    for (int i = 0; i < decoder->config.layers; i++) {
        cache->cross_kv[i] = linear_forward(e, &decoder->layer[i].cross_kv, memory, false, 0.0);
        struct tensor *room = tensor_rows(e, batch * capacity, 2 * decoder->config.width);
        if (cache->cross_kv[i] == NULL || room == NULL)
            return false;
        cache->self_kv[i] = room->data;
    }
    return true;
}

/* Appends keys and values of the new position to the cache; attention then reads the cache. */
static struct tensor *cached_self(struct exec *e, struct decode_cache *cache, int layer, struct tensor *qkv)
{
    if (qkv == NULL)
        return NULL;
    int width = cache->decoder->config.width, row = 2 * width;
    for (int b = 0; b < cache->batch; b++) {
        const real *from = qkv->data + (ptrdiff_t)b * qkv->cols + width;
        real *to = cache->self_kv[layer] + ((ptrdiff_t)b * cache->capacity + cache->length) * row;
        for (int j = 0; j < row; j++)
            to[j] = from[j];
    }
    struct attention shape = {
        .batch = cache->batch, .queries = 1, .keys = cache->length + 1, .heads = cache->decoder->config.heads};
    return op_cached_attention(e, qkv, width, cache->self_kv[layer], (ptrdiff_t)cache->capacity * row, &shape);
}

struct tensor *decode_step(struct exec *e, struct decode_cache *cache, struct tensor *y)
{
    const struct transformer_config *c = &cache->decoder->config;
    struct attention cross = {.batch = cache->batch,
                              .queries = 1,
                              .keys = cache->keys,
                              .heads = c->heads,
                              .key_lengths = cache->memory_lengths};
    if (cache->length >= cache->capacity) {
        error_set(&e->error, STATUS_INTERNAL, NULL, "decoding beyond the cache's %d positions", cache->capacity);
        return NULL;
    }
    for (int i = 0; i < c->layers; i++) {
        struct decoder_layer *l = &cache->decoder->layer[i];
        struct tensor *z = linear_forward(e, &l->self_qkv, enter(e, c, &l->norm1, y), false, 0.0);
        z = linear_forward(e, &l->self_out, cached_self(e, cache, i, z), false, 0.0);
        y = transformer_join(e, c, &l->norm1, y, z);
        z = linear_forward(e, &l->cross_q, enter(e, c, &l->norm2, y), false, 0.0);
        z = op_cross_attention(e, z, cache->cross_kv[i], &cross);
        y = transformer_join(e, c, &l->norm2, y, linear_forward(e, &l->cross_out, z, false, 0.0));
        y = feed_forward(e, c, &l->up, &l->down, &l->norm3, y);
    }
    cache->length++;
    return transformer_leave(e, c, &cache->decoder->final, y);
}
