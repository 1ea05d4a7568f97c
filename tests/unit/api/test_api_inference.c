/* Tests the Open Inference Protocol: the requests of its specification, adapted to a model with one input, as JSON and
 * with the binary tensor data extension; every data type; and every reason for a refusal. */
#include "tests/unit/api/api_fixture.h"

#include <math.h>

/* The first input of the example in the specification of the Open Inference Protocol. */
#define UINT32 "{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"UINT32\",\"data\":[1,2,3,4]}"

static const char *model(const char *id, const char *rest)
{
    static char paths[2][160];
    static unsigned next;
    char *path = paths[next++ % 2];
    (void)snprintf(path, sizeof paths[0], "/v2/models/%s%s", id, rest);
    return path;
}

static void assert_numbers(struct api_fixture *f, const char *pointer, const double *expected, int count)
{
    const cJSON *list = at(f, pointer);
    assert_int_equal(cJSON_GetArraySize(list), count);
    for (int i = 0; i < count; i++)
        assert_true(cJSON_GetArrayItem(list, i)->valuedouble == expected[i]);
}

static void server_says_that_it_is_live_ready_and_which_extensions_it_has(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "GET", "/v2", NULL), 200);
    assert_string_equal(text_at(f, "/name"), "motifd");
    assert_string_equal(text_at(f, "/version"), "1.2.3");
    assert_string_equal(text_at(f, "/extensions/0"), "binary_tensor_data");
    assert_int_equal(ask(f, "GET", "/v2/health/live", NULL), 200);
    assert_true(cJSON_IsTrue(at(f, "/live")));
    assert_int_equal(ask(f, "GET", "/v2/health/ready", NULL), 200);
    assert_true(cJSON_IsTrue(at(f, "/ready")));
    f->draining = true;
    assert_int_equal(ask(f, "GET", "/v2/health/ready", NULL), 503);
    assert_problem(f, 503, "unavailable");
    assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
}

