/* Artifacts: small files of a job, such as tables and pictures, each stored in one row. */
#include "storage/storage_int.h"

#include <string.h>

#define NAME_MAX_BYTES 64

struct put {
    struct command base;
    const char *id, *name, *media_type;
    const void *bytes;
    size_t count;
};

static enum status put_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct put *p = (struct put *)command;
    int64_t job;
    enum status status = job_number(db, p->id, &job, err);
    if (status)
        return status;
    return db_run(db, err, "INSERT OR REPLACE INTO artifact VALUES (?, ?, ?, ?, ?)", "ittib", job, p->name,
                  p->media_type, db_stamp(db), p->bytes, p->count);
}

static bool name_is_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");
    return length > 0 && length <= NAME_MAX_BYTES && name[length] == '\0' && name[0] != '.';
}

enum status storage_artifact_put(struct storage *storage, const char *id, const char *name, const char *media_type,
                                 const void *bytes, size_t count, struct error *err)
{
    struct put p = {
        .base = {.run = put_run}, .id = id, .name = name, .media_type = media_type, .bytes = bytes, .count = count};
    if (!name_is_valid(name))
        return error_set(err, STATUS_INVALID, NULL,
                         "an artifact's name must have 1 to %d characters of a-z, 0-9, '.' and '-'", NAME_MAX_BYTES);
    if (count > STORAGE_ARTIFACT_BYTES)
        return error_set(err, STATUS_LIMIT, NULL, "an artifact may have at most %u bytes", STORAGE_ARTIFACT_BYTES);
    return writer_call(storage, &p.base, err);
}

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_artifact *out, struct error *err)
{
    bool ok = true;
    out->name = db_text(stmt, 0, arena, &ok);
    out->media_type = db_text(stmt, 1, arena, &ok);
    out->created_at = sqlite3_column_int64(stmt, 2);
    out->bytes = sqlite3_column_int64(stmt, 3);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read an artifact");
}

static enum status artifact_list(struct db *db, const char *id, struct arena *arena, struct storage_artifact **out,
                                 size_t *count, struct error *err)
{
    int64_t job, rows = 0;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, id, &job, err);
    if (!status)
        status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM artifact WHERE job = ?", "i", job);
    if (status || rows == 0)
        return status;
    *out = arena_zalloc(arena, (size_t)rows, sizeof **out);
    if (*out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list artifacts");
    status = db_query(db, &stmt, err,
                      "SELECT name, media_type, created_at, length(data) FROM artifact WHERE job = ? ORDER BY name",
                      "i", job);
    while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
        status = read_row(stmt, arena, &(*out)[(*count)++], err);
    db_done(stmt);
    return status;
}

enum status storage_artifact_list(struct storage *storage, const char *id, struct arena *arena,
                                  struct storage_artifact **artifacts, size_t *count, struct error *err)
{
    struct db *db;
    *artifacts = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = artifact_list(db, id, arena, artifacts, count, err);
    reader_end(storage, db);
    return status;
}

static enum status get(struct db *db, const char *id, const char *name, struct arena *arena,
                       struct storage_artifact *out, const void **bytes, struct error *err)
{
    int64_t job;
    sqlite3_stmt *stmt;
    enum status status = job_number(db, id, &job, err);
    if (status)
        return status;
    status = db_query(db, &stmt, err,
                      "SELECT name, media_type, created_at, length(data), data FROM artifact"
                      " WHERE job = ? AND name = ?",
                      "it", job, name);
    if (status)
        return status;
    if (!db_row(db, stmt, &status, err))
        return status ? status : error_set(err, STATUS_NOT_FOUND, NULL, "no such artifact");
    status = read_row(stmt, arena, out, err);
    const void *data = sqlite3_column_blob(stmt, 4);
    size_t count = (size_t)sqlite3_column_bytes(stmt, 4);
    void *copy = !status ? arena_alloc(arena, count > 0 ? count : 1) : NULL;
    if (!status && (copy == NULL || (count > 0 && data == NULL)))
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read an artifact");
    if (!status && count > 0)
        memcpy(copy, data, count);
    *bytes = copy;
    db_done(stmt);
    return status;
}

enum status storage_artifact_get(struct storage *storage, const char *id, const char *name, struct arena *arena,
                                 struct storage_artifact *out, const void **bytes, struct error *err)
{
    struct db *db;
    *bytes = NULL;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = get(db, id, name, arena, out, bytes, err);
    reader_end(storage, db);
    return status;
}
