/* Tests child processes: their environment and input, their output line by line, and how they end. Also tests programs
 * that do not exist, and missing descriptors and memory. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/executors/executor_child.h"
#include "tests/support/fault.h"

/* The next waits fail with `wait_code`. */
static int wait_failures, wait_code;
pid_t __real_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options)
{
    errno = wait_code;
    return wait_failures > 0 && wait_failures-- > 0 ? -1 : __real_waitpid(pid, how, options);
}
int __real_waitid(idtype_t type, id_t id, siginfo_t *what, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *what, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *what, int options)
{
    errno = wait_code;
    return wait_failures > 0 && wait_failures-- > 0 ? -1 : __real_waitid(type, id, what, options);
}

struct lines {
    char text[4096];
    int count;
};

static void hear(void *context, const char *line)
{
    struct lines *lines = context;
    size_t used = strlen(lines->text);
    snprintf(lines->text + used, sizeof lines->text - used, "%s|", line);
    lines->count++;
}

/* Runs `sh -c SCRIPT` until it ends. */
static struct child run(const char *script, const char *variable, const char *input, bool listen, struct lines *lines)
{
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    const struct child_how how = {arguments, NULL, variable, input, listen};
    struct child child = {0};
    struct error err = {0};
    memset(lines, 0, sizeof *lines);
    if (child_spawn(&how, &child, &err))
        fail_msg("%s", err.message);
    for (int i = 0; !child_wait(&child, 100, hear, lines); i++)
        assert_true(i < 600);
    child_reap(&child, hear, lines);
    assert_true(child.fd == -1 && child.words == -1);
    return child;
}

static void a_child_gets_arguments_environment_and_input(void **state)
{
    struct lines lines;
    assert_int_equal(setenv("MOTIFD_TOKEN", "secret", 1), 0);
    assert_int_equal(setenv("MOTIF_TRAIN_TOKEN", "another's", 1), 0);
    assert_int_equal(setenv("MOTIFD_TOKENS", "no token", 1), 0);
    struct child child =
        run("read a; echo \"$a,$MOTIFD_TOKEN,$MOTIF_TRAIN_TOKEN,$MOTIFD_TOKENS\"; ls /proc/self/fd | wc -l",
            "MOTIF_TRAIN_TOKEN=its own", "a word\n", true, &lines);
    /* the child has four descriptors: the three standard ones, and one that ls has opened to read the folder */
    assert_string_equal(lines.text, "a word,,its own,no token|4|");
    assert_int_equal(child.code, 0);
    /* Without input, standard input is empty. The child has a process group of its own. */
    (void)run("read a || echo nothing; test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo alone", NULL, NULL, true,
              &lines);
    assert_string_equal(lines.text, "nothing|alone|");
    /* Without `listen`, the parent does not read the output. */
    child = run("exit 3", NULL, NULL, false, &lines);
    assert_true(child.code == 3 && lines.count == 0);
    assert_string_equal(child.death, "the trainer ended with exit code 3 and gave no reason");
    assert_string_equal(child.signal, "");
}

static void output_arrives_line_by_line(void **state)
{
    struct lines lines;
    char wanted[CHILD_LINE + 1];
    /* The parent reads standard output and standard error. It drops empty lines and lines of '-' and '='. It also takes
     * a last line without a line feed. */
    struct child child =
        run("printf 'one\\r\\n\\n -- == --\\ntwo\\n'; echo three >&2; printf four", NULL, NULL, true, &lines);
    assert_string_equal(lines.text, "one|two|three|four|");
    /* A line of more than CHILD_LINE - 1 characters is split. */
    child = run("printf 'x%.0s' $(seq 600); echo", NULL, NULL, true, &lines);
    assert_int_equal(lines.count, 3);
    memset(wanted, 'x', CHILD_LINE - 1);
    wanted[CHILD_LINE - 1] = '|';
    wanted[CHILD_LINE] = '\0';
    assert_memory_equal(lines.text, wanted, CHILD_LINE);
    assert_int_equal(strlen(lines.text), 600 + 3);
    /* `death` says why the child ended. It quotes the last line of output that contains "motif-train" or mpirun's words
     * "noticed that". */
    child =
        run("echo motif-train: not enough memory; echo motif-train: lost; echo bye; exit 7", NULL, NULL, true, &lines);
    assert_string_equal(child.death, "the trainer ended with exit code 7 and gave no reason: motif-train: lost");
    child = run("echo 'mpirun noticed that process rank 1 exited'; kill -SEGV $$", NULL, NULL, true, &lines);
    assert_non_null(strstr(child.death, "SIGSEGV ("));
    assert_non_null(strstr(child.death, ": mpirun noticed that process rank 1 exited"));
    assert_true(child.code == -1 && strcmp(child.signal, "SIGSEGV") == 0);
    /* The function that receives the lines may be NULL. */
    const char *const arguments[] = {"/bin/echo", "motif-train: a word", NULL};
    const struct child_how how = {arguments, NULL, NULL, NULL, true};
    assert_int_equal(child_spawn(&how, &child, NULL), STATUS_OK);
    while (!child_wait(&child, 100, NULL, NULL)) {
    }
    child_reap(&child, NULL, NULL);
    assert_string_equal(child.reason, "motif-train: a word");
}

