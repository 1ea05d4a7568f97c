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

static enum status declare_alternate(struct method_run *run, int s, struct snapshot *snapshot, struct error *err)
{
    struct alternate *a = &run->alternate[s];
    const uint64_t width = (uint64_t)run->setup.width;
    const struct snapshot_row rows[] = {SNAPSHOT_ARRAY("gram", a->gram, width, width),
                                        SNAPSHOT_ARRAY("target", a->target, width, (uint64_t)run->setup.inputs),
                                        SNAPSHOT_NUMBER("updates", &a->updates)};
    char prefix[16];
    snprintf(prefix, sizeof prefix, "%d.", s);
    return snapshot_add_rows(snapshot, SNAPSHOT_OPTIMISER, prefix, SNAPSHOT_ROWS(rows), err);
}

static enum status declare_optimiser(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < run->seeds; s++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "%d.", s);
        status = run->adam[s] ? adam_snapshot_as(run->adam[s], prefix, snapshot, err)
                              : declare_alternate(run, s, snapshot, err);
    }
    return status;
}

static enum status declare_state(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct outcome *o = &run->outcome;
    bool trained = run->setup.source == SOURCE_TRAINED;
    const uint64_t features = (uint64_t)run->setup.features, inputs = (uint64_t)run->setup.inputs;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("run.updates", &run->updates),
        SNAPSHOT_NUMBER("run.samples", &run->samples),
        SNAPSHOT_NUMBER("run.scale", &run->scale),
        SNAPSHOT_NUMBER("evaluation.position", &run->position),
        SNAPSHOT_ARRAY(trained ? "data.vectors" : NULL, run->vectors, features, inputs),
        SNAPSHOT_ARRAY("run.latents", run->latents, (uint64_t)run->setup.width, LATENT_COLUMNS),
        SNAPSHOT_COLUMNS("outcome.figures", o, 1, loss, updates),
        SNAPSHOT_NUMBER("outcome.updates", &o->updates),
        SNAPSHOT_NUMBER("outcome.samples", &o->samples),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    if (!status)
        status = scale_snapshot(&run->columns, "", snapshot, err);
    return status ? status : gallery_snapshot(&run->gallery, snapshot, err);
}

static enum status dictionary_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                          struct error *err)
{
    enum status status = STATUS_OK;
    if (role != SNAPSHOT_WEIGHT)
        return role == SNAPSHOT_OPTIMISER ? declare_optimiser(run, snapshot, err) : declare_state(run, snapshot, err);
    for (int s = 0; !status && s < run->seeds; s++)
        status = params_snapshot(run->sae[s]->params, snapshot, err);
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
    {"test_loss", offsetof(struct method_run, outcome.loss)},
    {"explained_variance", offsetof(struct method_run, outcome.explained)},
    {"mcc", offsetof(struct method_run, outcome.mcc)},
    {"f1", offsetof(struct method_run, outcome.f1)},
    {"pw_mcc", offsetof(struct method_run, outcome.pair_absolute)},
    {"dead", offsetof(struct method_run, outcome.dead)},
    {NULL, 0},
};

static const struct model_run_table table = {
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
    .declare = dictionary_run_declare,
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
    model_run_init(r, &table, env, c->checkpoint_every);
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
