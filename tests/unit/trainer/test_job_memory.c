/* Tests that a run allocates as much memory as its estimate says. --job-memory counts allocated bytes, so a run that
 * allocates more than it writes could be stopped although its estimate is within the limit. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/method.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "trainer/job_memory.h"

/* The configuration that `memory_peaks --kind sparling --seed 131001 --only 27` draws. Its tables of attention are
 * large, although it computes one input at a time. */
static const struct config_setting large_tables[] = {{"image_size", "69"},
                                                     {"classes", "3"},
                                                     {"min_symbols", "1"},
                                                     {"max_symbols", "2"},
                                                     {"shift", "1"},
                                                     {"margin", "8"},
                                                     {"min_radius", "5"},
                                                     {"max_radius", "6"},
                                                     {"validation_every", "1"},
                                                     {"validation_samples", "8"},
                                                     {"checkpoint_every", "57"},
                                                     {"test_samples", "8"},
                                                     {"motif_samples", "8"},
                                                     {"stage_samples", "4"},
                                                     {"curriculum", "0"},
                                                     {"density_start", "0.05"},
                                                     {"width", "60"},
                                                     {"units", "1"},
                                                     {"narrow_units", "0"},
                                                     {"batch", "1"},
                                                     {"accumulate_elements", "7"},
                                                     {"hold_below", "1"},
                                                     {"total_samples", "4"},
                                                     {"channels", "64"},
                                                     {"layers", "3"},
                                                     {"feed_forward", "23"},
                                                     {"heads", "1"},
                                                     {"pool", "2"},
                                                     {"single_samples", "8"},
                                                     {"motifs", "7"},
                                                     {NULL, NULL}};

static void run_with_large_attention_tables_allocates_what_its_estimate_says(void **state)
{
    const struct method *m = method_find("sparling");
    void *config = calloc(1, m->config.struct_bytes);
    assert_non_null(config);
    assert_ok(config_defaults(&m->config, config, err));
    assert_ok(config_apply(&m->config, config, large_tables, err));
    double estimated[2];
    for (int threads = 2; threads <= 8; threads += 6) {
        char value[8];
        struct method_estimate estimate;
        struct run_env_witness witness;
        struct job_memory memory = {0};
        int steps;
        snprintf(value, sizeof value, "%d", threads);
        assert_ok(config_parse(config_find(&m->config, "threads"), config, value, err));
        assert_ok(method_resolve(m, config, NULL, NULL, err));
        assert_ok(method_estimate(m, config, NULL, &estimate, err));
        job_memory_begin(&memory, 0);
        assert_ok(run_env_run(&(struct run_env_plan){.method = m, .config = config, .threads = threads}, &witness,
                              &steps, err));
        job_memory_end();
        double bytes = (double)memory.peak;
        estimated[threads > 2] = (double)estimate.memory_bytes;
        print_message("%d threads: %.1f MB allocated, %.1f MB estimated\n", threads, bytes / 1e6,
                      (double)estimate.memory_bytes / 1e6);
        assert_true(fabs(bytes - (double)estimate.memory_bytes) <= 0.25 * fmax(bytes, (double)estimate.memory_bytes));
    }
    assert_true(estimated[1] - estimated[0] < 0.1 * estimated[0]);
    free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_with_large_attention_tables_allocates_what_its_estimate_says),
    };
    return cmocka_run_group_tests_name("job_memory", tests, NULL, NULL);
}
