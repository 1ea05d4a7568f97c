/* Tests downloads: checkpoints as safetensors, metrics, artifacts and evaluations. */
#include "tests/unit/api/api_fixture.h"

/* ---- safetensors ---- */

struct tensor {
    const float *values;
    size_t count;
};

/* Parses a safetensors file by the rules of the format and checks each rule. */
static struct tensor read_tensor(const char *file, size_t bytes, const char *name, cJSON **header)
{
    uint64_t length = 0;
    assert_true(bytes > 8);
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)(unsigned char)file[i] << (8 * i);
    assert_true(length <= bytes - 8);
    assert_int_equal((8 + length) % 8, 0);
    assert_int_equal(file[8], '{');
    struct error err = {0};
    /* the header may end with spaces */
    assert_int_equal(json_parse(file + 8, (size_t)length, header, &err), STATUS_OK);
    uint64_t end = 0;
    struct tensor found = {NULL, 0};
    const cJSON *item;
    cJSON_ArrayForEach (item, *header) {
        if (strcmp(item->string, "__metadata__") == 0) {
            const cJSON *note;
            cJSON_ArrayForEach (note, item)
                assert_true(cJSON_IsString(note));
            continue;
        }
        const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
        const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape"), *side;
        uint64_t first = (uint64_t)cJSON_GetArrayItem(offsets, 0)->valuedouble, count = 1;
        assert_int_equal(first, end); /* each tensor begins where the previous one ends */
        end = (uint64_t)cJSON_GetArrayItem(offsets, 1)->valuedouble;
        cJSON_ArrayForEach (side, shape)
            count *= (uint64_t)side->valuedouble;
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(item, "dtype")->valuestring, "F32");
        assert_int_equal(end - first, count * 4);
        if (strcmp(item->string, name) == 0)
            found = (struct tensor){(const float *)(const void *)(file + 8 + length + first), (size_t)count};
    }
    assert_int_equal(8 + length + end, bytes);
    return found;
}

static void download_is_a_valid_safetensors_file(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], etag[96];
    cJSON *head;
    trained_job(f, id);
    (void)add_checkpoint(f, id, 20, 0.25, 1000);
    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints"), NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/checkpoints")), 2);
    assert_int_equal(number_at(f, "/checkpoints/1/seq"), 2);
    assert_int_equal(number_at(f, "/checkpoints/1/step"), 20);
    assert_true(number_at(f, "/checkpoints/1/density") == 0.25);
    assert_true(number_at(f, "/checkpoints/1/accuracy") == 0.5);
    assert_true(number_at(f, "/checkpoints/1/bytes") > 0);
    assert_true(cJSON_IsFalse(at(f, "/checkpoints/1/pinned")));
    assert_false(null_at(f, "/checkpoints/1/created_at"));
    (void)snprintf(etag, sizeof etag, "\"%s\"", text_at(f, "/checkpoints/1/sha256"));

    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints/latest"), NULL), 200);
    assert_string_equal(answer_header(f, "ETag"), etag);
    assert_string_equal(answer_header(f, "Accept-Ranges"), "bytes");
    assert_string_equal(answer_header(f, "Content-Location"), path_of(id, "/checkpoints/2"));
    struct tensor weight = read_tensor(f->body, f->body_bytes, "conv.weight", &head);
    assert_int_equal(weight.count, 15);
    for (size_t i = 0; i < 15; i++)
        assert_true(weight.values[i] == 1000 + (float)i);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(head, "__metadata__"), "job")->valuestring, id);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(head, "__metadata__"), "step")->valuestring, "20");
    /* the file contains the metadata and the two weights, but not the state of the optimiser */
    assert_int_equal(cJSON_GetArraySize(head), 3);
    cJSON_Delete(head);
    struct tensor bias = read_tensor(f->body, f->body_bytes, "bias", &head);
    assert_int_equal(bias.count, 7);
    assert_true(bias.values[6] == 1106);
    cJSON_Delete(head);

    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints/1"), NULL), 200);
    assert_non_null(strstr(answer_header(f, "Cache-Control"), "immutable"));
    weight = read_tensor(f->body, f->body_bytes, "conv.weight", &head);
    assert_true(weight.values[0] == 1);
    cJSON_Delete(head);
    static const char *const missing[] = {"/checkpoints/3", "/checkpoints/0", "/checkpoints/last", "/checkpoints/1x",
                                          "/checkpoints/99999999999999999999"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        (void)ask(f, "GET", path_of(id, missing[i]), NULL);
        assert_problem(f, 404, "not-found");
    }
}

