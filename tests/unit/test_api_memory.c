/* Every allocation of every route fails once, then from it on all of them: those of the program, of cJSON and of SQLite, in the thread
 * of the request, in the writer's and in the parser's. A response goes out all the same: a problem of the kind that says so, or the right
 * answer; what is stored is as it was or as it should become; asked again, the request succeeds; nothing leaks (the sanitizer build sees
 * that). The sweep of a route ends where it passes without a failure.
 *
 * MOTIF_FAULT_STRIDE=1 walks every place. */
#include "tests/unit/api_fixture.h"

#include <dirent.h>
#include <sqlite3.h>
#include <strings.h>

#include "api/route.h"
#include "core/kernels/blas.h"
#include "core/kernels/kernels.h"
#include "tests/support/fault.h"
#include "tests/support/run_host.h"

#define TRACE 400

enum subject { NONE, QUEUED, RUNNING, PAUSED, FINISHED, TRAINED, SET, USED_SET };

struct request_case {
    const char *method, *target; /* "@" stands for the id of the subject, or its name */
    const char *body;            /* "#weights", "#bundle": those bytes */
    int status;
    enum subject subject;
    const char *header[2], *header_value[2];
    bool same; /* the answer has the same bytes each time */
};

static const char job_body[] = "{\"kind\":\"echo\",\"name\":\"one\",\"config\":{\"density\":0.1}}";
static const char input[] = "{\"inputs\":[{\"sample\":{\"seed\":1}}]}";
static const char csv[] = "a,b,label\n1,2,x\n3,4,y\n5,6,x\n";

