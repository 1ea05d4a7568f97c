/* Tests the life of jobs over the api: submission, idempotency keys, lists, ETags, changes and deletion. */
#include "tests/unit/api/api_fixture.h"

#define NOWHERE "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define ECHO "{\"kind\":\"echo\"}"

static void submitted_job_has_a_document_and_a_location(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "POST", "/v1/jobs", ECHO), 201);
    const char *id = text_at(f, "/id");
    assert_int_equal(strlen(id), 26);
    assert_string_equal(answer_header(f, "Location"), path_of(id, ""));
    assert_string_equal(answer_header(f, "Content-Type"), "application/json");
    assert_null(answer_header(f, "Idempotency-Replayed"));
    assert_int_equal(atomic_load(&f->woken), 1);
    assert_string_equal(text_at(f, "/kind"), "echo");
    assert_string_equal(text_at(f, "/state"), "queued");
    assert_string_equal(text_at(f, "/task"), "train");
    assert_int_equal(number_at(f, "/priority"), 0);
    static const char *const nulls[] = {"/preset",
                                        "/name",
                                        "/result",
                                        "/error",
                                        "/started_at",
                                        "/finished_at",
                                        "/from",
                                        "/evaluation",
                                        "/progress/samples_per_second",
                                        "/progress/eta_seconds",
                                        "/progress/density",
                                        "/progress/target_accuracy",
                                        "/progress/accuracy",
                                        "/progress/stage"};
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        assert_true(null_at(f, nulls[i]));
    assert_int_equal(number_at(f, "/progress/step"), 0);
    assert_int_equal(number_at(f, "/progress/samples"), 0);
    assert_int_equal(number_at(f, "/progress/fraction"), 0);
    const char *created = text_at(f, "/created_at");
    assert_int_equal(strlen(created), 24);
    assert_true(created[10] == 'T' && created[23] == 'Z' && created[19] == '.');
    assert_string_equal(text_at(f, "/links/self"), path_of(id, ""));
    assert_string_equal(text_at(f, "/links/motifs"), path_of(id, "/motifs"));
    assert_string_equal(text_at(f, "/links/cancel"), path_of(id, "/cancel"));
    assert_null(cJSON_GetObjectItemCaseSensitive(at(f, "/links"), "resume"));
}

static void repeated_key_returns_the_first_job(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    header(f, "Idempotency-Key", "key-1");
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"seed\":1,\"density\":0.5}}", id);
    /* repeats the request with the members in another order, other spaces and another notation of the numbers */
    header(f, "idempotency-key", "key-1");
    assert_int_equal(ask(f, "POST", "/v1/jobs", " {\"config\": {\"density\":5e-1, \"seed\":1.0}, \"kind\":\"echo\"} "),
                     201);
    assert_string_equal(text_at(f, "/id"), id);
    assert_string_equal(answer_header(f, "Idempotency-Replayed"), "true");
    assert_string_equal(answer_header(f, "Location"), path_of(id, ""));
    assert_int_equal(atomic_load(&f->woken), 1);
    header(f, "Idempotency-Key", "key-1");
    (void)ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"seed\":2,\"density\":0.5}}");
    assert_problem(f, 422, "idempotency-key-reused");
    header(f, "Idempotency-Key", "key-2");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"seed\":1,\"density\":0.5}}"), 201);
    assert_string_not_equal(text_at(f, "/id"), id);
    header(f, "Idempotency-Key", "");
    (void)ask(f, "POST", "/v1/jobs", ECHO);
    assert_problem(f, 400, "bad-request");
    header(f, "Idempotency-Key", "two words");
    (void)ask(f, "POST", "/v1/jobs", ECHO);
    assert_problem(f, 400, "bad-request");
    (void)ask(f, "GET", "/v1/jobs", NULL);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 2);
}

/* A token that uses another token's key gets a job of its own. No response contains the first token's job or its
 * id. */
static void idempotency_keys_belong_to_a_token(void **state)
{
    struct api_fixture *f = *state;
    char first[STORAGE_ID], second[STORAGE_ID], third[STORAGE_ID];
    f->who = "anna";
    header(f, "Idempotency-Key", "key-1");
    submit_job(f, ECHO, first);
    f->who = "bob";
    header(f, "Idempotency-Key", "key-1"); /* the same request as the first token's */
    submit_job(f, ECHO, second);
    assert_null(answer_header(f, "Idempotency-Replayed"));
    assert_string_not_equal(second, first);
    f->who = NULL;
    header(f, "Idempotency-Key", "key-1"); /* another request with the same key, without a token */
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"seed\":9}}", third);
    f->who = "anna";
    header(f, "Idempotency-Key", "key-1");
    assert_int_equal(ask(f, "POST", "/v1/jobs", ECHO), 201);
    assert_string_equal(text_at(f, "/id"), first);
    f->who = "bob";
    header(f, "Idempotency-Key", "key-1");
    (void)ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"seed\":2}}");
    assert_problem(f, 422, "idempotency-key-reused");
    assert_non_null(strstr(f->body, second));
}

