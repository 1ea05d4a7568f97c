/* Runs a batch of a sparse autoencoder in rounds over the thread pool (step.h):
 *
 *    centre     rows: x - bias
 *    product    blocks: h
 *    select     rows: the entries of the codes (select.c)
 *    rebuild    rows: reconstructions of all levels, losses, and the gradients with respect to them
 *    gradients  rows, then latents (gradient.c) */
#include "core/methods/dictionary/model/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/model/step_int.h"

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void *step_take(char *base, size_t *at, size_t count, size_t size)
{
    void *here = base ? base + *at : NULL;
    *at += (count * size + 63) / 64 * 64;
    return here;
}

static void take_entries(struct entries *e, char *base, size_t *at, size_t lines, size_t room, bool edges)
{
    e->room = (int)room;
    e->start = step_take(base, at, lines, sizeof *e->start);
    e->count = step_take(base, at, lines, sizeof *e->count);
    e->index = step_take(base, at, room, sizeof *e->index);
    e->value = step_take(base, at, room, sizeof *e->value);
    e->slope = step_take(base, at, room, sizeof *e->slope);
    e->edge = edges ? step_take(base, at, room, sizeof *e->edge) : NULL;
}

static size_t most_entries(const struct sae_shape *shape, size_t rows)
{
    switch (shape->learner) {
    case LEARNER_TOPK:
    case LEARNER_MATCHING_PURSUIT:
        return rows * (size_t)step_kept(shape);
    case LEARNER_BATCHTOPK:
    case LEARNER_MATRYOSHKA:
        return (size_t)(shape->l0 * (double)rows) + 1;
    default:
        return rows * (size_t)shape->width;
    }
}

static size_t scratch_reals(const struct sae_shape *shape)
{
    size_t m = (size_t)shape->width, d = (size_t)shape->inputs;
    return shape->learner == LEARNER_FISTA ? STEP_ROWS * (2 * m + d) : m + d;
}

static size_t lay_out(struct step *s, const struct sae_shape *shape, int room, int threads, char *base)
{
    size_t rows = (size_t)room, d = (size_t)shape->inputs, m = (size_t)shape->width, at = 0;
    size_t levels = (size_t)shape->levels + (sae_has_auxiliary_loss(shape->learner) ? 1 : 0);
    bool edges = shape->learner == LEARNER_JUMPRELU, pursuit = shape->learner == LEARNER_MATCHING_PURSUIT;
    size_t auxiliary = sae_has_auxiliary_loss(shape->learner) ? rows * (size_t)shape->aux_latents : 0;
    s->centred = step_take(base, &at, rows * d, sizeof(float));
    s->h = step_take(base, &at, rows * m, sizeof(float));
    s->pull = step_take(base, &at, levels * rows * d, sizeof(float));
    s->xhat = step_take(base, &at, rows * d, sizeof(float));
    take_entries(&s->codes, base, &at, rows, most_entries(shape, rows), edges);
    take_entries(&s->columns, base, &at, m, most_entries(shape, pursuit ? STEP_BLOCK : rows), edges);
    take_entries(&s->auxiliary, base, &at, rows, auxiliary, false);
    take_entries(&s->auxiliary_columns, base, &at, m, auxiliary, false);
    s->level_count = step_take(base, &at, rows * SAE_LEVELS, sizeof(int));
    s->cut = step_take(base, &at, rows, sizeof(float));
    s->ties = step_take(base, &at, rows, sizeof(int));
    s->dead = step_take(base, &at, m, sizeof(bool));
    s->loss = step_take(base, &at, rows, sizeof(double));
    s->error = step_take(base, &at, rows, sizeof(double));
    s->aux = step_take(base, &at, rows, sizeof(double));
    s->norms = step_take(base, &at, m, sizeof(float));
    s->before = step_take(base, &at, edges ? m : 0, sizeof(float));
    s->smallest = step_take(base, &at, rows, sizeof(float));
    s->bins = step_take(base, &at, (size_t)step_pieces(room, STEP_ROWS) * STEP_BINS, sizeof(uint32_t));
    if (pursuit) {
        s->gram = step_take(base, &at, m * m, sizeof(float));
        s->picks = step_take(base, &at, 2 * (size_t)STEP_BLOCK * (size_t)step_kept(shape) * d, sizeof(float));
    }
    s->scratch_reals = scratch_reals(shape);
    s->scratch = step_take(base, &at, (size_t)threads * s->scratch_reals, sizeof(float));
    return at;
}

