/* Starts and ends the whole daemon in this process, while one allocation or one system call of the start fails. The
 * daemon must serve, or end with an error message and exit code 1 or 2; either way it keeps no descriptor and leaves no
 * report of a crash. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/daemon.h"
#include "server/process/signals.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"
#include "tests/support/printed.h"

static char folder[] = "/tmp/motifd-daemon-start-XXXXXX";
static struct settings usual; /* static, because it is too large for the stack */
static char out[200], log_text[20000];

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    settings_defaults(&usual);
    (void)snprintf(usual.listen, sizeof usual.listen, "127.0.0.1:0");
    (void)snprintf(usual.db, sizeof usual.db, "%s/d.db", folder);
    (void)snprintf(usual.data, sizeof usual.data, "%s/data", folder);
    (void)snprintf(usual.executors, sizeof usual.executors, "thread");
    (void)snprintf(usual.notify_url, sizeof usual.notify_url, "http://127.0.0.1:9/");
    (void)snprintf(usual.notify_secret, sizeof usual.notify_secret, "0123456789abcdef");
    usual.http_threads = usual.handler_threads = usual.workers = usual.evaluators = 1;
    return mkdir(usual.data, 0700);
}

static int teardown(void **state)
{
    static const char *const names[] = {"d.db", "d.db-wal", "d.db-shm", "d.db-lock", "d.db.crash"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(usual.data);
    return rmdir(folder);
}

/* Sends this process a SIGTERM and starts the daemon, which ends as soon as it reads the signal. Returns the exit code;
 * `out` and `log_text` receive what it printed. */
static int serve(const struct settings *settings, void (*arm)(int n), int n)
{
    struct printed first = printed_begin(STDOUT_FILENO), second = printed_begin(STDERR_FILENO);
    (void)kill(getpid(), SIGTERM);
    if (arm != NULL)
        arm(n);
    int code = daemon_serve(settings);
    printed_end(&first, out, sizeof out);
    printed_end(&second, log_text, sizeof log_text);
    return code;
}

/* Reads the signal that a failed start has left unread. */
static void forget_signals(void)
{
    while (signals_wait(0) != 0) {
    }
}

static void is_sound(int code, int descriptors, const char *call)
{
    char report[200];
    bool listening = strncmp(out, "listening on http://127.0.0.1:", 30) == 0;
    forget_signals();
    if (code == 0 ? !listening && out[0] != '\0' : strstr(log_text, "motifd: ") == NULL || code > 2)
        fail_msg("exit code %d, output '%s', log: %s", code, out, log_text);
    if (open_descriptors() != descriptors)
        fail_msg("%d descriptors and not %d: %s", open_descriptors(), descriptors, log_text);
    (void)snprintf(report, sizeof report, "%s/d.db.crash", folder);
    /* the daemon leaves the report if it cannot read the size of the report */
    if (unlink(report) == 0 && (call == NULL || strcmp(call, "lseek64") != 0))
        fail_msg("a report of a crash is left after a failure of %s: %s", call != NULL ? call : "nothing", log_text);
}

static void the_daemon_serves_until_a_signal(void **state)
{
    (void)serve(&usual, NULL, 0);
    forget_signals();
    int descriptors = open_descriptors();
    int code = serve(&usual, NULL, 0);
    assert_int_equal(code, 0);
    is_sound(code, descriptors, NULL);
    assert_non_null(strstr(log_text, "drained: ending"));
}

static void fail_allocation(int n)
{
    fault_spare_others(true);
    fault_spare_sqlite(true);
    fault_after(n);
}

static void fail_call(int n)
{
    fault_call_after(n, EMFILE, false);
}

static void a_failing_allocation_is_reported(void **state)
{
    int failed = 0, descriptors = open_descriptors();
    for (int n = 0;; n++) {
        int code = serve(&usual, fail_allocation, n);
        bool happened = fault_happened();
        is_sound(code, descriptors, NULL);
        assert_true(happened || code == 0);
        if (!happened)
            break;
        failed += code != 0;
    }
    assert_true(failed > 10);
}

static void a_failing_call_is_reported(void **state)
{
    int failed = 0, descriptors = open_descriptors();
    for (int n = 0;; n++) {
        int code = serve(&usual, fail_call, n);
        const char *call = fault_call_happened();
        is_sound(code, descriptors, call);
        assert_true(call != NULL || code == 0);
        if (call == NULL)
            break;
        failed += code != 0;
    }
    assert_true(failed > 10);
}

static void settings_that_do_not_fit_together_are_usage_faults(void **state)
{
    static struct settings wrong;
    static const struct {
        size_t at;
        const char *value, *says;
    } cases[] = {
        {offsetof(struct settings, kernels), "abacus", "--kernels abacus"},
        {offsetof(struct settings, executors), "process", "motif-train is not in the folder"},
        {offsetof(struct settings, listen), "0.0.0.0:0", "a bearer token is needed"},
        {offsetof(struct settings, tls_key), "/no/such", "go together"},
        {offsetof(struct settings, notify_secret), "whsec_!!", "is not base64"},
        {offsetof(struct settings, notify_secret), "whsec_AAAA", "MOTIFD_NOTIFY_SECRET"},
    };
    int descriptors = open_descriptors();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wrong = usual;
        (void)snprintf((char *)&wrong + cases[i].at, SETTINGS_TEXT, "%s", cases[i].value);
        int code = serve(&wrong, NULL, 0);
        is_sound(code, descriptors, NULL);
        if (code != 2 || strstr(log_text, cases[i].says) == NULL)
            fail_msg("exit code %d: %s", code, log_text);
    }
    wrong = usual;
    wrong.threads_per_token = 1;
    wrong.threads_per_job = 2;
    int code = serve(&wrong, NULL, 0);
    is_sound(code, descriptors, NULL);
    assert_int_equal(code, 2);
}

static void the_largest_and_the_smallest_number_of_handlers_serve(void **state)
{
    static struct settings other;
    int descriptors = open_descriptors();
    other = usual;
    other.handler_threads = 8;
    other.http_threads = 4;
    other.notify_url[0] = '\0';
    (void)snprintf(other.listen, sizeof other.listen, "[::1]:0");
    (void)snprintf(other.trainer_url, sizeof other.trainer_url, "http://127.0.0.1:80");
    (void)snprintf(other.log_level, sizeof other.log_level, "nonsense");
    int code = serve(&other, NULL, 0);
    forget_signals();
    if (code == 0)
        assert_non_null(strstr(out, "listening on http://[::1]:"));
    else /* a machine without IPv6 */
        assert_non_null(strstr(log_text, "cannot listen on ::1"));
    assert_int_equal(open_descriptors(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_serves_until_a_signal),
        cmocka_unit_test(a_failing_allocation_is_reported),
        cmocka_unit_test(a_failing_call_is_reported),
        cmocka_unit_test(settings_that_do_not_fit_together_are_usage_faults),
        cmocka_unit_test(the_largest_and_the_smallest_number_of_handlers_serve),
    };
    fault_libraries();
    if (signals_catch(NULL) != STATUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, setup, teardown);
}
