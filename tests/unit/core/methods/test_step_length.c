/* Tests that steps are short, in cases in which they once were long. A cancelled job ends after its current step. */
#include <math.h>
#include <time.h>

#include "tests/support/unit.h"
#include "core/methods/method.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"

/* Sanitizers make steps longer. With them, a step may take longer, and a case makes steps for a shorter time. */
static const double SECONDS = SANITIZED ? 0.5 : 3;    /* time for the steps of one case */
static const double STEP_MOST = SANITIZED ? 30 : 2.0; /* longest allowed step; a cancelled job should end within 2 s */

#define TINY_SPARLING                                                                                                  \
    {"units", "1"}, {"channels", "16"}, {"layers", "1"}, {"heads", "2"}, {"feed_forward", "16"}, {"batch", "4"},       \
        {"validation_every", "20"}, {"validation_samples", "4"}, {"checkpoint_every", "1000000"},                      \
        {"test_samples", "4"}, {"motif_samples", "4"},                                                                 \
    {                                                                                                                  \
        "stage_samples", "2"                                                                                           \
    }
#define DIGITS                                                                                                         \
    {"image_size", "32"}, {"classes", "3"}, {"min_symbols", "1"}, {"max_symbols", "2"}, {"shift", "1"},                \
        {"margin", "8"},                                                                                               \
    {                                                                                                                  \
        "min_radius", "5"                                                                                              \
    }

/* Processor time of all threads in seconds: other programs on a busy machine do not lengthen it. */
static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void expect_short_steps(const char *name, const char *kind, const struct config_setting *settings)
{
    const struct method *method = method_find(kind);
    struct run_env environment;
    struct method_run *run;
    struct method_progress progress = {0};
    struct error err = {0};
    enum method_request request = METHOD_CONTINUE;
    const char *stage = "none";
    double longest = 0;
    int steps = 0;
    void *config = test_calloc(1, method->config.struct_bytes);
    assert_int_equal(config_defaults(&method->config, config, &err), STATUS_OK);
    if (config_apply(&method->config, config, settings, &err))
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(run_env_open(&environment, 2, NULL, &err), STATUS_OK);
    double began = now();
    if (method->create(config, &environment.env, &run, &err))
        fail_msg("%s: %s", name, err.message);
    double created = now() - began;
    for (began = now(); request != METHOD_DONE && now() - began < SECONDS; steps++) {
        double start = now();
        method_progress(method, run, &progress);
        if (method->step(run, &request, &err))
            fail_msg("%s: %s", name, err.message);
        double took = now() - start;
        stage = took > longest ? progress.stage : stage;
        longest = fmax(longest, took);
    }
    print_message("%s: create %.2f s, the longest of %d steps %.2f s (%s)\n", name, created, steps, longest, stage);
    assert_true(created < STEP_MOST && longest < STEP_MOST);
    method->destroy(run);
    run_env_close(&environment);
    test_free(config);
}

static void errors_of_chance_take_many_steps(void **state)
{
    static const struct config_setting settings[] = {TINY_SPARLING,
                                                     {"domain", "splicing"},
                                                     {"splicing_length", "200"},
                                                     {"context", "80"},
                                                     {"width", "8"},
                                                     {"motifs", "8"},
                                                     {"sparsity", "none"},
                                                     {"density_start", "1"},
                                                     {"density_final", "1"},
                                                     {"chance_shuffles", "50"},
                                                     {"chance_samples", "2000"},
                                                     {"total_samples", "20"},
                                                     {NULL, NULL}};
    expect_short_steps("chance", "sparling", settings);
}

static void collecting_thresholds_have_short_steps(void **state)
{
    static const struct config_setting settings[] = {TINY_SPARLING,
                                                     DIGITS,
                                                     {"width", "8"},
                                                     {"motifs", "3"},
                                                     {"density_start", ".01"},
                                                     {"accumulate_elements", "10000000"},
                                                     {"total_samples", "100000"},
                                                     {NULL, NULL}};
    expect_short_steps("accumulate_elements", "sparling", settings);
}

static void statistics_of_large_rugs_have_short_steps(void **state)
{
    static const struct config_setting settings[] = {
        {"model", "rug"}, {"n_s", "131072"}, {"n_d", "1000"}, {"test_samples", "4"}, {NULL, NULL}};
    expect_short_steps("rug of 131072", "superposition", settings);
}

static void long_evaluations_have_short_steps(void **state)
{
    static const struct config_setting settings[] = {{"n_s", "12"},           {"n_d", "4"},
                                                     {"batch", "8"},          {"block", "20"},
                                                     {"total_samples", "20"}, {"test_samples", "100000000"},
                                                     {"draws", "1"},          {NULL, NULL}};
    expect_short_steps("test_samples", "superposition", settings);
}

static void rugs_of_the_preset_scaling_have_short_steps(void **state)
{
    static const struct config_setting settings[] = {{"model", "rug"}, {"n_s", "65536"},      {"p", "0.2"},
                                                     {"ratio", "0.1"}, {"test_samples", "4"}, {NULL, NULL}};
    expect_short_steps("rug of 65536", "superposition", settings);
}

/* A run draws samples for its statistics, even if it tests few samples. */
static void estimate_contains_the_statistics(void **state)
{
    static const struct config_setting settings[] = {{"model", "rug"}, {"n_s", "65536"},      {"p", "0.2"},
                                                     {"ratio", "0.1"}, {"test_samples", "4"}, {NULL, NULL}};
    const struct method *method = method_find("superposition");
    struct method_estimate estimate = {0};
    struct error err = {0};
    void *config = test_calloc(1, method->config.struct_bytes);
    assert_int_equal(config_defaults(&method->config, config, &err), STATUS_OK);
    assert_int_equal(config_apply(&method->config, config, settings, &err), STATUS_OK);
    assert_int_equal(method_estimate(method, config, NULL, &estimate, &err), STATUS_OK);
    assert_true(estimate.flops_per_sample * (double)estimate.samples > 1000.0 * 65536 * 500);
    test_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_chance_take_many_steps),
        cmocka_unit_test(collecting_thresholds_have_short_steps),
        cmocka_unit_test(statistics_of_large_rugs_have_short_steps),
        cmocka_unit_test(long_evaluations_have_short_steps),
        cmocka_unit_test(rugs_of_the_preset_scaling_have_short_steps),
        cmocka_unit_test(estimate_contains_the_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
