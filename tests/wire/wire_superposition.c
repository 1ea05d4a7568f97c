/* Tests the method superposition over HTTP: its page, dry runs of its presets, a job with its pictures, a query,
 * and a pause. */
#include "tests/wire/kind.h"

static void the_kind_page_lists_presets_that_dry_run(void **state)
{
    assert_kind("superposition", 4);
    assert_refused("{\"kind\":\"superposition\",\"config\":{\"model\":\"rug\",\"n_s\":100,\"p\":0}}", "/config/p");
}

static void a_finished_job_has_pictures_and_answers_queries(void **state)
{
    static const char *const names[] = {"loss",    "analytic_loss", "linear_loss", "bayes_bound", "a",       "b",
                                        "sigma",   "diagonal_mean", "diagonal_sd", "bias_mean",   "bias_sd", "lyapunov",
                                        "dropped", "seed",          "samples",     "seconds",     NULL};
    char id[JOB_ID], path[256];
    struct reply reply;
    submit(served.url,
           "{\"kind\":\"superposition\",\"config\":{\"n_s\":64,\"ratio\":0.5,\"batch\":64,\"total_samples\":3000,"
           "\"test_samples\":500,\"stop\":\"never\"}}",
           id);
    await_state(served.url, id, "succeeded");
    assert_result(id, names, 19);
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    const cJSON *half = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(result, "curve"), 9);
    assert_true(json_number(half, "ratio") == 0.5);
    assert_true(json_number(half, "analytic_loss") == json_number(result, "analytic_loss"));
    reply_close(&reply);
    assert_begins(id, "/artifacts/matrix.png", "\x89PNG");
    assert_begins(id, "/artifacts/features.csv", "panel,series,x,y,low,high,value\n");
    assert_predicts(id, "{\"inputs\":[{\"sample\":{\"seed\":3}}]}", "\"expected_loss\"");
    assert_checkpoint_names(id, "\"decoder\"");
}

static void a_pause_does_not_change_the_result(void **state)
{
    static const char *const names[] = {"loss", "diagonal_mean", NULL};
    assert_pause_changes_nothing(
        "{\"kind\":\"superposition\",\"config\":{\"n_s\":64,\"batch\":64,\"total_samples\":200000,"
        "\"test_samples\":500,\"stop\":\"never\",\"checkpoint_every\":1000}}",
        names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_page_lists_presets_that_dry_run),
        cmocka_unit_test(a_finished_job_has_pictures_and_answers_queries),
        cmocka_unit_test(a_pause_does_not_change_the_result),
    };
    return cmocka_run_group_tests(tests, serve, stop_serving);
}
