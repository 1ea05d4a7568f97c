/* Trains one model: batches of random rows, Adam on the squared error, a proximal step for the penalty after each
 * update, and the refit without the penalty at the end. */
#include "core/methods/environments/model/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_BATCH = 0x62746368, ALIGNED = 16 };
static const double SHARP_AFTER = 1.0 / 3;
static const double SLOW_AFTER = 0.6, LAST_RATE = 0.02; /* after the share SLOW_AFTER of the updates, the learning rate
                                                           falls linearly to LAST_RATE times its first value */

/* ---- the model ---------------------------------------------------------------------------------------- */

struct name {
    char text[SNAPSHOT_NAME];
};

static struct name behind(const char *prefix, const char *name)
{
    struct name n;
    snprintf(n.text, sizeof n.text, "%s%s", prefix, name);
    return n;
}

static void build_encoder(struct tree_model *m, const char *prefix)
{
    const struct fit_setup *s = &m->setup;
    if (s->encoder == ENCODER_LINEAR)
        mlp_build(&m->encoder, m->params, behind(prefix, "encoder").text, 1, (int[]){s->features, s->latent}, 0);
    if (s->encoder == ENCODER_MLP)
        mlp_build(&m->encoder, m->params, behind(prefix, "encoder").text, 3,
                  (int[]){s->features, s->hidden, s->hidden, s->latent}, 0);
}

static void model_fit_build(struct tree_model *m, const struct tree_edges *edges, const char *prefix)
{
    const struct fit_setup *s = &m->setup;
    build_encoder(m, prefix);
    m->base =
        edges->based ? params_add(m->params, behind(prefix, "heads.base").text, 1, &s->latent, init_normal(0.1)) : NULL;
    m->changes = edges->count > 0 ? params_add(m->params, behind(prefix, "heads.changes").text, 2,
                                               (int[]){edges->count, s->latent}, init_normal(edges->based ? 0 : 0.1))
                                  : NULL;
    m->deviation = params_add_state(m->params, behind(prefix, "latent.deviation").text, s->latent, 1);
}

static void model_destroy(struct tree_model *model)
{
    if (!model)
        return;
    params_destroy(model->params);
    free(model);
}

