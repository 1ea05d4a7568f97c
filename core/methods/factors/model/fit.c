/* Trains one model on one table (fit.h): shuffles rows, runs encoder and decoder on batches, adds the priors' terms,
 * updates by Adam, and applies closed-form updates and proximal steps. */
#include "core/methods/factors/model/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/base/sorted.h"

enum { STREAM_ORDER = 0x6f7264, EVALUATION_STEP = 0x7fffffff, ALIGNED = 16 };
/* Bytes of an arena's block. Blocks are small, because the rest of a block stays unused when the next array does not
 * fit. */
enum { ARENA_BLOCK = 1 << 18 };
enum {
    PIECE_BYTES = 4 << 20,     /* upper limit of the memory for activations of the decoder */
    SKIPPING_BYTES = 32 << 20, /* upper limit of the memory for activations of a decoder that skips zeros */
    VIEW_LEAST = 4 /* fit_view() takes at least this number of rows at once; if a batch has fewer rows, it takes the
                      whole batch */
};
static const double GUARD = 1e-6, NU = 3, CHI_SQUARED_3_TENTH = 0.584374374155183;

/* ---- creation -------------------------------------------------------------------------------------- */

double fit_calibrate(const double *deviation, int count)
{
    double *sorted = malloc((size_t)count * sizeof *sorted);
    if (!sorted)
        return NAN;
    memcpy(sorted, deviation, (size_t)count * sizeof *sorted);
    sorted_make(sorted, (size_t)count);
    double quantile = sorted_quantile(sorted, (size_t)count, 0.05);
    free(sorted);
    quantile = quantile > 0 ? quantile : 1e-3;
    return quantile * quantile * CHI_SQUARED_3_TENTH / NU;
}

static float *reals(size_t count)
{
    return aligned_alloc(64, (count + ALIGNED - 1) / ALIGNED * ALIGNED * sizeof(float));
}

double fit_piece_bytes(bool skipping)
{
    return skipping ? SKIPPING_BYTES : PIECE_BYTES;
}

/* Returns how many rows pass through the decoder at once: as many as fit into the memory of fit_piece_bytes(), but at
 * least `least` and at most the rows of a batch. A decoder that skips zeros gets more memory, because for features with
 * few latent variables a large piece hardly costs more than a small one. */
static int piece_of(const struct fit *f, int least)
{
    const struct latent_model *m = f->model;
    double bytes = fit_piece_bytes(m->skipping && m->skip.few_count > 0);
    double most = fmax(bytes / latent_row_bytes(m), least);
    return most < (double)f->setup.batch ? (int)most : (int)f->setup.batch;
}

static enum status make_memory(struct fit *f, struct error *err)
{
    const struct latent_shape *s = &f->setup.shape;
    int train = f->data.train_count; /* a batch has at most this number of rows */
    size_t rows = (size_t)(f->setup.batch < train ? f->setup.batch : train), g = (size_t)s->features;
    f->piece = piece_of(f, VIEW_LEAST);
    f->piece = (size_t)f->piece < rows ? f->piece : (int)rows;
    f->x = reals(rows * g);
    f->input = f->setup.relative ? reals(rows * g) : f->x;
    f->dz = reals(rows * (size_t)s->latent);
    f->coefficients = reals(g * (size_t)s->latent);
    f->order = calloc((size_t)f->data.train_count, sizeof *f->order);
    return f->x && f->input && f->dz && f->coefficients && f->order
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for batches of %d features", s->features);
}

static enum status start_weights(struct fit *f, struct thread_pool *pool, struct error *err)
{
    double *deviation = malloc((size_t)f->setup.shape.features * sizeof *deviation);
    if (!deviation)
        return error_memory(err, "deviations");
    features_moments(f->data.features, NULL, deviation);
    latent_init(f->model, f->setup.seed, deviation, pool);
    f->xi = fit_calibrate(deviation, f->setup.shape.features);
    free(deviation);
    if (isnan(f->xi))
        return error_memory(err, "deviations");
    return thread_pool_check(pool, err);
}

