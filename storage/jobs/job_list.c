/* Lists jobs: filters, order and pages. Every statement is a constant text; values of a client are only bound. */
#include "storage/storage_int.h"

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
    " AND (?14 IS NULL OR study = ?14)"
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
    if (status != STATUS_OK)
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
    while (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        if (*count == (size_t)limit)
            *more = true;
        else
            status = job_row_read(stmt, arena, &list[(*count)++], err);
        if (*more || status != STATUS_OK) {
            db_done(stmt);
            break;
        }
    }
    reader_give(storage, db);
    *jobs = list;
    return status;
}
