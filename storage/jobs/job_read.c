/* Reads the row of a job, and single values of jobs. job_list.c lists jobs. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <string.h>

enum status job_row_read(sqlite3_stmt *stmt, struct arena *arena, struct storage_job *out, struct error *err)
{
    char state[JOB_STATE_NAME];
    memset(out, 0, sizeof *out);
    bool ok = db_copy(stmt, 5, state, sizeof state);
    if (ok && !job_state_parse(state, &out->state))
        return error_set(err, STATUS_CORRUPT, NULL, "a job in the database has an unknown state");
    ok = db_copy(stmt, 0, out->id, sizeof out->id) && ok;
    out->kind = db_text(stmt, 1, arena, &ok);
    out->preset = db_text(stmt, 2, arena, &ok);
    out->name = db_text(stmt, 3, arena, &ok);
    out->task = (enum job_task)sqlite3_column_int(stmt, 4);
    out->requested = (enum requested_state)sqlite3_column_int(stmt, 6);
    out->priority = sqlite3_column_int(stmt, 7);
    out->threads = sqlite3_column_int(stmt, 8);
    out->config = db_text(stmt, 9, arena, &ok);
    out->params = db_text(stmt, 10, arena, &ok);
    out->progress = db_text(stmt, 11, arena, &ok);
    out->result = db_text(stmt, 12, arena, &ok);
    out->error = db_text(stmt, 13, arena, &ok);
    out->source_job = db_text(stmt, 14, arena, &ok);
    out->source_checkpoint = sqlite3_column_int64(stmt, 15);
    out->created_at = sqlite3_column_int64(stmt, 16);
    out->started_at = sqlite3_column_int64(stmt, 17);
    out->finished_at = sqlite3_column_int64(stmt, 18);
    out->version = sqlite3_column_int64(stmt, 19);
    out->progress_version = sqlite3_column_int64(stmt, 20);
    out->owner = db_text(stmt, 21, arena, &ok);
    out->executor = db_text(stmt, 22, arena, &ok);
    out->ranks = sqlite3_column_int(stmt, 23);
    out->trace = db_text(stmt, 24, arena, &ok);
    out->tags = db_text(stmt, 25, arena, &ok);
    out->study = db_text(stmt, 26, arena, &ok);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a job");
}

enum status storage_job_get(struct storage *storage, const char *id, struct arena *arena, struct storage_job *out,
                            struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT " JOB_COLUMNS " FROM job WHERE id = ?", "t", id);
    if (status == STATUS_OK) {
        if (db_row(db, stmt, &status, err)) {
            status = job_row_read(stmt, arena, out, err);
            db_done(stmt);
        } else if (status == STATUS_OK) {
            status = error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
        }
    }
    reader_give(storage, db);
    return status;
}

enum status storage_job_requested(struct storage *storage, const char *id, enum requested_state *requested,
                                  struct error *err)
{
    int64_t value;
    struct db *db = reader_take(storage);
    enum status status = db_integer(db, &value, -1, err, "SELECT requested_state FROM job WHERE id = ?", "t", id);
    reader_give(storage, db);
    if (status == STATUS_OK && value < 0)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    *requested = status == STATUS_OK ? (enum requested_state)value : REQUESTED_NONE;
    return status;
}

enum status owner_bytes(struct db *db, const char *owner, int64_t *bytes, struct error *err)
{
    return db_integer(db, bytes, 0, err,
                      "SELECT (SELECT coalesce(sum(c.bytes), 0) FROM job AS j JOIN checkpoint AS c ON "
                      "c.job = j.num WHERE j.owner = ?1)"
                      " + (SELECT coalesce(sum(length(a.data)), 0) FROM job AS j JOIN artifact AS a ON "
                      "a.job = j.num WHERE j.owner = ?1)",
                      "t", owner);
}

enum status storage_owner_bytes(struct storage *storage, const char *owner, int64_t *bytes, struct error *err)
{
    struct db *db = reader_take(storage);
    enum status status = owner_bytes(db, owner, bytes, err);
    reader_give(storage, db);
    return status;
}
