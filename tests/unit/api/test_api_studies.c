/* Tests studies: the faults of a submission, what it stores, the table as JSON, CSV and chart, and the requests that
 * act on all jobs. The preset "many" of the method "echo" is a study of eight jobs: density 0.25 and 0.5, mode plain
 * and strict, two seeds. */
#include "tests/unit/api/api_fixture.h"

#include <math.h>

static void submit_study(struct api_fixture *f, const char *body, char id[STORAGE_ID])
{
    if (ask(f, "POST", "/v1/studies", body) != 201)
        fail_msg("%s", f->body);
    (void)snprintf(id, STORAGE_ID, "%s", text_at(f, "/id"));
}

static const char *study_path(const char *id, const char *rest)
{
    static char path[100];
    (void)snprintf(path, sizeof path, "/v1/studies/%s%s", id, rest);
    return path;
}

/* Runs the next queued jobs, and ends each with the next result. */
static void finish_next(struct api_fixture *f, const char *const *results, int count)
{
    for (int i = 0; i < count; i++) {
        char id[STORAGE_ID];
        assert_int_equal(storage_job_claim(f->storage, id, &f->err), STATUS_OK);
        finish_job(f, id, results[i]);
    }
}

static void a_preset_that_is_a_study_makes_all_jobs(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], expected[80], where[80];
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\",\"name\":\"all\"}", id);
    (void)snprintf(expected, sizeof expected, "/v1/studies/%s", id);
    assert_string_equal(answer_header(f, "Location"), expected);
    assert_int_equal(number_at(f, "/count"), 8);
    assert_int_equal(number_at(f, "/seeds"), 2);
    assert_int_equal(number_at(f, "/states/queued"), 8);
    assert_string_equal(text_at(f, "/state"), "queued");
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 8);
    assert_int_equal(cJSON_GetArraySize(at(f, "/table/rows")), 4);
    assert_string_equal(text_at(f, "/table/fields/1"), "mode");
    assert_int_equal(atomic_load(&f->woken), 1);
    static const char *const names[] = {"all: density=0.25 mode=plain seed=7", "all: density=0.25 mode=plain seed=8",
                                        "all: density=0.25 mode=strict seed=7", "all: density=0.25 mode=strict seed=8",
                                        "all: density=0.5 mode=plain seed=7"};
    for (int i = 0; i < 5; i++) {
        (void)snprintf(where, sizeof where, "/jobs/%d/name", i);
        assert_string_equal(text_at(f, where), names[i]);
    }
    char job[STORAGE_ID];
    (void)snprintf(job, sizeof job, "%s", text_at(f, "/jobs/3/id"));
    assert_int_equal(ask(f, "GET", path_of(job, ""), NULL), 200);
    assert_string_equal(text_at(f, "/study"), id);
    assert_true(number_at(f, "/config/density") == 0.25);
    assert_string_equal(text_at(f, "/config/mode"), "strict");
    assert_int_equal(number_at(f, "/config/seed"), 8);
    (void)snprintf(expected, sizeof expected, "/v1/jobs?study=%s", id);
    assert_int_equal(ask(f, "GET", expected, NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 8);
    submit_job(f, "{\"kind\":\"echo\",\"name\":\"alone\"}", job);
    assert_int_equal(ask(f, "GET", "/v1/jobs?study=none", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 1);
    assert_string_equal(text_at(f, "/jobs/0/name"), "alone");
}

static void a_job_with_a_study_preset_is_refused_unless_it_decides_all(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"preset\":\"many\"}"), 422);
    assert_fault(f, "/preset", "POST /v1/studies");
    assert_fault(f, "/preset", "density, mode, seed");
    assert_int_equal(
        ask(f, "POST", "/v1/jobs",
            "{\"kind\":\"echo\",\"preset\":\"many\",\"config\":{\"density\":0.5,\"data\":{\"mode\":\"plain\"}}}"),
        422);
    assert_fault(f, "/preset", ": seed");
    assert_int_equal(
        ask(f, "POST", "/v1/jobs",
            "{\"kind\":\"echo\",\"preset\":\"many\",\"config\":{\"density\":0.5,\"mode\":\"plain\",\"seed\":3}}"),
        201);
    assert_true(null_at(f, "/study"));
}

