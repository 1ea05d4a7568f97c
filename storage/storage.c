/* Opens and closes the store, and reports its state as a whole.
 *
 * Only one process may open the file; a lock on a file beside it and a lock on the file itself ensure that. Within the
 * process, one connection writes. The flag "clean" in the table `meta` is 0 while the store is open. If it is 0 at the
 * start, the last process did not close the store, and the tables are checked (check.c). */
#include "storage/storage_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/descriptor.h"

#define FREE_MIN ((uint64_t)16 << 20) /* bytes: a disk with less free space is reported as full */

/* ---- opening, step by step --------------------------------------------------------------------------- */

static enum status open_lock(struct storage *storage, struct error *err)
{
    char *lock = path_beside(storage->path, "-lock");
    if (lock == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open the database");
    storage->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(lock);
    if (storage->lock_fd < 0 && errno == ENOENT)
        return error_set(err, STATUS_IO, NULL, "the folder of the database does not exist: make it, or name another");
    if (storage->lock_fd < 0)
        return error_set(err, STATUS_IO, NULL, "cannot create the lock file beside the database: %s", strerror(errno));
    if (flock(storage->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, STATUS_CONFLICT, NULL, "another process has the database open: stop it first");
    return STATUS_OK;
}

/* SQLite's write-ahead log needs file locks and shared memory, which remote file systems do not implement reliably. */
static enum status check_file_system(struct storage *storage, struct error *err)
{
    static const struct {
        unsigned long type;
        const char *name;
        bool remote; /* true: certainly a network file system; false: perhaps one */
    } suspects[] = {
        {0x6969, "NFS", true},        {0x517B, "SMB", true},       {0xFF534D42, "CIFS", true},
        {0xFE534D42, "SMB2", true},   {0x5346414F, "AFS", true},   {0x00C36400, "Ceph", true},
        {0x0BD00BD0, "Lustre", true}, {0x47504653, "GPFS", true},  {0x564C, "NCP", true},
        {0x73757245, "Coda", true},   {0x01161970, "GFS2", true},  {0x7461636F, "OCFS2", true},
        {0x19830326, "BeeGFS", true}, {0x65735546, "FUSE", false}, {0x01021997, "9P", false},
    };
    struct statfs fs;
    if (fstatfs(storage->lock_fd, &fs) != 0)
        return error_set(err, STATUS_IO, NULL, "cannot read the type of the database's file system");
    for (size_t i = 0; i < sizeof suspects / sizeof suspects[0]; i++) {
        if (((unsigned long)fs.f_type & 0xffffffff) != suspects[i].type)
            continue;
        if (suspects[i].remote && !storage->options.allow_network_fs)
            return error_set(
                err, STATUS_INVALID, NULL,
                "the database would be on a network file system (%s), which can damage it: choose a local folder",
                suspects[i].name);
        log_line(&storage->log, LOG_LEVEL_WARN, "the database is on %s, whose locks and syncs may be unreliable",
                 suspects[i].name);
    }
    return STATUS_OK;
}

static enum status set_pragmas(struct db *db, bool empty, struct error *err)
{
    /* page_size and auto_vacuum have an effect only while the file is empty; auto_vacuum would write, also to a full
     * disk. If secure_delete were on, SQLite would write zeros over every page of a deleted checkpoint. */
    enum status status = empty ? db_exec(db, "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL", err) : STATUS_OK;
    if (!status)
        status = db_exec(db,
                         "PRAGMA secure_delete=OFF;"
                         "PRAGMA foreign_keys=ON;"
                         "PRAGMA temp_store=MEMORY;"
                         "PRAGMA cache_size=-4096;"
                         "PRAGMA wal_autocheckpoint=0;"
                         "PRAGMA journal_size_limit=8388608",
                         err);
    if (status)
        return status;
    sqlite3_stmt *stmt;
    status = db_query(db, &stmt, err, "PRAGMA journal_mode=WAL", "");
    if (!status && db_row(db, stmt, &status, err)) {
        char mode[8];
        if (!db_copy(stmt, 0, mode, sizeof mode))
            status = error_memory(err, "the database");
        else if (strcmp(mode, "wal") != 0)
            status = error_set(err, STATUS_IO, NULL, "SQLite cannot use a write-ahead log in the database's folder");
        db_done(stmt);
    }
    return status;
}

/* Cleans up after the process that had the store open before, in one transaction: returns running jobs to the queue (or
 * to the state that was requested) and removes incomplete checkpoints. */
static enum status recover(struct storage *storage, struct error *err)
{
    struct db *db = &storage->writer.db;
    int64_t clean, yielded = 0;
    enum status status = db_integer(db, &clean, 0, err, "SELECT value FROM meta WHERE key = 'clean'", "");
    if (status)
        return status;
    if (!clean)
        status = check_at_start(storage, err);
    if (status)
        return status;
    status = db_run(db, err, "BEGIN IMMEDIATE", "");
    if (status)
        return status;
    status = db_run(db, err, "UPDATE meta SET value = 0 WHERE key = 'clean'", "");
    db->notices = storage->options.notices;
    if (!status)
        status = job_recover(db, &yielded, err);
    if (!status)
        status = db_run(db, err,
                        "INSERT INTO pending_delete SELECT 'checkpoint', id FROM checkpoint WHERE NOT complete", "");
    if (!status)
        status = db_run(db, err, "DELETE FROM checkpoint WHERE NOT complete", "");
    if (!status)
        status = db_run(db, err, "COMMIT", "");
    if (!sqlite3_get_autocommit(db->handle))
        (void)db_run(db, NULL, "ROLLBACK", "");
    if (yielded > 0)
        log_line(&storage->log, LOG_LEVEL_INFO,
                 "%lld jobs of the last process returned to the queue or to their requested state", (long long)yielded);
    return status;
}

static enum status open_writer(struct storage *storage, struct error *err)
{
    struct db *db = &storage->writer.db;
    int64_t version = 0;
    file_limits_are_full();
    enum status status = file_hold(storage, err);
    if (status)
        return status;
    status = db_open(db, storage->path, SQLITE_OPEN_READWRITE, storage->vfs, &storage->log, err);
    if (status)
        return status;
    sqlite3_busy_timeout(db->handle, storage->options.busy_ms);
    /* The file may belong to another program. Until schema_check() has succeeded, closing the connection must not
     * change the file. */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    status = schema_check(&storage_schema, db, &version, err);
    if (status)
        return status;
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, (int *)NULL);
    if (storage->options.durability == STORAGE_DURABLE_NOT)
        status = db_exec(db, "PRAGMA synchronous=OFF", err);
    if (status)
        return status;
    status = set_pragmas(db, version == 0, err);
    if (status)
        return status;
    status = schema_migrate(&storage_schema, db, version, err);
    if (status)
        return status;
    status = db_stamp_resume(db, err);
    if (status)
        return status;
    status = recover(storage, err);
    if (status == STATUS_FULL) { /* reads work, and the first write that fits on the disk comes after the cleanup */
        log_line(&storage->log, LOG_LEVEL_WARN,
                 "the disk is full: jobs of the last process return to the queue when it has space");
        storage->writer.recover = recover;
        error_clear(err);
    } else if (status) {
        return status;
    }
    return id_resume(&storage->ids, db, err);
}

static enum status init_locks(struct storage *storage, struct error *err)
{
    struct writer *w = &storage->writer;
    pthread_condattr_t monotonic;
    bool ok = pthread_condattr_init(&monotonic) == 0;
    ok = ok && pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0;
    ok = ok && pthread_mutex_init(&w->lock, NULL) == 0 && pthread_cond_init(&w->work, &monotonic) == 0;
    ok = ok && pthread_cond_init(&w->change, NULL) == 0;
    ok = ok && pthread_mutex_init(&storage->readers.lock, NULL) == 0;
    ok = ok && pthread_cond_init(&storage->readers.change, NULL) == 0;
    ok = ok && pthread_mutex_init(&storage->holds.lock, NULL) == 0;
    ok = ok && pthread_mutex_init(&storage->check.lock, NULL) == 0;
    ok = ok && pthread_cond_init(&storage->check.change, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open the database");
}

static void storage_release(struct storage *storage)
{
    readers_close(storage);
    db_close(&storage->writer.db);
    descriptor_close(&storage->file_fd);
    descriptor_close(&storage->lock_fd);
    while (storage->holds.first != NULL) {
        struct hold *hold = storage->holds.first;
        storage->holds.first = hold->next;
        free(hold);
    }
    pthread_mutex_destroy(&storage->writer.lock);
    pthread_cond_destroy(&storage->writer.work);
    pthread_cond_destroy(&storage->writer.change);
    pthread_mutex_destroy(&storage->readers.lock);
    pthread_cond_destroy(&storage->readers.change);
    pthread_mutex_destroy(&storage->holds.lock);
    pthread_mutex_destroy(&storage->check.lock);
    pthread_cond_destroy(&storage->check.change);
    free(storage->path);
    free(storage->wal_path);
    free(storage->vfs);
    free(storage);
}

enum status storage_open(const struct storage_options *options, struct storage **out, struct error *err)
{
    *out = NULL;
    if (options->path == NULL || options->path[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "the path of the database is missing");
    /* Without SQLite's sums of memory, its allocations need no common lock. Refused when SQLite is in use already. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    struct storage *storage = calloc(1, sizeof *storage);
    if (storage == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open the database");
    storage->lock_fd = -1;
    storage->file_fd = -1;
    storage->options = *options;
    storage->log = options->log;
    if (storage->options.busy_ms <= 0)
        storage->options.busy_ms = 5000;
    enum status status = init_locks(storage, err);
    storage->path = path_beside(options->path, "");
    storage->wal_path = path_beside(options->path, "-wal");
    storage->vfs = options->vfs != NULL ? path_beside(options->vfs, "") : NULL;
    if (!status &&
        (storage->path == NULL || storage->wal_path == NULL || (options->vfs != NULL && storage->vfs == NULL)))
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open the database");
    storage->options.path = storage->path;
    storage->options.vfs = storage->vfs;
    if (!status)
        status = open_lock(storage, err);
    if (!status)
        status = check_file_system(storage, err);
    if (!status)
        status = open_writer(storage, err);
    if (!status)
        status = readers_open(storage, options->readers > 0 ? options->readers : 4, err);
    if (!status)
        status = file_identify_log(storage, err);
    if (!status)
        status = check_start(storage, err);
    if (!status)
        status = writer_start(storage, err);
    if (status) {
        (void)check_stop(storage);
        storage_release(storage);
        return status;
    }
    *out = storage;
    return STATUS_OK;
}

void storage_close(struct storage *storage)
{
    if (storage == NULL)
        return;
    struct db *db = &storage->writer.db;
    bool checked = check_stop(storage);
    writer_stop(storage);
    readers_close(storage);
    if (atomic_load(&storage->writer.failed)) {
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    } else {
        if (storage->options.durability == STORAGE_DURABLE)
            (void)db_exec(db, "PRAGMA synchronous=FULL", NULL);
        if (checked)
            (void)db_run(db, NULL, "UPDATE meta SET value = 1 WHERE key = 'clean'", "");
    }
    storage_release(storage);
}

/* ---- the store as a whole -------------------------------------------------------------------------- */

enum status storage_flush(struct storage *storage, struct error *err)
{
    struct command nothing = {.run = NULL, .ordered = true};
    return writer_call(storage, &nothing, err);
}

enum status storage_writable(struct storage *storage, struct error *err)
{
    if (atomic_load(&storage->writer.failed))
        return error_set(err, STATUS_IO, NULL,
                         "an earlier write failed: the store accepts no writes until the next start");
    struct statvfs fs;
    if (fstatvfs(storage->lock_fd, &fs) != 0)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "cannot read the state of the database's file system");
    if ((uint64_t)fs.f_bavail * fs.f_frsize < FREE_MIN)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the disk is full");
    if (fs.f_flag & ST_RDONLY)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the file system of the database is read-only");
    return file_in_place(storage, err);
}

static enum status read_tally(struct db *db, struct storage_stats *out, struct error *err)
{
    sqlite3_stmt *stmt;
    enum status status = db_query(db, &stmt, err, "SELECT what, number, bytes FROM tally", "");
    if (status)
        return status;
    while (db_row(db, stmt, &status, err)) {
        enum job_state state;
        char what[16];
        if (!db_copy(stmt, 0, what, sizeof what)) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read the statistics");
            break;
        }
        if (job_state_parse(what, &state)) {
            out->jobs[state] = sqlite3_column_int64(stmt, 1);
        } else {
            out->checkpoints = sqlite3_column_int64(stmt, 1);
            out->checkpoint_bytes = sqlite3_column_int64(stmt, 2);
        }
    }
    db_done(stmt);
    return status;
}

enum status storage_stats_read(struct storage *storage, struct storage_stats *out, struct error *err)
{
    struct writer *w = &storage->writer;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&w->lock);
    out->commits = w->commits;
    out->commands = w->commands;
    out->commit_seconds = w->commit_seconds;
    out->commit_seconds_max = w->commit_seconds_max;
    histogram_read(&w->commit_times, &out->commit_times);
    out->queue_depth = w->depth;
    pthread_mutex_unlock(&w->lock);
    out->metric_points_dropped = atomic_load(&w->points_dropped);
    out->check = atomic_load(&storage->check.state);
    out->sampled.rows = atomic_load(&storage->check.rows);
    out->sampled.checkpoints = atomic_load(&storage->check.checkpoints);
    out->sampled.files = atomic_load(&storage->check.files);
    out->sampled.passes = atomic_load(&storage->check.passes);
    out->sampled.faults = atomic_load(&storage->check.faults);
    struct stat file;
    if (stat(storage->wal_path, &file) == 0)
        out->wal_bytes = (int64_t)file.st_size;
    struct db *db;
    int64_t pages = 0, unused = 0, page = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = read_tally(db, out, err);
    if (!status)
        status = db_integer(db, &pages, 0, err, "PRAGMA page_count", "");
    if (!status)
        status = db_integer(db, &unused, 0, err, "PRAGMA freelist_count", "");
    if (!status)
        status = db_integer(db, &page, 0, err, "PRAGMA page_size", "");
    reader_end(storage, db);
    out->file_bytes = pages * page;
    out->free_bytes = unused * page;
    return status;
}
