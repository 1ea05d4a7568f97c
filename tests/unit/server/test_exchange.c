/* Sends requests to a daemon in this process while one allocation or one system
 * call fails. Every request gets a complete answer or none, an answer does not
 * report a success that did not happen, and the next request is served. */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/daemon.h"
#include "server/process/signals.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"

enum { LARGE = 3000000 }; /* bytes of a body that is kept in a file */

static char folder[] = "/tmp/motifd-exchange-XXXXXX";
static struct settings settings; /* static, because it is too large for the stack */
static pthread_t server;
static int code, said[2], port, family;
static char *large;

/* ---- functions of libmicrohttpd that can fail, counted as system calls
 * ----------------------------------- */

#define CALL(type, call, bad, parameters, arguments)                                                                   \
    type __real_##call parameters;                                                                                     \
    type __wrap_##call parameters;                                                                                     \
    type __wrap_##call parameters                                                                                      \
    {                                                                                                                  \
        return fault_call_now(#call) ? (bad) : __real_##call arguments;                                                \
    }

CALL(struct MHD_Response *, MHD_create_response_from_buffer, NULL,
     (size_t bytes, void *text, enum MHD_ResponseMemoryMode mode), (bytes, text, mode))
CALL(struct MHD_Response *, MHD_create_response_from_callback, NULL,
     (uint64_t size, size_t block, MHD_ContentReaderCallback take, void *context, MHD_ContentReaderFreeCallback done),
     (size, block, take, context, done))
CALL(enum MHD_Result, MHD_add_response_header, MHD_NO,
     (struct MHD_Response * response, const char *name, const char *value), (response, name, value))
CALL(enum MHD_Result, MHD_queue_response, MHD_NO,
     (struct MHD_Connection * connection, unsigned status, struct MHD_Response *response),
     (connection, status, response))

/* ---- the daemon
 * ------------------------------------------------------------------------------------------
 */

static void *serve(void *context)
{
    code = daemon_serve(&settings);
    return NULL;
}

/* Starts the daemon and reads its port from the line that it prints. Returns
 * false if it does not start. */
static bool begin(const char *listen)
{
    char line[200] = "";
    (void)snprintf(settings.listen, sizeof settings.listen, "%s", listen);
    family = listen[0] == '[' ? AF_INET6 : AF_INET;
    (void)fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_int_equal(pipe(said), 0);
    assert_int_equal(dup2(said[1], STDOUT_FILENO), STDOUT_FILENO);
    (void)close(said[1]);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    /* If the daemon does not start, nothing is written, and the test fails at its time limit. */
    ssize_t got = read(said[0], line, sizeof line - 1);
    assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(before);
    (void)close(said[0]);
    const char *colon = got > 0 ? strrchr(line, ':') : NULL;
    port = colon != NULL ? atoi(colon + 1) : 0;
    return port > 0;
}

static void end(void)
{
    (void)kill(getpid(), SIGTERM);
    assert_int_equal(pthread_join(server, NULL), 0);
    assert_int_equal(code, 0);
    while (signals_wait(0) != 0) {
    }
}

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL || (large = malloc(LARGE)) == NULL)
        return -1;
    memset(large, 'x', LARGE);
    settings_defaults(&settings);
    (void)snprintf(settings.db, sizeof settings.db, "%s/d.db", folder);
    (void)snprintf(settings.data, sizeof settings.data, "%s/data", folder);
    (void)snprintf(settings.executors, sizeof settings.executors, "thread");
    (void)snprintf(settings.log_level, sizeof settings.log_level, "error");
    settings.workers = settings.evaluators = 1;
    settings.http_threads = 1;
    settings.handler_threads = 2;
    settings.rate_limit = 0;
    return mkdir(settings.data, 0700);
}

static int teardown(void **state)
{
    static const char *const names[] = {"d.db", "d.db-wal", "d.db-shm", "d.db-lock", "d.db.crash"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    free(large);
    (void)rmdir(settings.data);
    return rmdir(folder); /* fails if the body of a request was left */
}

static int connected(void)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct timeval limit = {.tv_sec = 30};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof v4)
                                       : connect(fd, (struct sockaddr *)&v6, sizeof v6),
                     0);
    return fd;
}

struct request {
    const char *method, *target, *headers, *body;
    size_t body_bytes;
    const char *until; /* the client reads up to this text; NULL: until the daemon
                          closes the connection */
    int usual;         /* status without a fault */
};

/* Sends the request and reads the answer. The injected fault can also hit the daemon's send(). The daemon then assumes
 * that the client has broken the connection. */
