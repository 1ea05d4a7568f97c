/* Tests the report of a crash: a file next to the database that contains the signal, the address, the job and the
 * last lines of the log. A normal end leaves no report. Each test runs in a child process. The test program replaces
 * raise() (linker option --wrap=raise), so that the child exits where the signal would end it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/process/crash.h"

#define RAISED 100
#define LOG_LINE "a line"
#define LOG_LINES 4000

static char folder[64], base[96], path[128], output[128], report[65536];

int __wrap_raise(int number);
int __wrap_raise(int number)
{
    exit(RAISED + number);
}

static bool no_keys; /* true: pthread_setspecific() fails */
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return no_keys ? ENOMEM : __real_pthread_setspecific(key, value);
}

static int setup(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/motifd_crash_XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(base, sizeof base, "%s/motifd.db", folder);
    (void)snprintf(path, sizeof path, "%s.crash", base);
    (void)snprintf(output, sizeof output, "%s/stderr", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)unlink(path);
    (void)unlink(output);
    return rmdir(folder);
}

/* Reads a file into `report`. Returns false if there is no such file. */
static bool read_text(const char *name)
{
    FILE *file = fopen(name, "r");
    size_t got = file != NULL ? fread(report, 1, sizeof report - 1, file) : 0;
    report[got] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return file != NULL;
}

static bool read_report(void)
{
    return read_text(path);
}

/* Runs `act` in a child process that has called crash_prepare(), and reads the report. Returns the exit code of
 * the child. */
static int in_child(void (*act)(void))
{
    struct error err = {0};
    int status = 0;
    (void)unlink(path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (crash_prepare(base, "9.9.9 of a test", &err) != STATUS_OK)
            exit(1);
        act();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    (void)read_report();
    return WEXITSTATUS(status);
}

static void read_nowhere(void)
{
    volatile const char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)page[7];
}

static void abort_in_a_job(void)
{
    char line[64];
    for (int i = 0; i < 400; i++) { /* more lines of the log than the process remembers */
        int size = snprintf(line, sizeof line, "line %03d of the log\n", i);
        crash_note(line, (unsigned long)size);
    }
    crash_job("01JD8CRASH");
    (void)kill(getpid(), SIGABRT);
}

static void send_itself(void)
{
    (void)kill(getpid(), SIGBUS);
    (void)pause();
}

static void *write_a_log(void *context)
{
    for (int i = 0; i < LOG_LINES; i++)
        if (write(STDERR_FILENO, LOG_LINE "\n", sizeof LOG_LINE) != sizeof LOG_LINE)
            break;
    return NULL;
}

/* Aborts while another thread writes lines to standard error, which is a file here. */
static void abort_beside_a_log(void)
{
    pthread_t thread;
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct stat about = {0};
    if (file < 0 || dup2(file, STDERR_FILENO) < 0 || pthread_create(&thread, NULL, write_a_log, NULL) != 0)
        exit(1);
    while (about.st_size == 0 && fstat(file, &about) == 0) {
    }
    (void)kill(getpid(), SIGABRT);
}

static void end_well(void)
{
    crash_note("", 0);
    crash_thread();
    crash_finish();
}

static void the_report_contains_the_address_of_the_fault(void **state)
{
    assert_int_equal(in_child(read_nowhere), RAISED + SIGSEGV);
    assert_int_equal(strncmp(report, "motifd ended by SIGSEGV at address 0x", 37), 0);
    assert_non_null(strstr(report, "\nbuild: 9.9.9 of a test\n"));
    assert_non_null(strstr(report, ", no job\n"));
    assert_non_null(strstr(report, "\ncode:\n"));
    assert_non_null(strstr(report, "test_crash"));
    char *tail = strstr(report, "end of the report\n");
    assert_non_null(tail);
    assert_string_equal(tail, "end of the report\n");
}

static void the_report_contains_the_job_and_the_last_log_lines(void **state)
{
    assert_int_equal(in_child(abort_in_a_job), RAISED + SIGABRT);
    assert_int_equal(strncmp(report, "motifd ended by SIGABRT sent by process ", 40), 0);
    assert_non_null(strstr(report, ", job 01JD8CRASH\n"));
    assert_non_null(strstr(report, "line 399 of the log\nend of the report\n"));
    assert_null(strstr(report, "line 000 of the log"));
}