static const struct request_case writes[] = {
    {"POST", "/v1/jobs", job_body, 201, NONE, {"Idempotency-Key"}, {"@"}, false},
    {"PATCH", "/v1/jobs/@", "{\"name\":\"two\",\"priority\":5}", 200, QUEUED, {"Content-Type"}, {"application/merge-patch+json"}, false},
    {"POST", "/v1/jobs/@/cancel", NULL, 202, RUNNING, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/cancel", NULL, 202, QUEUED, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/pause", NULL, 202, RUNNING, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/resume", NULL, 202, PAUSED, {NULL}, {NULL}, false},
    {"DELETE", "/v1/jobs/@", NULL, 204, FINISHED, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/evaluation", "{\"samples\":10}", 201, TRAINED, {"Idempotency-Key"}, {"e@"}, false},
    {"POST", "/v1/imports", "#weights", 201, NONE, {"Content-Type"}, {"application/octet-stream"}, false},
    {"POST", "/v1/imports", "#bundle", 201, NONE, {"Content-Type"}, {"application/octet-stream"}, false},
    {"PUT", "/v1/datasets/new", csv, 201, NONE, {"Content-Type"}, {"text/csv"}, false},
    {"PUT", "/v1/datasets/@", csv, 200, SET, {"Content-Type"}, {"text/csv"}, false},
    {"DELETE", "/v1/datasets/@", NULL, 204, SET, {NULL}, {NULL}, false},
    {"DELETE", "/v1/datasets/@", NULL, 409, USED_SET, {NULL}, {NULL}, false},
};

/* The subject of all of these is one job with everything there is. */
static const struct request_case reads[] = {
    {"POST", "/v1/jobs?dry_run=1", job_body, 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"density\":7}}", 422, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/jobs?limit=5", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/metrics?max_points=9", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/checkpoints", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/checkpoints/1", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/artifacts", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/artifacts/a.png", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/evaluation", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/attestation", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/bundle", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/events", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/events", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/jobs/@/motifs", "{\"inputs\":[{\"array\":[[1,2],[3,4]]},{\"sample\":{\"seed\":1}}]}", 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/jobs/@/motifs", input, 200, NONE, {"Accept"}, {"image/png"}, true},
    {"POST", "/v1/jobs/@/predict", "{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"application/x-npy\"}]}", 422, NONE, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/interventions", "{\"inputs\":[{\"sample\":{\"seed\":1}}],\"edits\":[{\"channel\":0,\"remove\":true}]}", 404, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/datasets", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/kept", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/kept/preview", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/uploads/0000000000000000000000000000000000000000000000000000000000000000", NULL, 404, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/kinds", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/kinds/echo", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/system", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/audit?limit=3", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/healthz", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/readyz", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/metrics", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/openapi.json", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/assets/none.js", NULL, 404, NONE, {NULL}, {NULL}, false},
    {"GET", "/none", NULL, 404, NONE, {NULL}, {NULL}, false},
};

/* ---- what is stored ------------------------------------------------------------------------------------------- */

enum { COUNTS = 8 };
struct stored {
    char subject[200];
    int64_t count[COUNTS];
};

static void count_folders(const char *path, int64_t *count)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    *count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        *count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
}

static struct stored look(struct api_fixture *f, const char *id)
{
    struct stored out = {.count = {0}};
    sqlite3 *db;
    sqlite3_stmt *stmt;
    char sql[1000];
    assert_int_equal(storage_flush(f->storage, &f->err), STATUS_OK);
    (void)snprintf(sql, sizeof sql,
                   "SELECT (SELECT state || ' ' || wish || ' ' || priority || ' ' || name FROM job WHERE id = '%s'),"
                   " (SELECT count(*) FROM job), (SELECT count(*) FROM idempotency), (SELECT count(*) FROM checkpoint WHERE complete),"
                   " (SELECT count(*) FROM chain), (SELECT count(*) FROM artifact), (SELECT count(*) FROM series WHERE job > 0),"
                   " (SELECT count(*) FROM pragma_foreign_key_check)", id);
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    (void)snprintf(out.subject, sizeof out.subject, "%s", text != NULL ? text : "none");
    for (int i = 0; i < COUNTS - 1; i++) {
        out.count[i] = sqlite3_column_int64(stmt, i + 1);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    count_folders(f->options.data, &out.count[COUNTS - 1]);
    return out;
}

static struct stored change(const struct stored *before, const struct stored *after)
{
    struct stored out = *after;
    for (int i = 0; i < COUNTS; i++) {
        out.count[i] -= before->count[i];
    }
    return out;
}

static bool equal(const struct stored *a, const struct stored *b)
{
    return strcmp(a->subject, b->subject) == 0 && memcmp(a->count, b->count, sizeof a->count) == 0;
}

/* ---- subjects --------------------------------------------------------------------------------------------------- */

struct bench {
    struct api_fixture *f;
    char job[STORAGE_ID], data[96]; /* a job with everything, the folder of data sets */
    char *weights, *bundle;
    size_t weights_bytes, bundle_bytes;
    int made;
};

static void plain_job(struct api_fixture *f, const char *config, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = "echo", .name = "plain", .config = config};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_job_submit(f->storage, &in, id, &outcome, &f->err), STATUS_OK);
}

static void end_job(struct api_fixture *f, const char *id)
{
    enum job_state state;
    enum job_wish wish;
    (void)storage_job_request(f->storage, id, JOB_EVENT_CANCEL, &state, &wish, &f->err);
    if (wish == JOB_WISH_CANCEL) {
        assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err), STATUS_OK);
    }
}

static void make_set(struct bench *b, const char *name)
{
    char target[96];
    (void)snprintf(target, sizeof target, "/v1/datasets/%s", name);
    header(b->f, "Content-Type", "text/csv");
    assert_int_equal(ask(b->f, "PUT", target, csv), 201);
}

static void prepare(struct bench *b, enum subject subject, char id[STORAGE_ID])
{
    struct api_fixture *f = b->f;
    (void)snprintf(id, STORAGE_ID, "s%d", b->made++);
    if (subject == SET || subject == USED_SET) {
        char config[64], user[STORAGE_ID];
        make_set(b, id);
        (void)snprintf(config, sizeof config, "{\"label\":\"%s\"}", id);
        if (subject == USED_SET) {
            plain_job(f, config, user);
        }
    } else if (subject != NONE) {
        plain_job(f, "{}", id);
        if (subject == PAUSED) {
            assert_int_equal(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, NULL, NULL, &f->err), STATUS_OK);
        } else if (subject != QUEUED) {
            claim_job(f, id);
        }
        if (subject == TRAINED || subject == FINISHED) {
            (void)add_checkpoint(f, id, 10, 0.5, 1);
            struct storage_metric metric = {"loss", {10, 0.5}};
            assert_int_equal(storage_metric_append(f->storage, id, &metric, 1, &f->err), STATUS_OK);
            finish_job(f, id, "{}");
        }
    }
}

