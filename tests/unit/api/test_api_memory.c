/* Every allocation of every route fails, first alone and then together with all later ones. The allocation may be one
 * of the program, of cJSON or of SQLite, in the thread of the request, the writer thread or the parser thread. The
 * following must hold:
 * - The response is correct, or a problem document that reports the failure.
 * - The database is unchanged or contains the complete change.
 * - The repeated request succeeds.
 * - Nothing leaks (the sanitizer build checks this).
 *
 * The test repeats the request of a route, and lets a later allocation fail each time. It ends when the request makes
 * too few allocations to reach the one that would fail. MOTIF_FAULT_STRIDE=1 tries every allocation. */
#include "storage/jobs/answer.h"
#include "tests/unit/api/api_fixture.h"

#include <dirent.h>
#include <sqlite3.h>
#include <strings.h>

#include "api/routes.h"
#include "tests/support/fault.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"
#include "tests/unit/api/api_sweep.h"

enum subject { NONE, QUEUED, RUNNING, PAUSED, FINISHED, TRAINED, SET, STUDY, PAUSED_STUDY, ENDED_STUDY };

static const char job_body[] = "{\"kind\":\"echo\",\"name\":\"one\",\"config\":{\"density\":0.1}}";
static const char study_body[] = "{\"kind\":\"echo\",\"grid\":{\"density\":[0.1,0.2]},\"config\":{\"span\":2}}";
static const char input[] = "{\"inputs\":[{\"sample\":{\"seed\":1}}]}";
static const char csv[] = "a,b,label\n1,2,x\n3,4,y\n5,6,x\n1,3,y\n2,5,x\n4,4,y\n";

