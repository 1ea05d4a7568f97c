/* The writing thread.
 *
 * It serves two queues. The main queue contains urgent and lazy commands in their order of arrival. The thread takes
 * all of them and commits them together as soon as one of them is urgent, the oldest lazy one is a second old, or the
 * lazy ones use too much memory. Each command runs in its own savepoint, so a failed command does not affect the
 * others. The bulk queue contains chunks of checkpoints. Each chunk is a transaction of its own, without fsync; the
 * commit that makes the checkpoint visible syncs all of them. The two queues take turns, so neither waits for more than
 * one transaction of the other.
 *
 * Only this thread copies the write-ahead log back into the database file: in SQLite before 3.51.3, two connections
 * that do so at the same moment can lose commits. It copies in small portions, because callers may be waiting.
 *
 * After a failed write or fsync, the kernel may have dropped the page and marked it clean. A second try would report
 * success for lost data. So the store refuses all further writes.
 *
 * Each commit first checks that the path still names the open file. If the path names another file or none, the commit
 * fails. */
#include "storage/storage_int.h"

#include <string.h>

#define GROUP_MAX 256                    /* upper limit of commands in one commit */
#define DEPTH_MAX 4096                   /* upper limit of waiting commands */
#define LAZY_BYTES_MAX ((size_t)8 << 20) /* upper limit of the memory of waiting lazy commands */
#define LAZY_MS 900     /* longest wait of a lazy command in milliseconds; its commit must end within 1000 */
#define WAL_PORTION 128 /* the log is copied into the database file after this number of new frames: one MiB */
#define WAL_LARGE (WAL_PORTION * 32) /* frames of the log at which the writer waits for readers */
#define PAGE_BYTES 8192              /* approximate bytes of a frame */
#define QUIET_MS 2000                /* milliseconds without commands after which the log is truncated */
#define RESTART_WAIT_MS 20           /* milliseconds: upper limit of the wait for readers */

/* ---- called by other threads ------------------------------------------------------------------------- */

static enum status writer_refuse(struct writer *w, struct error *err)
{
    if (atomic_load(&w->failed))
        return error_set(err, STATUS_IO, NULL,
                         "an earlier write failed: the store accepts no writes until the next start");
    if (w->closing) /* the caller broke the rule of storage_close(); waiting for a thread that has ended would never
                       return */
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the store is closing");
    return STATUS_OK;
}

static void writer_append(struct command ***tail, struct command *command)
{
    command->next = NULL;
    command->done = false;
    **tail = command;
    *tail = &command->next;
}

/* Waits while the queue is full, then appends the command. The caller holds the lock. */
static enum status enqueue(struct writer *w, struct command *command, enum manner manner, struct error *err)
{
    enum status status;
    while ((status = writer_refuse(w, err)) == STATUS_OK &&
           (w->depth >= DEPTH_MAX || w->lazy_bytes >= LAZY_BYTES_MAX)) {
        w->blocked++;
        pthread_cond_signal(&w->work);
        pthread_cond_wait(&w->change, &w->lock);
        w->blocked--;
    }
    if (status)
        return status;
    command->manner = manner;
    command->full = false;
    command->status = STATUS_OK;
    error_clear(&command->error);
    writer_append(&w->tail, command);
    w->depth++;
    if (manner == MANNER_URGENT) {
        w->urgent++;
        w->open = NULL;
        pthread_cond_signal(&w->work);
    } else {
        if (w->open == NULL)
            w->open = command;
        w->lazy_bytes += command->bytes;
        if (w->lazy_due == 0) {
            w->lazy_due = clock_monotonic_ms() + LAZY_MS;
            pthread_cond_signal(&w->work);
        }
    }
    return STATUS_OK;
}

static enum status outcome(const struct command *command, struct error *err)
{
    if (!command->status)
        return STATUS_OK;
    return error_set(err, command->status, command->error.pointer, "%s", command->error.message);
}

enum status writer_call(struct storage *storage, struct command *command, struct error *err)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    enum status status = enqueue(w, command, MANNER_URGENT, err);
    while (!status && !command->done)
        pthread_cond_wait(&w->change, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return status ? status : outcome(command, err);
}

enum status writer_post(struct storage *storage, struct command *command, struct error *err)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    enum status status = enqueue(w, command, MANNER_LAZY, err);
    pthread_mutex_unlock(&w->lock);
    if (status)
        command->destroy(command);
    return status;
}

