/* Runs a method with several numbers of threads and with pauses, and compares the results byte by byte (run_test.h). */
#include "tests/support/unit.h"
#include "tests/support/run_test.h"

void run_test_configure(const struct method *method, void *config, const struct config_setting *settings)
{
    memset(config, 0, method->config.struct_bytes);
    assert_ok(config_defaults(&method->config, config, err));
    assert_ok(config_apply(&method->config, config, settings, err));
}

void run_test_vary(const struct config_setting *settings, const char *field, const char *value,
                   struct config_setting out[RUN_TEST_SETTINGS])
{
    int count = 0;
    for (; settings[count].field; count++) {
        assert_true(count + 2 < RUN_TEST_SETTINGS);
        out[count] = settings[count];
    }
    out[count] = (struct config_setting){field, value};
    out[count + 1] = (struct config_setting){NULL, NULL};
}

struct method_run *run_test_start(const struct method *method, struct run_env *environment, const void *config)
{
    struct method_run *run = NULL;
    assert_ok(method->create(config, &environment->env, &run, err));
    return run;
}

int run_test_through(const struct run_test *test, const struct config_setting *settings, int threads, int every,
                     void *context, struct run_env_witness *same)
{
    int steps;
    void *config = malloc(test->method->config.struct_bytes);
    const struct run_env_plan plan = {test->method, config, test->data, threads, every, test->look, context};
    assert_non_null(config);
    run_test_configure(test->method, config, settings);
    assert_ok(run_env_run(&plan, same, &steps, err));
    free(config);
    return steps;
}

void run_test_bits(const struct run_test *test, const struct config_setting *const *settings, size_t count,
                   int64_t least_artifacts)
{
    /* number of threads, and number of steps between pauses (0: no pauses) */
    static const int others[][2] = {{3, 0}, {2, 1}, {1, 7}};
    const struct run_test without_look = {test->method, test->data, NULL};
    for (size_t i = 0; i < count; i++) {
        struct run_env_witness one, other;
        run_test_through(&without_look, settings[i], 1, 0, NULL, &one);
        assert_true(one.metrics > 0 && one.artifacts >= least_artifacts);
        for (size_t j = 0; j < sizeof others / sizeof others[0]; j++) {
            run_test_through(&without_look, settings[i], others[j][0], others[j][1], NULL, &other);
            assert_memory_equal(&one, &other, sizeof one);
        }
    }
}

enum { NAMES = 512 };

static void keep_field(void *context, const char *field, const char *detail)
{
    char *names = context;
    size_t length = strlen(names);
    snprintf(names + length, NAMES - length, "%s ", field);
}

/* Writes the fields that check() names, each between two spaces. */
static void faults_of(const struct method *method, const void *config, char names[NAMES])
{
    struct method_faults faults = {names, keep_field};
    strcpy(names, " ");
    method->check(config, &faults);
}

void run_test_faults(const struct method *method, const struct run_test_wrong *wrong, size_t count)
{
    void *config = malloc(method->config.struct_bytes);
    assert_non_null(config);
    for (size_t i = 0; i < count; i++) {
        char names[NAMES], wanted[64];
        run_test_configure(method, config, wrong[i].setting);
        faults_of(method, config, names);
        snprintf(wanted, sizeof wanted, " %s ", wrong[i].field);
        if (!strstr(names, wanted))
            fail_msg("case %zu: not%sbut%s", i, wanted, names);
    }
    free(config);
}

void run_test_presets(const struct method *method)
{
    void *config = malloc(method->config.struct_bytes);
    assert_non_null(config);
    for (size_t i = 0; i < method->preset_count; i++) {
        struct method_estimate estimate;
        char names[NAMES];
        run_test_configure(method, config, method->presets[i].settings);
        faults_of(method, config, names);
        assert_string_equal(names, " ");
        assert_ok(method->estimate(config, NULL, &estimate, err));
        assert_true(estimate.memory_bytes > 0 && estimate.memory_bytes < (int64_t)1 << 31 && estimate.samples > 0);
    }
    free(config);
}
