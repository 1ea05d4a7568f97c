/* Tests the routes of trainers: tokens, repeated messages, epochs, and checkpoints in pieces. The test also repeats
 * each request, and makes another allocation or SQLite call fail each time. */
#include "tests/unit/api/api_sweep.h"

#include <strings.h>

#include "api/trainers/lease_token.h"
#include "api/http/service.h"
#include "api/trainers/trainers_int.h"
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

/* Sends a message of the trainer. The "@" in `format` stands for the epoch. */
static int tell(struct trainee *t, const char *method, const char *format, const char *body)
{
    char rest[200];
    const char *at = strstr(format, "@");
    (void)snprintf(rest, sizeof rest, "%.*s%lld%s", (int)(at - format), format, (long long)t->epoch, at + 1);
    if (strcmp(method, "PUT") == 0)
        header(t->f, "Content-Type", "application/octet-stream");
    return say(t, method, rest, body);
}

static void register_trainer(struct trainee *t)
{
    assert_int_equal(say(t, "POST", "/run", NULL), 200);
    t->epoch = (int64_t)number_at(t->f, "/epoch");
}

static int setup(void **state)
{
    static struct trainee t;
    if (api_setup(state) != 0)
        return -1;
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
    assert_int_equal(storage_metric_read(t->f->storage, t->id, &query, &arena, &series, &count, &t->f->err), STATUS_OK);
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

static void only_the_token_of_the_lease_opens_the_routes(void **state)
{
    struct trainee *t = *state, other = {.f = t->f};
    char stranger[80];
    trained_job(t->f, other.id);
    grant(&other);
    (void)snprintf(stranger, sizeof stranger, "Bearer %s%043d", LEASE_TOKEN_PREFIX, 7);
    const char *const wrong[] = {NULL, "", "Bearer ", stranger, other.bearer, "Basic eDp5"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            if (wrong[i] != NULL)
                header(t->f, "Authorization", wrong[i]);
            if (strcmp(words[w][0], "PUT") == 0)
                header(t->f, "Content-Type", "application/octet-stream");
            t->f->scope = API_SCOPE_ADMIN; /* these routes do not accept a token with the scope admin */
            (void)ask(t->f, words[w][0], path_of(t->id, words[w][1]), strcmp(words[w][0], "GET") == 0 ? NULL : "{}");
            assert_problem(t->f, 401, "unauthorised");
        }
    }
    /* The trainer's token opens no other route, even when the daemon requires no tokens. */
    const char *const others[][2] = {{"GET", ""}, {"POST", "/cancel"}, {"DELETE", ""}, {"GET", "/checkpoints"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(say(t, others[i][0], others[i][1], NULL), 401);
    register_trainer(t);
    assert_int_equal(storage_job_leave(t->f->storage, t->id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &t->f->err),
                     STATUS_OK);
    assert_int_equal(say(t, "POST", "/run", NULL), 401); /* refused, because the run has ended */
    assert_int_equal(tell(t, "GET", "/run/checkpoints?epoch=@", NULL), 401);
}

static void repeated_messages_change_nothing(void **state)
{
    struct trainee *t = *state;
    const char *report = "{\"sequence\":1,\"series\":{\"loss\":[[110,0.5],[120,null],[130,\"inf\"]]},\"progress\":\"{"
                         "\\\"step\\\":7}\",\"steps\":3}";
    register_trainer(t);
    assert_string_equal(text_at(t->f, "/kind"), "echo");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", report), 200);
        assert_true(null_at(t->f, "/requested_state"));
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
        {"/series", "{\"sequence\":3,\"series\":{\"a-name-that-is-longer-than-a-name-may-be-is-refused-with-all-of-"
                    "the-report\":[]}}"},
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
    assert_int_equal(points_of(t, "loss"), 4); /* the refused report has stored no point */
    t->f->log[0] = '\0';                       /* only the first of the lines below has a valid level and a text; the
                                                * others are dropped */
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@",
                          "{\"sequence\":3,\"progress\":null,\"series\":{\"low\":[[5,\"-inf\"]]},"
                          "\"lines\":[[\"warn\",\"mind\"],[\"odd\",\"x\"],[7,\"x\"],[\"info\",7],[\"info\"]]}"),
                     200);
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
    assert_string_equal(text_at(t->f, "/requested_state"), "paused");

    /* When a second trainer registers with the same token, messages of the first trainer are refused, and the points
     * after its last checkpoint are deleted. */
    struct trainee before = *t;
    register_trainer(t);
    assert_true(t->epoch > before.epoch);
    assert_int_equal(tell(&before, "POST", "/run/reports?epoch=@", "{\"sequence\":5}"), 409);
    assert_int_equal(tell(&before, "POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}"), 409);
    assert_int_equal(points_of(t, "loss"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"succeeded\",\"document\":\"{\\\"a\\\":1}\"}"),
                         204);
    }
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":9}"), 409);
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"lost\"}"), 422);
    static const char *const ends[] = {"{}",
                                       "{\"end\":7}",
                                       "{\"end\":\"succeeded\"}",
                                       "{\"end\":\"failed\",\"document\":7}",
                                       "{\"end\":\"yielded\",\"document\":\"{}\"}",
                                       "{\"end\":\"succeeded\",\"document\":\"{\"}"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        assert_int_equal(tell(t, "POST", "/run/end?epoch=@", ends[i]), 422);
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"failed\",\"document\":\"{\"}"), 422);
    assert_int_equal(say(t, "POST", "/run", NULL), 409);
}

