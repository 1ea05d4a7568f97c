/* Matching pursuit as a learner (step.h): forward, and the gradient through all its picks.
 *
 * From r_0 = x - bias, pick s takes the row w of the decoder with the largest v = r_s . w > 0, and r_{s+1} = r_s - v w.
 * The loss is mean |r_k|^2. Let g be the gradient of the loss with respect to r_{s+1}, and e = -g . w. Then
 *     the gradient with respect to w is  -v g + e r_s        and with respect to r_s it is  g + e w.
 * The backward pass recomputes r_s = r_{s+1} + v w. */
#include <math.h>
#include <string.h>

#include "core/methods/dictionary/model/step_int.h"

static void gram_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    int d = s->sae->shape.inputs, m = s->sae->shape.width;
    struct step_piece rows = step_piece(chunk, STEP_LATENTS, m);
    const float *decoder = s->sae->decoder->value;
    struct gemm_call call = {.transpose_b = true,
                             .m = rows.count,
                             .n = m,
                             .k = d,
                             .alpha = 1,
                             .a = decoder + (ptrdiff_t)rows.first * d,
                             .b = decoder,
                             .c = s->gram + (ptrdiff_t)rows.first * m,
                             .lda = d,
                             .ldb = d,
                             .ldc = m};
    s->kernels->gemm(&call);
}

/* Makes the picks of sample r of the batch. h contains the products of the decoder's rows with the sample's residual;
 * the function updates h after each pick. */
static void pick_row(struct step *s, int r)
{
    const struct sae_shape *shape = &s->sae->shape;
    int m = shape->width, d = shape->inputs, kept = step_kept(shape), at = r * kept;
    float *h = s->h + (ptrdiff_t)r * m, *residual = step_pull(s, 0, r);
    memcpy(residual, s->centred + (ptrdiff_t)r * d, (size_t)d * sizeof *residual);
    s->codes.start[r] = at;
    s->codes.count[r] = 0;
    for (int pick = 0; pick < kept; pick++) {
        int best = 0;
        for (int j = 1; j < m; j++)
            best = h[j] > h[best] ? j : best;
        float value = h[best];
        if (!(value > 0))
            break;
        s->codes.index[at] = best;
        s->codes.value[at++] = value;
        s->codes.count[r]++;
        s->kernels->axpy((size_t)d, -value, s->sae->decoder->value + (ptrdiff_t)best * d, residual);
        s->kernels->axpy((size_t)m, -value, s->gram + (ptrdiff_t)best * m, h);
    }
    double square = 0;
    for (int k = 0; k < d; k++) {
        square += (double)residual[k] * (double)residual[k];
        s->xhat[(ptrdiff_t)r * d + k] = s->x[(ptrdiff_t)r * d + k] - residual[k];
    }
    s->loss[r] = s->error[r] = square;
}

static void pick_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++)
        pick_row(s, r);
}

bool step_pursuit(struct step *s)
{
    return thread_pool_run(s->pool, gram_task, s, step_pieces(s->sae->shape.width, STEP_LATENTS)) &&
           thread_pool_run(s->pool, pick_task, s, step_pieces(s->count, STEP_ROWS));
}

/* ---- gradients ----------------------------------------------------------------------------------------------- */

/* A block of rows. While the block is processed, step->picks contains all gradients g of its picks, and after them all
 * residuals r_s. */
struct block {
    struct step *step;
    int first, count;
};

static float *pick_at(const struct block *b, int what, int slot)
{
    ptrdiff_t kept = step_kept(&b->step->sae->shape);
    return b->step->picks + (what * STEP_BLOCK * kept + slot) * b->step->sae->shape.inputs;
}

/* Goes back over the picks of row r. On entry, level 0 of `pull` contains the last residual r_k; on return, it contains
 * the gradient with respect to r_0. residual: scratch [inputs]. */
static void back_row(const struct block *b, int r, float *residual)
{
    struct step *s = b->step;
    int d = s->sae->shape.inputs, kept = step_kept(&s->sae->shape);
    float *gradient = step_pull(s, 0, r);
    memcpy(residual, gradient, (size_t)d * sizeof *residual);
    s->kernels->scale((size_t)d, 2.0f / (float)s->count, gradient);
    for (int pick = s->codes.count[r] - 1; pick >= 0; pick--) {
        int i = s->codes.start[r] + pick, slot = (r - b->first) * kept + pick;
        const float *row = s->sae->decoder->value + (ptrdiff_t)s->codes.index[i] * d;
        s->kernels->axpy((size_t)d, s->codes.value[i], row, residual);
        memcpy(pick_at(b, 0, slot), gradient, (size_t)d * sizeof *gradient);
        memcpy(pick_at(b, 1, slot), residual, (size_t)d * sizeof *residual);
        s->codes.slope[i] = -s->kernels->dot((size_t)d, gradient, row);
        s->kernels->axpy((size_t)d, s->codes.slope[i], row, gradient);
    }
}

static void back_task(void *context, int chunk, int worker)
{
    const struct block *b = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, b->count);
    for (int r = b->first + rows.first; r < b->first + rows.first + rows.count; r++)
        back_row(b, r, step_scratch(b->step, worker));
}

static void gather_task(void *context, int chunk, int worker)
{
    const struct block *b = context;
    struct step *s = b->step;
    struct step_piece latents = step_piece(chunk, STEP_LATENTS, s->sae->shape.width);
    int d = s->sae->shape.inputs;
    for (int what = 0; what < 2; what++) {
        struct sparse_call call = {.rows = latents.count,
                                   .columns = d,
                                   .add = true,
                                   .start = s->columns.start + latents.first,
                                   .count = s->columns.count + latents.first,
                                   .index = s->columns.index,
                                   .value = what == 0 ? s->columns.value : s->columns.slope,
                                   .t = pick_at(b, what, 0),
                                   .c = s->sae->decoder->grad + (ptrdiff_t)latents.first * d,
                                   .ld_t = d,
                                   .ld_c = d};
        s->kernels->sparse_gemm(&call);
    }
}

bool step_pursuit_gradients(struct step *s)
{
    struct sae *sae = s->sae;
    int d = sae->shape.inputs, m = sae->shape.width;
    memset(sae->decoder->grad, 0, sae->decoder->count * sizeof(float));
    for (int first = 0; first < s->count; first += STEP_BLOCK) {
        struct block b = {s, first, s->count - first < STEP_BLOCK ? s->count - first : STEP_BLOCK};
        if (!thread_pool_run(s->pool, back_task, &b, step_pieces(b.count, STEP_ROWS)))
            return false;
        step_by_latent(s, &s->codes, first, b.count, step_kept(&sae->shape), &s->columns);
        for (int i = 0; i < s->columns.total; i++)
            s->columns.value[i] = -s->columns.value[i];
        if (!thread_pool_run(s->pool, gather_task, &b, step_pieces(m, STEP_LATENTS)))
            return false;
    }
    memset(sae->bias->grad, 0, (size_t)d * sizeof(float));
    s->kernels->column_sums(s->count, d, step_pull(s, 0, 0), d, sae->bias->grad);
    s->kernels->scale((size_t)d, -1, sae->bias->grad);
    sae->decoder->grad_ready = sae->bias->grad_ready = true;
    return true;
}
