/* Maintains the table `row_digest` with triggers, which are made from the columns of the tables. */
#include "storage/database/row_digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

/* ---- the SQL function ------------------------------------------------------------------------------- */

/* Adds a number. A real that is an integer counts as the integer, because SQLite stores it as one. */
static void add_number(struct hash *hash, sqlite3_value *value, int type)
{
    double real = sqlite3_value_double(value);
    int64_t integer = sqlite3_value_int64(value);
    bool whole = type == SQLITE_INTEGER || (real > -9e18 && real < 9e18 && (double)(int64_t)real == real);
    unsigned char tag = whole ? SQLITE_INTEGER : SQLITE_FLOAT;
    hash_add(hash, &tag, 1);
    if (whole)
        hash_add(hash, &integer, sizeof integer);
    else
        hash_add(hash, &real, sizeof real);
}

/* Returns false if there is no memory for the value. */
static bool add_value(struct hash *hash, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        add_number(hash, value, type);
        return true;
    }
    unsigned char tag = (unsigned char)type;
    hash_add(hash, &tag, 1);
    if (type == SQLITE_NULL)
        return true;
    const void *bytes = sqlite3_value_blob(value);
    int64_t count = sqlite3_value_bytes(value);
    hash_add(hash, &count, sizeof count);
    if (count > 0 && bytes != NULL)
        hash_add(hash, bytes, (size_t)count);
    return count == 0 || bytes != NULL;
}

static void digest_values(sqlite3_context *context, int count, sqlite3_value **values)
{
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    hash_init(&hash);
    for (int i = 0; i < count; i++)
        if (!add_value(&hash, values[i])) {
            sqlite3_result_error_nomem(context);
            return;
        }
    hash_finish(&hash, digest);
    sqlite3_result_blob(context, digest, ROW_DIGEST_BYTES, SQLITE_TRANSIENT);
}

int row_digest_register(sqlite3 *handle)
{
    return sqlite3_create_function_v2(handle, "row_digest", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                      NULL, digest_values, NULL, NULL, NULL);
}

/* ---- expressions ------------------------------------------------------------------------------------ */

void row_digest_free(struct row_digest_sql *sql)
{
    sqlite3_free(sql->key);
    sqlite3_free(sql->old_key);
    sqlite3_free(sql->digest);
    sqlite3_free(sql->counts);
    *sql = (struct row_digest_sql){.key = NULL};
}

/* Makes the expressions of a table from what the statement above returns. */
static enum status make_expressions(sqlite3_stmt *stmt, const char *table, struct row_digest_sql *out,
                                    struct error *err)
{
    const char *columns = (const char *)sqlite3_column_text(stmt, 0), *key = (const char *)sqlite3_column_text(stmt, 1);
    const char *other = (const char *)sqlite3_column_text(stmt, 2);
    int parts = sqlite3_column_int(stmt, 3);
    out->integer_key = parts == 0 || sqlite3_column_int(stmt, 4) != 0;
    if (columns != NULL && key != NULL && other != NULL) {
        const char *form = out->integer_key ? "%s" : "row_digest(%s)";
        out->key = sqlite3_mprintf(form, key);
        out->old_key = sqlite3_mprintf(form, other);
        out->digest = sqlite3_mprintf("row_digest('%q', %s)", table, columns);
        out->counts = sqlite3_mprintf(sqlite3_column_int(stmt, 5) != 0 ? "%s" : "", key);
    }
    bool whole = out->key != NULL && out->old_key != NULL && out->digest != NULL && out->counts != NULL;
    return whole ? STATUS_OK : error_memory(err, "the digests of rows");
}

