/* Tests what the other tests of the api do not cover: attestations of jobs that start from another job's checkpoint,
 * pages of the audit log, events of every kind, labels and problem documents with values out of range, and long
 * names. */
#include "tests/unit/api/api_fixture.h"

#include "protocol/config_json.h"
#include "api/jobs/events.h"
#include "api/http/problem.h"
#include "api/documents/prometheus.h"
#include "core/base/arena.h"

/* ---- a job that starts from another ------------------------------------------------------------------------- */

static void attestation_names_the_source_of_a_job(void **state)
{
    struct api_fixture *f = *state;
    char source[STORAGE_ID], id[STORAGE_ID], body[200];
    trained_job(f, source);
    finish_job(f, source, "{}");
    (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"from\":{\"job\":\"%s\",\"checkpoint\":\"latest\"}}",
                   source);
    submit_job(f, body, id);
    assert_string_equal(text_at(f, "/from/job"), source);
    claim_job(f, id);
    assert_int_equal(ask(f, "GET", path_of(id, "/attestation"), NULL), 200);
    char origin[100];
    assert_string_equal(text_at(f, "/from/job"), source);
    assert_int_equal(number_at(f, "/from/checkpoint"), 1);
    (void)snprintf(origin, sizeof origin, "%s", text_at(f, "/origin"));
    assert_int_equal(ask(f, "GET", path_of(source, "/attestation"), NULL), 200);
    assert_true(null_at(f, "/from"));
    /* the hash of the origin covers the source job too, so it differs */
    assert_string_not_equal(text_at(f, "/origin"), origin);
    (void)add_checkpoint(f, id, 20, 0.5, 2);
    finish_job(f, id, "{}");
    assert_int_equal(ask(f, "GET", path_of(id, "/bundle"), NULL), 200);
    size_t bytes = f->body_bytes;
    char *bundle = body_kept(f);
    header(f, "Content-Type", "application/octet-stream");
    /* accepted, because the chain of the bundle is valid */
    assert_int_equal(ask_bytes(f, "POST", "/v1/imports", bundle, bytes), 201);
    assert_int_equal(ask(f, "DELETE", path_of(source, ""), NULL), 204);
    assert_int_equal(ask(f, "GET", path_of(id, "/attestation"), NULL), 200);
    /* the hash is the same after the source job was deleted */
    assert_string_equal(text_at(f, "/origin"), origin);
    free(bundle);
    static const char *const wrong[][2] = {
        {"\"short\"", "/from/job"}, {"7", "/from/job"}, {"\"00000000000000000000000000\"", "/from/job"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"from\":{\"job\":%s}}", wrong[i][0]);
        assert_int_equal(ask(f, "POST", "/v1/jobs", body), 422);
        assert_fault(f, wrong[i][1], "");
    }
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"from\":{}}"), 422);
}

/* ---- the audit log ------------------------------------------------------------------------------------------ */

static void audit_log_is_read_page_by_page(void **state)
{
    struct api_fixture *f = *state;
    char target[200];
    for (int i = 0; i < 5; i++) {
        struct storage_audit entry = {.who = "anna", .peer = "::1", .method = "POST", .target = "/v1/jobs"};
        (void)snprintf(entry.request, sizeof entry.request, "r%d", i);
        assert_int_equal(storage_audit_begin(f->storage, &entry, &f->err), STATUS_OK);
        if (i % 2 == 0) {
            const char *made = i == 0 ? "01ARZ3NDEKTSV4RRFFQ69G5FAV" : "";
            assert_int_equal(storage_audit_end(f->storage, entry.request, 201, made, &f->err), STATUS_OK);
        }
    }
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    (void)snprintf(target, sizeof target, "/v1/audit?limit=2");
    for (int seen = 5; seen > 0; seen -= 2) { /* the newest record comes first */
        assert_int_equal(ask(f, "GET", target, NULL), 200);
        for (int k = 0; k < 2 && seen - k > 0; k++) {
            char at_request[40], at_status[40], at_job[40], request[8];
            (void)snprintf(at_request, sizeof at_request, "/changes/%d/request", k);
            (void)snprintf(at_status, sizeof at_status, "/changes/%d/status", k);
            (void)snprintf(at_job, sizeof at_job, "/changes/%d/job", k);
            (void)snprintf(request, sizeof request, "r%d", seen - k - 1);
            assert_string_equal(text_at(f, at_request), request);
            assert_int_equal(null_at(f, at_status), (seen - k - 1) % 2 == 1);
            assert_int_equal(null_at(f, at_job), seen - k - 1 != 0);
        }
        if (seen > 2)
            (void)snprintf(target, sizeof target, "/v1/audit?limit=2&cursor=%s", text_at(f, "/next_cursor"));
    }
    assert_true(null_at(f, "/next_cursor"));
    assert_int_equal(ask(f, "GET", "/v1/audit?limit=5", NULL), 200);
    assert_true(null_at(f, "/next_cursor")); /* there is no further page */
}