static const struct request_case writes[] = {
    {"POST", "/v1/jobs", job_body, 201, NONE, {"Idempotency-Key"}, {"@"}, false},
    {"PATCH",
     "/v1/jobs/@",
     "{\"name\":\"two\",\"priority\":5}",
     200,
     QUEUED,
     {"Content-Type"},
     {"application/merge-patch+json"},
     false},
    {"POST", "/v1/jobs/@/cancel", NULL, 202, RUNNING, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/cancel", NULL, 202, QUEUED, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/pause", NULL, 202, RUNNING, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/resume", NULL, 202, PAUSED, {NULL}, {NULL}, false},
    {"POST", "/v1/studies", study_body, 201, NONE, {"Idempotency-Key"}, {"t@"}, false},
    {"POST", "/v1/studies/@/cancel", NULL, 202, STUDY, {NULL}, {NULL}, false},
    {"POST", "/v1/studies/@/pause", NULL, 202, STUDY, {NULL}, {NULL}, false},
    {"POST", "/v1/studies/@/resume", NULL, 202, PAUSED_STUDY, {NULL}, {NULL}, false},
    {"PATCH", "/v1/studies/@", "{\"visibility\":\"private\"}", 200, STUDY, {NULL}, {NULL}, false},
    {"DELETE", "/v1/studies/@", NULL, 204, ENDED_STUDY, {NULL}, {NULL}, false},
    {"DELETE", "/v1/jobs/@", NULL, 204, FINISHED, {NULL}, {NULL}, false},
    {"POST", "/v1/jobs/@/evaluation", "{\"samples\":10}", 201, TRAINED, {"Idempotency-Key"}, {"e@"}, false},
    {"POST",
     "/v1/jobs/@/review",
     "{\"answers\":[{\"id\":\"1.0.0.0.1\",\"answer\":\"no\",\"box\":[0,1,1,2]}]}",
     200,
     TRAINED,
     {NULL},
     {NULL},
     false},
    {"POST", "/v1/imports", "#weights", 201, NONE, {"Content-Type"}, {"application/octet-stream"}, false},
    {"POST", "/v1/imports", "#bundle", 201, NONE, {"Content-Type"}, {"application/octet-stream"}, false},
    {"PUT", "/v1/policies", "{\"policies\":[{\"kind\":\"*\",\"keep_days\":90}]}", 200, NONE, {NULL}, {NULL}, false},
    {"PUT", "/v1/datasets/new", csv, 201, NONE, {"Content-Type"}, {"text/csv"}, false},
    {"PUT", "/v1/datasets/@", csv, 200, SET, {"Content-Type"}, {"text/csv"}, false},
    {"PATCH", "/v1/datasets/@", "{\"visibility\":\"everyone\"}", 200, SET, {NULL}, {NULL}, false},
    {"DELETE", "/v1/datasets/@", NULL, 204, SET, {NULL}, {NULL}, false},
};

/* Requests that change nothing. If a request reads a job, this job has every kind of content. */
static const struct request_case reads[] = {
    {"POST", "/v1/jobs?dry_run=1", job_body, 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"density\":7}}", 422, NONE, {NULL}, {NULL}, false},
    {"POST", "/v1/studies?dry_run=1", study_body, 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/studies", "{\"kind\":\"echo\",\"grid\":{\"density\":[7]}}", 422, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/studies", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/studies/@", NULL, 200, STUDY, {NULL}, {NULL}, true},
    {"GET", "/v1/studies/@", NULL, 200, STUDY, {"Accept"}, {"text/csv"}, true},
    {"GET", "/v1/studies/swept", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/studies/@/chart?y=loss", NULL, 200, STUDY, {"Accept"}, {"image/svg+xml"}, false},
    {"GET", "/v1/policies", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/policies/dry-run", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/usage", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs?limit=5", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/metrics?max_points=9", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/checkpoints", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/checkpoints/1", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/artifacts", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/artifacts/a.png", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/evaluation", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/attestation", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/report", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/review?count=3", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/review?format=answers", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/review?format=label-studio", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/review?format=coco", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/review?format=raven", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"POST", "/v1/jobs/@/review", "{\"answers\":[{\"id\":\"1\"}]}", 422, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/jobs/@/bundle", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/jobs/@/events", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/events", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"POST",
     "/v1/jobs/@/motifs",
     "{\"inputs\":[{\"array\":[[1,2],[3,4]]},{\"sample\":{\"seed\":1}}]}",
     200,
     NONE,
     {NULL},
     {NULL},
     true},
    {"POST", "/v1/jobs/@/motifs", input, 200, NONE, {"Accept"}, {"image/png"}, true},
    {"POST",
     "/v1/jobs/@/predict",
     "{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"application/x-npy\"}]}",
     422,
     NONE,
     {NULL},
     {NULL},
     false},
    {"POST",
     "/v1/jobs/@/interventions",
     "{\"inputs\":[{\"sample\":{\"seed\":1}}],\"edits\":[{\"channel\":0,\"remove\":true}]}",
     404,
     NONE,
     {NULL},
     {NULL},
     false},
    {"DELETE", "/v1/datasets/kept", NULL, 409, NONE, {NULL}, {NULL}, false}, /* refused, because a job uses this set */
    {"GET", "/v1/datasets", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/kept", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/kept/division", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/kept/preview", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET",
     "/v1/uploads/0000000000000000000000000000000000000000000000000000000000000000",
     NULL,
     404,
     NONE,
     {NULL},
     {NULL},
     false},
    {"GET", "/v1/kinds", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/kinds/echo", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v1/system", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/v1/audit?limit=3", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/healthz", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/readyz", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/metrics", NULL, 200, NONE, {NULL}, {NULL}, false},
    {"GET", "/openapi.json", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/motifd.py", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/assets/none.js", NULL, 404, NONE, {NULL}, {NULL}, false},
    {"GET", "/v2", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v2/health/ready", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v2/health/live", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v2/models/@/versions/1", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v2/models/@/versions/1/ready", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"POST",
     "/v2/models/@/versions/1/infer",
     "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,2,2],\"datatype\":\"BOOL\",\"data\":[true,false,true,true]}],"
     "\"parameters\":{\"binary_data_output\":true}}",
     200,
     NONE,
     {NULL},
     {NULL},
     true},
    {"GET", "/v2/models/@", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"GET", "/v2/models/@/ready", NULL, 200, NONE, {NULL}, {NULL}, true},
    {"POST",
     "/v2/models/@/infer",
     "{\"id\":\"a\",\"inputs\":[{\"name\":\"input\",\"shape\":[2,2,2],\"datatype\":\"UINT32\",\"data\":[1,2,3,4,0,0,0,"
     "5]}]}",
     200,
     NONE,
     {NULL},
     {NULL},
     true},
    {"GET", "/none", NULL, 404, NONE, {NULL}, {NULL}, false},
};

/* ---- what is stored ------------------------------------------------------------------------------------------- */

enum { COUNTS = 9 };
struct stored {
    char subject[200];
    int64_t count[COUNTS];
};

static void count_folders(const char *path, int64_t *count)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    *count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        *count += entry->d_name[0] != '.';
    (void)closedir(folder);
}

static struct stored change(const struct stored *before, const struct stored *after)
{
    struct stored out = *after;
    for (int i = 0; i < COUNTS; i++)
        out.count[i] -= before->count[i];
    return out;
}

static bool equal(const struct stored *a, const struct stored *b)
{
    return strcmp(a->subject, b->subject) == 0 && memcmp(a->count, b->count, sizeof a->count) == 0;
}

/* ---- subjects --------------------------------------------------------------------------------------------------- */

struct bench {
    struct api_fixture *f;
    char job[STORAGE_ID], data[96]; /* job: id of a job with every kind of content; data: folder of the data sets */
    char study[STORAGE_ID];         /* a study with results */
    struct sweep sweep;
    int made;
    sqlite3 *db;
    sqlite3_stmt *look;
};

static const char look_sql[] =
    "SELECT (SELECT state || ' ' || requested_state || ' ' || priority || ' ' || name FROM job WHERE id = ?1),"
    " (SELECT count(*) FROM job), (SELECT count(*) FROM idempotency), (SELECT count(*) FROM checkpoint WHERE complete),"
    " (SELECT count(*) FROM chain), (SELECT count(*) FROM artifact), (SELECT count(*) FROM series WHERE job > 0),"
    " (SELECT count(*) FROM pragma_foreign_key_check),"
    " (SELECT count(*) FROM study)"
    " + (SELECT 1000 * count(*) FROM job WHERE study <> '' AND state = 'paused')"
    " + (SELECT 1000000 * count(*) FROM job WHERE study <> '' AND state = 'cancelled')";

/* Reads the database over a separate connection. */
static struct stored look(struct bench *b, const char *id)
{
    struct stored out = {.count = {0}};
    assert_int_equal(storage_flush(b->f->storage, &b->f->err), STATUS_OK);
    assert_int_equal(sqlite3_bind_text(b->look, 1, id, -1, SQLITE_TRANSIENT), SQLITE_OK);
    assert_int_equal(sqlite3_step(b->look), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(b->look, 0);
    (void)snprintf(out.subject, sizeof out.subject, "%s", text != NULL ? text : "none");
    for (int i = 0; i < COUNTS - 1; i++)
        out.count[i] = sqlite3_column_int64(b->look, i + 1);
    assert_int_equal(sqlite3_reset(b->look), SQLITE_OK);
    count_folders(b->f->options.data, &out.count[COUNTS - 1]);
    return out;
}

static void plain_job(struct api_fixture *f, const char *config, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = "echo", .name = "plain", .config = config};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_job_submit(f->storage, &in, id, &outcome, &f->err), STATUS_OK);
}

static void plain_study(struct api_fixture *f, const char *name, char id[STORAGE_ID])
{
    struct storage_submit in[2] = {{.kind = "echo", .config = "{\"density\":0.1}"},
                                   {.kind = "echo", .config = "{\"density\":0.2}"}};
    const struct storage_study_submit study = {
        .name = name, .grid = "{\"density\":[0.1,0.2]}", .seeds = 1, .jobs = in, .count = 2};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_study_submit(f->storage, &study, id, &outcome, &f->err), STATUS_OK);
}

