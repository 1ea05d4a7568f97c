/* Opens a dictionary run (data, dictionaries, optimisers), and trains it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run.h"
#include "core/methods/dictionary/run_int.h"

enum { METRIC_UPDATES = 50, SCALE_SAMPLES = 4096 };

void run_close(struct method_run *run)
{
    run_evaluate_close(run);
    for (int s = 0; s < DICTIONARY_SEEDS; s++) {
        adam_destroy(run->adam[s]);
        sae_destroy(run->sae[s]);
        alternate_close(&run->alternate[s]);
        run->adam[s] = NULL;
        run->sae[s] = NULL;
    }
    step_destroy(run->step);
    planted_codes_close(&run->truth);
    planted_close(&run->data);
    rows_close(&run->rows);
    scale_close(&run->columns);
    free(run->x);
    run->step = NULL;
    run->x = NULL;
    run->base.opened = false;
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

/* Sets the scale that gives samples a mean norm of sqrt(inputs), measured on SCALE_SAMPLES samples. */
static enum status measure_scale(struct method_run *run, int room, struct error *err)
{
    int d = run->setup.inputs;
    double sum = 0;
    run->scale = 1;
    for (int64_t at = 0; run->config.scale != NORM_NONE && at < SCALE_SAMPLES; at += room) {
        int count = (int)(SCALE_SAMPLES - at < room ? SCALE_SAMPLES - at : room);
        enum status status = run_draw(run, STREAM_SCALE, at, 0, count, err);
        if (status)
            return status;
        for (int r = 0; r < count; r++)
            sum += sqrt(run->base.env.kernels->sum_squares((size_t)d, run->x + (ptrdiff_t)r * d));
    }
    if (sum > 0)
        run->scale = sqrt(d) * SCALE_SAMPLES / sum;
    return STATUS_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

static enum status open_rows(struct method_run *run, struct error *err)
{
    const struct dictionary_config *c = &run->config;
    const struct rows_request request = dictionary_rows(c, run->base.env.data);
    enum status status = rows_open(&request, &run->rows, err);
    if (!status && run->rows.inputs != run->setup.inputs)
        status = error_set(err, STATUS_CONFLICT, "/config/dataset_name",
                           "has rows of %d numbers, but the job was made for %d; submit a new job", run->rows.inputs,
                           run->setup.inputs);
    if (!status)
        status = rows_fit_scale(&run->rows, (enum collection_scale)c->scaling, true, &run->columns, err);
    run_limit_tests(run);
    return status;
}

/* Makes the vectors of the hidden layer. */
static enum status make_vectors(struct method_run *run, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    struct hidden hidden = dictionary_hidden(&run->config, c);
    if (run->adopted)
        return STATUS_OK;
    free(run->vectors);
    run->vectors = malloc((size_t)c->features * (size_t)c->inputs * sizeof *run->vectors);
    if (!run->vectors)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d vectors", c->features);
    return hidden_vectors(&hidden, run->base.env.kernels, run->base.env.pool, run->vectors, err);
}

enum status run_rebuild(struct method_run *run, struct error *err)
{
    struct planted_shape data = dictionary_data(&run->config, &run->setup);
    planted_close(&run->data);
    data.vectors = run->vectors;
    return planted_create(&data, run->base.env.kernels, run->base.env.pool, &run->data, err);
}

static enum status open_planted(struct method_run *run, int room, struct error *err)
{
    struct planted_shape data = dictionary_data(&run->config, &run->setup);
    struct thread_pool *pool = run->base.env.pool;
    enum status status = data.kind == PLANTED_UNIFORM ? make_vectors(run, err) : STATUS_OK;
    if (!status)
        status = run_rebuild(run, err);
    return status ? status : planted_codes_create(&data, room, thread_pool_threads(pool), &run->truth, err);
}

static enum status open_data(struct method_run *run, int room, struct error *err)
{
    enum status status = dictionary_known(&run->config) ? open_planted(run, room, err) : open_rows(run, err);
    if (status)
        return status;
    run->x = malloc((size_t)room * (size_t)run->setup.inputs * sizeof *run->x);
    if (!run->x)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a batch of %d samples", room);
    return measure_scale(run, room, err);
}

static enum status open_seed(struct method_run *run, const struct sae_shape *shape, int s, struct error *err)
{
    struct adam_config adam = ADAM_DEFAULT;
    char name[16];
    adam.clip_norm = 1;
    snprintf(name, sizeof name, "%d.", s);
    enum status status = sae_create(shape, name, true, &run->sae[s], err);
    if (status)
        return status;
    sae_init(run->sae[s], (uint64_t)run->config.seed * DICTIONARY_SEEDS + (uint64_t)s);
    if (shape->learner == LEARNER_FISTA)
        return alternate_create(shape, &run->alternate[s], err);
    return adam_create(run->sae[s]->params, &adam, &run->adam[s], err);
}

enum status run_open(struct method_run *run, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    struct sae_shape shape = dictionary_shape(&run->config, c);
    int room = dictionary_batch(&run->config, c);
    if (run->base.opened)
        return STATUS_OK;
    run_close(run);
    enum status status = open_data(run, room, err);
    shape.penalty *= run->scale; /* the configuration states the penalty for samples before scaling */
    for (int s = 0; !status && s < run->seeds; s++)
        status = open_seed(run, &shape, s, err);
    if (!status)
        status = step_create(&shape, run->base.env.pool, run->base.env.kernels, room, &run->step, err);
    run->base.opened = true;
    return status;
}

/* ---- training ------------------------------------------------------------------------------------------------ */

bool run_trained(const struct method_run *run)
{
    return run->samples >= dictionary_samples(&run->config, &run->setup);
}

/* The learning rate is constant at first and falls to 0 in the last share `decay` of the samples. */
static double learning_rate(const struct method_run *run, double part)
{
    double decay = run->config.decay;
    return run->config.learning_rate * (decay > 0 && part > 1 - decay ? (1 - part) / decay : 1);
}

static enum status update_seed(struct method_run *run, int s, int count, double part, struct step_outcome *out,
                               struct error *err)
{
    struct sae *sae = run->sae[s];
    bool jump = sae->shape.learner == LEARNER_JUMPRELU;
    if (sae->shape.learner == LEARNER_FISTA)
        return alternate_update(&run->alternate[s], run->step, sae, run->x, count, part, out)
                   ? STATUS_OK
                   : thread_pool_check(run->base.env.pool, err);
    /* the sparsity factor of L1 grows during the first third of the training; tuning begins after this third */
    run->step->warm = jump ? 1 : fmin(1, 3 * part);
    params_begin_step(sae->params);
    if (!step_run(run->step, sae, run->x, count, true, out))
        return thread_pool_check(run->base.env.pool, err);
    if (!isfinite(out->loss))
        return error_set(
            err, STATUS_NUMERIC, NULL,
            "loss is not finite at update %lld; try a smaller learning_rate or, for a table, another scale",
            (long long)run->updates);
    if (sae->shape.unit_rows)
        sae_project_gradient(sae);
    enum status status = adam_step(run->adam[s], &run->exec, learning_rate(run, part), NULL, err);
    if (status)
        return status;
    if (sae->shape.unit_rows)
        sae_unit_rows(sae);
    step_finish(run->step, out, jump || part >= 1.0 / 3 ? dictionary_tune_rate(&run->config) : 0);
    return STATUS_OK;
}

enum status run_learn(struct method_run *run, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    int64_t all = dictionary_samples(&run->config, c), left = all - run->samples;
    int batch = dictionary_batch(&run->config, c), count = (int)(left < batch ? left : batch);
    struct step_outcome out = {0};
    double loss = 0;
    enum status status = run_draw(run, STREAM_TRAINING, run->samples, run->config.distinct, count, err);
    for (int s = 0; !status && s < run->seeds; s++) {
        status = update_seed(run, s, count, (double)run->samples / (double)all, &out, err);
        loss += out.error / (run->scale * run->scale) / run->seeds;
    }
    if (status)
        return status;
    run->updates++;
    run->base.work++;
    run->samples += count;
    run->base.seen += count;
    run->base.loss_sum += loss;
    run->outcome.train_loss = loss;
    if (run->updates % METRIC_UPDATES == 0) {
        model_run_metric(run, "loss", run->base.loss_sum / METRIC_UPDATES);
        model_run_metric(run, "active", out.l0);
        run->base.loss_sum = 0;
    }
    return STATUS_OK;
}

/* ---- another job's model ------------------------------------------------------------------------------------- */

/* Finds the encoder of a superposition job, [features][dimensions]. Dictionaries have no array of this name. */
static bool find_encoder(const struct snapshot_entry *entries, size_t count, struct snapshot_entry *out)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, "encoder") == 0 && entries[i].role == SNAPSHOT_WEIGHT && entries[i].rank == 2 &&
            entries[i].type == SNAPSHOT_F32) {
            *out = entries[i];
            return true;
        }
    return false;
}

static enum status dictionary_work_adopt(struct method_run *run, const struct snapshot_reader *from,
                                         const struct snapshot_entry *entry, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    uint64_t features = (uint64_t)c->features, inputs = (uint64_t)c->inputs;
    if (c->source != SOURCE_TRAINED || entry->dim[0] != features || entry->dim[1] != inputs)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "the other job is an autoencoder of %llu features in %llu dimensions; set source=trained, and "
                         "features and inputs to these",
                         (unsigned long long)entry->dim[0], (unsigned long long)entry->dim[1]);
    run_close(run);
    free(run->vectors);
    run->vectors = malloc((size_t)features * (size_t)inputs * sizeof *run->vectors);
    if (!run->vectors)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d vectors", c->features);
    run->adopted = true;
    return from->read(from->context, entry->offset, run->vectors, (size_t)entry->bytes, err);
}

enum status dictionary_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    struct snapshot_entry *entries = NULL, encoder;
    size_t count = 0;
    enum status status = snapshot_contents(from, &entries, &count, err);
    bool toy = !status && find_encoder(entries, count, &encoder);
    free(entries);
    if (status)
        return status;
    return toy ? dictionary_work_adopt(run, from, &encoder, err) : model_run_warm_start(run, from, err);
}
