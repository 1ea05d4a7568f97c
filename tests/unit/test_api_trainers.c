/* The routes of trainers: whose token opens them, words that come twice, epochs, checkpoints in pieces; and each of
 * them with every allocation failing once, after which it is asked again. */
#include "tests/unit/api_fixture.h"

#include <strings.h>

#include "api/lease_token.h"
#include "core/base/hash.h"
#include "tests/support/fault.h"

struct trainee {
    struct api_fixture *f;
    char id[STORAGE_ID], token[LEASE_TOKEN], bearer[LEASE_TOKEN + 8];
    int64_t epoch;
};

static void grant(struct trainee *t)
{
    uint8_t hash[STORAGE_LEASE_HASH];
    int tries;
    lease_token_make(t->token, hash);
    (void)snprintf(t->bearer, sizeof t->bearer, "Bearer %s", t->token);
    assert_int_equal(storage_lease_grant(t->f->storage, t->id, hash, "process", &tries, &t->f->err), STATUS_OK);
}

static int say(struct trainee *t, const char *method, const char *rest, const char *body)
{
    header(t->f, "Authorization", t->bearer);
    return ask(t->f, method, path_of(t->id, rest), body);
}

/* With the epoch where the rest has %lld. */
static int tell(struct trainee *t, const char *method, const char *format, const char *body)
{
    char rest[200];
    const char *at = strstr(format, "@");
    (void)snprintf(rest, sizeof rest, "%.*s%lld%s", (int)(at - format), format, (long long)t->epoch, at + 1);
    if (strcmp(method, "PUT") == 0) {
        header(t->f, "Content-Type", "application/octet-stream");
    }
    return say(t, method, rest, body);
}

static void hello(struct trainee *t)
{
    assert_int_equal(say(t, "POST", "/run", NULL), 200);
    t->epoch = (int64_t)number_at(t->f, "/epoch");
}

static int setup(void **state)
{
    static struct trainee t;
    if (api_setup(state) != 0) {
        return -1;
    }
    t = (struct trainee){.f = *state};
    trained_job(t.f, t.id);
    grant(&t);
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    struct trainee *t = *state;
    void *f = t->f;
    return api_teardown(&f);
}

static void announcement(char out[300], int64_t step, const char *bytes)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    hash_bytes(bytes, strlen(bytes), digest);
    hash_hex(digest, hex);
    (void)snprintf(out, 300,
                   "{\"step\":%lld,\"samples\":%lld,\"bytes\":%zu,\"sha256\":\"%s\",\"density\":0.25,\"accuracy\":"
                   "null,\"stage_end\":true}",
                   (long long)step, (long long)step * 10, strlen(bytes), hex);
}

static size_t stored_checkpoints(struct trainee *t)
{
    struct storage_checkpoint *list;
    struct arena arena;
    size_t count;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_checkpoint_list(t->f->storage, t->id, &arena, &list, &count, &t->f->err), STATUS_OK);
    arena_close(&arena);
    return count;
}

static int64_t points_of(struct trainee *t, const char *name)
{
    struct storage_metric_query query = {.names = &name, .name_count = 1, .since = INT64_MIN};
    struct storage_series *series;
    struct arena arena;
    size_t count;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_metric_read(t->f->storage, t->id, &query, &arena, &series, &count, &t->f->err),
                     STATUS_OK);
    int64_t points = count > 0 ? (int64_t)series[0].count : 0;
    arena_close(&arena);
    return points;
}

static const char *const words[][2] = {
    {"POST", "/run"},
    {"POST", "/run/reports?epoch=1"},
    {"PUT", "/run/artifacts/a.txt?epoch=1"},
    {"GET", "/run/checkpoints?epoch=1"},
    {"GET", "/run/checkpoints/1?epoch=1"},
    {"POST", "/run/checkpoints?epoch=1"},
    {"PUT", "/run/upload?epoch=1&offset=0"},
    {"POST", "/run/end?epoch=1"},
};

