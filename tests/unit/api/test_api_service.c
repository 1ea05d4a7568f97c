/* Tests the routes about the service itself and what all routes share: admission, scopes, targets, health, metrics,
 * kinds and OpenAPI. argv[1] may name a script that validates the OpenAPI document, and responses against it. The
 * script reads both from its standard input. */
#include "api/documents/dashboard.h"
#include "api/http/service.h"
#include "tests/unit/api/api_fixture.h"

#include <ctype.h>
#include <unistd.h>

static const char *validator;

static void targets_are_matched_and_decoded(void **state)
{
    static const struct {
        const char *method, *target;
        int status;
        const char *problem;
    } cases[] = {
        {"GET", "/nothing", 404, "not-found"},
        {"GET", "/v1", 404, "not-found"},
        {"GET", "/v1/jobs/", 404, "not-found"},
        {"GET", "//v1/jobs", 404, "not-found"},
        {"GET", "/v1/jobs/a/b/c/d/e/f/g/h/i", 404, "not-found"},
        {"GET", "/v1/jobs/../system", 404, "not-found"},
        {"GET", "/v1/jobs/%2e%2e", 404, "not-found"},
        {"GET", "/v1%2fsystem", 404, "not-found"},
        {"GET", "/v1/jobs/a%2fb", 404, "not-found"},
        {"GET", "/v1/jobs/%00", 400, "bad-request"},
        {"GET", "/v1/jobs/a%00b", 400, "bad-request"},
        {"GET", "/v1/jobs/%", 400, "bad-request"},
        {"GET", "/v1/jobs/%4", 400, "bad-request"},
        {"GET", "/v1/jobs/%zz", 400, "bad-request"},
        {"GET", "/v1/jobs/%c0%af", 400, "bad-request"},
        {"GET", "/v1/jobs/%ff", 400, "bad-request"},
        {"GET", "/v1/jobs/%0a", 400, "bad-request"},
        {"GET", "v1/jobs", 400, "bad-request"},
        {"GET", "http://host/v1/jobs", 400, "bad-request"},
        {"GET", "*", 400, "bad-request"},
        {"GET", "", 400, "bad-request"},
        {"PUT", "/v1/jobs", 405, "method-not-allowed"},
        {"get", "/v1/jobs", 405, "method-not-allowed"},
        {"DELETE", "/healthz", 405, "method-not-allowed"},
        {"OPTIONS", "/v1/jobs/x", 405, "method-not-allowed"},
        {"GET", "/v1/jobs/x/cancel", 405, "method-not-allowed"},
        {"BREW", "/", 405, "method-not-allowed"},
        {"GET", "/v1/jobs/x/events", 404, "not-found"},
        {"PUT", "/v1/datasets/x/y", 404, "not-found"},
        {"GET", "/healthz?x=1", 400, "bad-query"},
        {"GET", "/healthz?%00=1", 400, "bad-query"},
        {"GET", "/v1/jobs/'%20OR%201=1--", 404, "not-found"},
        {"GET", "/v1/kinds/none", 404, "not-found"},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = ask(f, cases[i].method, cases[i].target, NULL);
        if (status != cases[i].status)
            fail_msg("%s %s: %d, not %d", cases[i].method, cases[i].target, status, cases[i].status);
        assert_problem(f, cases[i].status, cases[i].problem);
    }
    char target[API_TARGET_MAX + 100];
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    (void)ask(f, "GET", target, NULL);
    assert_problem(f, 414, "target-too-long");
    (void)ask(f, "PUT", "/v1/jobs/abc", NULL);
    assert_string_equal(answer_header(f, "Allow"), "GET, HEAD, PATCH, DELETE");
    /* in a path, a percent-encoded letter means the same as the letter */
    assert_int_equal(ask(f, "GET", "/v1/%6aobs", NULL), 200);
}

