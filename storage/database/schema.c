/* The tables, as a list of migrations. user_version counts those that were applied; each runs in a
 * transaction of its own together with the new count, so a crash between leaves either.
 *
 * A migration that was released is never edited: append another.
 *
 * Choices worth knowing:
 *   - job.num is the inner key of a job, never used twice (AUTOINCREMENT), so that what is left of a
 *     deleted job can be swept later without being taken for another's;
 *   - a metric series is kept as blocks of up to 240 points of 16 bytes (int64 step, double value,
 *     little endian): a million points are 4200 rows, read in milliseconds, and since all blocks
 *     but the last are full, point i is found without an index;
 *   - a checkpoint is kept as chunks of 1 MiB in a rowid table, for sqlite3_blob_read(). */
#include "storage/series/pyramid.h"

#define APPLICATION_ID 0x4D544644 /* "MTFD" */

static const char *const migrations[] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
    "INSERT INTO meta VALUES ('clean', 1);"

    "CREATE TABLE job("
    "  num INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  kind TEXT NOT NULL, preset TEXT NOT NULL, name TEXT NOT NULL,"
    "  task INTEGER NOT NULL CHECK (task IN (0, 1)),"
    "  state TEXT NOT NULL CHECK (state IN ('queued','running','paused','succeeded','failed','cancelled')),"
    "  wish INTEGER NOT NULL CHECK (wish = 0 OR (wish IN (1, 2) AND state = 'running')),"
    "  priority INTEGER NOT NULL, threads INTEGER NOT NULL,"
    "  config TEXT NOT NULL, params TEXT, progress TEXT, result TEXT, error TEXT,"
    "  source_job TEXT NOT NULL, source_checkpoint INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL, started_at INTEGER NOT NULL, finished_at INTEGER NOT NULL,"
    "  version INTEGER NOT NULL, progress_version INTEGER NOT NULL,"
    "  last_seq INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX job_queue ON job(priority DESC, num) WHERE state = 'queued';"
    "CREATE INDEX job_by_state ON job(state, id);"
    "CREATE INDEX job_by_kind ON job(kind, id);"
    "CREATE INDEX job_by_source ON job(source_job, id) WHERE source_job <> '';"

    "CREATE TABLE idempotency("
    "  key TEXT PRIMARY KEY,"
    "  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),"
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  created_at INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX idempotency_by_job ON idempotency(job);"
    "CREATE INDEX idempotency_by_age ON idempotency(created_at);"

    "CREATE TABLE series("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job INTEGER NOT NULL REFERENCES job(num),"
    "  name TEXT NOT NULL,"
    "  UNIQUE (job, name)"
    ") STRICT;"
    "CREATE TABLE block("
    "  id INTEGER PRIMARY KEY,"
    "  first INTEGER NOT NULL, last INTEGER NOT NULL,"
    "  points BLOB NOT NULL CHECK (length(points) > 0 AND length(points) % 16 = 0)"
    ") STRICT;"

    "CREATE TABLE event("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job INTEGER NOT NULL,"
    "  type TEXT NOT NULL, data TEXT NOT NULL, time INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX event_by_job ON event(job, id);"

    "CREATE TABLE checkpoint("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job INTEGER NOT NULL REFERENCES job(num),"
    "  seq INTEGER NOT NULL, step INTEGER NOT NULL, samples INTEGER NOT NULL,"
    "  density REAL, accuracy REAL,"
    "  bytes INTEGER NOT NULL, sha256 BLOB,"
    "  stage_end INTEGER NOT NULL, pinned INTEGER NOT NULL, complete INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL,"
    "  UNIQUE (job, seq),"
    "  CHECK (complete = 0 OR length(sha256) = 32)"
    ") STRICT;"
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"

    "CREATE TABLE artifact("
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  name TEXT NOT NULL, media_type TEXT NOT NULL, created_at INTEGER NOT NULL, data BLOB NOT NULL,"
    "  PRIMARY KEY (job, name)"
    ") STRICT;"

    "CREATE TABLE token("
    "  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),"
    "  name TEXT NOT NULL, scope INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE doomed("
    "  kind TEXT NOT NULL CHECK (kind IN ('checkpoint','series','events')),"
    "  id INTEGER NOT NULL,"
    "  PRIMARY KEY (kind, id)"
    ") STRICT, WITHOUT ROWID;",

    /* What every checkpoint was, also those that are gone. */
    "CREATE TABLE chain("
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  seq INTEGER NOT NULL, step INTEGER NOT NULL, samples INTEGER NOT NULL,"
    "  density REAL, stage_end INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),"
    "  maker TEXT NOT NULL, created_at INTEGER NOT NULL,"
    "  PRIMARY KEY (job, seq)"
    ") STRICT, WITHOUT ROWID;"
    "INSERT INTO chain SELECT job, seq, step, samples, density, stage_end, bytes, sha256, '', created_at"
    " FROM checkpoint WHERE complete AND job IN (SELECT num FROM job);",

    "CREATE TABLE audit("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  time INTEGER NOT NULL, who TEXT NOT NULL, peer TEXT NOT NULL,"
    "  request TEXT NOT NULL UNIQUE, method TEXT NOT NULL, target TEXT NOT NULL,"
    "  status INTEGER, made TEXT"
    ") STRICT;",

    /* For the pruning of progress events. */
    "CREATE INDEX event_progress ON event(job, id) WHERE type = 'progress';",

    /* Who asked for a job: the name of a token. */
    "ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX job_by_owner ON job(owner) WHERE owner <> '' AND state IN ('queued', 'running', 'paused');",

    /* See pyramid.h; filled by pyramid_build(). */
    "CREATE TABLE pyramid("
    "  series INTEGER NOT NULL, level INTEGER NOT NULL, number INTEGER NOT NULL, summaries BLOB NOT NULL,"
    "  PRIMARY KEY (series, level, number)"
    ") STRICT, WITHOUT ROWID;",

    /* Who trains a job; '': as the daemon does by itself. The right to do it from another process: see lease_state.h.
     */
    "ALTER TABLE job ADD COLUMN executor TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE job ADD COLUMN ranks INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE lease("
    "  job INTEGER PRIMARY KEY REFERENCES job(num) ON DELETE CASCADE,"
    "  state TEXT NOT NULL CHECK (state IN ('none','offered','held','ended')),"
    "  epoch INTEGER NOT NULL,"
    "  hash BLOB UNIQUE CHECK (hash IS NULL OR length(hash) = 32),"
    "  executor TEXT NOT NULL, foreign_id TEXT NOT NULL,"
    "  sequence INTEGER NOT NULL, tries INTEGER NOT NULL, newest INTEGER NOT NULL, seen INTEGER NOT NULL,"
    "  ending INTEGER, result TEXT, error TEXT,"
    "  CHECK ((state = 'none') = (hash IS NULL))"
    ") STRICT;",

    /* How many jobs and bytes there are, kept by the changes themselves: counting 100,000 jobs took 40 ms each time
       that somebody asked. */
    "CREATE TABLE tally(what TEXT PRIMARY KEY, number INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO tally SELECT value, (SELECT count(*) FROM job WHERE state = value), 0 FROM"
    " json_each('[\"queued\",\"running\",\"paused\",\"succeeded\",\"failed\",\"cancelled\"]');"
    "INSERT INTO tally SELECT 'checkpoint', count(*), coalesce(sum(bytes), 0) FROM checkpoint WHERE complete;"
    "CREATE TRIGGER job_added AFTER INSERT ON job BEGIN"
    "  UPDATE tally SET number = number + 1 WHERE what = new.state;"
    "END;"
    "CREATE TRIGGER job_moved AFTER UPDATE OF state ON job WHEN old.state <> new.state BEGIN"
    "  UPDATE tally SET number = number - 1 WHERE what = old.state;"
    "  UPDATE tally SET number = number + 1 WHERE what = new.state;"
    "END;"
    "CREATE TRIGGER job_gone AFTER DELETE ON job BEGIN"
    "  UPDATE tally SET number = number - 1 WHERE what = old.state;"
    "END;"
    "CREATE TRIGGER checkpoint_added AFTER INSERT ON checkpoint WHEN new.complete BEGIN"
    "  UPDATE tally SET number = number + 1, bytes = bytes + new.bytes WHERE what = 'checkpoint';"
    "END;"
    "CREATE TRIGGER checkpoint_done AFTER UPDATE OF complete ON checkpoint WHEN new.complete AND NOT old.complete BEGIN"
    "  UPDATE tally SET number = number + 1, bytes = bytes + new.bytes WHERE what = 'checkpoint';"
    "END;"
    "CREATE TRIGGER checkpoint_gone AFTER DELETE ON checkpoint WHEN old.complete BEGIN"
    "  UPDATE tally SET number = number - 1, bytes = bytes - old.bytes WHERE what = 'checkpoint';"
    "END;",
};
#define NEWEST ((int)(sizeof migrations / sizeof migrations[0]))

