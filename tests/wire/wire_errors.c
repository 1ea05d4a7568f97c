/* Sends requests with every class of error over the wire. Each answer must be a problem document that says what is
 * wrong and where. */
#include "tests/wire/wire.h"

static struct daemon_process served;

static int setup(void **state)
{
    daemon_init(&served);
    return daemon_start(&served, NULL, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

/* Sends one request and asserts that it is refused with this status. */
static void refused(int status, const char *method, const char *path, const char *type, const char *body)
{
    struct reply reply;
    call_server(served.url, &(struct call){.method = method, .path = path, .body = body, .type = type}, &reply);
    if (reply.status != status)
        print_error("%s %s\n", method, path);
    assert_problem(&reply, status);
    reply_close(&reply);
}

static void unknown_paths_and_methods_are_refused(void **state)
{
    char allow[256];
    struct reply reply;
    static const char *const nowhere[] = {"/nowhere",
                                          "/v1",
                                          "/v1/",
                                          "/v1/jobs/",
                                          "/v2/jobs",
                                          "/v1/jobs/a/b/c/d/e/f/g/h/i",
                                          "/v1/kinds/none",
                                          "/v1/jobs/00000000000000000000000000",
                                          "/v1/jobs/00000000000000000000000000/metrics",
                                          "/../etc/passwd",
                                          "//v1/jobs",
                                          "/v1/jobs/%2e%2e",
                                          "/v1/jobs;x"};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
        refused(404, "GET", nowhere[i], NULL, NULL);
    static const struct {
        const char *method, *path, *allow;
    } methods[] = {{"DELETE", "/v1/jobs", "POST, GET, HEAD"},
                   {"PUT", "/v1/jobs/00000000000000000000000000", "GET, HEAD, PATCH, DELETE"},
                   {"POST", "/healthz", "GET, HEAD"},
                   {"GET", "/v1/jobs/00000000000000000000000000/cancel", "POST"}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        call_server(served.url, &(struct call){.method = methods[i].method, .path = methods[i].path}, &reply);
        assert_problem(&reply, 405);
        assert_string_equal(reply_header(&reply, "Allow", allow), methods[i].allow);
        reply_close(&reply);
    }
    refused(404, "POST", "/v1/jobs/00000000000000000000000000/cancel", NULL, NULL);
    refused(404, "PATCH", "/v1/jobs/00000000000000000000000000", NULL, "{\"name\":\"x\"}");
    refused(404, "DELETE", "/v1/jobs/00000000000000000000000000", NULL, NULL);
}

static void wrong_bodies_are_refused(void **state)
{
    static char large[1200000];
    memset(large, ' ', sizeof large - 1);
    refused(413, "POST", "/v1/jobs", NULL, large);
    refused(413, "POST", "/v1/jobs/00000000000000000000000000/cancel", NULL, "{}"); /* the route accepts no body */
    refused(415, "POST", "/v1/jobs", "text/html", "{}");
    refused(415, "POST", "/v1/jobs", "application/x-www-form-urlencoded", "a=b");
    refused(415, "PATCH", "/v1/jobs/00000000000000000000000000", "text/plain", "{}");
    refused(400, "POST", "/v1/jobs", NULL, "{");
    refused(400, "POST", "/v1/jobs", NULL, "{\"kind\":\"sparling\"} x");
    refused(400, "POST", "/v1/jobs", NULL, "\xff\xfe");
    refused(400, "POST", "/v1/jobs", NULL, "{'kind':1}");
    struct reply reply;
    /* a request without a body */
    call_server(served.url, &(struct call){.method = "POST", .path = "/v1/jobs"}, &reply);
    assert_true(reply.status == 400 || reply.status == 411);
    reply_close(&reply);
}

static void wrong_query_parameters_are_refused(void **state)
{
    refused(400, "GET", "/v1/jobs?limit=0", NULL, NULL);
    refused(400, "GET", "/v1/jobs?limit=many", NULL, NULL);
    refused(400, "GET", "/v1/jobs?state=odd", NULL, NULL);
    refused(400, "GET", "/v1/jobs?kind=sparlng", NULL, NULL);
    refused(400, "GET", "/v1/jobs?unknown=1", NULL, NULL);
    refused(400, "GET", "/v1/jobs?cursor=%00", NULL, NULL);
    refused(400, "GET", "/v1/jobs?cursor=forged", NULL, NULL);
    refused(400, "GET", "/v1/jobs?limit=1&limit=2", NULL, NULL);
    refused(400, "GET", "/v1/jobs/%", NULL, NULL);
}

static bool names(const cJSON *errors, const char *pointer)
{
    const cJSON *error;
    cJSON_ArrayForEach (error, errors)
        if (strcmp(json_text(error, "pointer"), pointer) == 0)
            return json_text(error, "detail")[0] != '\0';
    return false;
}

/* The answer to a configuration with a wrong field names that field. */
static void a_bad_configuration_names_its_field(void **state)
{
    static const struct {
        const char *body, *pointer;
    } cases[] = {
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":\"ten\"}}", "/config/batch"},
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":1.5}}", "/config/batch"},
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":null}}", "/config/batch"},
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":-1}}", "/config/batch"},
        {"{\"kind\":\"sparling\",\"config\":{\"density_start\":0}}", "/config/density_start"},
        {"{\"kind\":\"sparling\",\"config\":{\"density_start\":3}}", "/config/density_start"},
        {"{\"kind\":\"sparling\",\"config\":{\"lstm\":1}}", "/config/lstm"},
        {"{\"kind\":\"sparling\",\"config\":{\"sparsity\":\"very\"}}", "/config/sparsity"},
        {"{\"kind\":\"sparling\",\"config\":{\"nonsense\":1}}", "/config/nonsense"},
        {"{\"kind\":\"sparling\",\"config\":{\"heads\":5,\"channels\":64}}", "/config/heads"},
        {"{\"kind\":\"sparling\",\"config\":[]}", "/config"},
        {"{\"kind\":\"sparling\",\"preset\":\"none\"}", "/preset"},
        {"{\"kind\":\"none\"}", "/kind"},
        {"{}", "/kind"},
        {"{\"kind\":\"sparling\",\"priority\":1000}", "/priority"},
        {"{\"kind\":\"sparling\",\"what\":1}", "/what"},
        {"{\"kind\":\"sparling\",\"from\":{\"job\":\"00000000000000000000000000\"}}", "/from/job"},
    };
    struct reply reply;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        post(served.url, "/v1/jobs", cases[i].body, &reply);
        if (reply.status != 422 || !names(cJSON_GetObjectItem(reply.json, "errors"), cases[i].pointer))
            print_error("%s\n%s\n", cases[i].body, reply.body);
        assert_problem(&reply, 422);
        assert_true(names(cJSON_GetObjectItem(reply.json, "errors"), cases[i].pointer));
        reply_close(&reply);
    }
}

