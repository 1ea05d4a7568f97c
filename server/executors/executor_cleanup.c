/* Removes what mpirun leaves behind when SIGKILL ends it: its folder ompi.HOST.UID/pid.PID in the folder for temporary
 * files, and the memory that its ranks shared, /dev/shm/vader_segment.HOST.UID.*, 0.2 MB each. After any other end
 * mpirun removes both itself.
 *
 * The name of the folder contains the pid of mpirun. The name of a segment contains only a number of Open MPI's own. A
 * segment is ours when its name contains our user id, it is not older than the folder, and no process maps it any
 * more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/executors/executor_child.h"
#include "server/executors/executor_int.h"

#define SHARED "/dev/shm"
#define TRIES 30 /* number of attempts, because ranks may still be ending */
#define LOOK_MS 100

struct leftovers {
    char host[256];
    unsigned user;
    struct timespec since;
};

static bool younger(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec >= b->tv_nsec);
}

static int remove_one(const char *path, const struct stat *about, int what, struct FTW *where)
{
    (void)about, (void)where;
    (void)(what == FTW_DP ? rmdir(path) : unlink(path));
    return 0;
}

/* Returns whether a process maps the file. If the list of its mappings cannot be read, it may map the file, so the
 * result is true. A process that has ended or belongs to another user counts as not mapping it. */
static bool maps(const char *pid, const char *path)
{
    char name[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    (void)snprintf(name, sizeof name, "/proc/%.20s/maps", pid);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return errno != ENOENT && errno != ESRCH && errno != EACCES;
    while (!found && getline(&line, &room, file) > 0) {
        const char *at = strstr(line, path);
        found = at != NULL && at[strlen(path)] == '\n'; /* otherwise: a longer name, or a deleted file of this name */
    }
    found = found || (feof(file) == 0 && errno != ESRCH);
    free(line);
    (void)fclose(file);
    return found;
}

/* Returns whether a process may map the file. If not all processes can be listed, the file counts as in use and is not
 * removed. */
static bool in_use(const char *path)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return true;
    struct dirent *entry;
    bool found = false;
    for (errno = 0; !found && (entry = readdir(processes)) != NULL; errno = 0)
        found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && maps(entry->d_name, path);
    found = found || errno != 0;
    (void)closedir(processes);
    return found;
}

/* Removes the segments of the ranks. Returns how many are left because a process still uses them. */
static int sweep_shared(const struct leftovers *l)
{
    char prefix[320], path[640];
    int left = 0;
    (void)snprintf(prefix, sizeof prefix, "vader_segment.%s.%u.", l->host, l->user);
    DIR *folder = opendir(SHARED);
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat about;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        (void)snprintf(path, sizeof path, SHARED "/%s", entry->d_name);
        if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != l->user ||
            !younger(&about.st_mtim, &l->since))
            continue;
        if (in_use(path))
            left++;
        else
            (void)unlink(path);
    }
    (void)closedir(folder);
    return left;
}

void executor_clear_mpirun(pid_t pid)
{
    /* folders for temporary files, in the order in which Open MPI tries them */
    static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
    struct leftovers l = {.user = (unsigned)geteuid()};
    struct stat about;
    char parent[700], folder[760];
    const char *base = NULL;
    if (gethostname(l.host, sizeof l.host - 1) != 0)
        return;
    l.host[strcspn(l.host, ".")] = '\0';
    for (size_t i = 0; base == NULL && i < sizeof variables / sizeof variables[0]; i++)
        base = getenv(variables[i]);
    (void)snprintf(parent, sizeof parent, "%.400s/ompi.%s.%u", base != NULL ? base : "/tmp", l.host, l.user);
    (void)snprintf(folder, sizeof folder, "%s/pid.%d", parent, (int)pid);
    if (lstat(folder, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != l.user || child_begun(pid) != 0)
        return;              /* mpirun has removed the folder, or the pid belongs to another process now */
    l.since = about.st_mtim; /* the folder was last changed before the ranks started */
    for (int i = 0; i < TRIES && sweep_shared(&l) > 0; i++)
        child_sleep(LOOK_MS);
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    (void)rmdir(parent);
}
