/* Schema versions: a schema is a list of migrations, and version N is the database after its first N migrations.
 *
 * SQLite's user_version stores the version, application_id marks the file as a motifd database. Each migration runs in
 * one transaction together with the new version number. So a crash leaves the old version or the new one. */
#ifndef MOTIF_STORAGE_DATABASE_SCHEMA_H
#define MOTIF_STORAGE_DATABASE_SCHEMA_H

#include "storage/database/db.h"

struct migration {
    const char *sql; /* statements that need no parameters */
    enum status (*fill)(struct db *db,
                        struct error *err); /* Runs after `sql`, for rows that SQL cannot compute; NULL: not needed. */
};

struct schema {
    const struct migration *migrations;
    size_t count; /* number of migrations, which is the newest version */
};

/* The schema of the daemon's database (schema.c). */
extern const struct schema storage_schema;

/* Reads the version of an open file and changes nothing; an empty file has version 0. CONFLICT: the file belongs to
 * another program or was written by a newer version of this one. CORRUPT: the version number is invalid. */
enum status schema_check(const struct schema *schema, struct db *db, int64_t *version, struct error *err);

/* Runs the migrations after `version`, which schema_check() returned. The last one also makes the digests of the rows
 * of tables that are new or have other columns (row_digest.h). After a failure the file has the version of the last
 * migration that succeeded. */
enum status schema_migrate(const struct schema *schema, struct db *db, int64_t version, struct error *err);

#endif
