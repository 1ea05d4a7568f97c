/* Studies: reads and lists them, and applies a request or a deletion to all jobs of one. A study has no state of its
 * own: everything that changes belongs to its jobs. A trigger deletes its row together with its last job. */
#include "storage/storage_int.h"

#include <string.h>

#define LIST_MAX 1000
/* The part of a job that is done, between 0 and 1. */
#define FRACTION                                                                                                       \
    "CASE WHEN j.state IN ('succeeded', 'failed', 'cancelled') THEN 1.0 WHEN json_valid(j.progress)"                   \
    " THEN coalesce(json_extract(j.progress, '$.fraction'), 0.0) ELSE 0.0 END"
/* Selects studies with the numbers of their jobs; `which` selects rows of the table `study`. */
#define SELECT(which)                                                                                                  \
    "SELECT s.id, s.kind, s.preset, s.name, s.owner, s.grid, s.seeds, s.created_at,"                                   \
    " sum(j.state = 'queued'), sum(j.state = 'running'), sum(j.state = 'paused'), sum(j.state = 'succeeded'),"         \
    " sum(j.state = 'failed'), sum(j.state = 'cancelled'), avg(" FRACTION "), max(j.finished_at),"                     \
    " sum(j.version) + sum(j.progress_version), s.team, s.visibility"                                                  \
    " FROM (SELECT * FROM study WHERE " which ") AS s JOIN job AS j ON j.study = s.id AND j.study <> ''"               \
    " GROUP BY s.id ORDER BY s.id DESC"

static enum status study_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_study *out, struct error *err)
{
    static const enum job_state states[] = {JOB_QUEUED,    JOB_RUNNING, JOB_PAUSED,
                                            JOB_SUCCEEDED, JOB_FAILED,  JOB_CANCELLED};
    memset(out, 0, sizeof *out);
    bool ok = db_copy(stmt, 0, out->id, sizeof out->id);
    out->kind = db_text(stmt, 1, arena, &ok);
    out->preset = db_text(stmt, 2, arena, &ok);
    out->name = db_text(stmt, 3, arena, &ok);
    out->owner = db_text(stmt, 4, arena, &ok);
    out->grid = db_text(stmt, 5, arena, &ok);
    out->seeds = sqlite3_column_int(stmt, 6);
    out->created_at = sqlite3_column_int64(stmt, 7);
    for (int i = 0; i < 6; i++) {
        out->jobs[states[i]] = sqlite3_column_int64(stmt, 8 + i);
        out->count += out->jobs[states[i]];
    }
    out->fraction = sqlite3_column_double(stmt, 14);
    out->finished_at = out->jobs[JOB_QUEUED] + out->jobs[JOB_RUNNING] + out->jobs[JOB_PAUSED] == 0
                           ? sqlite3_column_int64(stmt, 15)
                           : 0;
    out->version = sqlite3_column_int64(stmt, 16);
    out->team = db_text(stmt, 17, arena, &ok);
    char visibility[16] = "";
    ok = db_copy(stmt, 18, visibility, sizeof visibility) && ok;
    if (ok && !visibility_parse(visibility, &out->visibility))
        return error_set(err, STATUS_CORRUPT, NULL, "a study in the database has an unknown visibility");
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a study");
}

static enum status no_such_study(struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND, NULL, "no such study");
}

enum status storage_study_get(struct storage *storage, const char *id, struct arena *arena, struct storage_study *out,
                              struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, SELECT("id = ?"), "t", id);
    if (!status) {
        if (db_row(db, stmt, &status, err)) {
            status = study_row(stmt, arena, out, err);
            db_done(stmt);
        } else if (!status) {
            status = no_such_study(err);
        }
    }
    reader_give(storage, db);
    return status;
}

