/* A dictionary run is a case sweep (core/methods/shared/case_sweep.h). This file defines how a case begins, what a
 * checkpoint contains and how the progress is computed. */
#include "core/methods/dictionary/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run_int.h"

static void begin(struct method_run *run)
{
    run->updates = run->samples = run->position = 0;
    run->sweep.loss_sum = 0;
}

static enum status plan(struct method_run *run, struct error *err)
{
    struct dictionary_case *cases = malloc(DICTIONARY_CASES * sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a list of cases");
    int count = dictionary_cases(&run->config, cases);
    enum status status = case_sweep_plan(run, count, DICTIONARY_CASES, sizeof *cases, OUTCOME_COLUMNS, err);
    if (!status)
        memcpy(run->sweep.cases, cases, (size_t)count * sizeof *cases);
    free(cases);
    if (status)
        return status;
    run->cases = run->sweep.cases;
    run->outcomes = run->sweep.outcomes;
    run->sweep.evaluation_seed = run->config.seed;
    run->sweep.evaluation_samples = run->config.test_samples;
    if (count > 1)
        return STATUS_OK;
    run->latents = calloc((size_t)run->cases[0].width * LATENT_COLUMNS, sizeof *run->latents);
    return run->latents ? gallery_create(run->cases[0].width, &run->gallery, err)
                        : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for figures of %d latents",
                                    run->cases[0].width);
}

static enum status open_case(struct method_run *run, struct error *err)
{
    return run->sweep.opened == run->sweep.at ? STATUS_OK : run_open(run, err);
}

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
    const struct case_sweep *w = &run->sweep;
    double evaluated = (double)run->position / (double)w->evaluation_samples;
    if (w->alone)
        return evaluated;
    if (w->phase == CASE_SWEEP_TRAIN)
        return 0.95 * (double)run->samples / (double)dictionary_samples(&run->config, run_case(run));
    return 0.95 + 0.05 * evaluated;
}

static double weight_of(const struct method_run *run, int at)
{
    return dictionary_work(&run->config, &run->cases[at]);
}

/* ---- what is saved ------------------------------------------------------------------------------------------- */

static const struct case_sweep_number numbers[] = {
    {"run.updates", CASE_SWEEP_INTEGER, offsetof(struct method_run, updates)},
    {"run.samples", CASE_SWEEP_INTEGER, offsetof(struct method_run, samples)},
    {"evaluation.position", CASE_SWEEP_INTEGER, offsetof(struct method_run, position)},
    {"run.scale", CASE_SWEEP_REAL, offsetof(struct method_run, scale)},
    {NULL, CASE_SWEEP_INTEGER, 0},
};

static enum status alternate_arrays(struct method_run *run, int s, struct snapshot *snapshot, struct error *err)
{
    uint64_t m = (uint64_t)run_case(run)->width;
    const uint64_t gram[2] = {m, m}, target[2] = {m, (uint64_t)run_case(run)->inputs};
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

static enum status arrays(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; role == SNAPSHOT_WEIGHT && !status && s < run->seeds; s++)
        status = params_snapshot(run->sae[s]->params, snapshot, err);
    if (role == SNAPSHOT_OPTIMISER)
        return optimiser_arrays(run, snapshot, err);
    if (role == SNAPSHOT_STATE && run_case(run)->source == SOURCE_TRAINED) {
        const uint64_t vectors[2] = {(uint64_t)run_case(run)->features, (uint64_t)run_case(run)->inputs};
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F32, "data.vectors", 2, vectors, run->vectors, err);
        if (status)
            return status;
    }
    if (role == SNAPSHOT_STATE && run->latents) {
        const uint64_t table[2] = {(uint64_t)run->cases[0].width, LATENT_COLUMNS};
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

static bool position_sound(const struct method_run *run)
{
    (void)run;
    return true;
}

static enum status loaded(struct method_run *run, bool *sound, struct error *err)
{
    *sound = run->updates >= 0 && run->samples >= 0 && run->position >= 0 &&
             run->position < run->sweep.evaluation_samples && run->scale > 0 && isfinite(run->scale) &&
             run->samples <= dictionary_samples(&run->config, run_case(run)) && run->sweep.evaluation_samples >= 1;
    for (int s = 0; s < run->seeds; s++)
        *sound = *sound && run->alternate[s].updates >= 0;
    return run_case(run)->source == SOURCE_TRAINED ? run_rebuild(run, err) : STATUS_OK;
}

static bool single(const struct method_run *run)
{
    return run->sweep.count == 1;
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

const struct method_metric dictionary_metrics[DICTIONARY_METRICS] = {
    {"loss", "", "squared error of a training sample, mean over fifty updates and all seeds"},
    {"active", "latents", "active latents of a sample in the last training batch"},
    {"test_loss", "", "squared error of a test sample, when a case is done"},
    {"explained_variance", "", "share of the samples' variance that the reconstruction explains"},
    {"mcc", "", "mean |cosine| of latents matched one to one with true features"},
    {"f1", "", "mean F1 of the latents as detectors of their own features"},
    {"pw_mcc", "", "mean |cosine| of latents matched one to one between seeds"},
    {"dead", "", "share of latents that are active in no test sample"},
};

static const struct case_sweep_metric metrics[] = {
    {"test_loss", OUTCOME_COLUMN(loss)},
    {"explained_variance", OUTCOME_COLUMN(explained)},
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"f1", OUTCOME_COLUMN(f1)},
    {"pw_mcc", OUTCOME_COLUMN(pair_absolute)},
    {"dead", OUTCOME_COLUMN(dead)},
    {NULL, 0},
};

static const struct case_sweep_table case_sweep_table = {
    .series = dictionary_metrics,
    .series_count = DICTIONARY_METRICS,
    .numbers = numbers,
    .metrics = metrics,
    .least_samples = 1,
    .most_samples = 100000000,
    .plan = plan,
    .begin = begin,
    .open = open_case,
    .trained = run_trained,
    .update = run_learn,
    .evaluate = run_evaluate_piece,
    .finish = run_pictures,
    .begin_evaluation = begin_evaluation,
    .part = part_done,
    .weight = weight_of,
    .arrays = arrays,
    .check = check_weights,
    .position_sound = position_sound,
    .loaded = loaded,
    .single = single,
    .close = close_run,
};

enum status dictionary_create_run(const void *config, const struct method_env *env, struct method_run **run,
                                  struct error *err)
{
    const struct dictionary_config *c = config;
    struct method_run *r = calloc(1, sizeof *r);
    if (r) {
        r->config = *c;
        r->seeds = (int)c->seeds;
        arena_init(&r->arena, (size_t)1 << 16, 0);
        exec_init(&r->exec, env->kernels, env->pool, &r->arena, (uint64_t)c->seed);
    }
    return case_sweep_create(r, &case_sweep_table, env, c->checkpoint_every, run, err);
}