static void full_queue_and_drain_refuse_new_jobs(void **state)
{
    struct api_fixture *f = *state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(ask(f, "POST", "/v1/jobs", ECHO), 201);
    (void)ask(f, "POST", "/v1/jobs", ECHO);
    assert_problem(f, 503, "unavailable");
    assert_true(atoi(answer_header(f, "Retry-After")) > 0);
    f->draining = true;
    (void)ask(f, "POST", "/v1/jobs", ECHO);
    assert_problem(f, 503, "unavailable");
    assert_int_equal(ask(f, "GET", "/v1/jobs?limit=1", NULL), 200); /* requests that only read still succeed */
    (void)ask(f, "GET", "/readyz", NULL);
    assert_problem(f, 503, "unavailable");
    assert_int_equal(ask(f, "GET", "/healthz", NULL), 200);
}

/* While a client reads page after page and other jobs arrive, each job that existed at the first page appears once
 * and in order. */
static void pages_show_every_job_once(void **state)
{
    struct api_fixture *f = *state;
    char ids[25][STORAGE_ID], target[200] = "/v1/jobs?limit=4", extra[STORAGE_ID];
    for (int i = 0; i < 25; i++)
        submit_job(f, ECHO, ids[i]);
    int seen = 0;
    for (int page = 0; page < 100 && target[0] != '\0'; page++) {
        assert_int_equal(ask(f, "GET", target, NULL), 200);
        int count = cJSON_GetArraySize(at(f, "/jobs"));
        assert_true(count <= 4);
        for (int i = 0; i < count; i++) {
            char pointer[40];
            (void)snprintf(pointer, sizeof pointer, "/jobs/%d/id", i);
            assert_string_equal(text_at(f, pointer), ids[24 - seen]);
            seen++;
        }
        target[0] = '\0';
        if (!null_at(f, "/next_cursor")) {
            (void)snprintf(target, sizeof target, "/v1/jobs?limit=4&cursor=%s", text_at(f, "/next_cursor"));
            char link[300];
            (void)snprintf(link, sizeof link, "<%s>; rel=\"next\"", target);
            assert_string_equal(answer_header(f, "Link"), link);
        }
        submit_job(f, ECHO, extra);
    }
    assert_int_equal(seen, 25);
}

static void lists_filter_and_refuse_foreign_cursors(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], cursor[80], target[200];
    for (int i = 0; i < 3; i++)
        submit_job(f, ECHO, id);
    assert_int_equal(ask(f, "POST", path_of(id, "/cancel"), NULL), 202);
    assert_int_equal(ask(f, "GET", "/v1/jobs?state=cancelled", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 1);
    assert_string_equal(text_at(f, "/jobs/0/id"), id);
    assert_int_equal(ask(f, "GET", "/v1/jobs?kind=nothing", NULL), 400);
    assert_int_equal(ask(f, "GET", "/v1/jobs?kind=ecko", NULL), 400);
    assert_non_null(strstr(text_at(f, "/detail"), "did you mean 'echo'?"));
    assert_int_equal(ask(f, "GET", "/v1/jobs?state=queued&kind=echo&limit=1", NULL), 200);
    (void)snprintf(cursor, sizeof cursor, "%s", text_at(f, "/next_cursor"));
    (void)snprintf(target, sizeof target, "/v1/jobs?state=queued&kind=echo&limit=1&cursor=%s", cursor);
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 1);
    assert_true(null_at(f, "/next_cursor"));
    (void)snprintf(target, sizeof target, "/v1/jobs?cursor=%s", cursor); /* a cursor that belongs to another list */
    (void)ask(f, "GET", target, NULL);
    assert_problem(f, 400, "bad-query");
    cursor[3] = cursor[3] == 'A' ? 'B' : 'A';
    (void)snprintf(target, sizeof target, "/v1/jobs?state=queued&kind=echo&cursor=%s", cursor);
    (void)ask(f, "GET", target, NULL);
    assert_problem(f, 400, "bad-query");
    static const char *const bad[] = {"/v1/jobs?limit=0",    "/v1/jobs?limit=1001", "/v1/jobs?limit=x",
                                      "/v1/jobs?limit=",     "/v1/jobs?state=done", "/v1/jobs?limit=1&limit=2",
                                      "/v1/jobs?colour=red", "/v1/jobs?cursor=%00", "/v1/jobs?cursor=abc",
                                      "/v1/jobs?=1",         "/v1/jobs?kind=%ff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)ask(f, "GET", bad[i], NULL);
        assert_problem(f, 400, "bad-query");
    }
    (void)ask(f, "GET", "/v1/jobs?limit=0&state=done&colour=red", NULL);
    assert_fault(f, "limit", "[1, 1000]; got '0'");
    assert_fault(f, "state", "got 'done'");
    assert_fault(f, "colour", "not a parameter");
}