static void end_job(struct api_fixture *f, const char *id)
{
    enum job_state state;
    enum requested_state requested = REQUESTED_NONE;
    (void)storage_job_request(f->storage, id, JOB_EVENT_CANCEL, &state, &requested, &f->err);
    if (requested == REQUESTED_CANCELLED)
        assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err), STATUS_OK);
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
    if (subject == SET) {
        make_set(b, id);
    } else if (subject == STUDY || subject == PAUSED_STUDY || subject == ENDED_STUDY) {
        plain_study(f, "", id);
        if (subject != STUDY)
            assert_int_equal(storage_study_request(
                                 f->storage, id, subject == PAUSED_STUDY ? JOB_EVENT_PAUSE : JOB_EVENT_CANCEL, &f->err),
                             STATUS_OK);
    } else if (subject != NONE) {
        plain_job(f, "{}", id);
        if (subject == PAUSED)
            assert_int_equal(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, NULL, NULL, &f->err), STATUS_OK);
        else if (subject != QUEUED)
            claim_job(f, id);
        if (subject == TRAINED || subject == FINISHED) {
            (void)add_checkpoint(f, id, 10, 0.5, 1);
            struct storage_metric metric = {"loss", {10, 0.5}};
            assert_int_equal(storage_metric_append(f->storage, id, &metric, 1, &f->err), STATUS_OK);
            finish_job(f, id, "{}");
        }
    }
}