int64_t step_bytes(const struct sae_shape *shape, int room, int threads)
{
    struct step unused = {0};
    return (int64_t)lay_out(&unused, shape, room, threads, NULL);
}

enum status step_create(const struct sae_shape *shape, struct thread_pool *pool, const struct kernels *kernels,
                        int room, struct step **step, struct error *err)
{
    struct step *s = calloc(1, sizeof *s);
    size_t bytes = (size_t)step_bytes(shape, room, thread_pool_threads(pool));
    if (s)
        s->memory = aligned_alloc(64, bytes);
    if (!s || !s->memory) {
        free(s);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a batch of %d samples and %d latents",
                         room, shape->width);
    }
    memset(s->memory, 0, bytes);
    lay_out(s, shape, room, thread_pool_threads(pool), s->memory);
    s->pool = pool;
    s->kernels = kernels;
    s->room = room;
    s->warm = 1;
    *step = s;
    return STATUS_OK;
}

void step_destroy(struct step *step)
{
    if (!step)
        return;
    free(step->memory);
    free(step);
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

static void centre_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    int d = s->sae->shape.inputs;
    const float *bias = s->sae->bias->value;
    for (int r = rows.first; r < rows.first + rows.count; r++)
        for (int k = 0; k < d; k++)
            s->centred[(ptrdiff_t)r * d + k] = s->x[(ptrdiff_t)r * d + k] - bias[k];
}

static void product_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    int d = s->sae->shape.inputs, m = s->sae->shape.width, across = step_pieces(m, STEP_COLUMNS);
    struct step_piece rows = step_piece(chunk / across, STEP_BLOCK, s->count);
    struct step_piece latents = step_piece(chunk % across, STEP_COLUMNS, m);
    const struct weight *matrix = s->sae->encoder ? s->sae->encoder : s->sae->decoder;
    struct gemm_call call = {.transpose_b = true,
                             .m = rows.count,
                             .n = latents.count,
                             .k = d,
                             .alpha = 1,
                             .a = s->centred + (ptrdiff_t)rows.first * d,
                             .b = matrix->value + (ptrdiff_t)latents.first * d,
                             .c = s->h + (ptrdiff_t)rows.first * m + latents.first,
                             .lda = d,
                             .ldb = d,
                             .ldc = m};
    s->kernels->gemm(&call);
}

/* row += sum over the entries i in [from, from + count) of `e`: value[i] * (row index[i] of the decoder). */
static void add_rows(const struct step *s, const struct entries *e, int from, int count, float *row)
{
    int d = s->sae->shape.inputs;
    struct sparse_call call = {.rows = 1,
                               .columns = d,
                               .add = true,
                               .start = &from,
                               .count = &count,
                               .index = e->index,
                               .value = e->value,
                               .t = s->sae->decoder->value,
                               .c = row,
                               .ld_t = d,
                               .ld_c = d};
    s->kernels->sparse_gemm(&call);
}

/* Weight of the auxiliary loss. While fewer than aux_latents latents are dead, it is proportional to their number. */
static double aux_weight(const struct step *s)
{
    const struct sae_shape *shape = &s->sae->shape;
    return shape->aux_latents > 0 ? shape->aux_weight * fmin((double)s->dead_count / shape->aux_latents, 1) : 0;
}

static void rebuild_aux(struct step *s, int r)
{
    const struct sae_shape *shape = &s->sae->shape;
    int d = shape->inputs;
    const float *residual = step_pull(s, shape->levels - 1, r);
    float *aux = step_pull(s, shape->levels, r), factor = (float)(2 * aux_weight(s) / s->count);
    s->aux[r] = 0;
    if (s->auxiliary.count[r] == 0)
        return;
    memcpy(aux, residual, (size_t)d * sizeof *aux);
    add_rows(s, &s->auxiliary, s->auxiliary.start[r], s->auxiliary.count[r], aux);
    for (int k = 0; k < d; k++) {
        s->aux[r] += (double)aux[k] * (double)aux[k];
        aux[k] *= factor;
    }
}

