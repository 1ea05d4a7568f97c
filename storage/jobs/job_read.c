/* Reads the row of a job and single values of jobs, and lists jobs. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <string.h>

/* The row of a job: finds the row by the public id of the job, and adds a row. Submission, import, events and metrics
 * use these functions. */

enum status job_number(struct db *db, const char *id, int64_t *number, struct error *err)
{
    *number = 0;
    if (id == NULL)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    enum status status = db_integer(db, number, 0, err, "SELECT num FROM job WHERE id = ?", "t", id);
    if (status)
        return status;
    if (*number == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    return STATUS_OK;
}

const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

enum status job_insert(struct db *db, const char *id, const struct storage_job *job, int64_t last_seq, int64_t *number,
                       struct error *err)
{
    const struct db_value values[] = {
        DB_TEXT("id", id),
        DB_TEXT("kind", job->kind),
        DB_TEXT("preset", or_empty(job->preset)),
        DB_TEXT("name", or_empty(job->name)),
        DB_TEXT("owner", or_empty(job->owner)),
        DB_TEXT("team", or_empty(job->team)),
        DB_TEXT("visibility", visibility_name(job->visibility)),
        DB_INTEGER("task", job->task),
        DB_TEXT("state", job_state_name(job->state)),
        DB_INTEGER("requested_state", job->requested),
        DB_INTEGER("priority", job->priority),
        DB_INTEGER("threads", job->threads),
        DB_TEXT("executor", or_empty(job->executor)),
        DB_INTEGER("ranks", job->ranks),
        DB_TEXT("trace", or_empty(job->trace)),
        DB_TEXT("study", or_empty(job->study)),
        DB_TEXT("config", job->config),
        DB_TEXT("params", job->params),
        DB_TEXT("progress", job->progress),
        DB_TEXT("result", job->result),
        DB_TEXT("error", job->error),
        DB_TEXT("source_job", or_empty(job->source_job)),
        DB_INTEGER("source_checkpoint", job->source_checkpoint),
        DB_INTEGER("created_at", job->created_at),
        DB_INTEGER("started_at", job->started_at),
        DB_INTEGER("finished_at", job->finished_at),
        DB_INTEGER("version", 1),
        DB_INTEGER("progress_version", 0),
        DB_INTEGER("last_seq", last_seq),
    };
    enum status status = db_insert(db, "job", values, sizeof values / sizeof values[0], err);
    *number = sqlite3_last_insert_rowid(db->handle);
    return status;
}

enum status job_set_tags(struct db *db, int64_t job, const char *tags, struct error *err)
{
    enum status status = db_run(db, err, "DELETE FROM job_tag WHERE job = ?", "i", job);
    if (status)
        return status;
    return db_run(db, err, "INSERT OR IGNORE INTO job_tag(tag, job) SELECT value, ?1 FROM json_each(?2)", "it", job,
                  tags);
}

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
    out->team = db_text(stmt, 27, arena, &ok);
    char visibility[16] = "";
    ok = db_copy(stmt, 28, visibility, sizeof visibility) && ok;
    if (ok && !visibility_parse(visibility, &out->visibility))
        return error_set(err, STATUS_CORRUPT, NULL, "a job in the database has an unknown visibility");
    out->pinned = sqlite3_column_int(stmt, 29) != 0;
    out->used_at = sqlite3_column_int64(stmt, 30);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a job");
}