/* Finishes all jobs that a test case has submitted, so that the next case claims its own job. */
static void clear(struct bench *b, const char *subject)
{
    char id[STORAGE_ID];
    end_job(b->f, subject);
    (void)storage_study_request(b->f->storage, subject, JOB_EVENT_CANCEL, &b->f->err);
    while (storage_job_claim(b->f->storage, id, &b->f->err) == STATUS_OK)
        end_job(b->f, id);
}

/* ---- the sweeps ------------------------------------------------------------------------------------------------- */

/* Deletes the data set that the previous attempt has stored. */
static void forget_sets(struct bench *b, const char *id)
{
    char target[96];
    (void)snprintf(target, sizeof target, "/v1/datasets/%s", id);
    int status = ask(b->f, "DELETE", target, NULL);
    assert_true(status == 204 || status == 404);
    status = ask(b->f, "DELETE", "/v1/datasets/new", NULL);
    assert_true(status == 204 || status == 404);
}

static int sweep_write(struct bench *b, const struct request_case *c, bool forever, int stride)
{
    char id[STORAGE_ID];
    int place = -1, walked = 0;
    struct stored whole = {.count = {0}};
    for (bool failed = true; failed; place = place < 0 ? 0 : place + stride) {
        prepare(b, (enum subject)c->subject, id);
        const struct stored before = look(b, id);
        struct answer a = sweep_ask(&b->sweep, c, id, place, forever);
        struct stored after = look(b, id), changed = change(&before, &after), none = change(&before, &before);
        failed = place < 0 || a.failed;
        walked += failed;
        if (place < 0)
            whole = changed;
        if (a.status != c->status && (!a.failed || a.status < 500)) {
            complain("%s %s, %s %s %d: %d %.*s", c->method, c->target, b->sweep.fault->name, sweep_mode(forever), place,
                     a.status, (int)a.count, a.bytes);
        }
        bool done = equal(&changed, &whole);
        if (!done && (a.status == c->status || !equal(&changed, &none))) {
            complain("%s %s, %s %s %d: %d, and neither done nor not: '%s' of '%s', jobs %+d keys %+d checkpoints %+d "
                     "links %+d "
                     "artifacts %+d series %+d broken %+d studies %+d sets %+d",
                     c->method, c->target, b->sweep.fault->name, sweep_mode(forever), place, a.status, changed.subject,
                     whole.subject, (int)changed.count[0], (int)changed.count[1], (int)changed.count[2],
                     (int)changed.count[3], (int)changed.count[4], (int)changed.count[5], (int)changed.count[6],
                     (int)changed.count[7], (int)changed.count[8]);
        }
        free(a.bytes);
        /* repeat the request when it has failed, or when repeating it cannot change anything */
        if (!done || c->header[0] == NULL || strcmp(c->header[0], "Idempotency-Key") == 0) {
            a = sweep_ask(&b->sweep, c, id, -1, false);
            bool gone = done && (a.status == 404 || a.status == 409);
            if (a.status != c->status && a.status != 200 && !gone) {
                complain("%s %s again after %s %s %d: %d %.*s", c->method, c->target, b->sweep.fault->name,
                         sweep_mode(forever), place, a.status, (int)a.count, a.bytes);
            }
            after = look(b, id);
            changed = change(&before, &after);
            if (!equal(&changed, &whole)) {
                complain("%s %s again after %s %s %d: '%s' of '%s'", c->method, c->target, b->sweep.fault->name,
                         sweep_mode(forever), place, changed.subject, whole.subject);
            }
            free(a.bytes);
        }
        clear(b, id);
        if (c->subject == SET || strcmp(c->method, "PUT") == 0)
            forget_sets(b, id);
        assert_true(place < 200000);
    }
    return walked;
}

