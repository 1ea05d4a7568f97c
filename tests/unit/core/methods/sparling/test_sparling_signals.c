/* Tests what a job does with uploaded signals and with a part of its training samples: the place of a spike in a long
 * window, and shares of the training samples. */

#include <math.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/domains/domain.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/made_samples.h"
#include "tests/support/run_env.h"

static char root[] = "/tmp/motifd-signals-XXXXXX";

static int setup(void **state)
{
    static struct made m;
    if (!mkdtemp(root))
        return -1;
    make(&m, COLLECTION_IMAGES, 2, 4, 6); /* all pixels of image i have the value i / COUNT */
    for (int i = 0; i < COUNT * 48; i++)
        m.c.values[i] = (float)(i / 48) / COUNT; /* NOLINT(bugprone-integer-division) */
    store(root, "plain", &m.c);
    test_free(m.c.values);
    make(&m, COLLECTION_SEQUENCES, 1, 1, 300); /* weak noise, and in samples of the first class a spike */
    for (int i = 0; i < COUNT * 300; i++)
        m.c.values[i] = (float)(i * 7 % 11) / 50 + (i / 300 % 3 == 0 && i % 300 == 50 + i / 300 * 3 ? 5.0F : 0);
    store(root, "spikes", &m.c);
    test_free(m.c.values);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static struct sparling_config configured(const char *name, const struct config_setting *more)
{
    struct sparling_config c = {0};
    struct error err = {0};
    const struct config_setting always[] = {
        {"domain", "dataset"}, {"dataset_name", name}, {"dataset_fit", "true"}, {NULL, NULL}};
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &c, always, NULL), STATUS_OK);
    if (more && config_apply(&sparling_config_table, &c, more, &err))
        fail_msg("%s %s", err.pointer, err.message);
    return c;
}

static void opened(const char *name, const struct config_setting *more, struct sparling_config *c,
                   struct open_domain *d)
{
    struct error err = {0};
    *c = configured(name, more);
    if (sparling_method.resolve(c, NULL, root, &err) || domain_open(c, root, d, &err))
        fail_msg("%s: %s", err.pointer, err.message);
}

static void draw(const struct open_domain *d, int64_t seed, int64_t index, float *planes, struct domain_truth *truth)
{
    const struct domain_request request = {.seed = seed, .index = index};
    assert_int_equal(domain_sample(d, &request, planes, truth, NULL), STATUS_OK);
}

static const struct config_setting presence[] = {{"presence_weight", "1"},
                                                 {"presence_samples", "100"},
                                                 {"batch", "2"},
                                                 {"density_by_name", "true"},
                                                 {"calibrate", "true"},
                                                 {"reading_samples", "8"},
                                                 {"width", "8"},
                                                 {"units", "1"},
                                                 {"channels", "16"},
                                                 {"heads", "2"},
                                                 {"layers", "1"},
                                                 {"total_samples", "64"},
                                                 {"validation_every", "16"},
                                                 {"validation_samples", "8"},
                                                 {"motif_samples", "4"},
                                                 {"test_samples", "4"},
                                                 {"stage_samples", "0"},
                                                 {"embed_order", "pool-then-embed"},
                                                 {"pool", "2"},
                                                 {"lstm", "false"},
                                                 {NULL, NULL}};

/* Makes channel 0 of g the input twenty positions later: a spike has its maximum twenty positions before it. */
static void plant_delay(struct network *n)
{
    params_begin_step(n->params);
    for (size_t i = 0; i < params_arrays(n->params); i++)
        if (strncmp(params_name(n->params, i), "g.", 2) == 0 && !strstr(params_name(n->params, i), "norm"))
            memset(params_array(n->params, i)->value, 0, params_array(n->params, i)->count * sizeof(real));
    n->first.w->value[n->first.w->dim[3] / 2 + 20] = 1;
    n->last.w->value[0] = 1;
    n->last.b->value[0] = R(-3.0);
}

