/* Databases of every earlier schema: tests/fixtures/schema/N.sql is what version N of the schema was, taken from the
 * history of storage/database/schema.c. Rows are put in, the store opens it, and everything is there; also when the
 * migration is killed, or a write or an allocation fails in it, at any place. */
#include "tests/unit/storage/storage_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/base/hash.h"
#include "tests/unit/storage/fault_vfs.h"
#include "tests/support/fault.h"

enum { POINTS = 500, FEW = 100, BYTES = 3000, BLOCK = 240, PYRAMID = 6, CHAIN = 2 };
#define JOB "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define WAITING "01ARZ3NDEKTSV4RRFFQ69G5FAW"

static const char *schemas; /* the folder */

static void execute(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", message, sql);
}

static char *schema_text(int version)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%d.sql", schemas, version);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, 65536);
    assert_true(fread(text, 1, 65535, file) > 0);
    (void)fclose(file);
    return text;
}

static void put_blob(sqlite3 *db, const char *sql, int64_t id, const void *bytes, int count)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_blob(stmt, 2, bytes, count, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
}

/* From the pyramid on, only whole blocks that are sealed have rows there; fewer points than that need none. */
static int points_of(int version)
{
    return version < PYRAMID ? POINTS : FEW;
}

static void put_points(sqlite3 *db, int count)
{
    execute(db, "INSERT INTO series(id, job, name) VALUES (1, 1, 'loss')");
    for (int first = 0, number = 0; first < count; first += BLOCK, number++) {
        unsigned char bytes[BLOCK * 16];
        char sql[160];
        int some = count - first < BLOCK ? count - first : BLOCK;
        for (int i = 0; i < some; i++) {
            int64_t step = first + i;
            double value = 1.0 / (double)(1 + step);
            memcpy(bytes + 16 * i, &step, 8);
            memcpy(bytes + 16 * i + 8, &value, 8);
        }
        (void)snprintf(sql, sizeof sql, "INSERT INTO block(id, first, last, points) VALUES (?, %d, %d, ?)", first,
                       first + some - 1);
        put_blob(db, sql, ((int64_t)1 << 24) + number, bytes, some * 16);
    }
}

static void make_old(const struct fixture *f, int version)
{
    sqlite3 *db;
    unsigned char data[BYTES], digest[32];
    char *schema = schema_text(version);
    assert_non_null(schema);
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7);
    hash_bytes(data, BYTES, digest);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF");
    execute(db, schema);
    free(schema);
    static const char jobs[] =
        "INSERT INTO job(num, id, kind, preset, name, task, state, wish, priority, threads, config, progress, result, "
        "source_job,"
        " source_checkpoint, created_at, started_at, finished_at, version, progress_version, last_seq) VALUES"
        " (1, '" JOB "', 'sparling', 'digitcircle', 'an old one', 0, 'succeeded', 0, 3, 2, '{\"seed\":7}', "
        "'{\"step\":499}', '{\"accuracy\":1}', '',"
        "  0, 1700000000000, 1700000001000, 1700000002000, 5, 9, 1),"
        " (2, '" WAITING
        "', 'factors', '', 'it waits', 0, 'queued', 0, 0, 0, '{}', NULL, NULL, '', 0, 1700000003000, 0, 0, 1, 0, 0)";
    execute(db, jobs);
    execute(db, "INSERT INTO idempotency VALUES ('key', zeroblob(32), 1, 1700000000000)");
    execute(db, "INSERT INTO event(id, job, type, data, time) VALUES (1, 1, 'state', 'queued', 1700000000000), (2, 1, "
                "'state', 'succeeded', 1700000002000)");
    put_blob(db,
             "INSERT INTO checkpoint(id, job, seq, step, samples, density, accuracy, bytes, sha256, stage_end, pinned, "
             "complete, created_at)"
             " VALUES (?, 1, 1, 499, 4990, 0.25, 0.9, 3000, ?, 1, 0, 1, 1700000002000)",
             1, digest, 32);
    put_blob(db, "INSERT INTO chunk(id, data) VALUES (?, ?)", (int64_t)1 << 20, data, BYTES);
    put_blob(db,
             "INSERT INTO artifact(job, name, media_type, created_at, data) VALUES (?, 'a.csv', 'text/csv', "
             "1700000002000, ?)",
             1, "1,2", 3);
    execute(db, "INSERT INTO token VALUES (zeroblob(32), 'who', 2, 1700000000000, 0, 0)");
    if (version >= CHAIN)
        execute(db, "INSERT INTO chain SELECT job, seq, step, samples, density, stage_end, bytes, sha256, '', "
                    "created_at FROM checkpoint");
    put_points(db, points_of(version));
    sqlite3_close(db);
}

