/* Tests that the daemon removes what a killed mpirun left, and nothing else. It must not remove folders or memory of
 * other processes, memory that is older than the folder of mpirun, or memory that a process still maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/executors/executor_int.h"

static char root[] = "/tmp/motifd-cleanup-XXXXXX", host[64];

/* Returns a host name that occurs only in the names of this test's shared memory. */
int __wrap_gethostname(char *name, size_t bytes);
int __wrap_gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "%s.example", host);
    return 0;
}

static int setup(void **state)
{
    if (access("/dev/shm", W_OK) != 0 || mkdtemp(root) == NULL)
        return -1;
    snprintf(host, sizeof host, "motifd-%d", (int)getpid());
    return setenv("TMPDIR", root, 1);
}

static int teardown(void **state)
{
    return rmdir(root); /* fails if the test left a file in the folder */
}

/* Returns the pid of a process that has just ended. */
static pid_t nobody(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static const char *parent(void)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/ompi.%s.%u", root, host, (unsigned)geteuid());
    return path;
}

/* Makes the folder that an mpirun with this pid would have, with a folder and files in it. */
static void make_folder(pid_t pid, char path[500])
{
    char name[600];
    (void)mkdir(parent(), 0700);
    snprintf(path, 500, "%s/pid.%d", parent(), (int)pid);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(name, sizeof name, "%s/1", path);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof name, "%s/1/contact.txt", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    snprintf(name, sizeof name, "%s/2", path);
    assert_int_equal(symlink("/etc", name), 0); /* the cleanup must remove the link and not follow it */
}

/* Makes a segment of shared memory. `host_name` NULL: the name of this machine. `age`: its age in seconds. */
static int make_segment(const char *host_name, unsigned user, const char *rest, int age, char path[400])
{
    snprintf(path, 400, "/dev/shm/vader_segment.%s.%u.%s-%d", host_name ? host_name : host, user, rest, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
    struct timespec now, times[2];
    clock_gettime(CLOCK_REALTIME, &now);
    times[0] = times[1] = (struct timespec){now.tv_sec - age, now.tv_nsec};
    assert_int_equal(futimens(fd, times), 0);
    return fd;
}

static void leftovers_of_a_killed_mpirun_are_removed(void **state)
{
    char folder[500], ours[400], older[400], other_host[400], other_user[400], name[400];
    pid_t pid = nobody();
    make_folder(pid, folder);
    unsigned user = (unsigned)geteuid();
    close(make_segment(NULL, user, "1", -1, ours));
    close(make_segment(NULL, user, "2", 3600, older));
    close(make_segment("another-host", user, "3", -1, other_host));
    close(make_segment(NULL, user + 1, "4", -1, other_user));
    snprintf(name, sizeof name, "/dev/shm/vader_segment.%s.%u.5-%d", host, user, (int)getpid());
    assert_int_equal(mkdir(name, 0700), 0); /* a folder with the name of a segment, which the cleanup must leave */
    executor_clear_mpirun(pid);
    assert_int_equal(access(folder, F_OK), -1);
    assert_int_equal(access(parent(), F_OK), -1);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    assert_int_equal(access(ours, F_OK), -1);
    assert_int_equal(unlink(older), 0);
    assert_int_equal(unlink(other_host), 0);
    assert_int_equal(unlink(other_user), 0);
    assert_int_equal(rmdir(name), 0);
}

/* The cleanup leaves the folder of a running process, a link with the name of such a folder, and the folder of
 * another user. */
static void files_of_others_stay(void **state)
{
    char folder[500], segment[400], name[600];
    pid_t pid = nobody();
    close(make_segment(NULL, (unsigned)geteuid(), "6", -1, segment));
    /* no folder of this mpirun exists, as if mpirun had removed it, so the cleanup does not search for shared memory */
    executor_clear_mpirun(pid);
    assert_int_equal(access(segment, F_OK), 0);
    make_folder(getpid(), folder);
    executor_clear_mpirun(getpid());
    assert_int_equal(access(folder, F_OK), 0);
    assert_int_equal(access(segment, F_OK), 0);
    snprintf(name, sizeof name, "%s/pid.%d", parent(), (int)pid);
    assert_int_equal(symlink(folder, name), 0);
    executor_clear_mpirun(pid);
    assert_int_equal(unlink(name), 0);
    if (geteuid() == 0) { /* the cleanup must leave a folder of another user, which only root can make */
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(chown(name, 65534, 65534), 0);
        executor_clear_mpirun(pid);
        assert_int_equal(rmdir(name), 0);
    }
    assert_int_equal(access(segment, F_OK), 0);
    /* Open MPI may also use other folders for temporary files. The cleanup removes the same files there, and no
     * others. */
    unsetenv("TMPDIR");
    setenv("TEMP", root, 1);
    snprintf(name, sizeof name, "%s/pid.%d", parent(), (int)pid);
    assert_int_equal(mkdir(name, 0700), 0);
    executor_clear_mpirun(pid);
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(access(segment, F_OK), -1);
    assert_int_equal(access(folder, F_OK), 0);
    setenv("TMPDIR", root, 1);
    unsetenv("TEMP");
    snprintf(name, sizeof name, "rm -r '%s'", parent());
    assert_int_equal(system(name), 0);
}

/* Waits until another process has removed the file. */
static void await_removal(const char *path)
{
    while (access(path, F_OK) == 0)
        (void)usleep(1000);
}

/* Shared memory that a rank still maps is removed only after the rank has ended. The rank ends after the cleanup has
 * looked twice: each look removes a segment that nobody maps. The second of these segments appears after the first has
 * gone, so the first look has ended when the second segment goes. */
static void memory_of_an_ending_rank_is_removed_after_it_ends(void **state)
{
    char folder[500], segment[400];
    pid_t pid = nobody();
    make_folder(pid, folder);
    int fd = make_segment(NULL, (unsigned)geteuid(), "7", -1, segment), ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t rank = fork();
    if (rank == 0) {
        char unused[400];
        void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        for (int look = 0; look < 2; look++) {
            close(make_segment(NULL, (unsigned)geteuid(), look == 0 ? "8" : "9", -1, unused));
            if (look == 0)
                (void)!write(ready[1], "x", 1);
            await_removal(unused);
        }
        _exit(at == MAP_FAILED || access(segment, F_OK) != 0); /* the memory is still there when the rank ends */
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    close(fd);
    executor_clear_mpirun(pid);
    assert_int_equal(access(segment, F_OK), -1);
    assert_int_equal(access(folder, F_OK), -1);
    int status;
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leftovers_of_a_killed_mpirun_are_removed),
                                       cmocka_unit_test(files_of_others_stay),
                                       cmocka_unit_test(memory_of_an_ending_rank_is_removed_after_it_ends)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