enum status storage_job_get(struct storage *storage, const char *id, struct arena *arena, struct storage_job *out,
                            struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT " JOB_COLUMNS " FROM job WHERE id = ?", "t", id);
    if (!status) {
        if (db_row(db, stmt, &status, err)) {
            status = job_row_read(stmt, arena, out, err);
            db_done(stmt);
        } else if (!status) {
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
    if (!status && value < 0)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    *requested = !status ? (enum requested_state)value : REQUESTED_NONE;
    return status;
}

#define BYTES_OF(column)                                                                                               \
    "SELECT (SELECT coalesce(sum(c.bytes), 0) FROM job AS j JOIN checkpoint AS c ON c.job = j.num WHERE j." column     \
    " = ?1) + (SELECT coalesce(sum(length(a.data)), 0) FROM job AS j JOIN artifact AS a ON a.job = j.num WHERE "       \
    "j." column " = ?1)"

enum status owner_bytes(struct db *db, const char *owner, int64_t *bytes, struct error *err)
{
    return db_integer(db, bytes, 0, err, BYTES_OF("owner"), "t", owner);
}

enum status team_bytes(struct db *db, const char *team, int64_t *bytes, struct error *err)
{
    return db_integer(db, bytes, 0, err, BYTES_OF("team"), "t", team);
}

enum status storage_owner_bytes(struct storage *storage, const char *owner, int64_t *bytes, struct error *err)
{
    struct db *db = reader_take(storage);
    enum status status = owner_bytes(db, owner, bytes, err);
    reader_give(storage, db);
    return status;
}

enum status storage_team_bytes(struct storage *storage, const char *team, int64_t *bytes, struct error *err)
{
    struct db *db = reader_take(storage);
    enum status status = team_bytes(db, team, bytes, err);
    reader_give(storage, db);
    return status;
}

/* Lists jobs: filters, order and pages. Every statement is a constant text; values of a client are only bound. */

#define LIST_MAX 1000
/* An imported or damaged result need not be JSON; SQLite's JSON functions fail for such text. */
#define RESULT "CASE WHEN json_valid(job.result) THEN job.result END"
#define PATH "json_extract(f.value, '$.path')"
#define VALUE "json_extract(f.value, '$.value')"
/* True when the result fulfils `f`, one of the filter's conditions. A text is never smaller or larger than a number. */
#define CONDITION                                                                                                      \
    "CASE json_extract(f.value, '$.op')"                                                                               \
    " WHEN '=' THEN json_extract(" RESULT ", " PATH ") = " VALUE " WHEN '<=' THEN json_type(" RESULT ", " PATH         \
    ") IN ('integer', 'real') AND json_extract(" RESULT ", " PATH ") <= " VALUE " WHEN '>=' THEN json_type(" RESULT    \
    ", " PATH ") IN ('integer', 'real') AND json_extract(" RESULT ", " PATH ") >= " VALUE " END"
/* Each filter has one parameter. If a filter is not used, its parameter is NULL, or 0 for the flag ?11. */
#define FILTERS                                                                                                        \
    " AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR source_job = ?4)"                \
    " AND (?5 IS NULL OR task = ?5) AND (?7 IS NULL OR name = ?7)"                                                     \
    " AND (?8 IS NULL OR EXISTS (SELECT 1 FROM job_tag AS t WHERE t.tag = ?8 AND t.job = job.num))"                    \
    " AND (?9 IS NULL OR owner = ?9) AND (?10 IS NULL OR preset = ?10)"                                                \
    " AND (?11 = 0 OR EXISTS (SELECT 1 FROM checkpoint AS c WHERE c.job = job.num AND c.complete))"                    \
    " AND (?12 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(?12) AS f WHERE NOT coalesce(" CONDITION ", 0)))"        \
    " AND (?14 IS NULL OR study = ?14) AND " VIEWER_SEES("?15", "?16", "?17")
/* One statement for each index that can select the rows, so that the time for a page depends on the length of the page
 * and not on the size of the table. */
#define NEWEST FILTERS " AND id < ?1 ORDER BY id DESC LIMIT ?6"
#define SELECT "SELECT " JOB_COLUMNS " FROM job"

/* The key of a job: its value by which the list is sorted (?13 says which); NULL for a job without the value. */
#define KEY                                                                                                            \
    "CASE ?13 WHEN 'created_at' THEN id WHEN 'name' THEN nullif(name, '') WHEN 'kind' THEN kind"                       \
    " WHEN 'preset' THEN nullif(preset, '') WHEN 'owner' THEN nullif(owner, '') WHEN 'state' THEN state"               \
    " WHEN 'priority' THEN priority WHEN 'started_at' THEN nullif(started_at, 0)"                                      \
    " WHEN 'finished_at' THEN nullif(finished_at, 0) ELSE json_extract(" RESULT ", ?13) END"
/* A page begins after job ?1, the last job of the previous page. The list is sorted by key. Jobs with equal keys follow
 * newest first, and jobs without a key come last. */
#define SORTED(after, order)                                                                                           \
    "WITH j AS (SELECT job.*, " KEY " AS k FROM job WHERE 1" FILTERS "),"                                              \
    " e AS (SELECT " KEY " AS k, id FROM job WHERE id = ?1)"                                                           \
    " SELECT " JOB_COLUMNS " FROM j WHERE (?1 IS NULL OR (k IS NULL) > (SELECT k IS NULL FROM e)"                      \
    " OR ((k IS NULL) = (SELECT k IS NULL FROM e) AND (k " after " (SELECT k FROM e)"                                  \
    " OR (k IS (SELECT k FROM e) AND id < (SELECT id FROM e)))))"                                                      \
    " ORDER BY k IS NULL, k " order ", id DESC LIMIT ?6"

static const char *statement_of(const struct storage_job_filter *f)
{
    if (f->sort != NULL || f->ascending)
        return f->ascending ? SORTED(">", "ASC") : SORTED("<", "DESC");
    if (f->study != NULL && f->study[0] != '\0')
        return SELECT " INDEXED BY job_by_study WHERE study = ?14 AND study <> ''" NEWEST;
    if (f->source_job != NULL)
        return SELECT " INDEXED BY job_by_source WHERE source_job = ?4 AND source_job <> ''" NEWEST;
    if (f->name != NULL && f->name[0] != '\0')
        return SELECT " INDEXED BY job_by_name WHERE name = ?7 AND name <> ''" NEWEST;
    if (f->tag != NULL)
        return SELECT " WHERE num IN (SELECT job FROM job_tag WHERE tag = ?8)" NEWEST;
    if (f->by_state)
        return SELECT " INDEXED BY job_by_state WHERE state = ?2" NEWEST;
    if (f->kind != NULL)
        return SELECT " INDEXED BY job_by_kind WHERE kind = ?3" NEWEST;
    if (viewer_set(f->viewer) >= 0)
        return SELECT " INDEXED BY job_by_viewer WHERE 1" NEWEST;
    return SELECT " WHERE 1" NEWEST;
}

static enum status query_list(struct db *db, sqlite3_stmt **stmt, const struct storage_job_filter *f, int limit,
                              struct error *err)
{
    static const char top[] = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"; /* larger than every id */
    bool sorted = f->sort != NULL || f->ascending;
    const char *before = f->before != NULL && f->before[0] != '\0' ? f->before : sorted ? NULL : top;
    const char *state = f->by_state ? job_state_name(f->state) : NULL;
    enum status status = db_query(db, stmt, err, statement_of(f), "tttt", before, state, f->kind, f->source_job);
    if (status)
        return status;
    const char *const texts[] = {f->name, f->tag, f->owner, f->preset};
    int code = f->by_task ? sqlite3_bind_int(*stmt, 5, (int)f->task) : sqlite3_bind_null(*stmt, 5);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(*stmt, 6, limit);
    for (int i = 0; i < 4 && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(*stmt, 7 + i, texts[i], -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(*stmt, 11, f->has_checkpoint);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(*stmt, 12, f->result, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(*stmt, 14, f->study, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(*stmt, 15, f->viewer != NULL ? f->viewer->name : "", -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(*stmt, 16, f->viewer != NULL ? f->viewer->team : "", -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(*stmt, 17, viewer_set(f->viewer));
    if (code == SQLITE_OK && sorted)
        code = sqlite3_bind_text(*stmt, 13, f->sort != NULL ? f->sort : "created_at", -1, SQLITE_STATIC);
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
    while (!status && db_row(db, stmt, &status, err)) {
        if (*count == (size_t)limit)
            *more = true;
        else
            status = job_row_read(stmt, arena, &list[(*count)++], err);
        if (*more || status) {
            db_done(stmt);
            break;
        }
    }
    reader_give(storage, db);
    *jobs = list;
    return status;
}