/* Shells and mpirun report the signal of a program that they started as an exit code above 128. The parent reports such
 * a code as the name of the signal. */
static void exit_codes_above_128_are_signals(void **state)
{
    static const struct {
        int code;
        const char *signal;
    } codes[] = {{128, ""}, {129, "SIGHUP"}, {137, "SIGKILL"}, {143, "SIGTERM"}, {128 + 33, "SIG?"}, {255, ""}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct lines lines;
        char script[32];
        snprintf(script, sizeof script, "exit %d", codes[i].code);
        struct child child = run(script, NULL, NULL, true, &lines);
        assert_string_equal(child.signal, codes[i].signal);
        assert_true(child.code == codes[i].code &&
                    (strstr(child.death, ") ended the trainer") != NULL) == (codes[i].signal[0] != '\0'));
    }
}

static void child_kill_ends_the_child(void **state)
{
    const char *const arguments[] = {"/bin/sleep", "1000", NULL};
    const struct child_how how = {arguments, NULL, NULL, NULL, true};
    struct child child;
    assert_int_equal(child_spawn(&how, &child, NULL), STATUS_OK);
    unsigned long long begun = child_begun(child.pid);
    assert_true(begun > 0 && begun == child_begun(child.pid));
    assert_false(child_wait(&child, 1, NULL, NULL));
    child_kill(&child);
    child_reap(&child, NULL, NULL);
    assert_string_equal(child.signal, "SIGKILL");
    assert_int_equal(child_begun(child.pid), 0);
    assert_true(child_begun(getpid()) > 0 && child_begun(getpid()) <= begun);
    /* Signals that the daemon blocks have their default action in the child. */
    sigset_t all, before;
    sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_BLOCK, &all, &before), 0);
    (void)signal(SIGTERM, SIG_IGN);
    struct lines lines;
    child = run("kill -TERM $$; echo alive", NULL, NULL, true, &lines);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    (void)signal(SIGTERM, SIG_DFL);
    assert_string_equal(child.signal, "SIGTERM");
    assert_int_equal(lines.count, 0);
}

static void a_missing_program_is_reported(void **state)
{
    const char *const arguments[] = {"/no/such/program", NULL};
    const struct child_how how = {arguments, NULL, NULL, "input", true};
    struct child child;
    struct error err = {0};
    assert_int_equal(child_spawn(&how, &child, &err), STATUS_UNAVAILABLE);
    assert_string_equal(err.message, "/no/such/program cannot be started: No such file or directory");
    assert_true(child.fd == -1 && child.words == -1);
    fault_after(0);
    assert_int_equal(child_spawn(&how, &child, &err), STATUS_NO_MEMORY);
    assert_true(fault_happened());
}