static void checkpoint_arrives_in_pieces(void **state)
{
    struct trainee *t = *state;
    char meta[300], other[300];
    size_t before = stored_checkpoints(t);
    register_trainer(t);
    static const char sum[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const odd[] = {"{}",
                                      "{\"step\":1}",
                                      "{\"step\":1,\"samples\":1}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":1}",
                                      "{\"step\":-1,\"samples\":1,\"bytes\":1,\"sha256\":\"%s\"}",
                                      "{\"step\":1.5,\"samples\":1,\"bytes\":1,\"sha256\":\"%s\"}",
                                      "{\"step\":1,\"samples\":1e300,\"bytes\":1,\"sha256\":\"%s\"}",
                                      "{\"step\":1,\"samples\":\"1\",\"bytes\":1,\"sha256\":\"%s\"}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":0,\"sha256\":\"%s\"}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":1e15,\"sha256\":\"%s\"}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":7}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":\"abc\"}",
                                      "{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":\"x%s\"}",
                                      ("{\"step\":1,\"samples\":1,\"bytes\":1,\"sha256\":"
                                       "\"zz23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}")};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        const char *place = strstr(odd[i], "%s");
        size_t head = place != NULL ? (size_t)(place - odd[i]) : strlen(odd[i]);
        (void)snprintf(meta, sizeof meta, "%.*s%s%s", (int)head, odd[i], place != NULL ? sum : "",
                       place != NULL ? place + 2 : "");
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 422);
    }
    announcement(meta, 50, "twelve bytes");
    announcement(other, 50, "other bytes!");
    /* refused, because the trainer has not announced a checkpoint */
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 404);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200);
    assert_int_equal(number_at(t->f, "/received"), 6);
    /* sends the first piece again, like a trainer that did not receive the response */
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200);
    assert_int_equal(number_at(t->f, "/received"), 6);
    /* announces the same checkpoint again: the upload continues at byte 6 */
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
    assert_int_equal(number_at(t->f, "/received"), 6);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=6", " bytes and more"), 422);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=6", " bytes"), 200);
    int seq = (int)number_at(t->f, "/seq");
    assert_true(seq > 0);
    assert_int_equal(stored_checkpoints(t), before + 1);
    for (int i = 0; i < 2; i++) { /* the checkpoint is stored already, so each announcement returns its number */
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
        assert_int_equal(number_at(t->f, "/seq"), seq);
    }
    char path[64];
    (void)snprintf(path, sizeof path, "/run/checkpoints/%d?epoch=@", seq);
    assert_int_equal(tell(t, "GET", path, NULL), 200);
    assert_int_equal(t->f->body_bytes, 12);
    assert_memory_equal(t->f->body, "twelve bytes", 12);
    assert_int_equal(tell(t, "GET", "/run/checkpoints/99?epoch=@", NULL), 404);
    /* refused, because the job does not start from another job */
    assert_int_equal(tell(t, "GET", "/run/checkpoints?epoch=@&of=source", NULL), 404);

    /* The daemon does not store bytes that differ from the announced ones, and does not continue an upload that an
     * earlier trainer began. */
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", other), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes?"), 422);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes!"), 404);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", other), 200);
    api_trainer_gone(t->f->api, t->id);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "other bytes!"), 404);
    const char *const bad[] = {"{}", "{\"step\":1,\"samples\":1,\"bytes\":0,\"sha256\":\"00\"}",
                               "{\"step\":1.5,\"samples\":1,\"bytes\":9,\"sha256\":\"00\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", bad[i]), 422);
    assert_int_equal(stored_checkpoints(t), before + 1);
    assert_int_equal(tell(t, "PUT", "/run/artifacts/a.txt?epoch=@&type=text/plain", "words"), 204);
    /* refused, because names of artifacts have no capital letters */
    assert_int_equal(tell(t, "PUT", "/run/artifacts/A.txt?epoch=@", "words"), 404);
}