/* Evaluates a planted model to the end, with a pause after every `every` steps, and returns the extent of channel 0. */
static struct channel_extent measured_extent(const struct sparling_config *c, int every)
{
    struct run_env host;
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    const struct method_evaluation what = {.seed = TEST_SEED, .samples = 20};
    assert_ok(run_env_open(&host, 1, NULL, err));
    host.env.data = root;
    assert_ok(sparling_method.create(c, &host.env, &run, err));
    plant_delay(run->network);
    assert_ok(sparling_method.begin_evaluation(run, &what, err));
    for (int step = 1; request != METHOD_DONE; step++) {
        run->step_seconds = 0;
        assert_ok(run_env_step(&host, &sparling_method, run, &request, err));
        if (every == 0 || step % every || request == METHOD_DONE)
            continue;
        struct run_env_bytes bytes = {0};
        assert_ok(run_env_save(&sparling_method, run, &bytes, err));
        sparling_method.destroy(run);
        assert_ok(sparling_method.create(c, &host.env, &run, err));
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(sparling_method.load(run, &reader, err));
        run_env_bytes_close(&bytes);
    }
    struct channel_extent extent = run->evaluation.extents.channel[0];
    sparling_method.destroy(run);
    run_env_close(&host);
    return extent;
}

/* The window has 187 positions and 64 cuts, so only a second pass finds the spike to a position. */
static void the_middle_of_a_spike_is_found_in_a_long_window(void **state)
{
    static const struct config_setting more[] = {
        {"units", "5"},           {"dilation", "2"},         {"first_window", "63"},
        {"presence_weight", "0"}, {"centre_motifs", "true"}, {NULL, NULL}};
    struct sparling_config c = configured("spikes", presence);
    struct error err = {0};
    assert_true(!config_apply(&sparling_config_table, &c, more, NULL) &&
                !sparling_method.resolve(&c, NULL, root, &err));
    struct channel_extent whole = measured_extent(&c, 0), paused = measured_extent(&c, 1);
    assert_true(whole.motifs > 0 && whole.col0 <= 20 && whole.col1 > 20);
    assert_int_equal((int)(floor((whole.col0 + whole.col1) / 2) + whole.right), 20);
    assert_memory_equal(&whole, &paused, sizeof whole);
}

/* Writes to part[i] in which parts sample i occurs, as a sum of 1 (training), 2 (validation) and 4 (test). */
static void parts(const struct config_setting *more, int part[COUNT])
{
    static const int64_t seeds[] = {1, -1, -2};
    struct sparling_config c;
    struct open_domain d;
    float planes[48];
    opened("plain", more, &c, &d);
    memset(part, 0, COUNT * sizeof *part);
    for (int s = 0; s < 3; s++)
        for (int64_t i = 0; i < 20 * COUNT; i++) {
            draw(&d, seeds[s], i, planes, NULL);
            part[lrintf(planes[0] * COUNT)] |= 1 << s;
        }
    domain_close(&d);
}

/* A smaller share of the training samples is a part of a larger one, and the other parts stay. With at least ten groups
 * a share has whole groups. */
static void a_share_of_the_training_samples_is_part_of_a_larger_one(void **state)
{
    static char share[3][8] = {"1", "0.5", "0.25"};
    for (int few = 0; few < 2; few++) {
        int part[3][COUNT], count[3] = {0};
        for (int k = 0; k < 3; k++)
            parts((const struct config_setting[]){{"training_share", share[k]},
                                                  {"dataset_split", "groups"},
                                                  {"dataset_test", few ? "0.4" : "0.1"},
                                                  {"dataset_validation", few ? "0.3" : "0.1"},
                                                  {NULL, NULL}},
                  part[k]);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < COUNT; i++) {
                count[k] += part[k][i] == 1;
                assert_int_equal(part[k][i] & 6, part[0][i] & 6);
                assert_true(k == 0 || part[k][i] == part[k - 1][i] || part[k][i] == 0);
                assert_true(few || part[k][i] == part[k][i / 5 * 5]);
            }
        for (int k = 1; k < 3; k++) { /* up to a whole group more */
            int wanted = (count[0] + (1 << k) - 1) >> k;
            assert_in_range(count[k], wanted, wanted + (few ? 0 : 4));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_middle_of_a_spike_is_found_in_a_long_window),
                                       cmocka_unit_test(a_share_of_the_training_samples_is_part_of_a_larger_one)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
