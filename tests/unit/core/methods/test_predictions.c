/* Tests that the predicted time of a sweep is right within a factor of two. The test counts processor time, because
 * other programs share the processor. Builds without optimisation or with a sanitizer are slower than any prediction
 * and are skipped. */
#include <math.h>
#include <time.h>

#include "tests/support/unit.h"
#include "core/kernels/kernels.h"
#include "core/kernels/pace.h"
#include "tests/support/run_test.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SLOW 1
#endif
#endif
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#endif

enum { FACTOR = 2 };
static const double SLACK = 0.25; /* seconds of tolerance: start-up and the noise of the clock dominate short runs */

struct sweep {
    const char *kind;
    struct config_setting settings[14];
};

#define LEARNER(name)                                                                                                  \
    {                                                                                                                  \
        "dictionary",                                                                                                  \
        {                                                                                                              \
            {"learner", name}, {"features", "1024"}, {"inputs", "96"}, {"width", "256"}, {"seeds", "1"},               \
                {"total_samples", "30000"}, {"alternations", "10"}, {"test_samples", "1000"},                          \
            {                                                                                                          \
                "pursuit_samples", "0"                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

static const struct sweep sweeps[] = {
    LEARNER("l1"),
    LEARNER("topk"),
    LEARNER("batchtopk"),
    LEARNER("jumprelu"),
    LEARNER("matryoshka"),
    LEARNER("matching-pursuit"),
    LEARNER("fista"),
    {"dictionary",
     {{"learner", "fista"},
      {"source", "iid"},
      {"features", "500"},
      {"inputs", "0"},
      {"active", "10"},
      {"width", "0"},
      {"l0", "10"},
      {"seeds", "1"},
      {"batch", "64"},
      {"test_samples", "1000"},
      {"total_samples", "20000"},
      {"alternations", "4"},
      {"pursuit_samples", "200"}}},
    {"dictionary",
     {{"zipf", "2"},
      {"features", "256"},
      {"roots", "0"},
      {"inputs", "128"},
      {"width", "0"},
      {"l0", "10"},
      {"seeds", "1"},
      {"total_samples", "40000"},
      {"test_samples", "1000"},
      {"pursuit_samples", "0"}}},
    {"dictionary",
     {{"source", "iid"},
      {"features", "32"},
      {"inputs", "16"},
      {"width", "32"},
      {"l0", "3"},
      {"seeds", "5"},
      {"learner", "l1"},
      {"distinct", "50000"},
      {"total_samples", "400000"},
      {"test_samples", "2000"},
      {"pursuit_samples", "0"}}},
    {"superposition", {{"model", "rug"}, {"n_s", "65536"}, {"p", "0.2"}, {"ratio", "0.1"}, {"test_samples", "20"}}},
    {"superposition", {{"model", "rug"}, {"n_s", "32768"}, {"p", "1e-2"}, {"ratio", "0.1"}, {"test_samples", "4000"}}},
    {"superposition", {{"model", "rug"}, {"n_s", "8192"}, {"p", "0.1"}, {"ratio", "0.8"}, {"test_samples", "400"}}},
    {"superposition",
     {{"n_s", "256"},
      {"p", "0.26"},
      {"ratio", "0.45"},
      {"stop", "never"},
      {"total_samples", "4000"},
      {"test_samples", "1000"}}},
    {"superposition",
     {{"n_s", "1024"},
      {"ratio", "0.5"},
      {"stop", "never"},
      {"batch", "256"},
      {"total_samples", "4000"},
      {"test_samples", "1000"}}},
    {"superposition", {{"n_s", "512"}, {"n_d", "130"}, {"stop", "never"}, {"total_samples", "60000"}}},
    {"superposition", {{"n_s", "16"}, {"n_d", "8"}, {"stop", "never"}, {"total_samples", "400000"}}},
    {"pathways", {{"trials", "20"}, {"draws", "5"}}},
    {"environments", {{"updates", "200"}, {"samples", "50"}, {"test_samples", "50"}, {"baseline", "l2-changes"}}},
    {"environments", {{"updates", "200"}, {"samples", "50"}, {"test_samples", "20000"}, {"baseline", "pooled"}}},
    {"environments",
     {{"updates", "200"}, {"samples", "50"}, {"test_samples", "5000"}, {"inputs", "64"}, {"encoder", "mlp"}}},
    {"factors", {{"rows", "200"}, {"epochs", "20"}, {"restarts", "1"}}},
};

static double process_seconds(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double run_seconds(const struct method *method, const void *config)
{
    struct run_env_plan plan = {.method = method, .config = config, .threads = 1};
    struct run_env_witness witness;
    int steps;
    double begun = process_seconds();
    assert_ok(run_env_run(&plan, &witness, &steps, err));
    return process_seconds() - begun;
}

static void predictions_of_sweeps_hold_within_a_factor_of_two(void **state)
{
    enum { SWEEPS = sizeof sweeps / sizeof sweeps[0] };
    double before = kernels_pace(kernels_best()), took[SWEEPS], work[SWEEPS];
    bool held = true;
    (void)state;
    for (size_t i = 0; i < SWEEPS; i++) {
        const struct method *method = method_find(sweeps[i].kind);
        struct method_estimate estimate = {0};
        void *config = calloc(1, method->config.struct_bytes);
        assert_non_null(config);
        run_test_configure(method, config, sweeps[i].settings);
        assert_ok(method_estimate(method, config, NULL, &estimate, err));
        assert_true(estimate.gflops > 0);
        work[i] = estimate.flops_per_sample * (double)estimate.samples / (estimate.gflops * 1e9);
        took[i] = run_seconds(method, config);
        free(config);
    }
    /* Other programs can slow the machine down for the moment in which its pace is measured, so it is measured twice.
     */
    double pace = fmax(before, kernels_pace(kernels_best()));
    assert_true(pace > 0);
    for (size_t i = 0; i < SWEEPS; i++) {
        double predicted = work[i] / pace;
        printf("%s %s=%s: %.3f s, predicted %.3f s\n", sweeps[i].kind, sweeps[i].settings[0].field,
               sweeps[i].settings[0].value, took[i], predicted);
        held = held && took[i] < FACTOR * predicted + SLACK && predicted < FACTOR * took[i] + SLACK;
    }
    printf("pace %.2f\n", pace);
    assert_true(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(predictions_of_sweeps_hold_within_a_factor_of_two)};
#ifdef SLOW
    (void)tests;
    return 77;
#else
    return cmocka_run_group_tests_name("predictions", tests, NULL, NULL);
#endif
}
