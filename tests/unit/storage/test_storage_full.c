/* Tests a store whose disk is full for a while. Points of metrics wait in memory, and are stored in order once there is
 * space. Other writes are refused. Points beyond the memory limit are lost, and the log reports that. */
#include "tests/unit/storage/storage_fixture.h"

#include <pthread.h>

#include "tests/unit/storage/fault_vfs.h"

static struct {
    pthread_mutex_t lock;
    char text[20000];
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(void *context, enum log_level level, const char *text)
{
    pthread_mutex_lock(&journal.lock);
    size_t used = strlen(journal.text);
    (void)snprintf(journal.text + used, sizeof journal.text - used, "%s\n", text);
    pthread_mutex_unlock(&journal.lock);
}

static bool noted(const char *text)
{
    pthread_mutex_lock(&journal.lock);
    bool found = strstr(journal.text, text) != NULL;
    pthread_mutex_unlock(&journal.lock);
    return found;
}

static int setup_full(void **state)
{
    struct fixture *f = fixture_new();
    fault_vfs_register(0);
    journal.text[0] = '\0';
    f->options.vfs = FAULT_VFS;
    f->options.log = (struct log_hook){NULL, note};
    fixture_open(f);
    *state = f;
    return 0;
}

static int teardown_full(void **state)
{
    fault_on_write(0, 0, 0);
    fixture_remove(*state);
    fault_vfs_unregister();
    return 0;
}

static void set_full(bool full)
{
    fault_on_write(0, full ? SQLITE_FULL : 0, full);
}

/* Appends points [first, first + count) of "loss", each with its own value. */
static void add(struct fixture *f, const char *id, int first, int count)
{
    static struct storage_metric metrics[4096];
    assert_true(count <= 4096);
    for (int i = 0; i < count; i++)
        metrics[i] = (struct storage_metric){.name = "loss", .point = {first + i, 2 * (first + i)}};
    OK(storage_metric_append(f->storage, id, metrics, (size_t)count, &f->err));
}

/* Returns the number of stored points, which must be consecutive. */
static int stored(struct fixture *f, const char *id)
{
    struct storage_metric_query query = {.since = INT64_MIN};
    struct storage_series *series;
    size_t count;
    arena_reset(&f->arena);
    OK(storage_metric_read(f->storage, id, &query, &f->arena, &series, &count, &f->err));
    for (size_t i = 0; count > 0 && i < series[0].count; i++) {
        assert_int_equal(series[0].points[i].step, i);
        assert_true(series[0].points[i].value == 2.0 * (double)i);
    }
    return count > 0 ? (int)series[0].count : 0;
}

static void points_wait_for_disk_space_in_order(void **state)
{
    struct fixture *f = *state;
    char one[STORAGE_ID], two[STORAGE_ID], other[STORAGE_ID];
    enum storage_submit_outcome outcome;
    submit_running(f, one);
    submit_running(f, two);
    add(f, one, 0, 10);
    OK(storage_flush(f->storage, &f->err));
    set_full(true);
    for (int i = 1; i <= 5; i++) { /* points of two jobs, so that some batches can be merged and others cannot */
        add(f, one, 10 * i, 10);
        add(f, two, 10 * (i - 1), 10);
        REFUSED(STATUS_FULL, storage_flush(f->storage, &f->err));
        assert_non_null(strstr(f->err.message, "full"));
    }
    assert_int_equal(stored(f, one), 10); /* reads still work */
    struct storage_submit in = {.kind = "sparling", .config = "{}"};
    REFUSED(STATUS_FULL, storage_job_submit(f->storage, &in, other, &outcome, &f->err));
    assert_true(noted("wait in memory"));
    assert_false(noted("lost, because"));
    set_full(false);
    OK(storage_job_submit(f->storage, &in, other, &outcome, &f->err));
    add(f, one, 60, 5);
    OK(storage_flush(f->storage, &f->err));
    assert_true(noted("has space again"));
    assert_int_equal(stored(f, one), 65);
    assert_int_equal(stored(f, two), 50);
    fixture_reopen(f);
    assert_int_equal(stored(f, one), 65);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
}

/* Whoever sees that a run has ended finds all of its points. */
static void the_end_of_a_run_is_recorded_after_its_waiting_points(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    set_full(true);
    add(f, id, 0, 300);
    REFUSED(STATUS_FULL, storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err));
    assert_int_equal(job_of(f, id).state, JOB_RUNNING);
    set_full(false);
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err));
    assert_int_equal(stored(f, id), 300);
    assert_int_equal(job_of(f, id).state, JOB_SUCCEEDED);
}

