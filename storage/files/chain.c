/* The facts of every checkpoint that a job ever had, including those whose bytes were removed by the retention rule.
 * The chain proves later which checkpoints led to a model. */
#include "storage/storage_int.h"

#include <string.h>

enum status chain_add(struct storage *storage, struct db *db, int64_t checkpoint, struct error *err)
{
    const char *maker = storage->options.maker != NULL ? storage->options.maker : "";
    return db_run(db, err,
                  "INSERT INTO chain SELECT job, seq, step, samples, density, stage_end, bytes, sha256, ?, created_at"
                  " FROM checkpoint WHERE id = ?",
                  "ti", maker, checkpoint);
}

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_link *out, struct error *err)
{
    bool ok = true;
    const void *sha256 = db_blob(stmt, 6, sizeof out->sha256);
    *out = (struct storage_link){
        .seq = sqlite3_column_int64(stmt, 0),
        .step = sqlite3_column_int64(stmt, 1),
        .samples = sqlite3_column_int64(stmt, 2),
        .density = db_real(stmt, 3),
        .stage_end = sqlite3_column_int(stmt, 4) != 0,
        .bytes = sqlite3_column_int64(stmt, 5),
        .maker = db_text(stmt, 7, arena, &ok),
        .created_at = sqlite3_column_int64(stmt, 8),
        .kept = sqlite3_column_int(stmt, 9) != 0,
    };
    if (sha256 == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "a row of the chain has no hash");
    memcpy(out->sha256, sha256, sizeof out->sha256);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a chain");
}

static enum status files_chain_list(struct db *db, const char *id, struct arena *arena, struct storage_link **out,
                                    size_t *count, struct error *err)
{
    int64_t job, rows = 0;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, id, &job, err);
    if (status == STATUS_OK)
        status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM chain WHERE job = ?", "i", job);
    if (status != STATUS_OK || rows == 0)
        return status;
    *out = arena_zalloc(arena, (size_t)rows, sizeof **out);
    if (*out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a chain");
    status = db_query(db, &stmt, err,
                      "SELECT seq, step, samples, density, stage_end, bytes, sha256, maker, created_at,"
                      " EXISTS (SELECT 1 FROM checkpoint AS c WHERE c.job = l.job AND c.seq = l.seq AND c.complete)"
                      " FROM chain AS l WHERE job = ? ORDER BY seq",
                      "i", job);
    while (status == STATUS_OK && *count < (size_t)rows && db_row(db, stmt, &status, err))
        status = read_row(stmt, arena, &(*out)[(*count)++], err);
    db_done(stmt);
    return status;
}

enum status storage_chain_list(struct storage *storage, const char *id, struct arena *arena,
                               struct storage_link **links, size_t *count, struct error *err)
{
    struct db *db;
    *links = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status != STATUS_OK)
        return status;
    status = files_chain_list(db, id, arena, links, count, err);
    reader_end(storage, db);
    return status;
}