enum status fit_create(const struct fit_setup *setup, const struct fit_data *data, const char *prefix,
                       const struct kernels *kernels, struct thread_pool *pool, bool alone, struct fit **fit,
                       struct error *err)
{
    struct fit *f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, "a fit");
    f->setup = *setup;
    f->data = *data;
    f->ordered = -1;
    f->loss = NAN;
    arena_init(&f->arena, ARENA_BLOCK, 0);
    arena_init(&f->decoder_arena, ARENA_BLOCK, 0);
    enum status status = alone ? thread_pool_create(1, &f->own, err) : STATUS_OK;
    if (!status && alone)
        thread_pool_stop_with(f->own, pool);
    if (!status)
        status = latent_create(&setup->shape, prefix, true, &f->model, err);
    if (!status)
        status = make_memory(f, err);
    if (!status)
        status = start_weights(f, pool, err);
    if (!status)
        status = adam_create(f->model->params, &ADAM_DEFAULT, &f->adam, err);
    if (status) {
        fit_destroy(f);
        return status;
    }
    exec_init(&f->exec, kernels, alone ? f->own : pool, &f->arena, setup->seed);
    exec_init(&f->decoder, kernels, alone ? f->own : pool, &f->decoder_arena, setup->seed);
    f->decoder.bf16 = setup->bf16;
    *fit = f;
    return STATUS_OK;
}

void fit_share(struct fit *fit, struct comm *comm)
{
    gradients_init(&fit->gradients, fit->model->params, comm, &fit->exec);
    fit->comm = fit->gradients.comm;
}

void fit_destroy(struct fit *fit)
{
    if (!fit)
        return;
    adam_destroy(fit->adam);
    latent_destroy(fit->model);
    arena_close(&fit->arena);
    arena_close(&fit->decoder_arena);
    thread_pool_destroy(fit->own);
    if (fit->input != fit->x)
        free(fit->input);
    free(fit->x);
    free(fit->dz);
    free(fit->coefficients);
    free(fit->order);
    free(fit);
}

void fit_copy(struct fit *to, const struct fit *from)
{
    params_copy(to->model->params, from->model->params);
    adam_copy(to->adam, from->adam);
    to->setup.seed = from->setup.seed;
    to->exec.seed = from->setup.seed;
    to->updates = from->updates;
    to->epoch = from->epoch;
    to->position = from->position;
    to->loss_sum = from->loss_sum;
    to->loss = from->loss;
    to->ordered = -1;
}

enum status fit_snapshot(struct fit *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                         struct error *err)
{
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("fit.seed", &fit->setup.seed),   SNAPSHOT_NUMBER("fit.updates", &fit->updates),
        SNAPSHOT_NUMBER("fit.epoch", &fit->epoch),       SNAPSHOT_NUMBER("fit.position", &fit->position),
        SNAPSHOT_NUMBER("fit.loss_sum", &fit->loss_sum), SNAPSHOT_NUMBER("fit.loss", &fit->loss),
    };
    if (role == SNAPSHOT_WEIGHT)
        return params_snapshot(fit->model->params, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return adam_snapshot_as(fit->adam, prefix, snapshot, err);
    return snapshot_add_rows(snapshot, role, prefix, SNAPSHOT_ROWS(rows), err);
}

void fit_loaded(struct fit *fit)
{
    fit->exec.seed = fit->setup.seed;
    fit->ordered = -1;
}

