/* Tests the api when parts are missing: a process without callbacks, methods without functions, jobs of unknown
 * kinds, and too little memory to create the api. The api must answer with a problem document, or work without the
 * part. */
#include "tests/unit/api/api_fixture.h"

#include "tests/support/fault.h"

static void remake(struct api_fixture *f)
{
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
}

/* ---- a process without callbacks --------------------------------------------------------------------------------- */

static void process_without_callbacks_gives_empty_facts(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], other[STORAGE_ID];
    f->options.daemon = (struct api_daemon){.context = NULL};
    f->options.threads_max = 0;
    remake(f);
    submit_job(f, "{\"kind\":\"echo\",\"threads\":256}", id);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"threads\":257}"), 422);
    assert_fault(f, "/threads", "256");
    header(f, "Content-Type", "application/merge-patch+json");
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"priority\":3}"), 200);
    claim_job(f, id);
    assert_int_equal(ask(f, "POST", path_of(id, "/pause"), NULL), 202);
    submit_job(f, "{\"kind\":\"echo\"}", other);
    assert_int_equal(ask(f, "POST", path_of(other, "/pause"), NULL), 202);
    assert_int_equal(ask(f, "POST", path_of(other, "/resume"), NULL), 202);
    assert_string_equal(text_at(f, "/state"), "queued");
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 200);
    assert_int_equal(ask(f, "GET", "/v1/system", NULL), 200);
    assert_string_equal(text_at(f, "/version"), "");
    assert_true(null_at(f, "/started_at"));
    assert_int_equal(number_at(f, "/uptime_seconds"), 0);
    assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
    assert_string_equal(text_at(f, "/info/version"), "0");
    assert_int_equal(ask(f, "GET", "/metrics", NULL), 200);
    assert_null(strstr(f->body, "motifd_test_total"));
    assert_null(strstr(f->body, "process_resident_memory_bytes"));
}

/* While the daemon shuts down, requests for streams of events and for /readyz get status 503, and /metrics reports the
 * shutdown. */
static void draining_refuses_what_would_start_something(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    f->draining = true;
    assert_int_equal(ask(f, "GET", path_of(id, "/events"), NULL), 503);
    assert_problem(f, 503, "unavailable");
    assert_int_equal(ask(f, "GET", "/v1/events", NULL), 503);
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 503);
    assert_int_equal(ask(f, "GET", "/metrics", NULL), 200);
    assert_non_null(strstr(f->body, "motifd_draining 1"));
    f->draining = false;
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 200);
}

/* ---- jobs without a model --------------------------------------------------------------------------------- */

struct route_case {
    const char *method, *rest, *body;
    int status;
};

static void ask_all(struct api_fixture *f, const char *id, const struct route_case *cases, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        int status = ask(f, cases[i].method, path_of(id, cases[i].rest), cases[i].body);
        if (status != cases[i].status) {
            print_error("%s %s: %d, not %d: %.300s\n", cases[i].method, cases[i].rest, status, cases[i].status,
                        f->body);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

#define SAMPLE "{\"inputs\":[{\"sample\":{\"seed\":1}}]}"

/* These requests need the method of the job, but this build has no method of that kind. */
static const struct route_case refused[] = {
    {"POST", "/motifs", SAMPLE, 404},
    {"POST", "/predict", SAMPLE, 404},
    {"POST", "/interventions", SAMPLE, 404},
    {"POST", "/compare", "{\"with\":\"x\"}", 404},
    {"GET", "/channels", NULL, 404},
    {"GET", "/channels/0", NULL, 404},
    {"GET", "/onnx", NULL, 404},
    {"GET", "/pathways?seed=1", NULL, 404},
    {"POST", "/evaluation", "{}", 409},
};
static const struct route_case given[] = {
    {"GET", "", NULL, 200},
    {"GET", "/metrics", NULL, 200},
    {"GET", "/checkpoints", NULL, 200},
    {"GET", "/checkpoints/1", NULL, 200},
    {"GET", "/attestation", NULL, 200},
    {"GET", "/report", NULL, 200},
    {"GET", "/bundle", NULL, 200},
    {"GET", "/events", NULL, 200},
};

static void store_job(struct api_fixture *f, const char *kind, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = kind, .name = "of it", .config = "{\"seed\":1}"};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_job_submit(f->storage, &in, id, &outcome, &f->err), STATUS_OK);
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 1);
    finish_job(f, id, "{}");
}

/* The database comes from a build with more methods than this one. */
static void job_of_an_unknown_kind_has_no_model(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    store_job(f, "gone", id);
    ask_all(f, id, refused, sizeof refused / sizeof refused[0]);
    ask_all(f, id, given, sizeof given / sizeof given[0]);
    assert_int_equal(ask(f, "POST", "/v1/pathways/recover", "{\"signal\":[1]}"), 404);
    assert_int_equal(ask(f, "GET", "/v1/kinds/gone", NULL), 404);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
}

/* Methods that lack functions. "mute" has none of the optional functions. Each other method lacks one function
 * that some query needs. */