/* Nothing of a case is queued when the next one claims. */
static void clear(struct bench *b)
{
    char id[STORAGE_ID];
    while (storage_job_claim(b->f->storage, id, &b->f->err) == STATUS_OK) {
        end_job(b->f, id);
    }
}

/* ---- one request -------------------------------------------------------------------------------------------------- */

struct asked {
    const struct request_case *c;
    const char *id;
    char values[2][64];
};

static const char *header_of(void *context, const char *name)
{
    const struct asked *a = context;
    for (int i = 0; i < 2; i++) {
        if (a->c->header[i] != NULL && strcasecmp(a->c->header[i], name) == 0) {
            return a->values[i];
        }
    }
    return strcasecmp(name, "Content-Type") == 0 && a->c->body != NULL ? "application/json" : NULL;
}

static void fill(char *out, size_t room, const char *pattern, const char *id)
{
    const char *place = strchr(pattern, '@');
    if (place == NULL) {
        (void)snprintf(out, room, "%s", pattern);
    } else {
        (void)snprintf(out, room, "%.*s%s%s", (int)(place - pattern), pattern, id, place + 1);
    }
}

/* Every fault of a sweep is shown, not the first alone. */
static int complaints;
#define complain(...) (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0, complaints < 41 ? print_error("\n") : (void)0)

struct answer {
    int status;
    bool failed; /* an allocation has */
    char *bytes;
    size_t count;
};

/* The bytes of the answer are read while allocations still fail, as a connection would. */
static void take_body(struct api_response *r, struct answer *out, char *room)
{
    if (r->read == NULL) {
        out->count = r->body.size;
        memcpy(room, r->body.data != NULL ? r->body.data : "", out->count);
        return;
    }
    while (out->count < r->read_bytes) {
        size_t got = r->read(r->read_context, out->count, room + out->count, (size_t)r->read_bytes - out->count);
        if (got == 0) { /* the connection is broken off: no answer */
            out->status = 599;
            return;
        }
        out->count += got;
    }
}

static struct answer attempt(struct bench *b, const struct request_case *c, const char *id, int place, bool forever)
{
    enum { ROOM = 4 << 20 };
    struct asked asked = {.c = c, .id = id};
    char target[200];
    struct answer out = {.bytes = malloc(ROOM)};
    const char *body = c->body;
    size_t bytes = body != NULL ? strlen(body) : 0;
    assert_non_null(out.bytes);
    if (body != NULL && strcmp(body, "#weights") == 0) {
        body = b->weights;
        bytes = b->weights_bytes;
    } else if (body != NULL && strcmp(body, "#bundle") == 0) {
        body = b->bundle;
        bytes = b->bundle_bytes;
    }
    fill(target, sizeof target, c->target, id);
    for (int i = 0; i < 2; i++) {
        fill(asked.values[i], sizeof asked.values[i], c->header_value[i] != NULL ? c->header_value[i] : "", id);
    }
    struct api_request request = {.method = c->method, .target = target, .header = header_of, .header_context = &asked,
                                  .body = body, .body_bytes = bytes, .scope = API_SCOPE_ADMIN};
    struct api_response response;
    if (place >= 0) {
        (forever ? fault_from : fault_after)(place);
    }
    api_handle(b->f->api, &request, &response);
    out.status = response.status;
    take_body(&response, &out, out.bytes);
    out.failed = fault_happened();
    if (api_response_header(&response, "X-Request-Id") == NULL && !out.failed) {
        complain("%s %s: no id", c->method, target);
    }
    const char *type = api_response_header(&response, "Content-Type");
    if (type != NULL && strstr(type, "json") != NULL && out.count > 0) {
        cJSON *json;
        struct error err = {0};
        if (json_parse(out.bytes, out.count, &json, &err) != STATUS_OK) {
            complain("%s %s, allocation %d: %d, not JSON: %.*s", c->method, target, place, out.status, (int)out.count, out.bytes);
        }
        const cJSON *status = cJSON_GetObjectItem(json, "status");
        if (strstr(type, "problem") != NULL && (!cJSON_IsNumber(status) || status->valueint != out.status)) {
            complain("%s %s, allocation %d: a problem that is none: %.*s", c->method, target, place, (int)out.count, out.bytes);
        }
        cJSON_Delete(json);
    }
    api_response_close(&response);
    return out;
}

