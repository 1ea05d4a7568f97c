/* The schema of the database. Checks the schema version of a database file and brings it to the newest one. The list of
 * migrations is a parameter, so that a test can append a migration of its own. */
#include "storage/database/schema.h"

#include "storage/database/row_digest.h"

/* The tables of the database, and the list of migrations that creates them.
 *
 * A migration never changes once a version of motifd that contains it was released; a later version appends another
 * migration.
 *
 * Choices that the tables do not explain themselves:
 *   - job.num is the internal key of a job. AUTOINCREMENT never assigns a number twice. So rows of a deleted job that
 *     are still waiting for the sweep cannot be mistaken for rows of a newer job.
 *   - A metric series is stored as blocks of up to 240 points of 16 bytes (int64 step, double value, little endian).
 *     A million points are 4200 rows, which one query reads in milliseconds. All blocks but the last are full, so the
 *     block that contains point i follows from i without an index.
 *   - The bytes of a checkpoint are stored as chunks of 1 MiB in a rowid table, because sqlite3_blob_read() needs one.
 */

static const char first_version[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
    "INSERT INTO meta VALUES ('clean', 1);"

    "CREATE TABLE job("
    "  num INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  kind TEXT NOT NULL, preset TEXT NOT NULL, name TEXT NOT NULL,"
    "  task INTEGER NOT NULL CHECK (task IN (0, 1)),"
    "  state TEXT NOT NULL CHECK (state IN ('queued','running','paused','succeeded','failed','cancelled')),"
    "  requested_state INTEGER NOT NULL CHECK"
    "    (requested_state = 0 OR (requested_state IN (1, 2) AND state = 'running')),"
    "  priority INTEGER NOT NULL, threads INTEGER NOT NULL,"
    "  config TEXT NOT NULL, params TEXT, progress TEXT, result TEXT, error TEXT,"
    "  source_job TEXT NOT NULL, source_checkpoint INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL, started_at INTEGER NOT NULL, finished_at INTEGER NOT NULL,"
    "  version INTEGER NOT NULL, progress_version INTEGER NOT NULL,"
    "  last_seq INTEGER NOT NULL,"
    "  owner TEXT NOT NULL,"    /* owner: name of the token that submitted the job; '': none */
    "  executor TEXT NOT NULL," /* executor: '' selects the daemon's default */
    "  ranks INTEGER NOT NULL,"
    "  trace TEXT NOT NULL," /* trace: the traceparent of the request that submitted the job; '': none */
    "  study TEXT NOT NULL"  /* study: id of the study that the job belongs to; '': none */
    ") STRICT;"
    "CREATE INDEX job_queue ON job(priority DESC, num) WHERE state = 'queued';"
    "CREATE INDEX job_by_state ON job(state, id);"
    "CREATE INDEX job_by_kind ON job(kind, id);"
    "CREATE INDEX job_by_source ON job(source_job, id) WHERE source_job <> '';"
    "CREATE INDEX job_by_name ON job(name, id) WHERE name <> '';"
    "CREATE INDEX job_by_owner ON job(owner) WHERE owner <> '' AND state IN ('queued', 'running', 'paused');"

    "CREATE INDEX job_by_study ON job(study) WHERE study <> '';"

    /* A study is a group of jobs that were submitted together. A trigger deletes its row together with its last job. */
    "CREATE TABLE study("
    "  id TEXT PRIMARY KEY,"
    "  kind TEXT NOT NULL, preset TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,"
    "  grid TEXT NOT NULL, seeds INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER study_gone AFTER DELETE ON job"
    " WHEN old.study <> '' AND NOT EXISTS (SELECT 1 FROM job WHERE study = old.study AND study <> '') BEGIN"
    "  DELETE FROM study WHERE id = old.study;"
    "END;"

    "CREATE TABLE job_tag("
    "  tag TEXT NOT NULL,"
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  PRIMARY KEY (tag, job)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX job_tag_by_job ON job_tag(job, tag);"

    /* Each token has keys of its own: a key finds only jobs that the same owner submitted. */
    "CREATE TABLE idempotency("
    "  owner TEXT NOT NULL, key TEXT NOT NULL,"
    "  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),"
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  created_at INTEGER NOT NULL,"
    "  PRIMARY KEY (owner, key)"
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

    /* Summaries of the full blocks of a series (pyramid.h). */
    "CREATE TABLE pyramid("
    "  series INTEGER NOT NULL, level INTEGER NOT NULL, number INTEGER NOT NULL, summaries BLOB NOT NULL,"
    "  PRIMARY KEY (series, level, number)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE event("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job INTEGER NOT NULL,"
    "  type TEXT NOT NULL, data TEXT NOT NULL, time INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX event_by_job ON event(job, id);"
    "CREATE INDEX event_progress ON event(job, id) WHERE type = 'progress';" /* used to delete old progress events */

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

    /* The metadata of every checkpoint that was ever complete. A row stays when its checkpoint is deleted. */
    "CREATE TABLE chain("
    "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
    "  seq INTEGER NOT NULL, step INTEGER NOT NULL, samples INTEGER NOT NULL,"
    "  density REAL, stage_end INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),"
    "  maker TEXT NOT NULL, created_at INTEGER NOT NULL,"
    "  PRIMARY KEY (job, seq)"
    ") STRICT, WITHOUT ROWID;"

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

    "CREATE TABLE pending_delete("
    "  kind TEXT NOT NULL CHECK (kind IN ('checkpoint','series','events')),"
    "  id INTEGER NOT NULL,"
    "  PRIMARY KEY (kind, id)"
    ") STRICT, WITHOUT ROWID;"

    /* The right of another process to train a job (lease_state.h). */
    "CREATE TABLE lease("
    "  job INTEGER PRIMARY KEY REFERENCES job(num) ON DELETE CASCADE,"
    "  state TEXT NOT NULL CHECK (state IN ('none','offered','held','ended')),"
    "  epoch INTEGER NOT NULL,"
    "  hash BLOB UNIQUE CHECK (hash IS NULL OR length(hash) = 32),"
    "  executor TEXT NOT NULL, foreign_id TEXT NOT NULL,"
    "  sequence INTEGER NOT NULL, tries INTEGER NOT NULL, newest INTEGER NOT NULL, seen INTEGER NOT NULL,"
    "  ending INTEGER, result TEXT, error TEXT,"
    "  CHECK ((state = 'none') = (hash IS NULL))"
    ") STRICT;"

    /* Notices of ended jobs that wait for their delivery (outbox.c). A notice contains all that it reports, because its
     * job may be deleted before the delivery. */
    "CREATE TABLE outbox("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job TEXT NOT NULL, state TEXT NOT NULL, data TEXT NOT NULL, time INTEGER NOT NULL,"
    "  tries INTEGER NOT NULL, due_at INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX outbox_by_due ON outbox(due_at, id);"

    /* The changes that were requested over HTTP, and who requested them. `status` is NULL while a request is being
       handled. */
    "CREATE TABLE audit("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  time INTEGER NOT NULL, who TEXT NOT NULL, peer TEXT NOT NULL,"
    "  request TEXT NOT NULL UNIQUE, method TEXT NOT NULL, target TEXT NOT NULL,"
    "  status INTEGER, made TEXT"
    ") STRICT;"

    /* Numbers of jobs and checkpoints, and the checkpoints' bytes. Triggers maintain them, because counting 100,000
     * jobs took 40 ms for each read of the statistics. */
    "CREATE TABLE tally(what TEXT PRIMARY KEY, number INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO tally SELECT value, 0, 0 FROM"
    " json_each('[\"queued\",\"running\",\"paused\",\"succeeded\",\"failed\",\"cancelled\",\"checkpoint\"]');"
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
    "END;";

/* Digests of all rows (row_digest.h). `key` is an integer or a blob. schema_migrate() adds the triggers and the rows.
 */
static const char row_digests[] = "CREATE TABLE row_digest("
                                  "  name TEXT NOT NULL, key ANY NOT NULL,"
                                  "  digest BLOB NOT NULL CHECK (length(digest) = 16),"
                                  "  PRIMARY KEY (name, key)"
                                  ") STRICT, WITHOUT ROWID;";

/* Teams (storage/jobs/viewer.h). Tokens and jobs from before have no team. Everybody could see these jobs and studies,
 * so they stay visible to everyone. The scope `manage` (3) lies between submit (2) and admin, which was 3. */
static const char teams[] = "ALTER TABLE token ADD COLUMN team TEXT NOT NULL DEFAULT '';"
                            "UPDATE token SET scope = 4 WHERE scope = 3;"
                            "ALTER TABLE job ADD COLUMN team TEXT NOT NULL DEFAULT '';"
                            "ALTER TABLE job ADD COLUMN visibility TEXT NOT NULL DEFAULT 'everyone'"
                            "  CHECK (visibility IN ('private', 'team', 'everyone'));"
                            "ALTER TABLE study ADD COLUMN team TEXT NOT NULL DEFAULT '';"
                            "ALTER TABLE study ADD COLUMN visibility TEXT NOT NULL DEFAULT 'everyone'"
                            "  CHECK (visibility IN ('private', 'team', 'everyone'));"
                            "CREATE INDEX job_by_team ON job(team, id);";

/* Lists for one team skip the jobs of others by this index, without reading their rows. */
static const char viewers[] = "CREATE INDEX job_by_viewer ON job(id, owner, team, visibility);";

/* Answers of people about the marks of a job's model (answer.c). `mark` identifies a mark of the model, `place` says in
 * JSON where it is, so that another model's marks can be compared with it, and `box` is the corrected place. */
static const char answers[] = "CREATE TABLE answer("
                              "  job INTEGER NOT NULL REFERENCES job(num) ON DELETE CASCADE,"
                              "  mark TEXT NOT NULL, version INTEGER NOT NULL,"
                              "  answer TEXT NOT NULL CHECK (answer IN ('yes', 'no', 'unsure')),"
                              "  box TEXT, place TEXT NOT NULL,"
                              "  owner TEXT NOT NULL, created_at INTEGER NOT NULL,"
                              "  PRIMARY KEY (job, mark, version)"
                              ") STRICT, WITHOUT ROWID;";

/* When each token was last used, to a few minutes; 0: never (token.c). */
static const char token_use[] = "ALTER TABLE token ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;";

/* What policies of retention need (policy.h): the policies themselves as one JSON list, when jobs and data sets were
 * used last, and which of them are pinned. */
static const char policies[] =
    "ALTER TABLE job ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));"
    "ALTER TABLE job ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX job_by_age ON job(team, kind, task, num) WHERE state IN ('succeeded', 'failed', 'cancelled');"
    "CREATE TABLE dataset_use("
    "  name TEXT PRIMARY KEY, used_at INTEGER NOT NULL, pinned INTEGER NOT NULL CHECK (pinned IN (0, 1))"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE policy(one INTEGER PRIMARY KEY CHECK (one = 1), rules TEXT NOT NULL) STRICT;";

static const struct migration migrations[] = {{.sql = first_version}, {.sql = row_digests}, {.sql = teams},
                                              {.sql = viewers},       {.sql = answers},     {.sql = token_use},
                                              {.sql = policies}};
const struct schema storage_schema = {migrations, sizeof migrations / sizeof migrations[0]};

#define APPLICATION_ID 0x4D544644 /* "MTFD" */

enum status schema_check(const struct schema *schema, struct db *db, int64_t *version, struct error *err)
{
    int64_t application, tables;
    enum status status = db_integer(db, &application, 0, err, "PRAGMA application_id", "");
    if (status)
        return status;
    status = db_integer(db, version, 0, err, "PRAGMA user_version", "");
    if (status)
        return status;
    status = db_integer(db, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", "");
    if (status)
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

/* `last`: no other migration follows. */
static enum status migrate(const struct migration *migration, struct db *db, int64_t version, bool last,
                           struct error *err)
{
    char *stamp =
        sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%lld; COMMIT", APPLICATION_ID, version);
    if (stamp == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to migrate the database");
    enum status status = db_exec(db, "BEGIN IMMEDIATE", err);
    if (!status)
        status = db_exec(db, migration->sql, err);
    if (!status && migration->fill != NULL)
        status = migration->fill(db, err);
    if (!status && last)
        status = row_digests_attach(db, err);
    if (!status)
        status = db_exec(db, stamp, err);
    if (status && !sqlite3_get_autocommit(db->handle))
        (void)db_exec(db, "ROLLBACK", NULL);
    sqlite3_free(stamp);
    return status;
}

enum status schema_migrate(const struct schema *schema, struct db *db, int64_t version, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t v = (size_t)version; v < schema->count && !status; v++)
        status = migrate(&schema->migrations[v], db, (int64_t)v + 1, v + 1 == schema->count, err);
    return status;
}