static void config_and_grid_replace_axes_of_the_preset(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\",\"config\":{\"density\":0.1}}", id);
    assert_int_equal(number_at(f, "/count"), 4);
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\",\"grid\":{\"density\":[0.1,0.2,0.3],\"span\":[1,2]}}", id);
    assert_int_equal(number_at(f, "/count"), 3 * 2 * 2 * 2);
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\",\"seeds\":1,\"config\":{\"seed\":30}}", id);
    assert_int_equal(number_at(f, "/count"), 4);
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\",\"grid\":{\"seed\":[1,5]}}", id);
    assert_int_equal(number_at(f, "/count"), 8);
    assert_int_equal(cJSON_GetArraySize(at(f, "/table/rows")), 8);
    submit_study(f, "{\"kind\":\"echo\",\"seeds\":3,\"config\":{\"data\":{\"seed\":40}}}", id);
    assert_string_equal(text_at(f, "/jobs/2/name"), "seed=42");
    submit_study(f, "{\"kind\":\"echo\"}", id); /* a study of one job */
    assert_int_equal(number_at(f, "/count"), 1);
    assert_int_equal(cJSON_GetArraySize(at(f, "/table/rows")), 1);
}

struct wrong {
    const char *body, *pointer, *word;
};

static void every_fault_has_its_place(void **state)
{
    struct api_fixture *f = *state;
    static const struct wrong wrong[] = {
        {"{}", "/kind", "is needed"},
        {"{\"kind\":\"none\",\"grid\":{\"p\":[1]}}", "/kind", "is not a kind"},
        {"{\"kind\":\"echo\",\"preset\":\"man\"}", "/preset", "did you mean 'many'"},
        {"{\"kind\":\"echo\",\"grid\":[1]}", "/grid", "must be an object"},
        {"{\"kind\":\"echo\",\"grid\":{\"densty\":[1]}}", "/grid/densty", "did you mean 'density'"},
        {"{\"kind\":\"echo\",\"grid\":{\"sparsity\":[1]}}", "/grid/sparsity", "is not a field of echo"},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":[]}}", "/grid/density", "list of 1 to 1000"},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":0.5}}", "/grid/density", "list of 1 to 1000"},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,7]}}", "/grid/density/1", "(0, 1]; got 7"},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,null]}}", "/grid/density/1", "must be"},
        {"{\"kind\":\"echo\",\"grid\":{\"mode\":[\"odd\"]}}", "/grid/mode/0", "got \"odd\""},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,0.2,0.5]}}", "/grid/density/2", "repeats the value at index 0"},
        {"{\"kind\":\"echo\",\"grid\":{\"density\":[0.5]},\"config\":{\"sparsity\":{\"density\":1}}}", "/grid/density",
         "contradicts /config/sparsity/density"},
        {"{\"kind\":\"echo\",\"grid\":{\"seed\":[1,2]},\"seeds\":2}", "/seeds", "contradicts /grid/seed"},
        {"{\"kind\":\"echo\",\"seeds\":0}", "/seeds", "[1, 1000]"},
        {"{\"kind\":\"echo\",\"seeds\":1.5}", "/seeds", "[1, 1000]"},
        {"{\"kind\":\"echo\",\"seeds\":2,\"config\":{\"seed\":9007199254740991}}", "/seeds", "got 9007199254740992"},
        {"{\"kind\":\"echo\",\"preset\":\"many\",\"seeds\":251}", "/grid", "makes 1004 jobs"},
        {"{\"kind\":\"echo\",\"grids\":{}}", "/grids", "did you mean 'grid'"},
        {"{\"kind\":\"echo\",\"name\":7}", "/name", "must be text"},
        {"{\"kind\":\"echo\",\"seeds\":2,\"config\":{\"span\":77}}", "/config/span", "got 77"},
        {"{\"kind\":\"echo\",\"seeds\":2,\"config\":7}", "/config", "must be an object"},
        {"{\"kind\":\"echo\",\"seeds\":2,\"priority\":1000}", "/priority", "[-100, 100]"},
        {"{\"kind\":\"echo\",\"seeds\":2,\"from\":{\"job\":\"nobody\"}}", "/from/job", "there is no job nobody"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (int dry = 0; dry < 2; dry++) {
            int status = ask(f, "POST", dry ? "/v1/studies?dry_run=1" : "/v1/studies", wrong[i].body);
            if (status != 422)
                fail_msg("%s: %d %s", wrong[i].body, status, f->body);
            assert_fault(f, wrong[i].pointer, wrong[i].word);
            assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 1);
        }
    }
    assert_int_equal(
        ask(f, "POST", "/v1/studies",
            "{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,7],\"mode\":[\"odd\"],\"none\":[1]},\"seeds\":-1,"
            "\"config\":{\"span\":77}}"),
        422);
    assert_fault(f, "/grid/density/1", "got 7");
    assert_fault(f, "/grid/mode/0", "odd");
    assert_fault(f, "/grid/none", "is not a field");
    assert_fault(f, "/seeds", "[1, 1000]");
    assert_fault(f, "/config/span", "got 77");
    assert_int_equal(ask(f, "POST", "/v1/studies", "[]"), 422);
    assert_int_equal(ask(f, "POST", "/v1/studies", "{"), 400);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 0);
}

