/* Checks the schema version of a database file and brings it to the newest one. The list of migrations is a parameter,
 * so that a test can append a migration of its own. */
#include "storage/database/migrate.h"

#define APPLICATION_ID 0x4D544644 /* "MTFD" */

enum status schema_check(const struct schema *schema, struct db *db, int64_t *version, struct error *err)
{
    int64_t application, tables;
    enum status status = db_integer(db, &application, 0, err, "PRAGMA application_id", "");
    if (status != STATUS_OK)
        return status;
    status = db_integer(db, version, 0, err, "PRAGMA user_version", "");
    if (status != STATUS_OK)
        return status;
    status = db_integer(db, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", "");
    if (status != STATUS_OK)
        return status;
    if (application != APPLICATION_ID && (application != 0 || tables > 0))
        return error_set(err, STATUS_CONFLICT, NULL, "the file is the database of another program");
    if (*version > (int64_t)schema->count)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "a newer version of this program wrote the database (schema %lld; this version supports up to "
                         "%zu): use that version, or restore a backup",
                         (long long)*version, schema->count);
    if (*version < 0 || (application == APPLICATION_ID && *version == 0))
        return error_set(err, STATUS_CORRUPT, NULL, "the database has no valid schema version");
    return STATUS_OK;
}

static enum status migrate(const struct migration *migration, struct db *db, int64_t version, struct error *err)
{
    char *stamp =
        sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%lld; COMMIT", APPLICATION_ID, version);
    if (stamp == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to migrate the database");
    enum status status = db_exec(db, "BEGIN IMMEDIATE", err);
    if (status == STATUS_OK)
        status = db_exec(db, migration->sql, err);
    if (status == STATUS_OK && migration->fill != NULL)
        status = migration->fill(db, err);
    if (status == STATUS_OK)
        status = db_exec(db, stamp, err);
    if (status != STATUS_OK && !sqlite3_get_autocommit(db->handle))
        (void)db_exec(db, "ROLLBACK", NULL);
    sqlite3_free(stamp);
    return status;
}

enum status schema_migrate(const struct schema *schema, struct db *db, int64_t version, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t v = (size_t)version; v < schema->count && status == STATUS_OK; v++)
        status = migrate(&schema->migrations[v], db, (int64_t)v + 1, err);
    return status;
}
