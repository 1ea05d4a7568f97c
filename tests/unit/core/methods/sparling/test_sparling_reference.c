/* Tests that a run on uploaded data trains the reference on its own division, and compares it with its model. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/run_state.h"
#include "tests/support/run_env.h"
#include "tests/support/stored_set.h"

static char root[] = "/tmp/motifd-reference-XXXXXX";
enum { RECORDS = 400, BASES = 30 };

/* Every second sequence has the word TATACG and the label "bound"; the others have no label. */
static int setup(void **state)
{
    static char text[RECORDS * (BASES + 20)];
    char path[96], *to = text;
    struct error err = {0};
    struct philox from = philox_stream(5, 5, 5);
    if (!mkdtemp(root))
        return -1;
    for (int i = 0; i < RECORDS; i++) {
        to += sprintf(to, ">r%d%s\n", i, i % 2 ? " bound" : "");
        for (int j = 0; j < BASES; j++)
            *to++ = "ACGT"[philox_u32(&from, (uint64_t)(i * BASES + j)) % 4];
        if (i % 2)
            memcpy(to - BASES + i % 23, "TATACG", 6);
        *to++ = '\n';
    }
    snprintf(path, sizeof path, "%s/set", root);
    if (stored_set(path, "fasta", text, &err))
        return -1;
    snprintf(path, sizeof path, "%s/set/sha256", root);
    FILE *file = fopen(path, "wb");
    fputs("77", file);
    return fclose(file);
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void look(void *context, struct method_run *run)
{
    const struct reference_figures *r = &run->evaluation.reference;
    const struct evaluation_row *row = &run->evaluation.row[run->evaluation.rows - 1];
    assert_int_equal(r->samples, row->test_samples);
    if (!(r->exact > 0.9 && r->e2ee <= 1 - r->exact && r->seconds > 0))
        fail_msg("exact %g, e2ee %g", r->exact, r->e2ee);
    assert_int_equal(r->letters, 1);
    /* the samples that only one of the models has right explain the difference of their accuracies */
    assert_int_equal(r->label.reference - r->label.model, lround((r->exact - row->exact) * (double)r->samples));
    assert_true(r->label.reference >= r->names[0].reference); /* a repeated name makes a label wrong, not the name */
    assert_null(r->pass);
    const struct marked_evidence *m = &run->evaluation.marked;
    assert_null(m->pass);
    assert_int_equal(m->samples, row->test_samples);
    /* Each input with the name counts once. */
    int64_t counted = m->names[0].model.inputs + m->names[0].unread + m->names[0].unmarked;
    assert_true(counted > m->samples / 3 && counted < m->samples);
    assert_true(m->names[0].reference.inputs <= m->names[0].model.inputs);
    ++*(int *)context;
}

static void the_reference_is_trained_on_the_same_division(void **state)
{
    static const struct config_setting settings[] = {{"domain", "dataset"},
                                                     {"dataset_name", "set"},
                                                     {"dataset_test", "0.3"},
                                                     {"dataset_validation", "0.2"},
                                                     {"dataset_fit", "true"},
                                                     {"reference", "true"},
                                                     {"width", "8"},
                                                     {"units", "1"},
                                                     {"channels", "16"},
                                                     {"layers", "1"},
                                                     {"heads", "2"},
                                                     {"feed_forward", "32"},
                                                     {"lstm", "false"},
                                                     {"batch", "4"},
                                                     {"pool", "4"},
                                                     {"batch_norm", "plain"},
                                                     {"validation_every", "16"},
                                                     {"checkpoint_every", "16"},
                                                     {"total_samples", "32"},
                                                     {"stage_samples", "0"},
                                                     {NULL, NULL}};
    struct sparling_config c = {0};
    struct run_env_witness one, two;
    struct error err = {0};
    int looked = 0, steps;
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &c, settings, NULL), STATUS_OK);
    if (sparling_method.resolve(&c, NULL, root, &err))
        fail_msg("%s %s", err.pointer, err.message);
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 1, .look = look, .context = &looked};
    if (run_env_run(&plan, &one, &steps, &err))
        fail_msg("%s %s", err.pointer, err.message);
    plan.threads = 3;
    /* The run is loaded while the marks are tested, which needs the reference, and while the reference is trained: it
     * is trained again. The last steps test the marks of one input each. */
    const int every[] = {steps - 2, steps - (int)c.test_samples - 2};
    for (int i = 0; i < 2; i++) {
        plan.every = every[i];
        if (run_env_run(&plan, &two, &steps, &err))
            fail_msg("%s %s", err.pointer, err.message);
        assert_memory_equal(one.state, two.state, sizeof one.state);
    }
    assert_int_equal(looked, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_reference_is_trained_on_the_same_division)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
