/* Tests the migration from each version to the next: to that with digests of rows, and to an artificial one, which adds
 * a column, a table, and rows that C code computes. All rows must survive, and all must have digests. After a kill, or
 * a failed write or allocation at any place, the file must have exactly one of the versions. */
#include "tests/unit/storage/storage_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "storage/database/schema.h"
#include "tests/support/fault.h"
#include "tests/support/sanitized.h"
#include "tests/unit/storage/fault_vfs.h"

enum { JOBS = 40 };

static const struct log_hook no_log;

/* The part of the migration that SQL alone cannot do: here it stores the length of every name. */
static enum status fill(struct db *db, struct error *err)
{
    int64_t job = 0;
    for (;;) {
        enum status status = db_integer(db, &job, 0, err, "SELECT min(num) FROM job WHERE num > ?", "i", job);
        if (status != STATUS_OK || job == 0)
            return status;
        status = db_run(db, err, "INSERT INTO label SELECT num, length(name) FROM job WHERE num = ?", "i", job);
        if (status != STATUS_OK)
            return status;
    }
}

enum { NOW = 7, NEXT = 8 }; /* versions of the schema: the program's, and the artificial one */

/* Returns the schema of the program with one more migration. */
static struct schema next_schema(struct migration steps[NEXT])
{
    assert_int_equal(storage_schema.count, NOW);
    for (int i = 0; i < NOW; i++)
        steps[i] = storage_schema.migrations[i];
    steps[NOW] = (struct migration){.sql = "ALTER TABLE job ADD COLUMN color TEXT NOT NULL DEFAULT 'blue';"
                                           "CREATE TABLE label(job INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"
                                           "UPDATE job SET priority = priority + 1;",
                                    .fill = fill};
    return (struct schema){steps, NEXT};
}

/* Opens the file, migrates it as storage_open() does, and closes it. */
static enum status migrate(const struct fixture *f, const char *vfs, struct error *err)
{
    struct migration steps[NEXT];
    const struct schema schema = next_schema(steps);
    struct db db;
    int64_t version = 0;
    enum status status = db_open(&db, f->path, SQLITE_OPEN_READWRITE, vfs, &no_log, err);
    if (status == STATUS_OK)
        status = schema_check(&schema, &db, &version, err);
    if (status == STATUS_OK)
        status = schema_migrate(&schema, &db, version, err);
    db_close(&db);
    return status;
}

/* Returns a closed store of version NOW with jobs. Each job has a metric point and an event. */
static struct fixture *old_store(void)
{
    struct fixture *f = fixture_new();
    const struct storage_metric loss = {.name = "loss", .point = {.step = 1, .value = 0.5}};
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_open(f);
    for (int i = 0; i < JOBS; i++) {
        char id[STORAGE_ID];
        submit(f, "sparling", i, id);
        OK(storage_metric_append(f->storage, id, &loss, 1, &f->err));
    }
    fixture_close(f);
    return f;
}

/* The keys of all rows that should have a digest and have none, or have one that is not theirs. */
#define STRAY(table, key, digest)                                                                                      \
    "SELECT count(*) FROM " table " t LEFT JOIN row_digest d ON d.name = '" table "' AND d.key = " key                 \
    " WHERE d.digest IS NOT " digest

/* Every row of some tables has its digest, and no digest is without a row. */
static void assert_digests(const struct fixture *f, bool has_color)
{
    static const char jobs[] =
        STRAY("job", "t.num",
              "row_digest('job', num, id, kind, preset, t.name, task, state, requested_state,"
              " priority, threads, config, params, progress, result, error, source_job,"
              " source_checkpoint, created_at, started_at, finished_at, version,"
              " progress_version, last_seq, owner, executor, ranks, trace, study, team, visibility,"
              " pinned, used_at%s)");
    char sql[1000];
    (void)snprintf(sql, sizeof sql, jobs, has_color ? ", color" : "");
    assert_int_equal(digest_integer(f, sql), 0);
    assert_int_equal(digest_integer(f, STRAY("event", "t.id", "row_digest('event', id, job, type, data, time)")), 0);
    assert_int_equal(digest_integer(f, STRAY("tally", "row_digest(what)", "row_digest('tally', what, number, bytes)")),
                     0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM row_digest WHERE name = 'job'"), JOBS);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM row_digest WHERE name = 'label'"), has_color ? JOBS : 0);
}

