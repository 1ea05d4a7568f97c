/* Shared by the tests of storage: a store in a temporary folder, and helpers that fill and inspect it. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_STORAGE_FIXTURE_H
#define MOTIF_TESTS_UNIT_STORAGE_STORAGE_FIXTURE_H

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>

#include "tests/support/unit.h"
#include "core/base/arena.h"
#include "storage/database/row_digest.h"
#include "storage/storage.h"

struct fixture {
    char folder[64], path[96];
    struct storage_options options;
    struct storage *storage;
    struct arena arena;
    struct error err;
};

static inline struct fixture *fixture_new_in(const char *parent)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    (void)snprintf(f->folder, sizeof f->folder, "%s/motifd-test-XXXXXX", parent);
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof f->path, "%s/test.db", f->folder);
    f->options.path = f->path;
    f->options.notices = true;
    arena_init(&f->arena, 65536, 0);
    return f;
}

static inline struct fixture *fixture_new(void)
{
    return fixture_new_in("/tmp");
}

static inline void fixture_open(struct fixture *f)
{
    error_clear(&f->err);
    enum status status = storage_open(&f->options, &f->storage, &f->err);
    if (status != STATUS_OK)
        fail_msg("storage_open: %s: %s", status_name(status), f->err.message);
}

static inline void fixture_close(struct fixture *f)
{
    storage_close(f->storage);
    f->storage = NULL;
}

static inline void fixture_reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static inline void fixture_remove(struct fixture *f)
{
    char path[400];
    fixture_close(f);
    DIR *folder = opendir(f->folder);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, entry->d_name);
        (void)unlink(path);
    }
    if (folder != NULL)
        closedir(folder);
    (void)rmdir(f->folder);
    arena_close(&f->arena);
    free(f);
}

/* Functions that cmocka calls before and after each test. */
static inline int setup_closed(void **state)
{
    *state = fixture_new();
    return 0;
}
static inline int setup_open(void **state)
{
    struct fixture *f = fixture_new();
    fixture_open(f);
    *state = f;
    return 0;
}
static inline int teardown(void **state)
{
    fixture_remove(*state);
    return 0;
}

#define TEST_OPEN(name) cmocka_unit_test_setup_teardown(name, setup_open, teardown)
#define TEST_CLOSED(name) cmocka_unit_test_setup_teardown(name, setup_closed, teardown)

/* Makes the call. If the call fails, the test fails with the message of the error. */
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        error_clear(&f->err);                                                                                          \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), f->err.message);                                       \
    } while (0)

/* Makes the call and asserts that it fails with this status and a message. */
#define REFUSED(expected, call)                                                                                        \
    do {                                                                                                               \
        error_clear(&f->err);                                                                                          \
        assert_string_equal(status_name(call), status_name(expected));                                                 \
        assert_int_equal(f->err.code, expected);                                                                       \
        assert_true(f->err.message[0] != '\0');                                                                        \
    } while (0)

/* Submits a simple job and returns its id. */
static inline void submit(struct fixture *f, const char *kind, int priority, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = kind, .name = "test", .config = "{\"seed\":1}", .priority = priority};
    enum storage_submit_outcome outcome;
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    assert_int_equal(strlen(id), STORAGE_ID - 1);
}

static inline void submit_running(struct fixture *f, char id[STORAGE_ID])
{
    char claimed[STORAGE_ID];
    submit(f, "sparling", 0, id);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    assert_string_equal(claimed, id);
}

static inline struct storage_job job_of(struct fixture *f, const char *id)
{
    struct storage_job job;
    OK(storage_job_get(f->storage, id, &f->arena, &job, &f->err));
    return job;
}

/* Ends a running job with success. */
static inline void finish(struct fixture *f, const char *id)
{
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err));
}

/* Reads an integer from the file. Uses a separate read-only connection, because the store is open. */
static inline int64_t file_integer(const struct fixture *f, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

/* As file_integer(), of a statement that uses the function row_digest(). */
static inline int64_t digest_integer(const struct fixture *f, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(row_digest_register(db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

/* Opens a connection that can change rows as the store does, with their digests. */
static inline sqlite3 *open_to_change(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(row_digest_register(db), SQLITE_OK);
    return db;
}

/* Changes the closed file with a separate connection. */
static inline void change_file(const struct fixture *f, const char *sql)
{
    char *message = NULL;
    sqlite3 *db = open_to_change(f->path);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

static inline void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Waits until the query returns the expected value; fails after a minute. */
static inline void await_integer(const struct fixture *f, const char *sql, int64_t expected)
{
    int64_t value = -1;
    for (int i = 0; i < 6000; i++) {
        value = file_integer(f, sql);
        if (value == expected)
            return;
        sleep_ms(10);
    }
    fail_msg("%s is %lld, not %lld", sql, (long long)value, (long long)expected);
}

/* A small random generator. It gives the same numbers on every machine. */
static inline uint32_t lcg(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Reads the whole data of the job's latest checkpoint, and stores its description in `look` unless that is NULL. */
static inline enum status verify_latest(struct fixture *f, const char *job,
                                        enum status (*look)(struct fixture *f, struct storage_checkpoint_reader *reader,
                                                            const struct storage_checkpoint *info))
{
    struct storage_checkpoint_reader *reader;
    struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    struct storage_checkpoint info;
    enum status status = storage_checkpoint_open(f->storage, job, latest, &reader, &info, &f->err);
    if (status == STATUS_OK && look != NULL)
        status = look(f, reader, &info);
    if (status == STATUS_OK)
        status = storage_checkpoint_verify(reader, &f->err);
    storage_checkpoint_close(reader);
    return status;
}

#endif