static void the_report_contains_the_sender_of_the_signal(void **state)
{
    char sender[64];
    assert_int_equal(in_child(send_itself), RAISED + SIGBUS);
    assert_int_equal(sscanf(report, "motifd ended by SIGBUS sent by process %63[0-9]", sender), 1);
}

static void lines_of_other_threads_do_not_split_a_line_of_the_report(void **state)
{
    for (int i = 0; i < 20; i++) {
        bool first = false, last = false;
        assert_int_equal(in_child(abort_beside_a_log), RAISED + SIGABRT);
        assert_true(read_text(output));
        for (char *line = strtok(report, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            assert_null(strstr(line + 1, LOG_LINE)); /* no line of the log begins within another line */
            first = first || strncmp(line, "motifd ended by SIGABRT sent by process ", 40) == 0;
            last = last || strcmp(line, "end of the report") == 0;
        }
        assert_true(first && last);
    }
}

static void a_normal_end_removes_the_report(void **state)
{
    assert_int_equal(in_child(end_well), 0);
    assert_false(read_report());
}

/* A normal end does not remove the report of an earlier crash. */
static void an_earlier_report_survives_a_normal_end(void **state)
{
    assert_int_equal(in_child(send_itself), RAISED + SIGBUS);
    pid_t child = fork();
    if (child == 0) {
        struct error err = {0};
        (void)crash_prepare(base, "9.9.9 of a test", &err);
        crash_finish();
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read_report());
    assert_non_null(strstr(report, "SIGBUS"));
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    static char far[8192];
    struct error err = {0};
    memset(far, 'x', sizeof far - 1);
    assert_int_equal(crash_prepare(far, "", &err), STATUS_LIMIT);
}

/* When the report cannot be created, the process runs without it, and a crash signal still ends it. */
static void signal_ends_the_process_also_when_no_report_can_be_written(void **state)
{
    struct error err = {0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)crash_prepare("/no/such/folder/motifd.db", "", &err);
        (void)kill(getpid(), SIGBUS);
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), RAISED + SIGBUS);
}

#if !defined(__SANITIZE_ADDRESS__)
static void *look_for_stack(void *context)
{
    stack_t now;
    crash_thread();
    *(bool *)context = sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0;
    return NULL;
}

/* crash_thread() gives a thread an alternate stack for signal handlers. If pthread_setspecific() cannot record this
 * stack, crash_thread() frees it. The freed stack must then not be registered with sigaltstack() any more. */
static void a_thread_has_a_stack_for_handlers_or_none(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        bool with = false, without = true;
        pthread_t thread;
        bool ready = crash_prepare(base, "a build", NULL) == STATUS_OK;
        ready = ready && pthread_create(&thread, NULL, look_for_stack, &with) == 0 && pthread_join(thread, NULL) == 0;
        no_keys = true;
        ready =
            ready && pthread_create(&thread, NULL, look_for_stack, &without) == 0 && pthread_join(thread, NULL) == 0;
        _exit(ready && with && !without ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(the_report_contains_the_address_of_the_fault),
        cmocka_unit_test(the_report_contains_the_job_and_the_last_log_lines),
        cmocka_unit_test(the_report_contains_the_sender_of_the_signal),
        cmocka_unit_test(lines_of_other_threads_do_not_split_a_line_of_the_report),
        cmocka_unit_test(a_normal_end_removes_the_report),
        cmocka_unit_test(an_earlier_report_survives_a_normal_end),
        cmocka_unit_test(signal_ends_the_process_also_when_no_report_can_be_written),
#if !defined(__SANITIZE_ADDRESS__) /* AddressSanitizer gives each thread its own stack for signals */
        cmocka_unit_test(a_thread_has_a_stack_for_handlers_or_none),
#endif
    };
    return cmocka_run_group_tests_name("crash", tests, setup, teardown);
}
