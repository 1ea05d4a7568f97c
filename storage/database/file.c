/* The database file as the file system sees it: which file is open, and whether its path still names it. If the daemon
 * continued after the file was moved or replaced, it would acknowledge jobs that its next start would not find. */
#include "storage/storage_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>

char *path_beside(const char *path, const char *ending)
{
    size_t bytes = strlen(path) + strlen(ending) + 1;
    char *text = malloc(bytes);
    if (text != NULL)
        (void)snprintf(text, bytes, "%s%s", path, ending);
    return text;
}

/* Opens the file, and creates it with private permissions if necessary, because the tables contain hashes of tokens.
 * Locks the file, so that no second process can open it under another name (a hard link). A network file system may
 * implement flock() with the kind of locks that SQLite uses, so the file is not locked there. The descriptor must stay
 * open until SQLite has closed the file: closing it earlier would release SQLite's own locks. */
enum status file_hold(struct storage *storage, struct error *err)
{
    struct stat what;
    storage->file_fd = open(storage->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (storage->file_fd < 0)
        return error_set(err, STATUS_IO, NULL, "cannot open the database file for writing: %s", strerror(errno));
    if (!storage->options.allow_network_fs && flock(storage->file_fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "another process has the database open, perhaps under another name: stop it first");
    if (fstat(storage->file_fd, &what) != 0)
        return error_set(err, STATUS_IO, NULL, "cannot read the properties of the database file: %s", strerror(errno));
    storage->file = (struct file_identity){true, what.st_dev, what.st_ino};
    return STATUS_OK;
}

/* The function that SQLite called before file_limits_are_full(). */
static sqlite3_syscall_ptr sqlite_pwrite;

static ssize_t pwrite_limited(int fd, const void *bytes, size_t count, off_t at)
{
    ssize_t written = ((ssize_t(*)(int, const void *, size_t, off_t))sqlite_pwrite)(fd, bytes, count, at);
    if (written < 0 && (errno == EFBIG || errno == EDQUOT))
        errno = ENOSPC;
    return written;
}

void file_limits_are_full(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    static const char *const names[] = {"pwrite", "pwrite64"}; /* SQLite uses one of them */
    for (size_t i = 0; vfs != NULL && vfs->iVersion >= 3 && i < sizeof names / sizeof names[0]; i++) {
        sqlite3_syscall_ptr now = vfs->xGetSystemCall(vfs, names[i]);
        if (now == NULL || now == (sqlite3_syscall_ptr)pwrite_limited)
            continue;
        sqlite_pwrite = now;
        (void)vfs->xSetSystemCall(vfs, names[i], (sqlite3_syscall_ptr)pwrite_limited);
    }
}

static bool still_names(const char *path, const struct file_identity *file)
{
    struct stat now;
    return !file->known || (stat(path, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode);
}

enum status file_in_place(const struct storage *storage, struct error *err)
{
    if (still_names(storage->path, &storage->file) && still_names(storage->wal_path, &storage->wal))
        return STATUS_OK;
    return error_set(
        err, STATUS_UNAVAILABLE, NULL,
        "the database file or its log was moved, replaced or deleted while it was in use: move it back, or "
        "stop the daemon and restore the file");
}

enum status file_identify_log(struct storage *storage, struct error *err)
{
    struct stat what;
    if (stat(storage->wal_path, &what) == 0)
        storage->wal = (struct file_identity){true, what.st_dev, what.st_ino};
    else if (status_unopened(errno) != STATUS_NOT_FOUND) /* the VFS of a test may have no such file */
        return error_set(err, STATUS_IO, NULL, "cannot read the properties of the write-ahead log: %s",
                         strerror(errno));
    return STATUS_OK;
}