/* ---- responses in unusual states ---------------------------------------------------------------------------- */

static void remake_store(struct trainee *t)
{
    struct api_fixture *f = t->f;
    api_destroy(f->api);
    storage_close(f->storage);
    assert_int_equal(storage_open(&f->storage_options, &f->storage, &f->err), STATUS_OK);
    f->options.storage = f->storage;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
}

/* A client requests a pause or a cancellation, and then the daemon restarts and sets the job to the requested state at
 * once. A trainer on another machine still runs. The answer to its next report contains the requested state, and the
 * daemon refuses a new registration. */
static void report_returns_a_state_requested_before_a_restart(void **state)
{
    static const enum job_event asked[] = {JOB_EVENT_PAUSE, JOB_EVENT_CANCEL};
    static const char *const requested[] = {"paused", "cancelled"};
    struct trainee *t = *state;
    for (int i = 0; i < 2; i++) {
        register_trainer(t);
        assert_int_equal(storage_job_request(t->f->storage, t->id, asked[i], NULL, NULL, &t->f->err), STATUS_OK);
        remake_store(t);
        assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", i == 0 ? "{\"sequence\":1}" : "{\"sequence\":2}"),
                         200);
        assert_string_equal(text_at(t->f, "/requested_state"), requested[i]);
        assert_int_equal(say(t, "POST", "/run", NULL), 503);
        assert_problem(t->f, 503, "unavailable");
        assert_string_equal(answer_header(t->f, "Retry-After"), "1");
        if (i == 0) {
            assert_int_equal(storage_job_request(t->f->storage, t->id, JOB_EVENT_RESUME, NULL, NULL, &t->f->err),
                             STATUS_OK);
            claim_job(t->f, t->id);
        }
    }
}

/* The trainer of an evaluation reads the checkpoints of the source job. */
static void evaluation_reads_checkpoints_of_its_source(void **state)
{
    struct trainee *t = *state, evaluation = {.f = t->f};
    finish_job(t->f, t->id, "{}");
    assert_int_equal(ask(t->f, "POST", path_of(t->id, "/evaluation"), NULL), 201);
    (void)snprintf(evaluation.id, sizeof evaluation.id, "%s", text_at(t->f, "/id"));
    claim_job(t->f, evaluation.id);
    grant(&evaluation);
    register_trainer(&evaluation);
    assert_string_equal(text_at(t->f, "/task"), "evaluate");
    assert_string_equal(text_at(t->f, "/source_job"), t->id);
    assert_int_equal(tell(&evaluation, "GET", "/run/checkpoints?epoch=@", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(t->f, "/checkpoints")), 0);
    assert_int_equal(tell(&evaluation, "GET", "/run/checkpoints?epoch=@&of=job", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(t->f, "/checkpoints")), 0);
    assert_int_equal(tell(&evaluation, "GET", "/run/checkpoints?epoch=@&of=source", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(t->f, "/checkpoints")), 1);
    assert_int_equal(tell(&evaluation, "GET", "/run/checkpoints/latest?epoch=@&of=source", NULL), 200);
    assert_int_equal(tell(&evaluation, "GET", "/run/checkpoints/odd?epoch=@&of=source", NULL), 404);
    assert_non_null(strstr(text_at(t->f, "/detail"), "is named by its sequence number"));
}

