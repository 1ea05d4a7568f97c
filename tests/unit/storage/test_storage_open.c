/* Tests opening a store: which files are refused, recovery after a restart, and failures of the disk. */
#include "tests/unit/storage/storage_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "tests/unit/storage/fault_vfs.h"

static void refuse_open(struct fixture *f, enum status expected, const char *part)
{
    REFUSED(expected, storage_open(&f->options, &f->storage, &f->err));
    assert_null(f->storage);
    if (strstr(f->err.message, part) == NULL)
        fail_msg("'%s' does not say '%s'", f->err.message, part);
    assert_null(strstr(f->err.message, f->folder));
}

static void newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    fixture_open(f);
    submit(f, "sparling", 0, id);
    fixture_close(f);
    int64_t version = file_integer(f, "PRAGMA user_version");
    assert_true(version >= 1);
    change_file(f, "PRAGMA user_version=1000");
    refuse_open(f, STATUS_CONFLICT, "newer version");
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 1);
    char sql[64];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version=%d", (int)version);
    change_file(f, sql);
    fixture_open(f);
    assert_string_equal(job_of(f, id).id, id);
}

static void other_programs_database_is_refused(void **state)
{
    struct fixture *f = *state;
    change_file(f, "CREATE TABLE bookmarks(url TEXT); INSERT INTO bookmarks VALUES ('x')");
    refuse_open(f, STATUS_CONFLICT, "another program");
    assert_int_equal(file_integer(f, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(file_integer(f, "PRAGMA application_id"), 0);
    change_file(f, "PRAGMA application_id=1234; DROP TABLE bookmarks");
    refuse_open(f, STATUS_CONFLICT, "another program");
}

static void file_that_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(f->path, "wb");
    for (int i = 0; i < 2000; i++)
        fputs("not a database\n", file);
    fclose(file);
    refuse_open(f, STATUS_CORRUPT, "not a database");
}

static void unusable_paths_are_refused(void **state)
{
    struct fixture *f = *state;
    f->options.path = "";
    refuse_open(f, STATUS_INVALID, "path");
    f->options.path = NULL;
    refuse_open(f, STATUS_INVALID, "path");
    char missing[128];
    (void)snprintf(missing, sizeof missing, "%s/none/x.db", f->folder);
    f->options.path = missing;
    refuse_open(f, STATUS_IO, "the folder of the database does not exist");
    f->options.path = "/dev/null/x.db";
    refuse_open(f, STATUS_IO, "lock file");
    f->options.path = f->path;
    f->options.vfs = "no such vfs";
    refuse_open(f, STATUS_INTERNAL, "");
    f->options.vfs = NULL;
}

/* After an unclean stop, the check of the file finds pages of small tables that were overwritten. */
static void damage_is_found_after_unclean_stop(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_open(f);
    for (int i = 0; i < 400; i++)
        submit(f, "sparling", 0, id);
    fixture_close(f);
    int64_t page = file_integer(f, "PRAGMA page_size"),
            root = file_integer(f, "SELECT rootpage FROM sqlite_schema WHERE name = 'job_by_kind'");
    change_file(f, "UPDATE meta SET value = 0");
    int fd = open(f->path, O_RDWR);
    char junk[200];
    memset(junk, 0x55, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, (root - 1) * page), sizeof junk);
    close(fd);
    refuse_open(f, STATUS_CORRUPT, "damaged");
    /* the file loses its second half */
    assert_int_equal(truncate(f->path, page * 3), 0);
    refuse_open(f, STATUS_CORRUPT, "");
}

static void second_process_is_refused(void **state)
{
    struct fixture *f = *state;
    struct storage *second = NULL;
    fixture_open(f);
    struct error err = {0};
    assert_int_equal(storage_open(&f->options, &second, &err), STATUS_CONFLICT);
    assert_null(second);
    assert_non_null(strstr(err.message, "another process"));
    pid_t child = fork();
    if (child == 0) {
        struct error theirs = {0};
        _exit(storage_open(&f->options, &second, &theirs) == STATUS_CONFLICT ? 7 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 7);
    fixture_reopen(f);
}

/* Two names of one database have two write-ahead logs, which would damage the database. */
static void hard_link_to_an_open_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char other[sizeof f->path + 8];
    fixture_open(f);
    (void)snprintf(other, sizeof other, "%s-link", f->path);
    assert_int_equal(link(f->path, other), 0);
    /* opens the link in another process: if this process closed a second descriptor, SQLite would lose its locks */
    pid_t child = fork();
    if (child == 0) {
        struct error theirs = {0};
        struct storage *second = NULL;
        struct storage_options options = f->options;
        options.path = other;
        _exit(storage_open(&options, &second, &theirs) == STATUS_CONFLICT ? 7 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 7);
    assert_int_equal(unlink(other), 0);
    fixture_reopen(f);
}

/* Asserts that the store refuses a job and reports that it cannot write. */
static void refuses_jobs(struct fixture *f)
{
    struct storage_submit in = {.kind = "sparling", .config = "{}"};
    enum storage_submit_outcome outcome;
    char id[STORAGE_ID];
    REFUSED(STATUS_UNAVAILABLE, storage_writable(f->storage, &f->err));
    REFUSED(STATUS_UNAVAILABLE, storage_job_submit(f->storage, &in, id, &outcome, &f->err));
}

static void missing_database_file_refuses_jobs_until_it_is_back(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], away[sizeof f->path + 8];
    static const char *const suffixes[] = {"", "-wal"};
    fixture_open(f);
    submit(f, "sparling", 0, id);
    for (size_t i = 0; i < 2; i++) {
        char path[sizeof f->path + 8];
        (void)snprintf(path, sizeof path, "%s%s", f->path, suffixes[i]);
        (void)snprintf(away, sizeof away, "%s-away", f->path);
        assert_int_equal(rename(path, away), 0); /* after the rename the path is missing, as after a deletion */
        refuses_jobs(f);
        FILE *other = fopen(path, "w"); /* creates another file at the path */
        assert_non_null(other);
        assert_int_equal(fclose(other), 0);
        refuses_jobs(f);
        assert_int_equal(rename(away, path), 0);
        OK(storage_writable(f->storage, &f->err));
        submit(f, "sparling", 0, id);
    }
    fixture_reopen(f);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 3);
}

