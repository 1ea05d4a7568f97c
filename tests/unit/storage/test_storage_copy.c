/* Tests backups: a copy of a store that is being written is complete and checked, and never overwrites a file. */
#include "tests/unit/storage/storage_fixture.h"
#include "tests/support/sanitized.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "storage/database/copy.h"

#define CHECKPOINT_BYTES ((size_t)2500000) /* so large that the checkpoint is stored in three chunks */

static struct storage_copy_options copy_to(const struct fixture *f, char to[128], const char *name)
{
    (void)snprintf(to, 128, "%s/%s", f->folder, name);
    return (struct storage_copy_options){.from = f->path, .to = to};
}

static void save(struct fixture *f, const char *id, int step)
{
    struct storage_checkpoint_new what = {.step = step, .samples = step, .density = 0.1 / step, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    unsigned char *bytes = malloc(CHECKPOINT_BYTES);
    uint64_t state = (uint64_t)step;
    int64_t seq;
    for (size_t i = 0; i < CHECKPOINT_BYTES; i++)
        bytes[i] = (unsigned char)lcg(&state);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, bytes, CHECKPOINT_BYTES, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    free(bytes);
}

static bool there(const char *path, const char *ending)
{
    char name[160];
    struct stat facts;
    (void)snprintf(name, sizeof name, "%s%s", path, ending);
    return stat(name, &facts) == 0;
}

static void assert_nothing_at(const char *path)
{
    static const char *const endings[] = {"", ".part", ".part-journal", ".part-wal", "-wal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (there(path, endings[i]))
            fail_msg("left behind: %s", endings[i]);
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db = open_to_change(path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Context of a thread that submits jobs until the test stops it. */
struct submitter {
    struct fixture *f;
    atomic_bool stop;
    atomic_int done;
};

static void *submit_on(void *context)
{
    struct submitter *s = context;
    while (!atomic_load(&s->stop)) {
        struct storage_submit in = {.kind = "sparling", .name = "test", .config = "{}"};
        enum storage_submit_outcome outcome;
        char id[STORAGE_ID];
        if (storage_job_submit(s->f->storage, &in, id, &outcome, NULL) != STATUS_OK)
            break;
        atomic_fetch_add(&s->done, 1);
    }
    return NULL;
}

static void count_progress(void *context, const char *what, int64_t done, int64_t all)
{
    assert_true(done <= all);
    ++*(int *)context;
}

static void copy_of_a_busy_store_is_complete(void **state)
{
    struct fixture *f = *state, back = {.folder = ""};
    struct submitter submitter = {.f = f};
    struct storage_copy_report report;
    char id[STORAGE_ID], to[128];
    int calls = 0;
    pthread_t thread;
    submit_running(f, id);
    save(f, id, 1);
    save(f, id, 2);
    assert_int_equal(pthread_create(&thread, NULL, submit_on, &submitter), 0);
    while (atomic_load(&submitter.done) < 10)
        sleep_ms(1);
    struct storage_copy_options options = copy_to(f, to, "copy.db");
    options.watch.progress = count_progress;
    options.watch.context = &calls;
    OK(storage_copy(&options, &report, &f->err));
    int after = atomic_load(&submitter.done);
    while (atomic_load(&submitter.done) < after + 2) /* submissions must go on after the copy */
        sleep_ms(1);
    atomic_store(&submitter.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(report.checkpoints, 2);
    assert_in_range(report.jobs, 11, after + 2);
    assert_true(calls >= 3);
    struct stat facts;
    assert_int_equal(stat(to, &facts), 0);
    assert_int_equal(facts.st_size, report.bytes);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_false(there(to, ".part") || there(to, "-wal"));
    /* Copies the backup once more, as a restore does, and opens this copy. The running job must be queued again, and
     * its checkpoints must be complete. */
    (void)snprintf(back.path, sizeof back.path, "%s/back.db", f->folder);
    OK(storage_copy(&(struct storage_copy_options){.from = to, .to = back.path, .to_be_used = true}, &report, &f->err));
    back.options.path = back.path;
    arena_init(&back.arena, 65536, 0);
    fixture_open(&back);
    assert_int_equal(job_of(&back, id).state, JOB_QUEUED);
    fixture_close(&back);
    arena_close(&back.arena);
}

/* Returns the first bytes of the digest that a backup of this file has. */
static int64_t digest_of(struct fixture *f, const char *path)
{
    struct storage_copy_report report;
    char to[160];
    int64_t value = 0;
    sqlite3 *db;
    sqlite3_stmt *stmt;
    (void)snprintf(to, sizeof to, "%s/again.db", f->folder);
    OK(storage_copy(&(struct storage_copy_options){.from = path, .to = to}, &report, &f->err));
    assert_int_equal(sqlite3_open(to, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sha256 FROM digest", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    memcpy(&value, sqlite3_column_blob(stmt, 0), sizeof value);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(unlink(to), 0);
    return value;
}

static void existing_files_are_not_overwritten(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    char to[128], name[160];
    struct storage_copy_options options = copy_to(f, to, "there.db");
    close(open(to, O_CREAT | O_WRONLY, 0600));
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    struct stat facts;
    assert_int_equal(stat(to, &facts), 0);
    assert_int_equal(facts.st_size, 0);
    options = copy_to(f, to, "logged.db");
    (void)snprintf(name, sizeof name, "%s-wal", to);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    assert_false(there(to, ""));
    /* the copy is refused when a daemon holds the lock of this name, although the database file was deleted */
    options = copy_to(f, to, "backup.db");
    OK(storage_copy(&options, &report, &f->err));
    char backup[128];
    memcpy(backup, to, sizeof backup);
    options = copy_to(f, to, "held.db");
    options.from = backup;
    options.to_be_used = true;
    (void)snprintf(name, sizeof name, "%s-lock", to);
    int lock = open(name, O_CREAT | O_RDWR, 0600);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    assert_nothing_at(to);
    close(lock);
    OK(storage_copy(&options, &report, &f->err));
}

static void foreign_and_newer_files_are_not_copied(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    char to[128], other[160];
    struct storage_copy_options options = copy_to(f, to, "copy.db");
    (void)snprintf(other, sizeof other, "%s/other.db", f->folder);
    options.from = other;
    REFUSED(STATUS_IO, storage_copy(&options, &report, &f->err));
    change(other, "CREATE TABLE bookmarks(url TEXT)");
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    change(other, "DROP TABLE bookmarks; VACUUM");
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    fixture_close(f);
    change(f->path, "PRAGMA user_version=1000");
    options.from = f->path;
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    assert_nothing_at(to);
}

/* A flipped bit in a checkpoint, a row without its parent, a damaged page: the copy fails and leaves no file. */
static void damaged_store_is_not_copied(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    char id[STORAGE_ID], to[128];
    struct storage_copy_options options = copy_to(f, to, "copy.db");
    submit_running(f, id);
    save(f, id, 1);
    fixture_close(f);
    change(f->path, "UPDATE chunk SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) FROM chunk)");
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    assert_nothing_at(to);
    change(f->path, "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)");
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    change(f->path, "UPDATE checkpoint SET complete = 0");
    OK(storage_copy(&options, &report, &f->err));
    assert_int_equal(report.checkpoints, 0);
    assert_int_equal(unlink(to), 0);
    change(f->path, "INSERT INTO artifact VALUES (77, 'x.png', 'image/png', 0, x'00')");
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    change(f->path, "DELETE FROM artifact");
    int64_t page = file_integer(f, "PRAGMA page_size");
    int64_t root = file_integer(f, "SELECT rootpage FROM sqlite_schema WHERE name = 'job_by_kind'");
    change(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
    int fd = open(f->path, O_RDWR);
    char junk[200];
    memset(junk, 0x55, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, (root - 1) * page), sizeof junk);
    close(fd);
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    assert_nothing_at(to);
}

/* A page with a flipped bit may be a sound page with another content: each such copy must be refused, or have the same
 * contents. */
static void a_backup_with_a_flipped_bit_or_an_empty_page_is_not_restored(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    char id[STORAGE_ID], to[128], bad[160], back[160];
    struct storage_copy_options options = copy_to(f, to, "copy.db");
    submit_running(f, id);
    save(f, id, 1);
    OK(storage_artifact_put(f->storage, id, "a.csv", "text/csv", "a,b\n1,2\n", 8, &f->err));
    OK(storage_copy(&options, &report, &f->err));
    (void)snprintf(bad, sizeof bad, "%s/bad.db", f->folder);
    (void)snprintf(back, sizeof back, "%s/back.db", f->folder);
    size_t size = (size_t)report.bytes;
    unsigned char *good = malloc(size);
    int fd = open(to, O_RDONLY), refused = 0;
    assert_int_equal(pread(fd, good, size, 0), size);
    close(fd);
    options = (struct storage_copy_options){.from = bad, .to = back, .to_be_used = true};
    for (int i = 0; i < (SANITIZED ? 60 : 300); i++) {
        size_t at = 100 + (size_t)i * 7919 * 31 % (size - 100);
        unsigned char *bytes = malloc(size);
        memcpy(bytes, good, size);
        if (i % 3 > 0)
            bytes[at] ^= (unsigned char)(1 << i % 8);
        else
            memset(bytes + at / 4096 * 4096, 0, 4096);
        fd = open(bad, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        assert_int_equal(pwrite(fd, bytes, size, 0), size);
        close(fd);
        free(bytes);
        enum status status = storage_copy(&options, &report, &f->err);
        refused += status != STATUS_OK;
        if (status == STATUS_OK) { /* the bit is in no row: a backup of this copy has the digest of the first one */
            assert_int_equal(digest_of(f, back), digest_of(f, to));
            assert_int_equal(unlink(back), 0);
        }
        error_clear(&f->err);
    }
    free(good);
    assert_true(refused > (SANITIZED ? 10 : 50));
    change(to, "DROP TABLE digest");
    options.from = to;
    REFUSED(STATUS_CORRUPT, storage_copy(&options, &report, &f->err));
    assert_non_null(strstr(f->err.message, "no digest"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(copy_of_a_busy_store_is_complete),
        TEST_OPEN(existing_files_are_not_overwritten),
        TEST_OPEN(foreign_and_newer_files_are_not_copied),
        TEST_OPEN(damaged_store_is_not_copied),
        TEST_OPEN(a_backup_with_a_flipped_bit_or_an_empty_page_is_not_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
