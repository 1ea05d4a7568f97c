/* Writes the coverage counters of a process that ends without exit() or executes another program. coverage.sh links
 * this file into the programs that it builds. The cases are:
 *
 * - _exit() and exec*()
 * - a signal that the process raises itself (server/process/crash.c)
 * - a signal that the process does not catch (motifctl at ^C)
 *
 * Before fork() and exec*(), gcc inserts calls that write the counters, but not under -std=c11. If SIGKILL ends a
 * process, its counters are lost. Programs that catch a signal themselves behave as without this file. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
/* tests/support/fault.h and fault_calls.h declare these functions. They are weak: in a program without injected faults,
 * their addresses are NULL. dump() calls them first, to switch off a fault that would prevent the writing of the
 * counters. */
bool fault_happened(void) __attribute__((weak));
const char *fault_call_happened(void) __attribute__((weak));

void __wrap__exit(int status) __attribute__((noreturn));
void __real__exit(int status) __attribute__((noreturn));
int __wrap_execv(const char *path, char *const argv[]);
int __real_execv(const char *path, char *const argv[]);
int __wrap_execvp(const char *file, char *const argv[]);
int __real_execvp(const char *file, char *const argv[]);
pid_t __wrap_fork(void);
pid_t __real_fork(void);
int __wrap_raise(int number);
int __real_raise(int number);

/* Only the first call writes: a second call within the first would wait for gcov's lock forever. */
static atomic_flag written = ATOMIC_FLAG_INIT;

static void dump(void)
{
    if (fault_happened != NULL)
        (void)fault_happened();
    if (fault_call_happened != NULL)
        (void)fault_call_happened();
    __gcov_dump();
}

static void write_down(void)
{
    if (!atomic_flag_test_and_set(&written))
        dump();
}

void __wrap__exit(int status)
{
    write_down();
    __real__exit(status);
}

/* Writes the counters before execv(). If execv() fails and returns, sets the counters to zero, so that the next write
 * does not count them twice. The function is weak because a test may define its own (tests/unit/trainer/test_facts.c).
 */
int __attribute__((weak)) __wrap_execv(const char *path, char *const argv[])
{
    dump();
    int code = __real_execv(path, argv);
    __gcov_reset();
    return code;
}
int __wrap_execvp(const char *file, char *const argv[])
{
    dump();
    int code = __real_execvp(file, argv);
    __gcov_reset();
    return code;
}

/* Sets the counters of the child to zero, so that they count only what the child runs. */
pid_t __wrap_fork(void)
{
    pid_t pid = __real_fork();
    if (pid == 0)
        __gcov_reset();
    return pid;
}

/* Writes the counters before raise(). Weak because a test may define its own (tests/unit/server/test_crash.c). */
int __attribute__((weak)) __wrap_raise(int number)
{
    write_down();
    return __real_raise(number);
}

static void ended(int number)
{
    write_down();
    (void)signal(number, SIG_DFL);
    (void)__real_raise(number);
}

static void __attribute__((constructor)) begin(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            (void)signal(numbers[i], ended);
    }
}
