/* Tests the recovery of pathways over HTTP: with convolutions from the request, with convolutions of finished jobs, and
 * every reason for a refusal. */
#include <math.h>

#include "tests/wire/kind.h"

static char pathways_job[JOB_ID], sparling_job[JOB_ID], hadamard_job[JOB_ID];

static int setup(void **state)
{
    if (serve(state) != 0)
        return -1;
    submit(served.url,
           "{\"kind\":\"pathways\",\"config\":{\"filters\":2,\"filter_length\":32,\"length\":128,\"depth\":2,\"deep_"
           "filters\":2,"
           "\"deep_length\":8,\"deep_nonzeros\":2,\"nonzeros\":\"1,2,4\",\"trials\":40}}",
           pathways_job);
    submit(served.url,
           "{\"kind\":\"pathways\",\"config\":{\"dictionary\":\"dirac-hadamard\",\"filter_length\":16,\"length\":1,"
           "\"nonzeros\":\"1,2\",\"trials\":8}}",
           hadamard_job);
    submit_tiny(served.url, 40, "", sparling_job);
    await_state(served.url, pathways_job, "succeeded");
    await_state(served.url, hadamard_job, "succeeded");
    await_state(served.url, sparling_job, "succeeded");
    return 0;
}

static void recover(const char *body, int status, struct reply *reply)
{
    post(served.url, "/v1/pathways/recover", body, reply);
    if (reply->status != status)
        print_error("%s\n%d %s\n", body, reply->status, reply->body != NULL ? reply->body : "");
    assert_int_equal(reply->status, status);
}

static const cJSON *layer_of(const struct reply *reply, int layer)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply->json, "layers"), layer);
    assert_non_null(item);
    return item;
}

static void a_signal_is_recovered_from_given_filters(void **state)
{
    struct reply reply;
    recover("{\"model\":{\"layers\":[{\"name\":\"pair\",\"filters\":[[1,1,1,1],[1,-1,1,-1]]}]},"
            "\"signal\":[0,0,0,3,3,3,3,0,0,0,0,0,0,0,0,0],\"nonzeros\":[1]}",
            200, &reply);
    assert_string_equal(json_text(reply.json, "guarantee"), "uniform");
    assert_string_equal(json_text(reply.json, "basis"), "fit");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply.json, "recovered")));
    assert_string_equal(json_text(layer_of(&reply, 0), "name"), "pair");
    assert_true(fabs(json_number(layer_of(&reply, 0), "coherence") - 0.75) < 1e-6);
    const cJSON *spike = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(layer_of(&reply, 0), "support"), 0);
    assert_int_equal(cJSON_GetArrayItem(spike, 0)->valueint, 3);
    assert_int_equal(cJSON_GetArrayItem(spike, 1)->valueint, 0);
    assert_true(fabs(cJSON_GetArrayItem(spike, 2)->valuedouble - 6) < 1e-5);
    reply_close(&reply);
    /* The same signal, but the request states noise so large that no bound guarantees recovery. The recovery still
     * succeeds. */
    recover("{\"model\":{\"layers\":[{\"filters\":[[1,1,1,1],[1,-1,1,-1]]}]},"
            "\"signal\":[0,0,0,3,3,3,3,0,0,0,0,0,0,0,0,0],\"nonzeros\":[1],\"config\":{\"noise\":4}}",
            200, &reply);
    assert_string_equal(json_text(reply.json, "guarantee"), "none");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply.json, "recovered")));
    reply_close(&reply);
    /* a convolution in two dimensions, and a threshold instead of a number of nonzeros */
    recover("{\"model\":{\"layers\":[{\"filters\":[[[[1,0],[0,1]]]]}]},\"signal\":[[0,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,"
            "0,0]],"
            "\"config\":{\"decoder\":\"hard\",\"threshold\":0.8}}",
            200, &reply);
    spike = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(layer_of(&reply, 0), "support"), 0);
    assert_int_equal(cJSON_GetArraySize(spike), 4);
    assert_int_equal(cJSON_GetArrayItem(spike, 0)->valueint, 1);
    assert_int_equal(cJSON_GetArrayItem(spike, 1)->valueint, 1);
    reply_close(&reply);
}