enum status row_digest_sql(struct db *db, const char *table, const char *row, struct row_digest_sql *out,
                           struct error *err)
{
    /* A table without PRIMARY KEY has the key rowid. */
    static const char sql[] =
        "SELECT group_concat(?2 || c, ', '), coalesce(group_concat(?2 || c, ', ') FILTER (WHERE pk > 0), ?2 || "
        "'rowid'),"
        " coalesce(group_concat('old.' || c, ', ') FILTER (WHERE pk > 0), 'old.rowid'), count(*) FILTER (WHERE pk > 0),"
        " count(*) FILTER (WHERE pk > 0) = 1 AND max(type) FILTER (WHERE pk > 0) = 'INTEGER',"
        " coalesce((SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE type = 'table' AND name = ?1), 0)"
        " FROM (SELECT '\"' || replace(name, '\"', '\"\"') || '\"' AS c, pk, type FROM pragma_table_info(?1) ORDER BY "
        "cid)";
    sqlite3_stmt *stmt;
    char prefix[16];
    *out = (struct row_digest_sql){.key = NULL};
    (void)snprintf(prefix, sizeof prefix, "%s.", row);
    if (strcmp(table, "sqlite_sequence") == 0) {
        out->key = sqlite3_mprintf("%sname", prefix);
        out->digest = sqlite3_mprintf("row_digest('sqlite_sequence', %sname, %sseq)", prefix, prefix);
        return out->key != NULL && out->digest != NULL ? STATUS_OK : error_memory(err, "the digests of rows");
    }
    enum status status = db_query(db, &stmt, err, sql, "tt", table, prefix);
    if (!status && db_row(db, stmt, &status, err)) {
        status = make_expressions(stmt, table, out, err);
        db_done(stmt);
    }
    return status;
}

/* ---- triggers --------------------------------------------------------------------------------------- */

/* Runs a statement that sqlite3_mprintf() made, and frees it; NULL: no memory. */
static enum status run_made(struct db *db, char *sql, struct error *err)
{
    enum status status = sql != NULL ? db_exec(db, sql, err) : error_memory(err, "the digests of rows");
    sqlite3_free(sql);
    return status;
}

#define PUT                                                                                                            \
    " INSERT INTO row_digest VALUES ('%q', %s, %s) ON CONFLICT(name, key) DO UPDATE SET digest = excluded.digest;"

enum { ADDED, CHANGED, MOVED, GONE, TRIGGERS };

/* Returns the text of one trigger of a table. NULL: no memory. */
static char *trigger_text(const char *table, const struct row_digest_sql *row, int which)
{
    if (which == GONE)
        return sqlite3_mprintf("CREATE TRIGGER \"row_digest_%w_gone\" AFTER DELETE ON \"%w\" BEGIN"
                               " DELETE FROM row_digest WHERE name = '%q' AND key = %s; END",
                               table, table, table, row->old_key);
    if (which == MOVED) /* the key of a row was changed */
        return sqlite3_mprintf("CREATE TRIGGER \"row_digest_%w_moved\" AFTER UPDATE ON \"%w\" WHEN %s IS NOT %s BEGIN"
                               " DELETE FROM row_digest WHERE name = '%q' AND key = %s; END",
                               table, table, row->old_key, row->key, table, row->old_key);
    if (which == CHANGED)
        return sqlite3_mprintf("CREATE TRIGGER \"row_digest_%w_changed\" AFTER UPDATE ON \"%w\" BEGIN" PUT " END",
                               table, table, table, row->key, row->digest);
    if (row->counts[0] == '\0')
        return sqlite3_mprintf("CREATE TRIGGER \"row_digest_%w_added\" AFTER INSERT ON \"%w\" BEGIN" PUT " END", table,
                               table, table, row->key, row->digest);
    return sqlite3_mprintf("CREATE TRIGGER \"row_digest_%w_added\" AFTER INSERT ON \"%w\" BEGIN" PUT
                           " INSERT INTO row_digest"
                           " VALUES ('sqlite_sequence', '%q', row_digest('sqlite_sequence', '%q', %s))"
                           " ON CONFLICT(name, key) DO UPDATE SET digest = excluded.digest; END",
                           table, table, table, row->key, row->digest, table, table, row->counts);
}

