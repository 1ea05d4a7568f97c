/* Sends random requests that are the same in every run. Each must get a complete response. No response may have a
 * status of 500 or more, except 503. */
#include "tests/unit/api/api_fixture.h"

#define OF_JOB 18

static uint64_t state_bits = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state_bits ^= state_bits << 13;
    state_bits ^= state_bits >> 7;
    state_bits ^= state_bits << 17;
    return (uint32_t)(state_bits >> 32) % below;
}

static const char *pick(const char *const *list, size_t count)
{
    return list[draw((uint32_t)count)];
}
#define PICK(list) pick(list, sizeof(list) / sizeof(list)[0])

static void scramble(char *text, size_t room)
{
    static const char odd[] = "{}[]\":,%&=?/.\\ \x01\x7f\x80\xff-e0\n";
    for (uint32_t changes = draw(4); changes > 0 && text[0] != '\0'; changes--) {
        size_t length = strlen(text), at_byte = draw((uint32_t)length);
        if (draw(2) == 0 || length + 2 > room) {
            text[at_byte] = odd[draw(sizeof odd - 1)];
        } else {
            memmove(text + at_byte + 1, text + at_byte, length - at_byte + 1);
            text[at_byte] = odd[draw(sizeof odd - 1)];
        }
    }
}

static void random_requests_get_complete_responses(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"};
    static const struct {
        const char *method, *target; /* the first OF_JOB targets are put after /v1/jobs/ID */
    } requests[] = {{"GET", "/metrics?name=loss&max_points=10"},
                    {"GET", "/checkpoints"},
                    {"GET", "/checkpoints/1"},
                    {"HEAD", "/checkpoints/1"},
                    {"GET", "/checkpoints/latest"},
                    {"POST", "/motifs?checkpoint=density:0.5"},
                    {"POST", "/motifs"},
                    {"POST", "/predict"},
                    {"GET", "/evaluation"},
                    {"POST", "/evaluation"},
                    {"GET", "/artifacts"},
                    {"GET", "/artifacts/a.png"},
                    {"POST", "/cancel"},
                    {"POST", "/pause"},
                    {"POST", "/resume"},
                    {"GET", ""},
                    {"PATCH", ""},
                    {"DELETE", ""},
                    {"GET", "/v1/jobs?limit=3&state=queued"},
                    {"POST", "/v1/jobs?dry_run=1"},
                    {"POST", "/v1/jobs"},
                    {"GET", "/v1/kinds/echo"},
                    {"GET", "/v1/system"},
                    {"GET", "/openapi.json"},
                    {"GET", "/"},
                    {"GET", "/readyz"}};
    static const char *const bodies[] = {
        "",
        "{}",
        "{\"kind\":\"echo\"}",
        "{\"kind\":\"echo\",\"config\":{\"density\":0.5,\"seed\":3,\"mode\":\"strict\"},\"threads\":2}",
        "{\"inputs\":[{\"sample\":{\"seed\":1}},{\"array\":[[1,2],[3,4]]}],\"checkpoint\":1}",
        "{\"inputs\":[{\"data\":\"iVBORw0KGgo=\",\"type\":\"image/png\"}]}",
        "{\"name\":\"x\",\"priority\":3}",
        "{\"samples\":5,\"seed\":-1,\"checkpoint\":\"latest\"}",
        "[[[[[[1]]]]]]"};
    static const struct {
        const char *name, *value;
    } pairs[] = {{"If-None-Match", "\"1.0\""},
                 {"If-None-Match", "*"},
                 {"If-Match", "\"2.0\", W/\"3.1\""},
                 {"If-Match", "*"},
                 {"Range", "bytes=3-9"},
                 {"Range", "bytes=-5"},
                 {"If-Range", "\"x\""},
                 {"Accept", "image/png"},
                 {"Accept", "a;q=0.1, */*"},
                 {"Idempotency-Key", "k"},
                 {"Content-Type", "image/png"},
                 {"Content-Length", "12"},
                 {"Content-Type", "application/x-npy"}};
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    int seen[600] = {0};
    for (int round = 0; round < 6000; round++) {
        char target[400], body[600], value[100];
        size_t r = draw(sizeof requests / sizeof requests[0]);
        bool of_job = r < OF_JOB;
        const char *method = draw(10) == 0 ? PICK(methods) : requests[r].method;
        (void)snprintf(target, sizeof target, "%s", of_job ? path_of(id, requests[r].target) : requests[r].target);
        bool takes = strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0;
        bool acts = r >= 12 && r <= 14; /* requests 12 to 14 are cancel, pause and resume, which have no body */
        (void)snprintf(body, sizeof body, "%s", (takes && !acts) || draw(10) == 0 ? PICK(bodies) : "");
        size_t pair = draw(sizeof pairs / sizeof pairs[0]);
        (void)snprintf(value, sizeof value, "%s", pairs[pair].value);
        if (draw(2) == 0)
            scramble(draw(2) == 0 ? target : draw(2) == 0 ? body : value, 100);
        if (draw(2) == 0)
            header(f, pairs[pair].name, value);
        f->scope = draw(3) == 0 ? (enum api_scope)draw(4) : API_SCOPE_ADMIN;
        int status = ask(f, method, target, body[0] != '\0' ? body : NULL);
        assert_in_range(status, 200, 599);
        if (status >= 500 && status != 503) /* 503 is allowed, because the queue may be full */
            fail_msg("%d for %s %s: %s", status, target, body, f->body);
        if (status >= 400) {
            assert_string_equal(answer_header(f, "Content-Type"), "application/problem+json");
            assert_int_equal(number_at(f, "/status"), status);
        }
        seen[status]++;
    }
    static const int expected[] = {200, 201, 202, 206, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (seen[expected[i]] == 0)
            fail_msg("no %d among the answers", expected[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_requests_get_complete_responses, api_setup, api_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
