/* The trained autoencoder (model.h): creation, thresholds, and one sample for queries. */
#include "core/superposed/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Declares the arrays of the model, which have shapes but no memory yet. */
static enum status superposed_model_declare(const struct autoencoder_shape *shape, struct autoencoder **model,
                                            struct error *err)
{
    struct autoencoder *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->shape = *shape;
    enum status status = params_create(&m->params, err);
    if (!status) {
        const int dim[2] = {shape->n_s, shape->n_d};
        struct init normal = init_normal(sqrt(2.0 / (shape->n_s + shape->n_d)));
        struct init zero = init_constant(0), wide = init_fan_in(shape->n_d);
        m->encoder = params_add(m->params, shape->tied ? "weight" : "encoder", 2, dim,
                                shape->xavier ? normal : init_fan_in(shape->n_s));
        m->decoder = shape->tied ? m->encoder : params_add(m->params, "decoder", 2, dim, shape->xavier ? normal : wide);
        m->bias = params_add(m->params, "bias", 1, dim, shape->xavier ? zero : wide);
        if (shape->activation == ACTIVATION_GATED)
            m->gate = params_add(m->params, "gate", 1, dim, zero);
    }
    if (status) {
        autoencoder_destroy(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

enum status autoencoder_create(const struct autoencoder_shape *shape, bool with_grad, struct autoencoder **model,
                               struct error *err)
{
    struct autoencoder *m = NULL;
    enum status status = superposed_model_declare(shape, &m, err);
    if (!status)
        status = params_seal(m->params, with_grad, err);
    if (status) {
        autoencoder_destroy(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

enum status autoencoder_fit(const struct autoencoder_shape *shape, const struct snapshot_reader *from,
                            struct error *err)
{
    struct autoencoder *m = NULL;
    enum status status = superposed_model_declare(shape, &m, err);
    if (!status)
        status = params_fit(m->params, from, err);
    autoencoder_destroy(m);
    return status;
}

void autoencoder_destroy(struct autoencoder *model)
{
    if (!model)
        return;
    params_destroy(model->params);
    free(model);
}

void autoencoder_thresholds(const struct autoencoder *model, float *thresholds)
{
    const struct autoencoder_shape *s = &model->shape;
    for (int i = 0; i < s->n_s; i++) {
        float t = 0;
        if (s->activation == ACTIVATION_THRESHOLD)
            t = s->threshold;
        else if (s->activation == ACTIVATION_GATED)
            t = model->bias->value[i] - model->gate->value[i];
        thresholds[i] = t > 0 ? t : 0;
    }
}

/* Finds the (kept + 1)-th largest value by quickselect. As a threshold, it leaves out all entries that equal it. */
float autoencoder_cut(const float *z, int n, int kept, float *scratch)
{
    if (kept >= n)
        return 0;
    memcpy(scratch, z, (size_t)n * sizeof *z);
    int low = 0, high = n - 1;
    while (low < high) {
        float pivot = scratch[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (scratch[i] > pivot)
                i++;
            while (scratch[j] < pivot)
                j--;
            if (i <= j) {
                float other = scratch[i];
                scratch[i++] = scratch[j];
                scratch[j--] = other;
            }
        }
        if (kept <= j)
            high = j;
        else if (kept >= i)
            low = i;
        else
            break;
    }
    return scratch[kept] > 0 ? scratch[kept] : 0;
}

void autoencoder_apply(const struct autoencoder *model, const struct kernels *kernels, const float *x, float *y,
                       float *scratch)
{
    const struct autoencoder_shape *s = &model->shape;
    float *hidden = scratch, *thresholds = hidden + s->n_d, *spare = thresholds + s->n_s, cut = 0;
    memset(hidden, 0, (size_t)s->n_d * sizeof *hidden);
    for (int i = 0; i < s->n_s; i++)
        if (x[i] != 0)
            kernels->axpy((size_t)s->n_d, x[i], model->encoder->value + (ptrdiff_t)i * s->n_d, hidden);
    struct gemm_call read = {.transpose_b = true,
                             .m = 1,
                             .n = s->n_s,
                             .k = s->n_d,
                             .alpha = 1,
                             .a = hidden,
                             .b = model->decoder->value,
                             .c = y,
                             .lda = s->n_d,
                             .ldb = s->n_d,
                             .ldc = s->n_s};
    kernels->gemm(&read);
    kernels->add((size_t)s->n_s, model->bias->value, y);
    autoencoder_thresholds(model, thresholds);
    if (s->activation == ACTIVATION_KEEP)
        cut = autoencoder_cut(y, s->n_s, s->kept, spare);
    for (int i = 0; i < s->n_s; i++)
        y[i] = y[i] > thresholds[i] && y[i] > cut ? y[i] : 0;
}