static enum status model_create(const struct fit_setup *setup, const struct tree_edges *edges, const char *prefix,
                                bool with_grad, struct tree_model **model, struct error *err)
{
    struct tree_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->setup = *setup;
    enum status status = params_create(&m->params, err);
    if (!status) {
        model_fit_build(m, edges, prefix);
        status = params_seal(m->params, with_grad, err);
    }
    if (status) {
        model_destroy(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

enum status tree_model_fit(const struct fit_setup *setup, const struct snapshot_reader *from, struct error *err)
{
    struct tree_model m = {.setup = *setup};
    enum status status = params_create(&m.params, err);
    if (!status) {
        build_encoder(&m, "");
        status = params_fit(m.params, from, err);
    }
    params_destroy(m.params);
    return status;
}

static struct tensor *model_fit_encode(struct tree_model *m, struct exec *e, float *x, int rows)
{
    bool given = m->setup.encoder == ENCODER_GIVEN;
    struct tensor *in = tensor_wrap_rows(e, x, rows, given ? m->setup.latent : m->setup.features, false);
    return given ? in : mlp_forward(e, &m->encoder, in);
}

enum status tree_model_encode(struct tree_model *model, struct exec *e, const float *x, const float *given, int rows,
                              float *z, struct error *err)
{
    int k = model->setup.latent, d = model->setup.features;
    if (model->setup.encoder == ENCODER_GIVEN) {
        memcpy(z, given, (size_t)rows * (size_t)k * sizeof *z);
        return STATUS_OK;
    }
    for (int at = 0; at < rows; at += TREE_PIECE_ROWS) {
        int count = rows - at < TREE_PIECE_ROWS ? rows - at : TREE_PIECE_ROWS;
        exec_begin(e, false, 0);
        /* The cast is safe, because model_fit_encode() only reads x. */
        struct tensor *raw = model_fit_encode(model, e, (float *)x + (ptrdiff_t)at * d, count);
        struct tensor *out = op_unit_columns(e, raw, model->deviation);
        enum status status = exec_status(e, err);
        if (status)
            return status;
        memcpy(z + (ptrdiff_t)at * k, out->data, (size_t)count * (size_t)k * sizeof *z);
    }
    return STATUS_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------- */

static float *reals(size_t count)
{
    return aligned_alloc(64, (count + ALIGNED - 1) / ALIGNED * ALIGNED * sizeof(float));
}

enum status tree_fit_create(const struct fit_setup *setup, const struct tree_edges *edges,
                            const struct environments *data, const char *prefix, const struct kernels *kernels,
                            struct thread_pool *pool, bool alone, struct tree_fit **fit, struct error *err)
{
    struct tree_fit *f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, "a fit");
    size_t rows = (size_t)setup->batch;
    f->edges = edges;
    f->data = data;
    f->last_loss = NAN;
    f->x = reals(rows * (size_t)(setup->features > setup->latent ? setup->features : setup->latent));
    f->y = reals(rows);
    f->slope = reals(rows);
    f->node = malloc(rows * sizeof *f->node);
    arena_init(&f->arena, (size_t)1 << 20, 0);
    enum status status =
        f->x && f->y && f->slope && f->node
            ? model_create(setup, edges, prefix, true, &f->model, err)
            : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for batches of %d rows", setup->batch);
    if (!status && alone)
        status = thread_pool_create(1, &f->own, err);
    if (f->own)
        thread_pool_stop_with(f->own, pool);
    if (!status) {
        params_init(f->model->params, setup->seed, pool);
        status = thread_pool_check(pool, err);
        if (!status)
            status = adam_create(f->model->params, &ADAM_DEFAULT, &f->adam, err);
    }
    if (status) {
        tree_fit_destroy(f);
        return status;
    }
    exec_init(&f->exec, kernels, alone ? f->own : pool, &f->arena, setup->seed);
    *fit = f;
    return STATUS_OK;
}

void tree_fit_share(struct tree_fit *fit, struct comm *comm)
{
    if (fit->model->setup.batch < comm_size(comm)) /* each rank needs at least one row */
        return;
    gradients_init(&fit->gradients, fit->model->params, comm, &fit->exec);
    fit->comm = fit->gradients.comm;
}

void tree_fit_destroy(struct tree_fit *fit)
{
    if (!fit)
        return;
    adam_destroy(fit->adam);
    model_destroy(fit->model);
    arena_close(&fit->arena);
    thread_pool_destroy(fit->own);
    free(fit->x);
    free(fit->y);
    free(fit->slope);
    free(fit->node);
    free(fit);
}

bool tree_fit_done(const struct tree_fit *fit)
{
    return fit->updates >= fit->model->setup.updates;
}

void tree_fit_copy(struct tree_fit *to, const struct tree_fit *from)
{
    params_copy(to->model->params, from->model->params);
    adam_copy(to->adam, from->adam);
    to->updates = from->updates;
    to->last_loss = from->last_loss;
}

enum status tree_fit_snapshot(struct tree_fit *fit, enum snapshot_role role, struct snapshot *snapshot,
                              const char *prefix, struct error *err)
{
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("fit.updates", &fit->updates),
                                        SNAPSHOT_NUMBER("fit.last_loss", &fit->last_loss)};
    if (role == SNAPSHOT_WEIGHT)
        return params_snapshot(fit->model->params, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return adam_snapshot_as(fit->adam, prefix, snapshot, err);
    return snapshot_add_rows(snapshot, role, prefix, SNAPSHOT_ROWS(rows), err);
}

/* ---- an update ---------------------------------------------------------------------------------------- */

/* Draws the rows of this rank. */
static void draw_batch(struct tree_fit *f, struct comm_share own)
{
    const struct fit_setup *s = &f->model->setup;
    const struct environments *data = f->data;
    struct philox from = philox_stream(s->seed, STREAM_BATCH, (uint64_t)f->updates);
    bool given = s->encoder == ENCODER_GIVEN;
    size_t width = (size_t)(given ? s->latent : s->features);
    for (int i = 0; i < (int)own.count; i++) {
        size_t row = (size_t)((uint64_t)philox_u32(&from, (uint64_t)(own.first + i)) * (uint64_t)data->rows >> 32);
        memcpy(f->x + (size_t)i * width, (given ? data->z : data->x) + row * width, width * sizeof *f->x);
        f->y[i] = data->y[row];
        f->node[i] = data->node[row] + f->edges->offset;
    }
}

static double rate_of(const struct tree_fit *f)
{
    const struct fit_setup *s = &f->model->setup;
    double at = (double)f->updates / (double)s->updates, left = (1 - at) / (1 - SLOW_AFTER);
    return s->learning_rate * (at < SLOW_AFTER ? 1 : fmax(left, LAST_RATE));
}

static bool sharpened(const struct tree_fit *f)
{
    const struct fit_setup *s = &f->model->setup;
    return s->sharpness > 0 && (double)f->updates > SHARP_AFTER * (double)s->updates;
}

/* Applies the proximal step of the penalty to each change. The step size of a change is the one that Adam used for this
 * change in this update. */
static void model_fit_shrink(struct tree_fit *f, double rate, float *scales)
{
    struct weight *w = f->model->changes;
    double penalty = f->model->setup.weight, sharpness = f->model->setup.sharpness;
    bool sharp = sharpened(f);
    adam_scales(f->adam, w, rate, scales);
    for (size_t i = 0; i < w->count; i++) {
        double value = (double)w->value[i], by = penalty * (double)scales[i];
        if (sharp)
            by *= sharpness / (sharpness + fabs(value));
        if (f->model->setup.penalty == PENALTY_L1)
            w->value[i] = (float)copysign(fmax(fabs(value) - by, 0), value);
        else
            w->value[i] = (float)(value / (1 + 2 * by));
    }
}

enum status tree_fit_update(struct tree_fit *f, struct error *err)
{
    const struct fit_setup *s = &f->model->setup;
    struct exec *e = &f->exec;
    double loss = 0, rate = rate_of(f);
    struct comm_share own = comm_share(f->comm, s->batch);
    int rows = (int)own.count;
    draw_batch(f, own);
    gradients_begin(&f->gradients);
    params_begin_step(f->model->params);
    exec_begin(e, true, (uint64_t)f->updates);
    exec_set_share(e, own.first, own.count, s->batch);
    struct tensor *z = model_fit_encode(f->model, e, f->x, rows);
    if (s->encoder != ENCODER_GIVEN && s->unit_variance)
        z = op_unit_columns(e, z, f->model->deviation);
    struct tensor *y = op_tree_heads(e, z, f->node, f->model->base, f->model->changes, &f->edges->heads);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    for (int i = 0; i < rows; i++) {
        double miss = (double)y->data[i] - (double)f->y[i];
        loss += miss * miss / s->batch;
        f->slope[i] = (float)(2 * miss / s->batch);
    }
    status = comm_sum(f->comm, &loss, 1, err);
    if (status)
        return status;
    f->last_loss = loss;
    if (!isfinite(loss))
        return error_set(
            err, STATUS_NUMERIC, NULL,
            "loss is not finite at update %lld; try a smaller learning_rate or, for a table, another scale",
            (long long)f->updates);
    status = tape_backward(e, y, f->slope, err);
    if (status)
        return status;
    status = gradients_finish(&f->gradients, err);
    if (status)
        return status;
    status = adam_step(f->adam, e, rate, NULL, err);
    if (status)
        return status;
    f->updates++;
    if (s->penalty == PENALTY_NONE || !f->model->changes || s->weight == 0)
        return STATUS_OK;
    float *scales = reals(f->model->changes->count);
    if (!scales)
        return error_memory(err, "a proximal step");
    model_fit_shrink(f, rate, scales);
    free(scales);
    return STATUS_OK;
}

/* ---- after training ----------------------------------------------------------------------------------- */

static void settle_deviation(struct tree_fit *f, float *z)
{
    int rows = f->data->rows, k = f->model->setup.latent;
    for (int c = 0; c < k; c++) {
        double mean = 0, squares = 0;
        for (int r = 0; r < rows; r++)
            mean += (double)z[(ptrdiff_t)r * k + c] / rows;
        for (int r = 0; r < rows; r++) {
            double d = (double)z[(ptrdiff_t)r * k + c] - mean;
            squares += d * d / rows;
        }
        float deviation = (float)sqrt(squares + 1e-8);
        f->model->deviation->value[c] = deviation;
        for (int r = 0; r < rows; r++)
            z[(ptrdiff_t)r * k + c] /= deviation;
    }
}

/* Computes the latent variables of all training rows, [rows][latent], divided by their deviations over all rows. The
 * model keeps these deviations. The caller frees the array. */
static enum status settled_codes(struct tree_fit *f, float **z, struct error *err)
{
    const struct environments *data = f->data;
    const struct fit_setup *s = &f->model->setup;
    *z = reals((size_t)data->rows * (size_t)s->latent);
    if (!*z)
        return error_memory(err, "latent variables");
    for (int c = 0; c < s->latent; c++)
        f->model->deviation->value[c] = 1;
    enum status status = tree_model_encode(f->model, &f->exec, data->x, data->z, data->rows, *z, err);
    if (!status && s->unit_variance && s->encoder != ENCODER_GIVEN)
        settle_deviation(f, *z);
    return status;
}

static double squared_error(const struct tree_fit *f, const float *z, const float *w)
{
    const struct environments *data = f->data;
    int k = f->model->setup.latent;
    double sum = 0;
    for (int r = 0; r < data->rows; r++) {
        double y = 0;
        for (int c = 0; c < k; c++)
            y += (double)w[(ptrdiff_t)data->node[r] * k + c] * (double)z[(ptrdiff_t)r * k + c];
        y -= (double)data->y[r];
        sum += y * y;
    }
    return sum / data->rows;
}

/* Returns the penalty on the changes; model_fit_shrink() makes its proximal step. */
static double penalty_of(const struct tree_fit *f)
{
    const struct fit_setup *s = &f->model->setup;
    const struct weight *changes = f->model->changes;
    double sum = 0;
    for (size_t i = 0; changes && s->penalty != PENALTY_NONE && i < changes->count; i++) {
        double size = fabs((double)changes->value[i]);
        sum += s->penalty == PENALTY_L2 ? size * size : sharpened(f) ? s->sharpness * log1p(size / s->sharpness) : size;
    }
    return s->weight * sum;
}

enum status tree_fit_objective(struct tree_fit *f, double *objective, struct error *err)
{
    const struct tree_model *m = f->model;
    float *z, *w = reals((size_t)f->edges->nodes * (size_t)m->setup.latent);
    enum status status = settled_codes(f, &z, err);
    if (!status && !w)
        status = error_memory(err, "heads");
    if (!status) {
        tree_edges_weights(f->edges, m->base, m->changes, m->setup.latent, w);
        *objective = squared_error(f, z, w) + penalty_of(f);
    }
    free(w);
    free(z);
    return status;
}

enum status tree_fit_settle(struct tree_fit *f, bool refit, struct error *err)
{
    const struct environments *data = f->data;
    struct least_sums sums = {0};
    int k = f->model->setup.latent;
    float *z;
    enum status status = settled_codes(f, &z, err);
    if (!status && refit)
        status = least_sums_create(f->edges->nodes, k, &sums, err);
    for (int r = 0; !status && refit && r < data->rows && !thread_pool_stopped(f->exec.pool); r++)
        least_sums_add(&sums, data->node[r], z + (ptrdiff_t)r * k, data->y[r]);
    if (!status)
        status = thread_pool_check(f->exec.pool, err);
    free(z); /* the sums contain all that the refit needs */
    if (!status && refit)
        status = least_refit(f->edges, &sums, f->model->base, f->model->changes, f->exec.pool, err);
    least_sums_close(&sums);
    return status;
}

int tree_fit_found(const struct tree_fit *fit, double least)
{
    int found = 0;
    for (size_t i = 0; fit->model->changes && i < fit->model->changes->count; i++)
        found += fabs((double)fit->model->changes->value[i]) > least;
    return found;
}
