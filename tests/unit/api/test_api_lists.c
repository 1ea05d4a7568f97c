/* Tests lists of jobs (filters, order, members), tags, names that stand for ids, and hints for mistakes. */
#include "tests/unit/api/api_fixture.h"

/* Submits a job with this name and finishes it with this result. */
static void finished(struct api_fixture *f, const char *name, const char *result, char id[STORAGE_ID])
{
    char body[200];
    (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"name\":\"%s\"}", name);
    submit_job(f, body, id);
    claim_job(f, id);
    finish_job(f, id, result);
}

/* Asserts that a list contains the jobs of these names, in this order. */
static void assert_list(struct api_fixture *f, const char *query, const char *names)
{
    char target[300], seen[300] = "";
    (void)snprintf(target, sizeof target, "/v1/jobs?%s", query);
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    const cJSON *job = NULL;
    cJSON_ArrayForEach (job, at(f, "/jobs")) {
        size_t used = strlen(seen);
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(job, "name"));
        (void)snprintf(seen + used, sizeof seen - used, "%s%s", used > 0 ? " " : "", name != NULL ? name : "-");
    }
    assert_string_equal(seen, names);
}

static void bounds_on_results_select_jobs(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    finished(f, "good", "{\"fpe\":0.01,\"verdict\":\"learned\",\"inner\":{\"depth\":3},\"exact\":true}", id);
    finished(f, "bad", "{\"fpe\":0.5,\"verdict\":\"not-learned\",\"inner\":{\"depth\":1},\"exact\":false}", id);
    finished(f, "text", "{\"fpe\":\"none\"}", id);
    finished(f, "broken", "not JSON", id);
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"open\"}", id);
    assert_list(f, "result.fpe%3C=0.1", "good");
    assert_list(f, "result.fpe<=0.5", "bad good");
    assert_list(f, "result.fpe>=0.1", "bad"); /* the job "text" is missing, because its value is no number */
    assert_list(f, "result.fpe>=0&result.verdict=learned", "good");
    assert_list(f, "result.verdict=not-learned", "bad");
    assert_list(f, "result.inner.depth=3", "good");
    assert_list(f, "result.exact=true", "good");
    assert_list(f, "result.nothing<=1", "");
    static const char *const bad[] = {"result.=1",      "result.a..b=1", "result.fpe<=x", "result.f'x<=1",
                                      "result.fpe<==1", "result.$.x=1",  "result.fpe!=1", "result.fpe<=nan"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char target[100];
        (void)snprintf(target, sizeof target, "/v1/jobs?%s", bad[i]);
        (void)ask(f, "GET", target, NULL);
        assert_problem(f, 400, "bad-query");
    }
}

static void lists_sort_by_columns_and_results_over_pages(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], target[300] = "/v1/jobs?sort=result.fpe&limit=2&fields=name", seen[100] = "";
    static const char *const results[] = {"0.3", "0.1", "null", "0.2", "0.1", "null"};
    for (int i = 0; i < 6; i++) {
        char name[8], result[40];
        (void)snprintf(name, sizeof name, "%c", "fbdace"[i]);
        (void)snprintf(result, sizeof result, "{\"fpe\":%s}", results[i]);
        finished(f, name, result, id);
    }
    assert_list(f, "sort=name", "a b c d e f");
    assert_list(f, "sort=-name", "f e d c b a");
    assert_list(f, "sort=created_at", "f b d a c e");
    assert_list(f, "sort=-created_at", "e c a d b f");
    assert_list(f, "sort=result.fpe", "c b a f e d"); /* equal values: newest first; jobs without the value last */
    assert_list(f, "sort=-result.fpe", "f a c b e d");
    for (int page = 0; page < 9 && target[0] != '\0'; page++) {
        assert_int_equal(ask(f, "GET", target, NULL), 200);
        const cJSON *job = NULL;
        cJSON_ArrayForEach (job, at(f, "/jobs"))
            strcat(seen, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(job, "name")));
        target[0] = '\0';
        if (!null_at(f, "/next_cursor"))
            (void)snprintf(target, sizeof target, "/v1/jobs?limit=2&fields=name&sort=result.fpe&cursor=%s",
                           text_at(f, "/next_cursor"));
    }
    assert_string_equal(seen, "cbafed");
    (void)ask(f, "GET", "/v1/jobs?sort=nam", NULL);
    assert_problem(f, 400, "bad-query");
    assert_non_null(strstr(text_at(f, "/detail"), "did you mean 'name'?"));
}

static void cursor_of_a_sorted_list_needs_its_job(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], target[200];
    finished(f, "b", "{}", id);
    finished(f, "a", "{}", id);
    assert_int_equal(ask(f, "GET", "/v1/jobs?sort=name&limit=1", NULL), 200);
    (void)snprintf(target, sizeof target, "/v1/jobs?sort=name&cursor=%s", text_at(f, "/next_cursor"));
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    assert_int_equal(ask(f, "DELETE", path_of(id, ""), NULL), 204);
    (void)ask(f, "GET", target, NULL);
    assert_problem(f, 400, "bad-query");
    assert_non_null(strstr(text_at(f, "/detail"), "was deleted"));
}

