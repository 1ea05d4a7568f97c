/* An environment for a run, without a daemon (run_env.h). */
#include "tests/support/run_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/kernels/blas.h"
#include "core/kernels/kernels.h"

/* Runs before main. Selects the OpenBLAS kernels that motifd would choose (core/kernels/blas.h), so that a test
 * computes the same bits as the daemon on every machine. If the environment already sets OPENBLAS_CORETYPE, nothing
 * changes. */
__attribute__((constructor)) static void choose_blas(int argc, char **argv)
{
    const char *best = blas_best_core();
    (void)argc;
    if (best && strcasecmp(best, blas_core()) != 0 && !getenv("OPENBLAS_CORETYPE") &&
        setenv("OPENBLAS_CORETYPE", best, 1) == 0)
        (void)execv("/proc/self/exe", argv); /* restarts, because OpenBLAS reads the variable only when it is loaded */
}

static enum status write_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct run_env_bytes *to = context;
    if (to->count + count > to->room) {
        size_t room = (to->count + count) * 2;
        char *data = realloc(to->data, room);
        if (!data)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a checkpoint");
        to->data = data;
        to->room = room;
    }
    memcpy(to->data + to->count, bytes, count);
    to->count += count;
    return STATUS_OK;
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct run_env_bytes *from = context;
    if (offset > from->count || count > from->count - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "read past the end");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

struct snapshot_reader run_env_reader(struct run_env_bytes *bytes)
{
    return (struct snapshot_reader){bytes, bytes->count, read_bytes};
}

void run_env_bytes_close(struct run_env_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct run_env_bytes){0};
}

enum status run_env_save(const struct method *method, struct method_run *run, struct run_env_bytes *bytes,
                         struct error *err)
{
    struct snapshot_writer to = {bytes, write_bytes};
    uint64_t written = 0;
    bytes->count = 0;
    enum status status = method->save(run, &to, &written, err);
    if (status != STATUS_OK)
        return status;
    if (written != bytes->count)
        return error_set(err, STATUS_INTERNAL, NULL, "save() wrote %zu bytes and returned %llu", bytes->count,
                         (unsigned long long)written);
    return STATUS_OK;
}

static enum status count_checkpoints(void *context, size_t *count, struct error *err)
{
    *count = ((struct run_env *)context)->count;
    return STATUS_OK;
}

static enum status describe_checkpoint(void *context, size_t index, struct method_checkpoint *out, struct error *err)
{
    const struct run_env *environment = context;
    if (index >= environment->count)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no checkpoint %zu", index);
    *out = environment->list[index].info;
    return STATUS_OK;
}

static enum status open_checkpoint(void *context, size_t index, struct snapshot_reader *reader, struct error *err)
{
    struct run_env *environment = context;
    if (index >= environment->count)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no checkpoint %zu", index);
    *reader = run_env_reader(&environment->list[index].bytes);
    return STATUS_OK;
}

static void on_metric(void *context, const char *name, int64_t step, double value)
{
    struct run_env *environment = context;
    if (environment->method && !method_has_metric(environment->method, name)) {
        (void)fprintf(stderr, "%s does not declare the metric %s\n", environment->method->kind, name);
        abort();
    }
    if (environment->metric)
        environment->metric(environment->watcher, name, step, value);
}

static void on_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct run_env *environment = context;
    if (environment->artifact)
        environment->artifact(environment->watcher, name, media_type, bytes, count);
}

enum status run_env_open(struct run_env *environment, int threads, const char *kernels, struct error *err)
{
    blas_init();
    *environment = (struct run_env){0};
    environment->env = (struct method_env){
        .kernels = kernels ? kernels_named(kernels) : kernels_best(),
        .step_seconds = 1e-9,
        .context = environment,
        .metric = on_metric,
        .artifact = on_artifact,
        .checkpoints = {environment, count_checkpoints, describe_checkpoint, open_checkpoint},
    };
    if (!environment->env.kernels)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no kernels named %s here", kernels ? kernels : "best");
    enum status status = thread_pool_create(threads, &environment->pool, err);
    environment->env.pool = environment->pool;
    return status;
}

void run_env_close(struct run_env *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        run_env_bytes_close(&environment->list[i].bytes);
    free(environment->list);
    thread_pool_destroy(environment->pool);
    *environment = (struct run_env){0};
}

/* Saves a checkpoint. It replaces the previous checkpoint, unless that one ended a stage. */
static enum status keep(struct run_env *environment, const struct method *method, struct method_run *run,
                        bool stage_end, struct error *err)
{
    struct method_progress progress;
    if (environment->count > 0 && !environment->list[environment->count - 1].info.stage_end)
        run_env_bytes_close(&environment->list[--environment->count].bytes);
    struct run_env_checkpoint *list = realloc(environment->list, (environment->count + 1) * sizeof *list);
    if (!list)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for checkpoints");
    environment->list = list;
    struct run_env_checkpoint *last = &list[environment->count];
    *last = (struct run_env_checkpoint){0};
    method->progress(run, &progress);
    last->info = (struct method_checkpoint){++environment->seq, progress.step, progress.density, stage_end};
    enum status status = run_env_save(method, run, &last->bytes, err);
    if (!status)
        environment->count++;
    else
        run_env_bytes_close(&last->bytes);
    return status;
}