/* Computes the digests of all rows of a table. */
static enum status fill_table(struct db *db, const char *table, const struct row_digest_sql *row, struct error *err)
{
    return run_made(db,
                    sqlite3_mprintf("DELETE FROM row_digest WHERE name = '%q';"
                                    "INSERT INTO row_digest SELECT '%q', %s, %s FROM \"%w\" new",
                                    table, table, row->key, row->digest, table),
                    err);
}

static enum status make_triggers(struct db *db, const char *table, char *const made[TRIGGERS], struct error *err)
{
    return run_made(db,
                    sqlite3_mprintf("DROP TRIGGER IF EXISTS \"row_digest_%w_added\";"
                                    "DROP TRIGGER IF EXISTS \"row_digest_%w_changed\";"
                                    "DROP TRIGGER IF EXISTS \"row_digest_%w_moved\";"
                                    "DROP TRIGGER IF EXISTS \"row_digest_%w_gone\";%s;%s;%s;%s",
                                    table, table, table, table, made[ADDED], made[CHANGED], made[MOVED], made[GONE]),
                    err);
}

/* Makes the triggers of one table and, if they are new, the digests of its rows. */
static enum status attach_table(struct db *db, const char *table, struct error *err)
{
    static const char present[] = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND sql IN (?, ?, ?, ?)";
    char *made[TRIGGERS] = {NULL};
    struct row_digest_sql row;
    int64_t same = 0;
    enum status status = row_digest_sql(db, table, "new", &row, err);
    for (int i = 0; i < TRIGGERS && !status; i++)
        if ((made[i] = trigger_text(table, &row, i)) == NULL)
            status = error_memory(err, "the digests of rows");
    if (!status)
        status = db_integer(db, &same, 0, err, present, "tttt", made[ADDED], made[CHANGED], made[MOVED], made[GONE]);
    if (!status && same < TRIGGERS)
        status = make_triggers(db, table, made, err);
    if (!status && same < TRIGGERS)
        status = fill_table(db, table, &row, err);
    for (int i = 0; i < TRIGGERS; i++)
        sqlite3_free(made[i]);
    row_digest_free(&row);
    return status;
}

enum { TABLES_MOST = 64, TABLE_NAME = 64 };

static enum status list_tables(struct db *db, char (*names)[TABLE_NAME], int *count, struct error *err)
{
    sqlite3_stmt *stmt;
    *count = 0;
    enum status status = db_query(db, &stmt, err, ROW_DIGEST_TABLES, "");
    while (!status && db_row(db, stmt, &status, err)) {
        bool copied = *count < TABLES_MOST && db_copy(stmt, 0, names[*count], TABLE_NAME);
        *count += copied;
        if (copied)
            continue;
        db_done(stmt);
        return *count < TABLES_MOST ? error_memory(err, "the digests of rows")
                                    : error_set(err, STATUS_INTERNAL, NULL, "the schema has too many tables");
    }
    return status;
}

enum status row_digests_attach(struct db *db, struct error *err)
{
    int64_t has = 0;
    int count = 0;
    enum status status =
        db_integer(db, &has, 0, err, "SELECT count(*) FROM sqlite_schema WHERE name = 'row_digest'", "");
    if (status || !has)
        return status;
    char(*names)[TABLE_NAME] = calloc(TABLES_MOST, TABLE_NAME);
    if (names == NULL)
        return error_memory(err, "the digests of rows");
    status = list_tables(db, names, &count, err);
    for (int i = 0; i < count && !status; i++)
        status = attach_table(db, names[i], err);
    free(names);
    struct row_digest_sql row = {.key = NULL};
    if (!status)
        status = row_digest_sql(db, "sqlite_sequence", "new", &row, err);
    if (!status)
        status = fill_table(db, "sqlite_sequence", &row, err);
    row_digest_free(&row);
    return status;
}