static void a_dry_run_adds_the_cost_of_all_jobs(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"echo\",\"config\":{\"seed\":1}}"), 200);
    double flops = number_at(f, "/flops"), seconds = number_at(f, "/predicted_seconds"), bytes = number_at(f, "/bytes");
    double kept = number_at(f, "/checkpoint_bytes"), samples = number_at(f, "/samples");
    assert_int_equal(
        ask(f, "POST", "/v1/studies?dry_run=1", "{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,1]},\"seeds\":3}"), 200);
    assert_true(cJSON_IsTrue(at(f, "/dry_run")));
    assert_int_equal(number_at(f, "/count"), 6);
    assert_true(fabs(number_at(f, "/flops") - 6 * flops) <= 1e-9 * flops);
    assert_true(fabs(number_at(f, "/predicted_seconds") - 6 * seconds) <= 1e-9 * seconds);
    assert_true(number_at(f, "/samples") == 6 * samples);
    assert_true(number_at(f, "/bytes") == bytes);
    assert_true(number_at(f, "/checkpoint_bytes") == 6 * kept);
    assert_true(number_at(f, "/grid/density/1") == 1);
    assert_int_equal(ask(f, "GET", "/v1/studies", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/studies")), 0);
    assert_int_equal(atomic_load(&f->woken), 0);
}

static void a_repeated_key_returns_the_same_study(void **state)
{
    struct api_fixture *f = *state;
    static const char body[] = "{\"kind\":\"echo\",\"grid\":{\"density\":[0.5,1]}}";
    char id[STORAGE_ID];
    header(f, "Idempotency-Key", "k");
    submit_study(f, body, id);
    header(f, "Idempotency-Key", "k");
    assert_int_equal(ask(f, "POST", "/v1/studies", body), 201);
    assert_string_equal(text_at(f, "/id"), id);
    assert_string_equal(answer_header(f, "Idempotency-Replayed"), "true");
    header(f, "Idempotency-Key", "k");
    (void)ask(f, "POST", "/v1/studies", "{\"kind\":\"echo\",\"seeds\":2}");
    assert_problem(f, 422, "idempotency-key-reused");
    assert_non_null(strstr(text_at(f, "/detail"), id));
    header(f, "Idempotency-Key", "k");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}"), 422);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 2);
}

static void a_token_cannot_exceed_its_jobs_by_a_study(void **state)
{
    struct api_fixture *f = *state;
    f->options.share.jobs = 5;
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    f->who = "anna";
    char id[STORAGE_ID];
    submit_study(f, "{\"kind\":\"echo\",\"seeds\":4}", id);
    assert_string_equal(text_at(f, "/owner"), "anna");
    assert_int_equal(ask(f, "POST", "/v1/studies", "{\"kind\":\"echo\",\"seeds\":2}"), 429);
    assert_non_null(strstr(text_at(f, "/detail"), "5 unfinished jobs"));
    assert_int_equal(ask(f, "GET", "/v1/studies?owner=bert", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/studies")), 0);
    f->scope = API_SCOPE_READ;
    assert_int_equal(ask(f, "POST", "/v1/studies", "{\"kind\":\"echo\"}"), 403);
    assert_int_equal(ask(f, "POST", study_path(id, "/cancel"), NULL), 403);
    f->scope = API_SCOPE_SUBMIT;
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 409); /* its own, but not finished */
    f->who = "bert";
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 403);
}

