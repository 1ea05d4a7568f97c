/* Reads jobs: one by id, or pages of a filtered list. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX 1000
#define COLUMNS                                                                                                        \
    "id, kind, preset, name, task, state, requested_state, priority, threads, config, params, progress, result, "      \
    "error,"                                                                                                           \
    " source_job, source_checkpoint, created_at, started_at, finished_at, version, progress_version,"                  \
    " owner, executor, ranks"

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_job *out, struct error *err)
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
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a job");
}

enum status storage_job_get(struct storage *storage, const char *id, struct arena *arena, struct storage_job *out,
                            struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT " COLUMNS " FROM job WHERE id = ?", "t", id);
    if (status == STATUS_OK) {
        if (db_row(db, stmt, &status, err)) {
            status = read_row(stmt, arena, out, err);
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

/* A filter that is not used binds NULL. There is one statement for each index that can select the rows, so that the
 * time for a page depends on the length of the page and not on the size of the table. */
#define REST                                                                                                           \
    " AND id < ?1 AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR source_job = ?4)"    \
    " AND (?5 IS NULL OR task = ?5) ORDER BY id DESC LIMIT ?6"

static enum status query_list(struct db *db, sqlite3_stmt **stmt, const struct storage_job_filter *f, int limit,
                              struct error *err)
{
    static const char top[] = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    const char *before = f->before != NULL && f->before[0] != '\0' ? f->before : top;
    const char *state = f->by_state ? job_state_name(f->state) : NULL;
    const char *sql = "SELECT " COLUMNS " FROM job WHERE 1" REST;
    if (f->source_job != NULL)
        sql = "SELECT " COLUMNS " FROM job INDEXED BY job_by_source WHERE source_job = ?4 AND source_job <> ''" REST;
    else if (state != NULL)
        sql = "SELECT " COLUMNS " FROM job INDEXED BY job_by_state WHERE state = ?2" REST;
    else if (f->kind != NULL)
        sql = "SELECT " COLUMNS " FROM job INDEXED BY job_by_kind WHERE kind = ?3" REST;
    enum status status = db_query(db, stmt, err, sql, "tttt", before, state, f->kind, f->source_job);
    if (status != STATUS_OK)
        return status;
    int code = f->by_task ? sqlite3_bind_int(*stmt, 5, (int)f->task) : sqlite3_bind_null(*stmt, 5);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(*stmt, 6, limit);
    return code == SQLITE_OK ? STATUS_OK : db_fail(db, code, err);
}

enum status storage_job_list(struct storage *storage, const struct storage_job_filter *filter, struct arena *arena,
                             struct storage_job **jobs, size_t *count, bool *more, struct error *err)
{
    int limit = filter->limit == 0 ? 100 : filter->limit;
    *jobs = NULL;
    *count = 0;
    *more = false;
    if (limit < 1 || limit > LIST_MAX)
        return error_set(err, STATUS_INVALID, NULL, "limit must be in [1, %d]", LIST_MAX);
    struct storage_job *list = arena_zalloc(arena, (size_t)limit, sizeof *list);
    if (list == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list jobs");
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = query_list(db, &stmt, filter, limit + 1, err);
    while (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        if (*count == (size_t)limit)
            *more = true;
        else
            status = read_row(stmt, arena, &list[(*count)++], err);
        if (*more || status != STATUS_OK) {
            db_done(stmt);
            break;
        }
    }
    reader_give(storage, db);
    *jobs = list;
    return status;
}
