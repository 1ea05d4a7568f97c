/* Checks the tables of a store that the last process did not close.
 *
 * The small tables (tokens, leases, lists of checkpoints and series) are checked before the store opens, because
 * everything else relies on them. In a small file, the large tables are checked before the store opens, too. In a large
 * file this would take minutes. So a thread checks the large tables while the daemon works, with a connection of its
 * own and a low priority. The thread reports to the log and to storage_stats_read(). Chunks of checkpoints are not
 * checked: they can be gigabytes, and each checkpoint has a SHA-256.
 *
 * One statement reads a table with its indexes. While it runs, the write-ahead log cannot restart at its beginning and
 * grows. If the log becomes too large, the writer interrupts the statement, and the thread reads the table again later.
 * So if the daemon writes without pause, the check of a large table may never complete. The thread also waits a moment
 * between two tables.
 *
 * If the process ends before the check is complete, or if the check finds damage, the store stays marked as not closed,
 * and the next start checks again. */
#include "storage/storage_int.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* bytes: a file up to this size is checked completely at the start, which takes seconds */
#define CHECK_MOST ((int64_t)256 << 20)
#define LOG_MOST ((int64_t)1 << 30) /* bytes of the log at which the check of a table is interrupted */
#define WAIT_FIRST 0.2              /* seconds to wait before each table, so that the log can restart */
#define WAIT_MOST 60.0              /* seconds: upper limit of the wait after repeated interruptions */

static const char *const small_tables[] = {
    "PRAGMA quick_check('meta')",        "PRAGMA quick_check('token')",  "PRAGMA quick_check('pending_delete')",
    "PRAGMA quick_check('idempotency')", "PRAGMA quick_check('lease')",  "PRAGMA quick_check('tally')",
    "PRAGMA quick_check('checkpoint')",  "PRAGMA quick_check('series')", "PRAGMA quick_check('audit')",
    "PRAGMA quick_check('outbox')",      "PRAGMA quick_check('study')",  "PRAGMA quick_check('dataset_use')",
    "PRAGMA quick_check('policy')",
};
static const char *const large_tables[] = {
    "PRAGMA quick_check('job')",        "PRAGMA quick_check('block')",   "PRAGMA quick_check('event')",
    "PRAGMA quick_check('artifact')",   "PRAGMA quick_check('pyramid')", "PRAGMA quick_check('chain')",
    "PRAGMA quick_check('row_digest')", "PRAGMA quick_check('answer')",
};
enum { SMALL = sizeof small_tables / sizeof small_tables[0], LARGE = sizeof large_tables / sizeof large_tables[0] };

const char *storage_check_name(enum storage_check check)
{
    static const char *const names[STORAGE_CHECKS] = {"none", "running", "sound", "damaged", "unreadable"};
    return names[check];
}

static enum status run_all(struct db *db, const char *const *checks, size_t count, const atomic_bool *stop,
                           struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && !status && (stop == NULL || !atomic_load(stop)); i++)
        status = db_check(db, checks[i], err);
    return status;
}

enum status check_at_start(struct storage *storage, struct error *err)
{
    struct db *db = &storage->writer.db;
    double start = clock_seconds();
    int64_t pages = 0, page = 0;
    int64_t most = storage->options.check_bytes > 0 ? storage->options.check_bytes : CHECK_MOST;
    enum status status = db_integer(db, &pages, 0, err, "PRAGMA page_count", "");
    if (!status)
        status = db_integer(db, &page, 0, err, "PRAGMA page_size", "");
    bool whole = pages * page <= most;
    if (status)
        return status;
    status = run_all(db, small_tables, SMALL, NULL, err);
    if (status)
        return status;
    if (whole)
        status = run_all(db, large_tables, LARGE, NULL, err);
    if (status)
        return status;
    atomic_store(&storage->check.state, whole ? STORAGE_CHECK_SOUND : STORAGE_CHECK_RUNNING);
    log_line(&storage->log, LOG_LEVEL_INFO, "the last process did not close the store; %s checked in %.3f s%s",
             whole ? "all" : "its small tables", clock_seconds() - start,
             whole ? "" : ", the large tables are checked in the background");
    return STATUS_OK;
}

/* ---- the background check ---------------------------------------------------------------------------- */

