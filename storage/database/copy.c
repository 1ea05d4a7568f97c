/* Copies a database while it may be in use, checks the copy completely, and then gives it its final name. Used for
 * backup and restore. */
#include "storage/database/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/database/visit.h"
#include "storage/storage_int.h"
#include "core/base/descriptor.h"

#define PAGES_A_STEP 512

struct copying {
    const struct storage_copy_options *options;
    struct visit from;
    struct db copy;
    char first[200]; /* the first fault of the copy */
    char *part;      /* temporary name of the copy until all checks have succeeded */
    char *lock;      /* lock file of a daemon that uses this database */
    int lock_fd;     /* descriptor of the lock file; -1: no lock is needed */
};

static void report_progress(const struct copying *c, const char *what, int64_t done, int64_t all)
{
    if (c->options->watch.progress != NULL)
        c->options->watch.progress(c->options->watch.context, what, done, all);
}

/* ---- names -------------------------------------------------------------------------------------------- */

static enum status must_be_free(const char *path, const char *ending, struct error *err)
{
    struct stat facts;
    char *name = path_beside(path, ending);
    if (name == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to copy the database");
    int code = lstat(name, &facts) == 0 ? 0 : errno;
    free(name);
    if (code == ENOENT)
        return STATUS_OK;
    if (code != 0)
        return error_set(err, STATUS_IO, NULL, "cannot find out whether the target file exists: %s", strerror(code));
    return error_set(err, STATUS_CONFLICT, NULL,
                     ending[0] == '\0' ? "the target file exists already: choose another name, or move it away"
                                       : "the log of another database (%s) is beside the target file: move it away",
                     ending);
}

static enum status no_folder(struct error *err)
{
    return error_set(err, STATUS_IO, NULL, "the folder of the copy does not exist: make it, or name another");
}

static enum status take_lock(struct copying *c, struct error *err)
{
    if (!c->options->to_be_used)
        return STATUS_OK;
    c->lock_fd = open(c->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (c->lock_fd < 0 && errno == ENOENT)
        return no_folder(err);
    if (c->lock_fd < 0)
        return error_set(err, STATUS_IO, NULL, "cannot create the lock file beside the database: %s", strerror(errno));
    if (flock(c->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, STATUS_CONFLICT, NULL, "a daemon has that database open: stop it first");
    return STATUS_OK;
}

/* Creates the file with private permissions, because the tables contain hashes of tokens. Replaces a temporary file
 * that an earlier call left behind. */
static enum status create_part(struct copying *c, struct error *err)
{
    (void)unlink(c->part);
    int fd = open(c->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENOENT)
        return no_folder(err);
    if (fd < 0)
        return error_set(err, STATUS_IO, NULL, "cannot create the copy: %s", strerror(errno));
    descriptor_close(&fd);
    return db_open(&c->copy, c->part, SQLITE_OPEN_READWRITE, NULL, &c->options->log, err);
}

/* ---- pages ------------------------------------------------------------------------------------------- */

/* Copies inside the read transaction of the caller. Otherwise a later commit would make SQLite start the copy again. */
static enum status copy_pages(struct copying *c, struct error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(c->copy.handle, "main", c->from.db.handle, "main");
    if (backup == NULL)
        return db_fail(&c->copy, sqlite3_extended_errcode(c->copy.handle), err);
    int code = SQLITE_OK;
    while (code == SQLITE_OK) {
        code = sqlite3_backup_step(backup, PAGES_A_STEP);
        int all = sqlite3_backup_pagecount(backup);
        report_progress(c, "copied", all - sqlite3_backup_remaining(backup), all);
    }
    (void)sqlite3_backup_finish(backup);
    return code == SQLITE_DONE ? STATUS_OK : db_fail(&c->copy, code, err);
}

static enum status open_from(struct copying *c, struct error *err)
{
    int64_t version;
    enum status status = visit_open(&c->from, c->options->from, &c->options->log, err);
    if (status == STATUS_NOT_FOUND) {
        error_clear(err);
        return error_set(err, STATUS_IO, NULL, "the file to be copied does not exist");
    }
    if (status)
        return status;
    status = schema_check(&storage_schema, &c->from.db, &version, err);
    if (status)
        return status;
    if (version == 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the database is empty: there is nothing to copy");
    return STATUS_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------ */

/* Keeps the first fault for the message of the failure. */
static void see_fault(void *context, const struct storage_fault *fault)
{
    struct copying *c = context;
    if (c->first[0] == '\0')
        (void)snprintf(c->first, sizeof c->first, "%s %s", fault->where, fault->what);
    if (c->options->watch.fault != NULL)
        c->options->watch.fault(c->options->watch.context, fault);
}

static void see_progress(void *context, const char *what, int64_t done, int64_t all)
{
    report_progress(context, what, done, all);
}

static enum status check_copy(struct copying *c, struct storage_copy_report *report, struct error *err)
{
    const struct storage_watch watch = {see_fault, see_progress, c};
    struct storage_verify_report found;
    enum status status = verify_database(&c->copy, &watch, &found, err);
    if (status)
        return status;
    if (found.faults > 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the file has %lld faults; the first one: %s",
                         (long long)found.faults, c->first);
    report->jobs = found.jobs;
    report->checkpoints = found.checkpoints;
    if (!c->options->to_be_used)
        return digest_store(&c->copy, err);
    status = digest_verify(&c->copy, err);
    return status ? status : db_exec(&c->copy, "DROP TABLE digest", err); /* a daemon would not keep it up to date */
}

/* ---- the final name ---------------------------------------------------------------------------------- */

static enum status hash_file(int fd, struct storage_copy_report *report, struct error *err)
{
    static const size_t size = (size_t)1 << 20;
    unsigned char digest[HASH_BYTES], *bytes = malloc(size);
    struct hash hash;
    ssize_t got = -1;
    if (bytes == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read the copy again");
    hash_init(&hash);
    while ((got = pread(fd, bytes, size, (off_t)report->bytes)) > 0) {
        hash_add(&hash, bytes, (size_t)got);
        report->bytes += got;
    }
    hash_finish(&hash, digest);
    hash_hex(digest, report->sha256);
    free(bytes);
    return got == 0 ? STATUS_OK : error_set(err, STATUS_IO, NULL, "cannot read the copy again");
}

static enum status sync_folder(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool ok = fd >= 0 && fsync(fd) == 0;
    descriptor_close(&fd);
    free(folder);
    return ok ? STATUS_OK : error_set(err, STATUS_IO, NULL, "cannot sync the folder of the copy");
}

/* Uses link(), because rename() would overwrite an existing file. */
static enum status give_name(struct copying *c, struct storage_copy_report *report, struct error *err)
{
    int fd = open(c->part, O_RDONLY | O_CLOEXEC);
    enum status status =
        fd >= 0 && fsync(fd) == 0 ? STATUS_OK : error_set(err, STATUS_IO, NULL, "cannot sync the copy");
    if (!status)
        status = hash_file(fd, report, err);
    descriptor_close(&fd);
    if (!status && link(c->part, c->options->to) != 0)
        status = errno == EEXIST
                     ? error_set(err, STATUS_CONFLICT, NULL, "the target file exists already")
                     : error_set(err, STATUS_IO, NULL, "cannot give the copy its final name: %s", strerror(errno));
    if (!status) {
        (void)unlink(c->part);
        status = sync_folder(c->options->to, err);
        if (status)
            (void)unlink(c->options->to);
    }
    return status;
}

static enum status make_copy(struct copying *c, struct storage_copy_report *report, struct error *err)
{
    enum status status = must_be_free(c->options->to, "", err);
    if (!status)
        status = must_be_free(c->options->to, "-wal", err);
    if (!status)
        status = take_lock(c, err);
    if (!status)
        status = open_from(c, err);
    if (!status)
        status = create_part(c, err);
    if (!status)
        status = copy_pages(c, err);
    if (!status) /* without a log file, the copy is one file that can be read on a read-only disk */
        status = db_exec(&c->copy, "PRAGMA journal_mode=DELETE", err);
    if (!status)
        status = check_copy(c, report, err);
    db_close(&c->copy);
    return status ? status : give_name(c, report, err);
}

enum status storage_copy(const struct storage_copy_options *options, struct storage_copy_report *report,
                         struct error *err)
{
    struct copying c = {.options = options,
                        .lock_fd = -1,
                        .part = path_beside(options->to, ".part"),
                        .lock = path_beside(options->to, "-lock")};
    *report = (struct storage_copy_report){.bytes = 0};
    enum status status = c.part != NULL && c.lock != NULL
                             ? make_copy(&c, report, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to copy the database");
    visit_close(&c.from);
    if (status && c.part != NULL)
        (void)unlink(c.part);
    descriptor_close(&c.lock_fd);
    free(c.part);
    free(c.lock);
    return status;
}