static const char *answer_to(int fd, const struct request *request, size_t *size)
{
    enum { ROOM = 1 << 20 };
    static char head[1000], text[ROOM]; /* static, because the fault could make an allocation fail */
    memset(text, 0, sizeof text);
    int bytes = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s",
                         request->method, request->target, port, request->headers);
    if (request->body != NULL)
        bytes += snprintf(head + bytes, sizeof head - (size_t)bytes, "Content-Length: %zu\r\n", request->body_bytes);
    bytes += snprintf(head + bytes, sizeof head - (size_t)bytes, "\r\n");
    (void)!write(fd, head, (size_t)bytes);
    for (size_t sent = 0; sent < request->body_bytes;) {
        ssize_t some = sendto(fd, request->body + sent, request->body_bytes - sent, MSG_NOSIGNAL, NULL, 0);
        if (some <= 0)
            break;
        sent += (size_t)some;
    }
    *size = 0;
    for (ssize_t got; *size < ROOM - 1 && (got = recv(fd, text + *size, ROOM - 1 - *size, 0)) > 0;) {
        *size += (size_t)got;
        if (request->until != NULL && strstr(text, request->until) != NULL)
            break;
    }
    return text;
}

/* Checks an answer and returns its status. Returns 0 if the answer is missing or shorter than its Content-Length, which
 * a client can notice. */
static int status_of(const struct request *request, const char *text, size_t size)
{
    const char *body = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "\r\nContent-Length:");
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || body == NULL)
        return 0;
    body += 4;
    size_t got = size - (size_t)(body - text);
    if (length != NULL && length < body && strcmp(request->method, "HEAD") != 0) {
        size_t wanted = strtoull(length + 17, NULL, 10);
        assert_true(got <= wanted);
        if (got < wanted)
            return 0;
    }
    return atoi(text + 9);
}

static int ask(const struct request *request)
{
    size_t size;
    int fd = connected();
    const char *text = answer_to(fd, request, &size);
    (void)close(fd);
    return status_of(request, text, size);
}

static const struct request healthy = {.method = "GET", .target = "/healthz", .headers = "", .usual = 200};

static void is_answered(const struct request *request, const char *what, int n)
{
    int status = ask(request);
    if (status != 0 && status != request->usual && status != 429 && status / 100 != 5)
        fail_msg("%s %s, %s %d: status %d", request->method, request->target, what, n, status);
}

/* Sends each request with one fault at each place, until no fault happens any
 * more. */
static void sweep(const struct request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ask(&requests[i]), requests[i].usual);
        for (int n = 0, quiet = 0; quiet < 2; n++) {
            fault_after(n);
            is_answered(&requests[i], "memory", n);
            quiet = fault_happened() ? 0 : quiet + 1;
        }
        for (int n = 0, quiet = 0; quiet < 2; n++) {
            /* two calls before the fault belong to the client: socket() and setsockopt() */
            fault_call_after(n + 2, EIO, false);
            is_answered(&requests[i], "call", n);
            quiet = fault_call_happened() != NULL ? 0 : quiet + 1;
        }
        assert_int_equal(ask(&healthy), 200);
    }
}

static void a_fault_within_a_request_is_answered_or_ends_its_connection(void **state)
{
    const struct request requests[] = {
        healthy,
        {.method = "HEAD", .target = "/healthz", .headers = "", .usual = 200},
        {.method = "GET", .target = "/v1/jobs?limit=1", .headers = "X-Request-Id: mine\r\nX-Empty:\r\n", .usual = 200},
        {.method = "GET", .target = "/no/such?x", .headers = "", .usual = 404},
        {.method = "GET", .target = "/metrics", .headers = "Accept-Encoding: gzip\r\n", .usual = 200},
        {.method = "POST",
         .target = "/v1/jobs",
         .headers = "Content-Type: application/json\r\n",
         .body = "{\"kind\":\"no-such\"}",
         .body_bytes = 18,
         .usual = 422},
        {.method = "POST",
         .target = "/v1/jobs",
         .headers = "Content-Type: application/json\r\n",
         .body = large,
         .body_bytes = LARGE,
         .usual = 413},
        {.method = "POST",
         .target = "/v1/imports",
         .headers = "Content-Type: application/octet-stream\r\n",
         .body = large,
         .body_bytes = LARGE,
         .usual = 422},
        {.method = "GET",
         .target = "/v1/events",
         .headers = "Accept: text/event-stream\r\n",
         .until = "\r\n\r\n",
         .usual = 200},
    };
    assert_true(begin("127.0.0.1:0"));
    sweep(requests, sizeof requests / sizeof requests[0]);
    end();
}

static void a_client_with_an_ipv6_address_is_served(void **state)
{
    settings.rate_limit = 100000;
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool there = fd >= 0 && bind(fd, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        (void)close(fd);
    if (!there) {
        print_message("skipped: this machine has no IPv6\n");
        return;
    }
    assert_true(begin("[::1]:0"));
    assert_int_equal(ask(&healthy), 200);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_within_a_request_is_answered_or_ends_its_connection),
        cmocka_unit_test(a_client_with_an_ipv6_address_is_served),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    fault_libraries();
    fault_spare_sqlite(true);
    if (signals_catch(NULL) != STATUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, setup, teardown);
}
