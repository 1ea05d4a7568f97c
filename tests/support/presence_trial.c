/* Drives a small run of SPARLING with the presence objective (presence_trial.h). */
#include <math.h>

#include "tests/support/unit.h"
#include "tests/support/presence_trial.h"
#include "tests/support/tiny_network.h"

static const struct method *const method = &sparling_method;

static const struct config_setting tiny[] = {TINY_NETWORK,
                                             {"image_size", "32"}, /* TRIAL_SIZE */
                                             {"margin", "8"},
                                             {"max_symbols", "2"},
                                             {"min_radius", "6"},
                                             {"motifs", "5"},
                                             {"batch", "4"},
                                             {"batch_norm", "plain"},
                                             {"embed_order", "pool-then-embed"},
                                             {"motif_scale", "rms"},
                                             {"lstm", "false"},
                                             {"dropout", "0.1"},
                                             {"learning_rate", "1e-2"},
                                             {"warm_up", "3"},
                                             {"clip_norm", "1"},
                                             {"presence_weight", "0.5"},
                                             {"presence_samples", "48"},
                                             {"validation_every", "16"},
                                             {"validation_samples", "18"},
                                             {"checkpoint_every", "20"},
                                             {"total_samples", "160"},
                                             {"density_start", "0.04"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.01"},
                                             {"plateau_validations", "1"},
                                             {"plateau_gain", "0.99"},
                                             {"plateau_density", "0.011"},
                                             {"motif_samples", "10"},
                                             {"test_samples", "9"},
                                             {"stage_samples", "0"},
                                             {NULL, NULL}};

static void watch(void *context, const char *name, int64_t step, double value)
{
    struct series *s = context;
    if (strcmp(name, "samples_per_second") == 0)
        return;
    hash_add(&s->all, name, strlen(name));
    hash_add(&s->all, &step, sizeof step);
    hash_add(&s->all, &value, sizeof value);
    if (strcmp(name, "learning_rate") == 0)
        s->rates[step / 40] = value;
    s->accuracies += strcmp(name, "accuracy") == 0;
    if (strcmp(name, "density") == 0)
        s->densities[s->validations] = value;
    if (strcmp(name, "presence_loss") == 0) {
        s->at[s->validations] = step;
        s->presence[s->validations++] = value;
        assert_true(s->validations < 64);
    }
}

void trial_configure(struct sparling_config *config, const struct config_setting *more)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
    if (more)
        assert_ok(config_apply(&sparling_config_table, config, more, err));
}

struct method_run *trial_start(const struct trial *t)
{
    struct method_run *run = NULL;
    assert_ok(method->create(&t->config, &t->environment.env, &run, err));
    run->step_seconds = 0; /* a step then makes only one update, or reads one batch of a validation */
    return run;
}

void trial_begin(struct trial *t, const struct config_setting *more, int threads)
{
    memset(t, 0, sizeof *t);
    trial_configure(&t->config, more);
    assert_ok(run_env_open(&t->environment, threads, NULL, err));
    hash_init(&t->series.all);
    t->environment.watcher = &t->series;
    t->environment.metric = watch;
    t->run = trial_start(t);
}

enum method_request trial_step(struct trial *t)
{
    enum method_request request = METHOD_CONTINUE;
    assert_ok(run_env_step(&t->environment, method, t->run, &request, err));
    return request;
}

void trial_end(struct trial *t)
{
    method->destroy(t->run);
    run_env_close(&t->environment);
}

void trial_reload(struct trial *t)
{
    struct run_env_bytes bytes = {0};
    int64_t at = t->run->at;
    assert_ok(run_env_save(method, t->run, &bytes, err));
    method->destroy(t->run);
    t->run = trial_start(t);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->load(t->run, &reader, err));
    assert_int_equal(t->run->at, at); /* the checkpoint states the phase */
    run_env_bytes_close(&bytes);
}

void trial_hash(struct trial *t, const char *prefix, char out[HASH_TEXT])
{
    struct params *params = t->run->network->params;
    struct hash hash;
    unsigned char digest[HASH_BYTES];
    hash_init(&hash);
    for (size_t i = 0; i < params_arrays(params); i++) {
        struct weight *w = params_array(params, i);
        if (strncmp(params_name(params, i), prefix, strlen(prefix)) == 0)
            hash_add(&hash, w->value, w->count * sizeof *w->value);
    }
    hash_finish(&hash, digest);
    hash_hex(digest, out);
}

void trial_finish(struct trial *t, char weights[65], unsigned char digest[HASH_BYTES])
{
    struct run_env_bytes bytes = {0};
    for (int i = 0; t->run->activity != ACTIVITY_DONE && trial_step(t) != METHOD_DONE; i++)
        assert_true(i < 20000);
    assert_ok(run_env_save(method, t->run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, weights, err));
    run_env_bytes_close(&bytes);
    hash_finish(&t->series.all, digest);
    trial_end(t);
}

void trial_train(const struct config_setting *more, int threads, int every, char weights[65],
                 unsigned char digest[HASH_BYTES])
{
    struct trial t;
    int again = 0;
    trial_begin(&t, more, threads);
    for (int i = 0; trial_step(&t) != METHOD_DONE; i++) {
        assert_true(i < 20000);
        if (every > 0 && i % every == every - 1 && t.run->activity != ACTIVITY_CALIBRATE)
            trial_reload(&t);
        /* At most three reloads during the calibration, because after each reload the calibration collects its scores
         * again. */
        if (t.run->activity == ACTIVITY_CALIBRATE && every > 0 && i % (every + 97) == 0 && again++ < 3)
            trial_reload(&t);
    }
    trial_finish(&t, weights, digest);
}
