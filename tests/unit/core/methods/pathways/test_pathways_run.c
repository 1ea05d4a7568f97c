/* Tests runs of pathways: batches, results, presets, faults,
 * estimates. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/registry.h"
#include "core/methods/pathways/run_int.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"

static const struct method *const method = &pathways_method;

static void configure(struct pathways_config *config, const struct config_setting *settings)
{
    run_test_configure(method, config, settings);
}

struct outcome {
    struct run_env_witness same;
    int64_t trials, batches, cases;
    int steps;
    struct curve first;
    struct scaling_fit fit[4];
};

static void take_outcome(void *context, struct method_run *run)
{
    struct outcome *out = context;
    out->trials = run->trials;
    out->batches = run->batches;
    out->cases = run->cases;
    out->first = run->curves[0];
    for (int g = 0; g < 4; g++)
        out->fit[g] = pathways_fit(run, g, SCALING_MEASURED);
}

static const struct run_test test = {&pathways_method, NULL, take_outcome};

static void run_through(const struct config_setting *settings, int threads, int every, struct outcome *out)
{
    out->steps = run_test_through(&test, settings, threads, every, out, &out->same);
}

static void short_runs_count_batches_and_draw_charts(void **state)
{
    static const struct config_setting *const settings[] = {pathways_small, pathways_deep};
    for (int i = 0; i < 2; i++) {
        struct outcome one;
        run_through(settings[i], 1, 0, &one);
        assert_true(one.batches > 10 && one.same.metrics > 20);
        assert_int_equal(one.same.artifacts, 4);
    }
}

static void recovery_falls_with_non_zeros_and_scales_with_coherence(void **state)
{
    static const struct config_setting settings[] = {{"filters", "2"},   {"filter_length", "512"}, {"length", "4096"},
                                                     {"points", "6"},    {"trials", "300"},        {"draws", "10"},
                                                     {"sweep", "signs"}, {"sizes", "5"},           {NULL, NULL}};
    struct outcome out;
    run_through(settings, 2, 0, &out);
    assert_int_equal(out.cases, 20);
    assert_true(out.first.points >= 4);
    int last = (int)out.first.points - 1;
    assert_true(point_share(&out.first.point[0]) > 0.9 && point_share(&out.first.point[last]) < 0.1);
    assert_int_equal((int64_t)out.first.point[0].draws, 300);
    assert_int_equal((int64_t)out.first.point[0].codes, 30);
    double s95 = curve_crossing(&out.first, 0.95, false), s50 = curve_crossing(&out.first, 0.5, false);
    assert_true(s95 < s50 && s95 * out.first.coherence[0] * out.first.coherence[0] > 0.3);
    assert_true(isnan(curve_crossing(&out.first, 1.5, false)));
    /* with random signs, the largest recoverable sparsity grows about like mu^-2, where mu is the coherence */
    assert_true(out.fit[0].slope > 1.6 && out.fit[0].slope < 2.6);
    /* with adversarial signs, the largest recoverable sparsity grows more slowly, about like mu^-1 */
    assert_true(out.fit[2].slope > 0.6 && out.fit[2].slope < 1.7);
    /* with adversarial signs on the worst support, the largest recoverable sparsity grows like mu^-1 */
    assert_true(out.fit[3].slope > 0.7 && out.fit[3].slope < 1.3);
    assert_true(out.fit[3].slope < out.fit[2].slope && out.fit[2].slope < out.fit[0].slope);
    assert_true(out.fit[0].low < out.fit[0].slope && out.fit[0].slope < out.fit[0].high);
}

static void evaluation_and_warm_start_use_the_same_filters(void **state)
{
    struct run_env environment;
    struct pathways_config config;
    struct method_run *a = NULL, *b = NULL;
    enum method_request request = METHOD_CONTINUE;
    static const struct config_setting settings[] = {{"filter_length", "32"}, {"length", "256"}, {"nonzeros", "1,4"},
                                                     {"trials", "40"},        {"draws", "5"},    {NULL, NULL}};
    configure(&config, settings);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    assert_ok(method->create(&config, &environment.env, &a, err));
    config.seed = 99; /* with this seed, the run would draw other filters */
    assert_ok(method->create(&config, &environment.env, &b, err));
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, a, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_memory_not_equal(a->filters[0], b->filters[0], 64 * sizeof(float));
    assert_ok(method->warm_start(b, &reader, err));
    assert_memory_equal(a->filters[0], b->filters[0], 64 * sizeof(float));
    const struct method_evaluation what = {.samples = 60, .seed = -2};
    assert_ok(method->begin_evaluation(b, &what, err));
    while (request != METHOD_DONE)
        assert_ok(method->step(b, &request, err));
    assert_int_equal(b->trials, 2 * 60);
    request = METHOD_CONTINUE;
    while (request != METHOD_DONE)
        assert_ok(method->step(a, &request, err));
    assert_true(fabs(a->curves[0].coherence[0] - b->curves[0].coherence[0]) < 1e-6);
    run_env_bytes_close(&bytes);
    method->destroy(a);
    method->destroy(b);
    run_env_close(&environment);
}