enum status storage_study_list(struct storage *storage, const struct storage_study_filter *filter, struct arena *arena,
                               struct storage_study **studies, size_t *count, bool *more, struct error *err)
{
    static const char top[] = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"; /* larger than every id */
    const char *before = filter->before != NULL ? filter->before : top;
    int limit = filter->limit == 0 ? 100 : filter->limit;
    sqlite3_stmt *stmt;
    *studies = NULL;
    *count = 0;
    *more = false;
    if (limit < 1 || limit > LIST_MAX)
        return error_set(err, STATUS_INVALID, NULL, "limit must be in [1, %d]", LIST_MAX);
    struct storage_study *list = arena_zalloc(arena, (size_t)limit, sizeof *list);
    if (list == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list studies");
    struct db *db = reader_take(storage);
    enum status status = db_query(
        db, &stmt, err,
        SELECT("id < ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR owner = ?3)"
               " AND (?4 IS NULL OR kind = ?4) AND " VIEWER_SEES("?6", "?7", "?8") " ORDER BY id DESC LIMIT ?5"),
        "ttttntti", before, filter->name, filter->owner, filter->kind, limit + 1, VIEWER_VALUES(filter->viewer));
    while (!status && db_row(db, stmt, &status, err)) {
        if (*count == (size_t)limit)
            *more = true;
        else
            status = study_row(stmt, arena, &list[(*count)++], err);
        if (*more || status) {
            db_done(stmt);
            break;
        }
    }
    reader_give(storage, db);
    *studies = list;
    return status;
}

enum status storage_study_jobs(struct storage *storage, const char *id, const char *after, int limit,
                               struct arena *arena, struct storage_job **jobs, size_t *count, struct error *err)
{
    sqlite3_stmt *stmt;
    *jobs = NULL;
    *count = 0;
    if (limit < 1 || limit > LIST_MAX)
        return error_set(err, STATUS_INVALID, NULL, "limit must be in [1, %d]", LIST_MAX);
    struct storage_job *list = arena_zalloc(arena, (size_t)limit, sizeof *list);
    if (list == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list jobs");
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err,
                                  "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_by_study"
                                  " WHERE study = ?1 AND study <> '' AND id > ?2 ORDER BY num LIMIT ?3",
                                  "ttn", id, after, limit);
    while (!status && db_row(db, stmt, &status, err)) {
        status = job_row_read(stmt, arena, &list[(*count)++], err);
        if (status)
            db_done(stmt);
    }
    reader_give(storage, db);
    *jobs = list;
    return status;
}

/* ---- changes of all jobs ------------------------------------------------------------------------------- */

struct study_change {
    struct command base;
    const char *id;
    enum job_event event;
    enum visibility visibility;
    int64_t changed; /* number of jobs whose state allowed the request */
};

/* Finds the first job of the study with a number above *job. *job is 0 if there is none. */
static enum status next_job(struct db *db, const char *study, int64_t *job, struct error *err)
{
    return db_integer(db, job, 0, err,
                      "SELECT num FROM job WHERE study = ?1 AND study <> '' AND num > ?2 ORDER BY num LIMIT 1", "ti",
                      study, *job);
}

static enum status request_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct study_change *c = (struct study_change *)command;
    int64_t job = 0;
    c->changed = 0;
    enum status status = next_job(db, c->id, &job, err);
    if (status)
        return status;
    if (job == 0)
        return no_such_study(err);
    while (!status && job != 0) {
        enum job_state state;
        enum requested_state requested;
        struct error refused;
        error_clear(&refused);
        status = job_apply_event(db, job, c->event, command, &state, &requested, &refused);
        c->changed += !status;
        if (status == STATUS_CONFLICT) /* the state of this job does not allow it, but that of others may */
            status = STATUS_OK;
        else if (status)
            return error_set(err, status, NULL, "%s", refused.message);
        status = next_job(db, c->id, &job, err);
    }
    if (status || c->changed > 0)
        return status;
    return error_set(err, STATUS_CONFLICT, NULL, "no job of the study is in a state that allows it");
}

enum status storage_study_request(struct storage *storage, const char *id, enum job_event request, struct error *err)
{
    if (request != JOB_EVENT_PAUSE && request != JOB_EVENT_RESUME && request != JOB_EVENT_CANCEL)
        return error_set(err, STATUS_INVALID, NULL, "a request is pause, resume or cancel");
    struct study_change c = {.base = {.run = request_run}, .id = id, .event = request};
    return writer_call(storage, &c.base, err);
}

static enum status share_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct study_change *c = (struct study_change *)command;
    const char *to = visibility_name(c->visibility);
    enum status status = db_run(db, err, "UPDATE study SET visibility = ? WHERE id = ?", "tt", to, c->id);
    if (!status && db_changes(db) == 0)
        return no_such_study(err);
    return status ? status
                  : db_run(db, err,
                           "UPDATE job SET visibility = ?1, version = version + 1 WHERE study = ?2 AND study <> ''",
                           "tt", to, c->id);
}

enum status storage_study_share(struct storage *storage, const char *id, enum visibility visibility, struct error *err)
{
    struct study_change c = {.base = {.run = share_run}, .id = id, .visibility = visibility};
    return writer_call(storage, &c.base, err);
}

static enum status delete_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct study_change *c = (struct study_change *)command;
    int64_t job = 0, unfinished;
    enum status status = next_job(db, c->id, &job, err);
    if (status)
        return status;
    if (job == 0)
        return no_such_study(err);
    status = db_integer(db, &unfinished, 0, err,
                        "SELECT count(*) FROM job WHERE study = ?1 AND study <> ''"
                        " AND state NOT IN ('succeeded', 'failed', 'cancelled')",
                        "t", c->id);
    if (status)
        return status;
    if (unfinished > 0)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "only a study whose jobs are all finished can be deleted; %lld are not: cancel it first",
                         (long long)unfinished);
    while (!status && job != 0) {
        status = job_delete_finished(db, job, err);
        if (!status)
            status = next_job(db, c->id, &job, err);
    }
    return status;
}

enum status storage_study_delete(struct storage *storage, const char *id, struct error *err)
{
    struct study_change c = {.base = {.run = delete_run}, .id = id};
    enum status status = writer_call(storage, &c.base, err);
    if (!status)
        writer_want_sweep(storage);
    return status;
}