static void model_lists_its_tensors_and_its_checkpoints_as_versions(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    (void)add_checkpoint(f, id, 20, 0.25, 2);
    assert_int_equal(ask(f, "GET", model(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/name"), id);
    assert_string_equal(text_at(f, "/platform"), "motifd_echo");
    assert_string_equal(text_at(f, "/versions/0"), "1");
    assert_string_equal(text_at(f, "/versions/1"), "2");
    assert_string_equal(text_at(f, "/inputs/0/name"), "input");
    assert_string_equal(text_at(f, "/inputs/0/datatype"), "FP32");
    assert_numbers(f, "/inputs/0/shape", (const double[]){-1, 2, 2}, 3);
    static const struct {
        const char *name, *datatype;
        double shape[3];
        int rank;
    } outputs[] = {
        {"doubled", "FP32", {-1, 2, 2}, 3},
        {"doubled_coordinates", "INT64", {-1, 3}, 2},
        {"doubled_values", "FP32", {-1}, 1},
        {"word", "BYTES", {-1}, 1},
    };
    assert_int_equal(cJSON_GetArraySize(at(f, "/outputs")), 4);
    for (int i = 0; i < 4; i++) {
        char pointer[32];
        (void)snprintf(pointer, sizeof pointer, "/outputs/%d/name", i);
        assert_string_equal(text_at(f, pointer), outputs[i].name);
        (void)snprintf(pointer, sizeof pointer, "/outputs/%d/datatype", i);
        assert_string_equal(text_at(f, pointer), outputs[i].datatype);
        (void)snprintf(pointer, sizeof pointer, "/outputs/%d/shape", i);
        assert_numbers(f, pointer, outputs[i].shape, outputs[i].rank);
    }
    assert_int_equal(ask(f, "GET", model("latest", "/ready"), NULL), 200);
    assert_string_equal(text_at(f, "/name"), id);
    assert_int_equal(ask(f, "GET", model(id, "/versions/2"), NULL), 200);
    assert_int_equal(ask(f, "GET", model(id, "/versions/1/ready"), NULL), 200);
    assert_int_equal(ask(f, "GET", model(id, "/versions/3/ready"), NULL), 404);
}

static void model_without_checkpoint_is_not_ready(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    assert_int_equal(ask(f, "GET", model(id, "/ready"), NULL), 409);
    assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
    assert_int_equal(ask(f, "GET", model(id, ""), NULL), 409);
    assert_int_equal(ask(f, "GET", model("none", "/ready"), NULL), 404);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 409);
}

static void json_request_gets_the_outputs_that_it_names(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    assert_int_equal(ask(f, "POST", model(id, "/infer"),
                         "{\"id\":\"42\",\"inputs\":[" UINT32 "],\"outputs\":[{\"name\":\"doubled\"}]}"),
                     200);
    assert_string_equal(text_at(f, "/model_name"), id);
    assert_string_equal(text_at(f, "/model_version"), "1");
    assert_string_equal(text_at(f, "/id"), "42");
    assert_int_equal(cJSON_GetArraySize(at(f, "/outputs")), 1);
    assert_string_equal(text_at(f, "/outputs/0/datatype"), "FP32");
    assert_numbers(f, "/outputs/0/shape", (const double[]){1, 2, 2}, 3);
    assert_numbers(f, "/outputs/0/data", (const double[]){2, 4, 6, 8}, 4);
}

static void request_without_outputs_gets_all_of_them(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    /* sends `data` as nested lists, which the specification allows */
    assert_int_equal(
        ask(f, "POST", model(id, "/versions/1/infer"),
            "{\"model_name\":\"m\",\"inputs\":[{\"name\":\"input\",\"shape\":[2,2,2],\"datatype\":\"FP32\","
            "\"data\":[[[1,0],[0,4]],[[0,0],[7,0]]]}]}"),
        200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/outputs")), 4);
    assert_numbers(f, "/outputs/0/data", (const double[]){2, 0, 0, 8, 0, 0, 14, 0}, 8);
    assert_string_equal(text_at(f, "/outputs/1/name"), "doubled_coordinates");
    assert_numbers(f, "/outputs/1/shape", (const double[]){3, 3}, 2);
    assert_numbers(f, "/outputs/1/data", (const double[]){0, 0, 0, 0, 1, 1, 1, 1, 0}, 9);
    assert_numbers(f, "/outputs/2/data", (const double[]){2, 8, 14}, 3);
    assert_numbers(f, "/outputs/3/shape", (const double[]){2}, 1);
    assert_string_equal(text_at(f, "/outputs/3/data/0"), "pair");
    assert_string_equal(text_at(f, "/outputs/3/data/1"), "pair");
}

/* Sends JSON followed by binary data. */
static int ask_binary(struct api_fixture *f, const char *target, const char *json, const void *data, size_t bytes)
{
    char body[2000], length[24];
    size_t head = strlen(json);
    memcpy(body, json, head);
    memcpy(body + head, data, bytes);
    (void)snprintf(length, sizeof length, "%zu", head);
    header(f, "Content-Type", "application/octet-stream");
    header(f, "Inference-Header-Content-Length", length);
    return ask_bytes(f, "POST", target, body, head + bytes);
}

static void binary_request_gets_a_binary_answer(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    const uint32_t numbers[4] = {1, 2, 0, 4};
    const float doubled[4] = {2, 4, 0, 8};
    const int64_t coordinates[9] = {0, 0, 0, 0, 0, 1, 0, 1, 1};
    trained_job(f, id);
    assert_int_equal(ask_binary(f, model(id, "/infer"),
                                "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"UINT32\","
                                "\"parameters\":{\"binary_data_size\":16}}],\"outputs\":["
                                "{\"name\":\"doubled\",\"parameters\":{\"binary_data\":true}},"
                                "{\"name\":\"doubled_values\",\"parameters\":{\"binary_data\":false}},"
                                "{\"name\":\"word\"},{\"name\":\"doubled_coordinates\"}],"
                                "\"parameters\":{\"binary_data_output\":true}}",
                                numbers, sizeof numbers),
                     200);
    assert_string_equal(answer_header(f, "Content-Type"), "application/octet-stream");
    size_t head = (size_t)atoi(answer_header(f, "Inference-Header-Content-Length"));
    assert_int_equal(f->body_bytes, head + 16 + 8 + 72);
    assert_memory_equal(f->body + head, doubled, 16);
    assert_memory_equal(f->body + head + 16, "\4\0\0\0pair", 8);
    assert_memory_equal(f->body + head + 24, coordinates, 72);
    cJSON *answer;
    assert_int_equal(json_parse(f->body, head, &answer, &f->err), STATUS_OK);
    const cJSON *outputs = cJSON_GetObjectItem(answer, "outputs"), *first = cJSON_GetArrayItem(outputs, 0);
    const cJSON *size = cJSON_GetObjectItem(cJSON_GetObjectItem(first, "parameters"), "binary_data_size");
    assert_int_equal(size->valueint, 16);
    assert_null(cJSON_GetObjectItem(first, "data"));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetArrayItem(outputs, 1), "data")), 3);
    cJSON_Delete(answer);
}