bool writer_merge(struct storage *storage,
                  enum status (*run)(struct storage *, struct db *, struct command *, struct error *),
                  bool (*merge)(struct command *queued, void *context), void *context)
{
    struct writer *w = &storage->writer;
    bool merged = false;
    int looked = 0;
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed) && !w->closing && w->lazy_bytes < LAZY_BYTES_MAX)
        for (struct command *c = w->open; c != NULL && !merged && looked < 64; c = c->next, looked++) {
            if (c->run != run)
                continue;
            size_t before = c->bytes;
            merged = merge(c, context);
            w->lazy_bytes += c->bytes - before;
        }
    pthread_mutex_unlock(&w->lock);
    return merged;
}

enum status writer_bulk(struct storage *storage, struct command *command, struct error *err)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    enum status status = writer_refuse(w, err);
    if (!status) {
        command->manner = MANNER_BULK;
        command->status = STATUS_OK;
        error_clear(&command->error);
        writer_append(&w->bulk_tail, command);
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

enum status writer_wait(struct storage *storage, struct command *command, struct error *err)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    while (!command->done)
        pthread_cond_wait(&w->change, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return outcome(command, err);
}

void writer_want_sweep(struct storage *storage)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    w->sweep = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

/* ---- on the writing thread --------------------------------------------------------------------------- */

static void fail_store(struct storage *storage)
{
    if (!atomic_exchange(&storage->writer.failed, true))
        log_line(&storage->log, LOG_LEVEL_ERROR,
                 "a write to the database failed: the store accepts no writes until the next start");
}

static void note_fatal(struct storage *storage)
{
    if (db_code_is_fatal(storage->writer.db.last_code))
        fail_store(storage);
}

/* db_query() finds a prepared statement by the address of its text. These statements are prepared before the thread
 * starts, because undoing a change must not need memory. */
static const char begin_sql[] = "BEGIN IMMEDIATE", commit_sql[] = "COMMIT", rollback_sql[] = "ROLLBACK";
static const char savepoint_sql[] = "SAVEPOINT command", undo_sql[] = "ROLLBACK TO command",
                  release_sql[] = "RELEASE command";

static enum status keep_statements(struct db *db, struct error *err)
{
    const char *const all[] = {begin_sql, commit_sql, rollback_sql, savepoint_sql, undo_sql, release_sql};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && !status; i++)
        status = db_keep(db, all[i], err);
    return status;
}

/* Sets PRAGMA synchronous: 2 (FULL) syncs the log at each commit, 1 (NORMAL) only when it is copied back. */
static enum status set_synchronous(struct storage *storage, int level, struct error *err)
{
    struct writer *w = &storage->writer;
    if (storage->options.durability == STORAGE_DURABLE_NOT)
        level = 0;
    if (w->synchronous == level)
        return STATUS_OK;
    w->synchronous = -1;
    enum status status = db_exec(&w->db,
                                 level == 2   ? "PRAGMA synchronous=FULL"
                                 : level == 1 ? "PRAGMA synchronous=NORMAL"
                                              : "PRAGMA synchronous=OFF",
                                 err);
    if (!status)
        w->synchronous = level;
    return status;
}

static bool disk_is_full(const struct db *db)
{
    return (db->last_code & 0xff) == SQLITE_FULL;
}

static void run_one(struct storage *storage, struct command *c)
{
    struct db *db = &storage->writer.db;
    if (c->run == NULL)
        return;
    db->last_code = SQLITE_OK;
    c->status = db_run(db, &c->error, savepoint_sql, "");
    if (c->status)
        return;
    c->status = c->run(storage, db, c, &c->error);
    c->full = c->status != STATUS_OK && disk_is_full(db);
    if (sqlite3_get_autocommit(db->handle))
        return; /* SQLite has rolled back the whole transaction */
    if (c->status) {
        c->adds_events = false;
        if (db_run(db, NULL, undo_sql, "")) { /* a part of the change may remain, so roll back the whole group */
            (void)db_run(db, NULL, rollback_sql, "");
            return;
        }
    }
    enum status status = db_run(db, &c->error, release_sql, "");
    if (status) /* the change may or may not remain, so roll back the whole group */
        (void)db_run(db, NULL, rollback_sql, "");
    if (!c->status)
        c->status = status;
}

