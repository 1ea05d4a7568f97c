/* Tests the check of the file after an unclean stop: what is checked at which time, and what is reported. Also
 * tests the table `tally`, which stores counts so that no query must count rows. */
#include "tests/unit/storage/storage_fixture.h"

#include <fcntl.h>
#include <stdatomic.h>

/* Creates a closed store of some hundred pages that is marked as not properly closed. Returns the size of the
 * file. */
static int64_t make_unclean(struct fixture *f)
{
    char id[STORAGE_ID];
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_open(f);
    for (int i = 0; i < 300; i++)
        submit(f, "sparling", 0, id);
    fixture_close(f);
    change_file(f, "UPDATE meta SET value = 0 WHERE key = 'clean'");
    return file_integer(f, "PRAGMA page_count") * file_integer(f, "PRAGMA page_size");
}

/* Overwrites the first page of a table or an index. */
static void damage(struct fixture *f, const char *name)
{
    char sql[96], junk[200];
    (void)snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    int64_t root = file_integer(f, sql), page = file_integer(f, "PRAGMA page_size");
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    memset(junk, 0x55, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, (root - 1) * page), sizeof junk);
    close(fd);
}

static enum storage_check check_now(struct fixture *f)
{
    struct storage_stats stats;
    OK(storage_stats_read(f->storage, &stats, &f->err));
    return stats.check;
}

static enum storage_check check_in_the_end(struct fixture *f)
{
    for (int i = 0; i < 12000 && check_now(f) == STORAGE_CHECK_RUNNING; i++)
        usleep(10000);
    return check_now(f);
}

static int64_t clean(struct fixture *f)
{
    return file_integer(f, "SELECT value FROM meta WHERE key = 'clean'");
}

/* A file up to a size limit is checked before the store opens, a larger one afterwards. */
static void large_file_is_checked_after_it_opens(void **state)
{
    struct fixture *f = *state;
    int64_t bytes = make_unclean(f);
    f->options.check_bytes = bytes;
    fixture_open(f);
    assert_int_equal(check_now(f), STORAGE_CHECK_SOUND);
    fixture_close(f);
    change_file(f, "UPDATE meta SET value = 0 WHERE key = 'clean'");
    damage(f, "job_by_kind");
    REFUSED(STATUS_CORRUPT, storage_open(&f->options, &f->storage, &f->err));
    assert_null(f->storage);
    f->options.check_bytes = bytes - 1;
    fixture_open(f);
    assert_int_equal(check_in_the_end(f), STORAGE_CHECK_DAMAGED);
}

static void sound_store_passes_the_check(void **state)
{
    struct fixture *f = *state;
    (void)make_unclean(f);
    f->options.check_bytes = 1;
    fixture_open(f);
    assert_int_equal(check_in_the_end(f), STORAGE_CHECK_SOUND);
    fixture_close(f);
    assert_int_equal(clean(f), 1);
    fixture_open(f);
    assert_int_equal(check_now(f), STORAGE_CHECK_NONE);
}

/* Damage is reported and does not block the store; the next start checks again. */
static void damage_is_reported_and_checked_again(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    (void)make_unclean(f);
    damage(f, "event_by_job");
    f->options.check_bytes = 1;
    for (int start = 0; start < 2; start++) {
        fixture_open(f);
        assert_int_equal(check_in_the_end(f), STORAGE_CHECK_DAMAGED);
        OK(storage_writable(f->storage, &f->err));
        struct storage_job_filter all = {0};
        struct storage_job *jobs;
        size_t count;
        bool more;
        OK(storage_job_list(f->storage, &all, &f->arena, &jobs, &count, &more, &f->err));
        assert_int_equal(count, 100);
        (void)snprintf(id, sizeof id, "%s", jobs[0].id);
        assert_string_equal(job_of(f, id).id, id);
        fixture_close(f);
        assert_int_equal(clean(f), 0);
    }
}

/* Damage in a small table prevents opening. */
static void damaged_small_table_prevents_opening(void **state)
{
    struct fixture *f = *state;
    (void)make_unclean(f);
    damage(f, "series");
    f->options.check_bytes = 1;
    REFUSED(STATUS_CORRUPT, storage_open(&f->options, &f->storage, &f->err));
    assert_null(f->storage);
}

/* Closing the store ends the check. The next start checks again. */
static void closing_ends_the_check(void **state)
{
    struct fixture *f = *state;
    bool cut = false;
    (void)make_unclean(f);
    change_file(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
                   " INSERT INTO event(job, type, data, time) SELECT 1, 'state', hex(randomblob(40)), 0 FROM n");
    f->options.check_bytes = 1;
    for (int i = 0; i < 20 && !cut; i++) {
        fixture_open(f);
        fixture_close(f);
        cut = clean(f) == 0;
        change_file(f, "UPDATE meta SET value = 0 WHERE key = 'clean'");
    }
    assert_true(cut);
    fixture_open(f);
    assert_int_equal(check_in_the_end(f), STORAGE_CHECK_SOUND);
    fixture_close(f);
    assert_int_equal(clean(f), 1);
}

static void count_put_off(void *context, enum log_level level, const char *text)
{
    (void)level;
    if (strstr(text, "is interrupted") != NULL)
        atomic_fetch_add((atomic_int *)context, 1);
}