static void routes_require_their_scope(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    assert_int_equal(ask(f, "POST", path_of(id, "/cancel"), NULL), 202);
    static const struct {
        const char *method, *rest;
        enum api_scope scope;
    } cases[] = {{"GET", "", API_SCOPE_READ}, {"PATCH", "", API_SCOPE_SUBMIT}, {"DELETE", "", API_SCOPE_SUBMIT}};
    static const char *const names[] = {"", "read", "submit", "manage", "admin"};
    for (size_t i = 0; i < 3; i++) {
        for (enum api_scope scope = API_SCOPE_NONE; scope <= API_SCOPE_ADMIN; scope++) {
            f->scope = scope;
            int status = ask(f, cases[i].method, path_of(id, cases[i].rest), i == 1 ? "{}" : NULL);
            if (scope >= cases[i].scope) {
                assert_in_range(status, 200, 204);
                if (i == 2) /* deleted */
                    break;
            } else if (scope == API_SCOPE_NONE) {
                assert_problem(f, 401, "unauthorised");
                assert_string_equal(answer_header(f, "WWW-Authenticate"), "Bearer realm=\"motifd\"");
            } else {
                char expected[40];
                (void)snprintf(expected, sizeof expected, "scope=\"%s\"", names[cases[i].scope]);
                assert_problem(f, 403, "forbidden");
                assert_non_null(strstr(answer_header(f, "WWW-Authenticate"), expected));
            }
        }
    }
    f->scope = API_SCOPE_NONE;
    header(f, "Authorization", "Bearer wrong");
    (void)ask(f, "GET", "/v1/jobs", NULL);
    assert_problem(f, 401, "unauthorised");
    assert_non_null(strstr(answer_header(f, "WWW-Authenticate"), "invalid_token"));
    assert_int_equal(ask(f, "GET", "/healthz", NULL), 200);
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 200);
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    assert_int_equal(ask(f, "GET", "/", NULL), 200);
    assert_int_equal(ask(f, "GET", "/metrics", NULL), 401);
    assert_int_equal(ask(f, "GET", "/v1/nowhere", NULL), 404);
}

static const char *lookup(void *context, const char *name)
{
    const char *const *pairs = context;
    for (; pairs[0] != NULL; pairs += 2)
        if (strcmp(pairs[0], name) == 0)
            return pairs[1];
    return NULL;
}

static void admission_refuses_before_the_body(void **state)
{
    static const struct {
        const char *method, *target, *headers[7];
        int status; /* 0: the request is admitted */
        size_t limit;
    } cases[] = {
        {"POST", "/v1/jobs", {"Content-Type", "application/json", "Content-Length", "10", NULL}, 0, API_JSON_MAX},
        {"POST",
         "/v1/jobs",
         {"Content-Type", "Application/JSON; charset=UTF-8", "Content-Length", "9", NULL},
         0,
         API_JSON_MAX},
        {"POST", "/v1/jobs", {"Content-Type", "application/json; charset=latin1", "Content-Length", "9", NULL}, 415, 0},
        {"POST", "/v1/jobs", {"Content-Type", "application/json", "Content-Length", "1048577", NULL}, 413, 0},
        {"POST", "/v1/jobs", {"Content-Type", "application/json", "Content-Length", "1048576", NULL}, 0, API_JSON_MAX},
        {"POST",
         "/v1/jobs",
         {"Content-Type", "application/json", "Content-Length", "99999999999999999999", NULL},
         400,
         0},
        {"POST", "/v1/jobs", {"Content-Type", "application/json", "Content-Length", "-1", NULL}, 400, 0},
        {"POST", "/v1/jobs", {"Content-Type", "text/plain", "Content-Length", "10", NULL}, 415, 0},
        {"POST", "/v1/jobs", {"Content-Length", "10", NULL}, 415, 0},
        {"POST", "/v1/jobs", {"Transfer-Encoding", "chunked", NULL}, 415, 0},
        {"POST",
         "/v1/jobs",
         {"Content-Type", "application/json", "Transfer-Encoding", "chunked", NULL},
         0,
         API_JSON_MAX},
        {"POST",
         "/v1/jobs",
         {"Content-Type", "application/json", "Content-Length", "10", "Content-Encoding", "gzip"},
         415,
         0},
        {"POST",
         "/v1/jobs/x/motifs",
         {"Content-Type", "image/png", "Content-Length", "16777216", NULL},
         0,
         API_BODY_MAX},
        {"POST", "/v1/jobs/x/cancel", {"Content-Length", "1", NULL}, 413, 0},
        {"POST", "/v1/jobs/x/cancel", {"Content-Length", "0", NULL}, 0, 0},
        {"GET", "/v1/jobs", {NULL}, 0, 0},
        {"PUT", "/v1/jobs", {NULL}, 405, 0},
        {"GET", "/none", {NULL}, 404, 0},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *pairs[9] = {0};
        memcpy(pairs, cases[i].headers, sizeof cases[i].headers);
        struct api_request request = {.method = cases[i].method,
                                      .target = cases[i].target,
                                      .header = lookup,
                                      .header_context = pairs,
                                      .scope = API_SCOPE_ADMIN,
                                      .id = "given-id"};
        struct api_response response;
        size_t limit = 1;
        bool admitted = api_admit(f->api, &request, &response, &limit);
        if (admitted != (cases[i].status == 0) || (!admitted && response.status != cases[i].status))
            fail_msg("case %zu: %d %d", i, admitted, response.status);
        assert_int_equal(limit, cases[i].limit);
        if (!admitted) {
            assert_string_equal(api_response_header(&response, "X-Request-Id"), "given-id");
            assert_non_null(strstr(response.body.data, "given-id"));
            api_response_close(&response);
        }
    }
    struct api_response response;
    /* a request that is refused before any byte of it has arrived */
    struct api_request request = {.scope = API_SCOPE_NONE};
    api_refuse(f->api, &request, 429, NULL, "Slow down.", 7, &response);
    assert_int_equal(response.status, 429);
    assert_string_equal(api_response_header(&response, "Retry-After"), "7");
    assert_non_null(strstr(response.body.data, "too-many-requests"));
    api_response_close(&response);
    assert_non_null(api_route_find(f->api, "POST", "/v1/jobs/x/motifs?checkpoint=1"));
    assert_null(api_route_find(f->api, "POST", "/metrics"));
}

