/* Tests what belongs to a token: its share of threads, of stored bytes and of data sets, and its idempotency keys. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/wire/wire.h"

#define SMALL(more)                                                                                                    \
    "{\"kind\":\"pathways\",\"config\":{\"dictionary\":\"dirac-hadamard\",\"filter_length\":16,\"length\":1,"          \
    "\"nonzeros\":\"1,2\",\"trials\":8}" more "}"
#define LONG(more) "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"" more "}"

static struct daemon_process served;
static char guest[128], other[128], chief[128], root[128];

static void make_token(const char *name, const char *scope, char line[128])
{
    char *secret = NULL;
    const char *const make[] = {"token", "create", "--name", name, "--scope", scope, "--db", served.db, NULL};
    assert_int_equal(motifd_run(make, &secret, NULL), 0);
    (void)snprintf(line, 128, "Authorization: Bearer %.*s", (int)strcspn(secret, "\n"), secret);
    free(secret);
}

static int setup(void **state)
{
    daemon_init(&served);
    (void)snprintf(root, sizeof root, "%s-data", served.db);
    if (mkdir(root, 0700) != 0)
        return -1;
    make_token("guest", "submit", guest);
    make_token("other", "submit", other);
    make_token("chief", "admin", chief);
    return 0;
}

static int teardown(void **state)
{
    char command[256];
    /* SIGTERM instead of SIGKILL, because a sanitizer reports leaks only at a normal end */
    int code = served.pid > 0 ? daemon_stop(&served) : 0;
    daemon_close(&served, code != 0);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return code != 0 ? code : system(command);
}

static void ask(const char *who, const char *method, const char *path, const char *type, const char *body,
                struct reply *reply)
{
    const char *headers[] = {who, NULL};
    call_server(served.url,
                &(struct call){.method = method, .path = path, .type = type, .body = body, .headers = headers}, reply);
}

static void expect(const char *who, const char *method, const char *path, const char *body, int status)
{
    struct reply reply;
    ask(who, method, path, NULL, body, &reply);
    if (reply.status != status)
        print_error("%s %s: %s\n", method, path, reply.body != NULL ? reply.body : "");
    assert_int_equal(reply.status, status);
    reply_close(&reply);
}

static void make_job(const char *who, const char *body, char id[JOB_ID])
{
    struct reply reply;
    ask(who, "POST", "/v1/jobs", NULL, body, &reply);
    assert_int_equal(reply.status, 201);
    (void)snprintf(id, JOB_ID, "%s", json_text(reply.json, "id"));
    reply_close(&reply);
}

static void state_of(const char *id, char state[16])
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    ask(guest, "GET", path, NULL, NULL, &reply);
    (void)snprintf(state, 16, "%s", json_text(reply.json, "state"));
    reply_close(&reply);
}

static void await(const char *id, const char *wanted)
{
    char state[16] = "";
    for (double until = now_seconds() + PATIENCE; now_seconds() < until && strcmp(state, wanted) != 0; sleep_ms(10))
        state_of(id, state);
    assert_string_equal(state, wanted);
}

static void threads_of_one_token_are_shared_by_its_jobs(void **state)
{
    static const char *const args[] = {"--workers", "3", "--threads-per-job", "1", "--threads-per-token", "2", NULL};
    char first[JOB_ID], second[JOB_ID], third[JOB_ID], stranger[JOB_ID], path[256], now[16];
    struct reply reply;
    assert_true(daemon_start(&served, args, NULL));
    /* refused, because a job with more threads than the token may use could never start */
    ask(guest, "POST", "/v1/jobs", NULL, LONG(",\"threads\":3"), &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "\"/threads\""));
    reply_close(&reply);

    make_job(guest, LONG(",\"priority\":9"), first);
    await(first, "running");
    /* with this job, the token's jobs would use 1 + 2 threads, which exceeds its limit; the job must wait although a
     * worker is free */
    make_job(guest, LONG(",\"threads\":2,\"priority\":8"), second);
    /* with this job, the token's jobs use 1 + 1 threads; it must start before the waiting job */
    make_job(guest, LONG(",\"threads\":1,\"priority\":7"), third);
    await(third, "running");
    make_job(other, LONG(""), stranger); /* a job of another token, which has a limit of its own */
    await(stranger, "running");
    state_of(second, now);
    assert_string_equal(now, "queued");

    job_path(path, stranger, "/cancel");
    expect(other, "POST", path, NULL, 202);
    await(stranger, "cancelled"); /* a worker is free again, but the first token's jobs still use all its threads */
    /* A job that was submitted after the waiting job starts at once. So a worker is free, and the daemon has passed
     * over the waiting job. */
    make_job(other, LONG(""), stranger);
    await(stranger, "running");
    state_of(second, now);
    assert_string_equal(now, "queued");
    job_path(path, stranger, "/cancel");
    expect(other, "POST", path, NULL, 202);
    await(stranger, "cancelled");
    state_of(second, now);
    assert_string_equal(now, "queued");
    const char *const ends[] = {first, third};
    for (int i = 0; i < 2; i++) {
        job_path(path, ends[i], "/cancel");
        expect(guest, "POST", path, NULL, 202);
    }
    await(second, "running");
    job_path(path, second, "/cancel");
    expect(guest, "POST", path, NULL, 202);
    await(second, "cancelled");
}