/* While a long check reads the file, SQLite cannot restart the write-ahead log, so the log grows. Storage then
 * interrupts the check. The check must complete when the writes pause. */
static void check_is_interrupted_when_the_log_grows(void **state)
{
    struct fixture *f = *state;
    atomic_int put_off = 0;
    static uint8_t bytes[2 << 20];
    (void)make_unclean(f);
    change_file(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
                   " INSERT INTO event(job, type, data, time) SELECT 1, 'state', hex(randomblob(40)), 0 FROM n");
    f->options.check_bytes = f->options.check_log_bytes = 1;
    f->options.log = (struct log_hook){&put_off, count_put_off};
    for (int i = 0; i < 40 && atomic_load(&put_off) == 0; i++) {
        char id[STORAGE_ID];
        fixture_open(f);
        OK(storage_job_claim(f->storage, id, &f->err));
        for (int n = 0; n < 400 && atomic_load(&put_off) < 2 && check_now(f) == STORAGE_CHECK_RUNNING; n++) {
            struct storage_checkpoint_writer *writer;
            struct storage_checkpoint_new what = {.step = n, .samples = n, .density = 1, .accuracy = 1};
            int64_t seq;
            OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
            OK(storage_checkpoint_write(writer, bytes, sizeof bytes, &f->err));
            OK(storage_checkpoint_commit(writer, &seq, &f->err));
        }
        assert_int_equal(check_in_the_end(f), STORAGE_CHECK_SOUND);
        fixture_close(f);
        assert_int_equal(clean(f), 1);
        change_file(f, "UPDATE meta SET value = 0 WHERE key = 'clean'");
    }
    assert_true(atomic_load(&put_off) > 0);
}

/* ---- the tally ------------------------------------------------------------------------------------------- */

static void compare_tally(struct fixture *f)
{
    struct storage_stats stats;
    char sql[160];
    OK(storage_flush(f->storage, &f->err));
    OK(storage_stats_read(f->storage, &stats, &f->err));
    for (int state = 0; state < JOB_STATES; state++) {
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE state = '%s'",
                       job_state_name((enum job_state)state));
        assert_int_equal(stats.jobs[state], file_integer(f, sql));
    }
    assert_int_equal(stats.checkpoints, file_integer(f, "SELECT count(*) FROM checkpoint WHERE complete"));
    assert_int_equal(stats.checkpoint_bytes,
                     file_integer(f, "SELECT coalesce(sum(bytes), 0) FROM checkpoint WHERE complete"));
}

/* Jobs pass through every state and are deleted. Checkpoints are stored, removed by the retention rule, and
 * abandoned. The tally must equal the counts. */
static void tally_equals_the_counts(void **state)
{
    static const enum job_event ends[] = {JOB_EVENT_SUCCEED, JOB_EVENT_FAIL, JOB_EVENT_YIELD};
    struct fixture *f = *state;
    char id[60][STORAGE_ID];
    uint8_t bytes[700] = {1};
    for (int i = 0; i < 60; i++)
        submit(f, i % 2 ? "sparling" : "factors", 60 - i, id[i]);
    compare_tally(f);
    for (int i = 0; i < 40; i++) {
        char claimed[STORAGE_ID];
        OK(storage_job_claim(f->storage, claimed, &f->err));
        assert_string_equal(claimed, id[i]);
        for (int n = 0; n < i % 7; n++) {
            struct storage_checkpoint_writer *writer;
            struct storage_checkpoint_new what = {.step = n, .samples = n, .density = 1, .accuracy = 1};
            int64_t seq;
            OK(storage_checkpoint_begin(f->storage, id[i], &what, &writer, &f->err));
            OK(storage_checkpoint_write(writer, bytes, sizeof bytes - (size_t)i, &f->err));
            if (n == 3)
                storage_checkpoint_abandon(writer);
            else
                OK(storage_checkpoint_commit(writer, &seq, &f->err));
        }
        if (i % 4 < 3)
            OK(storage_job_leave(f->storage, id[i], ends[i % 4], i % 4 == 0 ? "{}" : NULL, i % 4 == 1 ? "{}" : NULL,
                                 NULL, &f->err));
        if (i % 4 == 2) /* pause the job, so that the next claim does not take it */
            OK(storage_job_request(f->storage, id[i], JOB_EVENT_PAUSE, NULL, NULL, &f->err));
        if (i % 8 == 2)
            OK(storage_job_request(f->storage, id[i], JOB_EVENT_CANCEL, NULL, NULL, &f->err));
        compare_tally(f);
    }
    for (int i = 0; i < 40; i += 8)
        OK(storage_job_delete(f->storage, id[i], &f->err));
    compare_tally(f);
    fixture_reopen(f); /* opening the store puts running jobs back into the queue */
    compare_tally(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_CLOSED(large_file_is_checked_after_it_opens),
        TEST_CLOSED(sound_store_passes_the_check),
        TEST_CLOSED(damage_is_reported_and_checked_again),
        TEST_CLOSED(damaged_small_table_prevents_opening),
        TEST_CLOSED(closing_ends_the_check),
        TEST_CLOSED(check_is_interrupted_when_the_log_grows),
        TEST_OPEN(tally_equals_the_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
