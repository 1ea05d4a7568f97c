/* Sends bytes that a well-behaved client never sends: requests with contradictory lengths, slow clients, and
 * connections that are closed on one side. */
#include "tests/wire/wire.h"

#include <sys/socket.h>
#include <unistd.h>

static struct daemon_process served;

static int setup(void **state)
{
    static const char *const args[] = {
        "--header-timeout-ms", "700", "--idle-timeout-ms", "1500", "--body-grace-ms", "500", NULL};
    daemon_init(&served);
    return daemon_start(&served, args, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

#define HOST "Host: localhost\r\n"
#define STATUS(request) raw_status(served.port, request, sizeof(request) - 1, NULL, 0)

/* Waits until the daemon has noticed that the connections of the earlier test have ended. Until then they count
 * against the limit of connections per address. On a busy machine this takes a while. */
static void await_quiet(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(20))
        if (raw_status(served.port, request, sizeof request - 1, NULL, 0) == 200)
            return;
    fail_msg("the daemon answers nobody");
}

/* Asserts that the daemon answers other clients. */
static void assert_alive(void)
{
    struct reply reply;
    get(served.url, "/healthz", &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
}

static void malformed_heads_are_refused(void **state)
{
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n\r\n"), 400); /* a request without the header Host */
    /* a Host of another site, as in a DNS rebinding attack */
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
    /* a request with two Host headers */
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "Host: 127.0.0.1\r\n\r\n"), 400);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "X Y: 1\r\n\r\n"), 400);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n"), 400);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "X: \0b\r\n\r\n"), 400);
    /* a header that is folded over two lines */
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "X: a\r\n b\r\nY: c\r\n\r\n"), 400);
    /* lines that end with LF instead of CR LF */
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\nHost: localhost\nX: a\n\n"), 400);
    assert_int_equal(STATUS("GET /healthz HTTP/1.1\r\n" HOST "X:\r\nY:  c \r\nZ:\td\r\n\r\n"), 200);
    assert_int_equal(STATUS("GET /a%00b HTTP/1.1\r\n" HOST "\r\n"), 400);
    assert_int_equal(STATUS("GET /v1/jobs/%zz HTTP/1.1\r\n" HOST "\r\n"), 400);
    assert_int_equal(STATUS("BREW /healthz HTTP/1.1\r\n" HOST "\r\n"), 501);
    assert_int_equal(STATUS("OPTIONS /healthz HTTP/1.1\r\n" HOST "\r\n"), 405);
    assert_int_equal(STATUS("TRACE /v1/jobs HTTP/1.1\r\n" HOST "\r\n"), 405);
    assert_alive();
}

static void contradictory_framing_is_refused(void **state)
{
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
                     400);
    assert_int_equal(
        STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length : 5\r\n\r\nhello"), 400);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"), 400);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello"), 400);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\nhello"), 400);
    assert_int_equal(STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Expect: miracles\r\nContent-Length: 5\r\n\r\nhello"),
                     417);
    int overflow = STATUS("POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n");
    assert_true(overflow == 400 || overflow == 413);
    assert_alive();
}