static void assert_sound(const struct fixture *f)
{
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), JOBS);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM series"), JOBS);
    assert_true(file_integer(f, "SELECT count(*) FROM event") >= JOBS);
}

/* Asserts that the file has everything of `version` (NOW or NEXT) and nothing of the other version. */
static void assert_whole(const struct fixture *f, int version)
{
    assert_int_equal(file_integer(f, "PRAGMA user_version"), version);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM sqlite_schema WHERE name = 'label'"), version == NEXT);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_table_info('job') WHERE name = 'color'"),
                     version == NEXT);
    assert_int_equal(file_integer(f, "SELECT sum(priority) FROM job"),
                     JOBS * (JOBS - 1) / 2 + (version == NEXT ? JOBS : 0));
    if (version == NEXT)
        assert_int_equal(file_integer(f, "SELECT count(*) FROM label"), JOBS);
    assert_sound(f);
    assert_digests(f, version == NEXT);
}

static void migration_keeps_all_rows(void **state)
{
    struct fixture *f = old_store();
    assert_whole(f, NOW);
    OK(migrate(f, NULL, &f->err));
    assert_whole(f, NEXT);
    OK(migrate(f, NULL, &f->err)); /* a second migration finds nothing to do */
    assert_whole(f, NEXT);
    fixture_remove(f);
}

/* Undoes the migration to version 3, in which jobs, studies and tokens got teams. */
#define WITHOUT_TEAMS                                                                                                  \
    "DROP INDEX job_by_team; DROP INDEX job_by_viewer; ALTER TABLE job DROP COLUMN team; ALTER TABLE job DROP COLUMN " \
    "visibility;"                                                                                                      \
    "ALTER TABLE study DROP COLUMN team; ALTER TABLE study DROP COLUMN visibility;"                                    \
    "ALTER TABLE token DROP COLUMN used_at; ALTER TABLE token DROP COLUMN team;"                                       \
    "INSERT INTO token VALUES (zeroblob(32), 'boss', 3, 1, 0, 0);"

/* Undoes the migration to version 7. */
#define WITHOUT_POLICIES                                                                                               \
    "DROP INDEX job_by_age; DROP TABLE policy; DROP TABLE dataset_use; ALTER TABLE job DROP COLUMN pinned;"            \
    "ALTER TABLE job DROP COLUMN used_at;"

/* A file of version 1 has no digests and no teams. The store gives all of its rows their digests when it opens the
 * file. */