static void whose_token(void **state)
{
    struct trainee *t = *state, other = {.f = t->f};
    char stranger[80];
    trained_job(t->f, other.id);
    grant(&other);
    (void)snprintf(stranger, sizeof stranger, "Bearer %s%043d", LEASE_TOKEN_PREFIX, 7);
    const char *const wrong[] = {NULL, "", "Bearer ", stranger, other.bearer, "Basic eDp5"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            if (wrong[i] != NULL) {
                header(t->f, "Authorization", wrong[i]);
            }
            if (strcmp(words[w][0], "PUT") == 0) {
                header(t->f, "Content-Type", "application/octet-stream");
            }
            t->f->scope = API_SCOPE_ADMIN; /* also who may do everything else */
            (void)ask(t->f, words[w][0], path_of(t->id, words[w][1]), strcmp(words[w][0], "GET") == 0 ? NULL : "{}");
            assert_problem(t->f, 401, "unauthorised");
        }
    }
    /* And it opens nothing else, even where no token is needed. */
    const char *const others[][2] = {{"GET", ""}, {"POST", "/cancel"}, {"DELETE", ""}, {"GET", "/checkpoints"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(say(t, others[i][0], others[i][1], NULL), 401);
    }
    hello(t);
    assert_int_equal(storage_job_leave(t->f->storage, t->id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &t->f->err),
                     STATUS_OK);
    assert_int_equal(say(t, "POST", "/run", NULL), 401); /* the run is over */
    assert_int_equal(tell(t, "GET", "/run/checkpoints?epoch=@", NULL), 401);
}

static void words_twice(void **state)
{
    struct trainee *t = *state;
    const char *report = "{\"sequence\":1,\"series\":{\"loss\":[[110,0.5],[120,null],[130,\"inf\"]]},\"progress\":\"{"
                         "\\\"step\\\":7}\",\"steps\":3}";
    hello(t);
    assert_string_equal(text_at(t->f, "/kind"), "echo");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", report), 200);
        assert_string_equal(text_at(t->f, "/wish"), "none");
        assert_int_equal(points_of(t, "loss"), 3);
    }
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":2,\"series\":{\"loss\":[[140,0.25]]}}"),
                     200);
    assert_int_equal(points_of(t, "loss"), 4);
    static const struct {
        const char *pointer, *report;
    } bad[] = {
        {"/sequence", "{}"},
        {"/sequence", "{\"sequence\":1e300}"},
        {"/sequence", "{\"sequence\":3.5}"},
        {"/sequence", "{\"sequence\":\"3\"}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[1]]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[-1,2]]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[1,\"x\"]]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":7}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[1e300,2]]}}"},
        {"/series", "{\"sequence\":3,\"series\":7}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[1.5,2]]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[[\"1\",2]]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"loss\":[7]}}"},
        {"/series", "{\"sequence\":3,\"series\":{\"a-name-that-is-longer-than-a-name-may-be-is-refused-with-all-of-the-report\":[]}}"},
        {"/progress", "{\"sequence\":3,\"progress\":7}"},
        {"/progress", "{\"sequence\":3,\"progress\":\"{\"}"},
        {"/progress", "{\"sequence\":3,\"progress\":\"\"}"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", bad[i].report), 422);
        assert_string_equal(text_at(t->f, "/errors/0/pointer"), bad[i].pointer);
    }
    assert_int_equal(
        tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":3,\"series\":{\"loss\":[[150,1],[160,\"x\"]]}}"), 422);
    assert_non_null(strstr(text_at(t->f, "/errors/0/detail"), "point 1 of \"loss\""));
    assert_int_equal(points_of(t, "loss"), 4); /* nothing of a refused report stays */
    t->f->log[0] = '\0'; /* a line of no level is no line */
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":3,\"progress\":null,\"series\":{\"low\":[[5,\"-inf\"]]},"
                          "\"lines\":[[\"warn\",\"mind\"],[\"odd\",\"x\"],[7,\"x\"],[\"info\",7],[\"info\"]]}"), 200);
    assert_int_equal(points_of(t, "low"), 1);
    assert_non_null(strstr(t->f->log, ": mind"));
    assert_null(strstr(t->f->log, ": x"));
    char *long_one = calloc(1, 5000);
    assert_non_null(long_one);
    (void)snprintf(long_one, 5000, "{\"sequence\":3,\"progress\":\"[%04096d]\"}", 1);
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", long_one), 422);
    assert_string_equal(text_at(t->f, "/errors/0/pointer"), "/progress");
    assert_non_null(strstr(text_at(t->f, "/errors/0/detail"), "at most 4096"));
    free(long_one);
    assert_int_equal(ask(t->f, "POST", path_of(t->id, "/pause"), NULL), 202);
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":4}"), 200);
    assert_string_equal(text_at(t->f, "/wish"), "pause");

    /* The same token once more: who came first is locked out. The points behind its last checkpoint go. */
    struct trainee before = *t;
    hello(t);
    assert_true(t->epoch > before.epoch);
    assert_int_equal(tell(&before, "POST", "/run/reports?epoch=@", "{\"sequence\":5}"), 409);
    assert_int_equal(tell(&before, "POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}"), 409);
    assert_int_equal(points_of(t, "loss"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"succeeded\",\"document\":\"{\\\"a\\\":1}\"}"), 204);
    }
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":9}"), 409);
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"lost\"}"), 422);
    static const char *const ends[] = {"{}", "{\"end\":7}", "{\"end\":\"succeeded\"}", "{\"end\":\"failed\",\"document\":7}",
                                       "{\"end\":\"yielded\",\"document\":\"{}\"}", "{\"end\":\"succeeded\",\"document\":\"{\"}"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_int_equal(tell(t, "POST", "/run/end?epoch=@", ends[i]), 422);
    }
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"failed\",\"document\":\"{\"}"), 422);
    assert_int_equal(say(t, "POST", "/run", NULL), 409);
}