/* When a request has contradictory lengths, the daemon must not parse the bytes after its head as another request. */
static void bytes_after_doubtful_framing_are_no_request(void **state)
{
    static const char request[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 4\r\nContent-Length: 44\r\n\r\nabcd"
        "GET /v1/system HTTP/1.1\r\n" HOST "\r\n";
    char text[16384];
    int fd = raw_connect(served.port);
    assert_true(raw_send(fd, request, sizeof request - 1));
    (void)raw_read(fd, text, sizeof text, 20000);
    assert_non_null(strstr(text, "HTTP/1.1 400"));
    assert_non_null(strstr(text, "onnection: close"));
    assert_null(strstr(text, "HTTP/1.1 200"));
    assert_true(raw_closed(fd, 2000));
    (void)close(fd);
}

static void heads_that_are_too_long_are_refused(void **state)
{
    static char request[80000], text[16384];
    int size = snprintf(request, sizeof request, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", 5000, 0);
    assert_int_equal(raw_status(served.port, request, (size_t)size, text, sizeof text), 414);
    assert_non_null(strstr(text, "application/problem+json"));
    size = snprintf(request, sizeof request, "GET /healthz HTTP/1.1\r\n" HOST "X: %0*d\r\n\r\n", 17000, 0);
    assert_int_equal(raw_status(served.port, request, (size_t)size, text, sizeof text), 431);
    assert_non_null(strstr(text, "application/problem+json"));
    size = snprintf(request, sizeof request, "GET /healthz HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 120; i++)
        size += snprintf(request + size, sizeof request - (size_t)size, "X-%d: 1\r\n", i);
    size += snprintf(request + size, sizeof request - (size_t)size, "\r\n");
    assert_int_equal(raw_status(served.port, request, (size_t)size, text, sizeof text), 431);
    /* A head that exceeds the memory of a connection is refused by the parser of libmicrohttpd. */
    size = snprintf(request, sizeof request, "GET /healthz HTTP/1.1\r\n" HOST "X: %0*d\r\n\r\n", 70000, 0);
    int status = raw_status(served.port, request, (size_t)size, text, sizeof text);
    assert_true(status == 431 || status == 413);
    assert_alive();
}

/* The daemon refuses a request before its body arrives when the body is too long to drop, or when the client asks
 * for permission to send it (Expect: 100-continue). The daemon reads and drops a short body, because closing the
 * connection early would reset it before the client has read the answer. */
static void large_refused_bodies_are_not_read(void **state)
{
    static const char head[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n";
    static const char expects[] = "POST /v1/jobs HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                                  "Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n";
    static const char typed[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: text/html\r\nContent-Length: 10\r\n\r\n0123456789";
    static char text[16384];
    assert_int_equal(raw_status(served.port, head, sizeof head - 1, text, sizeof text), 413);
    assert_non_null(strstr(text, "onnection: close"));
    assert_int_equal(raw_status(served.port, expects, sizeof expects - 1, text, sizeof text), 413);
    assert_null(strstr(text, "100 Continue"));
    assert_int_equal(raw_status(served.port, typed, sizeof typed - 1, text, sizeof text), 415);
    assert_null(strstr(text, "onnection: close"));

    /* A chunked body does not announce its length, so the daemon closes the connection once the body is too long. */
    int fd = raw_connect(served.port);
    static const char chunked[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    static char chunk[65536 + 16];
    int size = snprintf(chunk, sizeof chunk, "10000\r\n%065536d\r\n", 0);
    bool open = raw_send(fd, chunked, sizeof chunked - 1);
    int chunks = 0;
    for (; open && chunks < 1024; chunks++)
        open = raw_send(fd, chunk, (size_t)size);
    assert_false(open); /* the daemon closed the connection before it had read 64 MiB */
    (void)close(fd);
    assert_alive();
}

static void chunked_bodies_work(void **state)
{
    static const char good[] = "POST /v1/jobs?dry_run=1 HTTP/1.1\r\n" HOST
                               "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "10\r\n{\"kind\":\"sparlin\r\n3\r\ng\"}\r\n0\r\n\r\n";
    static const char bad[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n";
    int status = STATUS(good);
    assert_int_equal(status, 200);
    assert_int_equal(STATUS(bad), 400);
    assert_alive();
}

static void expect_continue_is_answered(void **state)
{
    static const char head[] = "POST /v1/jobs?dry_run=1 HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                               "Content-Type: application/json\r\nContent-Length: 19\r\n\r\n";
    char text[32768];
    int fd = raw_connect(served.port);
    assert_true(raw_send(fd, head, sizeof head - 1));
    assert_true(raw_await(fd, text, sizeof text, "100 Continue"));
    assert_true(raw_send(fd, "{\"kind\":\"sparling\"}", 19));
    assert_true(raw_await(fd, text, sizeof text, "HTTP/1.1 200"));
    (void)close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    static const char two[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\nGET /v1/kinds HTTP/1.1\r\n" HOST
                              "\r\nGET /nowhere HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    static char text[1 << 20]; /* for the answer of /v1/kinds */
    int fd = raw_connect(served.port);
    assert_true(raw_send(fd, two, sizeof two - 1));
    assert_true(raw_await(fd, text, sizeof text, "HTTP/1.1 404"));
    const char *first = strstr(text, "HTTP/1.1 200");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "HTTP/1.1 200"));
    (void)close(fd);
}

static void a_half_closed_connection_gets_its_answer(void **state)
{
    static const char request[] = "GET /v1/kinds HTTP/1.1\r\n" HOST "\r\n";
    static char text[262144];
    int fd = raw_connect(served.port);
    assert_true(raw_send(fd, request, sizeof request - 1));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    (void)raw_read(fd, text, sizeof text, 20000);
    /* The client gets the whole answer or nothing, never a broken answer. */
    assert_true(text[0] == '\0' || strstr(text, "HTTP/1.1 200") == text);
    (void)close(fd);
    assert_alive();
}

static void an_early_close_does_no_harm(void **state)
{
    static const char *const pieces[] = {"",
                                         "GET",
                                         "GET /v1/jobs HTTP/1.1\r\nHo",
                                         "POST /v1/jobs HTTP/1.1\r\n" HOST
                                         "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"ki",
                                         "GET /v1/kinds HTTP/1.1\r\n" HOST "\r\n",
                                         "GET /openapi.json HTTP/1.1\r\n" HOST "\r\n"};
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            int fd = raw_connect(served.port);
            assert_true(fd >= 0);
            (void)raw_send(fd, pieces[i], strlen(pieces[i]));
            (void)close(fd); /* close the connection before the daemon can deliver the answers */
        }
        await_quiet();
    }
    assert_alive();
}

/* ---- slow clients ------------------------------------------------------------------------------------ */

/* Upper limit in seconds for the daemon to cut a slow client, whose deadline is about a second. It is generous, because
 * a busy machine runs the daemon late. */
#define CUT_MOST 60.0

/* Sends `start`, and then `piece` every `gap_ms` until the server closes the connection. Returns the seconds until
 * then. */
static double drip(const char *start, const char *piece, int gap_ms, double limit)
{
    int fd = raw_connect(served.port);
    double begun = now_seconds();
    bool open = raw_send(fd, start, strlen(start));
    for (size_t i = 0; open && now_seconds() - begun < limit; i++)
        open = raw_send(fd, &piece[i % strlen(piece)], 1) && !raw_closed(fd, gap_ms);
    (void)close(fd);
    return now_seconds() - begun;
}

static void slow_heads_are_cut(void **state)
{
    double took = drip("GET /healthz HTTP/1.1\r\n" HOST "X: ", "a", 50, CUT_MOST);
    assert_true(took > 0.6 && took < CUT_MOST);
    took = drip("", "G", 50, CUT_MOST);
    assert_true(took > 0.6 && took < CUT_MOST);
    /* The deadline of a second request starts at its own first byte. */
    took = drip("GET /healthz HTTP/1.1\r\n" HOST "\r\nGET /hea", "l", 50, CUT_MOST);
    assert_true(took > 0.6 && took < CUT_MOST);
    assert_alive();
}

static void slow_bodies_are_cut(void **state)
{
    static const char head[] =
        "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n";
    double took = drip(head, " ", 50, CUT_MOST); /* 20 bytes a second, too slow for a body of 5000 bytes */
    assert_true(took > 0.4 && took < CUT_MOST);
    assert_alive();
}

static void slow_readers_are_cut(void **state)
{
    /* Sends many requests and reads nothing: the answers do not fit into the socket's buffers. */
    static char request[65536];
    int size = 0, small = 2048, fd = raw_connect(served.port);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 1200; i++)
        size += snprintf(request + size, sizeof request - (size_t)size, "GET /openapi.json HTTP/1.1\r\n" HOST "\r\n");
    (void)raw_send(fd, request, (size_t)size);
    double begun = now_seconds();
    bool cut = false;
    while (!cut && now_seconds() - begun < CUT_MOST) {
        cut = send(fd, "\r\n", 2, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && now_seconds() - begun > 0.2;
        sleep_ms(50);
    }
    (void)close(fd);
    assert_true(cut);
    assert_alive();
}

static void idle_connections_are_closed(void **state)
{
    char text[4096];
    int fresh = raw_connect(served.port), used = raw_connect(served.port);
    double begun = now_seconds();
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
    assert_true(raw_send(used, request, sizeof request - 1));
    assert_true(raw_await(used, text, sizeof text, "HTTP/1.1 200"));
    assert_true(raw_closed(fresh, (int)(1000 * CUT_MOST)));
    assert_true(raw_closed(used, (int)(1000 * CUT_MOST)));
    assert_true(now_seconds() - begun > 1.2);
    (void)close(fresh);
    (void)close(used);
}

/* Many slow clients are connected at once. The daemon must answer other clients before it disconnects the slow ones,
 * and must disconnect all slow clients. */
static void many_slow_clients_do_not_delay_others(void **state)
{
    enum { COUNT = 100, ASKED = 21 };
    int fds[COUNT], quick = 0;
    for (int i = 0; i < COUNT; i++) {
        fds[i] = raw_connect(served.port);
        (void)raw_send(fds[i], "GET /", 5);
    }
    for (int i = 0; i < ASKED; i++) {
        int last = raw_connect(served.port);
        (void)raw_send(last, "GET /", 5);
        assert_alive();
        quick += !raw_closed(last, 0);
        (void)close(last);
    }
    /* the daemon has answered at least once before it cut a slow client that had connected earlier */
    assert_true(quick > 0);
    for (int i = 0; i < COUNT; i++) {
        assert_true(raw_closed(fds[i], (int)(1000 * CUT_MOST)));
        (void)close(fds[i]);
    }
}

static void connections_per_address_are_limited(void **state)
{
    enum { COUNT = 60, LIMIT = 40 };
    static const char *const args[] = {"--connections-per-address", "40", NULL};
    struct daemon_process other;
    int fds[COUNT], refused = 0;
    daemon_init(&other);
    assert_true(daemon_start(&other, args, NULL));
    for (int i = 0; i < COUNT; i++)
        fds[i] = raw_connect(other.port);
    for (double until = now_seconds() + PATIENCE; refused < COUNT - LIMIT && now_seconds() < until; sleep_ms(20)) {
        refused = 0;
        for (int i = 0; i < COUNT; i++)
            refused += fds[i] < 0 || raw_closed(fds[i], 0);
    }
    for (int i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    assert_int_equal(refused, COUNT - LIMIT);
    assert_int_equal(daemon_stop(&other), 0);
    daemon_close(&other, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_heads_are_refused),
        cmocka_unit_test(contradictory_framing_is_refused),
        cmocka_unit_test(bytes_after_doubtful_framing_are_no_request),
        cmocka_unit_test(heads_that_are_too_long_are_refused),
        cmocka_unit_test(large_refused_bodies_are_not_read),
        cmocka_unit_test(chunked_bodies_work),
        cmocka_unit_test(expect_continue_is_answered),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_half_closed_connection_gets_its_answer),
        cmocka_unit_test(an_early_close_does_no_harm),
        cmocka_unit_test(slow_heads_are_cut),
        cmocka_unit_test(slow_bodies_are_cut),
        cmocka_unit_test(slow_readers_are_cut),
        cmocka_unit_test(idle_connections_are_closed),
        cmocka_unit_test(many_slow_clients_do_not_delay_others),
        cmocka_unit_test(connections_per_address_are_limited),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