/* What rows that were there before need beside SQL, by the migration's place in the list. */
static enum status fill(struct db *db, int migration, struct error *err)
{
    return migration == 5 ? pyramid_build(db, err) : STATUS_OK;
}

enum status schema_check(struct db *db, int64_t *version, struct error *err)
{
    int64_t application, tables;
    enum status status = db_integer(db, &application, 0, err, "PRAGMA application_id", "");
    if (status == STATUS_OK)
        status = db_integer(db, version, 0, err, "PRAGMA user_version", "");
    if (status == STATUS_OK)
        status = db_integer(db, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", "");
    if (status != STATUS_OK)
        return status;
    if (application != APPLICATION_ID && (application != 0 || tables > 0))
        return error_set(err, STATUS_CONFLICT, NULL, "the file is the database of another program");
    if (*version > NEWEST)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "the database was written by a newer version of this program (schema %d; this one knows %d)",
                         (int)*version, NEWEST);
    if (*version < 0 || (application == APPLICATION_ID && *version == 0))
        return error_set(err, STATUS_CORRUPT, NULL, "the database has no valid schema version");
    return STATUS_OK;
}

static enum status migrate(struct db *db, int from, struct error *err)
{
    char *stamp = sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", APPLICATION_ID, from + 1);
    if (stamp == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory left for the database");
    enum status status = db_exec(db, "BEGIN IMMEDIATE", err);
    if (status == STATUS_OK)
        status = db_exec(db, migrations[from], err);
    if (status == STATUS_OK)
        status = fill(db, from, err);
    if (status == STATUS_OK)
        status = db_exec(db, stamp, err);
    if (status != STATUS_OK && !sqlite3_get_autocommit(db->handle))
        (void)db_exec(db, "ROLLBACK", NULL);
    sqlite3_free(stamp);
    return status;
}

enum status schema_migrate(struct db *db, int64_t version, struct error *err)
{
    enum status status = STATUS_OK;
    for (int v = (int)version; v < NEWEST && status == STATUS_OK; v++)
        status = migrate(db, v, err);
    return status;
}
