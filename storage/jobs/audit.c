/* The audit log: which changes were requested, and by whom. A row is queued before the request is handled, so the
 * commit that makes the change durable also makes the row durable. The answer is added to the row afterwards. A row
 * without an answer belongs to a request during which the process ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/storage_int.h"

struct noted {
    struct command base;
    struct storage_audit entry;
};

static void noted_destroy(struct command *command)
{
    free(command);
}

static enum status begin_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct storage_audit *e = &((struct noted *)command)->entry;
    /* ON CONFLICT DO NOTHING would count an id that no row has, and the id has a digest (row_digest.h). */
    enum status status = db_run(db, err,
                                "INSERT INTO audit(time, who, peer, request, method, target)"
                                " SELECT ?1, ?2, ?3, ?4, ?5, ?6"
                                " WHERE NOT EXISTS (SELECT 1 FROM audit WHERE request = ?4)",
                                "ittttt", e->time, e->who, e->peer, e->request, e->method, e->target);
    if (status)
        return status;
    return db_run(db, err, "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", "i",
                  (int64_t)STORAGE_AUDIT_KEPT);
}

static enum status end_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct storage_audit *e = &((struct noted *)command)->entry;
    return db_run(db, err, "UPDATE audit SET status = ?, made = ? WHERE request = ?", "ntt", e->status, e->made,
                  e->request);
}

static enum status post(struct storage *storage, const struct storage_audit *entry,
                        enum status (*run)(struct storage *, struct db *, struct command *, struct error *),
                        struct error *err)
{
    struct noted *n = calloc(1, sizeof *n);
    if (n == NULL)
        return error_memory(err, "the audit log");
    n->entry = *entry;
    n->entry.time = clock_now_ms();
    n->base = (struct command){.run = run, .destroy = noted_destroy, .bytes = sizeof *n};
    return writer_post(storage, &n->base, err);
}

enum status storage_audit_begin(struct storage *storage, const struct storage_audit *entry, struct error *err)
{
    return post(storage, entry, begin_run, err);
}

enum status storage_audit_end(struct storage *storage, const char *request, int answer, const char *made,
                              struct error *err)
{
    struct storage_audit entry = {.status = answer};
    (void)snprintf(entry.request, sizeof entry.request, "%s", request);
    (void)snprintf(entry.made, sizeof entry.made, "%s", made);
    return post(storage, &entry, end_run, err);
}

static enum status read_row(sqlite3_stmt *stmt, struct storage_audit *out, struct error *err)
{
    out->id = sqlite3_column_int64(stmt, 0);
    out->time = sqlite3_column_int64(stmt, 1);
    int read = db_copy(stmt, 2, out->who, sizeof out->who);
    read += db_copy(stmt, 3, out->peer, sizeof out->peer);
    read += db_copy(stmt, 4, out->request, sizeof out->request);
    read += db_copy(stmt, 5, out->method, sizeof out->method);
    read += db_copy(stmt, 6, out->target, sizeof out->target);
    out->status = sqlite3_column_int(stmt, 7); /* 0 if the column is NULL: no answer */
    read += db_copy(stmt, 8, out->made, sizeof out->made);
    return read == 6 ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list the audit log");
}

enum status storage_audit_list(struct storage *storage, int64_t before, int limit, struct arena *arena,
                               struct storage_audit **entries, size_t *count, struct error *err)
{
    static const char sql[] =
        "SELECT id, time, who, peer, request, method, target, status, coalesce(made, '') FROM audit"
        " WHERE id < ? ORDER BY id DESC LIMIT ?";
    sqlite3_stmt *stmt = NULL;
    *count = 0;
    *entries = arena_zalloc(arena, (size_t)limit, sizeof **entries);
    if (*entries == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list the audit log");
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, sql, "in", before, limit);
    while (!status && db_row(db, stmt, &status, err))
        status = read_row(stmt, &(*entries)[(*count)++], err);
    db_done(stmt);
    reader_give(storage, db);
    return status;
}
