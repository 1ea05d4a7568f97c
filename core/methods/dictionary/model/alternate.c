/* Dictionary learning by alternation (alternate.h). */
#include "core/methods/dictionary/model/alternate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coding/plain.h"
#include "core/methods/dictionary/model/step_int.h"

/* Before update t, the sums over earlier batches are multiplied by 1 - 1 / n, where n is t / FORGETTING, but at least 1
 * and at most MEMORY. The sums thus depend on about the last n batches only. They soon forget the codes of the first
 * updates, when the dictionary was still poor. */
static const double MEMORY = 10, FORGETTING = 6;

/* The penalty begins at FIRST times the mean norm of the samples, or at the configured penalty if that is larger. In
 * the first share ANNEALED of the training, it falls geometrically to the configured penalty. */
static const double FIRST = 0.2, ANNEALED = 0.7;

_Static_assert((int)STEP_ROWS == (int)PLAIN_ROWS, "a chunk of rows is one call of plain_fista()");

enum status alternate_create(const struct sae_shape *shape, struct alternate *out, struct error *err)
{
    size_t m = (size_t)shape->width;
    out->gram = calloc(m * m, sizeof *out->gram);
    out->target = calloc(m * (size_t)shape->inputs, sizeof *out->target);
    return out->gram && out->target
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for products of %d latents", shape->width);
}

void alternate_close(struct alternate *a)
{
    free(a->gram);
    free(a->target);
    *a = (struct alternate){0};
}

/* ---- codes --------------------------------------------------------------------------------------------------- */

struct encoding {
    struct step *step;
    struct plain plain;
    double penalty;
};

static void encode_row(struct step *s, int r)
{
    const struct sae_shape *shape = &s->sae->shape;
    int at = r * shape->width, d = shape->inputs;
    const float *code = s->h + (ptrdiff_t)r * shape->width, *x = s->x + (ptrdiff_t)r * d;
    float *xhat = s->xhat + (ptrdiff_t)r * d;
    s->codes.start[r] = at;
    memset(xhat, 0, (size_t)d * sizeof *xhat);
    for (int j = 0; j < shape->width; j++)
        if (code[j] > 0) {
            s->codes.index[at] = j;
            s->codes.value[at++] = code[j];
            s->kernels->axpy((size_t)d, code[j], s->sae->decoder->value + (ptrdiff_t)j * d, xhat);
        }
    s->codes.count[r] = at - s->codes.start[r];
    s->error[r] = 0;
    for (int k = 0; k < d; k++)
        s->error[r] += ((double)xhat[k] - (double)x[k]) * ((double)xhat[k] - (double)x[k]);
    s->loss[r] = s->error[r];
}

static void encode_task(void *context, int chunk, int worker)
{
    const struct encoding *e = context;
    struct step *s = e->step;
    const struct sae_shape *shape = &s->sae->shape;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    plain_fista(&e->plain, s->x + (ptrdiff_t)rows.first * shape->inputs, rows.count, e->penalty, shape->iterations,
                s->h + (ptrdiff_t)rows.first * shape->width, step_scratch(s, worker));
    for (int r = rows.first; r < rows.first + rows.count; r++)
        encode_row(s, r);
}

static bool encode(struct step *s, struct sae *sae, double penalty, const float *x, int count, struct step_outcome *out)
{
    struct encoding e = {s, {sae->shape.width, sae->shape.inputs, sae->decoder->value, 0, s->kernels}, penalty};
    double active = 0, error = 0;
    s->sae = sae;
    s->x = x;
    s->count = count;
    s->dead_count = 0;
    e.plain.lipschitz = plain_lipschitz(&e.plain, step_scratch(s, 0));
    if (!thread_pool_run(s->pool, encode_task, &e, step_pieces(count, STEP_ROWS)))
        return false;
    for (int r = 0; r < count; r++) {
        active += s->codes.count[r];
        error += s->error[r];
    }
    *out = (struct step_outcome){.loss = error / count, .error = error / count, .l0 = active / count};
    return true;
}

bool alternate_encode(struct step *s, struct sae *sae, const float *x, int count, struct step_outcome *out)
{
    return encode(s, sae, sae->shape.penalty, x, count, out);
}