/* Each round allows one more descriptor. The parent can also wait for a child for which it could not open a pidfd. */
static void missing_descriptors_are_reported_and_nothing_leaks(void **state)
{
    const char *const arguments[] = {"/bin/sh", "-c", "read a; echo \"$a\"", NULL}, *const plain[] = {"/bin/sh", "-c",
                                                                                                      "exit 4", NULL};
    struct rlimit usual;
    int held[8], refusals = 0; /* the child closes these eight descriptors, so it can open eight others */
    for (int i = 0; i < 8; i++)
        held[i] = dup(0);
    int lowest = dup(0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (int more = 0; more < 8; more++) {
        const struct child_how how = {arguments, NULL, NULL, "word\n", true};
        const struct rlimit few = {(rlim_t)(lowest + more), usual.rlim_max};
        struct child child;
        struct lines lines = {0};
        struct error err = {0};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        enum status status = child_spawn(&how, &child, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (status != STATUS_OK) {
            assert_true(status == STATUS_UNAVAILABLE && child.fd == -1);
            refusals++;
        } else {
            while (!child_wait(&child, 20, hear, &lines)) {
            }
            child_reap(&child, hear, &lines);
            assert_true(child.code == 0 && lines.count == 1);
            assert_string_equal(lines.text, "word|");
        }
        int again = dup(0);
        assert_int_equal(again, lowest); /* the parent has no more open descriptors than before */
        close(again);
    }
    assert_int_equal(refusals, 4);
    const struct child_how how = {plain, NULL, NULL, NULL, false};
    const struct rlimit few = {(rlim_t)lowest, usual.rlim_max};
    struct child child;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum status status = child_spawn(&how, &child, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_true(status == STATUS_OK && child.fd == -1);
    while (!child_wait(&child, 20, NULL, NULL)) {
    }
    child_reap(&child, NULL, NULL);
    assert_int_equal(child.code, 4);
    for (int i = 0; i < 8; i++)
        close(held[i]);
}

/* If a signal interrupts the wait for a child, the wait is repeated, and the exit code is not lost. If somebody else
 * has reaped the child, it counts as ended and has the code -1. */
static void waits_that_a_signal_ends_are_repeated(void **state)
{
    const char *const arguments[] = {"/bin/sh", "-c", "exit 5", NULL};
    const struct child_how how = {arguments, NULL, NULL, NULL, false};
    struct child child;
    assert_int_equal(child_spawn(&how, &child, NULL), STATUS_OK);
    wait_code = EINTR;
    wait_failures = 2;
    child_reap(&child, NULL, NULL);
    assert_int_equal(child.code, 5);
    assert_int_equal(wait_failures, 0);
    assert_int_equal(child_spawn(&how, &child, NULL), STATUS_OK);
    int fd = child.fd;
    child.fd = -1; /* as without a pidfd */
    wait_code = ECHILD;
    wait_failures = 1;
    assert_true(child_wait(&child, 1, NULL, NULL));
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    child_reap(&child, NULL, NULL); /* must return, although the child was reaped above */
    assert_int_equal(child.code, -1);
    assert_string_equal(child.death, "the trainer's process was lost, and its exit code with it");
    close(fd);
}

/* The trace of the request replaces a trace in the daemon's own environment. */
static void a_child_gets_the_trace_of_its_job(void **state)
{
    const char *const arguments[] = {"/bin/sh", "-c", "echo \"$TRACEPARENT\"", NULL};
    struct child_how how = {arguments, "TRACEPARENT=of the job", NULL, NULL, true};
    assert_int_equal(setenv("TRACEPARENT", "of the daemon", 1), 0);
    for (int i = 0; i < 2; i++) {
        struct child child;
        struct lines lines = {0};
        assert_int_equal(child_spawn(&how, &child, NULL), STATUS_OK);
        while (!child_wait(&child, 100, hear, &lines)) {
        }
        child_reap(&child, hear, &lines);
        assert_string_equal(lines.text, i == 0 ? "of the job|" : "");
        how.trace = NULL;
    }
    assert_int_equal(unsetenv("TRACEPARENT"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_gets_arguments_environment_and_input),
                                       cmocka_unit_test(output_arrives_line_by_line),
                                       cmocka_unit_test(exit_codes_above_128_are_signals),
                                       cmocka_unit_test(child_kill_ends_the_child),
                                       cmocka_unit_test(a_missing_program_is_reported),
                                       cmocka_unit_test(waits_that_a_signal_ends_are_repeated),
                                       cmocka_unit_test(a_child_gets_the_trace_of_its_job),
                                       cmocka_unit_test(missing_descriptors_are_reported_and_nothing_leaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
