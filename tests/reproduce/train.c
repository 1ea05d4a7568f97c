/* Runs a method in the foreground, without a daemon:
 *
 *      train --preset digitcircle-quick --set width=8 --set batch=32 --threads 2 [--data DIR] [--out DIR] [--seconds S]
 *            [--resume N] [--evaluate SEED] [--follow METRIC]
 *
 * Prints one line for each validation, then the result, and last the hashes of the trained weights. Writes artifacts
 * into DIR. The exit status is 1 if the run failed.
 *
 * - --resume N saves, destroys and reloads the run after every N steps.
 * - --evaluate SEED also prints the result on another set of samples (-1: the validation set).
 * - --follow METRIC prints every value of a metric, and evaluates the run on the validation set at each checkpoint
 *   (checkpoint_every). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/kernels/blas.h"
#include "core/kernels/kernels.h"
#include "tests/support/run_env.h"

struct options {
    const char *kind, *preset, *kernels, *data, *out, *follow;
    int threads;
    long resume;
    int64_t seed; /* --evaluate: seed of the samples for a second evaluation; 0: none */
    double seconds;
};

struct watch {
    double began, loss, validation_loss, accuracy, density, achieved, norm, speed, fpe, fne, ce;
    const char *out, *follow;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_metric(void *context, const char *name, int64_t step, double value)
{
    struct watch *w = context;
    const struct {
        const char *name;
        double *at;
    } kept[] = {{"loss", &w->loss},
                {"fpe", &w->fpe},
                {"fne", &w->fne},
                {"ce", &w->ce},
                {"validation_loss", &w->validation_loss},
                {"accuracy", &w->accuracy},
                {"density", &w->density},
                {"achieved_density", &w->achieved},
                {"gradient_norm", &w->norm},
                {"samples_per_second", &w->speed}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(name, kept[i].name) == 0)
            *kept[i].at = value;
    if (w->follow && strcmp(name, w->follow) == 0) {
        printf("%7.1f s %8lld samples  %s %.6g\n", now() - w->began, (long long)step, name, value);
        fflush(stdout);
    }
    /* A validation publishes this metric last, so all other figures of the validation are known here. */
    if (strcmp(name, "target_accuracy") == 0) {
        printf("%7.1f s %8lld samples  loss %.4f  validation %.4f  accuracy %.4f (target %.4f)  density %.3e "
               "(%.3e)  fpe %.3f fne %.3f ce %.3f  norm %.2f  %.0f/s\n",
               now() - w->began, (long long)step, w->loss, w->validation_loss, w->accuracy, value, w->density,
               w->achieved, w->fpe, w->fne, w->ce, w->norm, w->speed);
        fflush(stdout);
    }
}

static void on_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count)
{
    const struct watch *w = context;
    char path[512];
    if (!w->out)
        return;
    snprintf(path, sizeof path, "%s/%s", w->out, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    if (file)
        fclose(file);
}

/* ---- results as indented text ------------------------------------------------------------------- */

static void put(void *context, const char *key)
{
    printf("%*s", 2 * *(int *)context, "");
    if (key)
        printf("%s: ", key);
}
static void put_begin(void *context, const char *key)
{
    put(context, key);
    printf("\n");
    ++*(int *)context;
}
static void put_end(void *context)
{
    --*(int *)context;
}
static void put_number(void *context, const char *key, double value)
{
    put(context, key);
    printf("%.6g\n", value);
}
static void put_integer(void *context, const char *key, int64_t value)
{
    put(context, key);
    printf("%lld\n", (long long)value);
}
static void put_boolean(void *context, const char *key, bool value)
{
    put(context, key);
    printf("%s\n", value ? "true" : "false");
}
static void put_text(void *context, const char *key, const char *value)
{
    put(context, key);
    printf("%s\n", value);
}
static void put_null(void *context, const char *key)
{
    put_text(context, key, "null");
}

/* ---- the run ------------------------------------------------------------------------------------ */

static int complain(const struct error *err)
{
    fprintf(stderr, "train: %s%s%s\n", err->pointer, err->pointer[0] ? ": " : "", err->message);
    return 1;
}

static void print_fault(void *context, const char *field, const char *detail)
{
    fprintf(stderr, "train: %s: %s\n", field, detail);
    ++*(int *)context;
}

static enum status configure(const struct method *method, const char *preset, int argc, char **argv, void *config,
                             struct error *err)
{
    enum status status = config_defaults(&method->config, config, err);
    const struct method_preset *chosen = NULL;
    for (size_t i = 0; preset && i < method->preset_count; i++)
        if (strcmp(method->presets[i].name, preset) == 0)
            chosen = &method->presets[i];
    if (!status && preset && !chosen)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no preset %s", preset);
    if (!status && chosen)
        status = config_apply(&method->config, config, chosen->settings, err);
    for (int i = 1; !status && i + 1 < argc; i++) {
        char name[CONFIG_TEXT];
        if (strcmp(argv[i], "--set") != 0)
            continue;
        const char *text = argv[++i], *equals = strchr(text, '=');
        if (!equals || (size_t)(equals - text) >= sizeof name)
            return error_set(err, STATUS_INVALID, NULL, "--set wants FIELD=VALUE; got %s", text);
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        const struct config_field *field = config_find(&method->config, name);
        if (!field)
            return error_set(err, STATUS_INVALID, NULL, "no field %s", name);
        status = config_parse(field, config, equals + 1, err);
        if (status)
            fprintf(stderr, "train: %s:\n", name);
    }
    if (status)
        return status;
    int count = 0;
    struct method_faults faults = {&count, print_fault};
    method->check(config, &faults);
    return count ? error_set(err, STATUS_INVALID, NULL, "%d faults in the configuration", count) : STATUS_OK;
}

/* Saves and destroys the run, creates it again and loads what was saved. */
static enum status resume(const struct method *method, const void *config, struct run_env *environment, double began,
                          struct method_run **run, struct error *err)
{
    struct run_env_bytes bytes = {0};
    struct method_progress at;
    enum status status = run_env_save(method, *run, &bytes, err);
    if (!status) {
        method->destroy(*run);
        *run = NULL;
        status = method->create(config, &environment->env, run, err);
    }
    if (!status) {
        struct snapshot_reader reader = run_env_reader(&bytes);
        status = method->load(*run, &reader, err);
    }
    if (!status) {
        method->progress(*run, &at);
        printf("%7.1f s %8lld samples  resumed from %.1f MB\n", now() - began, (long long)at.samples,
               (double)bytes.count / 1e6);
        fflush(stdout);
    }
    run_env_bytes_close(&bytes);
    return status;
}

/* Evaluates the trained weights on another set of samples. Loads them into a separate run for this. */
static enum status measure(const struct method *method, const void *config, struct run_env *environment,
                           struct method_run *trained, const struct method_evaluation *what, struct method_run **run,
                           struct error *err)
{
    struct run_env_bytes bytes = {0};
    enum method_request request = METHOD_CONTINUE;
    enum status status = run_env_save(method, trained, &bytes, err);
    struct snapshot_reader reader = run_env_reader(&bytes);
    if (!status)
        status = method->create(config, &environment->env, run, err);
    if (!status)
        status = method->load(*run, &reader, err);
    if (!status)
        status = method->begin_evaluation(*run, what, err);
    while (!status && request != METHOD_DONE)
        status = run_env_step(environment, method, *run, &request, err);
    run_env_bytes_close(&bytes);
    return status;
}

static enum status evaluate(const struct method *method, const void *config, struct run_env *environment,
                            struct method_run *trained, int64_t seed, const struct sink *sink, struct error *err)
{
    struct method_run *run = NULL;
    struct method_evaluation what = {.samples = 1000, .seed = seed};
    enum status status = measure(method, config, environment, trained, &what, &run, err);
    printf("on %lld samples of seed %lld:\n", (long long)what.samples, (long long)seed);
    if (!status)
        status = method_result(method, run, sink, err);
    method->destroy(run);
    return status;
}

/* Evaluates the weights of the run `trained` on 1000 samples of the validation set. */
static enum status follow(const struct method *method, const void *config, struct run_env *environment,
                          struct method_run *trained, struct error *err)
{
    struct method_run *run = NULL;
    const struct method_evaluation what = {.samples = 1000, .seed = -1};
    enum status status = measure(method, config, environment, trained, &what, &run, err);
    method->destroy(run);
    return status;
}

/* Prints hashes of the weights. Equal runs print equal hashes. */
static enum status print_hashes(const struct method *method, struct method_run *run, struct error *err)
{
    struct run_env_bytes bytes = {0};
    char hex[65];
    unsigned char all[HASH_BYTES];
    enum status status = run_env_save(method, run, &bytes, err);
    if (!status)
        status = run_env_weights_hash(&bytes, hex, err);
    if (!status) {
        struct hash hash;
        hash_init(&hash);
        hash_add(&hash, bytes.data, bytes.count);
        hash_finish(&hash, all);
        printf("weights %s\ncheckpoint ", hex);
        for (size_t i = 0; i < sizeof all; i++)
            printf("%02x", all[i]);
        printf("\n");
    }
    run_env_bytes_close(&bytes);
    return status;
}

static enum status drive(const struct method *method, const void *config, struct run_env *environment,
                         const struct options *options, struct error *err)
{
    struct method_run *run = NULL;
    struct method_estimate estimate;
    enum method_request request = METHOD_CONTINUE;
    double began = now();
    int depth = 0;
    const struct sink sink = {&depth,     put_begin,   put_end,     put_begin, put_end,
                              put_number, put_integer, put_boolean, put_text,  put_null};
    enum status status = method->estimate(config, NULL, &estimate, err);
    if (!status)
        printf("%lld parameters, %.1f MFLOP a sample, about %.0f MB, kernels %s, BLAS %s\n",
               (long long)estimate.parameters, estimate.flops_per_sample / 1e6, (double)estimate.memory_bytes / 1e6,
               environment->env.kernels->name, blas_core());
    if (!status)
        status = method->create(config, &environment->env, &run, err);
    for (long step = 1; !status && request != METHOD_DONE; step++) {
        status = run_env_step(environment, method, run, &request, err);
        if (!status && options->resume > 0 && step % options->resume == 0 && request != METHOD_DONE)
            status = resume(method, config, environment, began, &run, err);
        if (!status && options->follow && request == METHOD_CHECKPOINT)
            status = follow(method, config, environment, run, err);
        if (options->seconds > 0 && now() - began > options->seconds)
            break;
    }
    if (!status && request == METHOD_DONE)
        status = method_result(method, run, &sink, err);
    printf("%.1f s\n", now() - began);
    if (!status)
        status = print_hashes(method, run, err);
    if (!status && request == METHOD_DONE && options->seed != 0)
        status = evaluate(method, config, environment, run, options->seed, &sink, err);
    method->destroy(run);
    return status;
}

static int usage(void)
{
    fprintf(stderr, "usage: train [--kind K] [--preset P] [--set FIELD=VALUE]... [--threads N] [--kernels NAME] "
                    "[--data DIR] [--out DIR] [--seconds S] [--resume N] [--evaluate SEED] [--follow METRIC]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.kind = "sparling", .threads = 2, .data = "motifd-data"};
    struct error err = {0};
    struct run_env environment;
    for (int i = 1; i < argc; i++) {
        if (i + 1 >= argc)
            return usage();
        if (strcmp(argv[i], "--kind") == 0)
            options.kind = argv[++i];
        else if (strcmp(argv[i], "--preset") == 0)
            options.preset = argv[++i];
        else if (strcmp(argv[i], "--kernels") == 0)
            options.kernels = argv[++i];
        else if (strcmp(argv[i], "--data") == 0)
            options.data = argv[++i];
        else if (strcmp(argv[i], "--out") == 0)
            options.out = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0)
            options.threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--follow") == 0)
            options.follow = argv[++i];
        else if (strcmp(argv[i], "--evaluate") == 0)
            options.seed = atoll(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0)
            options.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--resume") == 0)
            options.resume = atol(argv[++i]);
        else if (strcmp(argv[i], "--set") == 0)
            i++;
        else
            return usage();
    }
    const struct method *method = method_find(options.kind);
    if (!method)
        return usage();
    struct watch watch = {.began = now(), .out = options.out, .follow = options.follow};
    void *config = calloc(1, method->config.struct_bytes);
    enum status status = config ? configure(method, options.preset, argc, argv, config, &err) : STATUS_NO_MEMORY;
    if (status) {
        free(config);
        return complain(&err);
    }
    status = run_env_open(&environment, options.threads, options.kernels, &err);
    environment.env.data = options.data;
    environment.watcher = &watch;
    environment.metric = on_metric;
    environment.artifact = on_artifact;
    if (!status)
        status = drive(method, config, &environment, &options, &err);
    run_env_close(&environment);
    free(config);
    return status ? complain(&err) : 0;
}
