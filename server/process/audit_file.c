/* Appends lines to a file that other programs may rename, or sends them to syslog. */
#include "server/process/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "core/base/descriptor.h"

struct audit_file {
    const char *path;
    struct journal *journal;
    pthread_mutex_t lock;
    int fd; /* -1: syslog, or the file cannot be opened */
    bool syslog, failing;
};

static int open_end(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

enum status audit_file_open(const char *path, struct journal *journal, struct audit_file **file, struct error *err)
{
    struct audit_file *made = calloc(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return error_memory(err, "the audit log");
    }
    made->path = path;
    made->journal = journal;
    made->syslog = strcmp(path, AUDIT_SYSLOG) == 0;
    made->fd = made->syslog ? -1 : open_end(path);
    if (made->syslog)
        openlog("motifd", LOG_PID, LOG_AUTH);
    *file = made;
    if (made->syslog || made->fd >= 0)
        return STATUS_OK;
    return error_set(err, STATUS_IO, NULL, "--audit-log: %s: %s", path, strerror(errno));
}

void audit_file_close(struct audit_file *file)
{
    if (file == NULL)
        return;
    if (file->syslog)
        closelog();
    descriptor_close(&file->fd);
    (void)pthread_mutex_destroy(&file->lock);
    free(file);
}

/* Opens the file again if it is not the one of that name any more. */
static void follow_name(struct audit_file *file)
{
    struct stat open_one, named;
    if (file->fd >= 0 && fstat(file->fd, &open_one) == 0 && stat(file->path, &named) == 0 &&
        open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino)
        return;
    descriptor_close(&file->fd);
    file->fd = open_end(file->path);
}

void audit_file_line(struct audit_file *file, const char *line, size_t bytes)
{
    if (file->syslog) {
        syslog(LOG_INFO, "%.*s", (int)(bytes > 0 ? bytes - 1 : 0), line);
        return;
    }
    (void)pthread_mutex_lock(&file->lock);
    follow_name(file);
    bool ok = file->fd >= 0 && write(file->fd, line, bytes) == (ssize_t)bytes;
    if (!ok && !file->failing)
        journal_line(file->journal, LOG_LEVEL_ERROR, JOURNAL_SERVER, NULL, NULL,
                     "entries of the audit log cannot be written to %s: %s", file->path, strerror(errno));
    file->failing = !ok;
    (void)pthread_mutex_unlock(&file->lock);
}
