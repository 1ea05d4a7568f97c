/* Reads a database from outside and leaves nothing beside it. */
#include "storage/database/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "storage/storage_int.h"

#define BUSY_MS 5000
#define SHARED_USERS                                                                                                   \
    128 /* byte of FILE-shm that every process that has the file open locks (SQLite: unixShmSystemLock) */

static enum status exists(const char *path, bool *there, struct error *err)
{
    struct stat facts;
    *there = lstat(path, &facts) == 0;
    return *there || errno == ENOENT
               ? STATUS_OK
               : error_set(err, STATUS_IO, NULL, "the files beside the database cannot be examined");
}

/* Whether a file is empty or does not exist. */
static bool is_empty(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? facts.st_size == 0 : errno == ENOENT;
}

/* Returns the path as an URI of a file that nobody changes; NULL: no memory. The caller frees it. */
static char *unchanging(const char *path)
{
    static const char figures[] = "0123456789abcdef", before[] = "file:", after[] = "?immutable=1";
    char *uri = malloc(3 * strlen(path) + sizeof before + sizeof after), *to = uri;
    if (uri == NULL)
        return NULL;
    to += sprintf(to, "%s", before);
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;
        if (c == '%' || c == '?' || c == '#') {
            *to++ = '%';
            *to++ = figures[c >> 4];
            *to++ = figures[c & 15];
        } else {
            *to++ = *path;
        }
    }
    memcpy(to, after, sizeof after);
    return uri;
}

/* Begins the transaction and makes the first read, which opens the log. */
static enum status begin(struct visit *visit, struct error *err)
{
    int64_t pages;
    sqlite3_busy_timeout(visit->db.handle, BUSY_MS);
    sqlite3_db_config(visit->db.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    enum status status = db_exec(&visit->db, "PRAGMA query_only=ON; BEGIN", err);
    return status ? status : db_integer(&visit->db, &pages, 0, err, "SELECT count(*) FROM sqlite_schema", "");
}

/* Opens a file in a folder that cannot be written. Nobody changes the file, because its log cannot be there either. */
static enum status open_unchanging(struct visit *visit, const char *path, const struct log_hook *hook,
                                   struct error *err)
{
    char *uri = unchanging(path);
    if (uri == NULL)
        return error_memory(err, "the name of the database");
    db_close(&visit->db);
    error_clear(err);
    enum status status = db_open(&visit->db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL, hook, err);
    free(uri);
    return status ? status : begin(visit, err);
}

enum status visit_open(struct visit *visit, const char *path, const struct log_hook *hook, struct error *err)
{
    *visit = (struct visit){
        .log = path_beside(path, "-wal"), .shared = path_beside(path, "-shm"), .lock = path_beside(path, "-lock")};
    if (visit->log == NULL || visit->shared == NULL || visit->lock == NULL)
        return error_memory(err, "the name of the database");
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the file does not exist");
    enum status status = exists(visit->log, &visit->had_log, err);
    if (!status)
        status = exists(visit->shared, &visit->had_shared, err);
    if (status)
        return status;
    status = db_open(&visit->db, path, SQLITE_OPEN_READONLY, NULL, hook, err);
    if (!status)
        status = begin(visit, err);
    int code = visit->db.last_code & 0xff;
    if (status && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && is_empty(visit->log) &&
        access(path, R_OK) == 0)
        status = open_unchanging(visit, path, hook, err);
    return status;
}

/* Whether no other process reads or writes the database now. Without its shared file nobody can. */
static bool is_unused(int shared, int code)
{
    if (shared < 0)
        return code == ENOENT || code == EISDIR;
    struct flock users = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHARED_USERS, .l_len = 1};
    return fcntl(shared, F_SETLK, &users) == 0;
}

/* Removes the files that this visit made, unless a daemon or another visit uses them now. */
static void remove_made(const struct visit *visit)
{
    int lock = open(visit->lock, O_RDWR | O_CLOEXEC);
    bool unlocked = lock >= 0 ? flock(lock, LOCK_EX | LOCK_NB) == 0 : errno == ENOENT;
    int shared = open(visit->shared, O_RDWR | O_CLOEXEC);
    if (unlocked && is_unused(shared, errno)) {
        if (!visit->had_shared)
            (void)unlink(visit->shared);
        if (!visit->had_log && is_empty(visit->log))
            (void)unlink(visit->log);
    }
    descriptor_close(&shared);
    descriptor_close(&lock);
}

void visit_close(struct visit *visit)
{
    bool opened = visit->db.handle != NULL;
    db_close(&visit->db);
    if (opened && (!visit->had_log || !visit->had_shared))
        remove_made(visit);
    free(visit->log);
    free(visit->shared);
    free(visit->lock);
    *visit = (struct visit){.log = NULL};
}
