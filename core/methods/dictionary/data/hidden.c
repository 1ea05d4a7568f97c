/* Makes the vectors of a toy model's hidden layer (hidden.h). */
#include "core/methods/dictionary/data/hidden.h"

#include <math.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/nn/adam.h"
#include "core/superposed/batch.h"
#include "core/superposed/data.h"
#include "core/superposed/rug.h"
#include "core/superposed/theory.h"

enum { BATCH = 256 };
static const double LEARNING_RATE =
    1e-2; /* Adam's step size is LEARNING_RATE / sqrt(n_s), as in the presets of superposition */

static struct autoencoder_shape shape_of(const struct hidden *h)
{
    return (struct autoencoder_shape){.n_s = h->features, .n_d = h->inputs, .activation = ACTIVATION_RELU};
}

double hidden_work(const struct hidden *h)
{
    return h->trained ? (double)h->samples * 6 * h->features * h->inputs : 0;
}

int64_t hidden_bytes(const struct hidden *h, int threads)
{
    struct autoencoder_shape shape = shape_of(h);
    int64_t weights = 2 * (int64_t)h->features * h->inputs + h->features;
    return h->trained ? 16 * weights + (int64_t)batch_bytes(&shape, BATCH, threads) : 0;
}

double hidden_explained(double p, double ratio)
{
    return 1 - theory_optimum(p, theory_sigma(p, ratio)).loss / theory_variance(p);
}

/* Writes the vectors of a rug, which consists of n_d rows of Sylvester's matrix (core/superposed/rug.h). The vector of
 * feature i is column i of these rows, divided by sqrt(n_d). */
static enum status rug_vectors(const struct hidden *h, float *vectors, struct error *err)
{
    struct rug rug;
    enum status status = rug_create(h->features, h->inputs, h->seed, 0, &rug, err);
    float each = (float)(1 / sqrt(h->inputs));
    if (status)
        return status;
    for (int i = 0; i < h->features; i++)
        for (int k = 0; k < h->inputs; k++) {
            uint64_t common = (uint64_t)i & (uint64_t)rug.rows[k];
            vectors[(ptrdiff_t)i * h->inputs + k] = __builtin_parityll(common) ? -each : each;
        }
    rug_close(&rug);
    return STATUS_OK;
}

struct training {
    struct autoencoder *model;
    struct adam *adam;
    struct batch *batch;
};

static enum status train(const struct hidden *h, struct training *t, struct exec *exec, struct thread_pool *pool,
                         struct error *err)
{
    for (int64_t at = 0; at < h->samples; at += BATCH) {
        int64_t left = h->samples - at;
        struct batch_samples samples = {h->seed, STREAM_TRAINING, at, (int)(left < BATCH ? left : BATCH), h->p, 0,
                                        NULL};
        params_begin_step(t->model->params);
        double loss = batch_run(t->batch, &samples, true);
        enum status status = thread_pool_check(pool, err);
        if (status)
            return status;
        if (!isfinite(loss))
            return error_set(err, STATUS_NUMERIC, NULL, "the loss of the autoencoder is not finite after %lld samples",
                             (long long)at);
        status = adam_step(t->adam, exec, LEARNING_RATE / sqrt(h->features), NULL, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status trained_vectors(const struct hidden *h, const struct kernels *kernels, struct thread_pool *pool,
                                   float *vectors, struct error *err)
{
    struct autoencoder_shape shape = shape_of(h);
    struct adam_config adam = ADAM_DEFAULT;
    struct training t = {0};
    struct arena arena;
    struct exec exec;
    arena_init(&arena, (size_t)1 << 16, 0);
    exec_init(&exec, kernels, pool, &arena, h->seed);
    enum status status = autoencoder_create(&shape, true, &t.model, err);
    if (!status) {
        params_init(t.model->params, h->seed, pool);
        status = thread_pool_check(pool, err);
    }
    if (!status)
        status = adam_create(t.model->params, &adam, &t.adam, err);
    if (!status)
        status = batch_create(t.model, pool, kernels, BATCH, NULL, false, &t.batch, err);
    if (!status)
        status = train(h, &t, &exec, pool, err);
    if (!status)
        memcpy(vectors, t.model->encoder->value, (size_t)h->features * (size_t)h->inputs * sizeof *vectors);
    batch_destroy(t.batch);
    adam_destroy(t.adam);
    autoencoder_destroy(t.model);
    arena_close(&arena);
    return status;
}

enum status hidden_vectors(const struct hidden *h, const struct kernels *kernels, struct thread_pool *pool,
                           float *vectors, struct error *err)
{
    return h->trained ? trained_vectors(h, kernels, pool, vectors, err) : rug_vectors(h, vectors, err);
}
