/* Requests every route of the API from a real daemon that has a finished job. */
#include <math.h>
#include <unistd.h>

#include "tests/wire/wire.h"

static struct daemon_process served;
static char done_job[JOB_ID]; /* id of a job that has succeeded */

static int setup(void **state)
{
    daemon_init(&served);
    if (!daemon_start(&served, NULL, NULL))
        return -1;
    submit_tiny(served.url, 400, ",\"name\":\"the \\u00e9 one\",\"priority\":3", done_job);
    await_state(served.url, done_job, "succeeded");
    return 0;
}

static int teardown(void **state)
{
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

static void ask(const char *method, const char *path, const char *body, const char *header, struct reply *reply)
{
    const char *const headers[] = {header, NULL};
    struct call call = {.method = method, .path = path, .body = body, .headers = header != NULL ? headers : NULL};
    call_server(served.url, &call, reply);
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (item == NULL)
        fail_msg("no member '%s'", name);
    return item;
}

static void a_job_document_has_every_member(void **state)
{
    static const char *const members[] = {"id",          "kind",     "preset", "name",  "state",      "priority",
                                          "config",      "progress", "result", "error", "created_at", "started_at",
                                          "finished_at", "links",    "phase",  "plan"};
    static const char *const progress[] = {"step",        "samples", "fraction",        "samples_per_second",
                                           "eta_seconds", "density", "target_accuracy", "accuracy",
                                           "stage",       "phase"};
    static const char *const result[] = {"density", "fpe",        "fne",       "ce",   "e2ee",
                                         "exact",   "by_density", "confusion", "seed", "samples",
                                         "seconds", "threads",    "build",     "cpu",  "blas_core"};
    char path[256];
    struct reply reply;
    job_path(path, done_job, "");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        (void)member(reply.json, members[i]);
    for (size_t i = 0; i < sizeof progress / sizeof progress[0]; i++)
        (void)member(member(reply.json, "progress"), progress[i]);
    for (size_t i = 0; i < sizeof result / sizeof result[0]; i++)
        (void)member(member(reply.json, "result"), result[i]);
    assert_string_equal(json_text(reply.json, "name"), "the \xc3\xa9 one");
    assert_int_equal(json_number(reply.json, "priority"), 3);
    assert_int_equal(json_number(member(reply.json, "progress"), "samples"), 400);
    assert_true(cJSON_IsNull(member(reply.json, "error")));
    assert_int_equal(strlen(json_text(reply.json, "created_at")), strlen("2026-11-20T12:00:00.000Z"));
    reply_close(&reply);
}

static void submit_is_idempotent_and_a_dry_run_stores_nothing(void **state)
{
    static const char body[] = "{\"kind\":\"sparling\",\"config\":{" TINY ",\"total_samples\":8}}";
    static const char same[] = "{ \"config\":{" TINY ",\"total_samples\":8}, \"kind\":\"sparling\" }";
    static const char other[] = "{\"kind\":\"sparling\",\"config\":{" TINY ",\"total_samples\":12}}";
    char location[256], id[JOB_ID], text[256];
    struct reply reply;
    ask("POST", "/v1/jobs", body, "Idempotency-Key: key-1", &reply);
    assert_int_equal(reply.status, 201);
    (void)snprintf(id, sizeof id, "%s", json_text(reply.json, "id"));
    (void)snprintf(text, sizeof text, "/v1/jobs/%s", id);
    assert_string_equal(reply_header(&reply, "Location", location), text);
    reply_close(&reply);
    ask("POST", "/v1/jobs", same, "Idempotency-Key: key-1", &reply);
    assert_true(reply.status == 201 || reply.status == 200);
    assert_string_equal(json_text(reply.json, "id"), id);
    reply_close(&reply);
    ask("POST", "/v1/jobs", other, "Idempotency-Key: key-1", &reply);
    assert_problem(&reply, 422);
    reply_close(&reply);

    get(served.url, "/v1/jobs?limit=1000", &reply);
    int before = cJSON_GetArraySize(member(reply.json, "jobs"));
    reply_close(&reply);
    ask("POST", "/v1/jobs?dry_run=1", body, NULL, &reply);
    assert_int_equal(reply.status, 200);
    (void)member(reply.json, "config");
    reply_close(&reply);
    get(served.url, "/v1/jobs?limit=1000", &reply);
    assert_int_equal(cJSON_GetArraySize(member(reply.json, "jobs")), before);
    reply_close(&reply);
    await_state(served.url, id, "succeeded");
}

static void lists_are_paged(void **state)
{
    char ids[5][JOB_ID], path[256], seen[8][JOB_ID];
    struct reply reply;
    for (int i = 0; i < 5; i++)
        submit_tiny(served.url, 8, "", ids[i]);
    for (int i = 0; i < 5; i++)
        await_state(served.url, ids[i], "succeeded");
    int count = 0;
    (void)snprintf(path, sizeof path, "/v1/jobs?state=succeeded&kind=sparling&limit=2");
    while (path[0] != '\0' && count < 5) {
        get(served.url, path, &reply);
        assert_int_equal(reply.status, 200);
        const cJSON *job;
        cJSON_ArrayForEach (job, member(reply.json, "jobs")) {
            assert_string_equal(json_text(job, "state"), "succeeded");
            memcpy(seen[count++], json_text(job, "id"), JOB_ID);
        }
        const char *cursor = json_text(reply.json, "next_cursor");
        path[0] = '\0';
        if (cursor[0] != '\0')
            (void)snprintf(path, sizeof path, "/v1/jobs?state=succeeded&kind=sparling&limit=2&cursor=%s", cursor);
        reply_close(&reply);
    }
    assert_true(count >= 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(seen[i], ids[4 - i]); /* the pages list the newest job first, and each job once */
    get(served.url, "/v1/jobs?state=failed", &reply);
    assert_int_equal(cJSON_GetArraySize(member(reply.json, "jobs")), 0);
    reply_close(&reply);
    for (int i = 0; i < 5; i++) {
        job_path(path, ids[i], "");
        ask("DELETE", path, NULL, NULL, &reply);
        assert_int_equal(reply.status, 204);
        assert_int_equal(reply.body_bytes, 0);
        reply_close(&reply);
    }
}

static void conditional_requests_compare_etags(void **state)
{
    char path[256], etag[256], header[300];
    struct reply reply;
    job_path(path, done_job, "");
    get(served.url, path, &reply);
    assert_true(reply_header(&reply, "ETag", etag)[0] == '"');
    reply_close(&reply);
    (void)snprintf(header, sizeof header, "If-None-Match: %s", etag);
    ask("GET", path, NULL, header, &reply);
    assert_int_equal(reply.status, 304);
    assert_int_equal(reply.body_bytes, 0);
    reply_close(&reply);
    ask("PATCH", path, "{\"priority\":4}", "If-Match: \"no-such-version\"", &reply);
    assert_problem(&reply, 412);
    reply_close(&reply);
    (void)snprintf(header, sizeof header, "If-Match: %s", etag);
    ask("PATCH", path, "{\"priority\":4}", header, &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_number(reply.json, "priority"), 4);
    reply_close(&reply);
    /* the ETag in `header` is stale, because the earlier request changed the job */
    ask("PATCH", path, "{\"priority\":5}", header, &reply);
    assert_problem(&reply, 412);
    reply_close(&reply);
}

static void metrics_are_reduced_to_buckets(void **state)
{
    char path[256];
    struct reply reply;
    job_path(path, done_job, "/metrics");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *series = member(reply.json, "series"), *accuracy = member(series, "accuracy"), *point;
    double last = -1;
    assert_true(cJSON_GetArraySize(accuracy) >= 9); /* the job trains 400 samples and measures its accuracy every 40 */
    cJSON_ArrayForEach (point, accuracy) {
        assert_int_equal(cJSON_GetArraySize(point), 2);
        assert_true(cJSON_GetArrayItem(point, 0)->valuedouble > last);
        last = cJSON_GetArrayItem(point, 0)->valuedouble;
    }
    reply_close(&reply);
    job_path(path, done_job, "/metrics?name=accuracy,density&since=200&max_points=3");
    get(served.url, path, &reply);
    series = member(reply.json, "series");
    assert_int_equal(cJSON_GetArraySize(series), 2);
    accuracy = member(series, "accuracy");
    assert_in_range(cJSON_GetArraySize(accuracy), 1, 3);
    assert_true(cJSON_GetArrayItem(cJSON_GetArrayItem(accuracy, 0), 0)->valuedouble > 200);
    assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(accuracy, cJSON_GetArraySize(accuracy) - 1), 0)->valuedouble,
                     last);
    reply_close(&reply);
}