/* Makes a study of two densities and three seeds, of which five jobs have results. */
static void study_with_results(struct api_fixture *f, char id[STORAGE_ID])
{
    static const char *const results[] = {"{\"loss\":3,\"seed\":7,\"verdict\":\"learned\",\"list\":[1]}",
                                          "{\"loss\":1,\"seed\":8}", "{\"loss\":2,\"e\":5}", "{\"loss\":10}",
                                          "{\"loss\":20}"};
    submit_study(f, "{\"kind\":\"echo\",\"name\":\"noisy\",\"grid\":{\"density\":[0.25,0.5]},\"seeds\":3}", id);
    finish_next(f, results, 5);
}

static void the_table_has_medians_over_seeds(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    study_with_results(f, id);
    assert_int_equal(ask(f, "GET", study_path("noisy", ""), NULL), 200);
    assert_string_equal(text_at(f, "/id"), id);
    assert_int_equal(cJSON_GetArraySize(at(f, "/table/results")), 2); /* no seed, no text, no list */
    assert_true(number_at(f, "/table/rows/0/fields/density") == 0.25);
    assert_int_equal(number_at(f, "/table/rows/0/done"), 3);
    assert_int_equal(number_at(f, "/table/rows/1/done"), 2);
    assert_int_equal(number_at(f, "/table/rows/1/jobs"), 3);
    assert_true(number_at(f, "/table/rows/0/results/loss/median") == 2);
    assert_true(number_at(f, "/table/rows/0/results/loss/min") == 1);
    assert_true(number_at(f, "/table/rows/0/results/loss/max") == 3);
    assert_true(number_at(f, "/table/rows/1/results/loss/median") == 15);
    assert_int_equal(number_at(f, "/table/rows/0/results/e/count"), 1);
    assert_true(null_at(f, "/table/rows/1/results/e/median"));
    header(f, "Accept", "text/csv");
    assert_int_equal(ask(f, "GET", study_path(id, ""), NULL), 200);
    assert_string_equal(f->body, "density,jobs,done,loss,loss_min,loss_max,e,e_min,e_max\n"
                                 "0.25,3,3,2,1,3,5,5,5\n0.5,3,2,15,10,20,,,\n");
    assert_int_equal(ask(f, "GET", study_path(id, "?brief=1"), NULL), 200);
    assert_null(cJSON_GetObjectItem(f->json, "table"));
    assert_true(fabs(number_at(f, "/fraction") - 5.0 / 6) < 1e-9);
}

static void the_chart_is_a_picture_of_a_result_against_a_field(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_study(f, "{\"kind\":\"echo\",\"seeds\":2}", id);
    assert_int_equal(ask(f, "GET", study_path(id, "/chart"), NULL), 409);
    assert_non_null(strstr(text_at(f, "/detail"), "no grid"));
    assert_int_equal(ask(f, "POST", study_path(id, "/cancel"), NULL), 202);
    submit_study(f, "{\"kind\":\"echo\",\"preset\":\"many\"}", id);
    assert_int_equal(ask(f, "GET", study_path(id, "/chart"), NULL), 409);
    assert_non_null(strstr(text_at(f, "/detail"), "result yet"));
    static const char *const results[] = {"{\"loss\":3}", "{\"loss\":1}", "{\"loss\":2}", "{\"loss\":4}",
                                          "{\"loss\":5}"};
    finish_next(f, results, 5);
    assert_int_equal(ask(f, "GET", study_path(id, "/chart?x=density&y=loss&log=xy"), NULL), 200);
    assert_string_equal(answer_header(f, "Content-Type"), "image/png");
    assert_memory_equal(f->body, "\x89PNG", 4);
    header(f, "Accept", "image/svg+xml");
    assert_int_equal(ask(f, "GET", study_path(id, "/chart?x=mode"), NULL), 200); /* values that are no numbers */
    assert_non_null(strstr(f->body, "</svg>"));
    assert_int_equal(ask(f, "GET", study_path(id, "/chart?x=span"), NULL), 400);
    assert_non_null(strstr(text_at(f, "/detail"), "density, mode"));
    assert_int_equal(ask(f, "GET", study_path(id, "/chart?y=span"), NULL), 400);
    assert_non_null(strstr(text_at(f, "/detail"), "(loss)"));
    assert_int_equal(ask(f, "GET", study_path(id, "/chart?log=z"), NULL), 400);
}