/* ---- events ------------------------------------------------------------------------------------------------- */

static void every_type_of_event_is_written(void **state)
{
    static const struct {
        const char *type, *data, *expected;
        bool last;
    } events[] = {
        {"state", "running", "\"state\":\"running\"", false}, {"state", "succeeded", "\"state\":\"succeeded\"", true},
        {"state", "failed", "\"state\":\"failed\"", true},    {"state", "cancelled", "\"state\":\"cancelled\"", true},
        {"progress", "{\"step\":3}", "\"step\":3", false},    {"checkpoint", "7", "\"seq\":7", false},
        {"metric", "1 2", "\"series\":{\"loss\":", false},    {"note", "succeeded", "\"data\":\"succeeded\"", false},
    };
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    struct arena arena;
    struct buf out;
    trained_job(f, id);
    struct storage_metric metric = {"loss", {2, 0.5}};
    assert_int_equal(storage_metric_append(f->storage, id, &metric, 1, &f->err), STATUS_OK);
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    arena_init(&arena, 4096, 0);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct storage_event event = {.id = 9, .type = events[i].type, .data = events[i].data, .time = 1700000000000};
        (void)snprintf(event.job, sizeof event.job, "%s", id);
        assert_int_equal(event_is_last(&event), events[i].last);
        buf_init(&out, 10000);
        assert_int_equal(event_write(f->storage, &event, &arena, &out, &f->err), STATUS_OK);
        if (strstr(out.data, events[i].expected) == NULL)
            fail_msg("%s has no %s", out.data, events[i].expected);
        assert_true(strncmp(out.data, "id: 9\nevent: ", 13) == 0 && strcmp(out.data + out.size - 2, "\n\n") == 0);
        buf_close(&out);
        buf_init(&out, 60); /* a buffer that is smaller than the event */
        error_clear(&f->err);
        assert_int_equal(event_write(f->storage, &event, &arena, &out, &f->err), STATUS_LIMIT);
        buf_close(&out);
    }
    /* the job of this event does not exist, so the event is written with an empty list of series */
    struct storage_event event = {.id = 9, .type = "metric", .data = "1 2"};
    buf_init(&out, 10000);
    (void)snprintf(event.job, sizeof event.job, "none");
    assert_int_equal(event_write(f->storage, &event, &arena, &out, &f->err), STATUS_OK);
    assert_non_null(strstr(out.data, "\"series\":{}"));
    buf_close(&out);
    arena_close(&arena);
}

/* ---- labels, guesses, configurations ------------------------------------------------------------------------ */

static void labels_are_escaped_and_problems_have_a_default(void **state)
{
    struct buf out;
    buf_init(&out, 100);
    prometheus_label(&out, "a\"b\\c\nd");
    assert_string_equal(out.data, "\"a\\\"b\\\\c\\nd\"");
    buf_close(&out);
    assert_ptr_equal(problem_kind((enum problem)999), problem_kind(PROBLEM_INTERNAL));
    assert_int_equal(problem_of_status(404), PROBLEM_NOT_FOUND);
    assert_int_equal(problem_kind(problem_of_status(299))->status, 500);
}

static void nearest_name_is_suggested(void **state)
{
    static const char long_name[] = "a-name-of-many-more-characters-than-any-field-has-and-then-some";
    struct name_guess guess = {.given = "densty"};
    name_guess_offer(&guess, long_name);
    assert_null(guess.best);
    name_guess_offer(&guess, "identity");
    name_guess_offer(&guess, "density");
    assert_string_equal(guess.best, "density");
    guess = (struct name_guess){.given = long_name};
    name_guess_offer(&guess, "density");
    assert_null(guess.best);
    guess = (struct name_guess){.given = "check"}; /* the given name is the beginning of the candidate */
    name_guess_offer(&guess, "checkpoint_every");
    assert_string_equal(guess.best, "checkpoint_every");
    guess = (struct name_guess){.given = "de"};
    name_guess_offer(&guess, "density");
    assert_null(guess.best);
}

