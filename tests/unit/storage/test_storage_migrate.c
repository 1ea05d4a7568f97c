/* Tests the migration from version 1 to an artificial version 2, which adds a column, a table, and rows that C
 * code computes. All rows must survive. After a kill, or a failed write or allocation at any place, the file must
 * have exactly version 1 or 2. */
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

/* Returns the schema of the program with one more migration. */
static struct schema next_schema(struct migration steps[2])
{
    assert_int_equal(storage_schema.count, 1);
    steps[0] = storage_schema.migrations[0];
    steps[1] = (struct migration){.sql = "ALTER TABLE job ADD COLUMN color TEXT NOT NULL DEFAULT 'blue';"
                                         "CREATE TABLE label(job INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"
                                         "UPDATE job SET priority = priority + 1;",
                                  .fill = fill};
    return (struct schema){steps, 2};
}

/* Opens the file, migrates it as storage_open() does, and closes it. */
static enum status migrate(const struct fixture *f, const char *vfs, struct error *err)
{
    struct migration steps[2];
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

/* Returns a closed store of version 1 with jobs. Each job has a metric point and an event. */
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

static void assert_sound(const struct fixture *f)
{
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), JOBS);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM series"), JOBS);
    assert_true(file_integer(f, "SELECT count(*) FROM event") >= JOBS);
}

/* Asserts that the file has everything of `version` (1 or 2) and nothing of the other version. */
static void assert_whole(const struct fixture *f, int version)
{
    assert_int_equal(file_integer(f, "PRAGMA user_version"), version);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM sqlite_schema WHERE name = 'label'"), version == 2);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_table_info('job') WHERE name = 'color'"),
                     version == 2);
    assert_int_equal(file_integer(f, "SELECT sum(priority) FROM job"),
                     JOBS * (JOBS - 1) / 2 + (version == 2 ? JOBS : 0));
    if (version == 2)
        assert_int_equal(file_integer(f, "SELECT count(*) FROM label"), JOBS);
    assert_sound(f);
}

static void migration_keeps_all_rows(void **state)
{
    struct fixture *f = old_store();
    assert_whole(f, 1);
    OK(migrate(f, NULL, &f->err));
    assert_whole(f, 2);
    OK(migrate(f, NULL, &f->err)); /* a second migration finds nothing to do */
    assert_whole(f, 2);
    fixture_remove(f);
}

static void empty_file_gets_every_version(void **state)
{
    struct fixture *f = fixture_new();
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    (void)fclose(file);
    OK(migrate(f, NULL, &f->err));
    assert_int_equal(file_integer(f, "PRAGMA user_version"), 2);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM label"), 0);
    fixture_remove(f);
}

static void older_program_refuses_newer_version(void **state)
{
    struct fixture *f = old_store();
    OK(migrate(f, NULL, &f->err));
    REFUSED(STATUS_CONFLICT, storage_open(&f->options, &f->storage, &f->err));
    assert_non_null(strstr(f->err.message, "schema 2"));
    assert_whole(f, 2);
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
            assert_whole(f, 2);
        else
            assert_whole(f, (int)file_integer(f, "PRAGMA user_version"));
        OK(migrate(f, NULL, &f->err));
        assert_whole(f, 2);
        fixture_remove(f);
        assert_true(n < 2000);
    }
    assert_true(failed > 3);
}

/* Makes allocation number n fail, for some n (for every n with MOTIF_FAULT_STRIDE=1). */
static void failed_allocation_leaves_a_whole_version(void **state)
{
    int failed = 0;
    for (int n = 0, done = 0, stride = fault_stride(SANITIZED ? 33 : 11); !done; n += stride) {
        struct fixture *f = old_store();
        fault_after(n);
        enum status status = migrate(f, NULL, &f->err);
        bool happened = fault_happened();
        if (status != STATUS_OK && (!happened || status != STATUS_NO_MEMORY))
            fail_msg("allocation %d: %s: %s", n, status_name(status), f->err.message);
        done = !happened;
        failed += status != STATUS_OK;
        assert_whole(f, status == STATUS_OK ? 2 : (int)file_integer(f, "PRAGMA user_version"));
        OK(migrate(f, NULL, &f->err));
        assert_whole(f, 2);
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
        assert_whole(f, 2);
        fixture_remove(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_keeps_all_rows),
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
