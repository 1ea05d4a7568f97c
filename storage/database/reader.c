/* The pool of read-only connections. They never write and never copy the write-ahead log into the database file, not
 * even when they close. A connection holds a snapshot only during one call; between calls, the log can restart. */
#include "storage/storage_int.h"

#include <stdlib.h>

/* db_query() finds a prepared statement by the address of its text. Both statements are prepared when the connection
 * opens, so that COMMIT cannot fail for lack of memory. After such a failure, the transaction would stay open, hold its
 * snapshot and block the next one. */
static const char begin_sql[] = "BEGIN", commit_sql[] = "COMMIT";

enum status reader_open(struct storage *storage, struct db *db, struct error *err)
{
    enum status status = db_open(db, storage->path, SQLITE_OPEN_READONLY, storage->vfs, &storage->log, err);
    if (status)
        return status;
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    sqlite3_busy_timeout(db->handle, storage->options.busy_ms);
    status = db_exec(db, "PRAGMA query_only=ON; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-2048", err);
    if (!status)
        status = db_keep(db, begin_sql, err);
    return status ? status : db_keep(db, commit_sql, err);
}

enum status readers_open(struct storage *storage, int count, struct error *err)
{
    struct readers *r = &storage->readers;
    r->db = calloc((size_t)count, sizeof *r->db);
    r->busy = calloc((size_t)count, sizeof *r->busy);
    if (r->db == NULL || r->busy == NULL)
        return error_memory(err, "the database");
    enum status status = STATUS_OK;
    for (; r->count < count && !status; r->count++)
        status = reader_open(storage, &r->db[r->count], err);
    return status;
}

void readers_close(struct storage *storage)
{
    struct readers *r = &storage->readers;
    for (int i = 0; i < r->count; i++)
        db_close(&r->db[i]);
    free(r->db);
    free(r->busy);
    r->db = NULL;
    r->busy = NULL;
    r->count = 0;
}

static void end(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle))
        (void)db_run(db, NULL, commit_sql, "");
}

struct db *reader_take(struct storage *storage)
{
    struct readers *r = &storage->readers;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        for (int i = 0; i < r->count; i++)
            if (!r->busy[i]) {
                r->busy[i] = true;
                pthread_mutex_unlock(&r->lock);
                end(&r->db[i]); /* ends a transaction that could not end when the connection was returned; its snapshot
                                   is old */
                return &r->db[i];
            }
        pthread_cond_wait(&r->change, &r->lock);
    }
}

void reader_give(struct storage *storage, struct db *db)
{
    struct readers *r = &storage->readers;
    pthread_mutex_lock(&r->lock);
    r->busy[db - r->db] = false;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

enum status reader_begin(struct storage *storage, struct db **db, struct error *err)
{
    *db = reader_take(storage);
    enum status status = db_run(*db, err, begin_sql, "");
    if (status) {
        reader_give(storage, *db);
        *db = NULL;
    }
    return status;
}

void reader_end(struct storage *storage, struct db *db)
{
    end(db);
    reader_give(storage, db);
}