static void pieces(void **state)
{
    struct trainee *t = *state;
    char meta[300], other[300];
    size_t before = stored_checkpoints(t);
    hello(t);
    static const char sum[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const odd[] = {
        "{}", "{\"step\":1}", "{\"step\":1,\"samples\":1}", "{\"step\":1,\"samples\":1,\"bytes\":1}",
        "{\"step\":-1,\"samples\":1,\"bytes\":1,\"sha256\":\"%s\"}", "{\"step\":1.5,\"samples\":1,\"bytes\":1,\"sha256\":\"%s\"}",
        "{\"step\":1,\"samples\":1e300,\"bytes\":1,\"sha256\":\"%s\"}", "{\"step\":1,\"samples\":\"1\",\"bytes\":1,\"sha256\":\"%s\"}",
        "{\"step\":1,\"samples\":1,\"bytes\":0,\"sha256\":\"%s\"}", "{\"step\":1,\"samples\":1,\"bytes\":1e15,\"sha256\":\"%s\"}",
        "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":7}", "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":\"abc\"}",
        "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":\"x%s\"}",
        "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":\"zz23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        const char *place = strstr(odd[i], "%s");
        size_t head = place != NULL ? (size_t)(place - odd[i]) : strlen(odd[i]);
        (void)snprintf(meta, sizeof meta, "%.*s%s%s", (int)head, odd[i], place != NULL ? sum : "", place != NULL ? place + 2 : "");
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 422);
    }
    announcement(meta, 50, "twelve bytes");
    announcement(other, 50, "other bytes!");
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 404); /* of what? */
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200);
    assert_int_equal(number_at(t->f, "/received"), 6);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200); /* its answer was lost */
    assert_int_equal(number_at(t->f, "/received"), 6);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200); /* goes on */
    assert_int_equal(number_at(t->f, "/received"), 6);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=6", " bytes and more"), 422);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=6", " bytes"), 200);
    int seq = (int)number_at(t->f, "/seq");
    assert_true(seq > 0);
    assert_int_equal(stored_checkpoints(t), before + 1);
    for (int i = 0; i < 2; i++) { /* announced again: it is there */
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
        assert_int_equal(number_at(t->f, "/seq"), seq);
    }
    char path[64];
    (void)snprintf(path, sizeof path, "/run/checkpoints/%d?epoch=@", seq);
    assert_int_equal(tell(t, "GET", path, NULL), 200);
    assert_int_equal(t->f->body_bytes, 12);
    assert_memory_equal(t->f->body, "twelve bytes", 12);
    assert_int_equal(tell(t, "GET", "/run/checkpoints/99?epoch=@", NULL), 404);
    assert_int_equal(tell(t, "GET", "/run/checkpoints?epoch=@&of=source", NULL), 404); /* it has no source */

    /* Bytes that are not those announced never become a checkpoint; nor does what a dead trainer had begun. */
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", other), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes?"), 422);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes!"), 404);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", other), 200);
    api_trainer_gone(t->f->api, t->id);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes!"), 404);
    const char *const bad[] = {"{}", "{\"step\":1,\"samples\":1,\"bytes\":0,\"sha256\":\"00\"}",
                               "{\"step\":1.5,\"samples\":1,\"bytes\":9,\"sha256\":\"00\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", bad[i]), 422);
    }
    assert_int_equal(stored_checkpoints(t), before + 1);
    assert_int_equal(tell(t, "PUT", "/run/artifacts/a.txt?epoch=@&type=text/plain", "words"), 204);
    assert_int_equal(tell(t, "PUT", "/run/artifacts/A.txt?epoch=@", "words"), 404); /* no such route */
}