static struct sweep_bytes keep_body(struct api_fixture *f, const char *name, const char *target)
{
    assert_int_equal(ask(f, "GET", target, NULL), 200);
    return (struct sweep_bytes){name, body_kept(f), f->body_bytes};
}

static const struct method *named[1];

/* The method echo, but with the name of a data set in its field `label`. */
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
    if (api_setup(state) != 0)
        return -1;
    struct api_fixture *f = *state;
    bench = (struct bench){.f = f};
    method = echo_with_set();
    named[0] = &method;
    (void)snprintf(bench.data, sizeof bench.data, "%s/motifd-sets-XXXXXX", scratch());
    assert_non_null(mkdtemp(bench.data));
    api_destroy(f->api);
    f->options.methods = named;
    f->options.data = bench.data;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    *state = &bench;
    assert_int_equal(sqlite3_open_v2(f->path, &bench.db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(bench.db, look_sql, -1, &bench.look, NULL), SQLITE_OK);
    trained_job(f, bench.job);
    for (int i = 0; i < 40; i++) {
        struct storage_metric metrics[] = {{"loss", {i, 1.0 / (1 + i)}}, {"density", {i, 0.5}}};
        assert_int_equal(storage_metric_append(f->storage, bench.job, metrics, 2, &f->err), STATUS_OK);
    }
    assert_int_equal(storage_job_progress(f->storage, bench.job, "{\"step\":10,\"stage\":\"training\"}", &f->err),
                     STATUS_OK);
    assert_int_equal(storage_artifact_put(f->storage, bench.job, "a.png", "image/png", "abc", 3, &f->err), STATUS_OK);
    const struct storage_answer answer = {"1.0.0.0.1", "no", "[0,1,1,2]", "{\"name\":\"even\"}", "anna", 0, 0};
    assert_int_equal(storage_answers_put(f->storage, bench.job, &answer, 1, &f->err), STATUS_OK);
    finish_job(f, bench.job, "{\"accuracy\":1}");
    char member[STORAGE_ID];
    plain_study(f, "swept", bench.study);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(storage_job_claim(f->storage, member, &f->err), STATUS_OK);
        finish_job(f, member, i == 0 ? "{\"loss\":1.5}" : "{\"loss\":2,\"seed\":1}");
    }
    make_set(&bench, "kept");
    bench.sweep = (struct sweep){.f = f};
    bench.sweep.bodies[0] = keep_body(f, "#weights", path_of(bench.job, "/checkpoints/latest"));
    bench.sweep.bodies[1] = keep_body(f, "#bundle", path_of(bench.job, "/bundle"));
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    char command[160];
    sqlite3_finalize(b->look);
    sqlite3_close(b->db);
    free(b->sweep.bodies[0].data);
    free(b->sweep.bodies[1].data);
    (void)snprintf(command, sizeof command, "rm -r '%s'", b->data);
    void *fixture = b->f;
    int status = api_teardown(&fixture);
    return system(command) == 0 ? status : -1;
}