/* Runs a list of commands in one transaction. Afterwards every command has its final status. */
static void run_group(struct storage *storage, struct command *list, int synchronous)
{
    struct db *db = &storage->writer.db;
    struct error err;
    error_clear(&err);
    if (!sqlite3_get_autocommit(db->handle)) /* a rollback of an earlier group failed */
        (void)db_run(db, NULL, rollback_sql, "");
    db->last_code = SQLITE_OK;
    enum status status = set_synchronous(storage, synchronous, &err);
    if (!status && storage->writer.recover != NULL) {
        status = storage->writer.recover(storage, &err);
        if (!status)
            storage->writer.recover = NULL;
    }
    if (!status)
        status = db_run(db, &err, begin_sql, "");
    bool waiting = storage->writer.retry_queue != NULL; /* true: commands are in the retry queue or go there, and later
                                                           ones that keep the order must not overtake them */
    for (struct command *c = list; c != NULL && !status; c = c->next) {
        if (waiting && (c->retry != NULL || c->ordered)) {
            c->full = true;
            c->status = error_set(&c->error, STATUS_FULL, NULL, "the disk is full");
            continue;
        }
        run_one(storage, c);
        waiting |= c->full && c->retry != NULL;
        if (sqlite3_get_autocommit(db->handle) || db_code_is_fatal(db->last_code)) {
            status = c->status ? c->status : STATUS_IO;
            (void)error_set(&err, status, c->error.pointer, "%s",
                            c->error.code ? c->error.message : "the database cannot be written");
        }
    }
    if (!status)
        status = file_in_place(storage, &err);
    if (!status)
        status = db_run(db, &err, commit_sql, "");
    if (!status)
        return;
    bool full = disk_is_full(db);
    if (!sqlite3_get_autocommit(db->handle))
        (void)db_run(db, NULL, rollback_sql, "");
    note_fatal(storage);
    int lost = 0;
    for (struct command *c = list; c != NULL; c = c->next) {
        c->status = status;
        c->error = err;
        c->full = full;
        c->adds_events = false;
        lost += c->manner == MANNER_LAZY && !(full && c->retry != NULL);
    }
    log_line(&storage->log, LOG_LEVEL_ERROR, "a commit failed (%s); %d lazy writes are lost", status_name(status),
             lost);
}

/* Updates the statistics, completes the urgent and bulk commands, frees the lazy ones and reports new events. */
static void finish_group(struct storage *storage, struct command *list, bool counts, double seconds)
{
    struct writer *w = &storage->writer;
    struct command *lazy = NULL;
    bool events = false;
    pthread_mutex_lock(&w->lock);
    if (counts) {
        w->commits++;
        w->commit_seconds += seconds;
        histogram_add(&w->commit_times, seconds);
        if (seconds > w->commit_seconds_max)
            w->commit_seconds_max = seconds;
    }
    while (list != NULL) {
        struct command *c = list;
        list = c->next;
        events |= c->adds_events;
        w->commands += counts;
        if (c->manner == MANNER_LAZY) {
            if (c->status)
                log_line(&storage->log, LOG_LEVEL_WARN, "a lazy write failed: %s", c->error.message);
            c->next = lazy;
            lazy = c;
        } else {
            c->done = true; /* the command's caller may free it as soon as the lock is released */
        }
    }
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    while (lazy != NULL) {
        struct command *c = lazy;
        lazy = c->next;
        c->destroy(c);
    }
    if (events && storage->options.events_added != NULL)
        storage->options.events_added(storage->options.events_context);
}

/* Takes the first commands of the main queue, which is not empty. The caller holds the lock. */
static struct command *take_main(struct writer *w)
{
    struct command *list = w->head, *last = list;
    int count = 0;
    for (struct command *c = list; c != NULL && count < GROUP_MAX; c = c->next, count++) {
        last = c;
        w->urgent -= c->manner == MANNER_URGENT;
        if (c->manner == MANNER_LAZY)
            w->lazy_bytes -= c->bytes;
    }
    w->head = last->next;
    last->next = NULL;
    if (w->head == NULL)
        w->tail = &w->head;
    w->depth -= count;
    w->open = NULL;
    w->lazy_due = 0;
    for (struct command *c = w->head; c != NULL; c = c->next)
        if (c->manner == MANNER_LAZY) {
            /* lazy commands that remain because the group is full are due at once: they have waited already */
            w->lazy_due = clock_monotonic_ms();
            break;
        }
    return list;
}

static struct command *take_bulk(struct writer *w)
{
    struct command *c = w->bulk_head; /* not NULL: writer_choose() selects this task only if a bulk command waits */
    w->bulk_head = c->next;
    if (w->bulk_head == NULL)
        w->bulk_tail = &w->bulk_head;
    c->next = NULL;
    return c;
}

static int on_commit(void *context, sqlite3 *handle, const char *name, int frames)
{
    struct writer *w = context;
    if (frames < w->wal_frames)
        w->wal_next = WAL_PORTION; /* the log has restarted at its beginning */
    w->wal_frames = frames;
    return SQLITE_OK;
}

