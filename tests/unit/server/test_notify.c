/* Tests the messages to the service manager: where they go, and how often it wants to hear that the daemon lives. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/process/notify.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

static void the_watchdog_gets_half_of_its_time(void **state)
{
    static const struct {
        const char *limit;
        int ms;
    } cases[] = {{"3000000", 1500},       {"0", 0},         {"-3000000", 0}, {"1000", 0}, {"much", 0},
                 {"7199999000", 3599999}, {"7200000000", 0}};
    char own[24];
    (void)snprintf(own, sizeof own, "%d", (int)getpid());
    (void)unsetenv("WATCHDOG_USEC");
    assert_int_equal(notify_watchdog_ms(), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(setenv("WATCHDOG_USEC", cases[i].limit, 1), 0);
        (void)unsetenv("WATCHDOG_PID");
        assert_int_equal(notify_watchdog_ms(), cases[i].ms);
        assert_int_equal(setenv("WATCHDOG_PID", own, 1), 0);
        assert_int_equal(notify_watchdog_ms(), cases[i].ms);
        assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0); /* the message is for another process */
        assert_int_equal(notify_watchdog_ms(), 0);
    }
}

static void a_message_reaches_the_manager(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char name[60], text[40] = "";
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int length = snprintf(name, sizeof name, "@motifd-notify-%d", (int)getpid());
    (void)snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%s", name + 1);
    assert_int_equal(bind(manager, (const struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    int descriptors = open_descriptors();
    notify_manager("READY=1");
    assert_int_equal(recv(manager, text, sizeof text, 0), 7);
    assert_string_equal(text, "READY=1");
    fault_call_after(0, EMFILE, false); /* without a descriptor, the daemon goes on without a message */
    notify_manager("STOPPING=1");
    assert_string_equal(fault_call_happened(), "socket");
    assert_int_equal(recv(manager, text, sizeof text, 0), -1);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(close(manager), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watchdog_gets_half_of_its_time),
        cmocka_unit_test(a_message_reaches_the_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