/* Without a flush, the points are retried after a second. */
static void waiting_points_are_stored_without_a_flush(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    set_full(true);
    add(f, id, 0, 300);
    REFUSED(STATUS_FULL, storage_flush(f->storage, &f->err));
    /* These points must be stored after the waiting ones, even if the disk has space again before the writing thread
     * receives them. */
    add(f, id, 300, 100);
    set_full(false);
    await_integer(f, "SELECT coalesce(sum(length(points)), 0) / 16 FROM block", 400);
    assert_int_equal(stored(f, id), 400);
}

static void points_beyond_the_limit_are_lost(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    int first = 0;
    submit_running(f, id);
    set_full(true);
    for (; !noted("lost, because") && first < 400000; first += 4096) {
        add(f, id, first, 4096);
        REFUSED(STATUS_FULL, storage_flush(f->storage, &f->err));
    }
    assert_true(first < 400000);
    set_full(false);
    OK(storage_flush(f->storage, &f->err));
    int kept = stored(f, id);
    /* the oldest points are stored without a gap, and the newest ones are lost */
    assert_true(kept >= 90000 && kept < first);
    assert_int_equal(kept % 4096, 0);
    add(f, id, kept, 7);
    OK(storage_flush(f->storage, &f->err));
    assert_int_equal(stored(f, id), kept + 7);
}

/* Closing the store tries once more to store the waiting points, and drops them if that fails too. */
static void closing_retries_waiting_points_once(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    for (int room = 0; room < 2; room++) {
        set_full(true);
        add(f, id, 0, 20);
        REFUSED(STATUS_FULL, storage_flush(f->storage, &f->err));
        set_full(!room);
        fixture_close(f);
        set_full(false);
        assert_true(noted("waiting points of metrics are lost"));
        fixture_open(f);
        assert_int_equal(stored(f, id), room ? 20 : 0);
    }
}

/* A process that starts while the disk is full reads at once, and cleans up after the last process when it has space.
 */
static void a_store_opens_while_the_disk_is_full(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], other[STORAGE_ID];
    enum storage_submit_outcome outcome;
    const struct storage_submit in = {.kind = "sparling", .config = "{}"};
    submit_running(f, id);
    fixture_close(f);
    set_full(true);
    fixture_open(f);
    assert_int_equal(job_of(f, id).state, JOB_RUNNING);
    REFUSED(STATUS_FULL, storage_job_submit(f->storage, &in, other, &outcome, &f->err));
    REFUSED(STATUS_FULL, storage_job_claim(f->storage, other, &f->err));
    set_full(false);
    OK(storage_job_submit(f->storage, &in, other, &outcome, &f->err));
    assert_int_equal(job_of(f, id).state, JOB_QUEUED);
    assert_true(noted("returned to the queue"));
}

#define TEST_FULL(name) cmocka_unit_test_setup_teardown(name, setup_full, teardown_full)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_FULL(points_wait_for_disk_space_in_order),
                                       TEST_FULL(the_end_of_a_run_is_recorded_after_its_waiting_points),
                                       TEST_FULL(waiting_points_are_stored_without_a_flush),
                                       TEST_FULL(points_beyond_the_limit_are_lost),
                                       TEST_FULL(closing_retries_waiting_points_once),
                                       TEST_FULL(a_store_opens_while_the_disk_is_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