static void list_has_the_members_that_fields_names(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    finished(f, "one", "{\"fpe\":0.5,\"seed\":7,\"confusion\":[[1,2]],\"inner\":{\"a\":1}}", id);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    const cJSON *job = at(f, "/jobs/0");
    assert_null(cJSON_GetObjectItemCaseSensitive(job, "config"));
    assert_int_equal(number_at(f, "/jobs/0/result/seed"), 7);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs/0/result")), 2); /* single values only */
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs/0/links")), 1);
    assert_int_equal(ask(f, "GET", "/v1/jobs?fields=config", NULL), 200);
    assert_true(cJSON_IsObject(at(f, "/jobs/0/config")));
    assert_string_equal(text_at(f, "/jobs/0/name"), "one");
    assert_int_equal(ask(f, "GET", "/v1/jobs?fields=name,result.fpe,result.confusion", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs/0")), 3);
    assert_string_equal(text_at(f, "/jobs/0/id"), id);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs/0/result")), 2);
    assert_int_equal(number_at(f, "/jobs/0/result/confusion/0/1"), 2);
    assert_int_equal(ask(f, "GET", "/v1/jobs?fields=result,state,config", NULL), 200);
    assert_int_equal(number_at(f, "/jobs/0/result/inner/a"), 1);
    assert_true(cJSON_IsObject(at(f, "/jobs/0/config")));
    (void)ask(f, "GET", "/v1/jobs?fields=name,sate", NULL);
    assert_problem(f, 400, "bad-query");
    assert_non_null(strstr(text_at(f, "/detail"), "did you mean 'state'?"));
}

static void tags_belong_to_a_job_and_filter_lists(void **state)
{
    struct api_fixture *f = *state;
    char first[STORAGE_ID], second[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"a\",\"tags\":[\"night\",\"try 2\",\"night\"]}", first);
    assert_int_equal(cJSON_GetArraySize(at(f, "/tags")), 2);
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"b\"}", second);
    assert_int_equal(cJSON_GetArraySize(at(f, "/tags")), 0);
    assert_int_equal(ask(f, "PATCH", path_of(second, ""), "{\"tags\":[\"z\",\"night\"]}"), 200);
    assert_string_equal(text_at(f, "/tags/0"), "night");
    assert_string_equal(text_at(f, "/tags/1"), "z");
    assert_list(f, "tag=night", "b a");
    assert_list(f, "tag=try%202", "a");
    assert_list(f, "tag=nigh", "");
    assert_int_equal(ask(f, "PATCH", path_of(first, ""), "{\"tags\":[]}"), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/tags")), 0);
    assert_list(f, "tag=night&name=b", "b");
    static const char *const bad[] = {"{\"tags\":\"night\"}",      "{\"tags\":[1]}",
                                      "{\"tags\":[\"\"]}",         "{\"tags\":[\"a,b\"]}",
                                      "{\"tags\":[\"a\\u0007\"]}", "{\"tags\":[\"a\\\"b\"]}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)ask(f, "PATCH", path_of(second, ""), bad[i]);
        assert_problem(f, 422, "invalid");
        assert_non_null(strstr(text_at(f, "/detail"), "/tags"));
    }
    assert_list(f, "tag=z", "b"); /* a refused change changes nothing */
    assert_int_equal(ask(f, "POST", path_of(second, "/cancel"), NULL), 202);
    assert_int_equal(ask(f, "DELETE", path_of(second, ""), NULL), 204);
    assert_list(f, "tag=z", "");
}

static void names_and_latest_stand_for_ids(void **state)
{
    struct api_fixture *f = *state;
    char mine[STORAGE_ID], other[STORAGE_ID], model[STORAGE_ID];
    (void)ask(f, "GET", "/v1/jobs/latest", NULL);
    assert_problem(f, 404, "not-found");
    trained_job(f, model);
    f->who = "anna";
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"run-1\"}", mine);
    f->who = "bob";
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"twice\",\"preset\":\"large\"}", other);
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"twice\"}", other);
    assert_int_equal(ask(f, "GET", "/v1/jobs/run-1", NULL), 200);
    assert_string_equal(text_at(f, "/id"), mine);
    assert_int_equal(ask(f, "GET", "/v1/jobs/latest", NULL), 200);
    assert_string_equal(text_at(f, "/id"), other);
    assert_list(f, "owner=anna", "run-1");
    assert_list(f, "preset=large", "twice");
    f->who = "anna"; /* "latest" is the newest job of the token that asks */
    assert_int_equal(ask(f, "GET", "/v1/jobs/latest", NULL), 200);
    assert_string_equal(text_at(f, "/id"), mine);
    /* a query needs a model: anna's job has none, so "latest" is the newest job that has one */
    assert_int_equal(ask(f, "POST", "/v1/jobs/latest/motifs", "{\"inputs\":[{\"sample\":{\"seed\":3}}]}"), 200);
    assert_string_equal(text_at(f, "/job"), model);
    (void)ask(f, "GET", "/v1/jobs/twice", NULL);
    assert_problem(f, 409, "conflict");
    assert_non_null(strstr(text_at(f, "/detail"), other));
    (void)ask(f, "GET", "/v1/jobs/nobody", NULL);
    assert_problem(f, 404, "not-found");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"from\":{\"job\":\"latest\"}}"), 201);
    assert_string_equal(text_at(f, "/from/job"), model);
}