/* Everything that make_old() has put in. */
static void assert_all_there(struct fixture *f, int version)
{
    static const unsigned char no_hash[32];
    struct storage_job job = job_of(f, JOB);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_string_equal(job.name, "an old one");
    assert_string_equal(job.config, "{\"seed\":7}");
    assert_string_equal(job.result, "{\"accuracy\":1}");
    assert_int_equal(job.priority, 3);
    assert_int_equal(job_of(f, WAITING).state, JOB_QUEUED);

    struct storage_metric_query all = {.since = INT64_MIN}, drawn = {.since = INT64_MIN, .max_points = 30};
    struct storage_series *series;
    size_t count;
    OK(storage_metric_read(f->storage, JOB, &all, &f->arena, &series, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(series[0].count, points_of(version));
    for (size_t i = 0; i < series[0].count; i++)
        assert_true(series[0].points[i].step == (int64_t)i && series[0].points[i].value == 1.0 / (double)(1 + i));
    OK(storage_metric_read(f->storage, JOB, &drawn, &f->arena, &series, &count, &f->err));
    assert_int_equal(series[0].total, points_of(version));
    assert_true(series[0].points[0].value == 1 && series[0].points[series[0].count - 1].step == points_of(version) - 1);

    struct storage_checkpoint_reader *reader;
    OK(storage_checkpoint_open(f->storage, JOB, (struct storage_checkpoint_pick){.by = STORAGE_LATEST}, &reader, NULL,
                               &f->err));
    OK(storage_checkpoint_verify(reader, &f->err));
    storage_checkpoint_close(reader);
    struct storage_link *links;
    OK(storage_chain_list(f->storage, JOB, &f->arena, &links, &count, &f->err));
    assert_int_equal(count, 1);
    assert_true(links[0].kept && links[0].bytes == BYTES);

    struct storage_artifact artifact;
    const void *bytes;
    OK(storage_artifact_get(f->storage, JOB, "a.csv", &f->arena, &artifact, &bytes, &f->err));
    assert_memory_equal(bytes, "1,2", 3);
    struct storage_token token;
    OK(storage_token_find(f->storage, no_hash, &token, &f->err));
    assert_string_equal(token.name, "who");
    struct storage_event *events;
    OK(storage_event_read(f->storage, JOB, 0, 10, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 2);
    struct storage_stats stats;
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_int_equal(stats.jobs[JOB_SUCCEEDED], 1);
    assert_int_equal(stats.checkpoints, 1);
    assert_int_equal(stats.checkpoint_bytes, BYTES);
}

static void assert_sound(const struct fixture *f)
{
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static int newest(void)
{
    struct fixture *f = fixture_new();
    fixture_open(f);
    fixture_close(f);
    int version = (int)file_integer(f, "PRAGMA user_version");
    fixture_remove(f);
    return version;
}

static void every_version_opens(void **state)
{
    int last = newest();
    for (int version = 1; version <= last; version++) {
        struct fixture *f = fixture_new();
        char id[STORAGE_ID];
        make_old(f, version);
        fixture_open(f);
        assert_all_there(f, version);
        submit(f, "sparling", 0, id); /* and it goes on */
        OK(storage_job_claim(f->storage, id, &f->err));
        assert_string_equal(id, WAITING);
        fixture_reopen(f);
        assert_all_there(f, version);
        fixture_close(f);
        assert_int_equal(file_integer(f, "PRAGMA user_version"), last);
        assert_sound(f);
        fixture_remove(f);
    }
}

/* The schema that today's program makes is the one that is written down: whoever adds a version adds its file. */
static void schemas_are_written_down(void **state)
{
    struct fixture *f = fixture_new(), *g = fixture_new();
    static const char objects[] = "SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL";
    sqlite3 *db;
    char *schema = schema_text(newest());
    assert_non_null(schema);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sqlite3_open(g->path, &db), SQLITE_OK);
    execute(db, schema);
    sqlite3_close(db);
    assert_int_equal(file_integer(g, "PRAGMA application_id"), file_integer(f, "PRAGMA application_id"));
    assert_int_equal(file_integer(g, objects), file_integer(f, objects));
    free(schema);
    fixture_remove(f);
    fixture_remove(g);
}

/* A file cut anywhere, or with bytes turned over in its middle, is refused or opened with what it holds; never a crash.
 */
static void damaged_old_files(void **state)
{
    for (int cut = 1; cut < 16; cut++) {
        struct fixture *f = fixture_new();
        struct stat file;
        make_old(f, 1);
        assert_int_equal(stat(f->path, &file), 0);
        assert_int_equal(truncate(f->path, file.st_size * cut / 16), 0);
        error_clear(&f->err);
        enum status status = storage_open(&f->options, &f->storage, &f->err);
        if (status == STATUS_OK)
            fail_msg("%d sixteenths of a database were opened", cut);
        assert_true(status == STATUS_CORRUPT || status == STATUS_CONFLICT);
        assert_true(f->err.message[0] != '\0');
        f->storage = NULL;
        fixture_remove(f);
    }
}

static void writes_that_fail(void **state)
{
    int failed = 0, version = 1;
    for (int n = 0; version < 8; n++) {
        struct fixture *f = fixture_new();
        bool opened;
        make_old(f, version);
        fault_vfs_register(0);
        f->options.vfs = FAULT_VFS;
        f->options.durability = STORAGE_DURABLE_NOT;
        fault_on_write(n, n % 2 ? SQLITE_IOERR_WRITE : SQLITE_FULL, 1);
        opened = storage_open(&f->options, &f->storage, &f->err) == STATUS_OK && fault_failures() == 0;
        failed += !opened;
        fault_on_write(0, 0, 0);
        storage_close(f->storage);
        f->storage = NULL;
        f->options.vfs = NULL;
        fixture_open(f);
        assert_all_there(f, version);
        fixture_close(f);
        assert_sound(f);
        fault_vfs_unregister();
        fixture_remove(f);
        if (opened) { /* without a failure: the next version */
            version += 2;
            n = -1;
        }
        assert_true(n < 2000);
    }
    assert_true(failed > 10);
}

static void allocations_that_fail(void **state)
{
    int failed = 0;
    for (int n = 0, done = 0, stride = fault_stride(41); !done; n += stride) {
        struct fixture *f = fixture_new();
        make_old(f, 1);
        f->options.durability = STORAGE_DURABLE_NOT;
        fault_after(n);
        enum status status = storage_open(&f->options, &f->storage, &f->err);
        bool happened = fault_happened();
        if (status != STATUS_OK && (!happened || status != STATUS_NO_MEMORY))
            fail_msg("allocation %d: %s: %s", n, status_name(status), f->err.message);
        done = !happened;
        failed += happened;
        storage_close(f->storage);
        fixture_open(f);
        assert_all_there(f, 1);
        fixture_close(f);
        assert_sound(f);
        fixture_remove(f);
    }
    assert_true(failed > 10);
}

/* The process is killed while it migrates, a little later each time, until it is done. */
static void killed_meanwhile(void **state)
{
    for (int i = 0; i < 28; i++) {
        struct fixture *f = fixture_new();
        int version = 1 + i % 7;
        make_old(f, version);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct storage *storage;
            _exit(storage_open(&f->options, &storage, NULL) == STATUS_OK ? 0 : 1);
        }
        (void)nanosleep(&(struct timespec){0, (long)i * 500000}, NULL);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        fixture_open(f);
        assert_all_there(f, version);
        fixture_close(f);
        assert_sound(f);
        fixture_remove(f);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_opens),   cmocka_unit_test(schemas_are_written_down),
        cmocka_unit_test(damaged_old_files),     cmocka_unit_test(writes_that_fail),
        cmocka_unit_test(allocations_that_fail), cmocka_unit_test(killed_meanwhile),
    };
    if (argc < 2)
        return 2;
    schemas = argv[1];
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
