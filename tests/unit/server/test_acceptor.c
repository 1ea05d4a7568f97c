/* Tests the thread that accepts connections: it hands each one over, lets them wait while the server is full, and
 * closes the listening socket at its end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <unistd.h>

#include "server/http/acceptor.h"
#include "tests/support/unit.h"

struct seen {
    _Atomic int taken;
    _Atomic bool full;
};

static void take(void *context, int descriptor, const struct sockaddr *peer, socklen_t bytes)
{
    struct seen *seen = context;
    assert_int_equal(peer->sa_family, AF_INET);
    assert_int_equal(bytes, sizeof(struct sockaddr_in));
    (void)close(descriptor);
    seen->taken++;
}

static bool full(void *context)
{
    struct seen *seen = context;
    return seen->full;
}

static int listener_on(struct sockaddr_in *address)
{
    socklen_t bytes = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)address, bytes), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)address, &bytes), 0);
    return listener;
}

static int connect_to(const struct sockaddr_in *address)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = connect(descriptor, (const struct sockaddr *)address, sizeof *address);
    int code = errno;
    (void)close(descriptor);
    return failed != 0 ? code : 0;
}

static void wait_for(const _Atomic int *count, int wanted)
{
    for (int i = 0; i < 5000 && *count < wanted; i++)
        (void)usleep(1000);
    assert_int_equal(*count, wanted);
}

static void connections_are_handed_over_until_the_end(void **state)
{
    struct seen seen = {0};
    struct sockaddr_in address;
    struct acceptor *acceptor = NULL;
    struct error err = {0};
    int listener = listener_on(&address);
    assert_int_equal(acceptor_start(&listener, &(struct acceptor_calls){take, full, &seen}, &acceptor, &err),
                     STATUS_OK);
    assert_int_equal(listener, -1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(connect_to(&address), 0);
    wait_for(&seen.taken, 20);
    acceptor_stop(acceptor);
    assert_int_equal(connect_to(&address), ECONNREFUSED);
    acceptor_stop(NULL);
}

static void connections_wait_while_the_server_is_full(void **state)
{
    struct seen seen = {.full = true};
    struct sockaddr_in address;
    struct acceptor *acceptor = NULL;
    struct error err = {0};
    int listener = listener_on(&address);
    assert_int_equal(acceptor_start(&listener, &(struct acceptor_calls){take, full, &seen}, &acceptor, &err),
                     STATUS_OK);
    assert_int_equal(connect_to(&address), 0);
    (void)usleep(100000);
    assert_int_equal(seen.taken, 0);
    seen.full = false;
    wait_for(&seen.taken, 1);
    seen.full = true;
    acceptor_stop(acceptor); /* ends without delay while it waits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_handed_over_until_the_end),
        cmocka_unit_test(connections_wait_while_the_server_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
