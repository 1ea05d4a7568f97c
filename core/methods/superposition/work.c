/* Opens a model, runs an update, and evaluates a few samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels/hadamard.h"
#include "core/superposed/data.h"
#include "core/methods/superposition/run_int.h"

void work_close(struct method_run *run)
{
    batch_destroy(run->batch);
    adam_destroy(run->adam);
    autoencoder_destroy(run->model);
    rug_close(&run->rug);
    free(run->scratch);
    free(run->given);
    run->batch = NULL;
    run->adam = NULL;
    run->model = NULL;
    run->scratch = NULL;
    run->given = NULL;
    run->base.opened = false;
    run->opened_draw = -1;
}

void work_limit_tests(struct method_run *run)
{
    const struct rows *rows = &run->features.rows;
    if (superposition_uploaded(&run->config) && run->base.evaluation_samples > rows_test_count(rows))
        run->base.evaluation_samples = rows_test_count(rows);
}

enum status work_open_features(struct method_run *run, struct error *err)
{
    const struct superposition_config *c = &run->config;
    struct features *f = &run->features;
    run->unit = 1;
    if (!superposition_uploaded(c))
        return STATUS_OK;
    const struct rows_request request = superposition_rows(c, run->base.env.data);
    enum status status = features_open(&request, (enum collection_scale)c->scaling, f, err);
    if (status)
        return status;
    if (f->rows.inputs != c->n_s || fabs(f->p - c->p) > 1e-9 * c->p)
        return error_set(err, STATUS_CONFLICT, "/config/dataset_name",
                         "has rows of %d features with p = %.9g, but the job was made for %lld and %.9g; submit a new "
                         "job",
                         f->rows.inputs, f->p, (long long)c->n_s, c->p);
    run->unit = f->scale;
    return STATUS_OK;
}

/* Allocates the uploaded samples of a batch. */
static enum status make_room(struct method_run *run, const struct superposition_setup *c, struct error *err)
{
    if (!superposition_uploaded(&run->config))
        return STATUS_OK;
    run->given = malloc((size_t)superposition_room(&run->config) * (size_t)c->n_s * sizeof *run->given);
    return run->given ? STATUS_OK
                      : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for samples of %d features", c->n_s);
}

static enum status open_trained(struct method_run *run, const struct superposition_setup *c, struct error *err)
{
    const struct superposition_config *config = &run->config;
    struct autoencoder_shape shape = superposition_shape(config, c);
    struct adam_config adam = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = config->epsilon};
    float *importance = malloc((size_t)c->n_s * sizeof *importance);
    if (!importance)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for weights of %d features", c->n_s);
    for (int i = 0; i < c->n_s; i++)
        importance[i] = (float)superposition_importance(config, i);
    enum status status = make_room(run, c, err);
    if (!status)
        status = autoencoder_create(&shape, true, &run->model, err);
    if (!status) {
        params_init(run->model->params, (uint64_t)config->seed, run->base.env.pool);
        gradients_init(&run->gradients, run->model->params, run->base.env.comm, &run->exec);
        status = thread_pool_check(run->base.env.pool, err);
    }
    if (!status)
        status = adam_create(run->model->params, &adam, &run->adam, err);
    if (!status)
        status = batch_create(run->model, run->base.env.pool, run->base.env.kernels, superposition_room(config),
                              importance, config->products == PRODUCTS_DENSE, &run->batch, err);
    free(importance);
    return status;
}

static enum status open_rug(struct method_run *run, const struct superposition_setup *c, int draw, struct error *err)
{
    enum status status = STATUS_OK;
    size_t n = (size_t)c->n_s, threads = (size_t)thread_pool_threads(run->base.env.pool);
    run->scale = 1;
    run->offset = 0;
    if (c->model == MODEL_LINEAR) {
        status = rug_create_projector(c->n_s, c->n_d, &run->rug, err);
    } else {
        struct theory_optimum best = theory_optimum(c->p, setup_sigma(c));
        status = rug_create(c->n_s, c->n_d, (uint64_t)run->config.seed, (uint32_t)draw, &run->rug, err);
        run->scale = best.scale;
        run->offset = status ? 0 : rug_offset(&run->rug, c->p, best.offset);
    }
    size_t reals = 2 * n * (n > HADAMARD_ROW ? 1 : threads) + hadamard_scratch(run->base.env.pool, c->n_s);
    run->scratch = aligned_alloc(64, (reals * sizeof(float) + 63) / 64 * 64);
    if (status)
        return status;
    if (!run->scratch)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a rug of %d features", c->n_s);
    return STATUS_OK;
}