static void conclude(struct storage *storage, enum status status, const struct error *err, double seconds)
{
    struct check *check = &storage->check;
    enum storage_check state = !status                    ? STORAGE_CHECK_SOUND
                               : status == STATUS_CORRUPT ? STORAGE_CHECK_DAMAGED
                                                          : STORAGE_CHECK_UNREADABLE;
    if (atomic_load(&check->stop))
        return; /* the state stays RUNNING, because not everything was checked */
    atomic_store(&check->state, state);
    if (state == STORAGE_CHECK_SOUND)
        log_line(&storage->log, LOG_LEVEL_INFO, "the large tables are sound, checked in %.1f s", seconds);
    else
        log_line(&storage->log, LOG_LEVEL_ERROR,
                 "the large tables are %s (%s): export the models that can still be read, then restore the last backup",
                 storage_check_name(state), err->message);
}

void check_wait(const struct check *check, double seconds)
{
    static const struct timespec moment = {0, 20000000};
    double until = clock_seconds() + seconds;
    while (clock_seconds() < until && !atomic_load(&check->stop))
        (void)nanosleep(&moment, NULL);
}

void check_reading(struct check *check, bool reading)
{
    pthread_mutex_lock(&check->lock);
    check->reading = reading;
    pthread_mutex_unlock(&check->lock);
}

void check_give_way(struct storage *storage, int64_t log_bytes)
{
    struct check *check = &storage->check;
    int64_t most = storage->options.check_log_bytes > 0 ? storage->options.check_log_bytes : LOG_MOST;
    if (log_bytes < most)
        return;
    pthread_mutex_lock(&check->lock);
    if (check->reading)
        sqlite3_interrupt(check->db.handle);
    pthread_mutex_unlock(&check->lock);
}

/* Reads one table. If the writer interrupts the statement, waits so that the log can restart, and reads the table
 * again. */
static enum status read_table(struct storage *storage, const char *const *sql, struct error *err)
{
    struct check *check = &storage->check;
    enum status status;
    double pause = WAIT_FIRST;
    for (;;) {
        check_wait(check, pause);
        pause = pause < WAIT_MOST / 2 ? 2 * pause : WAIT_MOST;
        check_reading(check, true);
        status = run_all(&check->db, sql, 1, &check->stop, err);
        check_reading(check, false);
        if (status != STATUS_CANCELLED || atomic_load(&check->stop))
            return status;
        error_clear(err);
        log_line(&storage->log, LOG_LEVEL_INFO,
                 "the check of the large tables is interrupted, because the write-ahead log grew too large; it "
                 "continues later");
    }
}

static enum status read_large(struct storage *storage, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < LARGE && !status && !atomic_load(&storage->check.stop); i++)
        status = read_table(storage, &large_tables[i], err);
    return status;
}

static void *check_thread(void *context)
{
    struct storage *storage = context;
    struct check *check = &storage->check;
    struct error err = {0};
    double start = clock_seconds();
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 10); /* on Linux, this applies to the calling thread only */
    if (atomic_load(&check->state) == STORAGE_CHECK_RUNNING)
        conclude(storage, read_large(storage, &err), &err, clock_seconds() - start);
    if (storage->options.sample_seconds > 0)
        sample_until_stopped(storage);
    pthread_mutex_lock(&check->lock);
    check->ended = true;
    pthread_cond_signal(&check->change);
    pthread_mutex_unlock(&check->lock);
    return NULL;
}

enum status check_start(struct storage *storage, struct error *err)
{
    struct check *check = &storage->check;
    if (atomic_load(&check->state) != STORAGE_CHECK_RUNNING && storage->options.sample_seconds <= 0)
        return STATUS_OK;
    enum status status = reader_open(storage, &check->db, err);
    if (!status && pthread_create(&check->thread, NULL, check_thread, storage) != 0)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "cannot start the thread that checks the database");
    check->started = !status;
    return status;
}

bool check_stop(struct storage *storage)
{
    struct check *check = &storage->check;
    atomic_store(&check->stop, true);
    if (check->started) {
        pthread_mutex_lock(&check->lock);
        while (!check->ended) { /* repeated, because an interrupt between two statements has no effect */
            struct timespec until;
            sqlite3_interrupt(check->db.handle);
            (void)clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += 20000000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            (void)pthread_cond_timedwait(&check->change, &check->lock, &until);
        }
        pthread_mutex_unlock(&check->lock);
        pthread_join(check->thread, NULL);
        check->started = false;
    }
    db_close(&check->db);
    enum storage_check state = atomic_load(&check->state);
    return state == STORAGE_CHECK_NONE || state == STORAGE_CHECK_SOUND;
}
