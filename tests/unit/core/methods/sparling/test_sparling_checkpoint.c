/* Tests checkpoints of SPARLING: warm start, evaluation jobs, estimated sizes, non-finite numbers, damaged streams. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "tests/support/tiny_sparling.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct method *const method = &sparling_method;

static void warm_start_takes_weights_only(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct run_env_bytes bytes = {0}, copy = {0};
    char from[65], to[65];
    tiny_checkpoint(&config, &environment, &bytes);
    config.seed = 9;
    config.density_start = 0.3;
    struct method_run *run = tiny_start(&environment, &config);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->warm_start(run, &reader, err));
    assert_int_equal(run->updates, 0);
    assert_int_equal(run->samples, 0);
    assert_near(run->annealer.density, 0.3, 0);
    assert_ok(run_env_save(method, run, &copy, err));
    assert_ok(run_env_weights_hash(&bytes, from, err));
    assert_ok(run_env_weights_hash(&copy, to, err));
    assert_string_equal(from, to);
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_bytes_close(&copy);
    run_env_close(&environment);
}

/* An evaluation job evaluates the samples that its request names (here 7 samples of set -1), at the density of the
 * checkpoint. */
static void evaluation_job_uses_its_seed(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct run_env_bytes bytes = {0};
    struct method_evaluation what = {7, -1};
    tiny_checkpoint(&config, &environment, &bytes);
    struct method_run *run = tiny_start(&environment, &config);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->load(run, &reader, err));
    int64_t updates = run->updates;
    assert_ok(method->begin_evaluation(run, &what, err));
    for (enum method_request request = METHOD_CONTINUE; request != METHOD_DONE;)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_int_equal(run->updates, updates);
    assert_int_equal(run->evaluation.rows, 1);
    assert_int_equal(run->evaluation.row[0].motif_samples, 7);
    assert_int_equal(run->evaluation.errors.samples, 7);
    int64_t truths = 0, drawn = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++)
            truths += run->evaluation.errors.boxes[i * 5 + j];
    struct digitcircle domain = digitcircle_of(&config.digitcircle);
    for (int i = 0; i < 7; i++) {
        float image[TINY_SIZE * TINY_SIZE];
        struct digitcircle_truth truth;
        digitcircle_sample(&domain, -1, i, image, &truth);
        drawn += truth.count;
    }
    assert_int_equal(truths, drawn);
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

static void poison(struct run_env_bytes *bytes, const char *name, float value)
{
    struct snapshot_entry *entries;
    size_t count;
    struct snapshot_reader reader = run_env_reader(bytes);
    assert_ok(snapshot_contents(&reader, &entries, &count, err));
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0) {
            memcpy(bytes->data + entries[i].offset + 4, &value, sizeof value);
            found = true;
        }
    assert_true(found);
    free(entries);
}

/* Compares the estimate of a dry run with the memory of a run after an update. */
static void memory_stays_near_the_estimate(void **state)
{
    static const struct config_setting light[] = {{NULL, NULL}};
    static const struct config_setting heavy[] = {{"image_size", "80"}, {"min_radius", "12"}, {"width", "24"},
                                                  {"units", "3"},       {"layers", "3"},      {"channels", "96"},
                                                  {"pool", "4"},        {"batch", "6"},       {NULL, NULL}};
    const struct config_setting *const variants[] = {light, heavy};
    for (int i = 0; i < 2; i++) {
        struct run_env environment;
        struct sparling_config config;
        struct method_estimate estimate;
        struct run_env_bytes bytes = {0};
        enum method_request request;
        tiny_configure(&config, variants[i]);
        assert_ok(method->estimate(&config, NULL, &estimate, err));
        assert_ok(run_env_open(&environment, 1, NULL, err));
        struct method_run *run = tiny_start(&environment, &config);
        for (int j = 0; j < 2; j++)
            assert_ok(run_env_step(&environment, method, run, &request, err));
        double held = (double)run->arena.peak_bytes + 16.0 * (double)params_count(run->network->params);
        double promised = (double)estimate.memory_bytes, constant = 16 << 20;
        if (held > 1.1 * promised || promised - constant > 1.6 * held)
            fail_msg("variant %d: %.1f MB promised, %.1f MB held", i, promised / 1e6, held / 1e6);
        assert_ok(run_env_save(method, run, &bytes, err));
        assert_near((double)estimate.checkpoint_bytes / (double)bytes.count, 1, 0.3);
        run_env_bytes_close(&bytes);
        method->destroy(run);
        run_env_close(&environment);
    }
}

