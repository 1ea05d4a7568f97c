/* Tests the audit log, the rate limit, TLS, and a backup while the daemon works. */
#include <curl/curl.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/wire/wire.h"

static int fresh(void **state)
{
    struct daemon_process *served = calloc(1, sizeof *served);
    daemon_init(served);
    *state = served;
    return 0;
}

static int gone(void **state)
{
    daemon_close(*state, false);
    free(*state);
    return 0;
}

static const cJSON *change_at(const struct reply *reply, int index)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply->json, "changes"), index);
    assert_non_null(item);
    return item;
}

/* ---- the audit ------------------------------------------------------------------------------------------ */

static const char job_body[] =
    "{\"kind\":\"pathways\",\"config\":{\"dictionary\":\"dirac-hadamard\",\"filter_length\":16,"
    "\"length\":1,\"nonzeros\":\"1,2\",\"trials\":8}}";

static const char long_body[] = "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"}";

static void changes_are_recorded_in_the_audit_log(void **state)
{
    struct daemon_process *served = *state;
    char id[JOB_ID], path[256];
    struct reply reply;
    assert_true(daemon_start(served, NULL, NULL));
    submit(served->url, job_body, id);
    await_state(served->url, id, "succeeded");
    /* a change that the daemon refuses is recorded as well */
    post(served->url, "/v1/jobs", "{\"kind\":\"none\"}", &reply);
    assert_int_equal(reply.status, 422);
    reply_close(&reply);
    post(served->url, "/v1/pathways/recover", "{}", &reply); /* a query changes nothing, so it is not recorded */
    reply_close(&reply);
    job_path(path, id, "");
    struct call call = {.method = "DELETE", .path = path};
    call_server(served->url, &call, &reply);
    assert_int_equal(reply.status, 204);
    char request[256];
    (void)reply_header(&reply, "X-Request-Id", request);
    reply_close(&reply);

    daemon_signal(served, SIGKILL); /* kill the daemon, to check that both the change and its record are on disk */
    (void)daemon_wait(served, 5000);
    assert_true(daemon_start(served, NULL, NULL));
    get(served->url, "/v1/audit", &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "changes")), 3);
    const cJSON *deleted = change_at(&reply, 0), *refused = change_at(&reply, 1), *made = change_at(&reply, 2);
    assert_string_equal(json_text(deleted, "method"), "DELETE");
    assert_string_equal(json_text(deleted, "target"), path);
    assert_string_equal(json_text(deleted, "request"), request);
    assert_string_equal(json_text(deleted, "peer"), "127.0.0.1");
    assert_int_equal((int)json_number(refused, "status"), 422);
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(refused, "job")));
    assert_int_equal((int)json_number(made, "status"), 201);
    assert_string_equal(json_text(made, "job"), id);
    reply_close(&reply);

    get(served->url, "/v1/audit?limit=2", &reply);
    (void)snprintf(path, sizeof path, "/v1/audit?limit=2&cursor=%s", json_text(reply.json, "next_cursor"));
    reply_close(&reply);
    get(served->url, path, &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "changes")), 1);
    assert_string_equal(json_text(change_at(&reply, 0), "job"), id);
    reply_close(&reply);
    get(served->url, "/v1/audit?cursor=abc", &reply);
    assert_problem(&reply, 400);
    reply_close(&reply);
}

