/* A small method for tests of the scheduler, which need jobs but no model. Its state is a hash that every step changes,
 * so that a lost or repeated step changes the result. Only one .c file of a program includes this header. */
#ifndef MOTIF_TESTS_UNIT_API_FAKE_METHOD_H
#define MOTIF_TESTS_UNIT_API_FAKE_METHOD_H

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/methods/method.h"

struct fake_config {
    int64_t seed, steps, checkpoint_every, stage_every, fail_at;
    int64_t grow; /* megabytes that each step allocates and keeps */
    bool numeric;
};

#define FAKE_INT(name, preset)                                                                                         \
    {                                                                                                                  \
#name, FIELD_INT, offsetof(struct fake_config, name), preset, 0, 1e6, false, false, NULL, "", "for tests",     \
            GROUP_DATA, LEVEL_ADVANCED, NULL                                                                           \
    }
static const struct config_field fake_fields[] = {
    FAKE_INT(seed, "1"),
    FAKE_INT(steps, "20"),
    FAKE_INT(checkpoint_every, "5"),
    FAKE_INT(stage_every, "0"),
    FAKE_INT(fail_at, "0"),
    FAKE_INT(grow, "0"),
    {"numeric", FIELD_BOOL, offsetof(struct fake_config, numeric), "false", 0, 1, false, false, NULL, "", "for tests",
     GROUP_DATA, LEVEL_ADVANCED, NULL},
};

struct method_run {
    struct fake_config config;
    struct method_env env;
    uint64_t hash, weights[64];
    int64_t step, evaluating, warm, grown;
    void *kept[100];
};

/* How many more steps may start. When it is 0, steps wait until a test increases it. Negative: no limit. */
static atomic_int fake_allowed = -1;

static void fake_await_allowance(void)
{
    for (int left = atomic_load(&fake_allowed); left >= 0; left = atomic_load(&fake_allowed)) {
        if (left > 0 && atomic_compare_exchange_strong(&fake_allowed, &left, left - 1))
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static uint64_t fake_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    return x * 0xc4ceb9fe1a85ec53ULL + 1;
}

static void fake_check(const void *config, const struct method_faults *faults) {}

static enum status fake_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    *out = (struct method_estimate){.parameters = 64, .flops_per_sample = 1e6};
    return STATUS_OK;
}

static enum status fake_create(const void *config, const struct method_env *env, struct method_run **run,
                               struct error *err)
{
    struct method_run *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    made->config = *(const struct fake_config *)config;
    made->env = *env;
    made->hash = (uint64_t)made->config.seed;
    *run = made;
    return STATUS_OK;
}

/* Each chunk writes a part of the weights from a thread of its own, as real methods do. The thread sanitizer can then
 * find races between these threads and the scheduler. */
static void fake_chunk(void *context, int chunk, int worker)
{
    struct method_run *run = context;
    run->weights[chunk] = fake_mix(run->weights[chunk] ^ run->hash ^ (uint64_t)chunk);
}

static enum status fake_step(struct method_run *run, enum method_request *request, struct error *err)
{
    if (run->evaluating > 0) {
        *request = --run->evaluating == 0 ? METHOD_DONE : METHOD_CONTINUE;
        return STATUS_OK;
    }
    if (run->step >= run->config.steps) {
        *request = METHOD_DONE;
        return STATUS_OK;
    }
    fake_await_allowance();
    if (!thread_pool_run(run->env.pool, fake_chunk, run, 64))
        return thread_pool_check(run->env.pool, err);
    for (int i = 0; i < 64; i++)
        run->hash = fake_mix(run->hash + run->weights[i]);
    run->step++;
    if (run->config.fail_at > 0 && run->step == run->config.fail_at) {
        return error_set(err, run->config.numeric ? STATUS_NUMERIC : STATUS_INTERNAL, NULL, "step %lld does not work",
                         (long long)run->step);
    }
    if (run->config.grow > 0 && run->grown < 100 &&
        (run->kept[run->grown++] = malloc((size_t)run->config.grow << 20)) == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a step");
    run->env.metric(run->env.context, "hash", run->step * 10, (double)(run->hash >> 40));
    if (run->config.stage_every > 0 && run->step % run->config.stage_every == 0)
        *request = METHOD_STAGE_END;
    else if (run->step % run->config.checkpoint_every == 0)
        *request = METHOD_CHECKPOINT;
    return STATUS_OK;
}

static void fake_progress(const struct method_run *run, struct method_progress *out)
{
    *out = (struct method_progress){
        .step = run->step,
        .samples = run->step * 10,
        .fraction = (double)run->step / (double)run->config.steps,
        .density = 1.0 / (double)(1 + run->step),
        .target_accuracy = NAN,
        .accuracy = NAN,
        .eta_samples = (double)((run->config.steps - run->step) * 10),
        .stage = "training",
    };
}

static enum status fake_declare(struct method_run *run, struct snapshot **snapshot, struct error *err)
{
    enum status status = snapshot_create(snapshot, err);
    if (status == STATUS_OK) {
        status = snapshot_add(*snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_U64, "weights", 1, (const uint64_t[4]){64},
                              run->weights, err);
    }
    const struct snapshot_row state[] = {SNAPSHOT_NUMBER("hash", &run->hash), SNAPSHOT_NUMBER("step", &run->step)};
    return status ? status : snapshot_add_rows(*snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(state), err);
}

static enum status fake_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                             struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = fake_declare(run, &snapshot, err);
    if (status == STATUS_OK) {
        status = snapshot_write(snapshot, to, err);
        *bytes = snapshot_bytes(snapshot);
    }
    snapshot_destroy(snapshot);
    return status;
}

static enum status fake_read(struct method_run *run, const struct snapshot_reader *from, unsigned roles,
                             struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = fake_declare(run, &snapshot, err);
    if (status == STATUS_OK)
        status = snapshot_read(snapshot, from, roles, err);
    snapshot_destroy(snapshot);
    return status;
}

static enum status fake_load(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    return fake_read(run, from, 1u << SNAPSHOT_WEIGHT | 1u << SNAPSHOT_STATE, err);
}

static enum status fake_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    run->warm = 1;
    return fake_read(run, from, 1u << SNAPSHOT_WEIGHT, err);
}

static enum status fake_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                         struct error *err)
{
    run->evaluating = what->samples;
    return STATUS_OK;
}

static enum status fake_result(struct method_run *run, const struct sink *out, struct error *err)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)run->hash);
    sink_text(out, "hash", text);
    sink_integer(out, "warm", run->warm);
    return STATUS_OK;
}

static void fake_destroy(struct method_run *run)
{
    for (int i = 0; run != NULL && i < 100; i++)
        free(run->kept[i]);
    free(run);
}

static const struct method_metric fake_metrics[] = {{"hash", "", ""}, {"loss", "", ""}};

static const struct method fake_method = {
    .kind = "fake",
    .title = "Fake",
    .summary = "For tests.",
    .paper = "",
    .config = CONFIG_TABLE(fake_fields, struct fake_config),
    .metrics = fake_metrics,
    .metric_count = 2,
    .check = fake_check,
    .estimate = fake_estimate,
    .create = fake_create,
    .step = fake_step,
    .progress = fake_progress,
    .save = fake_save,
    .load = fake_load,
    .warm_start = fake_warm_start,
    .begin_evaluation = fake_begin_evaluation,
    .result = fake_result,
    .destroy = fake_destroy,
};
static const struct method *const fake_methods[] = {&fake_method};

#endif