enum status run_env_step(struct run_env *environment, const struct method *method, struct method_run *run,
                         enum method_request *request, struct error *err)
{
    environment->method = method;
    enum status status = method->step(run, request, err);
    if (status != STATUS_OK)
        return status;
    if (*request == METHOD_CHECKPOINT || *request == METHOD_STAGE_END)
        return keep(environment, method, run, *request == METHOD_STAGE_END, err);
    return STATUS_OK;
}

enum status run_env_weights_hash(struct run_env_bytes *bytes, char hex[65], struct error *err)
{
    struct snapshot_reader reader = run_env_reader(bytes);
    struct snapshot_entry *entries;
    size_t count;
    enum status status = snapshot_contents(&reader, &entries, &count, err);
    if (status)
        return status;
    uint64_t first = UINT64_MAX, end = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].role != SNAPSHOT_WEIGHT)
            continue;
        first = entries[i].offset < first ? entries[i].offset : first;
        end = entries[i].offset + entries[i].bytes > end ? entries[i].offset + entries[i].bytes : end;
    }
    free(entries);
    unsigned char digest[HASH_BYTES];
    hash_bytes(bytes->data + first, (size_t)(end - first), digest);
    hash_hex(digest, hex);
    return STATUS_OK;
}

/* ---- whole runs --------------------------------------------------------------------------------------- */

enum { STEPS_MOST = 100000 };

struct listener {
    struct run_env_witness *witness;
    struct hash series;
};

static void hear_metric(void *context, const char *name, int64_t step, double value)
{
    struct listener *l = context;
    if (strcmp(name, "samples_per_second") == 0) /* the speed differs between equal runs */
        return;
    hash_add(&l->series, name, strlen(name));
    hash_add(&l->series, &step, sizeof step);
    hash_add(&l->series, &value, sizeof value);
    l->witness->metrics++;
}

static void hear_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct listener *l = context;
    hash_add(&l->series, name, strlen(name));
    hash_add(&l->series, media_type, strlen(media_type));
    hash_add(&l->series, bytes, count);
    l->witness->artifacts++;
}

/* Replaces the run by a new one that loads its checkpoint. */
static enum status replace(const struct run_env_plan *c, const struct run_env *environment, struct method_run **run,
                           struct error *err)
{
    struct run_env_bytes bytes = {0};
    enum status status = run_env_save(c->method, *run, &bytes, err);
    c->method->destroy(*run);
    *run = NULL;
    if (!status)
        status = c->method->create(c->config, &environment->env, run, err);
    if (!status) {
        struct snapshot_reader reader = run_env_reader(&bytes);
        status = c->method->load(*run, &reader, err);
    }
    run_env_bytes_close(&bytes);
    return status;
}

static enum status note_end(const struct run_env_plan *c, struct method_run *run, struct listener *l, struct error *err)
{
    struct run_env_bytes bytes = {0};
    enum status status = run_env_save(c->method, run, &bytes, err);
    if (!status)
        status = run_env_weights_hash(&bytes, l->witness->weights, err);
    if (!status) {
        hash_bytes(bytes.data, bytes.count, l->witness->state);
        l->witness->bytes = (int64_t)bytes.count;
        hash_finish(&l->series, l->witness->series);
    }
    run_env_bytes_close(&bytes);
    return status;
}

enum status run_env_run(const struct run_env_plan *c, struct run_env_witness *witness, int *steps, struct error *err)
{
    struct run_env environment;
    struct listener listener = {.witness = witness};
    struct method_run *run = NULL;
    enum method_request request = METHOD_CONTINUE;
    memset(witness, 0, sizeof *witness);
    hash_init(&listener.series);
    enum status status = run_env_open(&environment, c->threads, NULL, err);
    if (status)
        return status;
    environment.env.data = c->data;
    environment.watcher = &listener;
    environment.metric = hear_metric;
    environment.artifact = hear_artifact;
    status = c->method->create(c->config, &environment.env, &run, err);
    for (*steps = 0; !status && request != METHOD_DONE; ++*steps) {
        status = *steps < STEPS_MOST ? run_env_step(&environment, c->method, run, &request, err)
                                     : error_set(err, STATUS_LIMIT, NULL, "a run that does not end");
        if (!status && c->every && *steps % c->every == c->every - 1 && request != METHOD_DONE)
            status = replace(c, &environment, &run, err);
    }
    if (!status)
        status = note_end(c, run, &listener, err);
    if (!status && c->look)
        c->look(c->context, run);
    c->method->destroy(run);
    run_env_close(&environment);
    return status;
}