static void earlier_epochs_are_refused(void **state)
{
    static const char *const rest[][3] = {
        {"POST", "/run/reports?epoch=@", "{\"sequence\":1,\"series\":{\"loss\":[[1,1]]}}"},
        {"PUT", "/run/artifacts/a.txt?epoch=@", "words"},
        {"GET", "/run/checkpoints?epoch=@", NULL},
        {"GET", "/run/checkpoints/1?epoch=@", NULL},
        {"PUT", "/run/upload?epoch=@&offset=0", "bytes"},
        {"POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}"},
    };
    struct trainee *t = *state;
    char meta[300];
    register_trainer(t);
    t->epoch++;
    announcement(meta, 50, "bytes");
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 409);
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        assert_int_equal(tell(t, rest[i][0], rest[i][1], rest[i][2]), 409);
        assert_problem(t->f, 409, "conflict");
    }
    assert_int_equal(points_of(t, "loss"), 0);
    assert_int_equal(stored_checkpoints(t), 1);
    assert_int_equal(ask(t->f, "GET", path_of(t->id, "/artifacts/a.txt"), NULL), 404);

    /* An upload cannot continue in another epoch, or after the end of the run. */
    t->epoch--;
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "by"), 200);
    assert_int_equal(storage_lease_register(t->f->storage, t->id, &t->epoch, &t->f->err), STATUS_OK);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=2", "tes"), 404);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
    assert_int_equal(number_at(t->f, "/received"), 0);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "by"), 200);
    assert_int_equal(storage_lease_end(t->f->storage, t->id, t->epoch, JOB_EVENT_YIELD, NULL, NULL, &t->f->err),
                     STATUS_OK);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=2", "tes"), 404);
    assert_int_equal(stored_checkpoints(t), 1);
}

/* Jobs that share a lock have separate uploads. Of several announcements of one job, only the last counts. */
static void uploads_of_jobs_stay_apart(void **state)
{
    struct trainee *t = *state, other = {.f = t->f};
    char meta[2][300];
    do {
        trained_job(t->f, other.id);
    } while (trainer_stripe_of(t->f->api->trainers, other.id) != trainer_stripe_of(t->f->api->trainers, t->id));
    grant(&other);
    register_trainer(t);
    register_trainer(&other);
    announcement(meta[0], 50, "twelve bytes");
    announcement(meta[1], 50, "twelve notes"); /* other bytes at the same step */
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta[0]), 200);
    assert_int_equal(tell(&other, "POST", "/run/checkpoints?epoch=@", meta[1]), 200);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200);
    assert_int_equal(tell(&other, "PUT", "/run/upload?epoch=@&offset=0", "twelve notes"), 200);
    assert_true(number_at(t->f, "/seq") > 0);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=6", " bytes"), 200);
    assert_true(number_at(t->f, "/seq") > 0);
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta[1]), 200);
    /* 0, because the announced bytes differ from those of the stored checkpoint */
    assert_int_equal(number_at(t->f, "/seq"), 0);
    assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve"), 200);
    announcement(meta[0], 50, "twelve words");
    assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta[0]), 200);
    assert_int_equal(number_at(t->f, "/received"), 0);
    assert_int_equal(stored_checkpoints(t), 2);
    assert_int_equal(stored_checkpoints(&other), 2);
}

/* Documents and lines of the log that exceed their limits are refused. */
static void documents_beyond_limits_are_refused(void **state)
{
    enum { DOCUMENT = 8 << 20, LINES = 40 };
    struct trainee *t = *state;
    char *body = malloc(DOCUMENT + 100);
    assert_non_null(body);
    register_trainer(t);
    int head = snprintf(body, 100, "{\"end\":\"succeeded\",\"document\":\"[");
    memset(body + head, ' ', DOCUMENT);
    (void)snprintf(body + head + DOCUMENT, 10, "]\"}");
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", body), 422);
    (void)snprintf(body, 100, "{\"sequence\":1,\"series\":{\"loss\":[[1,{}]]}}");
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", body), 422);
    size_t used = (size_t)snprintf(body, 100, "{\"sequence\":1,\"lines\":[[\"info\",\"a line\"]");
    for (int i = 1; i < LINES; i++)
        used += (size_t)snprintf(body + used, 100, ",[\"info\",\"a line\"]");
    (void)snprintf(body + used, 10, "]}");
    t->f->log[0] = '\0';
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", body), 200);
    int lines = 0;
    for (const char *at = t->f->log; (at = strstr(at, ": a line")) != NULL; at++)
        lines++;
    assert_int_equal(lines, 32);
    free(body);
}