static int faults_found;
static char fault_field[64];

static void count_fault(void *context, const char *field, const char *detail)
{
    assert_non_null(config_find(&pathways_config_table, field));
    assert_true(strlen(detail) > 10);
    snprintf(fault_field, sizeof fault_field, "%s", field);
    faults_found++;
}

static int check(const struct pathways_config *config)
{
    const struct method_faults faults = {NULL, count_fault};
    faults_found = 0;
    method->check(config, &faults);
    return faults_found;
}

static void every_preset_passes_the_checks(void **state)
{
    static const char *const promised[] = {"single-layer", "two-layer", "dirac-hadamard", "signs"};
    int found = 0;
    for (size_t i = 0; i < method->preset_count; i++) {
        struct pathways_config config;
        struct method_estimate estimate;
        configure(&config, method->presets[i].settings);
        assert_int_equal(check(&config), 0);
        assert_ok(method->estimate(&config, NULL, &estimate, err));
        assert_true(estimate.samples > 1000 && estimate.flops_per_sample > 0 &&
                    estimate.memory_bytes < (int64_t)1 << 30);
        for (int j = 0; j < 4; j++)
            found += strcmp(promised[j], method->presets[i].name) == 0;
    }
    assert_int_equal(found, 4);
}

static void each_fault_names_its_field(void **state)
{
    static const struct {
        const char *field, *value, *blamed;
    } cases[] = {
        {"filter_length", "16384", "filter_length"},
        {"nonzeros", "3,2", "nonzeros"},
        {"nonzeros", "a", "nonzeros"},
        {"nonzeros", "1,", "nonzeros"},
        {"nonzeros", "999999", "nonzeros"},
        {"filters", "4096", "filters"},
        {"support", "spikes", "support"},
        {"sweep", "deep-length", "depth"},
        {"trials", "3", "draws"},
    };
    static const struct config_setting met[] = {/* two filters: a column overlaps 2 * (2 * 8 - 1) - 1 = 29 others */
                                                {"filter_length", "8"},
                                                {"length", "512"},
                                                {"support", "worst"},
                                                {"nonzeros", "29"},
                                                {NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config_setting one[] = {{cases[i].field, cases[i].value}, {NULL, NULL}};
        struct pathways_config config;
        configure(&config, one);
        assert_true(check(&config) >= 1);
        assert_string_equal(fault_field, cases[i].blamed);
    }
    static const struct config_setting bad[] = {
        {"dictionary", "dirac-hadamard"}, {"filter_length", "1000"}, {"depth", "2"}, {NULL, NULL}};
    struct pathways_config config;
    configure(&config, bad);
    assert_true(check(&config) >= 2);
    configure(&config, met);
    assert_int_equal(check(&config), 1);
    assert_string_equal(fault_field, "nonzeros");
    assert_ok(config_apply(&pathways_config_table, &config,
                           (const struct config_setting[]){{"nonzeros", "28"}, {NULL, NULL}}, err));
    assert_int_equal(check(&config), 0);
}

static void estimates_grow_with_trials(void **state)
{
    struct pathways_config config;
    struct method_estimate estimate;
    struct outcome out;
    configure(&config, pathways_deep);
    assert_ok(method->estimate(&config, NULL, &estimate, err));
    run_through(pathways_deep, 1, 0, &out);
    assert_int_equal(estimate.samples, out.trials);
    assert_true(estimate.checkpoint_bytes > out.same.bytes / 2 && estimate.checkpoint_bytes < 4 * out.same.bytes);
}

static void inconsistent_checkpoints_are_refused(void **state)
{
    struct run_env environment;
    struct pathways_config config;
    struct method_run *run = NULL, *other = NULL;
    configure(&config, pathways_small);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    assert_ok(method->create(&config, &environment.env, &run, err));
    assert_ok(method->create(&config, &environment.env, &other, err));
    for (int fault = 0; fault < 4; fault++) {
        struct run_env_bytes bytes = {0};
        struct error error = {0};
        run->phase = fault == 0 ? 7 : PHASE_MEASURE;
        run->at_case = fault == 1 ? run->cases : 0;
        run->curves[0].points = fault == 2 ? 1e9 : 2;
        run->curves[0].point[0].nonzeros = 1;
        run->curves[0].point[1].nonzeros = fault == 3 ? 1e9 : 2;
        assert_ok(run_env_save(method, run, &bytes, err));
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_int_equal(method->load(other, &reader, &error), STATUS_CORRUPT);
        run_env_bytes_close(&bytes);
    }
    method->destroy(run);
    method->destroy(other);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_runs_count_batches_and_draw_charts),
        cmocka_unit_test(recovery_falls_with_non_zeros_and_scales_with_coherence),
        cmocka_unit_test(evaluation_and_warm_start_use_the_same_filters),
        cmocka_unit_test(every_preset_passes_the_checks),
        cmocka_unit_test(each_fault_names_its_field),
        cmocka_unit_test(estimates_grow_with_trials),
        cmocka_unit_test(inconsistent_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
