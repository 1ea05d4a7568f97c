/* Tests what method.h promises for every method: the same configuration gives the same bits for any number of threads,
 * and when the run pauses after any step and continues from what it saved. Runs on uploaded data are tested with their
 * method. */
#include "core/methods/method.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"

static const struct trial {
    const char *kind;
    const struct config_setting *settings, vary; /* vary: applied after the settings */
    int64_t artifacts;                           /* least number of artifacts of such a run */
} trials[] = {
    {"sparling", tiny_sparling, {NULL, NULL}, 1},
    {"dictionary", tiny_dictionary, {NULL, NULL}, 1},
    {"pathways", pathways_small, {NULL, NULL}, 4},
    {"pathways", pathways_deep, {NULL, NULL}, 4},
    {"superposition", superposition_relu, {NULL, NULL}, 2},
    {"superposition", superposition_gated, {NULL, NULL}, 2},
    {"superposition", superposition_sparse, {NULL, NULL}, 2},
    {"superposition", superposition_drawn_rug, {NULL, NULL}, 2},
    {"superposition", superposition_linear_map, {NULL, NULL}, 2},
    {"factors", factors_several, {NULL, NULL}, 2},
    {"factors", factors_several, {"model", "vsc"}, 0}, /* this model has no mask to draw */
    {"factors", factors_skip, {NULL, NULL}, 2},
    {"factors", factors_horseshoe, {NULL, NULL}, 2},
    {"factors", factors_groups, {NULL, NULL}, 2},
    {"environments", environments_every, {NULL, NULL}, 2},
    {"environments", environments_deep, {NULL, NULL}, 2},
    {"environments", environments_line, {NULL, NULL}, 2},
    {"environments",
     environments_every,
     {"baseline", "none"},
     0}, /* some baselines have no changes on the tree to draw */
    {"environments", environments_every, {"baseline", "no-penalty"}, 0},
    {"environments", environments_every, {"baseline", "independent"}, 0},
    {"environments", environments_every, {"baseline", "pooled"}, 0},
    {"environments", environments_every, {"baseline", "l1-weights"}, 0},
    {"environments", environments_every, {"baseline", "l2-changes"}, 0},
    {"environments", environments_every, {"baseline", "oracle"}, 0},
};

static void threads_and_pauses_change_no_bit(void **state)
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    for (size_t m = 0; m < count; m++) {
        const struct run_test test = {.method = methods[m]};
        int tried = 0;
        for (const struct trial *t = trials; t < trials + sizeof trials / sizeof trials[0]; t++) {
            struct config_setting all[RUN_TEST_SETTINGS];
            if (strcmp(t->kind, methods[m]->kind) != 0)
                continue;
            if (t->vary.field != NULL)
                run_test_vary(t->settings, t->vary.field, t->vary.value, all);
            const struct config_setting *settings = t->vary.field != NULL ? all : t->settings;
            print_message("%s, row %d of the table\n", t->kind, (int)(t - trials));
            run_test_bits(&test, &settings, 1, t->artifacts);
            tried++;
        }
        if (tried == 0)
            fail_msg("no run of the kind %s is tested; add one to the table", methods[m]->kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_and_pauses_change_no_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