enum status work_open(struct method_run *run, int draw, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    work_close(run);
    enum status status = c->model == MODEL_TRAINED ? open_trained(run, c, err) : open_rug(run, c, draw, err);
    run->base.opened = true;
    run->opened_draw = draw;
    return status;
}

/* ---- training ----------------------------------------------------------------------------------------- */

static double mean_loss(const struct method_run *run, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += run->losses[i % (2 * run->config.window)];
    return sum / (double)(to - from);
}

double work_window_loss(const struct method_run *run)
{
    int64_t from = run->updates > run->config.window ? run->updates - run->config.window : 0;
    return run->updates > 0 ? mean_loss(run, from, run->updates) : NAN;
}

bool work_trained(const struct method_run *run)
{
    const struct superposition_config *c = &run->config;
    int64_t window = c->window, n = run->updates;
    if (run->samples >= c->total_samples)
        return true;
    bool asked = c->stop == STOP_BLOCKS    ? n > 2 * window && (c->block == 0 || run->samples % c->block == 0)
                 : c->stop == STOP_WINDOWS ? n >= 2 * window && n % window == 0
                                           : false;
    if (!asked)
        return false;
    double before = mean_loss(run, n - 2 * window, n - window), last = mean_loss(run, n - window, n);
    return !(log10(before) > log10(last));
}

/* Runs samples through the open model, after reading them if they are rows of a data set. */
static enum status run_samples(struct method_run *run, const struct batch_samples *samples, bool gradients,
                               double *loss, struct error *err)
{
    struct batch_samples now = *samples;
    if (run->given) {
        enum status status = features_read(&run->features, now.stream == STREAM_TRAINING, now.first, now.count,
                                           run->base.env.pool, run->given, err);
        if (status)
            return status;
        now.given = run->given;
    }
    *loss = batch_run(run->batch, &now, gradients);
    return thread_pool_check(run->base.env.pool, err);
}

/* Computes the loss of the whole batch. Each rank computes its share of the rows. If there are fewer samples than
 * ranks, every rank computes all. */
static enum status run_batch(struct method_run *run, const struct batch_samples *all, bool gradients, double *loss,
                             struct error *err)
{
    struct comm *comm = comm_others(run->base.env.comm);
    if (!comm || all->count < comm_size(comm))
        return run_samples(run, all, gradients, loss, err);
    struct comm_share own = comm_share(comm, all->count);
    struct batch_samples mine = *all;
    mine.first += own.first;
    mine.count = (int)own.count;
    mine.total = all->count;
    gradients_begin(&run->gradients);
    double parts[2] = {NAN, NAN};
    enum status status = run_samples(run, &mine, gradients, &parts[0], err);
    parts[1] = batch_active(run->batch);
    for (int i = 0; i < 2; i++)
        parts[i] *= (double)mine.count / all->count;
    if (!status && gradients)
        status = gradients_finish(&run->gradients, err);
    if (!status)
        status = comm_sum(comm, parts, 2, err);
    *loss = parts[0];
    batch_set_active(run->batch, parts[1]);
    return status;
}

enum status work_update(struct method_run *run, struct error *err)
{
    const struct superposition_config *c = &run->config;
    const struct superposition_setup *now = &run->setup;
    int64_t left = c->total_samples - run->samples, block = c->block > 0 ? c->block - run->samples % c->block : left;
    int64_t count = left < block ? left : block;
    count = count < c->batch ? count : c->batch;
    struct batch_samples samples = {(uint64_t)c->seed, STREAM_TRAINING, run->samples, (int)count, now->p, 0, NULL};
    bool early = run->updates < c->relu_updates && now->activation != ACTIVATION_GATED;
    run->model->shape.activation = early ? ACTIVATION_RELU : now->activation;
    params_begin_step(run->model->params);
    double loss;
    enum status status = run_batch(run, &samples, true, &loss, err);
    if (status)
        return status;
    if (!isfinite(loss))
        return error_set(
            err, STATUS_NUMERIC, NULL,
            "loss is not finite at update %lld; try a smaller learning_rate or, for a table, another scale",
            (long long)run->updates);
    status = adam_step(run->adam, &run->exec, c->learning_rate / sqrt(now->n_s), NULL, err);
    if (status)
        return status;
    run->losses[run->updates % (2 * c->window)] = loss;
    run->updates++;
    run->base.work++;
    run->samples += count;
    run->base.seen += count;
    run->base.loss_sum += loss;
    if (run->updates % METRIC_UPDATES == 0) {
        model_run_metric(run, "loss", run->base.loss_sum / METRIC_UPDATES);
        model_run_metric(run, "active", batch_active(run->batch));
        run->base.loss_sum = 0;
    }
    return STATUS_OK;
}

