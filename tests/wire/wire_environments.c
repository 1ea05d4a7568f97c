/* The environments method over the wire: its kind, dry runs of its presets, a comparison with its pictures, a
 * question, a pause. */
#include "tests/wire/wire.h"

static struct daemon_process served;

static int setup(void **state)
{
    daemon_init(&served);
    return daemon_start(&served, NULL, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    daemon_close(&served, false);
    return 0;
}

static void submit(const char *body, char id[JOB_ID])
{
    struct reply reply;
    post(served.url, "/v1/jobs", body, &reply);
    if (reply.status != 201)
        fail_msg("%d %s", reply.status, reply.body ? reply.body : "");
    memcpy(id, json_text(reply.json, "id"), JOB_ID);
    reply_close(&reply);
}

static void the_kind_shows_itself(void **state)
{
    struct reply reply;
    get(served.url, "/v1/kinds/environments", &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *presets = cJSON_GetObjectItemCaseSensitive(reply.json, "presets"), *preset;
    assert_true(cJSON_GetArraySize(presets) >= 2);
    cJSON_ArrayForEach(preset, presets)
    {
        char body[128];
        struct reply dry;
        snprintf(body, sizeof body, "{\"kind\":\"environments\",\"preset\":\"%s\"}", json_text(preset, "name"));
        post(served.url, "/v1/jobs?dry_run=1", body, &dry);
        assert_int_equal(dry.status, 200);
        assert_true(json_number(dry.json, "bytes") > 0 && json_number(dry.json, "predicted_seconds") > 0);
        reply_close(&dry);
    }
    reply_close(&reply);
    post(served.url, "/v1/jobs", "{\"kind\":\"environments\",\"config\":{\"unseen\":31,\"noise\":-1}}", &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "/config/noise"));
    reply_close(&reply);
}

static void an_experiment_leaves_a_picture_and_answers(void **state)
{
    char id[JOB_ID], path[256];
    struct reply reply;
    submit("{\"kind\":\"environments\",\"config\":{\"baselines\":\"pooled,none\",\"seeds\":2,\"depth\":3,\"updates\":"
           "100,"
           "\"batch\":64,\"samples\":50,\"inputs\":7,\"unseen\":1}}",
           id);
    await_state(served.url, id, "succeeded");
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    static const char *const fields[] = {"mcc",       "mse",  "mse_unseen", "changes_found", "changes_true",
                                         "linear_r2", "seed", "samples",    "seconds"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(result, fields[i])))
            fail_msg("no %s in the result", fields[i]);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(result, "curve")), 4);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(result, "summary")), 2);
    reply_close(&reply);
    static const char *const pictures[] = {"/artifacts/tree.png", "/artifacts/baselines.png"};
    for (int i = 0; i < 2; i++) {
        job_path(path, id, pictures[i]);
        get(served.url, path, &reply);
        assert_int_equal(reply.status, 200);
        assert_memory_equal(reply.body, "\x89PNG", 4);
        reply_close(&reply);
    }
    job_path(path, id, "/predict");
    post(served.url, path, "{\"inputs\":[{\"sample\":{\"seed\":3}},{\"array\":[1,2,3,4,5,6,7]}]}", &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"outcome\""));
    reply_close(&reply);
    job_path(path, id, "/checkpoints/latest");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(memmem(reply.body, reply.body_bytes, "heads.changes", 13));
    reply_close(&reply);
}

static double mse_of(const char *id)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(served.url, path, &reply);
    double mse = json_number(cJSON_GetObjectItemCaseSensitive(reply.json, "result"), "mse");
    reply_close(&reply);
    return mse;
}

/* A pause in the middle changes nothing. */
static void a_pause_changes_nothing(void **state)
{
    static const char body[] = "{\"kind\":\"environments\",\"config\":{\"updates\":1500,\"checkpoint_every\":50000}}";
    char one[JOB_ID], other[JOB_ID], path[256], now[16];
    struct reply reply;
    submit(body, one);
    await_state(served.url, one, "succeeded");
    submit(body, other);
    await_state(served.url, other, "running");
    job_path(path, other, "/pause");
    post(served.url, path, "", &reply);
    bool paused = reply.status == 202;
    reply_close(&reply);
    if (paused) { /* unless it was done already */
        for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(10)) {
            job_state(served.url, other, now);
            if (strcmp(now, "running") != 0)
                break;
        }
        job_path(path, other, "/resume");
        post(served.url, path, "", &reply);
        reply_close(&reply);
    }
    await_state(served.url, other, "succeeded");
    assert_true(mse_of(one) == mse_of(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_shows_itself),
        cmocka_unit_test(an_experiment_leaves_a_picture_and_answers),
        cmocka_unit_test(a_pause_changes_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