static void wrong_configuration_gives_one_fault_per_field(void **state)
{
    struct api_faults *faults = calloc(1, sizeof *faults);
    struct error err;
    void *config;
    assert_non_null(faults);
    error_clear(&err);
    assert_int_equal(config_read_back(&echo_method, "[]", 2, "/config", &config, faults, &err), STATUS_INVALID);
    assert_string_equal(faults->items[0].pointer, "/config");
    error_clear(&err);
    assert_int_equal(config_read_back(&echo_method, "{\"a\":", 5, "/config", &config, faults, &err), STATUS_CORRUPT);
    assert_string_equal(faults->items[1].pointer, "/config/a");
    /* A field with a wrong value gets one fault, although it also breaks a rule that concerns several fields. */
    memset(faults, 0, sizeof *faults);
    error_clear(&err);
    static const char text[] = "{\"density\":7,\"mode\":\"strict\"}";
    assert_int_not_equal(config_read_back(&echo_method, text, strlen(text), "", &config, faults, &err), STATUS_OK);
    assert_int_equal(faults->count, 1);
    free(faults);
}

/* Each request has one mistake. */
static void request_with_one_mistake_is_refused(void **state)
{
    static const struct {
        const char *type, *method, *rest, *body;
        int status;
        const char *pointer;
    } odd[] = {
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"sample\":{\"seed\":\"1\"}}]}", 422, "/inputs/0/sample/seed"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"sample\":{\"seed\":0.5}}]}", 422, "/inputs/0/sample/seed"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"sample\":{\"seed\":1e300}}]}", 422, "/inputs/0/sample/seed"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"sample\":{\"seed\":1,\"more\":2}}]}", 422, "/inputs/0/sample"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"array\":[[[[[1]]]]]}]}", 422, "/inputs/0/array"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"array\":[]}]}", 422, "/inputs/0/array"},
        {NULL, "POST", "/motifs", "{\"inputs\":[{\"array\":[[1,2]]}],\"checkpoint\":99}", 422, "/checkpoint"},
        {"text/x-fasta", "POST", "/motifs", ">a\n>b\nACGT\n", 422, NULL},
        {"text/x-fasta", "POST", "/motifs?batch=1", ">a\nACGT\n", 200, NULL},
        {"text/x-fasta", "POST", "/motifs?batch=1", ">a\nACGT\n>b\nACGT\n", 422, NULL},
        {"audio/wav", "POST", "/motifs", "RIFF", 422, NULL},
        {"application/x-npy", "POST", "/motifs", "abc", 422, NULL},
        {NULL, "POST", "/compare", "{\"with\":\"x\"}", 404, NULL},
        {NULL, "POST", "/evaluation", "{\"seed\":0.5}", 422, "/seed"},
        {NULL, "POST", "/evaluation", "{\"checkpoint\":99}", 422, "/checkpoint"},
        {NULL, "GET", "/metrics?name=", NULL, 400, NULL},
        {NULL, "GET", "/metrics?name=a,,b", NULL, 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:2", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:0.5x", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:0", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:1e", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:nan", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:0.5", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 200, NULL},
        {NULL, "POST", "/motifs?checkpoint=density:0.25", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 404, NULL},
        {NULL, "POST", "/motifs?checkpoint=best", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 200, NULL},
        {NULL, "POST", "/motifs?checkpoint=0", "{\"inputs\":[{\"sample\":{\"seed\":1}}]}", 400, NULL},
        {NULL, "GET", "/checkpoints/best", NULL, 200, NULL},
    };
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    int wrong = 0;
    trained_job(f, id);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        if (odd[i].type != NULL)
            header(f, "Content-Type", odd[i].type);
        int status = ask(f, odd[i].method, path_of(id, odd[i].rest), odd[i].body);
        bool found = odd[i].pointer == NULL;
        JSON_EACH (fault, cJSON_GetObjectItemCaseSensitive(f->json, "errors")) {
            const char *pointer = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fault, "pointer"));
            found |= pointer != NULL && odd[i].pointer != NULL && strcmp(pointer, odd[i].pointer) == 0;
        }
        if (status != odd[i].status || !found) {
            print_error("%s %s: %d, not %d: %.300s\n", odd[i].rest, odd[i].body, status, odd[i].status, f->body);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    static const char *const keys[] = {"", " ", "a b", "\x7f"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        header(f, "Idempotency-Key", keys[i]);
        assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}"), 400);
    }
    char name[300];
    memset(name, 'n', sizeof name);
    (void)snprintf(name + 250, sizeof name - 250, "\"}");
    memcpy(name, "{\"kind\":\"echo\",\"name\":\"", 23);
    assert_int_equal(ask(f, "POST", "/v1/jobs", name), 422);
    assert_fault(f, "/name", "");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":7}"), 422);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"config\":{}}"), 422);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "[]"), 422);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(attestation_names_the_source_of_a_job),
        TEST(audit_log_is_read_page_by_page),
        TEST(every_type_of_event_is_written),
        TEST(request_with_one_mistake_is_refused),
        cmocka_unit_test(labels_are_escaped_and_problems_have_a_default),
        cmocka_unit_test(nearest_name_is_suggested),
        cmocka_unit_test(wrong_configuration_gives_one_fault_per_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
