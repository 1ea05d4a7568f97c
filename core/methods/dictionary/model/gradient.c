/* Computes the gradients of a batch of a sparse autoencoder (step.h).
 *
 * First, a task for each row computes the gradient of the loss with respect to each entry of the codes. Then the
 * entries are listed by latent, and a task for each latent adds up the gradients of its row in both matrices. */
#include <math.h>
#include <string.h>

#include "core/methods/dictionary/model/step_int.h"

/* ---- entries ------------------------------------------------------------------------------------------------- */

/* Computes the members `slope` and, for JUMPRELU, `edge` of the codes of a row: the gradients of the loss with respect
 * to h and to the threshold. */
static void slope_row(struct step *s, int r)
{
    const struct sae *sae = s->sae;
    const struct sae_shape *shape = &sae->shape;
    int d = shape->inputs, at = s->codes.start[r];
    double sparsity = step_sparsity(s) / s->count;
    for (int level = 0; level < shape->levels; level++) {
        const float *pull = step_pull(s, level, r);
        for (int n = s->level_count[(ptrdiff_t)r * SAE_LEVELS + level]; n > 0; n--, at++) {
            int j = s->codes.index[at];
            float slope = s->kernels->dot((size_t)d, pull, sae->decoder->value + (ptrdiff_t)j * d);
            if (shape->learner == LEARNER_L1)
                slope += (float)sparsity * s->norms[j];
            if (shape->learner == LEARNER_JUMPRELU) {
                float h = s->h[(ptrdiff_t)r * shape->width + j], t = sae->threshold->value[j];
                bool near = t > 0 && fabs((double)h - (double)t) < 0.5 * shape->bandwidth;
                s->codes.edge[at] = near ? -(float)(((double)t * (double)slope + sparsity) / shape->bandwidth) : 0;
                slope = h > sae_threshold(sae, j) ? slope : 0;
            }
            s->codes.slope[at] = slope;
        }
    }
    for (int i = s->auxiliary.start[r]; s->dead_count > 0 && i < s->auxiliary.start[r] + s->auxiliary.count[r]; i++)
        s->auxiliary.slope[i] = s->kernels->dot((size_t)d, step_pull(s, shape->levels, r),
                                                sae->decoder->value + (ptrdiff_t)s->auxiliary.index[i] * d);
}

static void slope_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++)
        slope_row(s, r);
}

/* ---- latents ------------------------------------------------------------------------------------------------- */

/* Computes the sum over the entries i of latent j: values[i] * table[index[i]], where index[i] is a sample. Writes the
 * sum to `out`, or with `add` adds it to `out`. */
static void model_gradient_gather(const struct step *s, const struct entries *columns, int j, const float *values,
                                  const float *table, bool add, float *out)
{
    int d = s->sae->shape.inputs;
    struct sparse_call call = {.rows = 1,
                               .columns = d,
                               .add = add,
                               .start = columns->start + j,
                               .count = columns->count + j,
                               .index = columns->index,
                               .value = values,
                               .t = table,
                               .c = out,
                               .ld_t = d,
                               .ld_c = d};
    s->kernels->sparse_gemm(&call);
}

static double sum_of(const struct entries *columns, int j, const float *values)
{
    double sum = 0;
    for (int i = columns->start[j]; i < columns->start[j] + columns->count[j]; i++)
        sum += (double)values[i];
    return sum;
}

static int level_of(const struct sae_shape *shape, int j)
{
    int level = 0;
    while (j >= shape->level_end[level])
        level++;
    return level;
}

static void gather_latent(struct step *s, int j)
{
    struct sae *sae = s->sae;
    const struct sae_shape *shape = &sae->shape;
    const struct entries *own = &s->columns, *auxiliary = &s->auxiliary_columns;
    int d = shape->inputs;
    float *decoder = sae->decoder->grad + (ptrdiff_t)j * d, *encoder = sae->encoder->grad + (ptrdiff_t)j * d;
    double bias = sum_of(own, j, own->slope);
    model_gradient_gather(s, own, j, own->value, step_pull(s, level_of(shape, j), 0), false, decoder);
    model_gradient_gather(s, own, j, own->slope, s->centred, false, encoder);
    if (s->dead_count > 0) {
        model_gradient_gather(s, auxiliary, j, auxiliary->value, step_pull(s, shape->levels, 0), true, decoder);
        model_gradient_gather(s, auxiliary, j, auxiliary->slope, s->centred, true, encoder);
        bias += sum_of(auxiliary, j, auxiliary->slope);
    }
    if (shape->learner == LEARNER_L1 && s->norms[j] > 0) {
        double mean = sum_of(own, j, own->value) / s->count;
        s->kernels->axpy((size_t)d, (float)(step_sparsity(s) * mean / (double)s->norms[j]),
                         sae->decoder->value + (ptrdiff_t)j * d, decoder);
    }
    if (sae->threshold)
        sae->threshold->grad[j] = (float)sum_of(own, j, own->edge);
    sae->encoder_bias->grad[j] = (float)bias;
}

static void gather_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece latents = step_piece(chunk, STEP_LATENTS, s->sae->shape.width);
    for (int j = latents.first; j < latents.first + latents.count; j++)
        gather_latent(s, j);
}

/* The bias gets two gradients, because it is added to each reconstruction and subtracted from the inputs of the
 * encoder. */
static void bias_gradient(struct step *s)
{
    struct sae *sae = s->sae;
    int d = sae->shape.inputs, m = sae->shape.width;
    memset(sae->bias->grad, 0, (size_t)d * sizeof(float));
    s->kernels->column_sums(s->count, d, step_pull(s, 0, 0), d, sae->bias->grad);
    for (int j = 0; j < m; j++)
        s->kernels->axpy((size_t)d, -sae->encoder_bias->grad[j], sae->encoder->value + (ptrdiff_t)j * d,
                         sae->bias->grad);
}

bool step_gradients(struct step *s)
{
    struct sae *sae = s->sae;
    if (!thread_pool_run(s->pool, slope_task, s, step_pieces(s->count, STEP_ROWS)))
        return false;
    step_by_latent(s, &s->codes, 0, s->count, 0, &s->columns);
    if (s->dead_count > 0)
        step_by_latent(s, &s->auxiliary, 0, s->count, 0, &s->auxiliary_columns);
    if (!thread_pool_run(s->pool, gather_task, s, step_pieces(sae->shape.width, STEP_LATENTS)))
        return false;
    bias_gradient(s);
    sae->encoder->grad_ready = sae->encoder_bias->grad_ready = sae->decoder->grad_ready = true;
    sae->bias->grad_ready = true;
    if (sae->threshold)
        sae->threshold->grad_ready = true;
    return true;
}
