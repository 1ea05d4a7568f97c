/* The answers of people about the marks of a job's model. A later answer about a mark is a further version; no version
 * is ever changed, so the history is complete. */
#include "storage/jobs/answer.h"
#include "storage/storage_int.h"

#include <string.h>

struct put {
    struct command base;
    const char *id;
    const struct storage_answer *answers;
    size_t count;
};

static enum status put_one(struct db *db, int64_t job, const struct storage_answer *a, struct error *err)
{
    /* Nothing happens if the newest version says the same, so a repeated request changes nothing. */
    static const char sql[] =
        "INSERT INTO answer SELECT ?1, ?2, coalesce(max(version), 0) + 1, ?3, ?4, ?5, ?6, ?7"
        " FROM answer WHERE job = ?1 AND mark = ?2"
        " HAVING NOT EXISTS (SELECT 1 FROM (SELECT answer, box FROM answer WHERE job = ?1 AND mark = ?2"
        "  ORDER BY version DESC LIMIT 1) WHERE answer = ?3 AND box IS ?4)";
    return db_run(db, err, sql, "ittttti", job, a->mark, a->answer, a->box, or_empty(a->place), or_empty(a->owner),
                  db_stamp(db));
}

static enum status put_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct put *p = (struct put *)command;
    int64_t job, rows = 0;
    enum status status = job_number(db, p->id, &job, err);
    for (size_t i = 0; !status && i < p->count; i++)
        status = put_one(db, job, &p->answers[i], err);
    if (status)
        return status;
    status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM answer WHERE job = ?", "i", job);
    if (status || rows <= STORAGE_ANSWERS)
        return status;
    return error_set(err, STATUS_LIMIT, NULL, "a job may have at most %d answers, with all their versions",
                     (int)STORAGE_ANSWERS);
}

enum status storage_answers_put(struct storage *storage, const char *id, const struct storage_answer *answers,
                                size_t count, struct error *err)
{
    struct put p = {.base = {.run = put_run}, .id = id, .answers = answers, .count = count};
    return writer_call(storage, &p.base, err);
}

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_answer *out, struct error *err)
{
    bool ok = true;
    out->mark = db_text(stmt, 0, arena, &ok);
    out->version = sqlite3_column_int64(stmt, 1);
    out->answer = db_text(stmt, 2, arena, &ok);
    out->box = db_text(stmt, 3, arena, &ok);
    out->place = db_text(stmt, 4, arena, &ok);
    out->owner = db_text(stmt, 5, arena, &ok);
    out->created_at = sqlite3_column_int64(stmt, 6);
    return ok ? STATUS_OK : error_memory(err, "answers");
}

static enum status read_all(struct db *db, const char *id, struct arena *arena, struct storage_answer **answers,
                            size_t *count, struct error *err)
{
    int64_t job, rows = 0;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, id, &job, err);
    if (!status)
        status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM answer WHERE job = ?", "i", job);
    if (status || rows == 0)
        return status;
    *answers = arena_zalloc(arena, (size_t)rows, sizeof **answers);
    if (*answers == NULL)
        return error_memory(err, "answers");
    status = db_query(db, &stmt, err,
                      "SELECT mark, version, answer, box, place, owner, created_at FROM answer WHERE job = ?"
                      " ORDER BY mark, version",
                      "i", job);
    while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
        status = read_row(stmt, arena, &(*answers)[(*count)++], err);
    db_done(stmt);
    return status;
}

enum status storage_answers_list(struct storage *storage, const char *id, struct arena *arena,
                                 struct storage_answer **answers, size_t *count, struct error *err)
{
    struct db *db;
    *answers = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = read_all(db, id, arena, answers, count, err);
    reader_end(storage, db);
    return status;
}