static void jobs_per_token_are_limited(void **state)
{
    struct daemon_process *served = *state;
    char *secret = NULL, line[256];
    struct reply reply;
    const char *const make[] = {"token", "create", "--name", "chief", "--scope", "admin", "--db", served->db, NULL};
    assert_int_equal(motifd_run(make, &secret, NULL), 0);
    const char *const reader[] = {"token", "create", "--name", "guest", "--scope", "submit", "--db", served->db, NULL};
    char *other = NULL;
    assert_int_equal(motifd_run(reader, &other, NULL), 0);
    static const char *const args[] = {"--jobs-per-token", "1", NULL};
    assert_true(daemon_start(served, args, NULL));
    const char *headers[] = {line, NULL};
    (void)snprintf(line, sizeof line, "Authorization: Bearer %.*s", (int)strcspn(other, "\n"), other);
    struct call call = {.method = "POST", .path = "/v1/jobs", .body = long_body, .headers = headers};
    call_server(served->url, &call, &reply);
    assert_int_equal(reply.status, 201);
    assert_string_equal(json_text(reply.json, "owner"), "guest");
    char path[256];
    job_path(path, json_text(reply.json, "id"), "/cancel");
    reply_close(&reply);
    /* refused, because the token already has as many unfinished jobs as it may have */
    call_server(served->url, &call, &reply);
    assert_problem(&reply, 429);
    reply_close(&reply);
    call = (struct call){.method = "GET", .path = "/v1/audit", .headers = headers};
    call_server(served->url, &call, &reply);
    assert_problem(&reply, 403); /* refused, because the audit log needs the scope admin */
    reply_close(&reply);
    struct call cancel = {.method = "POST", .path = path, .headers = headers};
    call_server(served->url, &cancel, &reply);
    assert_int_equal(reply.status, 202);
    reply_close(&reply);
    call = (struct call){.method = "GET", .path = "/v1/audit", .headers = headers};
    (void)snprintf(line, sizeof line, "Authorization: Bearer %.*s", (int)strcspn(secret, "\n"), secret);
    call_server(served->url, &call, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(json_text(change_at(&reply, 0), "target"), path);
    assert_string_equal(json_text(change_at(&reply, 0), "who"), "guest");
    assert_int_equal((int)json_number(change_at(&reply, 1), "status"), 403);
    assert_int_equal((int)json_number(change_at(&reply, 2), "status"), 429);
    /* this token was created on the command line */
    assert_string_equal(json_text(change_at(&reply, 4), "target"), "guest");
    assert_string_equal(json_text(change_at(&reply, 4), "who"), "console");
    assert_int_equal((int)json_number(change_at(&reply, 4), "status"), 201);
    assert_string_equal(json_text(change_at(&reply, 5), "target"), "chief");
    reply_close(&reply);
    free(secret);
    free(other);
}

/* ---- who asks too often ----------------------------------------------------------------------------- */

static void requests_over_the_rate_limit_get_429(void **state)
{
    static const char *const args[] = {"--rate-limit", "5", NULL};
    struct daemon_process *served = *state;
    struct reply reply;
    char value[256];
    int good = 0, refused = 0;
    assert_true(daemon_start(served, args, NULL));
    double start = now_seconds();
    for (int i = 0; i < 30; i++) {
        get(served->url, "/v1/kinds", &reply);
        good += reply.status == 200;
        if (reply.status != 200) {
            assert_problem(&reply, 429);
            assert_string_equal(reply_header(&reply, "Retry-After", value), "1");
            refused++;
        }
        reply_close(&reply);
    }
    double seconds = now_seconds() - start;
    assert_int_equal(good + refused, 30);
    assert_true(good >= 10 && good <= 10 + (int)(5 * seconds) + 1);
    get(served->url, "/healthz", &reply); /* health checks are not limited */
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(50)) {
        get(served->url, "/metrics", &reply);
        if (reply.status == 200)
            break;
        assert_problem(&reply, 429);
        reply_close(&reply);
    }
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "motifd_http_refused_often_total"));
    reply_close(&reply);
}

static void a_job_that_cannot_fit_is_refused(void **state)
{
    static const char *const args[] = {"--job-memory", "200000000", NULL};
    struct daemon_process *served = *state;
    struct reply reply;
    char id[JOB_ID];
    assert_true(daemon_start(served, args, NULL));
    post(served->url, "/v1/jobs", "{\"kind\":\"sparling\",\"preset\":\"digitcircle-paper\"}", &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "\"/config\""));
    assert_non_null(strstr(reply.body, "0.2 GB"));
    reply_close(&reply);
    post(served->url, "/v1/jobs?dry_run=1", "{\"kind\":\"sparling\",\"preset\":\"digitcircle-paper\"}", &reply);
    assert_int_equal(reply.status, 200);
    assert_true(json_number(reply.json, "bytes") > json_number(reply.json, "allowed_bytes"));
    reply_close(&reply);
    get(served->url, "/v1/jobs", &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reply.json, "jobs")), 0);
    reply_close(&reply);
    submit(served->url, job_body, id);
    await_state(served->url, id, "succeeded");
}

/* ---- TLS ------------------------------------------------------------------------------------------------ */

struct certificate {
    char cert[96], key[96];
};

static void make_certificate(const struct daemon_process *served, const char *name, struct certificate *out)
{
    char command[512];
    (void)snprintf(out->cert, sizeof out->cert, "%s/%s.crt", served->folder, name);
    (void)snprintf(out->key, sizeof out->key, "%s/%s.key", served->folder, name);
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=motifd"
                   " -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
                   out->key, out->cert);
    assert_int_equal(system(command), 0);
}

static int status_with(const struct daemon_process *served, const char *authority, long tls_most)
{
    struct reply reply;
    struct call call = {.method = "GET", .path = "/v1/kinds", .authority = authority, .tls_most = tls_most};
    call_server(served->url, &call, &reply);
    int status = reply.status;
    reply_close(&reply);
    return status;
}