static void system_and_kinds_are_shown(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    assert_int_equal(ask(f, "GET", "/v1/system", NULL), 200);
    assert_string_equal(text_at(f, "/version"), "1.2.3");
    assert_string_equal(text_at(f, "/cpu_features/1"), "fma");
    assert_string_equal(text_at(f, "/blas_core"), "Zen");
    assert_int_equal(number_at(f, "/workers"), 2);
    assert_int_equal(number_at(f, "/queue_depth"), 1);
    assert_int_equal(number_at(f, "/jobs/queued"), 1);
    assert_true(number_at(f, "/database_bytes") > 4096);
    assert_int_equal(ask(f, "GET", "/v1/kinds", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/kinds")), 1);
    assert_int_equal(ask(f, "GET", "/v1/kinds/echo", NULL), 200);
    assert_string_equal(text_at(f, "/kind"), "echo");
    assert_int_equal(cJSON_GetArraySize(at(f, "/fields")), 8);
    assert_string_equal(text_at(f, "/fields/2/name"), "density");
    assert_string_equal(text_at(f, "/fields/2/type"), "number");
    assert_true(number_at(f, "/fields/2/default") == 0.5);
    assert_true(cJSON_IsTrue(at(f, "/fields/2/min_open")));
    assert_string_equal(text_at(f, "/fields/3/choices/1"), "strict");
    assert_string_equal(text_at(f, "/presets/0/name"), "small");
    assert_int_equal(cJSON_GetArraySize(at(f, "/presets/0/settings")), 2);
    assert_true(number_at(f, "/presets/0/config/density") == 0.25);
    assert_int_equal(number_at(f, "/presets/0/config/seed"), 7);
    assert_int_equal(cJSON_GetArraySize(at(f, "/presets/0/grid")), 0);
    assert_int_equal(number_at(f, "/presets/0/seeds"), 1);
    assert_true(number_at(f, "/presets/2/grid/density/1") == 0.5);
    assert_string_equal(text_at(f, "/presets/2/grid/mode/1"), "strict");
    assert_int_equal(number_at(f, "/presets/2/seeds"), 2);
    assert_string_equal(text_at(f, "/metrics/0/name"), "loss");
    assert_string_equal(text_at(f, "/queries/1/name"), "predict");
    char etag[64];
    (void)snprintf(etag, sizeof etag, "%s", answer_header(f, "ETag"));
    header(f, "If-None-Match", etag);
    assert_int_equal(ask(f, "GET", "/v1/kinds/echo", NULL), 304);
    assert_int_equal(ask(f, "HEAD", "/v1/kinds/echo", NULL), 200);
    assert_string_equal(answer_header(f, "ETag"), etag);
    assert_int_equal(ask(f, "GET", "/", NULL), 200);
    assert_non_null(strstr(f->body, "/openapi.json"));
}

/* The page is small, its policy allows no sources from other hosts, and the compressed page equals the plain one. */
static void page_has_a_strict_policy(void **state)
{
    struct api_fixture *f = *state;
    char etag[64];
    assert_int_equal(ask(f, "GET", "/assets/no-such.js", NULL), 404);
    header(f, "Accept", "text/plain");
    assert_int_equal(ask(f, "GET", "/", NULL), 200);
    assert_non_null(strstr(answer_header(f, "Content-Type"), "text/plain"));
    assert_non_null(strstr(f->body, dashboard_file_count > 0 ? "A browser gets the dashboard" : "-Ddashboard=enabled"));
    header(f, "Accept-Encoding", "br, gzip;q=0");
    header(f, "Accept", "text/html,*/*;q=0.8");
    assert_int_equal(ask(f, "GET", "/", NULL), 200);
    assert_null(answer_header(f, "Content-Encoding"));
    if (dashboard_file_count == 0)
        return; /* the build has no dashboard, because Node was missing */
    assert_non_null(strstr(f->body, "<!doctype html>"));
    assert_null(strstr(answer_header(f, "Content-Security-Policy"), "unsafe"));
    (void)snprintf(etag, sizeof etag, "%s", answer_header(f, "ETag"));
    header(f, "Accept-Encoding", "deflate, gzip");
    assert_int_equal(ask(f, "GET", "/", NULL), 200);
    assert_string_equal(answer_header(f, "Content-Encoding"), "gzip");
    assert_string_not_equal(answer_header(f, "ETag"), etag);
    (void)snprintf(etag, sizeof etag, "%s", answer_header(f, "ETag"));
    header(f, "Accept-Encoding", "gzip");
    header(f, "If-None-Match", etag);
    assert_int_equal(ask(f, "GET", "/", NULL), 304);
}

/* The page contains the paths of the script and the style. The responses must allow browsers to cache these two files
 * forever. */
static void assets_may_be_cached_forever(void **state)
{
    struct api_fixture *f = *state;
    for (size_t i = 1; i < dashboard_file_count; i++) {
        const struct dashboard_file *file = &dashboard_files[i];
        char target[100];
        (void)snprintf(target, sizeof target, "/assets/%s", file->path);
        assert_int_equal(ask(f, "GET", "/", NULL), 200);
        assert_non_null(strstr(f->body, target));
        assert_int_equal(ask(f, "GET", target, NULL), 200);
        assert_int_equal(f->body_bytes, file->plain_size);
        assert_string_equal(answer_header(f, "Content-Type"), file->type);
        assert_non_null(strstr(answer_header(f, "Cache-Control"), "immutable"));
        header(f, "Accept-Encoding", "gzip");
        assert_int_equal(ask(f, "GET", target, NULL), 200);
        assert_int_equal(f->body_bytes, file->size);
    }
}

static double sample(const struct api_fixture *f, const char *name)
{
    char line[200];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(f->body, line);
    if (found == NULL)
        fail_msg("no %s in\n%s", name, f->body);
    return strtod(found + strlen(line), NULL);
}

/* Runs a command with the last body as its standard input. Returns its exit code. */
static int pipe_body(struct api_fixture *f, const char *command)
{
    FILE *pipe = popen(command, "w");
    assert_non_null(pipe);
    assert_int_equal(fwrite(f->body, 1, f->body_bytes, pipe), f->body_bytes);
    return pclose(pipe);
}

static void metrics_are_prometheus_text(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    (void)ask(f, "GET", "/v1/jobs/none", NULL);
    (void)ask(f, "HEAD", "/v1/jobs", NULL);
    (void)ask(f, "GET", "/no/such/path", NULL);
    (void)ask(f, "GET", "/metrics", NULL);
    assert_int_equal(ask(f, "GET", "/metrics", NULL), 200);
    assert_non_null(strstr(answer_header(f, "Content-Type"), "text/plain; version=0.0.4"));
    assert_true(sample(f, "motifd_jobs{state=\"queued\"}") == 1);
    assert_true(sample(f, "motifd_queue_depth") == 1);
    assert_true(sample(f, "motifd_training_steps_total") == 5);
    assert_true(sample(f, "motifd_training_samples_total") == 50);
    assert_true(sample(f, "motifd_draining") == 0);
    assert_true(sample(f, "motifd_test_total") == 3);
    assert_true(sample(f, "motifd_http_requests_total{route=\"/v1/jobs\",method=\"POST\",status=\"201\"}") == 1);
    assert_true(sample(f, "motifd_http_requests_total{route=\"/v1/jobs\",method=\"HEAD\",status=\"200\"}") == 1);
    assert_true(sample(f, "motifd_http_requests_total{route=\"/v1/jobs/{id}\",method=\"GET\",status=\"404\"}") == 1);
    assert_true(sample(f, "motifd_http_requests_total{route=\"none\",method=\"any\",status=\"404\"}") == 1);
    assert_true(sample(f, "motifd_http_request_duration_seconds_count{route=\"/metrics\",method=\"GET\"}") == 1);
    assert_true(sample(f, "motifd_database_commit_duration_seconds_count") >= 1);
    assert_true(sample(f, "motifd_build_info{version=\"1.2.3\",build=\"release\",kernels=\"ref\",blas_core=\"Zen\"}") ==
                1);
    if (system("command -v promtool >/dev/null") == 0)
        assert_int_equal(pipe_body(f, "promtool check metrics"), 0);
}

/* Asserts that every $ref refers to an existing value. */
static void check_references(struct api_fixture *f, const cJSON *value)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, value) {
        if (item->string != NULL && strcmp(item->string, "$ref") == 0) {
            assert_int_equal(item->valuestring[0], '#');
            (void)at(f, item->valuestring + 1);
        }
        check_references(f, item);
    }
}