/* ---- allocations that fail ------------------------------------------------------------------------------- */

struct word {
    struct trainee *t;
    const char *method;
};

static const char *header_of_word(void *context, const char *name)
{
    const struct word *word = context;
    if (strcasecmp(name, "Authorization") == 0) {
        return word->t->bearer;
    }
    bool typed = strcasecmp(name, "Content-Type") == 0;
    return typed ? strcmp(word->method, "PUT") == 0 ? "application/octet-stream" : "application/json" : NULL;
}

/* The status, with an allocation that fails: the answer may then be less than the fixture wants of one. */
static int attempt(struct trainee *t, const char *method, const char *format, const char *body, int place,
                   bool *failed)
{
    char target[300];
    struct word word = {t, method};
    struct api_response response;
    const char *at = strstr(format, "@");
    (void)snprintf(target, sizeof target, "/v1/jobs/%s%.*s%lld%s", t->id, (int)(at - format), format,
                   (long long)t->epoch, at + 1);
    struct api_request request = {.method = method,
                                  .target = target,
                                  .header = header_of_word,
                                  .header_context = &word,
                                  .body = body,
                                  .body_bytes = body != NULL ? strlen(body) : 0,
                                  .scope = API_SCOPE_NONE};
    fault_after(place);
    api_handle(t->f->api, &request, &response);
    int status = response.status;
    api_response_close(&response);
    *failed = fault_happened();
    return status;
}

static void sweep(struct trainee *t, const char *method, const char *rest, const char *body, int wanted)
{
    int stride = fault_stride(3);
    bool failed = true;
    for (int place = 0; failed; place += stride) {
        int status = attempt(t, method, rest, body, place, &failed);
        if (status != wanted && (!failed || (status < 500 && status != 401))) {
            fail_msg("%s %s, allocation %d fails: %d", method, rest, place, status);
        }
        if (status != wanted && tell(t, method, rest, body) != wanted) {
            fail_msg("%s %s again after allocation %d: %d %s", method, rest, place, t->f->response.status,
                     t->f->body);
        }
        assert_true(place < 100000);
    }
}

static void every_allocation(void **state)
{
    struct trainee *t = *state;
    char meta[300];
    hello(t);
    sweep(t, "POST", "/run/reports?epoch=@",
          "{\"sequence\":1,\"series\":{\"loss\":[[110,0.5]]},\"progress\":\"{}\",\"lines\":[[\"info\",\"a\"]]}", 200);
    assert_int_equal(points_of(t, "loss"), 1);
    sweep(t, "PUT", "/run/artifacts/a.txt?epoch=@", "words", 204);
    sweep(t, "GET", "/run/checkpoints?epoch=@", NULL, 200);
    sweep(t, "GET", "/run/checkpoints/1?epoch=@", NULL, 200);
    announcement(meta, 50, "twelve bytes");
    sweep(t, "POST", "/run/checkpoints?epoch=@", meta, 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve bytes"), 200);
    assert_int_equal(stored_checkpoints(t), 2);
    sweep(t, "POST", "/run?epoch=@", NULL, 400); /* a parameter that it has not */
    sweep(t, "POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}", 204);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whose_token, setup, teardown),
        cmocka_unit_test_setup_teardown(words_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(every_allocation, setup, teardown),
    };
    fault_libraries();
    return cmocka_run_group_tests_name("api_trainers", tests, NULL, NULL);
}