static void a_code_is_recovered_in_two_layers(void **state)
{
    struct reply reply;
    recover("{\"model\":{\"layers\":[{\"filters\":[[1,1,-1,1,0,0],[1,0,0,0,-1,1]]},{\"filters\":[[[1,0,0],[0,0,0]]]}]},"
            "\"code\":[[3,0,1]],\"length\":24,\"config\":{\"signs\":\"random\",\"seed\":5}}",
            200, &reply);
    assert_string_equal(json_text(reply.json, "basis"), "code");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply.json, "recovered")));
    assert_int_equal(json_number(layer_of(&reply, 0), "nonzeros"), 1);
    assert_int_equal(json_number(layer_of(&reply, 1), "stripe"), 1);
    assert_string_equal(json_text(reply.json, "guarantee"), "uniform");
    reply_close(&reply);
}

/* Three atoms for two channels, without extent: a plain dictionary. One position of a signal is one sample. */
static void a_plain_dictionary_is_a_convolution_of_several_channels(void **state)
{
#define ATOMS "{\"model\":{\"layers\":[{\"filters\":[[[1],[0]],[[0],[1]],[[1],[1]]]}]},"
    struct reply reply;
    recover(ATOMS "\"signal\":[[3,0],[2,2]],\"nonzeros\":[2]}", 200, &reply);
    assert_string_equal(json_text(reply.json, "guarantee"), "uniform");
    assert_true(fabs(json_number(layer_of(&reply, 0), "coherence") - sqrt(0.5)) < 1e-6);
    assert_int_equal(json_number(layer_of(&reply, 0), "stripe"), 1);
    const cJSON *support = cJSON_GetObjectItemCaseSensitive(layer_of(&reply, 0), "support");
    const double wanted[2][3] = {{0, 0, 3}, {1, 2, sqrt(8)}};
    assert_int_equal(cJSON_GetArraySize(support), 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            assert_true(fabs(cJSON_GetArrayItem(cJSON_GetArrayItem(support, i), k)->valuedouble - wanted[i][k]) < 1e-5);
    reply_close(&reply);
    /* with two active atoms in one sample, no bound guarantees recovery: the coherence is too large */
    recover(ATOMS "\"code\":[[0,0,1],[0,1,1]],\"length\":1}", 200, &reply);
    assert_string_equal(json_text(reply.json, "guarantee"), "none");
    assert_int_equal(json_number(layer_of(&reply, 0), "stripe"), 2);
    reply_close(&reply);
    static const char *const signals[] = {"[1,2]", "[[1,2,3]]", "[[[[1,2]]]]"};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char body[300];
        (void)snprintf(body, sizeof body, ATOMS "\"signal\":%s,\"nonzeros\":[1]}", signals[i]);
        recover(body, 422, &reply);
        const cJSON *fault = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply.json, "errors"), 0);
        assert_string_equal(json_text(fault, "pointer"), "/signal");
        reply_close(&reply);
    }
#undef ATOMS
}