/* Applies changed options. */
static void restart(struct api_fixture *f)
{
    forget_answer(f);
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
}

/* Slow readers may keep many large answers, so their memory is counted until they are sent. */
static void large_answer_without_room_is_refused(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    int64_t bytes = (int64_t)f->body_bytes;
    assert_true(bytes > 1 << 16);
    f->options.job_memory = bytes / 2;
    restart(f);
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 503);
    assert_non_null(strstr(f->body, "There is no room for the answer"));
    f->options.job_memory = 4 * bytes;
    restart(f);
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    assert_int_equal(ask(f, "GET", "/v1/system", NULL), 200);
    assert_true(number_at(f, "/requests/texts") == 0 && number_at(f, "/requests/callers") == 0);
    assert_true(number_at(f, "/requests_limits/memory") == (double)f->options.job_memory);
}

static void openapi_lists_every_route(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    assert_string_equal(text_at(f, "/openapi"), "3.1.0");
    int operations = 0;
    const struct route_table *table = &f->api->routes;
    for (size_t i = 0; i < table->count; i++) {
        const struct api_route *route = &table->routes[i];
        char method[8] = {0};
        for (size_t c = 0; route->method[c] != '\0'; c++)
            method[c] = (char)tolower((unsigned char)route->method[c]);
        const cJSON *path = cJSON_GetObjectItemCaseSensitive(at(f, "/paths"), route->pattern);
        const cJSON *operation = cJSON_GetObjectItemCaseSensitive(path, method);
        assert_non_null(operation);
        assert_string_equal(cJSON_GetObjectItem(operation, "operationId")->valuestring, route->name);
        assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(operation, "responses")) >= 2);
        int names = 0;
        for (const char *c = route->pattern; *c != '\0'; c++)
            names += *c == '{';
        const cJSON *parameter;
        cJSON_ArrayForEach (parameter, cJSON_GetObjectItem(operation, "parameters"))
            names -= strcmp(cJSON_GetObjectItem(parameter, "in")->valuestring, "path") == 0;
        assert_int_equal(names, 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(table->routes[j].name, route->name);
        operations++;
    }
    const cJSON *path;
    cJSON_ArrayForEach (path, at(f, "/paths"))
        operations -= cJSON_GetArraySize(path);
    assert_int_equal(operations, 0); /* the document contains exactly the operations of the route table */
    check_references(f, f->json);
    assert_true(number_at(f, "/components/schemas/Config_echo/properties/density/exclusiveMinimum") == 0);
    assert_true(number_at(f, "/components/schemas/Config_echo/properties/density/maximum") == 1);
}