static void too_small_a_share_of_threads_is_refused_at_the_start(void **state)
{
    static const char *const args[] = {
        "serve", "--listen", "127.0.0.1:0", "--threads-per-job", "4", "--threads-per-token", "3", "--db", NULL, NULL};
    const char *run[sizeof args / sizeof args[0]];
    char *message = NULL;
    memcpy(run, args, sizeof args);
    run[8] = served.db;
    assert_int_not_equal(motifd_run(run, NULL, &message), 0);
    assert_non_null(strstr(message, "--threads-per-token"));
    free(message);
}

static void stored_bytes_of_jobs_count_against_the_token(void **state)
{
    static const char *const args[] = {"--job-bytes-per-token", "1000", NULL};
    char id[JOB_ID], strange[JOB_ID], path[256];
    struct reply reply;
    assert_true(daemon_start(&served, args, NULL));
    make_job(guest, SMALL(""), id);
    /* when this job has ended, its checkpoint and its pictures together exceed the limit of a thousand bytes */
    await(id, "succeeded");
    ask(guest, "POST", "/v1/jobs", NULL, SMALL(""), &reply);
    assert_problem(&reply, 403);
    assert_non_null(strstr(json_text(reply.json, "detail"), "the limit is 1000"));
    reply_close(&reply);
    make_job(other, SMALL(""), strange);
    job_path(path, id, "");
    expect(chief, "DELETE", path, NULL, 204);
    make_job(guest, SMALL(""), id);
    await(id, "succeeded");
}

/* Imports bytes with an Idempotency-Key; returns the status, the id of the job, and whether it is a repetition. */
static int import(const char *who, const char *bytes, size_t count, char id[JOB_ID], bool *repeated)
{
    const char *headers[] = {who, "Idempotency-Key: the-model", NULL};
    char value[256];
    struct reply reply;
    call_server(served.url,
                &(struct call){.method = "POST",
                               .path = "/v1/imports",
                               .type = "application/octet-stream",
                               .body = bytes,
                               .body_bytes = count,
                               .headers = headers},
                &reply);
    (void)snprintf(id, JOB_ID, "%s", json_text(reply.json, "id"));
    *repeated = strcmp(reply_header(&reply, "Idempotency-Replayed", value), "true") == 0;
    int status = reply.status;
    reply_close(&reply);
    return status;
}

static void repeated_import_with_a_key_creates_one_job(void **state)
{
    static const char *const args[] = {"--workers", "1", NULL};
    char job[JOB_ID], shorter[JOB_ID], first[JOB_ID], again[JOB_ID], path[256];
    bool repeated;
    struct reply model, newer;
    assert_true(daemon_start(&served, args, NULL));
    make_job(guest, SMALL(""), job);
    await(job, "succeeded");
    job_path(path, job, "/bundle");
    ask(guest, "GET", path, NULL, NULL, &model);
    assert_int_equal(model.status, 200);
    make_job(guest, SMALL(",\"name\":\"second\""), shorter);
    await(shorter, "succeeded");
    job_path(path, shorter, "/bundle");
    ask(guest, "GET", path, NULL, NULL, &newer);
    assert_int_equal(newer.status, 200);

    assert_int_equal(import(guest, model.body, model.body_bytes, first, &repeated), 201);
    assert_false(repeated);
    assert_int_equal(import(guest, model.body, model.body_bytes, again, &repeated), 201);
    assert_true(repeated);
    assert_string_equal(again, first);
    assert_int_equal(daemon_stop(&served), 0); /* restarts the daemon, because the key must be stored with the job */
    assert_true(daemon_start(&served, args, NULL));
    assert_int_equal(import(guest, model.body, model.body_bytes, again, &repeated), 201);
    assert_true(repeated);
    assert_string_equal(again, first);
    assert_int_equal(import(guest, newer.body, newer.body_bytes, again, &repeated), 422);
    assert_int_equal(import(other, model.body, model.body_bytes, again, &repeated), 201);
    assert_false(repeated);
    assert_string_not_equal(again, first);
    reply_close(&model);
    reply_close(&newer);
}

static void data_set_bytes_of_a_token_are_limited(void **state)
{
    char rows[4000] = "a,b,label\n", most[32] = "1000000";
    const char *args[] = {"--data", root, "--dataset-bytes-per-token", most, NULL};
    struct reply reply;
    for (int i = 0; i < 100; i++)
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%d,%d,%s\n", i, i * i, i % 2 == 0 ? "x" : "y");
    assert_true(daemon_start(&served, args, NULL));
    ask(guest, "PUT", "/v1/datasets/one", "text/csv", rows, &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
    ask(guest, "GET", "/v1/datasets", NULL, NULL, &reply);
    /* a limit that allows one such data set but not two */
    (void)snprintf(most, sizeof most, "%.0f", 1.9 * json_number(reply.json, "bytes"));
    reply_close(&reply);
    assert_int_equal(daemon_stop(&served), 0);
    assert_true(daemon_start(&served, args, NULL));
    ask(guest, "PUT", "/v1/datasets/two", "text/csv", rows, &reply);
    assert_problem(&reply, 413);
    assert_non_null(strstr(json_text(reply.json, "detail"), "of this token"));
    reply_close(&reply);
    ask(other, "PUT", "/v1/datasets/two", "text/csv", rows, &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
    expect(chief, "DELETE", "/v1/datasets/one", NULL, 204);
    ask(guest, "PUT", "/v1/datasets/three", "text/csv", rows, &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(threads_of_one_token_are_shared_by_its_jobs),
        FRESH(too_small_a_share_of_threads_is_refused_at_the_start),
        FRESH(stored_bytes_of_jobs_count_against_the_token),
        FRESH(repeated_import_with_a_key_creates_one_job),
        FRESH(data_set_bytes_of_a_token_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