static void etag_changes_with_the_job(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], tag[64], old[64];
    submit_job(f, ECHO, id);
    (void)snprintf(tag, sizeof tag, "%s", answer_header(f, "ETag"));
    assert_int_equal(tag[0], '"');
    header(f, "If-None-Match", tag);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 304);
    assert_string_equal(answer_header(f, "ETag"), tag);
    header(f, "If-None-Match", "\"other\", W/\"x\"");
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    header(f, "If-None-Match", "*");
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 304);
    header(f, "If-None-Match", tag);
    assert_int_equal(ask(f, "HEAD", path_of(id, ""), NULL), 304);

    header(f, "If-Match", tag);
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"name\":\"new\",\"priority\":5}"), 200);
    assert_string_equal(text_at(f, "/name"), "new");
    assert_int_equal(number_at(f, "/priority"), 5);
    (void)snprintf(old, sizeof old, "%s", tag);
    (void)snprintf(tag, sizeof tag, "%s", answer_header(f, "ETag"));
    assert_string_not_equal(tag, old);
    header(f, "If-None-Match", old);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    header(f, "If-Match", old);
    (void)ask(f, "PATCH", path_of(id, ""), "{\"name\":\"late\"}");
    assert_problem(f, 412, "precondition-failed");
    assert_string_equal(answer_header(f, "ETag"), tag);
    header(f, "If-Match", "nonsense");
    (void)ask(f, "PATCH", path_of(id, ""), "{\"name\":\"late\"}");
    assert_problem(f, 412, "precondition-failed");
    header(f, "If-Match", "\"77.0\", *");
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"name\":null}"), 200);
    assert_true(null_at(f, "/name"));
    assert_int_equal(number_at(f, "/priority"), 5);
    (void)snprintf(tag, sizeof tag, "%s", answer_header(f, "ETag"));

    /* Progress changes the ETag that GET returns. A PATCH with the ETag from before the progress still succeeds. */
    claim_job(f, id);
    (void)ask(f, "GET", path_of(id, ""), NULL);
    (void)snprintf(old, sizeof old, "%s", answer_header(f, "ETag"));
    assert_int_equal(storage_job_progress(
                         f->storage, id, "{\"step\":3,\"samples\":30,\"stage\":\"training\",\"density\":0.5}", &f->err),
                     STATUS_OK);
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    header(f, "If-None-Match", old);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_not_equal(answer_header(f, "ETag"), old);
    assert_int_equal(number_at(f, "/progress/step"), 3);
    assert_string_equal(text_at(f, "/progress/stage"), "training");
    assert_true(null_at(f, "/progress/accuracy"));
    header(f, "If-Match", old);
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"priority\":1}"), 200);
}

static void patch_refuses_other_members(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, ECHO, id);
    (void)ask(f, "PATCH", path_of(id, ""), "{\"nane\":\"x\",\"priority\":1000,\"state\":\"running\"}");
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/nane", "did you mean 'name'");
    assert_fault(f, "/priority", "[-100, 100]");
    assert_fault(f, "/state", "can be changed");
    (void)ask(f, "PATCH", "/v1/jobs/" NOWHERE, "{\"name\":\"x\"}");
    assert_problem(f, 404, "not-found");
    (void)ask(f, "PATCH", path_of(id, ""), "[1]");
    assert_problem(f, 422, "invalid");
    header(f, "Content-Type", "application/merge-patch+json");
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{}"), 200);
}

