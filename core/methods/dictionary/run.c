/* The table of a dictionary run (core/methods/shared/model_run.h): how it begins, what a checkpoint contains and how
 * the progress is computed. */
#include "core/methods/dictionary/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run_int.h"

static void close_run(struct method_run *run)
{
    run_close(run);
    arena_close(&run->arena);
    free(run->latents);
    free(run->vectors);
    gallery_close(&run->gallery);
}

static void begin_evaluation(struct method_run *run)
{
    run->position = 0;
    run_evaluate_close(run);
}

static double part_done(const struct method_run *run)
{
    const struct model_run *w = &run->base;
    double evaluated = (double)run->position / (double)w->evaluation_samples;
    if (w->alone)
        return evaluated;
    if (w->phase == MODEL_RUN_TRAIN)
        return 0.95 * (double)run->samples / (double)dictionary_samples(&run->config, &run->setup);
    return 0.95 + 0.05 * evaluated;
}

/* ---- what is saved ------------------------------------------------------------------------------------------- */

static const struct model_run_number numbers[] = {
    {"run.updates", MODEL_RUN_INTEGER, offsetof(struct method_run, updates)},
    {"run.samples", MODEL_RUN_INTEGER, offsetof(struct method_run, samples)},
    {"evaluation.position", MODEL_RUN_INTEGER, offsetof(struct method_run, position)},
    {"run.scale", MODEL_RUN_REAL, offsetof(struct method_run, scale)},
    {NULL, MODEL_RUN_INTEGER, 0},
};

static enum status alternate_arrays(struct method_run *run, int s, struct snapshot *snapshot, struct error *err)
{
    uint64_t m = (uint64_t)run->setup.width;
    const uint64_t gram[2] = {m, m}, target[2] = {m, (uint64_t)run->setup.inputs};
    char name[32];
    snprintf(name, sizeof name, "%d.gram", s);
    enum status status =
        snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_F32, name, 2, gram, run->alternate[s].gram, err);
    if (status)
        return status;
    snprintf(name, sizeof name, "%d.target", s);
    status = snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_F32, name, 2, target, run->alternate[s].target, err);
    if (status)
        return status;
    const uint64_t one[1] = {1};
    snprintf(name, sizeof name, "%d.updates", s);
    return snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_I64, name, 1, one, &run->alternate[s].updates, err);
}

static enum status optimiser_arrays(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < run->seeds; s++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "%d.", s);
        status = run->adam[s] ? adam_snapshot_as(run->adam[s], prefix, snapshot, err)
                              : alternate_arrays(run, s, snapshot, err);
    }
    return status;
}

static enum status dictionary_run_arrays(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                         struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; role == SNAPSHOT_WEIGHT && !status && s < run->seeds; s++)
        status = params_snapshot(run->sae[s]->params, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return optimiser_arrays(run, snapshot, err);
    if (role == SNAPSHOT_STATE && run->setup.source == SOURCE_TRAINED) {
        const uint64_t vectors[2] = {(uint64_t)run->setup.features, (uint64_t)run->setup.inputs};
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F32, "data.vectors", 2, vectors, run->vectors, err);
        if (status)
            return status;
    }
    /* Jobs of several cases in earlier versions did not store what they knew about latents. */
    if (role == SNAPSHOT_STATE && !run->base.several) {
        const uint64_t table[2] = {(uint64_t)run->setup.width, LATENT_COLUMNS};
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "run.latents", 2, table, run->latents, err);
        return status ? status : gallery_snapshot(&run->gallery, snapshot, err);
    }
    return status;
}

static enum status check_weights(const struct method_run *run, struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < run->seeds; s++)
        status = params_check(run->sae[s]->params, err);
    return status;
}

static enum status dictionary_run_loaded(struct method_run *run, bool *sound, struct error *err)
{
    *sound = run->updates >= 0 && run->samples >= 0 && run->position >= 0 &&
             run->position < run->base.evaluation_samples && run->scale > 0 && isfinite(run->scale) &&
             run->samples <= dictionary_samples(&run->config, &run->setup) && run->base.evaluation_samples >= 1;
    for (int s = 0; s < run->seeds; s++)
        *sound = *sound && run->alternate[s].updates >= 0;
    return run->setup.source == SOURCE_TRAINED ? run_rebuild(run, err) : STATUS_OK;
}

static bool dictionary_run_single(const struct method_run *run)
{
    (void)run;
    return true;
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

const struct method_metric dictionary_metrics[DICTIONARY_METRICS] = {
    {"loss", "", "squared error of a training sample, mean over fifty updates and all seeds"},
    {"active", "latents", "active latents of a sample in the last training batch"},
    {"test_loss", "", "squared error of a test sample, after training"},
    {"explained_variance", "", "share of the samples' variance that the reconstruction explains"},
    {"mcc", "", "mean |cosine| of latents matched one to one with true features"},
    {"f1", "", "mean F1 of the latents as detectors of their own features"},
    {"pw_mcc", "", "mean |cosine| of latents matched one to one between seeds"},
    {"dead", "", "share of latents that are active in no test sample"},
};

static const struct model_run_metric metrics[] = {
    {"test_loss", OUTCOME_COLUMN(loss)},
    {"explained_variance", OUTCOME_COLUMN(explained)},
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"f1", OUTCOME_COLUMN(f1)},
    {"pw_mcc", OUTCOME_COLUMN(pair_absolute)},
    {"dead", OUTCOME_COLUMN(dead)},
    {NULL, 0},
};

static const struct model_run_table table = {
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = 100000000,
    .open = run_open,
    .trained = run_trained,
    .update = run_learn,
    .evaluate = run_evaluate_piece,
    .finish = run_pictures,
    .begin_evaluation = begin_evaluation,
    .part = part_done,
    .arrays = dictionary_run_arrays,
    .check = check_weights,
    .loaded = dictionary_run_loaded,
    .single = dictionary_run_single,
    .close = close_run,
};

enum status dictionary_create_run(const void *config, const struct method_env *env, struct method_run **run,
                                  struct error *err)
{
    const struct dictionary_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *c;
    r->setup = dictionary_setup(c);
    r->seeds = (int)c->seeds;
    arena_init(&r->arena, (size_t)1 << 16, 0);
    exec_init(&r->exec, env->kernels, env->pool, &r->arena, (uint64_t)c->seed);
    model_run_init(r, &table, env, c->checkpoint_every, (double *)&r->outcome, OUTCOME_COLUMNS);
    r->base.evaluation_seed = c->seed;
    r->base.evaluation_samples = c->test_samples;
    r->latents = calloc((size_t)r->setup.width * LATENT_COLUMNS, sizeof *r->latents);
    enum status status = r->latents ? gallery_create(r->setup.width, &r->gallery, err)
                                    : error_set(err, STATUS_NO_MEMORY, NULL,
                                                "not enough memory for figures of %d latents", r->setup.width);
    if (status) {
        model_run_destroy(r);
        return status;
    }
    *run = r;
    return STATUS_OK;
}