/* JSON that the daemon cannot represent exactly is refused with 400 or 422, and the answer names the place. */
static void json_that_cannot_be_represented_is_refused(void **state)
{
    static char deep[400];
    static const struct {
        const char *body, *place;
    } cases[] = {
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":4,\"batch\":5}}", "batch"},
        {"{\"kind\":\"sparling\",\"config\":{\"seed\":9007199254740993}}", "seed"},
        {"{\"kind\":\"sparling\",\"config\":{\"learning_rate\":NaN}}", "/config/learning_rate"},
        {"{\"kind\":\"sparling\",\"config\":{\"learning_rate\":1e999}}", "learning_rate"},
        {"{\"kind\":\"spar\\u0000ling\"}", "kind"},
        {deep, ""},
    };
    struct reply reply;
    int size = snprintf(deep, sizeof deep, "{\"kind\":\"sparling\",\"config\":{\"seed\":");
    for (int i = 0; i < 60; i++)
        size += snprintf(deep + size, sizeof deep - (size_t)size, "[");
    for (int i = 0; i < 60; i++)
        size += snprintf(deep + size, sizeof deep - (size_t)size, "]");
    (void)snprintf(deep + size, sizeof deep - (size_t)size, "}}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        post(served.url, "/v1/jobs", cases[i].body, &reply);
        if (reply.status != 422 && reply.status != 400)
            print_error("%s\n%s\n", cases[i].body, reply.body);
        assert_true(reply.status == 422 || reply.status == 400);
        assert_problem(&reply, reply.status);
        if (strstr(reply.body, cases[i].place) == NULL)
            fail_msg("%s: no '%s' in %s", cases[i].body, cases[i].place, reply.body);
        reply_close(&reply);
    }
}