static const char *mode(bool forever) { return forever ? "from" : "at"; }

/* ---- the sweeps ------------------------------------------------------------------------------------------------- */

static int sweep_read(struct bench *b, const struct request_case *c, bool forever, int stride)
{
    struct answer right = attempt(b, c, b->job, -1, false);
    int place = 0, walked = 0;
    if (right.status != c->status) {
        complain("%s %s: %d %.*s", c->method, c->target, right.status, (int)right.count, right.bytes);
    }
    for (bool failed = true; failed; place += stride) {
        struct answer a = attempt(b, c, b->job, place, forever);
        failed = a.failed;
        walked += failed;
        if (a.status != c->status && (!failed || a.status < 500)) {
            complain("%s %s, allocations %s %d: %d %.*s", c->method, c->target, mode(forever), place, a.status,
                     (int)(a.count < TRACE ? a.count : TRACE), a.bytes);
        }
        if (c->same && a.status == c->status && (a.count != right.count || memcmp(a.bytes, right.bytes, a.count) != 0)) {
            complain("%s %s, allocations %s %d: another answer\n%.*s\n%.*s", c->method, c->target, mode(forever), place,
                     (int)(a.count < TRACE ? a.count : TRACE), a.bytes, (int)(right.count < TRACE ? right.count : TRACE), right.bytes);
        }
        free(a.bytes);
        assert_true(place < 200000);
    }
    free(right.bytes);
    return walked;
}

/* A set that the last try left is not in the way of the next. */
static void forget_set(struct bench *b)
{
    int status = ask(b->f, "DELETE", "/v1/datasets/new", NULL);
    assert_true(status == 204 || status == 404);
}

static int sweep_write(struct bench *b, const struct request_case *c, bool forever, int stride)
{
    char id[STORAGE_ID];
    int place = -1, walked = 0;
    struct stored whole = {.count = {0}};
    for (bool failed = true; failed; place = place < 0 ? 0 : place + stride) {
        prepare(b, c->subject, id);
        const struct stored before = look(b->f, id);
        struct answer a = attempt(b, c, id, place, forever);
        struct stored after = look(b->f, id), changed = change(&before, &after), none = change(&before, &before);
        failed = place < 0 || a.failed;
        walked += failed;
        if (place < 0) {
            whole = changed;
        }
        if (a.status != c->status && (!a.failed || a.status < 500)) {
            complain("%s %s, allocations %s %d: %d %.*s", c->method, c->target, mode(forever), place, a.status, (int)a.count, a.bytes);
        }
        bool done = equal(&changed, &whole);
        if (!done && (a.status == c->status || !equal(&changed, &none))) {
            complain("%s %s, allocations %s %d: %d, and neither done nor not: '%s' of '%s', jobs %+d keys %+d checkpoints %+d links %+d "
                     "artifacts %+d series %+d broken %+d sets %+d", c->method, c->target, mode(forever), place, a.status, changed.subject,
                     whole.subject, (int)changed.count[0], (int)changed.count[1], (int)changed.count[2], (int)changed.count[3],
                     (int)changed.count[4], (int)changed.count[5], (int)changed.count[6], (int)changed.count[7]);
        }
        free(a.bytes);
        if (!done || c->header[0] == NULL || strcmp(c->header[0], "Idempotency-Key") == 0) { /* safe to repeat, or needed */
            a = attempt(b, c, id, -1, false);
            bool gone = done && (a.status == 404 || a.status == 409);
            if (a.status != c->status && a.status != 200 && !gone) {
                complain("%s %s again after %s %d: %d %.*s", c->method, c->target, mode(forever), place, a.status, (int)a.count, a.bytes);
            }
            after = look(b->f, id);
            changed = change(&before, &after);
            if (!equal(&changed, &whole)) {
                complain("%s %s again after %s %d: '%s' of '%s'", c->method, c->target, mode(forever), place, changed.subject,
                         whole.subject);
            }
            free(a.bytes);
        }
        clear(b);
        if (strcmp(c->method, "PUT") == 0) {
            forget_set(b);
        }
        assert_true(place < 200000);
    }
    return walked;
}

static char *keep_body(struct api_fixture *f, const char *target, size_t *bytes)
{
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    char *copy = malloc(f->body_bytes);
    memcpy(copy, f->body, f->body_bytes);
    *bytes = f->body_bytes;
    return copy;
}