/* Copies the next part of the log into the database file. */
static void copy_back(struct storage *storage)
{
    struct writer *w = &storage->writer;
    int in_log = 0, copied = 0;
    w->db.last_code = SQLITE_OK;
    int code = sqlite3_wal_checkpoint_v2(w->db.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
    if (code == SQLITE_OK && copied < in_log)
        check_give_way(storage, (int64_t)in_log * PAGE_BYTES);
    if (code == SQLITE_OK && in_log >= WAL_LARGE && copied == in_log) {
        /* Everything is copied, but readers keep the log from restarting. Waits a few milliseconds, in case a moment
         * without readers occurs. */
        sqlite3_busy_timeout(w->db.handle, RESTART_WAIT_MS);
        code = sqlite3_wal_checkpoint_v2(w->db.handle, NULL, SQLITE_CHECKPOINT_RESTART, &in_log, &copied);
        sqlite3_busy_timeout(w->db.handle, storage->options.busy_ms);
    }
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) {
        (void)db_fail(&w->db, code, NULL);
        note_fatal(storage);
    }
    w->wal_next = w->wal_frames + WAL_PORTION;
}

/* Truncates the log when no commands have arrived for a while, to return its disk space. */
static void truncate_log(struct storage *storage)
{
    struct writer *w = &storage->writer;
    w->db.last_code = SQLITE_OK;
    sqlite3_busy_timeout(w->db.handle, 0);
    int code = sqlite3_wal_checkpoint_v2(w->db.handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(w->db.handle, storage->options.busy_ms);
    if (code == SQLITE_OK) {
        w->wal_frames = 0;
    } else if ((code & 0xff) != SQLITE_BUSY) {
        (void)db_fail(&w->db, code, NULL);
        note_fatal(storage);
    }
}

static enum status sweep_command(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    bool more = false;
    enum status status = sweep_step(storage, db, &more, err);
    if (!status && more)
        writer_want_sweep(storage);
    return status;
}

/* The tasks among which the writing thread chooses. */
enum task { TASK_NONE, TASK_MAIN, TASK_RETRY, TASK_BULK, TASK_COPY, TASK_SWEEP, TASK_TIDY, TASK_END };

static bool main_is_due(const struct writer *w)
{
    return w->head != NULL && (w->urgent > 0 || w->blocked > 0 || w->closing || w->lazy_bytes >= LAZY_BYTES_MAX / 2 ||
                               w->depth >= DEPTH_MAX / 2 || clock_monotonic_ms() >= w->lazy_due);
}

/* Chooses the next task. The slow tasks are copying the write-ahead log into the database file, and bulk commands. If a
 * slow task and the main queue both wait, they take turns; slow_turn: it is the turn of a slow task. The log may be
 * truncated at the time quiet_at or later. */
static enum task writer_choose(struct writer *w, bool slow_turn, int64_t quiet_at)
{
    bool due = main_is_due(w);
    if (due && !slow_turn)
        return TASK_MAIN;
    if (w->wal_frames >= w->wal_next && !atomic_load(&w->failed))
        return TASK_COPY;
    if (w->bulk_head != NULL)
        return TASK_BULK;
    if (due)
        return TASK_MAIN;
    if (w->closing)
        return TASK_END;
    if (w->retry_queue != NULL && clock_monotonic_ms() >= w->retry_due)
        return TASK_RETRY;
    if (w->sweep && !atomic_load(&w->failed))
        return TASK_SWEEP;
    if (w->tidy && clock_monotonic_ms() >= quiet_at && !atomic_load(&w->failed))
        return TASK_TIDY;
    return TASK_NONE;
}

/* Sleeps until a command arrives or the next deadline is reached. The caller holds the lock. */
static void sleep_until_work(struct writer *w, int64_t quiet_at)
{
    int64_t until = INT64_MAX;
    if (w->head != NULL && w->lazy_due > 0)
        until = w->lazy_due;
    if (w->tidy && quiet_at < until)
        until = quiet_at;
    if (w->retry_queue != NULL && w->retry_due < until)
        until = w->retry_due;
    if (until == INT64_MAX) {
        pthread_cond_wait(&w->work, &w->lock);
        return;
    }
    struct timespec at = {.tv_sec = (time_t)(until / 1000), .tv_nsec = (long)(until % 1000) * 1000000};
    pthread_cond_timedwait(&w->work, &w->lock, &at);
}

static void commit_list(struct storage *storage, struct command *list, int synchronous)
{
    double start = clock_seconds();
    if (atomic_load(&storage->writer.failed))
        for (struct command *c = list; c != NULL; c = c->next)
            c->status = writer_refuse(&storage->writer, &c->error);
    else
        run_group(storage, list, synchronous);
    finish_group(storage, list, synchronous == 2, clock_seconds() - start);
}

/* Commits the commands of the retry queue again. */
static void commit_retries(struct storage *storage)
{
    double start = clock_seconds();
    struct command *list = retry_release(storage);
    if (list == NULL)
        return;
    if (atomic_load(&storage->writer.failed)) {
        for (struct command *c = list; c != NULL; c = c->next)
            c->status = writer_refuse(&storage->writer, &c->error);
    } else {
        run_group(storage, list, 2);
        retry_keep(storage, &list, true);
        if (storage->writer.retry_queue == NULL)
            log_line(&storage->log, LOG_LEVEL_INFO,
                     "the disk has space again: the waiting points of metrics are stored");
    }
    finish_group(storage, list, true, clock_seconds() - start);
}

/* Commits the commands. While older commands wait in the retry queue, lazy commands with a retry rule join them, so
 * that the order stays. An ordered command gets an error if they are not on disk. */
static void commit_main(struct storage *storage, struct command *list)
{
    struct writer *w = &storage->writer;
    double start = clock_seconds();
    bool flush = false;
    for (const struct command *c = list; c != NULL; c = c->next)
        flush |= c->ordered;
    if (w->retry_queue != NULL && (flush || clock_monotonic_ms() >= w->retry_due))
        commit_retries(storage);
    if (w->retry_queue != NULL)
        retry_keep(storage, &list, false);
    run_group(storage, list, 2);
    retry_keep(storage, &list, true);
    finish_group(storage, list, true, clock_seconds() - start);
}

static void run_task(struct storage *storage, enum task task, struct command *list)
{
    if (task == TASK_COPY)
        copy_back(storage);
    else if (task == TASK_TIDY)
        truncate_log(storage);
    else if (task == TASK_RETRY)
        commit_retries(storage);
    else if (task == TASK_MAIN && !atomic_load(&storage->writer.failed))
        commit_main(storage, list);
    else
        commit_list(storage, list, task == TASK_MAIN ? 2 : 1);
}

static void *writer_main(void *argument)
{
    struct storage *storage = argument;
    struct writer *w = &storage->writer;
    bool slow_turn = false;
    int64_t quiet_at = 0;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        enum task task = writer_choose(w, slow_turn, quiet_at);
        if (task == TASK_END)
            break;
        if (task == TASK_NONE) {
            sleep_until_work(w, quiet_at);
            continue;
        }
        struct command sweep = {.run = sweep_command, .manner = MANNER_BULK};
        struct command *list = task == TASK_MAIN ? take_main(w) : task == TASK_BULK ? take_bulk(w) : &sweep;
        slow_turn = task == TASK_MAIN;
        if (task == TASK_SWEEP)
            w->sweep = false; /* clear the flag before the step, because a deletion during the step sets it again */
        if (task == TASK_TIDY)
            w->tidy = false;
        pthread_mutex_unlock(&w->lock);
        run_task(storage, task, list);
        pthread_mutex_lock(&w->lock);
        if (task != TASK_TIDY) {
            quiet_at = clock_monotonic_ms() + QUIET_MS;
            w->tidy = w->wal_frames >= WAL_PORTION / 2;
        }
    }
    pthread_mutex_unlock(&w->lock);
    commit_retries(storage);
    struct command *lost = retry_release(storage);
    if (lost != NULL)
        log_line(&storage->log, LOG_LEVEL_ERROR, "the disk is full: the waiting points of metrics are lost");
    for (struct command *next; lost != NULL; lost = next) {
        next = lost->next;
        lost->destroy(lost);
    }
    return NULL;
}

enum status writer_start(struct storage *storage, struct error *err)
{
    struct writer *w = &storage->writer;
    w->tail = &w->head;
    w->bulk_tail = &w->bulk_head;
    w->sweep = true;
    w->synchronous = -1;
    w->wal_next = WAL_PORTION;
    sqlite3_wal_hook(w->db.handle, on_commit, w);
    enum status status = keep_statements(&w->db, err);
    if (status)
        return status;
    if (pthread_create(&w->thread, NULL, writer_main, storage) != 0)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "cannot start the writing thread");
    w->started = true;
    return STATUS_OK;
}

void writer_stop(struct storage *storage)
{
    struct writer *w = &storage->writer;
    if (!w->started)
        return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->work);
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->started = false;
}
