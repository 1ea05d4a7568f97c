/* Computes the codes of single samples by a trained dictionary (infer.h). */
#include "core/methods/dictionary/model/infer.h"

#include <string.h>

#include "core/methods/dictionary/model/step_int.h"
#include "core/nn/select_kth.h"

_Static_assert((int)INFER_ROWS == (int)PLAIN_ROWS, "a piece of rows is one call of plain_fista()");

size_t infer_scratch(const struct sae_shape *shape)
{
    size_t m = (size_t)shape->width, d = (size_t)shape->inputs;
    struct plain plain = {shape->width, shape->inputs, NULL, 0, NULL};
    size_t fista = shape->learner == LEARNER_FISTA ? plain_fista_scratch(&plain) : 0;
    return INFER_ROWS * d + m + d + fista;
}

struct infer infer_make(const struct sae *sae, const struct kernels *kernels, float *scratch)
{
    struct infer i = {.sae = sae, .kernels = kernels};
    if (sae->shape.learner != LEARNER_FISTA)
        return i;
    i.plain = (struct plain){sae->shape.width, sae->shape.inputs, sae->decoder->value, 0, kernels};
    i.plain.lipschitz = plain_lipschitz(&i.plain, scratch);
    return i;
}

/* code = centred matrix' */
static void products(const struct infer *i, const float *matrix, const float *centred, int count, float *code)
{
    int d = i->sae->shape.inputs, m = i->sae->shape.width;
    struct gemm_call call = {.transpose_b = true,
                             .m = count,
                             .n = m,
                             .k = d,
                             .alpha = 1,
                             .a = centred,
                             .b = matrix,
                             .c = code,
                             .lda = d,
                             .ldb = d,
                             .ldc = m};
    i->kernels->gemm(&call);
}

/* Keeps the `keep` largest values above 0. Of equal values, those with the lowest index stay. */
static void keep_largest(float *code, int m, int keep, float *scratch)
{
    int positive = 0, above = 0;
    for (int j = 0; j < m; j++)
        if (code[j] > 0)
            scratch[positive++] = code[j];
    float cut = positive > keep ? select_kth(scratch, (size_t)positive, (size_t)(positive - keep + 1)) : 0;
    for (int j = 0; j < m; j++)
        above += code[j] > cut;
    int ties = keep - above;
    for (int j = 0; j < m; j++)
        if (!(code[j] > cut) && !(code[j] > 0 && code[j] >= cut && ties-- > 0))
            code[j] = 0;
}

static void activate(const struct infer *i, float *code, float *scratch)
{
    const struct sae *sae = i->sae;
    int m = sae->shape.width;
    for (int j = 0; j < m; j++)
        code[j] += sae->encoder_bias->value[j];
    if (sae->shape.learner == LEARNER_TOPK) {
        keep_largest(code, m, step_kept(&sae->shape), scratch);
        return;
    }
    for (int j = 0; j < m; j++)
        code[j] = code[j] > sae_threshold(sae, j) ? code[j] : 0;
}

/* Computes the code by matching pursuit. scratch: [width] products and [inputs] residual. */
static void pursue(const struct infer *i, const float *centred, float *code, float *scratch)
{
    const struct sae_shape *shape = &i->sae->shape;
    int m = shape->width, d = shape->inputs;
    float *residual = scratch + m;
    memcpy(residual, centred, (size_t)d * sizeof *residual);
    memset(code, 0, (size_t)m * sizeof *code);
    for (int pick = 0; pick < step_kept(shape); pick++) {
        int best = 0;
        products(i, i->sae->decoder->value, residual, 1, scratch);
        for (int j = 1; j < m; j++)
            best = scratch[j] > scratch[best] ? j : best;
        float value = scratch[best];
        if (!(value > 0))
            return;
        code[best] += value;
        i->kernels->axpy((size_t)d, -value, i->sae->decoder->value + (ptrdiff_t)best * d, residual);
    }
}

void infer_codes(const struct infer *i, const float *x, int count, float *code, float *scratch)
{
    const struct sae_shape *shape = &i->sae->shape;
    int m = shape->width, d = shape->inputs;
    const float *bias = i->sae->bias->value;
    float *centred = scratch, *rest = scratch + INFER_ROWS * (size_t)d;
    for (int r = 0; r < count; r++)
        for (int k = 0; k < d; k++)
            centred[(ptrdiff_t)r * d + k] = x[(ptrdiff_t)r * d + k] - bias[k];
    if (shape->learner == LEARNER_FISTA) {
        plain_fista(&i->plain, x, count, shape->penalty, shape->iterations, code, rest);
        return;
    }
    if (sae_has_encoder(shape->learner))
        products(i, i->sae->encoder->value, centred, count, code);
    for (int r = 0; r < count; r++)
        if (sae_has_encoder(shape->learner))
            activate(i, code + (ptrdiff_t)r * m, rest);
        else
            pursue(i, centred + (ptrdiff_t)r * d, code + (ptrdiff_t)r * m, rest);
}