/* A client may leave Content-Type out, as the client of Triton does. */
static void content_type_may_be_missing(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    header(f, "Content-Type", NULL);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 200);
    header(f, "Content-Type", "text/plain");
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 415);
}

static void every_numeric_data_type_is_read(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], json[300];
    trained_job(f, id);
    const int8_t i8[4] = {-128, 127, 0, -1};
    const int16_t i16[4] = {-32768, 32767, 0, -1};
    const int32_t i32[4] = {-8388608, 8388607, 0, -1};
    const int64_t i64[4] = {-8388608, 8388607, 0, -1};
    const uint8_t u8[4] = {0, 255, 1, 2}, booleans[4] = {0, 1, 1, 0};
    const uint16_t u16[4] = {0, 65535, 1, 2}, halves[4] = {0x3C00, 0xC100, 0x0001, 0x7BFF};
    const uint32_t u32[4] = {0, 16777215, 1, 2};
    const uint64_t u64[4] = {0, 16777215, 1, 2};
    const float f32[4] = {-1.5F, 0.25F, 3e38F / 2, 0};
    const double f64[4] = {-1.5, 0.25, 1e30, 0};
    const struct {
        const char *name;
        const void *bytes;
        size_t size;
        double expected[4];
    } types[] = {
        {"INT8", i8, 4, {-128, 127, 0, -1}},
        {"INT16", i16, 8, {-32768, 32767, 0, -1}},
        {"INT32", i32, 16, {-8388608, 8388607, 0, -1}},
        {"INT64", i64, 32, {-8388608, 8388607, 0, -1}},
        {"UINT8", u8, 4, {0, 255, 1, 2}},
        {"UINT16", u16, 8, {0, 65535, 1, 2}},
        {"UINT32", u32, 16, {0, 16777215, 1, 2}},
        {"UINT64", u64, 32, {0, 16777215, 1, 2}},
        {"BOOL", booleans, 4, {0, 1, 1, 0}},
        {"FP16", halves, 8, {1, -2.5, 0x1p-24, 65504}},
        {"FP32", f32, 16, {-1.5, 0.25, (double)(3e38F / 2), 0}},
        {"FP64", f64, 32, {-1.5, 0.25, (double)1e30F, 0}},
    };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        (void)snprintf(json, sizeof json,
                       "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"%s\",\"parameters\":"
                       "{\"binary_data_size\":%zu}}],\"outputs\":[{\"name\":\"doubled\"}]}",
                       types[t].name, types[t].size);
        assert_int_equal(ask_binary(f, model(id, "/infer"), json, types[t].bytes, types[t].size), 200);
        for (int i = 0; i < 4; i++) {
            char pointer[40];
            (void)snprintf(pointer, sizeof pointer, "/outputs/0/data/%d", i);
            assert_true(number_at(f, pointer) == 2 * types[t].expected[i]);
        }
    }
}