/* Appends the last response and its request to a list for the validator. */
static void keep(struct api_fixture *f, cJSON *answers, const char *method)
{
    cJSON *kept = cJSON_CreateObject();
    cJSON_AddStringToObject(kept, "pattern", f->response.route);
    cJSON_AddStringToObject(kept, "method", method);
    cJSON_AddNumberToObject(kept, "status", f->response.status);
    cJSON_AddStringToObject(kept, "type", answer_header(f, "Content-Type"));
    cJSON_AddItemToObject(kept, "body", cJSON_Duplicate(f->json, true));
    cJSON_AddItemToArray(answers, kept);
}

/* An independent validator of JSON Schema checks responses against the OpenAPI document. */
static void responses_match_the_openapi_document(void **state)
{
    static const struct {
        const char *method, *rest, *body;
    } cases[] = {
        {"GET", "", NULL},
        {"GET", "/metrics", NULL},
        {"GET", "/checkpoints", NULL},
        {"GET", "/artifacts", NULL},
        {"GET", "/evaluation", NULL},
        {"POST", "/motifs", "{\"inputs\":[{\"sample\":{\"seed\":1}},{\"array\":[[1]]}]}"},
        {"POST", "/predict", "{\"inputs\":[]}"},
        {"POST", "/evaluation", "{\"samples\":5}"},
        {"PATCH", "", "{\"name\":\"x\"}"},
        {"POST", "/pause", NULL},
        {"GET", "/checkpoints/77", NULL},
    };
    static const char *const targets[] = {"/v1/jobs",       "/v1/jobs?limit=1", "/v1/jobs?limit=0", "/v1/kinds",
                                          "/v1/kinds/echo", "/v1/kinds/none",   "/v1/system",       "/healthz",
                                          "/readyz",        "/openapi.json"};
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    cJSON *given = cJSON_CreateObject(), *answers = cJSON_AddArrayToObject(given, "answers");
    trained_job(f, id);
    keep(f, answers, "POST");
    struct storage_metric point = {"loss", {1, 0.5}};
    assert_int_equal(storage_metric_append(f->storage, id, &point, 1, &f->err), STATUS_OK);
    assert_int_equal(storage_artifact_put(f->storage, id, "a.png", "image/png", "x", 1, &f->err), STATUS_OK);
    finish_job(f, id, "{\"fpe\":0.5}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ask(f, cases[i].method, path_of(id, cases[i].rest), cases[i].body);
        keep(f, answers, cases[i].method);
    }
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        (void)ask(f, "GET", targets[i], NULL);
        keep(f, answers, "GET");
    }
    (void)ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"echo\"}");
    keep(f, answers, "POST");
    (void)ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"density\":9}}");
    keep(f, answers, "POST");
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    cJSON_AddItemToObject(given, "document", cJSON_Duplicate(f->json, true));
    if (validator != NULL) {
        free(f->body);
        f->body = cJSON_PrintUnformatted(given);
        f->body_bytes = strlen(f->body);
        assert_int_equal(pipe_body(f, validator), 0);
    }
    cJSON_Delete(given);
}

int main(int argc, char **argv)
{
    validator = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(targets_are_matched_and_decoded, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(routes_require_their_scope, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(admission_refuses_before_the_body, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(system_and_kinds_are_shown, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(page_has_a_strict_policy, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(assets_may_be_cached_forever, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(metrics_are_prometheus_text, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(large_answer_without_room_is_refused, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(openapi_lists_every_route, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(responses_match_the_openapi_document, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