static void ranges_return_parts_of_the_file(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], range[64], expected[80], etag[96];
    trained_job(f, id);
    const char *path = path_of(id, "/checkpoints/1");
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    size_t total = f->body_bytes;
    char *whole = malloc(total);
    memcpy(whole, f->body, total);
    (void)snprintf(etag, sizeof etag, "%s", answer_header(f, "ETag"));
    assert_true(total > 200);
    for (size_t first = 0; first < total; first += 13) {
        for (size_t length = 1; first + length <= total; length = length * 3 + 1) {
            (void)snprintf(range, sizeof range, "bytes=%zu-%zu", first, first + length - 1);
            header(f, "Range", range);
            assert_int_equal(ask(f, "GET", path, NULL), 206);
            (void)snprintf(expected, sizeof expected, "bytes %zu-%zu/%zu", first, first + length - 1, total);
            assert_string_equal(answer_header(f, "Content-Range"), expected);
            assert_int_equal(f->body_bytes, length);
            assert_memory_equal(f->body, whole + first, length);
        }
    }
    static const struct {
        const char *range;
        int status;
        long first, bytes; /* expected answer: first byte (negative: from the end), length (-1: to the end) */
    } cases[] = {
        {"bytes=100-", 206, 100, -1},      {"bytes=-7", 206, -7, 7},  {"bytes=-100000", 206, 0, -1},
        {"bytes=5-999999999", 206, 5, -1}, {"bytes=0-0", 206, 0, 1},  {"bytes=5-99999999999999999999999", 206, 5, -1},
        {"bytes=0-1,4-5", 200, 0, -1},     {"bytes=9-3", 200, 0, -1}, {"bytes=x-3", 200, 0, -1},
        {"bytes=-", 200, 0, -1},           {"lines=1-2", 200, 0, -1}, {"bytes=1-2x", 200, 0, -1},
        {"bytes=999999-", 416, 0, 0},      {"bytes=-0", 416, 0, 0},   {"BYTES=1-2", 206, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        header(f, "Range", cases[i].range);
        int status = ask(f, "GET", path, NULL);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].range, status);
        if (status == 416) {
            (void)snprintf(expected, sizeof expected, "bytes */%zu", total);
            assert_string_equal(answer_header(f, "Content-Range"), expected);
            assert_problem(f, 416, "range");
            continue;
        }
        size_t first = cases[i].first < 0 ? total - (size_t)-cases[i].first : (size_t)cases[i].first;
        size_t bytes = cases[i].bytes < 0 ? total - first : (size_t)cases[i].bytes;
        assert_int_equal(f->body_bytes, bytes);
        assert_memory_equal(f->body, whole + first, bytes);
    }
    header(f, "Range", "bytes=1-2");
    header(f, "If-Range", etag);
    assert_int_equal(ask(f, "GET", path, NULL), 206);
    header(f, "Range", "bytes=1-2");
    header(f, "If-Range", "\"of something else\"");
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    assert_int_equal(f->body_bytes, total);
    header(f, "If-None-Match", etag);
    header(f, "Range", "bytes=1-2");
    assert_int_equal(ask(f, "GET", path, NULL), 304);
    assert_int_equal(ask(f, "HEAD", path, NULL), 200);
    assert_int_equal(f->response.read_bytes, total);
    assert_string_equal(answer_header(f, "ETag"), etag);
    free(whole);
}

static void started_download_continues_when_its_job_is_deleted(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    finish_job(f, id, "{}");
    struct api_request request = {.method = "GET", .target = path_of(id, "/checkpoints/1"), .scope = API_SCOPE_READ};
    struct api_response response;
    api_handle(f->api, &request, &response);
    assert_int_equal(response.status, 200);
    assert_int_equal(ask(f, "DELETE", path_of(id, ""), NULL), 204);
    char *bytes = malloc((size_t)response.read_bytes);
    size_t done = 0;
    while (done < response.read_bytes) {
        size_t got = response.read(response.read_context, done, bytes + done, 64);
        assert_true(got > 0);
        done += got;
    }
    cJSON *head;
    struct tensor bias = read_tensor(bytes, done, "bias", &head);
    assert_true(bias.values[0] == 101);
    cJSON_Delete(head);
    free(bytes);
    api_response_close(&response);
}

/* ---- metrics ---- */

