/* Tests tokens. motifd creates, lists and revokes tokens on the command line. Requests must carry a token, and each
 * token has one of three scopes. The database never contains a token's secret. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/wire/wire.h"

static struct daemon_process served;

static int setup(void **state)
{
    daemon_init(&served);
    return 0;
}

static int teardown(void **state)
{
    daemon_close(&served, false);
    return 0;
}

static void make_token(const char *name, const char *scope, char secret[128])
{
    char *out = NULL;
    const char *const args[] = {"token", "create", "--name", name, "--scope", scope, "--db", served.db, NULL};
    assert_int_equal(motifd_run(args, &out, NULL), 0);
    assert_int_equal(strncmp(out, "motif_", 6), 0);
    (void)snprintf(secret, 128, "%.*s", (int)strcspn(out, "\n"), out);
    assert_true(strlen(secret) > 40);
    free(out);
}

/* Sends a request with a token (NULL: without one) and returns the status of the answer. */
static int as(const char *token, const char *method, const char *path, const char *body, struct reply *reply)
{
    char line[256];
    const char *headers[] = {line, NULL};
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", token != NULL ? token : "");
    struct call call = {.method = method, .path = path, .body = body, .headers = token != NULL ? headers : NULL};
    call_server(served.url, &call, reply);
    return reply->status;
}

static int status_as(const char *token, const char *method, const char *path, const char *body)
{
    struct reply reply;
    int status = as(token, method, path, body, &reply);
    reply_close(&reply);
    return status;
}