static void reads_survive_every_failed_allocation(void **state)
{
    struct bench *b = *state;
    char user[STORAGE_ID];
    plain_job(b->f, "{\"label\":\"kept\"}", user);
    complaints = 0;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        for (int k = 0; k < 2 * SWEEP_FAULTS; k++) {
            b->sweep.fault = &sweep_faults[k / 2];
            int walked = sweep_read(&b->sweep, &reads[i], reads[i].subject == STUDY ? b->study : b->job, k % 2,
                                    fault_stride(SANITIZED ? 3 : 1));
            print_message("%-4s %-40.40s %s %s: %d\n", reads[i].method, reads[i].target, b->sweep.fault->name,
                          sweep_mode(k % 2), walked);
        }
    }
    assert_int_equal(complaints, 0);
}

static void writes_survive_every_failed_allocation(void **state)
{
    struct bench *b = *state;
    complaints = 0;
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        for (int k = 0; k < 2 * SWEEP_FAULTS; k++) {
            const struct sweep_fault *fault = &sweep_faults[k / 2];
            b->sweep.fault = fault;
            int walked =
                sweep_write(b, &writes[i], k % 2, fault_stride(fault->stride * (SANITIZED ? 3 : 1) * (k % 2 ? 5 : 1)));
            print_message("%-4s %-40.40s %s %s: %d\n", writes[i].method, writes[i].target, fault->name,
                          sweep_mode(k % 2), walked);
        }
    }
    assert_int_equal(complaints, 0);
}

/* Asserts that the tables of this file contain a request for every route. The exceptions are in `elsewhere`:
 * test_api_models injects faults into getOnnx, test_api_trainers into the routes of trainers, and test_commands into
 * the functions behind the routes of tokens; wire_oidc sends those of the sign-in, which allocate only an answer. */
static void every_route_is_swept(void **state)
{
    static const char *const elsewhere[] = {
        "getOnnx",     "showSession",    "beginSignIn",        "finishSignIn",     "signOut",
        "listTokens",  "createToken",    "revokeToken",        "rotateToken",      "beginRun",
        "reportRun",   "putRunArtifact", "listRunCheckpoints", "getRunCheckpoint", "announceRunCheckpoint",
        "putRunPiece", "endRun"};
    const struct route_table table = {api_routes, api_route_count};
    struct route_match match;
    (void)state;
    for (size_t r = 0; r < api_route_count; r++) {
        bool found = false;
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
            found |= strcmp(elsewhere[i], api_routes[r].name) == 0;
        size_t count = sizeof reads / sizeof reads[0], all = count + sizeof writes / sizeof writes[0];
        for (size_t i = 0; i < all && !found; i++) {
            const struct request_case *c = i < count ? &reads[i] : &writes[i - count];
            char target[200];
            sweep_fill(target, sizeof target, c->target, "x");
            route_match(&table, c->method, target, &match);
            found = match.route == &api_routes[r];
        }
        if (!found)
            fail_msg("%s %s is not swept", api_routes[r].method, api_routes[r].pattern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_swept),
        cmocka_unit_test_setup_teardown(reads_survive_every_failed_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(writes_survive_every_failed_allocation, setup, teardown),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
