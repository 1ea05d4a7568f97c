/* Every allocation of every kind of request fails once: a response goes out all the same, and nothing leaks (the
 * sanitizer build sees that). Requests that only read, because the counter of faults wants one thread. */
#include "tests/unit/api_fixture.h"

#include "tests/unit/fault.h"

static const char *json_header(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static void test_no_memory(void **state)
{
    static const struct {
        const char *method, *rest, *body;
        int status;
    } cases[] = {
        {"GET", "", NULL, 200},
        {"GET", "/metrics", NULL, 200},
        {"GET", "/checkpoints", NULL, 200},
        {"GET", "/checkpoints/1", NULL, 200},
        {"GET", "/artifacts/a.png", NULL, 200},
        {"GET", "/evaluation", NULL, 404},
        {"POST", "/motifs", "{\"inputs\":[{\"array\":[[1,2],[3,4]]},{\"sample\":{\"seed\":1}}]}", 200},
        {"POST", "/predict", "{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"application/x-npy\"}]}", 422},
    };
    static const struct {
        const char *method, *target, *body;
        int status;
    } others[] = {
        {"POST", "/v1/jobs?dry_run=1", "{\"kind\":\"echo\",\"config\":{\"density\":0.1}}", 200},
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"density\":7}}", 422},
        {"GET", "/v1/jobs?limit=5", NULL, 200},
        {"GET", "/v1/kinds", NULL, 200},
        {"GET", "/metrics", NULL, 200},
        {"GET", "/openapi.json", NULL, 200},
        {"GET", "/none", NULL, 404},
    };
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    assert_int_equal(storage_artifact_put(f->storage, id, "a.png", "image/png", "abc", 3, &f->err), STATUS_OK);
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    size_t count = sizeof cases / sizeof cases[0], all = count + sizeof others / sizeof others[0];
    int walked = 0;
    for (size_t i = 0; i < all; i++) {
        bool own = i < count;
        const char *body = own ? cases[i].body : others[i - count].body;
        struct api_request request = {
            .method = own ? cases[i].method : others[i - count].method,
            .target = own ? path_of(id, cases[i].rest) : others[i - count].target,
            .header = json_header, .body = body, .body_bytes = body != NULL ? strlen(body) : 0, .scope = API_SCOPE_ADMIN};
        int expected = own ? cases[i].status : others[i - count].status;
        for (int n = 0;; n++) {
            struct api_response response;
            fault_after(n);
            api_handle(f->api, &request, &response);
            bool failed = fault_happened();
            int status = response.status;
            const char *request_id = api_response_header(&response, "X-Request-Id");
            if (request_id == NULL || (status != expected && (!failed || status < 500))) {
                fail_msg("%s %s, allocation %d: %d", request.method, request.target, n, status);
            }
            api_response_close(&response);
            if (!failed) {
                break;
            }
            walked++;
            assert_true(n < 10000);
        }
    }
    assert_true(walked > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_no_memory, api_setup, api_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
