/* Tests that the process of a conversion, after it has entered its sandbox, can only read and write the files that are
 * open. Each attempt is made in a child process, because there is no way out of the sandbox. */
#include "convert/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static int file;

static bool refused(long result)
{
    return result < 0 && errno == EPERM;
}

static bool opens_no_file(void)
{
    struct stat facts;
    return refused(open("/etc/passwd", O_RDONLY)) && refused(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY)) &&
           refused(stat("/etc/passwd", &facts)) && refused(unlink("/tmp/none")) && refused(memfd_create("x", 0));
}

static bool makes_no_socket(void)
{
    int ends[2];
    return refused(socket(AF_INET, SOCK_STREAM, 0)) && refused(socket(AF_UNIX, SOCK_STREAM, 0)) &&
           refused(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static bool starts_no_process(void)
{
    char *const none[] = {NULL};
    return refused(syscall(SYS_fork)) && refused(syscall(SYS_clone, SIGCHLD, NULL)) &&
           refused(execve("/bin/true", none, none)) && refused(kill(getppid(), 0)) &&
           refused(prctl(PR_SET_DUMPABLE, 1));
}

static bool gets_no_executable_memory(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && refused(mprotect(page, 4096, PROT_READ | PROT_EXEC)) &&
           mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
           munmap(page, 4096) == 0;
}

static bool reads_and_writes_what_is_open(void)
{
    char bytes[4] = "";
    return lseek(file, 0, SEEK_END) == 6 && pread(file, bytes, 3, 2) == 3 && memcmp(bytes, "cde", 3) == 0 &&
           write(STDERR_FILENO, "", 0) == 0;
}

static bool gets_little_memory(void)
{
#ifdef MOTIF_SANITIZED
    return true; /* no limit in this build, because sanitizers reserve terabytes of address space */
#else
    void *volatile small = malloc((size_t)64 << 20), *volatile large = malloc((size_t)SANDBOX_MEMORY_MIB << 20);
    return small != NULL && large == NULL;
#endif
}

static bool writes_no_file(void)
{
    return pwrite(file, "x", 1, 0) < 0;
}

/* Calls `attempt` in a child process inside the sandbox. Fails the test unless `attempt` returns true. */
static void try(bool (*attempt)(void))
{
    pid_t child = fork();
    if (child == 0) {
        struct error err = {0};
        if (attempt == writes_no_file)
            (void)signal(SIGXFSZ, SIG_IGN); /* by default, the signal would end the process */
        _exit(sandbox_enter(6, &err) != STATUS_OK ? 2 : attempt() ? 0 : 1);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TRY(name)                                                                                                      \
    static void a_conversion_##name(void **state)                                                                      \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        try(name);                                                                                                     \
    }
TRY(opens_no_file)
TRY(makes_no_socket)
TRY(starts_no_process)
TRY(gets_no_executable_memory)
TRY(reads_and_writes_what_is_open)
TRY(gets_little_memory)
TRY(writes_no_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversion_opens_no_file),
        cmocka_unit_test(a_conversion_makes_no_socket),
        cmocka_unit_test(a_conversion_starts_no_process),
        cmocka_unit_test(a_conversion_gets_no_executable_memory),
        cmocka_unit_test(a_conversion_reads_and_writes_what_is_open),
        cmocka_unit_test(a_conversion_gets_little_memory),
        cmocka_unit_test(a_conversion_writes_no_file),
    };
    file = memfd_create("file", MFD_CLOEXEC);
    if (file < 0 || write(file, "abcdef", 6) != 6)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
