/* Tests the method dictionary over HTTP: its page, dry runs of its presets, a job with its latents, codes that
 * pathways judges, and a pause. */
#include <math.h>

#include "tests/wire/kind.h"

static void the_kind_page_lists_presets_that_dry_run(void **state)
{
    assert_kind("dictionary", 6);
    assert_refused("{\"kind\":\"dictionary\",\"preset\":\"dataset\"}", "/config/dataset_name");
    assert_refused("{\"kind\":\"dictionary\",\"config\":{\"learner\":\"lasso\"}}", "/config/learner");
    assert_refused("{\"kind\":\"dictionary\",\"config\":{\"l0\":0}}", "/config/l0");
}

static void a_finished_job_lists_its_latents(void **state)
{
    static const char *const names[] = {"mcc",       "f1",    "explained_variance", "pw_mcc",  "l0",      "loss",
                                        "recurring", "worth", "overlap_omp",        "samples", "seconds", NULL};
    char id[JOB_ID];
    submit(served.url,
           "{\"kind\":\"dictionary\",\"config\":{\"features\":40,\"inputs\":8,\"roots\":2,\"width\":16,\"l0\":2,"
           "\"batch\":64,\"total_samples\":6400,\"test_samples\":500,\"pursuit_samples\":50,\"seeds\":2}}",
           id);
    await_state(served.url, id, "succeeded");
    assert_result(id, names, -1);
    assert_begins(id, "/artifacts/latents-chart.png", "\x89PNG");
    assert_begins(id, "/artifacts/latents.csv", "latent,rate,feature");
    assert_begins(id, "/latents?count=3&sort=rate", "{\"job\"");
    assert_begins(id, "/latents/3", "{\"job\"");
    assert_checkpoint_names(id, "1.decoder");
}

/* For a code of a trained dictionary, the kind pathways reports whether theory guarantees its recovery. Here a code
 * with one active latent has this guarantee, and a code with six has none. */
static void pathways_knows_which_codes_of_a_dictionary_are_guaranteed(void **state)
{
    char id[JOB_ID], path[256], body[300];
    struct reply job, reply;
    submit(served.url,
           "{\"kind\":\"dictionary\",\"config\":{\"source\":\"iid\",\"features\":16,\"inputs\":8,\"active\":2,"
           "\"width\":16,\"l0\":2,\"batch\":64,\"total_samples\":6400,\"test_samples\":500,\"pursuit_samples\":50}}",
           id);
    await_state(served.url, id, "succeeded");
    job_path(path, id, "");
    get(served.url, path, &job);
    static const char *const codes[] = {"[[0,3,2.5]]", "[[0,1,1],[0,2,1],[0,3,1],[0,4,1],[0,5,1],[0,6,1]]"};
    static const char *const guarantees[] = {"uniform", "none"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"code\":%s,\"length\":1}", id, codes[i]);
        post(served.url, "/v1/pathways/recover", body, &reply);
        assert_int_equal(reply.status, 200);
        const cJSON *layer = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply.json, "layers"), 0);
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(job.json, "result");
        assert_string_equal(json_text(reply.json, "guarantee"), guarantees[i]);
        assert_true(fabs(json_number(layer, "coherence") - json_number(result, "coherence")) < 1e-5);
        reply_close(&reply);
    }
    reply_close(&job);
}

static void a_pause_does_not_change_the_result(void **state)
{
    static const char *const names[] = {"mcc", "loss", NULL};
    assert_pause_changes_nothing("{\"kind\":\"dictionary\",\"config\":{\"width\":64,\"total_samples\":300000,"
                                 "\"test_samples\":2000,\"pursuit_samples\":50,\"checkpoint_every\":50000}}",
                                 names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_page_lists_presets_that_dry_run),
        cmocka_unit_test(a_finished_job_lists_its_latents),
        cmocka_unit_test(pathways_knows_which_codes_of_a_dictionary_are_guaranteed),
        cmocka_unit_test(a_pause_does_not_change_the_result),
    };
    return cmocka_run_group_tests(tests, serve, stop_serving);
}
