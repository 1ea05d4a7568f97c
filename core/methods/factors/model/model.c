/* The networks of the factors method (model.h), put together from layers and operations of the tape. */
#include "core/methods/factors/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_RATE = 0x726174 };

static void build_layer(struct linear *layer, struct params *params, const char *prefix, const char *name, int in,
                        int out)
{
    char full[SNAPSHOT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    linear_build(layer, params, full, NULL, in, out);
}

static struct weight *build_array(struct params *params, const char *prefix, const char *name, int rank, const int *dim,
                                  struct init init)
{
    char full[SNAPSHOT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return params_add(params, full, rank, dim, init);
}

static struct weight *build_state(struct params *params, const char *prefix, const char *name, int count, double value)
{
    char full[SNAPSHOT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return params_add_state(params, full, count, value);
}

static void model_model_build(struct latent_model *m, const char *prefix)
{
    const struct latent_shape *s = &m->shape;
    struct params *p = m->params;
    int g = s->features, k = s->latent, h = s->hidden;
    build_layer(&m->encoder[0], p, prefix, "encoder.0", g, h);
    build_layer(&m->encoder[1], p, prefix, "encoder.1", h, h);
    build_layer(&m->mean, p, prefix, "mean", h, k);
    build_layer(&m->log_variance, p, prefix, "log_variance", h, k);
    if (s->model == MODEL_VSC) {
        build_layer(&m->odds_head, p, prefix, "odds_head", h, k);
        build_layer(&m->selector, p, prefix, "selector", g, LATENT_PSEUDO);
        m->pseudo = build_array(p, prefix, "pseudo", 2, (int[]){LATENT_PSEUDO, g}, init_normal(1));
    }
    if (s->model == MODEL_OI_VAE) {
        int units = g * s->group;
        m->group = build_array(p, prefix, "group.weight", 2, (int[]){units, k}, init_normal(1));
        m->group_bias = build_array(p, prefix, "group.bias", 1, &units, init_fan_in(k));
        h = s->group;
    } else {
        m->first = build_array(p, prefix, "decoder.0.weight", 2, (int[]){h, k}, init_fan_in(k));
        build_layer(&m->second, p, prefix, "decoder.1", h, h);
    }
    m->head = build_array(p, prefix, "head.weight", 2, (int[]){g, h}, init_fan_in(h));
    m->head_bias = build_array(p, prefix, "head.bias", 1, &g, init_fan_in(h));
    if (s->model == MODEL_SPARSE_VAE)
        m->mask = build_array(p, prefix, "mask", 2, (int[]){g, k}, init_normal(1));
    if (s->likelihood == LIKELIHOOD_GAUSSIAN)
        m->log_sigma = build_array(p, prefix, "log_sigma", 1, &g, init_constant(0));
    if (s->model == MODEL_SPARSE_VAE) {
        m->odds = build_state(p, prefix, "odds", g * k, 0.5);
        m->rate = build_state(p, prefix, "rate", k, 0.5);
        m->scales = build_state(p, prefix, "scales", 2, 1);
    }
}

enum status latent_declare(const struct latent_shape *shape, const char *prefix, struct latent_model **model,
                           struct error *err)
{
    struct latent_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->shape = *shape;
    m->warmth = 1;
    m->zeros = calloc((size_t)shape->hidden, sizeof *m->zeros);
    m->skip.dense = calloc(2 * (size_t)shape->features, sizeof *m->skip.dense);
    m->skip.groups = calloc((size_t)shape->features, sizeof *m->skip.groups);
    enum status status =
        m->zeros && m->skip.dense && m->skip.groups ? params_create(&m->params, err) : error_memory(err, "a model");
    if (!status) {
        m->skip.few = m->skip.dense + shape->features;
        m->no_bias =
            (struct weight){.value = m->zeros, .rank = 1, .dim = {shape->hidden}, .count = (size_t)shape->hidden};
        model_model_build(m, prefix);
    }
    if (status) {
        latent_destroy(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

enum status latent_create(const struct latent_shape *shape, const char *prefix, bool with_grad,
                          struct latent_model **model, struct error *err)
{
    struct latent_model *m = NULL;
    enum status status = latent_declare(shape, prefix, &m, err);
    if (!status)
        status = params_seal(m->params, with_grad, err);
    if (status) {
        latent_destroy(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

void latent_destroy(struct latent_model *model)
{
    if (!model)
        return;
    params_destroy(model->params);
    free(model->skip.groups);
    free(model->skip.dense);
    free(model->zeros);
    free(model);
}

void latent_init(struct latent_model *model, uint64_t seed, const double *deviation, struct thread_pool *pool)
{
    params_init(model->params, seed, pool);
    for (int j = 0; model->log_sigma && j < model->shape.features; j++)
        model->log_sigma->value[j] = (float)log(fmax(deviation[j], 1e-3));
    struct philox from = philox_stream(seed, STREAM_RATE, 0);
    for (int k = 0; model->rate && k < model->shape.latent; k++)
        model->rate->value[k] = philox_uniform(&from, (uint64_t)k);
}

/* Writes the first two latent variables that feed a feature; returns the number of all that feed it. */
static int fed_by(const struct latent_model *m, int feature, int32_t latent[2])
{
    int k = m->shape.latent, used = 0;
    latent[0] = latent[1] = -1;
    for (int c = 0; c < k; c++)
        if (m->mask->value[(ptrdiff_t)feature * k + c] != 0) {
            if (used < 2)
                latent[used] = c;
            used++;
        }
    return used;
}

static int by_latents(const void *a, const void *b)
{
    const struct arc_group *x = a, *y = b;
    for (int t = 0; t < 2; t++)
        if (x->latent[t] != y->latent[t])
            return x->latent[t] < y->latent[t] ? -1 : 1;
    return x->first - y->first;
}

void latent_skip(struct latent_model *model)
{
    struct latent_skip *s = &model->skip;
    s->dense_count = s->few_count = s->group_count = 0;
    for (int j = 0; j < model->shape.features; j++) {
        struct arc_group one = {.first = j, .count = 1};
        if (fed_by(model, j, one.latent) > 2)
            s->dense[s->dense_count++] = j;
        else
            s->groups[s->few_count++] = one;
    }
    qsort(s->groups, (size_t)s->few_count, sizeof *s->groups, by_latents);
    for (int f = 0; f < s->few_count; f++) {
        struct arc_group one = s->groups[f], *last = s->group_count > 0 ? &s->groups[s->group_count - 1] : NULL;
        s->few[f] = one.first;
        if (last && last->latent[0] == one.latent[0] && last->latent[1] == one.latent[1]) {
            last->count++;
            continue;
        }
        one.first = f;
        s->groups[s->group_count++] = one;
    }
    model->skipping = true;
}

struct spike_code latent_encode(struct latent_model *model, struct exec *e, struct tensor *x)
{
    struct tensor *h = linear_forward(e, &model->encoder[0], x, true, 0);
    h = linear_forward(e, &model->encoder[1], h, true, 0);
    struct tensor *mean = linear_forward(e, &model->mean, h, false, 0);
    struct tensor *log_variance = linear_forward(e, &model->log_variance, h, false, 0), *odds = NULL;
    if (model->pseudo)
        odds = op_spike_odds(e, linear_forward(e, &model->odds_head, h, false, 0));
    if (model->pseudo && model->warmth < 1) {
        mean = op_scale(e, mean, model->warmth);
        log_variance = op_spike_warm(e, log_variance, model->warmth);
    }
    return (struct spike_code){mean, log_variance, odds};
}

struct tensor *latent_sample(struct latent_model *model, struct exec *e, const struct spike_code *code, int64_t first)
{
    struct tensor *z = op_gaussian_sample(e, code->mean, code->log_variance, first);
    return model->pseudo ? op_spike_gate(e, z, code->odds, LATENT_SHARPNESS, first) : z;
}

struct tensor *latent_mean(struct latent_model *model, struct exec *e, const struct spike_code *code)
{
    struct tensor *z = op_scale(e, code->mean, 1);
    if (z && model->pseudo)
        e->kernels->multiply(z->count, code->odds->data, z->data);
    return z;
}

static struct spike_code pseudo_code(struct latent_model *m, struct exec *e)
{
    struct tensor *x = op_weight_rows(e, m->pseudo);
    return latent_encode(m, e, m->shape.likelihood == LIKELIHOOD_GAUSSIAN ? x : op_softmax_rows(e, x));
}

struct tensor *latent_divergence(struct latent_model *model, struct exec *e, struct tensor *x,
                                 const struct spike_code *code, bool printed, double factor)
{
    if (!model->pseudo)
        return op_gaussian_kl(e, code->mean, code->log_variance, factor);
    struct spike_code prior = pseudo_code(model, e);
    struct tensor *selector = op_softmax_rows(e, linear_forward(e, &model->selector, x, false, 0));
    return op_spike_kl(e, code, &prior, selector, printed, factor);
}

struct tensor *latent_rate(struct latent_model *model, struct exec *e, double rate, double factor)
{
    return op_rate_kl(e, pseudo_code(model, e).odds, rate, factor);
}

static struct tensor *hidden(struct latent_model *m, struct exec *e, struct tensor *u)
{
    return linear_forward(e, &m->second, op_linear(e, u, m->first, &m->no_bias, true, 0), true, 0);
}

/* Decodes the features `which` (NULL: all of them) with one matrix product. The columns of other features become 0. */
static struct tensor *masked(struct latent_model *m, struct exec *e, struct tensor *z, const int32_t *which, int count)
{
    struct tensor *h = hidden(m, e, op_mask_rows(e, z, m->mask, which, count));
    return op_feature_head(e, h, z->rows, which, count, m->head, m->head_bias);
}

static struct tensor *skipped(struct latent_model *m, struct exec *e, struct tensor *z)
{
    const struct latent_skip *s = &m->skip;
    struct arc_layers layers = {m->mask, m->first, m->second.w, m->second.b, m->head, m->head_bias};
    if (s->few_count == 0)
        return masked(m, e, z, NULL, m->shape.features);
    struct tensor *few = op_arc_head(e, z, &layers, s->few, s->groups, s->group_count);
    return s->dense_count == 0 ? few : op_add(e, masked(m, e, z, s->dense, s->dense_count), few);
}

struct tensor *latent_decode(struct latent_model *model, struct exec *e, struct tensor *z)
{
    struct latent_model *m = model;
    if (!z)
        return NULL;
    if (m->group) {
        struct tensor *h = op_linear(e, z, m->group, m->group_bias, true, 0);
        return op_feature_head(e, h, z->rows, NULL, m->shape.features, m->head, m->head_bias);
    }
    if (!m->mask)
        return op_linear(e, hidden(m, e, z), m->head, m->head_bias, false, 0);
    return m->skipping ? skipped(m, e, z) : masked(m, e, z, NULL, m->shape.features);
}

double latent_row_bytes(const struct latent_model *model)
{
    const struct latent_shape *s = &model->shape;
    double decoded = 2.0 * s->hidden;
    if (model->mask)
        decoded = (double)(model->skipping ? model->skip.dense_count : s->features) * (s->latent + 2.0 * s->hidden);
    return 2 * sizeof(float) * (decoded + 3.0 * s->features);
}

double latent_flops(const struct latent_shape *s)
{
    double h = s->hidden, k = s->latent, g = s->features;
    double inner = k * h + h * h + h;
    if (s->model == MODEL_OI_VAE)
        return 6 * (g * h + h * h + 2 * h * k + g * s->group * (k + 1));
    return 6 * (g * h + h * h + 2 * h * k + (s->model == MODEL_SPARSE_VAE ? g * inner : inner + g * h));
}