/* Sends {"inputs":[{"name":"input",TENSOR}]REST}, where TENSOR and REST stand for the arguments `tensor` and `rest`. */
static int ask_tensor(struct api_fixture *f, const char *id, const char *tensor, const char *rest)
{
    char body[1000];
    (void)snprintf(body, sizeof body, "{\"inputs\":[{\"name\":\"input\",%s}]%s}", tensor, rest);
    return ask(f, "POST", model(id, "/infer"), body);
}

static void wrong_tensor_is_refused_with_its_place(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    static const struct {
        const char *tensor, *rest, *pointer, *word;
    } wrong[] = {
        {"\"shape\":[1,2,2],\"datatype\":\"FP31\",\"data\":[1,2,3,4]", "", "/inputs/0/datatype", "FP32"},
        {"\"shape\":[1,2,2],\"datatype\":\"BYTES\",\"data\":[\"a\"]", "", "/inputs/0/datatype", "FP32"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3]", "", "/inputs/0/data", "3 elements"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4,5]", "", "/inputs/0/data", "more elements"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\"", "", "/inputs/0/data", "list"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP16\",\"data\":[1,2,3,4]", "", "/inputs/0/data", "binary"},
        {"\"shape\":[1,2,2],\"datatype\":\"UINT8\",\"data\":[1,2,3,256]", "", "/inputs/0/data", "element 3"},
        {"\"shape\":[1,2,2],\"datatype\":\"INT8\",\"data\":[1,-129,3,4]", "", "/inputs/0/data", "element 1"},
        {"\"shape\":[1,2,2],\"datatype\":\"INT32\",\"data\":[1.5,2,3,4]", "", "/inputs/0/data", "element 0"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1e39,2,3,4]", "", "/inputs/0/data", "element 0"},
        {"\"shape\":[1,2,2],\"datatype\":\"BOOL\",\"data\":[1,0,0,0]", "", "/inputs/0/data", "element 0"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[true,2,3,4]", "", "/inputs/0/data", "element 0"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":{}", "", "/inputs/0/data", "an object"},
        {"\"shape\":[4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", "", "/inputs/0/shape", "number of inputs"},
        {"\"shape\":[5000,1],\"datatype\":\"FP32\",\"data\":[]", "", "/inputs/0/shape", "4096"},
        {"\"shape\":[0,2,2],\"datatype\":\"FP32\",\"data\":[]", "", "/inputs/0/shape", "integer in [1"},
        {"\"shape\":[1,2.5],\"datatype\":\"FP32\",\"data\":[]", "", "/inputs/0/shape", "integer"},
        {"\"shape\":[1,1,1,1,1],\"datatype\":\"FP32\",\"data\":[1]", "", "/inputs/0/shape", "at most 4"},
        {"\"shape\":[4000,4000],\"datatype\":\"FP32\",\"data\":[]", "", "/inputs/0/shape", "more than 4194304"},
        {"\"shape\":7,\"datatype\":\"FP32\",\"data\":[]", "", "/inputs/0/shape", "a number"},
        {"\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", "", "/inputs/0", "2 x 2"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4],\"datatyp\":1", "", "/inputs/0/datatyp",
         "datatype"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4],\"parameters\":1", "", "/inputs/0/parameters",
         "object"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":16}", "",
         "/inputs/0/parameters/binary_data_size", "is 0"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4],\"parameters\":{\"binary_data_size\":0}", "",
         "/inputs/0/data", "must be missing"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"outputs\":[{\"name\":\"doubeld\"}]",
         "/outputs/0/name", "did you mean 'doubled'?"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]",
         ",\"outputs\":[{\"name\":\"word\"},{\"name\":\"word\"}]", "/outputs/1/name", "twice"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]",
         ",\"outputs\":[{\"name\":\"word\",\"parameters\":{\"classification\":2}}]", "/outputs/0", "classification"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]",
         ",\"outputs\":[{\"name\":\"word\",\"parameters\":{\"binary_data\":2}}]", "/outputs/0", "binary_data"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"outputs\":[7]", "/outputs/0", "a number"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"outputs\":{}", "/outputs", "list"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"outputs\":[{}]", "/outputs/0/name", "name"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"id\":7", "/id", "text"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"parameters\":{\"binary_data_output\":7}",
         "/parameters/binary_data_output", "true or false"},
        {"\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]", ",\"input\":7", "/input", "inputs"},
    };
    trained_job(f, id);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(ask_tensor(f, id, wrong[i].tensor, wrong[i].rest), 422);
        assert_problem(f, 422, "invalid");
        assert_fault(f, wrong[i].pointer, wrong[i].word);
        assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
    }
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[]}"), 422);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "," UINT32 "]}"), 422);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[7]}"), 422);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "[]"), 422);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{"), 400);
    assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
}