static void weight_that_is_not_finite_stops_the_run(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct run_env_bytes bytes = {0}, again = {0};
    struct error err = {0};
    enum method_request request;
    tiny_checkpoint(&config, &environment, &bytes);
    poison(&bytes, "h.out.bias", NAN);
    struct method_run *run = tiny_start(&environment, &config);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(run, &reader, &err), STATUS_OK);
    /* A run with a weight that is not finite is not saved. */
    assert_int_equal(run_env_save(method, run, &again, &err), STATUS_NUMERIC);
    error_clear(&err);
    assert_int_equal(method->step(run, &request, &err), STATUS_NUMERIC);
    assert_non_null(strstr(err.message, "step 4"));
    assert_non_null(strstr(err.message, "h.out.bias"));
    char good[64];
    snprintf(good, sizeof good, "checkpoint is %lld", (long long)environment.list[environment.count - 1].info.seq);
    assert_non_null(strstr(err.message, good));
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_bytes_close(&again);
    run_env_close(&environment);
}

/* The loss is a finite float, but its gradient is not. */
static void gradient_that_is_not_finite_stops_the_run(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct run_env_bytes bytes = {0};
    struct error err = {0};
    enum method_request request;
    tiny_checkpoint(&config, &environment, &bytes);
    poison(&bytes, "h.out.weight", 1e37F);
    struct method_run *run = tiny_start(&environment, &config);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(run, &reader, &err), STATUS_OK);
    assert_int_equal(method->step(run, &request, &err), STATUS_NUMERIC);
    assert_non_null(strstr(err.message, "gradient is not finite at step 4"));
    assert_non_null(strstr(err.message, "checkpoint is "));
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

static void damaged_streams_are_refused(void **state)
{
    struct run_env environment;
    struct sparling_config config, wider;
    struct run_env_bytes bytes = {0};
    struct error err = {0};
    tiny_checkpoint(&config, &environment, &bytes);
    wider = config;
    wider.width = 12;
    struct method_run *run = tiny_start(&environment, &wider);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(run, &reader, &err), STATUS_CORRUPT);
    method->destroy(run);
    error_clear(&err);
    bytes.count /= 2;
    run = tiny_start(&environment, &config);
    reader = run_env_reader(&bytes);
    assert_int_equal(method->load(run, &reader, &err), STATUS_CORRUPT);
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

/* Streams are refused that are complete but contain states that no run writes. */
static void impossible_states_are_refused(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct error err = {0};
    tiny_configure(&config, NULL);
    assert_int_equal(run_env_open(&environment, 1, NULL, &err), STATUS_OK);
    for (int i = 0; i < 11; i++) {
        struct run_env_bytes bytes = {0};
        struct method_run *run = tiny_start(&environment, &config), *copy = tiny_start(&environment, &config);
        struct evaluation *e = &run->evaluation;
        run->at = run->plan.count - 1;
        run->activity = ACTIVITY_EVALUATE;
        e->rows = 2;
        e->part = PART_MOTIFS;
        for (int j = 0; j < 2; j++)
            e->row[j] = (struct evaluation_row){.motif_samples = 5, .test_samples = 5, .checkpoint = -1};
        switch (i) {
        case 0:
            break; /* this state is possible */
        case 1:
            run->activity = 7;
            break;
        case 2:
            e->rows = EVALUATION_MAX + 1;
            break;
        case 3:
            e->at = 2;
            break;
        case 4:
            e->part = PART_BINNING;
            break;
        case 5:
            e->position = 5;
            break;
        case 6:
            e->row[1].test_samples = -1;
            break;
        case 7:
            run->annealer.density = NAN;
            break;
        case 8:
            run->at = 0, run->activity = ACTIVITY_VALIDATE, run->validation_position = -4;
            break;
        case 9:
            run->at = run->plan.count;
            break;
        case 10:
            run->at = 0; /* this phase trains and evaluates nothing */
            break;
        }
        assert_int_equal(run_env_save(method, run, &bytes, &err), STATUS_OK);
        struct snapshot_reader reader = run_env_reader(&bytes);
        error_clear(&err);
        assert_int_equal(method->load(copy, &reader, &err), i == 0 ? STATUS_OK : STATUS_CORRUPT);
        error_clear(&err);
        run_env_bytes_close(&bytes);
        method->destroy(run);
        method->destroy(copy);
    }
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_start_takes_weights_only),
        cmocka_unit_test(evaluation_job_uses_its_seed),
        cmocka_unit_test(memory_stays_near_the_estimate),
        cmocka_unit_test(weight_that_is_not_finite_stops_the_run),
        cmocka_unit_test(gradient_that_is_not_finite_stops_the_run),
        cmocka_unit_test(damaged_streams_are_refused),
        cmocka_unit_test(impossible_states_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