static void rebuild_row(struct step *s, int r)
{
    const struct sae_shape *shape = &s->sae->shape;
    int d = shape->inputs, at = s->codes.start[r];
    float *xhat = s->xhat + (ptrdiff_t)r * d;
    const float *x = s->x + (ptrdiff_t)r * d;
    memcpy(xhat, s->sae->bias->value, (size_t)d * sizeof *xhat);
    s->loss[r] = 0;
    for (int level = 0; level < shape->levels; level++) {
        int count = s->level_count[(ptrdiff_t)r * SAE_LEVELS + level];
        float *residual = step_pull(s, level, r);
        double square = 0;
        add_rows(s, &s->codes, at, count, xhat);
        at += count;
        for (int k = 0; k < d; k++) {
            residual[k] = xhat[k] - x[k];
            square += (double)residual[k] * (double)residual[k];
        }
        s->loss[r] += square;
        s->error[r] = square;
    }
}

/* Turns the residuals of a row into gradients with respect to the reconstructions: a latent of level l is part of the
 * reconstructions of level l and of all later levels. */
static void residuals_to_gradients(struct step *s, int r)
{
    const struct sae_shape *shape = &s->sae->shape;
    float factor = 2.0f / (float)s->count;
    for (int level = shape->levels - 1; level >= 0; level--) {
        float *own = step_pull(s, level, r);
        s->kernels->scale((size_t)shape->inputs, factor, own);
        if (level + 1 < shape->levels)
            s->kernels->add((size_t)shape->inputs, step_pull(s, level + 1, r), own);
    }
}

static void rebuild_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++) {
        rebuild_row(s, r);
        if (s->dead_count > 0)
            rebuild_aux(s, r);
        residuals_to_gradients(s, r);
    }
}

/* ---- a batch ------------------------------------------------------------------------------------------------- */

/* Returns the sparsity term before it is multiplied by the sparsity factor, as a mean over the batch. */
static double sparsity_term(const struct step *s, double l0)
{
    const struct sae *sae = s->sae;
    double sum = 0;
    int d = sae->shape.inputs;
    if (sae->shape.learner != LEARNER_L1)
        return sae->shape.learner == LEARNER_JUMPRELU ? l0 : 0;
    for (int j = 0; j < sae->shape.width; j++) {
        const float *row = sae->decoder->value + (ptrdiff_t)j * d;
        s->norms[j] = (float)sqrt((double)s->kernels->dot((size_t)d, row, row));
    }
    for (int r = 0; r < s->count; r++)
        for (int i = s->codes.start[r]; i < s->codes.start[r] + s->codes.count[r]; i++)
            sum += (double)s->codes.value[i] * (double)s->norms[s->codes.index[i]];
    return sum / s->count;
}

static void add_up(const struct step *s, struct step_outcome *out)
{
    double error = 0, aux = 0, active = 0;
    for (int r = 0; r < s->count; r++) {
        error += s->loss[r];
        aux += s->dead_count > 0 ? s->aux[r] : 0;
        active += step_active(s, r);
    }
    out->l0 = active / s->count;
    out->error = error / s->count;
    out->aux = s->dead_count > 0 ? aux_weight(s) * aux / s->count : 0;
    out->penalty = step_sparsity(s) * sparsity_term(s, out->l0);
    out->loss = out->error + out->aux + out->penalty;
}

static bool forward(struct step *s, bool train)
{
    const struct sae_shape *shape = &s->sae->shape;
    int rows = step_pieces(s->count, STEP_ROWS);
    int blocks = step_pieces(s->count, STEP_BLOCK) * step_pieces(shape->width, STEP_COLUMNS);
    s->dead_count = 0;
    if (!thread_pool_run(s->pool, centre_task, s, rows) || !thread_pool_run(s->pool, product_task, s, blocks))
        return false;
    if (shape->learner == LEARNER_MATCHING_PURSUIT)
        return step_pursuit(s);
    return step_select(s) && (!train || !sae_has_auxiliary_loss(shape->learner) || step_select_dead(s)) &&
           thread_pool_run(s->pool, rebuild_task, s, rows);
}

