/* Tests what happens when a crash signal ends the daemon. The daemon leaves a report, its exit status is that of the
 * signal, and its jobs continue at the next start. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/wire/wire.h"

#define NAME "a-name-that-nobody-should-read"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    (void)!fread(text, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    return text;
}

static void assert_says(const char *report, const char *part)
{
    if (report == NULL || strstr(report, part) == NULL)
        fail_msg("no '%s' in\n%s", part, report != NULL ? report : "nothing");
}

static void a_crash_signal_leaves_a_report_and_jobs_continue(void **state)
{
    static const struct {
        int number;
        const char *name;
    } cases[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct daemon_process served;
        char id[JOB_ID], path[128], expected[80];
        daemon_init(&served);
        (void)snprintf(path, sizeof path, "%s.crash", served.db);
        assert_true(daemon_start(&served, NULL, NULL));
        submit_tiny(served.url, 4000000, ",\"name\":\"" NAME "\"", id);
        await_state(served.url, id, "running");
        daemon_signal(&served, cases[i].number);
        assert_int_equal(daemon_wait(&served, 20000), 128 + cases[i].number);
        char *report = read_file(path), *log = read_file(served.log);
        (void)snprintf(expected, sizeof expected, "motifd ended by %s sent by process %d\n", cases[i].name,
                       (int)getpid());
        assert_says(report, expected);
        assert_says(report, "build: 0.");
        assert_says(report, "stack:\n  0x");
        assert_says(report, "/motifd\n");
        assert_says(report, "workers of"); /* the beginning of a line of the log */
        assert_says(report, "end of the report\n");
        assert_says(log, expected);
        assert_null(strstr(report, NAME));
        free(report);
        free(log);
        assert_true(daemon_start(&served, NULL, NULL)); /* the job is in the database and continues */
        await_state(served.url, id, "running");
        assert_int_equal(daemon_stop(&served), 0);
        struct stat file;
        assert_int_equal(stat(path, &file), 0); /* the report stays until somebody has read it */
        assert_int_equal(file.st_mode & 0777, 0600);
        daemon_close(&served, false);
    }
}

static void a_normal_end_leaves_no_report(void **state)
{
    struct daemon_process served;
    char path[128];
    struct stat file;
    daemon_init(&served);
    (void)snprintf(path, sizeof path, "%s.crash", served.db);
    assert_true(daemon_start(&served, NULL, NULL));
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(daemon_stop(&served), 0);
    assert_int_equal(stat(path, &file), -1);
    daemon_close(&served, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_crash_signal_leaves_a_report_and_jobs_continue),
                                       cmocka_unit_test(a_normal_end_leaves_no_report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