static void actions_change_state_or_conflict(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, ECHO, id);
    (void)ask(f, "POST", path_of(id, "/resume"), NULL);
    assert_problem(f, 409, "conflict");
    assert_int_equal(ask(f, "POST", path_of(id, "/pause"), NULL), 202);
    assert_string_equal(text_at(f, "/state"), "paused");
    int woken = atomic_load(&f->woken);
    assert_int_equal(ask(f, "POST", path_of(id, "/resume"), NULL), 202);
    assert_string_equal(text_at(f, "/state"), "queued");
    assert_int_equal(atomic_load(&f->woken), woken + 1);
    claim_job(f, id);
    assert_int_equal(ask(f, "POST", path_of(id, "/pause"), NULL), 202);
    assert_string_equal(text_at(f, "/state"), "running");
    assert_string_equal(text_at(f, "/requested_state"), "paused");
    assert_int_equal(atomic_load(&f->poked), 1);
    assert_string_equal(f->poked_job, id);
    (void)ask(f, "DELETE", path_of(id, ""), NULL);
    assert_problem(f, 409, "conflict");
    assert_int_equal(ask(f, "POST", path_of(id, "/cancel"), NULL), 202);
    assert_string_equal(text_at(f, "/requested_state"), "cancelled");
    assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/state"), "cancelled");
    assert_false(null_at(f, "/finished_at"));
    (void)ask(f, "POST", path_of(id, "/cancel"), NULL);
    assert_problem(f, 409, "conflict");
    assert_non_null(strstr(text_at(f, "/detail"), "cancelled"));
    (void)ask(f, "POST", path_of(id, "/resume"), NULL);
    assert_problem(f, 409, "conflict");
    header(f, "If-Match", "\"999.0\"");
    (void)ask(f, "DELETE", path_of(id, ""), NULL);
    assert_problem(f, 412, "precondition-failed");
    assert_int_equal(ask(f, "DELETE", path_of(id, ""), NULL), 204);
    static const char *const rests[] = {
        "", "/metrics", "/checkpoints", "/checkpoints/latest", "/evaluation", "/artifacts", "/artifacts/a.png"};
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        (void)ask(f, "GET", path_of(id, rests[i]), NULL);
        assert_problem(f, 404, "not-found");
    }
    static const char *const posts[] = {"/cancel", "/pause", "/resume", "/motifs", "/predict", "/evaluation"};
    for (size_t i = 0; i < sizeof posts / sizeof posts[0]; i++) {
        (void)ask(f, "POST", path_of(id, posts[i]), i < 3 ? NULL : "{\"inputs\":[{\"sample\":{\"seed\":1}}]}");
        assert_problem(f, 404, "not-found");
    }
    (void)ask(f, "DELETE", path_of(id, ""), NULL);
    assert_problem(f, 404, "not-found");
}

static void results_and_errors_appear_in_the_document(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, ECHO, id);
    claim_job(f, id);
    finish_job(f, id, "{\"fpe\":0.01,\"confusion\":[[1,2],[3,4]],\"seed\":1}");
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/state"), "succeeded");
    assert_true(number_at(f, "/result/fpe") == 0.01);
    assert_int_equal(number_at(f, "/result/confusion/1/0"), 3);
    submit_job(f, ECHO, id);
    claim_job(f, id);
    assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_FAIL, NULL, "not JSON: \"x\"", NULL, &f->err),
                     STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/state"), "failed");
    assert_string_equal(text_at(f, "/error/detail"), "not JSON: \"x\"");
    assert_true(null_at(f, "/result"));
}

static void job_starts_from_a_checkpoint_of_another(void **state)
{
    struct api_fixture *f = *state;
    char source[STORAGE_ID], id[STORAGE_ID], body[200];
    submit_job(f, ECHO, source);
    (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"from\":{\"job\":\"%s\"}}", source);
    (void)ask(f, "POST", "/v1/jobs", body);
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/from/checkpoint", "no such checkpoint");
    claim_job(f, source);
    (void)add_checkpoint(f, source, 10, 0.5, 1);
    (void)add_checkpoint(f, source, 20, 0.25, 2);
    submit_job(f, body, id);
    assert_string_equal(text_at(f, "/from/job"), source);
    assert_int_equal(number_at(f, "/from/checkpoint"), 2);
    (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"from\":{\"job\":\"%s\",\"checkpoint\":\"density:5.0e-1\"}}",
                   source);
    submit_job(f, body, id);
    assert_int_equal(number_at(f, "/from/checkpoint"), 1);
    (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"from\":{\"job\":\"%s\",\"checkpoint\":3}}", source);
    (void)ask(f, "POST", "/v1/jobs", body);
    assert_fault(f, "/from/checkpoint", "no such checkpoint");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(submitted_job_has_a_document_and_a_location, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(repeated_key_returns_the_first_job, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(idempotency_keys_belong_to_a_token, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(full_queue_and_drain_refuse_new_jobs, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(pages_show_every_job_once, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(lists_filter_and_refuse_foreign_cursors, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(etag_changes_with_the_job, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(patch_refuses_other_members, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(actions_change_state_or_conflict, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(results_and_errors_appear_in_the_document, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(job_starts_from_a_checkpoint_of_another, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