bool step_run(struct step *s, struct sae *sae, const float *x, int count, bool train, struct step_outcome *out)
{
    s->sae = sae;
    s->x = x;
    s->count = count;
    if (!forward(s, train))
        return false;
    add_up(s, out);
    if (!train)
        return true;
    if (sae->threshold)
        memcpy(s->before, sae->threshold->value, (size_t)sae->shape.width * sizeof *s->before);
    return sae->shape.learner == LEARNER_MATCHING_PURSUIT ? step_pursuit_gradients(s) : step_gradients(s);
}

/* ---- state --------------------------------------------------------------------------------------------------- */

static void count_unfired(struct step *s)
{
    float *unfired = s->sae->unfired->value;
    for (int j = 0; j < s->sae->shape.width; j++)
        unfired[j] += 1;
    for (int r = 0; r < s->count; r++)
        for (int i = s->codes.start[r]; i < s->codes.start[r] + s->codes.count[r]; i++)
            if (s->codes.value[i] > 0)
                unfired[s->codes.index[i]] = 0;
}

static void move_cut(struct step *s)
{
    static const float RATE = 0.01f;
    float *cut = s->sae->cut->value, least = INFINITY;
    for (int r = 0; r < s->count; r++)
        least = fminf(least, s->smallest[r]);
    if (isinf(least))
        return;
    cut[CUT_MEAN] += RATE * (least - cut[CUT_MEAN]);
    cut[CUT_COUNT] += 1;
}

/* Tunes the sparsity factor by the rule of SynthSAEBench, with move = rate * tanh(10 * |L0 - aim| / aim) and the
 * running mean of L0. Multiplies the factor by 1 + move while L0 is above the target `aim`, otherwise by 1 - move.
 * While L0 already approaches the target, move is 100 times smaller. */
static void tune(struct step *s, double l0, double rate)
{
    float *t = s->sae->tuner->value;
    double aim = s->sae->shape.l0, before = (double)t[TUNER_L0];
    double mean = t[TUNER_UPDATES] > 0 ? before + 0.01 * (l0 - before) : l0;
    double change =
        t[TUNER_UPDATES] > 0 ? (double)t[TUNER_CHANGE] + 0.05 * (mean - before - (double)t[TUNER_CHANGE]) : 0;
    double speed = (mean - aim) * change < 0 ? 0.01 : 1;
    double move = rate * speed * tanh(10 * fabs(mean - aim) / aim);
    double factor = (double)t[TUNER_FACTOR] * (mean > aim ? 1 + move : 1 - move);
    t[TUNER_L0] = (float)mean;
    t[TUNER_CHANGE] = (float)change;
    t[TUNER_UPDATES] += 1;
    if (s->sae->shape.tuned)
        t[TUNER_FACTOR] = (float)fmin(fmax(factor, 0.01), 100);
}

/* Adam moves a threshold by at most about one learning rate in an update. In a short training this is too little: L0
 * passes the target, and the training ends before it comes back. So thresholds move further than Adam moves them, in
 * inverse proportion to the number of updates, but at most 10 times as far. In a training as long as those of
 * SynthSAEBench, they move as far as Adam moves them. */
static void move_thresholds(struct step *s, double rate)
{
    float further = (float)(fmin(fmax(rate / STEP_LONG_RATE, 1), 10) - 1), *t = s->sae->threshold->value;
    for (int j = 0; j < s->sae->shape.width; j++)
        t[j] += further * (t[j] - s->before[j]);
}

void step_finish(struct step *s, const struct step_outcome *outcome, double rate)
{
    count_unfired(s);
    if (s->sae->threshold)
        move_thresholds(s, rate);
    if (s->sae->cut)
        move_cut(s);
    if (s->sae->tuner)
        tune(s, outcome->l0, rate);
}
