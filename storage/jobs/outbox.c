/* Notices of ended jobs. A trigger of the schema stores a notice in the transaction that ends its job, so neither can
 * be on disk without the other. The row stays until the notice is delivered; a crash between a delivery and
 * storage_notice_delivered() therefore causes a second delivery. */
#include <string.h>

#include "storage/storage_int.h"

struct change {
    struct command base;
    int64_t id, due_at;
};

#define TIME(column) "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000.0, 'unixepoch')"

enum status notice_add(struct db *db, int64_t job, struct error *err)
{
    return db_run(db, err,
                  "INSERT INTO outbox(job, state, data, time, tries, due_at) SELECT id, state, json_object('id', id,"
                  " 'kind', kind, 'preset', nullif(preset, ''), 'name', nullif(name, ''), 'owner', nullif(owner, ''),"
                  " 'task', iif(task = 0, 'train', 'evaluate'), 'state', state,"
                  " 'verdict', iif(json_valid(result), json_extract(result, '$.verdict'), NULL),"
                  " 'error', iif(json_valid(error), json_extract(error, '$.message'), NULL),"
                  " 'created_at', " TIME("created_at") ", 'finished_at', " TIME(
                      "finished_at") "),"
                                     " finished_at, 0, finished_at FROM job WHERE num = ?",
                  "i", job);
}

/* Also returns a notice that is due later than the longest delay allows: it was stored before somebody set the clock
 * back. */
enum status storage_notice_next(struct storage *storage, int64_t now, struct arena *arena, struct storage_notice *out,
                                struct error *err)
{
    sqlite3_stmt *stmt;
    bool ok = true, found = false;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err,
                                  "SELECT id, job, state, data, time, tries FROM outbox"
                                  " WHERE due_at <= ?1 OR due_at > ?1 + ?2 ORDER BY due_at, id LIMIT 1",
                                  "ii", now, STORAGE_NOTICE_DELAY_MAX);
    if (!status && db_row(db, stmt, &status, err)) {
        found = true;
        memset(out, 0, sizeof *out);
        out->id = sqlite3_column_int64(stmt, 0);
        ok = db_copy(stmt, 1, out->job, sizeof out->job);
        out->state = db_text(stmt, 2, arena, &ok);
        out->data = db_text(stmt, 3, arena, &ok);
        out->time = sqlite3_column_int64(stmt, 4);
        out->tries = sqlite3_column_int(stmt, 5);
        db_done(stmt);
    }
    reader_give(storage, db);
    if (!status && !ok)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a notice");
    if (!status && !found)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no notice is due");
    return status;
}

static enum status delivered_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    return db_run(db, err, "DELETE FROM outbox WHERE id = ?", "i", ((struct change *)command)->id);
}

enum status storage_notice_delivered(struct storage *storage, int64_t id, struct error *err)
{
    struct change c = {.base = {.run = delivered_run}, .id = id};
    return writer_call(storage, &c.base, err);
}

static enum status failed_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct change *c = (struct change *)command;
    return db_run(db, err, "UPDATE outbox SET tries = tries + 1, due_at = ? WHERE id = ?", "ii", c->due_at, c->id);
}

enum status storage_notice_failed(struct storage *storage, int64_t id, int64_t due_at, struct error *err)
{
    struct change c = {.base = {.run = failed_run}, .id = id, .due_at = due_at};
    return writer_call(storage, &c.base, err);
}

enum status storage_notice_count(struct storage *storage, int64_t *count, struct error *err)
{
    struct db *db = reader_take(storage);
    enum status status = db_integer(db, count, 0, err, "SELECT count(*) FROM outbox", "");
    reader_give(storage, db);
    return status;
}