static void with_tls_plain_http_is_refused(void **state)
{
    struct daemon_process *served = *state;
    struct certificate own, other;
    make_certificate(served, "own", &own);
    make_certificate(served, "other", &other);
    const char *const args[] = {"--tls-cert", own.cert, "--tls-key", own.key, "--header-timeout-ms", "1000", NULL};
    assert_true(daemon_start(served, args, NULL));
    assert_int_equal(strncmp(served->url, "https://", 8), 0);
    assert_int_equal(status_with(served, own.cert, 0), 200);
    assert_int_equal(status_with(served, own.cert, CURL_SSLVERSION_MAX_TLSv1_2), 200);
    assert_int_equal(status_with(served, own.cert, CURL_SSLVERSION_MAX_TLSv1_1), 0);
    assert_int_equal(status_with(served, other.cert, 0), 0);
    assert_int_equal(status_with(served, NULL, 0), 0);
    static const char plain[] = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    assert_int_equal(raw_status(served->port, plain, sizeof plain - 1, NULL, 0), 0);
    /* a client that never finishes the TLS handshake is disconnected */
    int slow = raw_connect(served->port);
    assert_true(slow >= 0 && raw_send(slow, "\x16", 1));
    assert_true(raw_closed(slow, 1000 * PATIENCE));
    (void)close(slow);
    assert_int_equal(status_with(served, own.cert, 0), 200);
}

/* Returns the exit code of `motifctl health`. `before`: variables of its environment; `after`: its further options. */
static int health_with(const struct daemon_process *served, const char *before, const char *after)
{
    char command[512];
    const char *program = getenv("MOTIFCTL");
    assert_non_null(program);
    (void)snprintf(
        command, sizeof command,
        "env -u MOTIFD_CACERT -u CURL_CA_BUNDLE -u SSL_CERT_FILE %s %s --server %s health %s >/dev/null 2>&1", before,
        program, served->url, after);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void motifctl_trusts_the_authorities_that_it_is_given(void **state)
{
    struct daemon_process *served = *state;
    struct certificate own, other;
    char words[2][160];
    make_certificate(served, "own", &own);
    make_certificate(served, "other", &other);
    const char *const args[] = {"--tls-cert", own.cert, "--tls-key", own.key, NULL};
    assert_true(daemon_start(served, args, NULL));
    assert_int_equal(health_with(served, "", ""), 3);
    (void)snprintf(words[0], sizeof words[0], "--cacert %s", own.cert);
    assert_int_equal(health_with(served, "", words[0]), 0);
    static const char *const variables[] = {"MOTIFD_CACERT", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)snprintf(words[0], sizeof words[0], "%s=%s", variables[i], own.cert);
        assert_int_equal(health_with(served, words[0], ""), 0);
    }
    (void)snprintf(words[1], sizeof words[1], "--cacert %s", other.cert); /* the option wins over the variable */
    assert_int_equal(health_with(served, words[0], words[1]), 3);
}

static void await_status(const struct daemon_process *served, const char *authority, int status)
{
    double end = now_seconds() + PATIENCE;
    while (status_with(served, authority, 0) != status && now_seconds() < end)
        sleep_ms(20);
    assert_int_equal(status_with(served, authority, 0), status);
}

/* Waits until the log says `count` times that the daemon keeps its certificate. */
static void await_refused_certificates(const struct daemon_process *served, int count)
{
    char line[4096];
    int seen = 0;
    for (double until = now_seconds() + PATIENCE; seen < count && now_seconds() < until; sleep_ms(20)) {
        FILE *log = fopen(served->log, "r");
        assert_non_null(log);
        for (seen = 0; fgets(line, sizeof line, log) != NULL;)
            seen += strstr(line, "certificate cannot be used") != NULL;
        (void)fclose(log);
    }
    assert_int_equal(seen, count);
}

static void put_in_place(const char *from, const char *to)
{
    char command[256];
    (void)snprintf(command, sizeof command, "cp %s %s", from, to);
    assert_int_equal(system(command), 0);
}

/* After SIGHUP, the daemon uses a renewed certificate. If the new certificate does not match the key, the daemon
 * keeps the old one. Jobs continue. */
