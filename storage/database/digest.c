/* A digest of all that a database contains. A copy carries its own digest in a table, so that a restore notices every
 * change of a row: a page with a flipped bit can be a sound page with another content. */
#include "storage/storage_int.h"

#include <string.h>

#include "core/base/hash.h"

/* Returns false if there is no memory for the value. */
static bool add_value(struct hash *hash, sqlite3_stmt *stmt, int column)
{
    unsigned char type = (unsigned char)sqlite3_column_type(stmt, column);
    int64_t integer = sqlite3_column_int64(stmt, column);
    double real = sqlite3_column_double(stmt, column);
    hash_add(hash, &type, 1);
    if (type == SQLITE_INTEGER)
        hash_add(hash, &integer, sizeof integer);
    if (type == SQLITE_FLOAT)
        hash_add(hash, &real, sizeof real);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return true;
    const void *bytes = sqlite3_column_blob(stmt, column);
    int64_t count = sqlite3_column_bytes(stmt, column);
    hash_add(hash, &count, sizeof count);
    if (count > 0 && bytes != NULL)
        hash_add(hash, bytes, (size_t)count);
    return count == 0 || bytes != NULL;
}

/* Adds all rows that a statement returns. `sql` was allocated by SQLite, and this function frees it; NULL: no memory.
 */
static enum status add_rows(struct db *db, struct hash *hash, char *sql, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sql == NULL)
        return error_memory(err, "the digest of the database");
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        hash_add(hash, sql, strlen(sql) + 1);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        code = SQLITE_OK;
        for (int column = 0; column < sqlite3_column_count(stmt) && code == SQLITE_OK; column++)
            code = add_value(hash, stmt, column) ? SQLITE_OK : SQLITE_NOMEM;
    }
    (void)sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return code == SQLITE_DONE ? STATUS_OK : db_fail(db, code, err);
}

static enum status digest_contents(struct db *db, unsigned char digest[HASH_BYTES], struct error *err)
{
    struct hash hash;
    sqlite3_stmt *stmt = NULL;
    hash_init(&hash);
    enum status status = add_rows(db, &hash,
                                  sqlite3_mprintf("SELECT type, name, tbl_name, sql FROM sqlite_schema"
                                                  " WHERE tbl_name <> 'digest' ORDER BY type, name"),
                                  err);
    if (!status)
        status = db_query(db, &stmt, err,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'digest' ORDER BY name", "");
    while (!status && db_row(db, stmt, &status, err)) {
        /* without an index, the rows come in the order of their keys, whatever indexes exist */
        const char *table = (const char *)sqlite3_column_text(stmt, 0);
        char *sql = table != NULL ? sqlite3_mprintf("SELECT * FROM \"%w\" NOT INDEXED", table) : NULL;
        status = add_rows(db, &hash, sql, err);
    }
    db_done(stmt);
    hash_finish(&hash, digest);
    return status;
}

enum status digest_store(struct db *db, struct error *err)
{
    unsigned char digest[HASH_BYTES];
    enum status status = db_exec(db, "DROP TABLE IF EXISTS digest", err);
    if (!status)
        status = digest_contents(db, digest, err);
    if (!status)
        status = db_exec(db, "CREATE TABLE digest(sha256 BLOB NOT NULL CHECK (length(sha256) = 32)) STRICT", err);
    return status ? status : db_run(db, err, "INSERT INTO digest VALUES (?)", "b", (const void *)digest, sizeof digest);
}

enum status digest_verify(struct db *db, struct error *err)
{
    unsigned char digest[HASH_BYTES], stored[HASH_BYTES];
    int64_t has = 0;
    sqlite3_stmt *stmt = NULL;
    enum status status =
        db_integer(db, &has, 0, err, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'digest'", "");
    if (status)
        return status;
    if (!has)
        return error_set(err, STATUS_CORRUPT, NULL,
                         "the file carries no digest of its contents: it was not written by `motifd backup`, or it is "
                         "damaged");
    status = db_query(db, &stmt, err, "SELECT sha256 FROM digest", "");
    bool found = !status && db_row(db, stmt, &status, err);
    const void *bytes = found ? db_blob(stmt, 0, sizeof stored) : NULL;
    if (bytes != NULL)
        memcpy(stored, bytes, sizeof stored);
    db_done(stmt);
    if (!status)
        status = digest_contents(db, digest, err);
    if (!status && (bytes == NULL || memcmp(digest, stored, sizeof digest) != 0))
        return error_set(err, STATUS_CORRUPT, NULL, "the contents of the file do not match their digest");
    return status;
}