static void missing_functions_of_a_method_are_reported(void **state)
{
    struct api_fixture *f = *state;
    struct method mute = {.kind = "mute",
                          .title = "Mute",
                          .summary = "Says nothing.",
                          .paper = "None.",
                          .config = echo_method.config,
                          .estimate = echo_method.estimate};
    struct method closed = echo_method;
    closed.kind = "closed";
    closed.open = NULL;
    struct method dumb = echo_method;
    dumb.kind = "dumb";
    dumb.query_count = 0;
    struct method blind = echo_method;
    blind.kind = "blind";
    struct method_query undrawn = echo_method.queries[0];
    undrawn.draw = NULL;
    blind.queries = &undrawn;
    blind.query_count = 1;
    const struct method *const all[] = {&echo_method, &mute, &closed, &dumb, &blind};
    char id[STORAGE_ID];
    f->options.methods = all;
    f->options.method_count = sizeof all / sizeof all[0];
    remake(f);
    /* accepted, because the method has no check() that would refuse this configuration */
    submit_job(f, "{\"kind\":\"mute\",\"config\":{\"mode\":\"strict\",\"density\":0.9}}", id);
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 1);
    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints/1"), NULL), 200);
    size_t bytes = f->body_bytes;
    char *weights = body_kept(f);
    header(f, "Content-Type", "application/octet-stream");
    /* refused, because no method can open the model */
    assert_int_equal(ask_bytes(f, "POST", "/v1/imports", weights, bytes), 422);
    free(weights);
    finish_job(f, id, "{}");
    ask_all(f, id, refused, sizeof refused / sizeof refused[0]);
    ask_all(f, id, given, sizeof given / sizeof given[0]);
    store_job(f, "closed", id);
    ask_all(f, id, refused, sizeof refused / sizeof refused[0] - 1);
    store_job(f, "dumb", id);
    ask_all(f, id, refused, sizeof refused / sizeof refused[0] - 1);
    store_job(f, "blind", id);
    assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), SAMPLE), 200);
    header(f, "Accept", "image/png");
    assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), SAMPLE), 406);
    assert_int_equal(ask(f, "GET", "/v1/kinds/mute", NULL), 200);
    /* destroy the api here, while the methods of this test still exist */
    f->options.methods = all;
    api_destroy(f->api);
    f->api = NULL;
}

/* An evaluation has no model, no hash chain and no bundle. */
static void evaluation_has_no_files(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], evaluation[STORAGE_ID];
    trained_job(f, id);
    finish_job(f, id, "{}");
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), NULL), 201);
    (void)snprintf(evaluation, sizeof evaluation, "%s", text_at(f, "/id"));
    static const struct route_case none[] = {{"GET", "/attestation", NULL, 404},
                                             {"GET", "/bundle", NULL, 404},
                                             {"POST", "/evaluation", "{}", 409},
                                             {"GET", "/checkpoints/latest", NULL, 404},
                                             {"POST", "/motifs", SAMPLE, 409},
                                             {"POST", "/motifs?checkpoint=1", SAMPLE, 404},
                                             {"POST", "/motifs?checkpoint=best", SAMPLE, 409}};
    ask_all(f, evaluation, none, sizeof none / sizeof none[0]);
}

static void requests_before_the_first_checkpoint_conflict(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    static const struct route_case none[] = {{"GET", "/attestation", NULL, 200},
                                             {"GET", "/bundle", NULL, 404},
                                             {"GET", "/bundle?checkpoints=all", NULL, 409},
                                             {"GET", "/checkpoints", NULL, 200},
                                             {"GET", "/checkpoints/latest", NULL, 404},
                                             {"GET", "/artifacts/Not..a-name", NULL, 404},
                                             {"POST", "/motifs", SAMPLE, 409}};
    submit_job(f, "{\"kind\":\"echo\"}", id);
    ask_all(f, id, none, sizeof none / sizeof none[0]);
}

/* ---- little memory ------------------------------------------------------------------------------------------ */

static void create_survives_every_failed_allocation(void **state)
{
    struct api_fixture *f = *state;
    int refused_times = 0;
    api_destroy(f->api);
    f->api = NULL;
    fault_spare_others(true);
    for (int forever = 0; forever < 2; forever++) {
        bool failed = true;
        for (int place = 0; failed; place++) {
            struct api *made;
            error_clear(&f->err);
            (forever ? fault_from : fault_after)(place);
            enum status status = api_create(&f->options, &made, &f->err);
            failed = fault_happened();
            refused_times += failed;
            assert_true((status == STATUS_OK) == (made != NULL));
            assert_true(status == STATUS_OK || failed);
            assert_true(status == STATUS_OK || f->err.message[0] != '\0');
            assert_true(status != STATUS_OK || !failed); /* if an allocation failed, api_create() must fail too */
            api_destroy(made);
            assert_true(place < 10000);
        }
    }
    fault_spare_others(false);
    assert_true(refused_times > 10);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", "/healthz", NULL), 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

/* A daemon whose database file was deleted must not accept jobs, because the next start would not find them. */
static void deleted_database_ends_readiness_and_submissions(void **state)
{
    struct api_fixture *f = *state;
    char away[sizeof f->path + 8];
    (void)snprintf(away, sizeof away, "%s-away", f->path);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}"), 201);
    assert_int_equal(rename(f->path, away), 0);
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 503);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}"), 503);
    assert_non_null(strstr(text_at(f, "/detail"), "moved, replaced or deleted"));
    assert_int_equal(ask(f, "GET", "/healthz", NULL), 200);
    assert_int_equal(rename(away, f->path), 0);
    assert_int_equal(ask(f, "GET", "/readyz", NULL), 200);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}"), 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(process_without_callbacks_gives_empty_facts),
        TEST(draining_refuses_what_would_start_something),
        TEST(job_of_an_unknown_kind_has_no_model),
        TEST(missing_functions_of_a_method_are_reported),
        TEST(evaluation_has_no_files),
        TEST(deleted_database_ends_readiness_and_submissions),
        TEST(requests_before_the_first_checkpoint_conflict),
        TEST(create_survives_every_failed_allocation),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
