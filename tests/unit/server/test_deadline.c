/* Tests that a process that shuts down ends at its deadline even when its threads do not end, and that a second signal
 * ends it at once. */
#include "server/process/deadline.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/process/signals.h"

#define STOPPED 7 /* exit code of a child whose deadline was stopped */

/* Starts a child that calls deadline_start() and then never ends by itself. Sends it the signal `number` (0:
 * none). With `stop`, the child stops the deadline. Returns the exit code of the child. */
static int end_of(int64_t ms, int number, bool stop)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error err = {0};
        struct journal *journal = NULL;
        if (signals_catch(&err) != STATUS_OK || journal_open(&journal, STDERR_FILENO, LOG_LEVEL_ERROR, &err))
            _exit(99);
        deadline_start(journal, ms);
        if (number != 0)
            (void)kill(getpid(), number);
        if (stop) {
            deadline_stop();
            _exit(STOPPED);
        }
        for (;;)
            (void)pause();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void the_process_ends_at_its_deadline(void **state)
{
    (void)state;
    assert_int_equal(end_of(100, 0, false), 0);
    assert_int_equal(end_of(100, SIGUSR1, false), 0);
    assert_int_equal(end_of(100, SIGHUP, false), 0);
}

static void a_second_signal_ends_the_process_at_once(void **state)
{
    (void)state;
    assert_int_equal(end_of(3600000, SIGTERM, false), 1);
    assert_int_equal(end_of(3600000, SIGINT, false), 1);
}

static void a_stopped_deadline_ends_nothing(void **state)
{
    (void)state;
    assert_int_equal(end_of(3600000, 0, true), STOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_process_ends_at_its_deadline),
        cmocka_unit_test(a_second_signal_ends_the_process_at_once),
        cmocka_unit_test(a_stopped_deadline_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