double alternate_penalty(const struct sae_shape *shape, const struct kernels *kernels, const float *x, int count,
                         double part)
{
    double norms = 0, last = shape->penalty;
    for (int r = 0; r < count; r++)
        norms += sqrt(kernels->sum_squares((size_t)shape->inputs, x + (ptrdiff_t)r * shape->inputs));
    double first = FIRST * norms / count;
    return part < ANNEALED && first > last ? last * pow(first / last, 1 - part / ANNEALED) : last;
}

/* ---- the dictionary ------------------------------------------------------------------------------------------ */

/* For a block of latents, computes sums = keep * sums + (transposed codes) * table / (number of samples). */
static void add_products(const struct step *s, struct step_piece latents, const float *table, int columns, float keep,
                         float *sums)
{
    int m = s->sae->shape.width;
    struct gemm_call call = {.transpose_a = true,
                             .m = latents.count,
                             .n = columns,
                             .k = s->count,
                             .alpha = 1 / (float)s->count,
                             .beta = keep,
                             .a = s->h + latents.first,
                             .b = table,
                             .c = sums + (ptrdiff_t)latents.first * columns,
                             .lda = m,
                             .ldb = columns,
                             .ldc = columns};
    s->kernels->gemm(&call);
}

struct products {
    const struct step *step;
    struct alternate *sums;
};

static void products_task(void *context, int chunk, int worker)
{
    const struct products *p = context;
    const struct sae_shape *shape = &p->step->sae->shape;
    struct step_piece latents = step_piece(chunk, STEP_ROWS, shape->width);
    float keep = (float)(1 - 1 / fmin(fmax((double)p->sums->updates / FORGETTING, 1), MEMORY));
    add_products(p->step, latents, p->step->h, shape->width, keep, p->sums->gram);
    add_products(p->step, latents, p->step->x, shape->inputs, keep, p->sums->target);
}

/* Reinitialises row j, which no code has used. Its new direction is the residual of the sample with the largest error
 * among the samples that no other unused row has taken. */
static void reinitialise(const struct step *s, int j)
{
    int d = s->sae->shape.inputs, worst = 0;
    float *row = s->sae->decoder->value + (ptrdiff_t)j * d;
    for (int r = 1; r < s->count; r++)
        worst = s->error[r] > s->error[worst] ? r : worst;
    double norm = sqrt(s->error[worst]);
    for (int k = 0; norm > 0 && k < d; k++)
        row[k] = (float)(((double)s->x[(ptrdiff_t)worst * d + k] - (double)s->xhat[(ptrdiff_t)worst * d + k]) / norm);
    s->error[worst] = 0;
}

/* Makes one pass of block coordinate descent: row j becomes (target_j - sum_{i != j} gram_ji row_i), scaled to norm
 * 1. */
static void descend(const struct alternate *a, const struct step *s)
{
    int m = s->sae->shape.width, d = s->sae->shape.inputs;
    float *rows = s->sae->decoder->value, *sum = s->scratch;
    for (int j = 0; j < m; j++) {
        const float *gram = a->gram + (ptrdiff_t)j * m;
        float *row = rows + (ptrdiff_t)j * d;
        if (!(gram[j] > 1e-10f)) {
            reinitialise(s, j);
            continue;
        }
        memcpy(sum, a->target + (ptrdiff_t)j * d, (size_t)d * sizeof *sum);
        for (int i = 0; i < m; i++)
            if (i != j && gram[i] != 0)
                s->kernels->axpy((size_t)d, -gram[i], rows + (ptrdiff_t)i * d, sum);
        double norm = sqrt(s->kernels->sum_squares((size_t)d, sum));
        for (int k = 0; norm > 0 && k < d; k++)
            row[k] = (float)((double)sum[k] / norm);
    }
}

bool alternate_update(struct alternate *a, struct step *s, struct sae *sae, const float *x, int count, double part,
                      struct step_outcome *out)
{
    struct products p = {s, a};
    if (!encode(s, sae, alternate_penalty(&sae->shape, s->kernels, x, count, part), x, count, out))
        return false;
    a->updates++;
    if (!thread_pool_run(s->pool, products_task, &p, step_pieces(sae->shape.width, STEP_ROWS)))
        return false;
    descend(a, s);
    return true;
}
