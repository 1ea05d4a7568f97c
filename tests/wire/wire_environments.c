/* Tests the method environments over HTTP: its page, dry runs of its presets, a job with its picture, a query, and a
 * pause. */
#include "tests/wire/kind.h"

static void the_kind_page_lists_presets_that_dry_run(void **state)
{
    assert_kind("environments", 2);
    assert_refused("{\"kind\":\"environments\",\"config\":{\"unseen\":31,\"noise\":-1}}", "/config/noise");
}

static void a_finished_job_has_a_picture_and_answers_queries(void **state)
{
    static const char *const names[] = {"mcc",       "mse",  "mse_unseen", "changes_found", "changes_true",
                                        "linear_r2", "seed", "samples",    "seconds",       NULL};
    char id[JOB_ID];
    submit(served.url,
           "{\"kind\":\"environments\",\"config\":{\"depth\":3,\"updates\":100,\"batch\":64,\"samples\":50,"
           "\"inputs\":7,\"unseen\":1}}",
           id);
    await_state(served.url, id, "succeeded");
    assert_result(id, names, -1);
    assert_begins(id, "/artifacts/tree.png", "\x89PNG");
    assert_predicts(id, "{\"inputs\":[{\"sample\":{\"seed\":3}},{\"array\":[1,2,3,4,5,6,7]}]}", "\"outcome\"");
    assert_checkpoint_names(id, "heads.changes");
}

static void a_pause_does_not_change_the_result(void **state)
{
    static const char *const names[] = {"mse", NULL};
    assert_pause_changes_nothing("{\"kind\":\"environments\",\"config\":{\"updates\":1500,\"checkpoint_every\":50000}}",
                                 names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_page_lists_presets_that_dry_run),
        cmocka_unit_test(a_finished_job_has_a_picture_and_answers_queries),
        cmocka_unit_test(a_pause_does_not_change_the_result),
    };
    return cmocka_run_group_tests(tests, serve, stop_serving);
}