static const struct method *named[1];

/* The method of the tests, but that its label names a data set. */
static struct method echo_with_set(void)
{
    static const char *const fields[] = {"label", NULL};
    struct method m = echo_method;
    m.dataset_fields = fields;
    return m;
}

static int setup(void **state)
{
    static struct method method;
    static struct bench bench;
    if (api_setup(state) != 0) {
        return -1;
    }
    struct api_fixture *f = *state;
    bench = (struct bench){.f = f};
    method = echo_with_set();
    named[0] = &method;
    (void)snprintf(bench.data, sizeof bench.data, "/tmp/motifd-sets-XXXXXX");
    assert_non_null(mkdtemp(bench.data));
    api_destroy(f->api);
    f->options.methods = named;
    f->options.data = bench.data;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    *state = &bench;
    trained_job(f, bench.job);
    for (int i = 0; i < 40; i++) {
        struct storage_metric metrics[] = {{"loss", {i, 1.0 / (1 + i)}}, {"density", {i, 0.5}}};
        assert_int_equal(storage_metric_append(f->storage, bench.job, metrics, 2, &f->err), STATUS_OK);
    }
    assert_int_equal(storage_job_progress(f->storage, bench.job, "{\"step\":10,\"stage\":\"training\"}", &f->err), STATUS_OK);
    assert_int_equal(storage_artifact_put(f->storage, bench.job, "a.png", "image/png", "abc", 3, &f->err), STATUS_OK);
    finish_job(f, bench.job, "{\"accuracy\":1}");
    make_set(&bench, "kept");
    bench.weights = keep_body(f, path_of(bench.job, "/checkpoints/latest"), &bench.weights_bytes);
    bench.bundle = keep_body(f, path_of(bench.job, "/bundle"), &bench.bundle_bytes);
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    char command[160];
    free(b->weights);
    free(b->bundle);
    (void)snprintf(command, sizeof command, "rm -r '%s'", b->data);
    void *fixture = b->f;
    int status = api_teardown(&fixture);
    return system(command) == 0 ? status : -1;
}

static void test_reads(void **state)
{
    complaints = 0;
    int stride = fault_stride(1);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        for (int forever = 0; forever < 2; forever++) {
            int walked = sweep_read(*state, &reads[i], forever, stride);
            print_message("%-4s %-40.40s %s: %d\n", reads[i].method, reads[i].target, mode(forever), walked);
        }
    }
    assert_int_equal(complaints, 0);
}

static void test_writes(void **state)
{
    complaints = 0;
    int stride = fault_stride(7);
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        for (int forever = 0; forever < 2; forever++) {
            int walked = sweep_write(*state, &writes[i], forever, stride);
            print_message("%-4s %-40.40s %s: %d\n", writes[i].method, writes[i].target, mode(forever), walked);
            assert_true(walked > 1);
        }
    }
    assert_int_equal(complaints, 0);
}

/* Nobody adds a route that is not swept. Those that ask a model of one method are swept with it: test_method_memory; those of
 * trainers in test_api_trainers. */
static void test_every_route_is_here(void **state)
{
    static const char *const elsewhere[] = {"queryCompare", "compareJobs", "surveyChannels", "surveyChannel", "queryPathways",
                                            "recoverPathway", "getOnnx", "beginRun", "reportRun", "putRunArtifact", "listRunCheckpoints",
                                            "getRunCheckpoint", "announceRunCheckpoint", "putRunPiece", "endRun"};
    struct route_match match;
    (void)state;
    for (size_t r = 0; r < api_route_count; r++) {
        bool found = false;
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
            found |= strcmp(elsewhere[i], api_routes[r].name) == 0;
        }
        size_t count = sizeof reads / sizeof reads[0], all = count + sizeof writes / sizeof writes[0];
        for (size_t i = 0; i < all && !found; i++) {
            const struct request_case *c = i < count ? &reads[i] : &writes[i - count];
            char target[200];
            fill(target, sizeof target, c->target, "x");
            route_match(c->method, target, &match);
            found = match.route == &api_routes[r];
        }
        if (!found) {
            fail_msg("%s %s is not swept", api_routes[r].method, api_routes[r].pattern);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_route_is_here),
        cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