static void a_refusal_lists_every_fault(void **state)
{
    struct reply reply;
    post(served.url, "/v1/jobs",
         "{\"kind\":\"sparling\",\"priority\":\"high\",\"config\":{\"batch\":0,\"width\":\"x\",\"nonsense\":1,"
         "\"density_final\":2}}",
         &reply);
    assert_problem(&reply, 422);
    const cJSON *errors = cJSON_GetObjectItem(reply.json, "errors");
    static const char *const pointers[] = {"/priority", "/config/batch", "/config/width", "/config/nonsense",
                                           "/config/density_final"};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++)
        assert_true(names(errors, pointers[i]));
    reply_close(&reply);
}

static void a_wrong_state_is_a_conflict(void **state)
{
    char id[JOB_ID], path[256];
    struct reply reply;
    submit_tiny(served.url, 8, "", id);
    await_state(served.url, id, "succeeded");
    static const char *const verbs[] = {"/cancel", "/pause", "/resume"};
    for (size_t i = 0; i < 3; i++) {
        job_path(path, id, verbs[i]);
        refused(409, "POST", path, NULL, NULL);
    }
    job_path(path, id, "");
    refused(422, "PATCH", path, NULL, "{\"state\":\"running\"}");
    refused(422, "PATCH", path, NULL, "{\"priority\":\"x\"}");
    job_path(path, id, "/evaluation");
    refused(422, "POST", path, NULL, "{\"samples\":0}");
    refused(422, "POST", path, NULL, "{\"samples\":\"all\"}");
    job_path(path, id, "/motifs");
    refused(422, "POST", path, NULL, "{\"inputs\":[{\"sample\":{\"seed\":\"x\"}}]}");
    refused(422, "POST", path, NULL, "{\"inputs\":[{\"data\":\"!!\",\"type\":\"image/png\"}]}");
    refused(415, "POST", path, "audio/ogg", "x");
    const char *const accept[] = {"Accept: image/gif", NULL};
    call_server(
        served.url,
        &(struct call){
            .method = "POST", .path = path, .body = "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", .headers = accept},
        &reply);
    assert_problem(&reply, 406);
    reply_close(&reply);
    post(served.url, path, "{\"checkpoint\":\"density:0.001\",\"inputs\":[{\"sample\":{\"seed\":1}}]}", &reply);
    assert_true(reply.status == 404 || reply.status == 409 || reply.status == 422);
    assert_problem(&reply, reply.status);
    reply_close(&reply);
}

static void pages_of_other_origins_are_refused(void **state)
{
    struct reply reply;
    const char *const origin[] = {"Origin: https://evil.example", NULL};
    call_server(
        served.url,
        &(struct call){.method = "POST", .path = "/v1/jobs", .body = "{\"kind\":\"sparling\"}", .headers = origin},
        &reply);
    assert_problem(&reply, 403);
    reply_close(&reply);
    const char *const host[] = {"Host: evil.example", NULL};
    call_server(served.url, &(struct call){.method = "GET", .path = "/v1/jobs", .headers = host}, &reply);
    assert_problem(&reply, 421);
    reply_close(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_paths_and_methods_are_refused),
        cmocka_unit_test(wrong_bodies_are_refused),
        cmocka_unit_test(wrong_query_parameters_are_refused),
        cmocka_unit_test(a_bad_configuration_names_its_field),
        cmocka_unit_test(json_that_cannot_be_represented_is_refused),
        cmocka_unit_test(a_refusal_lists_every_fault),
        cmocka_unit_test(a_wrong_state_is_a_conflict),
        cmocka_unit_test(pages_of_other_origins_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