static void pathways_of_finished_jobs_are_recovered(void **state)
{
    struct reply reply;
    char body[4000], path[256];
    (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"code\":[[5,0,1],[90,1,2]],\"length\":128}", pathways_job);
    recover(body, 200, &reply);
    assert_string_equal(json_text(reply.json, "job"), pathways_job);
    assert_string_equal(json_text(layer_of(&reply, 1), "name"), "layer.2");
    assert_int_equal(json_number(layer_of(&reply, 1), "nonzeros"), 2);
    reply_close(&reply);
    (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"layers\":[\"layer.1\"],\"code\":[[5,0,1]],\"length\":200}",
                   pathways_job);
    recover(body, 200, &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "layers")), 1);
    reply_close(&reply);

    size_t used = (size_t)snprintf(body, sizeof body, "{\"job\":\"%s\",\"config\":{\"decoder\":\"relu\"},\"signal\":[",
                                   sparling_job);
    for (int i = 0; i < 16; i++) {
        used += (size_t)snprintf(body + used, sizeof body - used, "%s[0,0,0,%d,1,0,0,0,1,%d,0,0]", i > 0 ? "," : "",
                                 i % 2, i % 3 == 0);
    }
    (void)snprintf(body + used, sizeof body - used, "]}");
    recover(body, 200, &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "layers")), 4);
    assert_string_equal(json_text(layer_of(&reply, 1), "name"), "g.units.0.conv1");
    double mu = json_number(layer_of(&reply, 1), "coherence");
    assert_true(mu > json_number(layer_of(&reply, 1), "welch_floor") && mu <= 1);
    reply_close(&reply);
    job_path(path, sparling_job, "");
    get(served.url, path, &reply); /* the job's document contains the coherence of the answer above */
    const cJSON *listed = cJSON_GetArrayItem(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(reply.json, "result"), "coherence"), 1);
    assert_true(fabs(json_number(listed, "coherence") - mu) < 1e-6);
    reply_close(&reply);

    job_path(path, pathways_job, "/pathways?seed=3");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *answer = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply.json, "answers"), 0);
    assert_int_equal(json_number(answer, "sample"), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(answer, "layers")), 2);
    assert_string_equal(json_text(answer, "basis"), "code");
    reply_close(&reply);
}

static void the_result_contains_the_curve(void **state)
{
    static const char *const point[] = {"stripe",        "recovered",           "trials",
                                        "uniform_bound", "probabilistic_bound", "instance_bound"};
    struct reply reply;
    char path[256];
    job_path(path, pathways_job, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    const cJSON *curve = cJSON_GetObjectItemCaseSensitive(result, "curve");
    assert_int_equal(cJSON_GetArraySize(curve), 3);
    for (size_t i = 0; i < sizeof point / sizeof point[0]; i++)
        assert_true(cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(curve->child, point[i])));
    assert_int_equal(json_number(curve->child, "trials"), 40);
    assert_true(json_number(result, "coherence") > 0 && cJSON_HasObjectItem(result, "stripe_95"));
    reply_close(&reply);
}