/* Nobody can take a word away from others by giving it to a job or study. */
static void reserved_words_are_no_names(void **state)
{
    static const char *const words[] = {"latest", "none", "01M8MTWP5SJMSHM46SK284QFS8"};
    struct api_fixture *f = *state;
    char id[STORAGE_ID], body[120], old[STORAGE_ID];
    enum storage_submit_outcome outcome;
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"Latest\"}", id);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", words[i]);
        (void)ask(f, "PATCH", path_of(id, ""), body);
        assert_fault(f, "/name", "must not ");
        (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"name\":\"%s\"}", words[i]);
        (void)ask(f, "POST", "/v1/jobs", body);
        assert_fault(f, "/name", "must not ");
        (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"seeds\":2,\"name\":\"%s\"}", words[i]);
        (void)ask(f, "POST", "/v1/studies", body);
        assert_fault(f, "/name", "must not ");
    }
    /* an earlier build has stored a job with this name */
    const struct storage_submit earlier = {.kind = "echo", .config = "{}", .name = "latest"};
    assert_int_equal(storage_job_submit(f->storage, &earlier, old, &outcome, &f->err), STATUS_OK);
    submit_job(f, "{\"kind\":\"echo\"}", id);
    assert_int_equal(ask(f, "GET", "/v1/jobs/latest", NULL), 200);
    assert_string_equal(text_at(f, "/id"), id);
}

static void job_keeps_the_trace_of_its_submission(void **state)
{
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    static const char *const bad[] = {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                      "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "x"};
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    header(f, "traceparent", trace);
    submit_job(f, "{\"kind\":\"echo\"}", id);
    assert_string_equal(text_at(f, "/traceparent"), trace);
    assert_non_null(strstr(f->log, trace));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        header(f, "traceparent", bad[i]);
        submit_job(f, "{\"kind\":\"echo\"}", id);
        assert_true(null_at(f, "/traceparent"));
    }
}

static void mistakes_get_a_hint(void **state)
{
    static const struct {
        const char *method, *target, *body;
        int status;
        const char *hint; /* part of the detail */
    } cases[] = {
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"random_state\":1}}", 422, "did you mean 'seed'?"},
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"n_jobs\":1}}", 422, "did you mean 'threads'?"},
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"density\":0.5}", 422, "/density: belongs in config"},
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"densty\":0.5}", 422, "did you mean 'density' in config?"},
        {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"density\":3,\"seed\":\"x\"}}", 422,
         "(and 1 more fault)"},
        {"GET", "/v1/jobs?state=finished", NULL, 400, "queued, running, paused, succeeded, failed, cancelled"},
        {"GET", "/v1/jobs?stat=queued", NULL, 400, "did you mean 'state'?"},
        {"GET", "/jobs", NULL, 404, "did you mean /v1/jobs?"},
        {"GET", "/v1/jobs/", NULL, 404, "did you mean /v1/jobs?"},
        {"POST", "/jobs/?dry_run=1", "{}", 404, "did you mean /v1/jobs?"},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ask(f, cases[i].method, cases[i].target, cases[i].body), cases[i].status);
        if (strstr(text_at(f, "/detail"), cases[i].hint) == NULL)
            fail_msg("%s %s: %s", cases[i].target, cases[i].hint, text_at(f, "/detail"));
    }
}

static void unknown_series_gets_the_nearest_names(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    claim_job(f, id);
    const struct storage_metric metric = {"target_accuracy", {1, 0.5}};
    assert_int_equal(storage_metric_append(f->storage, id, &metric, 1, &f->err), STATUS_OK);
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, "/metrics?name=target_accuracy"), NULL), 200);
    (void)ask(f, "GET", path_of(id, "/metrics?name=target_acc"), NULL);
    assert_problem(f, 422, "invalid");
    assert_fault(f, "name", "did you mean 'target_accuracy'?");
    (void)ask(f, "GET", path_of(id, "/metrics?name=nothing-like-it"), NULL);
    assert_problem(f, 422, "invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bounds_on_results_select_jobs, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(lists_sort_by_columns_and_results_over_pages, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(cursor_of_a_sorted_list_needs_its_job, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(list_has_the_members_that_fields_names, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(tags_belong_to_a_job_and_filter_lists, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(names_and_latest_stand_for_ids, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(reserved_words_are_no_names, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(job_keeps_the_trace_of_its_submission, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(mistakes_get_a_hint, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(unknown_series_gets_the_nearest_names, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