/* A member that the daemon does not read is a mistake of the trainer, so the whole message is refused. */
static void unknown_members_of_messages_are_refused(void **state)
{
    static const char *const messages[][2] = {
        {"/run/reports?epoch=@", "{\"sequence\":1,\"progres\":\"{}\"}"},
        {"/run/end?epoch=@", "{\"end\":\"yielded\",\"progres\":1}"},
        {"/run/checkpoints?epoch=@", "{\"step\":1,\"samples\":1,\"bytes\":1,\"progres\":0.5}"},
    };
    struct trainee *t = *state;
    register_trainer(t);
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        assert_int_equal(tell(t, "POST", messages[i][0], messages[i][1]), 422);
        assert_string_equal(text_at(t->f, "/errors/0/pointer"), "/progres");
    }
    /* the refused messages have changed nothing: the lease is held, and the number of the report is still free */
    assert_int_equal(tell(t, "POST", "/run/reports?epoch=@", "{\"sequence\":1,\"progress\":\"{\\\"step\\\":7}\"}"),
                     200);
    assert_int_equal(tell(t, "POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}"), 204);
}

/* ---- faults ------------------------------------------------------------------------------------------------- */

/* Sends a request while an allocation or call fails, and reads the response meanwhile. "@" stands for the epoch. */
static struct answer attempt(struct trainee *t, const char *method, const char *rest, const char *body,
                             const struct sweep_fault *fault, int place, bool forever)
{
    char target[200], epoch[24];
    struct sweep with = {.f = t->f, .fault = fault};
    (void)snprintf(epoch, sizeof epoch, "%lld", (long long)t->epoch);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s%s", t->id, rest);
    const char *type = strcmp(method, "PUT") == 0 ? "application/octet-stream" : "application/json";
    const struct request_case c = {.method = method,
                                   .target = target,
                                   .body = body,
                                   .header = {"Authorization", body != NULL ? "Content-Type" : NULL},
                                   .header_value = {t->bearer, type}};
    return sweep_ask(&with, &c, epoch, place, forever);
}

/* Replaces each "@" in the body by `number`, so that every attempt sends another body. */
static const char *numbered(char out[400], const char *body, int number)
{
    size_t used = 0;
    if (body == NULL)
        return NULL;
    for (const char *c = body; *c != '\0'; c++) {
        used += (size_t)(*c == '@' ? snprintf(out + used, 400 - used, "%d", number)
                                   : snprintf(out + used, 400 - used, "%c", *c));
    }
    return out;
}

static const struct {
    int fault;
    bool forever;
    int stride;
} manners[] = {{0, false, 3}, {1, false, 1}, {1, true, 1}, {2, false, 1}, {2, true, 1}};

/* Sends the request again and again, for each kind of fault in `manners`. In each attempt a later allocation or call
 * fails. Ends when the request completes before it reaches that place. "@" in the body becomes a new number in each
 * attempt. If the answer is not `wanted`, sends the same body without a fault; that answer must be `wanted`. Returns
 * the number of different bodies. */
static int sweep(struct trainee *t, const char *method, const char *rest, const char *body, int wanted)
{
    static int number = 1000;
    int first = number;
    for (size_t m = 0; m < sizeof manners / sizeof manners[0]; m++) {
        const struct sweep_fault *fault = &sweep_faults[manners[m].fault];
        int stride = fault_stride(manners[m].stride);
        bool failed = true;
        for (int place = 0; failed; place += stride) {
            char text[400];
            const char *sent = numbered(text, body, ++number);
            struct answer a = attempt(t, method, rest, sent, fault, place, manners[m].forever), again;
            failed = a.failed;
            if (a.status != wanted && (!failed || a.status < 500)) {
                complain("%s %s, %s %s %d: %d %.*s", method, rest, fault->name, sweep_mode(manners[m].forever), place,
                         a.status, (int)a.count, a.bytes);
            }
            if (a.status != wanted) {
                again = attempt(t, method, rest, sent, fault, -1, false);
                if (again.status != wanted) {
                    complain("%s %s again after %s %s %d: %d %.*s", method, rest, fault->name,
                             sweep_mode(manners[m].forever), place, again.status, (int)again.count, again.bytes);
                }
                free(again.bytes);
            }
            free(a.bytes);
            assert_true(place < 100000);
        }
    }
    return number - first;
}