static void a_refusal_names_the_field(void **state)
{
#define ONE "\"model\":{\"layers\":[{\"filters\":[[1,0,1]]}]}"
    static const struct {
        const char *body, *pointer;
    } cases[] = {
        {"{}", "/model"},
        {"{" ONE ",\"job\":\"x\",\"signal\":[1,2,3]}", "/model"},
        {"{" ONE ",\"layers\":[\"a\"],\"signal\":[1,2,3],\"nonzeros\":[1]}", "/model"},
        {"{\"model\":{\"layers\":[]},\"signal\":[1]}", "/model"},
        {"{\"model\":3,\"signal\":[1]}", "/model"},
        {"{\"model\":{\"layers\":[{}]},\"signal\":[1]}", "/model/layers/0"},
        {"{\"model\":{\"layers\":[{\"filters\":[1]}]},\"signal\":[1,2],\"nonzeros\":[1]}", "/model/layers/0/filters"},
        {"{\"model\":{\"layers\":[{\"filters\":[[1],[1,2]]}]},\"signal\":[1,2],\"nonzeros\":[1]}",
         "/model/layers/0/filters"},
        {"{\"model\":{\"layers\":[{\"filters\":[[0,0]]}]},\"signal\":[1,2],\"nonzeros\":[1]}",
         "/model/layers/0/filters"},
        {"{\"model\":{\"layers\":[{\"filters\":[[1,2]]},{\"filters\":[[[1],[2]]]}]},\"signal\":[1,2],\"nonzeros\":[1,1]"
         "}",
         "/model/layers/1/filters"},
        {"{" ONE ",\"signal\":[1,2],\"nonzeros\":[1]}", "/model/layers/0/filters"},
        {"{" ONE ",\"signal\":[0,0,0],\"nonzeros\":[1]}", "/signal"},
        {"{" ONE ",\"signal\":\"x\",\"nonzeros\":[1]}", "/signal"},
        {"{" ONE ",\"signal\":[[[1]]],\"nonzeros\":[1]}", "/signal"},
        {"{" ONE "}", "/signal"},
        {"{" ONE ",\"signal\":[1,2,3],\"code\":[[0,0,1]],\"length\":3}", "/signal"},
        {"{" ONE ",\"signal\":[1,2,3],\"length\":3,\"nonzeros\":[1]}", "/length"},
        {"{" ONE ",\"signal\":[1,2,3]}", "/nonzeros"},
        {"{" ONE ",\"signal\":[1,2,3],\"nonzeros\":[1,2]}", "/nonzeros"},
        {"{" ONE ",\"signal\":[1,2,3],\"nonzeros\":[4]}", "/nonzeros/0"},
        {"{" ONE ",\"code\":[[0,0,1]]}", "/length"},
        {"{" ONE ",\"code\":[],\"length\":8}", "/code"},
        {"{" ONE ",\"code\":[[0,1]],\"length\":8}", "/code/0"},
        {"{" ONE ",\"code\":[[0,0,1],[8,0,1]],\"length\":8}", "/code/1"},
        {"{" ONE ",\"code\":[[0,0,1],[0,0,2]],\"length\":8}", "/code/1"},
        {"{" ONE ",\"code\":[[0,0,0]],\"length\":8}", "/code/0"},
        {"{" ONE ",\"code\":[[0,0,1]],\"length\":0}", "/length"},
        {"{" ONE ",\"signal\":[1,2,3],\"config\":{\"decoder\":\"best\"}}", "/config/decoder"},
        {"{" ONE ",\"signal\":[1,2,3],\"config\":{\"detla\":0.1}}", "/config/detla"},
        {"{" ONE ",\"signal\":[1,2,3],\"nonzeros\":[1],\"siganl\":1}", "/siganl"},
        {"{\"job\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"signal\":[1]}", "/job"},
        {"{\"job\":7,\"signal\":[1]}", "/job"},
    };
    struct reply reply;
    char body[300];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recover(cases[i].body, 422, &reply);
        assert_problem(&reply, 422);
        const cJSON *fault = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply.json, "errors"), 0);
        if (strcmp(json_text(fault, "pointer"), cases[i].pointer) != 0)
            fail_msg("%s: %s", cases[i].body, reply.body);
        reply_close(&reply);
    }
    (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"checkpoint\":999,\"signal\":[1]}", sparling_job);
    recover(body, 422, &reply);
    reply_close(&reply);
    (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"layers\":[\"h.embed\"],\"signal\":[1],\"nonzeros\":[1]}",
                   sparling_job);
    recover(body, 422, &reply);
    reply_close(&reply);
    (void)snprintf(body, sizeof body, "{\"job\":\"%s\",\"signal\":[1],\"nonzeros\":[1]}", hadamard_job);
    recover(body, 422, &reply);
    reply_close(&reply);
    recover("{", 400, &reply);
    assert_problem(&reply, 400);
    reply_close(&reply);
    get(served.url, "/v1/pathways/recover", &reply);
    assert_problem(&reply, 405);
    reply_close(&reply);
    char path[256];
    job_path(path, sparling_job, "/pathways");
    get(served.url, path, &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
    job_path(path, pathways_job, "/pathways?seed=-1");
    get(served.url, path, &reply);
    assert_problem(&reply, 400);
    reply_close(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_is_recovered_from_given_filters),
        cmocka_unit_test(a_code_is_recovered_in_two_layers),
        cmocka_unit_test(a_plain_dictionary_is_a_convolution_of_several_channels),
        cmocka_unit_test(pathways_of_finished_jobs_are_recovered),
        cmocka_unit_test(the_result_contains_the_curve),
        cmocka_unit_test(a_refusal_names_the_field),
    };
    return cmocka_run_group_tests(tests, setup, stop_serving);
}