static void old_rows_get_digests(void **state)
{
    struct fixture *f = old_store();
    char sql[200];
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int triggers = 0;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    while (sqlite3_prepare_v2(db,
                              "SELECT name FROM sqlite_schema WHERE name LIKE 'row_digest_%_%' AND type = 'trigger'",
                              -1, &stmt, NULL) == SQLITE_OK &&
           sqlite3_step(stmt) == SQLITE_ROW) {
        (void)snprintf(sql, sizeof sql, "DROP TRIGGER \"%s\"", (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        triggers++;
    }
    sqlite3_finalize(stmt);
    assert_true(triggers >= 17 * 4);
    assert_int_equal(sqlite3_exec(db,
                                  WITHOUT_POLICIES WITHOUT_TEAMS
                                  "DROP TABLE row_digest; DROP TABLE answer; PRAGMA user_version = 1; VACUUM",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    fixture_open(f);
    fixture_close(f);
    assert_whole(f, NOW);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job WHERE team = '' AND visibility = 'everyone'"), JOBS);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM token WHERE team = '' AND scope = 4"), 1); /* admin */
    fixture_remove(f);
}

static void empty_file_gets_every_version(void **state)
{
    struct fixture *f = fixture_new();
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    (void)fclose(file);
    OK(migrate(f, NULL, &f->err));
    assert_int_equal(file_integer(f, "PRAGMA user_version"), NEXT);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM label"), 0);
    fixture_remove(f);
}

static void older_program_refuses_newer_version(void **state)
{
    struct fixture *f = old_store();
    OK(migrate(f, NULL, &f->err));
    REFUSED(STATUS_CONFLICT, storage_open(&f->options, &f->storage, &f->err));
    assert_non_null(strstr(f->err.message, "schema 8"));
    assert_whole(f, NEXT);
    fixture_remove(f);
}

/* A file that was cut off is refused or reported as damaged. */
static void truncated_file_is_refused(void **state)
{
    for (int part = 1; part < 16; part++) {
        struct fixture *f = old_store();
        struct stat file;
        assert_int_equal(stat(f->path, &file), 0);
        assert_int_equal(truncate(f->path, file.st_size * part / 16), 0);
        error_clear(&f->err);
        enum status status = storage_open(&f->options, &f->storage, &f->err);
        if (status == STATUS_OK)
            fail_msg("%d sixteenths of a database were opened", part);
        assert_true(status == STATUS_CORRUPT || status == STATUS_CONFLICT);
        assert_true(f->err.message[0] != '\0');
        f->storage = NULL;
        fixture_remove(f);
    }
}

/* Makes write number n fail, for every n that the migration reaches. */
static void failed_write_leaves_a_whole_version(void **state)
{
    int failed = 0;
    for (int n = 0, done = 0; !done; n++) {
        struct fixture *f = old_store();
        fault_vfs_register(0);
        fault_on_write(n, n % 2 ? SQLITE_IOERR_WRITE : SQLITE_FULL, 1);
        enum status status = migrate(f, FAULT_VFS, &f->err);
        done = fault_failures() == 0;
        fault_on_write(0, 0, 0);
        fault_vfs_unregister();
        failed += status != STATUS_OK;
        if (status == STATUS_OK || done)
            assert_whole(f, NEXT);
        else
            assert_whole(f, (int)file_integer(f, "PRAGMA user_version"));
        OK(migrate(f, NULL, &f->err));
        assert_whole(f, NEXT);
        fixture_remove(f);
        assert_true(n < 2000);
    }
    assert_true(failed > 3);
}

/* Makes allocation number n fail, for some n (for every n with MOTIF_FAULT_STRIDE=1). */
static void failed_allocation_leaves_a_whole_version(void **state)
{
    int failed = 0;
    for (int n = 0, done = 0, stride = fault_stride(SANITIZED ? 201 : 67); !done; n += stride) {
        struct fixture *f = old_store();
        fault_after(n);
        enum status status = migrate(f, NULL, &f->err);
        bool happened = fault_happened();
        if (status != STATUS_OK && (!happened || status != STATUS_NO_MEMORY))
            fail_msg("allocation %d: %s: %s", n, status_name(status), f->err.message);
        done = !happened;
        failed += status != STATUS_OK;
        assert_whole(f, status == STATUS_OK ? NEXT : (int)file_integer(f, "PRAGMA user_version"));
        OK(migrate(f, NULL, &f->err));
        assert_whole(f, NEXT);
        fixture_remove(f);
    }
    assert_true(failed > 3);
}

/* A child process migrates the file, and the test kills it a little later in each round. */
static void killed_migration_leaves_a_whole_version(void **state)
{
    for (int i = 0; i < 28; i++) {
        struct fixture *f = old_store();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(migrate(f, NULL, NULL) == STATUS_OK ? 0 : 1);
        (void)nanosleep(&(struct timespec){0, (long)i * 200000}, NULL);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_whole(f, (int)file_integer(f, "PRAGMA user_version"));
        OK(migrate(f, NULL, &f->err));
        assert_whole(f, NEXT);
        fixture_remove(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_keeps_all_rows),
        cmocka_unit_test(old_rows_get_digests),
        cmocka_unit_test(empty_file_gets_every_version),
        cmocka_unit_test(older_program_refuses_newer_version),
        cmocka_unit_test(truncated_file_is_refused),
        cmocka_unit_test(failed_write_leaves_a_whole_version),
        cmocka_unit_test(failed_allocation_leaves_a_whole_version),
        cmocka_unit_test(killed_migration_leaves_a_whole_version),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