double fit_objective(const struct fit *fit)
{
    return fit->loss;
}
bool fit_done(const struct fit *fit)
{
    return fit->epoch >= fit->setup.epochs;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

/* Fisher-Yates shuffle from the end. */
static void shuffle(struct fit *f)
{
    struct philox from = philox_stream(f->setup.seed, STREAM_ORDER, (uint64_t)f->epoch);
    int n = f->data.train_count;
    memcpy(f->order, f->data.train, (size_t)n * sizeof *f->order);
    for (int i = n - 1; i > 0; i--) {
        int j = (int)((uint64_t)philox_u32(&from, (uint64_t)i) * (uint64_t)(i + 1) >> 32), other = f->order[i];
        f->order[i] = f->order[j];
        f->order[j] = other;
    }
    f->ordered = f->epoch;
}

static void model_fit_gather(struct fit *f, const int *rows, int count)
{
    int g = f->setup.shape.features;
    for (int i = 0; i < count; i++) {
        const float *from = f->data.features->x + (ptrdiff_t)rows[i] * g;
        memcpy(f->x + (ptrdiff_t)i * g, from, (size_t)g * sizeof *from);
        if (!f->setup.relative)
            continue;
        double sum = 0;
        for (int j = 0; j < g; j++)
            sum += (double)from[j];
        for (int j = 0; j < g; j++)
            f->input[(ptrdiff_t)i * g + j] = sum > 0 ? (float)((double)from[j] / sum) : 0;
    }
}

/* ---- loss ------------------------------------------------------------------------------------------- */

/* Adds two tensors, either of which may be NULL. After a failure, the exec contains the error. */
static struct tensor *plus(struct exec *e, struct tensor *a, struct tensor *b)
{
    return op_add(e, a, b);
}

static struct tensor *reconstruction(struct fit *f, struct tensor *y, const float *x, int rows)
{
    struct latent_model *m = f->model;
    bool code = f->setup.objective == OBJECTIVE_CODE;
    double each = 1.0 / rows;
    switch (m->shape.likelihood) {
    case LIKELIHOOD_MULTINOMIAL:
        return op_multinomial_loss(&f->decoder, y, x, GUARD, each);
    case LIKELIHOOD_BERNOULLI:
        return op_bernoulli_loss(&f->decoder, y, x, GUARD, each);
    default:
        return op_gaussian_loss(&f->decoder, y, x, m->log_sigma, code ? each / m->shape.features : each);
    }
}

/* Whether proximal steps set weights to exactly zero now. They begin only after some epochs. In the first epochs, sigma
 * is far above its final value. Gradients are then small and Adam's step sizes large, and a proximal step of that size
 * would set all of W to zero. */
static bool proximal(const struct fit *f)
{
    return f->setup.zeros != ZEROS_THRESHOLD && f->setup.prior.kind != PRIOR_HORSESHOE &&
           f->epoch >= f->setup.zeros_after;
}

/* Adds the terms of the loss that do not depend on the batch. */
static struct tensor *priors(struct fit *f, struct tensor *loss)
{
    struct latent_model *m = f->model;
    bool code = f->setup.objective == OBJECTIVE_CODE;
    double each = code ? 1.0 / (double)f->setup.batch : 1.0 / f->data.train_count;
    int power = proximal(f) ? 0 : prior_coefficients(&f->setup.prior, m, f->coefficients);
    if (power)
        loss = plus(&f->exec, loss, op_weight_penalty(&f->exec, m->mask, f->coefficients, power, each));
    struct weight *decoder[] = {m->group_bias, m->head, m->head_bias}; /* OI-VAE has a normal prior on these weights */
    for (int i = 0; m->group && i < 3; i++)
        loss = plus(&f->exec, loss, op_weight_penalty(&f->exec, decoder[i], NULL, 2, 0.5 * each));
    if (m->log_sigma) {
        double logs = each * (NU + 2) + 1, squares = each * 0.5 * NU * f->xi;
        loss = plus(&f->exec, loss, op_sigma_prior(&f->exec, m->log_sigma, logs, squares));
    }
    return loss;
}

/* Runs the decoder forward and backward on rows [at, at + count) of a batch of `rows` rows. Reads their latent
 * variables and writes the gradient with respect to them. */
static enum status work_piece(struct fit *f, const struct tensor *z, int at, int count, int rows, double *loss,
                              struct error *err)
{
    struct exec *e = &f->decoder;
    int g = f->setup.shape.features, k = f->setup.shape.latent;
    exec_begin(e, true, (uint64_t)f->updates);
    struct tensor *part = tensor_wrap_rows(e, z->data + (ptrdiff_t)at * k, count, k, true);
    struct tensor *total = reconstruction(f, latent_decode(f->model, e, part), f->x + (ptrdiff_t)at * g, rows);
    enum status status = tape_backward(e, total, NULL, err);
    if (status)
        return status;
    memcpy(f->dz + (ptrdiff_t)at * k, part->grad, (size_t)count * (size_t)k * sizeof *f->dz);
    *loss += (double)total->data[0];
    return STATUS_OK;
}

/* Warm-up factor: grows from 0 to 1 over the first epochs, row by row. */
static double warmth(const struct fit *f)
{
    double done = (double)f->epoch + (double)f->position / f->data.train_count;
    return done < (double)f->setup.warm_up ? done / (double)f->setup.warm_up : 1;
}

/* Runs the encoder on the whole batch and the decoder in pieces. `own`: the rows of this rank. */
static enum status work_batch(struct fit *f, int rows, struct comm_share own, double *loss, struct error *err)
{
    struct exec *e = &f->exec;
    int g = f->setup.shape.features, k = f->setup.shape.latent, piece = piece_of(f, 1);
    double divergence = f->setup.beta / rows / (f->setup.objective == OBJECTIVE_CODE ? k : 1), decoded = 0;
    f->model->warmth = warmth(f);
    exec_begin(e, true, (uint64_t)f->updates);
    int count = (int)own.count;
    exec_set_share(e, own.first, own.count, rows);
    struct tensor *x = tensor_wrap_rows(e, f->input, count, g, false);
    struct spike_code code = latent_encode(f->model, e, x);
    struct tensor *z = latent_sample(f->model, e, &code, own.first);
    enum status status = exec_status(e, err);
    for (int at = 0; !status && at < count; at += piece)
        status = work_piece(f, z, at, count - at < piece ? count - at : piece, rows, &decoded, err);
    if (status)
        return status;
    struct tensor *total = op_known(e, z, decoded, f->dz);
    total = plus(e, total, latent_divergence(f->model, e, x, &code, f->setup.printed, divergence));
    if (f->model->pseudo &&
        comm_rank(e->comm) == 0) /* all ranks have the same pseudo-inputs, so only one rank adds their term */
        total = plus(e, total, latent_rate(f->model, e, f->setup.rate, divergence * rows * (f->setup.printed ? g : k)));
    if (comm_rank(e->comm) == 0) /* the loss is summed over ranks, so only one rank adds these terms */
        total = priors(f, total);
    status = tape_backward(e, total, NULL, err);
    if (status)
        return status;
    *loss = (double)total->data[0];
    return comm_sum(e->comm, loss, 1, err);
}

/* ---- update ----------------------------------------------------------------------------------------- */

/* Moves each entry of W towards zero, by the product of the entry's penalty and the step size that Adam last used for
 * this entry. An entry that is zero stays zero while its mean gradient is below the penalty. */
static enum status model_fit_shrink(struct fit *f, struct error *err)
{
    struct weight *w = f->model->mask;
    double each = f->setup.objective == OBJECTIVE_CODE ? 1.0 / (double)f->setup.batch : 1.0 / f->data.train_count;
    if (!prior_coefficients(&f->setup.prior, f->model, f->coefficients))
        return STATUS_OK;
    float *scales = arena_alloc(&f->arena, w->count * sizeof *scales);
    if (!scales)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the penalty of %zu weights", w->count);
    adam_scales(f->adam, w, f->setup.learning_rate, scales);
    for (size_t i = 0; i < w->count; i++) {
        float by = scales[i] * f->coefficients[i] * (float)each, size = fabsf(w->value[i]) - by;
        w->value[i] = size > 0 ? copysignf(size, w->value[i]) : 0;
    }
    return STATUS_OK;
}

static bool skipping(const struct fit *f)
{
    return f->model->mask && f->setup.zeros == ZEROS_SKIP && f->epoch >= f->setup.zeros_after;
}

/* Finishes an update: restores the zeros of W that the decoder skips, shrinks weights and updates the priors. keeps[i]:
 * whether entry i was not zero before the update; NULL if the decoder skips nothing. */
static enum status after_step(struct fit *f, const unsigned char *keeps, struct error *err)
{
    struct weight *w = f->model->mask;
    enum status status = STATUS_OK;
    if (f->model->group)
        prior_shrink_groups(f->model, f->setup.learning_rate * f->setup.group_penalty);
    if (!w)
        return exec_status(&f->exec, err);
    for (size_t i = 0; keeps && i < w->count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): begin_skip() filled them */
        w->value[i] = keeps[i] ? w->value[i] : 0;
    if (proximal(f))
        status = model_fit_shrink(f, err);
    prior_update(&f->setup.prior, f->model);
    return status ? status : exec_status(&f->exec, err);
}

static enum status begin_skip(struct fit *f, unsigned char **keeps, struct error *err)
{
    struct weight *w = f->model->mask;
    *keeps = NULL;
    if (!skipping(f))
        return STATUS_OK;
    latent_skip(f->model);
    *keeps = malloc(w->count);
    if (!*keeps)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the zeros of %zu weights", w->count);
    for (size_t i = 0; i < w->count; i++)
        (*keeps)[i] = w->value[i] != 0;
    return STATUS_OK;
}

static void end_batch(struct fit *f, int rows, double loss)
{
    f->last_loss = loss;
    f->last_rows = rows;
    f->updates++;
    f->position += rows;
    f->loss_sum += loss * rows;
    if (f->position < f->data.train_count)
        return;
    f->loss = f->loss_sum / f->data.train_count;
    f->loss_sum = 0;
    f->position = 0;
    f->epoch++;
}

enum status fit_update(struct fit *fit, struct error *err)
{
    struct fit *f = fit;
    int left = f->data.train_count - (int)f->position, rows = left < f->setup.batch ? left : (int)f->setup.batch;
    double loss = 0;
    unsigned char *keeps;
    enum status status = begin_skip(f, &keeps, err);
    if (f->ordered != f->epoch)
        shuffle(f);
    f->exec.comm = rows < comm_size(f->comm) ? NULL : f->comm;
    struct comm_share own = comm_share(f->exec.comm, rows);
    model_fit_gather(f, f->order + f->position + own.first, (int)own.count);
    params_begin_step(f->model->params);
    gradients_begin(&f->gradients);
    if (!status)
        status = work_batch(f, rows, own, &loss, err);
    if (!status && !isfinite(loss))
        status =
            error_set(err, STATUS_NUMERIC, NULL,
                      "loss is not finite at update %lld; try a smaller learning_rate or, for a table, another scale",
                      (long long)f->updates);
    if (!status && f->exec.comm)
        status = gradients_finish(&f->gradients, err);
    if (!status)
        status = adam_step(f->adam, &f->exec, f->setup.learning_rate, NULL, err);
    if (!status)
        status = after_step(f, keeps, err);
    free(keeps);
    if (!status)
        end_batch(f, rows, loss);
    return status;
}

enum status fit_view(struct fit *fit, const int *rows, int count, bool sampled, int64_t first, struct fit_view *view,
                     struct error *err)
{
    struct fit *f = fit;
    struct exec *e = &f->exec;
    int g = f->setup.shape.features;
    if (skipping(f))
        latent_skip(f->model);
    f->model->warmth = warmth(f);
    model_fit_gather(f, rows, count);
    exec_begin(e, false, EVALUATION_STEP);
    struct spike_code code = latent_encode(f->model, e, tensor_wrap_rows(e, f->input, count, g, false));
    struct tensor *mean = latent_mean(f->model, e, &code);
    struct tensor *y = latent_decode(f->model, e, sampled ? latent_sample(f->model, e, &code, first) : mean);
    enum status status = exec_status(e, err);
    if (!status)
        *view = (struct fit_view){f->x, mean->data, code.log_variance->data, y->data};
    return status;
}