static void connections_have_the_required_settings(void **state)
{
    struct fixture *f = *state;
    struct stat file;
    fixture_open(f);
    assert_int_equal(file_integer(f,
                                  "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
                                  " AND sql NOT LIKE '%STRICT%'"),
                     0);
    assert_int_equal(file_integer(f, "SELECT value FROM meta WHERE key = 'clean'"), 0);
    assert_int_equal(stat(f->path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    fixture_close(f);
    assert_int_equal(file_integer(f, "SELECT value FROM meta WHERE key = 'clean'"), 1);
    sqlite3 *db;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(stmt, 0), "wal");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void restart_puts_running_jobs_back(void **state)
{
    struct fixture *f = *state;
    char ids[3][STORAGE_ID];
    fixture_open(f);
    for (int i = 0; i < 3; i++)
        submit_running(f, ids[i]);
    OK(storage_job_request(f->storage, ids[1], JOB_EVENT_PAUSE, NULL, NULL, &f->err));
    OK(storage_job_request(f->storage, ids[2], JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    fixture_reopen(f);
    assert_int_equal(job_of(f, ids[0]).state, JOB_QUEUED);
    assert_int_equal(job_of(f, ids[1]).state, JOB_PAUSED);
    assert_int_equal(job_of(f, ids[2]).state, JOB_CANCELLED);
    assert_true(job_of(f, ids[2]).finished_at > 0);
    struct storage_event *events;
    size_t count;
    OK(storage_event_read(f->storage, ids[0], NULL, 0, 10, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 3);
    assert_string_equal(events[2].data, "queued");
}

/* ---- failures of the disk ----------------------------------------------------------------------------- */

static int setup_fault(void **state)
{
    struct fixture *f = fixture_new();
    fault_vfs_register(0);
    f->options.vfs = FAULT_VFS;
    fixture_open(f);
    *state = f;
    return 0;
}

static int teardown_fault(void **state)
{
    fault_on_sync(0, 0, 0);
    fault_on_write(0, 0, 0);
    fixture_remove(*state);
    fault_vfs_unregister();
    return 0;
}

static enum status try_submit(struct fixture *f, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = "sparling", .config = "{}"};
    enum storage_submit_outcome outcome;
    error_clear(&f->err);
    return storage_job_submit(f->storage, &in, id, &outcome, &f->err);
}

/* After one failed fsync, the store accepts no writes, because a later fsync could report success for lost data. */
static void failed_sync_ends_all_writes(void **state)
{
    struct fixture *f = *state;
    char good[STORAGE_ID], id[STORAGE_ID];
    submit(f, "sparling", 0, good);
    OK(storage_writable(f->storage, &f->err));
    fault_on_sync(0, SQLITE_IOERR_FSYNC, 0);
    assert_int_equal(try_submit(f, id), STATUS_IO);
    assert_string_equal(id, "");
    REFUSED(STATUS_IO, storage_writable(f->storage, &f->err));
    assert_int_equal(try_submit(f, id), STATUS_IO);
    int syncs = fault_syncs();
    REFUSED(STATUS_IO, storage_job_progress(f->storage, good, "{}", &f->err));
    REFUSED(STATUS_IO, storage_flush(f->storage, &f->err));
    assert_int_equal(fault_syncs(), syncs);
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {0};
    REFUSED(STATUS_IO, storage_checkpoint_begin(f->storage, good, &what, &writer, &f->err));
    assert_string_equal(job_of(f, good).id, good); /* reads still work */
    fixture_reopen(f);
    OK(storage_writable(f->storage, &f->err));
    assert_string_equal(job_of(f, good).id, good);
    submit(f, "sparling", 0, id);
}

static void full_disk_refuses_writes_until_there_is_space(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    fault_on_write(0, SQLITE_FULL, 1);
    assert_int_equal(try_submit(f, id), STATUS_FULL);
    assert_non_null(strstr(f->err.message, "full"));
    assert_int_equal(try_submit(f, id), STATUS_FULL);
    fault_on_write(0, 0, 0); /* the disk has space again */
    submit(f, "sparling", 0, id);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 1);
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.density = 1, .accuracy = 1};
    unsigned char *bytes = calloc(1, 4 << 20);
    int64_t seq;
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    fault_on_write(100, SQLITE_FULL, 1);
    enum status status = STATUS_OK;
    error_clear(&f->err);
    for (int i = 0; i < 4 && status == STATUS_OK; i++)
        status = storage_checkpoint_write(writer, bytes, 4 << 20, &f->err);
    assert_int_equal(status, STATUS_FULL);
    fault_on_write(0, 0, 0);
    REFUSED(STATUS_FULL, storage_checkpoint_commit(writer, &seq, &f->err));
    await_integer(f, "SELECT count(*) FROM chunk", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint"), 0);
    OK(storage_writable(f->storage, &f->err));
    free(bytes);
}

/* Makes writes of all kinds. Returns the number of acknowledged jobs. */
static int workload(struct fixture *f, char ids[20][STORAGE_ID])
{
    int acknowledged = 0;
    struct error *err = NULL;
    static unsigned char bytes[300000];
    for (int i = 0; i < 20; i++) {
        if (try_submit(f, ids[acknowledged]) == STATUS_OK)
            acknowledged++;
        char id[STORAGE_ID];
        if (storage_job_claim(f->storage, id, err) != STATUS_OK)
            continue;
        struct storage_metric metric = {.name = "loss", .point = {i, i}};
        (void)storage_metric_append(f->storage, id, &metric, 1, err);
        struct storage_checkpoint_writer *writer;
        struct storage_checkpoint_new what = {.step = i, .samples = i, .density = 1, .accuracy = 1};
        int64_t seq;
        if (storage_checkpoint_begin(f->storage, id, &what, &writer, err) == STATUS_OK) {
            (void)storage_checkpoint_write(writer, bytes, sizeof bytes, err);
            (void)storage_checkpoint_commit(writer, &seq, err);
        }
        (void)storage_job_leave(f->storage, id, i % 2 ? JOB_EVENT_YIELD : JOB_EVENT_SUCCEED, NULL, NULL, NULL, err);
    }
    return acknowledged;
}

/* Makes the n-th write or sync fail, once or permanently, for many n. Every acknowledged change must exist after
 * the next start, and the file must be sound. */
static void acknowledged_changes_survive_every_disk_failure(void **state)
{
    struct fixture *f = *state;
    int hit = 0;
    fixture_remove(f);
    for (int n = 0; n < 240; n++) {
        char ids[20][STORAGE_ID];
        f = fixture_new();
        f->options.vfs = FAULT_VFS;
        fixture_open(f);
        if (n % 4 < 2)
            fault_on_write(n * 5 / 2, n % 4 == 0 ? SQLITE_IOERR_WRITE : SQLITE_FULL, n % 8 < 4);
        else
            fault_on_sync(n / 4, SQLITE_IOERR_FSYNC, n % 4 == 2);
        int before = fault_failures(), acknowledged = workload(f, ids);
        hit += fault_failures() > before;
        fault_on_write(0, 0, 0);
        fault_on_sync(0, 0, 0);
        fixture_reopen(f);
        for (int i = 0; i < acknowledged; i++)
            assert_string_equal(job_of(f, ids[i]).id, ids[i]);
        fixture_close(f);
        assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
                         0);
        assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        fixture_remove(f);
    }
    assert_true(hit >= 200); /* in the other rounds the work ended before the fault */
    *state = fixture_new();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_CLOSED(newer_schema_is_refused),
        TEST_CLOSED(other_programs_database_is_refused),
        TEST_CLOSED(file_that_is_no_database_is_refused),
        TEST_CLOSED(unusable_paths_are_refused),
        TEST_CLOSED(damage_is_found_after_unclean_stop),
        TEST_CLOSED(second_process_is_refused),
        TEST_CLOSED(hard_link_to_an_open_database_is_refused),
        TEST_CLOSED(missing_database_file_refuses_jobs_until_it_is_back),
        TEST_CLOSED(connections_have_the_required_settings),
        TEST_CLOSED(restart_puts_running_jobs_back),
        cmocka_unit_test_setup_teardown(failed_sync_ends_all_writes, setup_fault, teardown_fault),
        cmocka_unit_test_setup_teardown(full_disk_refuses_writes_until_there_is_space, setup_fault, teardown_fault),
        cmocka_unit_test_setup_teardown(acknowledged_changes_survive_every_disk_failure, setup_fault, teardown_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