static void tls_certificate_is_renewed(void **state)
{
    struct daemon_process *served = *state;
    struct certificate first, second, third, given;
    make_certificate(served, "first", &first);
    make_certificate(served, "second", &second);
    make_certificate(served, "third", &third);
    make_certificate(served, "given", &given);
    put_in_place(first.cert, given.cert);
    put_in_place(first.key, given.key);
    const char *const args[] = {"--tls-cert", given.cert, "--tls-key", given.key, NULL};
    assert_true(daemon_start(served, args, NULL));
    assert_int_equal(status_with(served, first.cert, 0), 200);
    for (int round = 0; round < 3; round++) {
        const struct certificate *next = round % 2 == 0 ? &second : &first, *old = round % 2 == 0 ? &first : &second;
        put_in_place(next->cert, given.cert);
        put_in_place(next->key, given.key);
        /* the daemon still uses the old certificate, because no SIGHUP was sent */
        assert_int_equal(status_with(served, old->cert, 0), 200);
        daemon_signal(served, SIGHUP);
        await_status(served, next->cert, 200);
        assert_int_equal(status_with(served, old->cert, 0), 0);
        assert_int_equal(status_with(served, next->cert, CURL_SSLVERSION_MAX_TLSv1_2), 200);
    }
    put_in_place(third.cert, given.cert); /* a certificate that does not match the key file */
    daemon_signal(served, SIGHUP);
    await_refused_certificates(served, 1);
    assert_int_equal(status_with(served, second.cert, 0), 200);
    put_in_place(third.key, given.key);
    daemon_signal(served, SIGHUP);
    await_status(served, third.cert, 200);
    assert_int_equal(unlink(given.key), 0);
    daemon_signal(served, SIGHUP);
    await_refused_certificates(served, 2);
    assert_int_equal(status_with(served, third.cert, 0), 200);
    assert_int_equal(daemon_stop(served), 0);
}

/* Without TLS, SIGHUP ends the daemon as SIGTERM does, because the kernel sends SIGHUP when a terminal closes. */
static void hangup_without_tls_drains(void **state)
{
    struct daemon_process *served = *state;
    assert_true(daemon_start(served, NULL, NULL));
    daemon_signal(served, SIGHUP);
    assert_int_equal(daemon_wait(served, 10000 * SLOWED), 0);
}

static void a_certificate_without_key_is_refused(void **state)
{
    struct daemon_process *served = *state;
    struct certificate own, other;
    int code = 0;
    make_certificate(served, "own", &own);
    make_certificate(served, "other", &other);
    const char *const half[] = {"--tls-cert", own.cert, NULL};
    assert_false(daemon_start(served, half, &code));
    assert_int_equal(code, 2);
    const char *const swapped[] = {"--tls-cert", own.cert, "--tls-key", other.key, NULL};
    assert_false(daemon_start(served, swapped, &code));
    assert_int_equal(code, 2);
    const char *const missing[] = {"--tls-cert", own.cert, "--tls-key", "/nowhere/at/all", NULL};
    assert_false(daemon_start(served, missing, &code));
    assert_int_not_equal(code, 0);
}

/* ---- backup --------------------------------------------------------------------------------------------- */

static void a_backup_succeeds_while_jobs_run(void **state)
{
    struct daemon_process *served = *state, restored;
    char id[JOB_ID], copy[128], *out = NULL, *errors = NULL;
    struct reply reply;
    assert_true(daemon_start(served, NULL, NULL));
    submit_tiny(served->url, 40, "", id);
    await_state(served->url, id, "succeeded");
    (void)snprintf(copy, sizeof copy, "%s/copy.db", served->folder);
    const char *const backup[] = {"backup", "--db", served->db, copy, NULL};
    assert_int_equal(motifd_run(backup, &out, &errors), 0);
    assert_non_null(strstr(out, copy));
    assert_non_null(strstr(errors, "1 jobs"));
    free(out);
    free(errors);
    assert_int_equal(motifd_run(backup, NULL, &errors), 1); /* the backup fails, because the file already exists */
    free(errors);
    const char *const over[] = {"restore", "--db", served->db, copy, NULL};
    assert_int_equal(motifd_run(over, NULL, &errors), 1);
    free(errors);
    get(served->url, "/readyz", &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);

    daemon_init(&restored);
    const char *const restore[] = {"restore", "--db", restored.db, copy, NULL};
    assert_int_equal(motifd_run(restore, NULL, NULL), 0);
    assert_true(daemon_start(&restored, NULL, NULL));
    char state_now[16], path[256];
    job_state(restored.url, id, state_now);
    assert_string_equal(state_now, "succeeded");
    job_path(path, id, "/checkpoints/latest");
    struct reply one, other;
    get(served->url, path, &one);
    get(restored.url, path, &other);
    assert_int_equal(one.status, 200);
    assert_int_equal(one.body_bytes, other.body_bytes);
    assert_memory_equal(one.body, other.body, one.body_bytes);
    reply_close(&one);
    reply_close(&other);
    daemon_close(&restored, false);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, fresh, gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(changes_are_recorded_in_the_audit_log),
        FRESH(jobs_per_token_are_limited),
        FRESH(requests_over_the_rate_limit_get_429),
        FRESH(a_job_that_cannot_fit_is_refused),
        FRESH(with_tls_plain_http_is_refused),
        FRESH(a_certificate_without_key_is_refused),
        FRESH(motifctl_trusts_the_authorities_that_it_is_given),
        FRESH(tls_certificate_is_renewed),
        FRESH(hangup_without_tls_drains),
        FRESH(a_backup_succeeds_while_jobs_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