/* ---- evaluation --------------------------------------------------------------------------------------- */

struct rug_piece {
    struct method_run *run;
    int64_t first;
    double *losses;
};

static double rug_loss(const struct method_run *run, const float *x, const float *y)
{
    const struct superposition_setup *c = &run->setup;
    bool linear = c->model == MODEL_LINEAR;
    double sum = 0;
    for (int i = 0; i < c->n_s; i++) {
        double out = linear ? (double)y[i] : fmax(0, run->scale * ((double)y[i] + run->offset));
        sum += (out - (double)x[i]) * (out - (double)x[i]);
    }
    return sum / c->n_s;
}

/* Computes the loss of one sample on one thread. */
static void rug_task(void *context, int chunk, int worker)
{
    struct rug_piece *p = context;
    struct method_run *run = p->run;
    const struct superposition_setup *c = &run->setup;
    size_t n = (size_t)c->n_s;
    float *x = run->scratch + (size_t)worker * 2 * n, *y = x + n;
    sample_draw((uint64_t)run->base.evaluation_seed, STREAM_TEST, p->first + chunk, c->p, c->n_s, x);
    memcpy(y, x, n * sizeof *x);
    run->base.env.kernels->hadamard_rows(1, c->n_s, y, c->n_s);
    run->base.env.kernels->multiply(n, run->rug.mask, y);
    run->base.env.kernels->hadamard_rows(1, c->n_s, y, c->n_s);
    p->losses[chunk] = rug_loss(run, x, y);
}

static enum status rug_losses(struct method_run *run, int64_t first, int count, double *losses, struct error *err)
{
    struct thread_pool *pool = run->base.env.pool;
    const struct superposition_setup *c = &run->setup;
    struct rug_piece piece = {run, first, losses};
    size_t n = (size_t)c->n_s;
    if (c->n_s <= HADAMARD_ROW)
        return thread_pool_run(pool, rug_task, &piece, count) ? STATUS_OK : thread_pool_check(pool, err);
    float *x = run->scratch, *y = x + n;
    for (int i = 0; i < count; i++) {
        sample_draw((uint64_t)run->base.evaluation_seed, STREAM_TEST, first + i, c->p, c->n_s, x);
        memcpy(y, x, n * sizeof *x);
        if (!rug_apply(&run->rug, pool, run->base.env.kernels, y, y + n))
            return thread_pool_check(pool, err);
        losses[i] = rug_loss(run, x, y);
    }
    return STATUS_OK;
}

/* Computes the losses of the samples from run->position on. Each rank computes its share. */
static enum status sample_losses(struct method_run *run, int count, double *losses, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    struct comm *comm = count < comm_size(run->base.env.comm) ? NULL : run->base.env.comm;
    struct comm_share own = comm_share(comm, count);
    double loss;
    if (c->model != MODEL_TRAINED) {
        enum status status = rug_losses(run, run->position + own.first, (int)own.count, losses + own.first, err);
        return status ? status : comm_complete(comm, losses, count, sizeof *losses, err);
    }
    struct batch_samples samples = {
        (uint64_t)run->base.evaluation_seed, STREAM_TEST, run->position, count, c->p, 0, NULL};
    run->model->shape.activation = c->activation;
    enum status status = run_batch(run, &samples, false, &loss, err);
    memcpy(losses + own.first, batch_losses(run->batch), (size_t)own.count * sizeof *losses);
    return status ? status : comm_complete(comm, losses, count, sizeof *losses, err);
}

enum status work_evaluate(struct method_run *run, bool *done, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    int64_t left = run->base.evaluation_samples - run->position;
    int room = c->model == MODEL_TRAINED ? superposition_room(&run->config)
               : c->n_s <= HADAMARD_ROW  ? EVALUATION_PIECE
                                         : comm_size(run->base.env.comm);
    int count = left < room ? (int)left : room;
    double *losses = malloc((size_t)count * sizeof *losses);
    if (!losses)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d losses", count);
    enum status status = sample_losses(run, count, losses, err);
    for (int i = 0; !status && i < count; i++) {
        run->sum += losses[i];
        run->squares += losses[i] * losses[i];
    }
    free(losses);
    if (status)
        return status;
    run->position += count;
    run->base.seen += count;
    run->base.work++;
    *done = run->position >= run->base.evaluation_samples;
    return isfinite(run->sum) ? STATUS_OK
                              : error_set(err, STATUS_NUMERIC, NULL, "loss is not finite in the evaluation");
}