static void checkpoints_are_safetensors_with_ranges(void **state)
{
    char path[256], etag[256], header[300], range[256], expected[256];
    struct reply reply, part;
    job_path(path, done_job, "/checkpoints");
    get(served.url, path, &reply);
    const cJSON *list = member(reply.json, "checkpoints"),
                *last = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
    static const char *const members[] = {"seq", "step", "density", "accuracy", "bytes", "created_at", "pinned"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        (void)member(last, members[i]);
    assert_int_equal(json_number(last, "step"), 100);
    reply_close(&reply);

    job_path(path, done_job, "/checkpoints/latest");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    /* A safetensors file contains the length of its JSON head as 64-bit integer, the head, and the bytes of the
     * tensors. */
    uint64_t head_bytes;
    assert_true(reply.body_bytes > 8);
    memcpy(&head_bytes, reply.body, 8);
    assert_true(head_bytes < reply.body_bytes);
    cJSON *head = cJSON_ParseWithLength(reply.body + 8, (size_t)head_bytes);
    const cJSON *tensor;
    double end = 0;
    cJSON_ArrayForEach (tensor, head) {
        if (strcmp(tensor->string, "__metadata__") != 0) {
            const cJSON *offsets = member(tensor, "data_offsets");
            /* each tensor begins where the previous one ends */
            assert_true(cJSON_GetArrayItem(offsets, 0)->valuedouble == end);
            end = cJSON_GetArrayItem(offsets, 1)->valuedouble;
        }
    }
    assert_true(end == (double)(reply.body_bytes - 8 - head_bytes));
    cJSON_Delete(head);
    (void)reply_header(&reply, "ETag", etag);

    ask("GET", path, NULL, "Range: bytes=100-299", &part);
    assert_int_equal(part.status, 206);
    assert_int_equal(part.body_bytes, 200);
    assert_memory_equal(part.body, reply.body + 100, 200);
    (void)snprintf(expected, sizeof expected, "bytes 100-299/%zu", reply.body_bytes);
    assert_string_equal(reply_header(&part, "Content-Range", range), expected);
    reply_close(&part);
    ask("GET", path, NULL, "Range: bytes=-50", &part);
    assert_int_equal(part.status, 206);
    assert_memory_equal(part.body, reply.body + reply.body_bytes - 50, 50);
    reply_close(&part);
    ask("GET", path, NULL, "Range: bytes=99999999-", &part);
    assert_problem(&part, 416);
    reply_close(&part);
    ask("HEAD", path, NULL, NULL, &part);
    assert_int_equal(part.status, 200);
    assert_int_equal(part.body_bytes, 0);
    assert_int_equal(atoll(reply_header(&part, "Content-Length", range)), (long long)reply.body_bytes);
    reply_close(&part);
    (void)snprintf(header, sizeof header, "If-None-Match: %s", etag);
    ask("GET", path, NULL, header, &part);
    assert_int_equal(part.status, 304);
    reply_close(&part);
    reply_close(&reply);
    job_path(path, done_job, "/checkpoints/999999");
    get(served.url, path, &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
}

static void queries_answer_a_finished_job(void **state)
{
    static const char *const verbs[] = {"/motifs", "/predict"};
    static char array[20000];
    char path[256], type[256];
    struct reply reply;
    int size = snprintf(array, sizeof array, "{\"inputs\":[{\"array\":[");
    for (int row = 0; row < 32; row++) {
        size += snprintf(array + size, sizeof array - (size_t)size, "%s[", row > 0 ? "," : "");
        for (int column = 0; column < 32; column++) {
            size +=
                snprintf(array + size, sizeof array - (size_t)size, "%s%d", column > 0 ? "," : "", (row ^ column) & 1);
        }
        size += snprintf(array + size, sizeof array - (size_t)size, "]");
    }
    (void)snprintf(array + size, sizeof array - (size_t)size, "]}]}");
    for (size_t i = 0; i < 2; i++) {
        job_path(path, done_job, verbs[i]);
        post(served.url, path, "{\"inputs\":[{\"sample\":{\"seed\":3}},{\"sample\":{\"seed\":4}}]}", &reply);
        assert_int_equal(reply.status, 200);
        reply_close(&reply);
        post(served.url, path, array, &reply);
        assert_int_equal(reply.status, 200);
        reply_close(&reply);
        post(served.url, path, "{\"inputs\":[{\"array\":[[1,2],[3,4]]}]}", &reply); /* an input of the wrong shape */
        assert_problem(&reply, 422);
        assert_non_null(strstr(reply.body, "got 2 x 2"));
        reply_close(&reply);
        post(served.url, path, "{\"inputs\":[]}", &reply);
        assert_problem(&reply, 422);
        reply_close(&reply);
    }
    job_path(path, done_job, "/motifs");
    post(served.url, path, "{\"checkpoint\":\"latest\",\"inputs\":[{\"sample\":{\"seed\":3}}]}", &reply);
    const cJSON *answers = cJSON_IsArray(reply.json) ? reply.json : reply.json->child;
    while (answers != NULL && !cJSON_IsArray(answers))
        answers = answers->next;
    const cJSON *answer = cJSON_GetArrayItem(answers, 0);
    assert_int_equal(cJSON_GetArraySize(member(answer, "shape")), 3);
    assert_true(cJSON_GetArraySize(member(answer, "truth")) >= 1);
    (void)member(answer, "prediction");
    const cJSON *motif = cJSON_GetArrayItem(member(answer, "motifs"), 0);
    assert_int_equal(cJSON_GetArraySize(member(motif, "position")), 2);
    assert_true(json_number(motif, "value") > 0);
    (void)member(motif, "channel");
    (void)member(motif, "maximal");
    reply_close(&reply);
    ask("POST", path, "{\"inputs\":[{\"sample\":{\"seed\":3}}]}", "Accept: image/png", &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type", type), "image/png");
    assert_memory_equal(reply.body, "\x89PNG\r\n\x1a\n", 8);
    /* Sends this PNG file back as the input of the query, which also accepts pictures. The drawn picture is larger than
     * the model's input, so the daemon must refuse it. */
    struct call call = {
        .method = "POST", .path = path, .body = reply.body, .body_bytes = reply.body_bytes, .type = "image/png"};
    struct reply second;
    call_server(served.url, &call, &second);
    assert_problem(&second, 422);
    reply_close(&second);
    reply_close(&reply);
}

static void an_evaluation_is_a_job(void **state)
{
    char path[256], id[JOB_ID];
    struct reply reply;
    job_path(path, done_job, "/evaluation");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
    post(served.url, path, "{\"samples\":12,\"seed\":-1,\"checkpoint\":\"latest\"}", &reply);
    assert_int_equal(reply.status, 201);
    memcpy(id, json_text(reply.json, "id"), JOB_ID);
    assert_string_not_equal(id, done_job);
    reply_close(&reply);
    await_state(served.url, id, "succeeded");
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = member(reply.json, "result");
    assert_int_equal(json_number(result, "samples"), 12);
    assert_true(json_number(result, "fpe") >= 0 && json_number(result, "fpe") <= 1);
    reply_close(&reply);
    post(served.url, path, "{\"samples\":0}", &reply);
    assert_true(reply.status == 405); /* this path has no method POST */
    reply_close(&reply);
}

static void artifacts_are_listed_and_served(void **state)
{
    char path[256], type[256];
    struct reply reply, file;
    job_path(path, done_job, "/artifacts");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *list = member(reply.json, "artifacts"), *item;
    assert_true(cJSON_GetArraySize(list) > 0);
    cJSON_ArrayForEach (item, list) {
        (void)snprintf(path, sizeof path, "/v1/jobs/%s/artifacts/%s", done_job, json_text(item, "name"));
        get(served.url, path, &file);
        assert_int_equal(file.status, 200);
        assert_true(file.body_bytes > 0);
        assert_true(reply_header(&file, "Content-Type", type)[0] != '\0');
        reply_close(&file);
    }
    reply_close(&reply);
    job_path(path, done_job, "/artifacts/none.png");
    get(served.url, path, &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
    job_path(path, done_job, "/artifacts/..%2f..%2fetc%2fpasswd");
    get(served.url, path, &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
}

static void kinds_and_system_are_complete(void **state)
{
    struct reply reply;
    get(served.url, "/v1/kinds", &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
    get(served.url, "/v1/kinds/sparling", &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *fields = member(reply.json, "fields");
    assert_true(cJSON_GetArraySize(fields) > 40);
    (void)member(reply.json, "presets");
    (void)member(reply.json, "metrics");
    (void)member(reply.json, "queries");
    reply_close(&reply);
    static const char *const facts[] = {"version",   "build",   "cpu",         "cpu_features",   "kernels",
                                        "blas_core", "workers", "queue_depth", "database_bytes", "uptime_seconds"};
    get(served.url, "/v1/system", &reply);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        (void)member(reply.json, facts[i]);
    reply_close(&reply);
    get(served.url, "/metrics", &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "motifd_http_connections "));
    assert_non_null(strstr(reply.body, "motifd_runs_total{end=\"succeeded\"}"));
    assert_non_null(strstr(reply.body, "motifd_verdicts_total{verdict=\"not-learned\"}"));
    reply_close(&reply);
    get(served.url, "/", &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
}

/* The daemon must serve every GET route that the OpenAPI document lists, except the stream that never ends. It must
 * answer HEAD as it answers GET, but without a body. */
static void every_listed_get_route_is_served(void **state)
{
    struct reply document, reply, head;
    char length[256], path[256], id[JOB_ID];
    submit_tiny(served.url, 8, "", id);
    await_state(served.url, id, "succeeded");
    get(served.url, "/openapi.json", &document);
    assert_int_equal(document.status, 200);
    assert_int_equal(strncmp(json_text(document.json, "openapi"), "3.1", 3), 0);
    const cJSON *entry, *operation;
    int operations = 0;
    cJSON_ArrayForEach (entry, member(document.json, "paths")) {
        const char *brace = strchr(entry->string, '{');
        (void)snprintf(path, sizeof path, "%.*s%s%s",
                       (int)(brace != NULL ? brace - entry->string : (long)strlen(entry->string)), entry->string,
                       brace == NULL                      ? ""
                       : strncmp(brace, "{kind}", 6) == 0 ? "sparling"
                                                          : id,
                       brace == NULL ? "" : strchr(brace, '}') + 1);
        char *again = strchr(path, '{');
        if (again != NULL) { /* a second placeholder: {seq}, {name}, or an index such as {channel} */
            (void)snprintf(again, 64, "%s",
                           strncmp(again, "{seq}", 5) == 0    ? "latest"
                           : strncmp(again, "{name}", 6) == 0 ? "summary.json"
                                                              : "0");
        }
        cJSON_ArrayForEach (operation, entry) {
            if (strcmp(operation->string, "parameters") == 0)
                continue;
            char method[16] = "";
            for (size_t i = 0; i < 15 && operation->string[i] != '\0'; i++)
                method[i] = (char)(operation->string[i] - 'a' + 'A');
            operations++;
            if (strcmp(method, "GET") != 0 || strcmp(path, "/v1/events") == 0)
                /* only GET routes whose answer ends; other tests cover the routes that change something and the stream
                 * of all events */
                continue;
            get(served.url, path, &reply);
            /* Whether the route may answer 404: the job lacks the artifact, its kind lacks the query, the data set was
             * not uploaded, the id is not that of a study (wire_study tests these routes), or the page lacks the file.
             */
            bool may_lack = strstr(path, "/artifacts/") != NULL || strstr(reply.body, "do not answer") != NULL ||
                            strstr(path, "/datasets/") != NULL || strstr(path, "/uploads/") != NULL ||
                            strstr(path, "/studies/") != NULL || strstr(path, "/assets/") != NULL;
            bool of_trainers = strstr(path, "/run/") != NULL; /* whether the route requires a trainer's token */
            /* wire_oidc tests these routes, which exist only with an issuer */
            bool of_sign_in = strncmp(path, "/v1/sign-in", 11) == 0;
            bool of_operator = strcmp(path, "/v1/tokens") == 0; /* wire_tokens tests it */
            bool of_dna = strstr(reply.body, "reads no DNA") != NULL || strstr(reply.body, "this model reads images");
            if (reply.status != 200 && !(reply.status == 404 && (may_lack || of_sign_in)) &&
                !(reply.status == 401 && of_trainers) && !(reply.status == 403 && of_operator) &&
                !(reply.status == 409 && of_dna))
                fail_msg("%s: %ld %s", path, (long)reply.status, reply.body);
            ask("HEAD", path, NULL, NULL, &head);
            assert_int_equal(head.status, reply.status);
            assert_int_equal(head.body_bytes, 0);
            /* whether the answer of the route changes from request to request, or has no length */
            bool varies =
                strcmp(path, "/metrics") == 0 || strcmp(path, "/v1/system") == 0 || strstr(path, "/events") != NULL;
            if (!varies && reply.status == 200)
                assert_int_equal(atoll(reply_header(&head, "Content-Length", length)), (long long)reply.body_bytes);
            reply_close(&head);
            reply_close(&reply);
        }
    }
    assert_true(operations >= 25);
    reply_close(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_document_has_every_member),
        cmocka_unit_test(submit_is_idempotent_and_a_dry_run_stores_nothing),
        cmocka_unit_test(lists_are_paged),
        cmocka_unit_test(conditional_requests_compare_etags),
        cmocka_unit_test(metrics_are_reduced_to_buckets),
        cmocka_unit_test(checkpoints_are_safetensors_with_ranges),
        cmocka_unit_test(queries_answer_a_finished_job),
        cmocka_unit_test(an_evaluation_is_a_job),
        cmocka_unit_test(artifacts_are_listed_and_served),
        cmocka_unit_test(kinds_and_system_are_complete),
        cmocka_unit_test(every_listed_get_route_is_served),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
