/* Creates and initialises sparse autoencoders (sae.h). */
#include "core/methods/dictionary/model/sae.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_ROWS = 0x5200 };
static const double FIRST_THRESHOLD = 0.1; /* initial threshold of JUMPRELU */

bool sae_has_encoder(enum learner learner)
{
    return learner != LEARNER_MATCHING_PURSUIT && learner != LEARNER_FISTA;
}

bool sae_has_auxiliary_loss(enum learner learner)
{
    return learner == LEARNER_TOPK || learner == LEARNER_BATCHTOPK || learner == LEARNER_MATRYOSHKA;
}

static struct weight *array(struct sae *sae, const char *prefix, const char *what, int rank, double value)
{
    const int dim[2] = {sae->shape.width, sae->shape.inputs};
    char name[SNAPSHOT_NAME];
    snprintf(name, sizeof name, "%s%s", prefix, what);
    return params_add(sae->params, name, rank, rank == 0 ? dim + 1 : dim, init_constant(value));
}

static struct weight *state(struct sae *sae, const char *prefix, const char *what, int count, double value)
{
    char name[SNAPSHOT_NAME];
    snprintf(name, sizeof name, "%s%s", prefix, what);
    return params_add_state(sae->params, name, count, value);
}

static void sae_declare(struct sae *sae, const char *prefix)
{
    const int rows[2] = {sae->shape.width, sae->shape.inputs};
    enum learner learner = sae->shape.learner;
    char name[SNAPSHOT_NAME];
    if (sae_has_encoder(learner)) {
        sae->encoder = array(sae, prefix, "encoder", 2, 0);
        sae->encoder_bias = array(sae, prefix, "encoder_bias", 1, 0);
    }
    sae->decoder = array(sae, prefix, "decoder", 2, 0);
    snprintf(name, sizeof name, "%sbias", prefix);
    sae->bias = params_add(sae->params, name, 1, rows + 1, init_constant(0));
    if (learner == LEARNER_JUMPRELU)
        sae->threshold = array(sae, prefix, "threshold", 1, FIRST_THRESHOLD);
    sae->unfired = state(sae, prefix, "unfired", sae->shape.width, 0);
    if (learner == LEARNER_BATCHTOPK || learner == LEARNER_MATRYOSHKA)
        sae->cut = state(sae, prefix, "cut", CUTS, 0);
    if (learner == LEARNER_L1 || learner == LEARNER_JUMPRELU)
        sae->tuner = state(sae, prefix, "tuner", TUNERS, 0);
}

enum status sae_create(const struct sae_shape *shape, const char *name, bool with_grad, struct sae **sae,
                       struct error *err)
{
    struct sae *s = calloc(1, sizeof *s);
    *sae = NULL;
    if (!s)
        return error_memory(err, "a dictionary");
    s->shape = *shape;
    enum status status = params_create(&s->params, err);
    if (!status) {
        sae_declare(s, name);
        status = params_seal(s->params, with_grad, err);
    }
    if (status) {
        sae_destroy(s);
        return status;
    }
    *sae = s;
    return STATUS_OK;
}

void sae_destroy(struct sae *sae)
{
    if (!sae)
        return;
    params_destroy(sae->params);
    free(sae);
}

/* Returns the initial norm of the decoder's rows: 1 for MATCHING_PURSUIT, FISTA and unit_rows, 0.5 for JUMPRELU,
 * otherwise 0.1. */
static double row_norm(const struct sae_shape *shape)
{
    if (shape->unit_rows || !sae_has_encoder(shape->learner))
        return 1;
    return shape->learner == LEARNER_JUMPRELU ? 0.5 : 0.1;
}

static void scale_row(float *row, int d, double norm)
{
    double square = 0;
    for (int k = 0; k < d; k++)
        square += (double)row[k] * (double)row[k];
    float factor = square > 0 ? (float)(norm / sqrt(square)) : 0;
    for (int k = 0; k < d; k++)
        row[k] *= factor;
}

void sae_init(struct sae *sae, uint64_t seed)
{
    struct philox from = philox_stream(seed, STREAM_ROWS, 0);
    int d = sae->shape.inputs;
    params_init(sae->params, seed, NULL);
    for (size_t i = 0; i < sae->decoder->count; i++)
        sae->decoder->value[i] = (float)philox_normal(&from, i);
    for (int j = 0; j < sae->shape.width; j++)
        scale_row(sae->decoder->value + (ptrdiff_t)j * d, d, row_norm(&sae->shape));
    if (sae->encoder)
        memcpy(sae->encoder->value, sae->decoder->value, sae->decoder->count * sizeof(float));
    if (sae->tuner)
        sae->tuner->value[TUNER_FACTOR] = 1;
}

float sae_threshold(const struct sae *sae, int latent)
{
    float t = sae->threshold ? sae->threshold->value[latent] : sae->cut ? sae->cut->value[CUT_MEAN] : 0;
    return t > 0 ? t : 0;
}

void sae_unit_rows(struct sae *sae)
{
    for (int j = 0; j < sae->shape.width; j++)
        scale_row(sae->decoder->value + (ptrdiff_t)j * sae->shape.inputs, sae->shape.inputs, 1);
}

void sae_project_gradient(struct sae *sae)
{
    int d = sae->shape.inputs;
    for (int j = 0; j < sae->shape.width; j++) {
        const float *row = sae->decoder->value + (ptrdiff_t)j * d;
        float *gradient = sae->decoder->grad + (ptrdiff_t)j * d;
        double along = 0, square = 0;
        for (int k = 0; k < d; k++) {
            along += (double)gradient[k] * (double)row[k];
            square += (double)row[k] * (double)row[k];
        }
        float factor = square > 0 ? (float)(along / square) : 0;
        for (int k = 0; k < d; k++)
            gradient[k] -= factor * row[k];
    }
}
