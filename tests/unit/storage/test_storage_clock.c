/* Tests a store whose system clock is changed while the store is open, and between two starts. */
#include "tests/unit/storage/storage_fixture.h"

#include "tests/support/clock.h"

enum { HOUR = 3600 * 1000 };
#define DAY ((int64_t)24 * HOUR)

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Runs a job to its end, with a checkpoint and points. */
static void whole_job(struct fixture *f, char id[STORAGE_ID])
{
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    struct storage_metric metric = {.name = "loss", .point = {1, 1}};
    int64_t seq;
    submit_running(f, id);
    OK(storage_metric_append(f->storage, id, &metric, 1, &f->err));
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, "bytes", 5, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    OK(storage_artifact_put(f->storage, id, "a.png", "image/png", "x", 1, &f->err));
    finish(f, id);
}

/* Asserts that the times of events increase with their ids. Returns the newest time. */
static int64_t assert_in_order(struct fixture *f)
{
    struct storage_event *events;
    size_t count;
    OK(storage_flush(f->storage, &f->err));
    OK(storage_event_read(f->storage, NULL, NULL, 0, 1000, &f->arena, &events, &count, &f->err));
    assert_true(count > 0);
    for (size_t i = 1; i < count; i++)
        assert_true(events[i].id > events[i - 1].id && events[i].time >= events[i - 1].time);
    return events[count - 1].time;
}

static void clock_set_back_keeps_event_order(void **state)
{
    struct fixture *f = *state;
    char first[STORAGE_ID], second[STORAGE_ID], third[STORAGE_ID], open[STORAGE_ID];
    whole_job(f, first);
    submit_running(f, open);
    struct storage_job before = job_of(f, open);
    clock_jump_to(-HOUR);
    finish(f, open);
    struct storage_job after = job_of(f, open);
    assert_true(after.finished_at >= after.started_at && after.started_at == before.started_at);
    whole_job(f, second);
    assert_true(strcmp(second, first) > 0 && strcmp(second, open) > 0); /* ids are in order of creation */
    assert_true(job_of(f, second).created_at >= after.finished_at);
    assert_true(assert_in_order(f) > now_ms() + HOUR / 2);
    fixture_reopen(f); /* a new process must continue after the last stored time */
    whole_job(f, third);
    assert_true(strcmp(third, second) > 0);
    (void)assert_in_order(f);
    clock_jump_to(HOUR);
    whole_job(f, third);
    int64_t newest = assert_in_order(f);
    /* the clock has overtaken the stored times, so that new times follow it again */
    assert_true(newest <= now_ms() && newest > now_ms() - 60 * 1000);
}

/* The clock was years ahead for a while. Later times must follow the corrected clock. */
static void clock_far_ahead_has_no_lasting_effect(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    clock_jump_to(400 * DAY);
    whole_job(f, id);
    clock_jump_to(0);
    whole_job(f, id);
    struct storage_job job = job_of(f, id);
    assert_true(job.created_at <= now_ms() && job.finished_at >= job.created_at);
    fixture_reopen(f);
    whole_job(f, id);
    assert_true(job_of(f, id).created_at <= now_ms());
}

/* The writing thread measures its waiting time with the monotonic clock. */
static void lazy_writes_ignore_the_system_clock(void **state)
{
    struct fixture *f = *state;
    static const int64_t jumps[] = {-400 * DAY, 400 * DAY, -HOUR, HOUR};
    char id[STORAGE_ID], text[32], sql[100];
    submit_running(f, id);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(text, sizeof text, "{\"step\":%d}", i);
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE progress = '%s'", text);
        OK(storage_job_progress(f->storage, id, text, &f->err));
        clock_jump_to(jumps[i]);
        await_integer(f, sql, 1); /* without a flush, the write must still happen */
    }
}

/* A token expires at a date, so its expiry follows the system clock. A request that is repeated with the same key
 * within the key's lifetime returns the same job, however the clock changes. */
static void tokens_expire_by_the_system_clock(void **state)
{
    struct fixture *f = *state;
    struct storage_token token = {.hash = {5}, .name = "anna", .scope = 2, .expires_at = now_ms() + HOUR}, found;
    struct storage_submit in = {.kind = "sparling", .config = "{}", .key = "once"};
    char id[STORAGE_ID], again[STORAGE_ID];
    enum storage_submit_outcome outcome;
    OK(storage_token_add(f->storage, &token, &f->err));
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    static const int64_t jumps[] = {-2 * HOUR, -30 * DAY, 2 * HOUR, 6 * DAY};
    for (int i = 0; i < 4; i++) {
        clock_jump_to(jumps[i]);
        OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
        assert_int_equal(outcome, STORAGE_REPLAYED);
        assert_string_equal(again, id);
        error_clear(&f->err);
        OK(storage_token_find(f->storage, token.hash, &found, &f->err));
        assert_int_equal(found.expired, jumps[i] > HOUR);
    }
}

static int teardown_clock(void **state)
{
    clock_jump_to(0);
    return teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_open, teardown_clock)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clock_set_back_keeps_event_order), TEST(clock_far_ahead_has_no_lasting_effect),
        TEST(lazy_writes_ignore_the_system_clock), TEST(tokens_expire_by_the_system_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
