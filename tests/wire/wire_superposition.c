/* The superposition method over the wire: its kind, a dry run, an experiment with its pictures, a question, a pause.
 */
#include <math.h>

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
    get(served.url, "/v1/kinds/superposition", &reply);
    assert_int_equal(reply.status, 200);
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "presets")) >= 4);
    reply_close(&reply);
    static const char *const presets[] = {"fig3", "rug", "loss-curve", "symmetry"};
    for (int i = 0; i < 4; i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"kind\":\"superposition\",\"preset\":\"%s\"}", presets[i]);
        post(served.url, "/v1/jobs?dry_run=1", body, &reply);
        assert_int_equal(reply.status, 200);
        assert_true(json_number(reply.json, "bytes") > 0 && json_number(reply.json, "predicted_seconds") > 0);
        reply_close(&reply);
    }
    post(served.url, "/v1/jobs", "{\"kind\":\"superposition\",\"config\":{\"model\":\"rug\",\"n_s\":100,\"p\":0}}",
         &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "/config/p"));
    reply_close(&reply);
}

static void an_experiment_leaves_pictures_and_answers(void **state)
{
    char id[JOB_ID], path[256];
    struct reply reply;
    submit("{\"kind\":\"superposition\",\"config\":{\"experiment\":\"loss-ratio\",\"models\":\"rug,trained\","
           "\"sizes\":\"32,64\","
           "\"ratios\":\"0.25,0.5\",\"batch\":64,\"total_samples\":3000,\"test_samples\":500,\"stop\":\"never\"}}",
           id);
    await_state(served.url, id, "succeeded");
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    static const char *const fields[] = {
        "loss",        "analytic_loss", "linear_loss", "bayes_bound", "a",       "b",    "sigma",   "diagonal_mean",
        "diagonal_sd", "bias_mean",     "bias_sd",     "lyapunov",    "dropped", "seed", "samples", "seconds"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(result, fields[i])))
            fail_msg("no %s in the result", fields[i]);
    const cJSON *curve = cJSON_GetObjectItemCaseSensitive(result, "curve");
    assert_int_equal(cJSON_GetArraySize(curve), 8);
    const cJSON *first = cJSON_GetArrayItem(curve, 0);
    assert_string_equal(json_text(first, "model"), "rug");
    assert_true(fabs(json_number(first, "gap")) < 0.5);
    reply_close(&reply);
    job_path(path, id, "/artifacts/loss-ratio.png");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_memory_equal(reply.body, "\x89PNG", 4);
    reply_close(&reply);
    job_path(path, id, "/artifacts/loss-ratio.csv");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_memory_equal(reply.body, "panel,series,x,y,low,high,value\n", 32);
    reply_close(&reply);
    job_path(path, id, "/predict");
    post(served.url, path, "{\"inputs\":[{\"sample\":{\"seed\":3}}]}", &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"expected_loss\""));
    reply_close(&reply);
    job_path(path, id, "/checkpoints/latest");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(memmem(reply.body, reply.body_bytes, "\"decoder\"", 9));
    reply_close(&reply);
}

static void weights_of(const char *id, char *hash, size_t bytes)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    snprintf(hash, bytes, "%.17g %.17g", json_number(result, "loss"), json_number(result, "diagonal_mean"));
    reply_close(&reply);
}

/* A pause in the middle changes nothing. */
static void a_pause_changes_nothing(void **state)
{
    static const char body[] =
        "{\"kind\":\"superposition\",\"config\":{\"n_s\":64,\"batch\":64,\"total_samples\":200000,"
        "\"test_samples\":500,\"stop\":\"never\",\"checkpoint_every\":1000}}";
    char one[JOB_ID], other[JOB_ID], path[256], now[16], first[80], second[80];
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
    weights_of(one, first, sizeof first);
    weights_of(other, second, sizeof second);
    assert_string_equal(first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_shows_itself),
        cmocka_unit_test(an_experiment_leaves_pictures_and_answers),
        cmocka_unit_test(a_pause_changes_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
