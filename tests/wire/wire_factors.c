/* Tests the method factors over HTTP: its page, dry runs of its presets, a job with its picture, a query, and a
 * pause. */
#include "tests/wire/kind.h"

static void the_kind_page_lists_presets_that_dry_run(void **state)
{
    assert_kind("factors", 2);
    assert_refused("{\"kind\":\"factors\",\"config\":{\"rho\":1,\"lambda0\":0.1}}", "/config/rho");
}

static void a_finished_job_has_a_picture_and_answers_queries(void **state)
{
    static const char *const names[] = {"mse", "dci", "columns_used", "support_f1", "seed", "samples", "seconds", NULL};
    char id[JOB_ID];
    submit(served.url, "{\"kind\":\"factors\",\"config\":{\"rho\":0.5,\"rows\":200,\"epochs\":5,\"restarts\":2}}", id);
    await_state(served.url, id, "succeeded");
    assert_result(id, names, -1);
    assert_begins(id, "/artifacts/mask.png", "\x89PNG");
    assert_predicts(id, "{\"inputs\":[{\"sample\":{\"seed\":3}},{\"array\":[1,2,3,4,5,6,7]}]}", "\"fed_by\"");
    assert_checkpoint_names(id, "\"mask\"");
}

static void a_pause_does_not_change_the_result(void **state)
{
    static const char *const names[] = {"mse", NULL};
    assert_pause_changes_nothing(
        "{\"kind\":\"factors\",\"config\":{\"restarts\":3,\"rows\":400,\"epochs\":100,\"checkpoint_every\":5000}}",
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