static void wrong_binary_data_are_refused(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    const float odd[4] = {1, NAN, 3, 4};
    const uint8_t flags[4] = {0, 1, 2, 0};
    trained_job(f, id);
    const char *fp32 = "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"FP32\",\"parameters\":"
                       "{\"binary_data_size\":16}}]}";
    assert_int_equal(ask_binary(f, model(id, "/infer"), fp32, odd, 16), 422);
    assert_fault(f, "/inputs/0/parameters/binary_data_size", "element 1");
    assert_int_equal(ask_binary(f, model(id, "/infer"), fp32, odd, 12), 422);
    assert_fault(f, "/inputs/0/parameters/binary_data_size", "which is 12");
    assert_int_equal(ask_binary(f, model(id, "/infer"),
                                "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"FP32\","
                                "\"parameters\":{\"binary_data_size\":12}}]}",
                                odd, 12),
                     422);
    assert_fault(f, "/inputs/0/parameters/binary_data_size", "must be 16");
    assert_int_equal(ask_binary(f, model(id, "/infer"),
                                "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"BOOL\","
                                "\"parameters\":{\"binary_data_size\":4}}]}",
                                flags, 4),
                     422);
    assert_fault(f, "/inputs/0/parameters/binary_data_size", "BOOL");
    static const char *const lengths[] = {"-1", "x", "1000"};
    for (int i = 0; i < 3; i++) {
        header(f, "Inference-Header-Content-Length", lengths[i]);
        assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 400);
    }
    header(f, "Inference-Header-Content-Length", "0");
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 400);
}

static void protocol_needs_the_token_that_queries_need(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    f->scope = API_SCOPE_NONE;
    assert_int_equal(ask(f, "GET", "/v2/health/live", NULL), 200);
    assert_int_equal(ask(f, "GET", "/v2/health/ready", NULL), 200);
    assert_int_equal(ask(f, "GET", "/v2", NULL), 401);
    assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
    assert_int_equal(ask(f, "GET", model(id, ""), NULL), 401);
    assert_int_equal(ask(f, "GET", model(id, "/ready"), NULL), 401);
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{}"), 401);
    f->scope = API_SCOPE_READ;
    assert_int_equal(ask(f, "POST", model(id, "/infer"), "{\"inputs\":[" UINT32 "]}"), 200);
}

static void inference_ends_at_the_deadline_of_queries(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    api_destroy(f->api);
    f->options.query_seconds = 1;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    trained_job(f, id);
    assert_int_equal(ask_tensor(f, id, "\"shape\":[1,2,2],\"datatype\":\"FP32\",\"data\":[99,2,3,4]", ""), 504);
    assert_problem(f, 504, "deadline");
    assert_string_equal(text_at(f, "/error"), text_at(f, "/detail"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
        TEST(server_says_that_it_is_live_ready_and_which_extensions_it_has),
        TEST(model_lists_its_tensors_and_its_checkpoints_as_versions),
        TEST(model_without_checkpoint_is_not_ready),
        TEST(json_request_gets_the_outputs_that_it_names),
        TEST(request_without_outputs_gets_all_of_them),
        TEST(binary_request_gets_a_binary_answer),
        TEST(content_type_may_be_missing),
        TEST(every_numeric_data_type_is_read),
        TEST(wrong_tensor_is_refused_with_its_place),
        TEST(wrong_binary_data_are_refused),
        TEST(protocol_needs_the_token_that_queries_need),
        TEST(inference_ends_at_the_deadline_of_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
