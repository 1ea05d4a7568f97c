/* Tests that the daemon removes what a killed mpirun left, and nothing else. It must not remove folders or memory of
 * other processes, memory that is older than the folder of mpirun, or memory that a process still maps. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

#include "tests/support/unit.h"
#include "server/executors/executor_int.h"
#include "tests/support/fault_calls.h"

static char root[] = "/tmp/motifd-cleanup-XXXXXX", host[64];
static bool nameless; /* the machine has no name */
static bool hasty;    /* the cleanup does not wait between its attempts */
static int waits;     /* number of waits since the start of the program */

/* Returns a host name that occurs only in the names of this test's shared memory. */
int __wrap_gethostname(char *name, size_t bytes);
int __wrap_gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "%s.example", host);
    return nameless ? -1 : 0;
}

/* Counts the waits of the cleanup. If `hasty` is true, does not wait. */
void __real_child_sleep(int ms);
void __wrap_child_sleep(int ms);
void __wrap_child_sleep(int ms)
{
    waits++;
    if (!hasty)
        __real_child_sleep(ms);
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

/* A rank still maps shared memory when mpirun has been killed. The cleanup must remove the memory only after the rank
 * has ended. The rank ends after the cleanup has looked twice. It notices each look by a segment that nobody maps and
 * that the look therefore removes. */
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

/* Starts a process that maps the file of `fd` until it is killed. */
static pid_t map_for_ever(int fd)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t rank = fork();
    if (rank == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must leave no process */
        if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
            (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return rank;
}

static void end_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The cleanup gives up after a bounded number of attempts, and leaves what is still in use. */
static void memory_that_a_rank_keeps_is_not_removed(void **state)
{
    char folder[500], kept[400], longer[400], again[400];
    pid_t pid = nobody();
    make_folder(pid, folder);
    int fd = make_segment(NULL, (unsigned)geteuid(), "10", -1, kept);
    pid_t rank = map_for_ever(fd);
    /* The cleanup must remove two files that no process maps: `longer`, whose name is the beginning of the name of a
     * mapped file, and the new file `again`, which has the name of a mapped file that was deleted. */
    snprintf(longer, sizeof longer, "%s", kept);
    longer[strlen(longer) - 1] = '\0';
    int other = open(longer, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(other >= 0 && close(other) == 0);
    close(fd);
    fd = make_segment(NULL, (unsigned)geteuid(), "11", -1, again);
    pid_t second = map_for_ever(fd);
    close(fd);
    assert_int_equal(unlink(again), 0);
    close(make_segment(NULL, (unsigned)geteuid(), "11", -1, again));
    hasty = true;
    waits = 0;
    executor_clear_mpirun(pid);
    assert_int_equal(waits, 30);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(longer, F_OK), -1);
    assert_int_equal(access(again, F_OK), -1);
    assert_int_equal(access(folder, F_OK), -1);
    hasty = false;
    end_process(rank);
    end_process(second);
    assert_int_equal(unlink(kept), 0);
}

/* If /proc cannot be read, or only in part, nobody knows which memory is in use, so all memory must stay. In each
 * round, a system call and all later ones fail: from the first call, the second, and so on to the 25th, and then from
 * every 97th. */
static void memory_stays_if_it_is_unknown_whether_it_is_in_use(void **state)
{
    static const int codes[] = {EMFILE, EIO};
    char folder[500], kept[400], name[600];
    /* the segment stays younger than the folders that the loop makes */
    int fd = make_segment(NULL, (unsigned)geteuid(), "12", -3600, kept), failed = 0;
    pid_t rank = map_for_ever(fd);
    close(fd);
    hasty = true;
    for (int at = 0;; at += at < 24 ? 1 : 97) {
        pid_t pid = nobody();
        make_folder(pid, folder);
        fault_call_after(at, codes[at % 2], true);
        executor_clear_mpirun(pid);
        const char *call = fault_call_happened();
        if (access(kept, F_OK) != 0)
            fail_msg("mapped memory was removed after call %d, %s, had failed", at, call != NULL ? call : "none");
        snprintf(name, sizeof name, "rm -rf '%s'", parent());
        assert_int_equal(system(name), 0);
        failed += call != NULL;
        if (call == NULL || at > 3000)
            break;
    }
    assert_true(failed > 24);
    hasty = false;
    end_process(rank);
    assert_int_equal(unlink(kept), 0);
}

/* The cleanup leaves a segment that is older than the folder of this mpirun, even by one nanosecond. */
static void memory_that_is_older_than_the_folder_stays(void **state)
{
    char folder[500], paths[3][400];
    struct stat about;
    pid_t pid = nobody();
    make_folder(pid, folder);
    assert_int_equal(stat(folder, &about), 0);
    for (int i = 0; i < 3; i++) {
        char rest[8];
        snprintf(rest, sizeof rest, "1%d", 3 + i);
        int fd = make_segment(NULL, (unsigned)geteuid(), rest, 0, paths[i]);
        struct timespec times[2] = {{about.st_mtim.tv_sec, 500}, {about.st_mtim.tv_sec, 499 + i}};
        assert_int_equal(futimens(fd, times), 0);
        close(fd);
    }
    struct timespec times[2] = {{about.st_mtim.tv_sec, 500}, {about.st_mtim.tv_sec, 500}};
    assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);
    if (geteuid() == 0) /* a segment with our name that belongs to another user, which only root can make */
        assert_int_equal(chown(paths[2], 65534, 65534), 0);
    executor_clear_mpirun(pid);
    assert_int_equal(access(paths[0], F_OK), 0);
    assert_int_equal(access(paths[1], F_OK), -1);
    assert_int_equal(access(paths[2], F_OK), geteuid() == 0 ? 0 : -1);
    (void)unlink(paths[0]);
    (void)unlink(paths[2]);
}

/* Without TMPDIR, TEMP and TMP, Open MPI uses /tmp. On a machine without a name, nothing is removed. */
static void tmp_is_the_folder_without_variables(void **state)
{
    char folder[500], name[400];
    pid_t pid = nobody();
    unsetenv("TMPDIR");
    snprintf(name, sizeof name, "/tmp/ompi.%s.%u", host, (unsigned)geteuid());
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(folder, sizeof folder, "%s/pid.%d", name, (int)pid);
    assert_int_equal(mkdir(folder, 0700), 0);
    nameless = true;
    executor_clear_mpirun(pid);
    assert_int_equal(access(folder, F_OK), 0);
    nameless = false;
    executor_clear_mpirun(pid);
    assert_int_equal(access(name, F_OK), -1);
    setenv("TMPDIR", root, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leftovers_of_a_killed_mpirun_are_removed),
                                       cmocka_unit_test(files_of_others_stay),
                                       cmocka_unit_test(memory_of_an_ending_rank_is_removed_after_it_ends),
                                       cmocka_unit_test(memory_that_a_rank_keeps_is_not_removed),
                                       cmocka_unit_test(memory_stays_if_it_is_unknown_whether_it_is_in_use),
                                       cmocka_unit_test(memory_that_is_older_than_the_folder_stays),
                                       cmocka_unit_test(tmp_is_the_folder_without_variables)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