static void metrics_are_filtered_and_thinned(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    claim_job(f, id);
    for (int i = 1; i <= 3000; i++) {
        struct storage_metric points[2] = {{"loss", {i, i == 1500 ? -5.0 : 1.0 / i}}, {"accuracy", {i, i % 2}}};
        assert_int_equal(storage_metric_append(f->storage, id, points, i <= 10 ? 2 : 1, &f->err), STATUS_OK);
    }
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, "/metrics"), NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/series")), 2);
    assert_int_equal(cJSON_GetArraySize(at(f, "/series/accuracy")), 10);
    int shown = cJSON_GetArraySize(at(f, "/series/loss"));
    assert_true(shown <= 1500 && shown > 700);
    assert_int_equal(number_at(f, "/points/loss"), 3000);
    assert_int_equal(number_at(f, "/series/accuracy/2/0"), 3);
    assert_int_equal(number_at(f, "/series/accuracy/2/1"), 1);
    assert_int_equal(ask(f, "GET", path_of(id, "/metrics?name=loss,accuracy,loss&max_points=3&since=5"), NULL), 200);
    shown = cJSON_GetArraySize(at(f, "/series/loss"));
    assert_in_range(shown, 2, 3);
    bool lowest = false;
    double last = -1;
    for (int i = 0; i < shown; i++) {
        const cJSON *point = cJSON_GetArrayItem(at(f, "/series/loss"), i);
        double step = cJSON_GetArrayItem(point, 0)->valuedouble;
        assert_true(step > last && step > 5);
        last = step;
        lowest = lowest || cJSON_GetArrayItem(point, 1)->valuedouble == -5.0;
    }
    assert_true(lowest && last == 3000); /* with one bucket, the response contains the minimum and the last point */
    assert_int_equal(ask(f, "GET", path_of(id, "/metrics?name=loss&since=100&until=105"), NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/series/loss")), 5);
    assert_int_equal(number_at(f, "/series/loss/4/0"), 105);
    assert_int_equal(ask(f, "GET", path_of(id, "/metrics?name=loss&since=3000"), NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/series/loss")), 0); /* the series has no points after `since` */
    const char *same = path_of(id, "/metrics?name=loss&since=3000");
    char etag[64];
    (void)snprintf(etag, sizeof etag, "%s", answer_header(f, "ETag"));
    header(f, "If-None-Match", etag);
    assert_int_equal(ask(f, "GET", same, NULL), 304);
    static const char *const bad[] = {"/metrics?name=",        "/metrics?name=a,,b",      "/metrics?since=-1",
                                      "/metrics?max_points=2", "/metrics?max_points=1e3", "/metrics?names=a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)ask(f, "GET", path_of(id, bad[i]), NULL);
        assert_problem(f, 400, "bad-query");
    }
    (void)ask(f, "GET", path_of(id, "/metrics?name=loss,acuracy,nothing"), NULL);
    assert_problem(f, 422, "invalid");
    assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 2); /* loss is known */
    assert_string_equal(text_at(f, "/errors/0/parameter"), "name");
    assert_non_null(strstr(text_at(f, "/errors/0/detail"), "did you mean 'accuracy'?"));
    assert_null(strstr(text_at(f, "/errors/1/detail"), "did you mean"));
}

/* ---- artifacts ---- */

static void artifacts_are_listed_and_served(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    static const char picture[] = "\x89PNG\0\1\2";
    assert_int_equal(storage_artifact_put(f->storage, id, "motifs.png", "image/png", picture, 7, &f->err), STATUS_OK);
    assert_int_equal(storage_artifact_put(f->storage, id, "drawing.svg", "image/svg+xml", "<svg/>", 6, &f->err),
                     STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, "/artifacts"), NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/artifacts")), 2);
    assert_string_equal(text_at(f, "/artifacts/1/name"), "motifs.png");
    assert_int_equal(number_at(f, "/artifacts/1/bytes"), 7);
    assert_int_equal(ask(f, "GET", path_of(id, "/artifacts/motifs.png"), NULL), 200);
    assert_string_equal(answer_header(f, "Content-Type"), "image/png");
    assert_int_equal(f->body_bytes, 7);
    assert_memory_equal(f->body, picture, 7);
    assert_int_equal(ask(f, "GET", path_of(id, "/artifacts/drawing.svg"), NULL), 200);
    assert_non_null(strstr(answer_header(f, "Content-Security-Policy"), "sandbox"));
    static const char *const bad[] = {"/artifacts/none.png", "/artifacts/..",     "/artifacts/..%2f..%2fetc",
                                      "/artifacts/.png",     "/artifacts/%2e%2e", "/artifacts/A",
                                      "/artifacts/"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)ask(f, "GET", path_of(id, bad[i]), NULL);
        assert_problem(f, 404, "not-found");
    }
}

/* ---- evaluations ---- */

static void newest_evaluation_is_shown(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], evaluation[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\",\"preset\":\"small\"}", id);
    (void)ask(f, "GET", path_of(id, "/evaluation"), NULL);
    assert_problem(f, 404, "not-found");
    (void)ask(f, "POST", path_of(id, "/evaluation"), "{}");
    assert_problem(f, 409, "conflict");
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 1);
    (void)add_checkpoint(f, id, 20, 0.25, 1);
    finish_job(f, id, "{\"fpe\":0.5,\"job\":\"forged\",\"seed\":4}");
    assert_int_equal(ask(f, "GET", path_of(id, "/evaluation"), NULL), 200);
    assert_true(number_at(f, "/fpe") == 0.5);
    assert_string_equal(text_at(f, "/job"), id);

    header(f, "Idempotency-Key", "evaluate-once");
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), "{\"samples\":50,\"seed\":-1,\"checkpoint\":1}"), 201);
    (void)snprintf(evaluation, sizeof evaluation, "%s", text_at(f, "/id"));
    assert_string_equal(answer_header(f, "Location"), path_of(evaluation, ""));
    assert_string_equal(text_at(f, "/task"), "evaluate");
    assert_string_equal(text_at(f, "/preset"), "small");
    assert_true(number_at(f, "/config/density") == 0.25);
    assert_int_equal(number_at(f, "/evaluation/samples"), 50);
    assert_int_equal(number_at(f, "/evaluation/seed"), -1);
    assert_int_equal(number_at(f, "/evaluation/checkpoint"), 1);
    assert_string_equal(text_at(f, "/from/job"), id);
    header(f, "Idempotency-Key", "evaluate-once");
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), "{\"checkpoint\":1,\"samples\":50,\"seed\":-1}"), 201);
    assert_string_equal(text_at(f, "/id"), evaluation);
    /* refused, because this key was used for a request on another route */
    header(f, "Idempotency-Key", "evaluate-once");
    (void)ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}");
    assert_problem(f, 422, "idempotency-key-reused");

    assert_true(number_at(f, "/status") == 422);
    assert_int_equal(ask(f, "GET", path_of(id, "/evaluation"), NULL), 200);
    /* the evaluation has not finished, so this is still the evaluation at the end of the job */
    assert_true(number_at(f, "/fpe") == 0.5);
    claim_job(f, evaluation);
    finish_job(f, evaluation, "{\"fpe\":0.25,\"by_density\":[{\"density\":0.5}]}");
    assert_int_equal(ask(f, "GET", path_of(id, "/evaluation"), NULL), 200);
    assert_true(number_at(f, "/fpe") == 0.25);
    assert_true(number_at(f, "/by_density/0/density") == 0.5);
    assert_string_equal(text_at(f, "/evaluation_job"), evaluation);
    assert_int_equal(number_at(f, "/checkpoint"), 1);
    assert_int_equal(ask(f, "GET", path_of(evaluation, "/evaluation"), NULL), 200);
    assert_true(number_at(f, "/fpe") == 0.25);

    /* a request without a body uses the default of every member */
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), NULL), 201);
    assert_int_equal(number_at(f, "/evaluation/seed"), -2);
    assert_int_equal(number_at(f, "/evaluation/samples"), 1000);
    assert_int_equal(number_at(f, "/evaluation/checkpoint"), 2);
    (void)ask(f, "POST", path_of(evaluation, "/evaluation"), "{}");
    assert_problem(f, 409, "conflict");
    (void)ask(f, "POST", path_of(id, "/evaluation"), "{\"samples\":0,\"seed\":-3,\"checkpoint\":\"x\",\"sample\":1}");
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/samples", "[1, 100000000]; got 0");
    assert_fault(f, "/seed", "got -3");
    assert_fault(f, "/checkpoint", "must be latest");
    assert_fault(f, "/sample", "did you mean 'samples'");
    (void)ask(f, "POST", path_of(id, "/evaluation"), "{\"checkpoint\":9}");
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/checkpoint", "no such checkpoint");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(download_is_a_valid_safetensors_file, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(ranges_return_parts_of_the_file, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(started_download_continues_when_its_job_is_deleted, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(metrics_are_filtered_and_thinned, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(artifacts_are_listed_and_served, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(newest_evaluation_is_shown, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