static bool file_contains(const char *path, const char *text)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void each_scope_allows_its_routes(void **state)
{
    char read[128], submit[128], admin[128], value[256];
    struct reply reply;
    static const char job[] = "{\"kind\":\"sparling\",\"config\":{" TINY ",\"total_samples\":40}}";
    make_token("reader", "read", read);
    make_token("submitter", "submit", submit);
    make_token("chief", "admin", admin);
    assert_true(daemon_start(&served, NULL, NULL));

    assert_int_equal(as(NULL, "GET", "/v1/jobs", NULL, &reply), 401);
    assert_problem(&reply, 401);
    assert_int_equal(strncmp(reply_header(&reply, "WWW-Authenticate", value), "Bearer", 6), 0);
    reply_close(&reply);
    assert_int_equal(status_as("motif_wrong", "GET", "/v1/jobs", NULL), 401);
    assert_int_equal(status_as("", "GET", "/v1/jobs", NULL), 401);
    assert_int_equal(status_as(NULL, "GET", "/healthz", NULL), 200); /* health checks need no token */
    assert_int_equal(status_as(NULL, "GET", "/readyz", NULL), 200);

    assert_int_equal(status_as(read, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(as(read, "POST", "/v1/jobs", job, &reply), 403);
    assert_problem(&reply, 403);
    reply_close(&reply);
    assert_int_equal(as(submit, "POST", "/v1/jobs", job, &reply), 201);
    char path[256];
    job_path(path, json_text(reply.json, "id"), "");
    reply_close(&reply);
    assert_int_equal(status_as(submit, "GET", path, NULL), 200);
    bool done = false;
    for (double until = now_seconds() + PATIENCE; !done && now_seconds() < until; sleep_ms(20)) {
        (void)as(read, "GET", path, NULL, &reply);
        done = strcmp(json_text(reply.json, "state"), "succeeded") == 0;
        reply_close(&reply);
    }
    assert_true(done);
    assert_int_equal(status_as(read, "DELETE", path, NULL), 403);
    assert_int_equal(status_as(admin, "DELETE", path, NULL), 204);

    /* The client receives the refusal every time, even while it is still sending the body. */
    static char large[900000];
    memset(large, ' ', sizeof large - 1);
    for (int i = 0; i < 50; i++)
        assert_int_equal(status_as("motif_wrong", "POST", "/v1/jobs", large), 401);

    assert_int_equal(daemon_stop(&served), 0);
    assert_false(file_contains(served.db, read));
    assert_false(file_contains(served.db, admin));
    assert_false(file_contains(served.log, admin));
}

/* The list contains the token's name and never its secret. */
static void assert_listed(const char *db, const char *name, const char *secret)
{
    char *out = NULL;
    const char *const list[] = {"token", "list", "--db", db, NULL};
    assert_int_equal(motifd_run(list, &out, NULL), 0);
    assert_non_null(strstr(out, name));
    assert_null(strstr(out, secret));
    free(out);
}

static void a_revoked_token_is_refused_and_listed(void **state)
{
    char secret[128];
    make_token("guest", "read", secret);
    assert_listed(served.db, "guest", secret);
    const char *const twice[] = {"token", "create", "--name", "guest", "--db", served.db, NULL};
    assert_int_equal(motifd_run(twice, NULL, NULL), 1);
    const char *const revoke[] = {"token", "revoke", "--name", "guest", "--db", served.db, NULL};
    assert_int_equal(motifd_run(revoke, NULL, NULL), 0);
    assert_int_equal(motifd_run(revoke, NULL, NULL), 1);
    assert_true(daemon_start(&served, NULL, NULL));
    assert_int_equal(status_as(secret, "GET", "/v1/jobs", NULL), 401);
    assert_int_equal(daemon_stop(&served), 0);
}

/* None of the routes with which `motifd token` reaches a daemon answers a request without the key beside the database.
 */
static void assert_token_routes_refuse(const char *url, const char *const *headers, int status)
{
    static const char *const calls[][2] = {{"GET", "/v1/tokens"},
                                           {"POST", "/v1/tokens?name=mine&scope=admin"},
                                           {"POST", "/v1/tokens/rotation?name=late"},
                                           {"DELETE", "/v1/tokens?name=late"}};
    struct reply reply;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        call_server(url, &(struct call){.method = calls[i][0], .path = calls[i][1], .headers = headers}, &reply);
        assert_problem(&reply, status);
        reply_close(&reply);
    }
}

/* Tokens are created, listed and revoked while the daemon runs; each change applies to the next request. */
static void tokens_change_while_the_daemon_runs(void **state)
{
    struct daemon_process other;
    struct stat facts;
    struct reply reply;
    char *out = NULL, *errors = NULL, path[200], secret[128], entry[64];
    daemon_init(&other);
    assert_true(daemon_start(&other, NULL, NULL));
    get(other.url, "/v1/jobs", &reply);
    assert_int_equal(reply.status, 200); /* a daemon on loopback without a token in its database requires none */
    reply_close(&reply);
    (void)snprintf(path, sizeof path, "%s-key", other.db);
    assert_int_equal(lstat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_token_routes_refuse(other.url, NULL, 403); /* the scope admin, which requests have here, is not enough */

    const char *const create[] = {"token",  "create", "--name", "late",   "--scope", "admin",
                                  "--days", "3",      "--db",   other.db, NULL};
    assert_int_equal(motifd_run(create, &out, NULL), 0);
    (void)snprintf(secret, sizeof secret, "%.*s", (int)strcspn(out, "\n"), out);
    assert_int_equal(strncmp(secret, "motif_", 6), 0);
    free(out);
    get(other.url, "/v1/jobs", &reply);
    assert_problem(&reply, 401); /* after the first token is created, requests without a token are refused */
    reply_close(&reply);
    char line[256];
    const char *headers[] = {line, NULL};
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", secret);
    assert_token_routes_refuse(other.url, NULL, 401);
    assert_token_routes_refuse(other.url, headers, 403);
    struct call audit = {.method = "GET", .path = "/v1/audit?limit=5", .headers = headers};
    call_server(other.url, &audit, &reply);
    assert_int_equal(reply.status, 200);
    (void)snprintf(entry, sizeof entry, "\"who\":\"console\"");
    assert_non_null(strstr(reply.body, entry));
    assert_null(strstr(reply.body, secret));
    reply_close(&reply);

    assert_int_equal(motifd_run(create, NULL, &errors), 1); /* the name is already in use */
    assert_non_null(strstr(errors, "a token of that name exists already"));
    free(errors);
    assert_listed(other.db, "late", secret);
    const char *const revoke[] = {"token", "revoke", "--name", "late", "--db", other.db, NULL};
    assert_int_equal(motifd_run(revoke, NULL, NULL), 0);
    call_server(other.url, &audit, &reply);
    assert_int_equal(reply.status, 401);
    reply_close(&reply);
    assert_int_equal(motifd_run(revoke, NULL, &errors), 1);
    assert_non_null(strstr(errors, "no such token"));
    free(errors);

    /* A killed daemon leaves its key. Because no process has the database open, the command opens it itself, and the
     * next daemon replaces the key. */
    daemon_kill(&other);
    (void)daemon_wait(&other, 10000);
    assert_int_equal(lstat(path, &facts), 0);
    assert_listed(other.db, "late", secret);
    assert_true(daemon_start(&other, NULL, NULL));
    assert_listed(other.db, "late", secret);
    assert_int_equal(daemon_stop(&other), 0);
    assert_int_equal(lstat(path, &facts), -1);
    daemon_close(&other, false);
}

/* Runs motifd with the words of `token ...`, and takes the secret that it prints. */
static void take_secret(const char *const *args, char secret[128])
{
    char *out = NULL;
    assert_int_equal(motifd_run(args, &out, NULL), 0);
    (void)snprintf(secret, 128, "%.*s", (int)strcspn(out, "\n"), out);
    assert_int_equal(strncmp(secret, "motif_", 6), 0);
    free(out);
}

/* A client gets another secret without a restart, and the earlier one works until the overlap ends. An expired token
 * is refused with the reason. /metrics has the time until the first token expires. */
static void tokens_expire_and_are_rotated_while_the_daemon_runs(void **state)
{
    struct daemon_process other;
    struct reply reply;
    char first[128], second[128], brief[128], line[256];
    const char *headers[] = {line, NULL};
    daemon_init(&other);
    assert_true(daemon_start(&other, NULL, NULL));
    const char *const create[] = {"token",  "create", "ci",   "--expires", "10d",
                                  "--role", "reader", "--db", other.db,    NULL};
    const char *const rotate[] = {"token",     "rotate", "ci",   "--overlap", "1s",
                                  "--expires", "5d",     "--db", other.db,    NULL};
    const char *const short_lived[] = {"token", "create", "brief", "--expires", "1s", "--db", other.db, NULL};
    take_secret(create, first);
    take_secret(rotate, second);
    take_secret(short_lived, brief);
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", second);
    call_server(other.url, &(struct call){.method = "GET", .path = "/v1/jobs", .headers = headers}, &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
    sleep_ms(1500);
    const char *const expired[] = {first, brief};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %s", expired[i]);
        call_server(other.url, &(struct call){.method = "GET", .path = "/v1/jobs", .headers = headers}, &reply);
        assert_problem(&reply, 401);
        assert_non_null(strstr(reply.body, "has expired"));
        reply_close(&reply);
    }
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", second);
    call_server(other.url, &(struct call){.method = "GET", .path = "/metrics", .headers = headers}, &reply);
    assert_int_equal(reply.status, 200);
    const char *metric = strstr(reply.body, "\nmotifd_token_expires_seconds ");
    assert_non_null(metric);
    double left = strtod(metric + 30, NULL);
    assert_true(left > 4.9 * 86400 && left <= 5 * 86400);
    reply_close(&reply);
    assert_listed(other.db, "expired", first);
    assert_int_equal(daemon_stop(&other), 0);
    daemon_close(&other, false);
}

static void the_token_of_the_environment_is_accepted(void **state)
{
    struct daemon_process other;
    struct reply reply;
    const char *headers[] = {"Authorization: Bearer 0123456789abcdef", NULL};
    daemon_init(&other);
    assert_int_equal(setenv("MOTIFD_TOKEN", "0123456789abcdef", 1), 0);
    assert_true(daemon_start(&other, NULL, NULL));
    assert_int_equal(unsetenv("MOTIFD_TOKEN"), 0);
    get(other.url, "/v1/system", &reply);
    assert_problem(&reply, 401);
    reply_close(&reply);
    call_server(other.url, &(struct call){.method = "GET", .path = "/v1/system", .headers = headers}, &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
    assert_int_equal(daemon_stop(&other), 0);
    daemon_close(&other, false);
}

static void beyond_loopback_a_token_is_required(void **state)
{
    struct daemon_process other;
    char *errors = NULL;
    daemon_init(&other);
    const char *const args[] = {"serve", "--listen", "0.0.0.0:0", "--db", other.db, NULL};
    assert_int_equal(motifd_run(args, NULL, &errors), 2);
    assert_non_null(strstr(errors, "token"));
    free(errors);
    daemon_close(&other, false);
}

static void wrong_usage_exits_with_2(void **state)
{
    static const char *const cases[][8] = {
        {"token", NULL},
        {"token", "forge", NULL},
        {"token", "create", "--scope", "god", "--name", "x", NULL},
        {"token", "create", "--days", "-1", "--name", "x", NULL},
        {"token", "create", "--days", "4294967297", "--name", "x", NULL},
        {"token", "create", NULL},
        {"serve", "--workers", "0", NULL},
        {"serve", "--listen", "somewhere", NULL},
        {"serve", "--token", "short", NULL},
        {"token", "create", "--name", "a\x1b[31m", NULL},
        {"token", "create", "--name", "a\xe2\x80\xae", NULL},
        {"juggle", NULL},
        {NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char db[96];
        (void)snprintf(db, sizeof db, "%s/usage.db", served.folder);
        assert_int_equal(setenv("MOTIFD_DB", db, 1), 0);
        assert_int_equal(motifd_run(cases[i], NULL, NULL), 2);
        (void)unlink(db);
    }
    (void)unsetenv("MOTIFD_DB");
    assert_int_equal(motifd_run((const char *const[]){"help", NULL}, NULL, NULL), 0);
    assert_int_equal(motifd_run((const char *const[]){"version", NULL}, NULL, NULL), 0);
    assert_int_equal(motifd_run((const char *const[]){"serve", "--help", NULL}, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_scope_allows_its_routes),
        cmocka_unit_test(a_revoked_token_is_refused_and_listed),
        cmocka_unit_test(tokens_change_while_the_daemon_runs),
        cmocka_unit_test(tokens_expire_and_are_rotated_while_the_daemon_runs),
        cmocka_unit_test(the_token_of_the_environment_is_accepted),
        cmocka_unit_test(beyond_loopback_a_token_is_required),
        cmocka_unit_test(wrong_usage_exits_with_2),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