static void requests_act_on_all_jobs(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], running[STORAGE_ID];
    submit_study(f, "{\"kind\":\"echo\",\"grid\":{\"density\":[0.25,0.5,1]}}", id);
    assert_int_equal(storage_job_claim(f->storage, running, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "POST", study_path(id, "/resume"), NULL), 409);
    assert_problem(f, 409, "conflict");
    assert_int_equal(ask(f, "POST", study_path(id, "/pause"), NULL), 202);
    assert_int_equal(number_at(f, "/states/paused"), 2);
    assert_string_equal(text_at(f, "/state"), "running");
    assert_int_equal(atomic_load(&f->poked), 1);
    assert_string_equal(f->poked_job, running);
    int woken = atomic_load(&f->woken);
    assert_int_equal(ask(f, "POST", study_path(id, "/resume"), NULL), 202);
    assert_int_equal(number_at(f, "/states/queued"), 2);
    assert_true(atomic_load(&f->woken) > woken);
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 409);
    assert_int_equal(ask(f, "POST", study_path(id, "/cancel"), NULL), 202);
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 409);
    assert_int_equal(storage_job_leave(f->storage, running, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", study_path(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/state"), "cancelled");
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 204);
    assert_int_equal(ask(f, "GET", study_path(id, ""), NULL), 404);
    assert_int_equal(ask(f, "DELETE", study_path(id, ""), NULL), 404);
    assert_int_equal(ask(f, "POST", study_path("nobody", "/cancel"), NULL), 404);
    assert_int_equal(ask(f, "GET", path_of(running, ""), NULL), 404);
}

static void studies_are_listed_in_pages_and_found_by_name(void **state)
{
    struct api_fixture *f = *state;
    char id[3][STORAGE_ID], target[200];
    submit_study(f, "{\"kind\":\"echo\",\"name\":\"one\"}", id[0]);
    submit_study(f, "{\"kind\":\"echo\",\"name\":\"two\"}", id[1]);
    submit_study(f, "{\"kind\":\"echo\",\"name\":\"two\"}", id[2]);
    assert_int_equal(ask(f, "GET", "/v1/studies?limit=2", NULL), 200);
    assert_string_equal(text_at(f, "/studies/0/id"), id[2]);
    assert_int_equal(cJSON_GetArraySize(at(f, "/studies")), 2);
    (void)snprintf(target, sizeof target, "/v1/studies?limit=2&cursor=%s", text_at(f, "/next_cursor"));
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/studies")), 1);
    assert_string_equal(text_at(f, "/studies/0/id"), id[0]);
    assert_true(null_at(f, "/next_cursor"));
    assert_int_equal(ask(f, "GET", "/v1/studies?cursor=wrong", NULL), 400);
    assert_int_equal(ask(f, "GET", "/v1/studies/one", NULL), 200);
    assert_int_equal(ask(f, "GET", "/v1/studies/latest", NULL), 200);
    assert_string_equal(text_at(f, "/id"), id[2]);
    assert_int_equal(ask(f, "GET", "/v1/studies/two", NULL), 409);
    assert_int_equal(ask(f, "GET", "/v1/studies/three", NULL), 404);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_preset_that_is_a_study_makes_all_jobs),
        TEST(a_job_with_a_study_preset_is_refused_unless_it_decides_all),
        TEST(config_and_grid_replace_axes_of_the_preset),
        TEST(every_fault_has_its_place),
        TEST(a_dry_run_adds_the_cost_of_all_jobs),
        TEST(a_repeated_key_returns_the_same_study),
        TEST(a_token_cannot_exceed_its_jobs_by_a_study),
        TEST(the_table_has_medians_over_seeds),
        TEST(the_chart_is_a_picture_of_a_result_against_a_field),
        TEST(requests_act_on_all_jobs),
        TEST(studies_are_listed_in_pages_and_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