/* For each checkpoint: announces it, uploads it in one piece while an allocation or call fails, and announces it again.
 * If the daemon has not stored it by then, uploads it once more. Returns the number of checkpoints. */
static int sweep_pieces(struct trainee *t)
{
    char meta[300];
    int pieces = 0;
    for (size_t m = 0; m < sizeof manners / sizeof manners[0]; m++) {
        const struct sweep_fault *fault = &sweep_faults[manners[m].fault];
        bool failed = true;
        for (int place = 0; failed; place += fault_stride(manners[m].stride)) {
            announcement(meta, 5000 + pieces++, "twelve bytes");
            assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
            struct answer a =
                attempt(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve bytes", fault, place, manners[m].forever);
            failed = a.failed;
            if (a.status != 200 && (!failed || a.status < 500)) {
                complain("a piece, %s %s %d: %d %.*s", fault->name, sweep_mode(manners[m].forever), place, a.status,
                         (int)a.count, a.bytes);
            }
            free(a.bytes);
            assert_int_equal(tell(t, "POST", "/run/checkpoints?epoch=@", meta), 200);
            if (number_at(t->f, "/seq") < 1) {
                assert_true(a.status != 200);
                assert_int_equal(tell(t, "PUT", "/run/upload?epoch=@&offset=0", "twelve bytes"), 200);
                assert_true(number_at(t->f, "/seq") >= 1);
            }
        }
    }
    return pieces;
}

static void count_lost(void *context, enum log_level level, const char *text)
{
    atomic_fetch_add((atomic_int *)context, level >= LOG_LEVEL_WARN && strstr(text, "lazy write") != NULL);
}

static void repeated_message_recovers_from_every_fault(void **state)
{
    struct trainee *t = *state;
    atomic_int lost = 0;
    static const char announced[] = "{\"step\":@,\"samples\":@,\"bytes\":12,\"sha256\":"
                                    "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}";
    complaints = 0;
    t->f->storage_options.log = (struct log_hook){&lost, count_lost};
    remake_store(t);
    claim_job(t->f, t->id);
    register_trainer(t);
    int counted =
        sweep(t, "POST", "/run/reports?epoch=@",
              "{\"sequence\":@,\"series\":{\"loss\":[[@,0.5]]},\"progress\":\"{}\",\"lines\":[[\"info\",\"a\"]]}", 200);
    /* the daemon stores points after the response, so a failure then appears only in the log */
    int64_t points = points_of(t, "loss");
    assert_true(points <= counted && points >= counted - atomic_load(&lost));
    sweep(t, "PUT", "/run/artifacts/a.txt?epoch=@", "words", 204);
    sweep(t, "GET", "/run/checkpoints?epoch=@", NULL, 200);
    sweep(t, "GET", "/run/checkpoints/1?epoch=@", NULL, 200);
    sweep(t, "POST", "/run/checkpoints?epoch=@", announced, 200);
    assert_int_equal(stored_checkpoints(t), 1);
    int last = 4999 + sweep_pieces(t);
    /* the last checkpoint of the sweep has replaced the earlier ones */
    assert_int_equal(tell(t, "GET", "/run/checkpoints?epoch=@", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(t->f, "/checkpoints")), 2);
    assert_int_equal(number_at(t->f, "/checkpoints/1/step"), last);
    sweep(t, "POST", "/run?epoch=@", NULL, 400); /* refused, because this route has no parameter `epoch` */
    sweep(t, "POST", "/run", NULL, 200);
    register_trainer(t);
    sweep(t, "POST", "/run/end?epoch=@", "{\"end\":\"yielded\"}", 204);
    t->f->storage_options.log = (struct log_hook){NULL, NULL};
    remake_store(t);
    assert_int_equal(complaints, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_token_of_the_lease_opens_the_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(repeated_messages_change_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(checkpoint_arrives_in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(report_returns_a_state_requested_before_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(evaluation_reads_checkpoints_of_its_source, setup, teardown),
        cmocka_unit_test_setup_teardown(earlier_epochs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(uploads_of_jobs_stay_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(documents_beyond_limits_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_members_of_messages_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(repeated_message_recovers_from_every_fault, setup, teardown),
    };
    fault_libraries();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_trainers", tests, NULL, NULL);
}
