/* Tests one store that many threads use. The test also runs under the thread sanitizer. */
#include "tests/unit/storage/storage_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

struct shared {
    struct fixture *f;
    atomic_bool stop;
    atomic_int submitted, finished, removed, faults, reads;
};

/* Counts a failure on any thread, because cmocka's assertions only work on the main thread. */
static void expect_at(struct shared *s, bool ok, int line)
{
    if (!ok && atomic_fetch_add(&s->faults, 1) == 0)
        (void)fprintf(stderr, "first at line %d\n", line);
}
#define expect(s, ok) expect_at(s, ok, __LINE__)

static void *submitter(void *argument)
{
    struct shared *s = argument;
    for (int i = 0; i < 15; i++) {
        struct storage_submit in = {.kind = "sparling", .config = "{}", .priority = i % 3};
        enum storage_submit_outcome outcome;
        char id[STORAGE_ID];
        struct storage_job job;
        struct arena arena;
        arena_init(&arena, 4096, 0);
        expect(s, storage_job_submit(s->f->storage, &in, id, &outcome, NULL) == STATUS_OK);
        /* a job that was acknowledged can be read at once */
        expect(s, storage_job_get(s->f->storage, id, &arena, &job, NULL) == STATUS_OK);
        atomic_fetch_add(&s->submitted, 1);
        if (i % 7 == 3)
            (void)storage_job_request(s->f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, NULL);
        arena_close(&arena);
    }
    return NULL;
}

static void run_job(struct shared *s, const char *id)
{
    static const unsigned char bytes[200000];
    for (int64_t step = 0; step < 20; step++) {
        struct storage_metric metrics[2] = {{.name = "loss", .point = {step, 1.0}},
                                            {.name = "accuracy", .point = {step, 0.5}}};
        expect(s, storage_metric_append(s->f->storage, id, metrics, 2, NULL) == STATUS_OK);
        expect(s, storage_job_progress(s->f->storage, id, "{\"step\":1}", NULL) == STATUS_OK);
        expect(s, storage_event_append(s->f->storage, id, "progress", "{}", NULL) == STATUS_OK);
    }
    struct storage_checkpoint_new what = {.step = 20, .samples = 20, .density = 1, .accuracy = 1};
    struct storage_checkpoint_writer *writer;
    int64_t seq;
    expect(s, storage_checkpoint_begin(s->f->storage, id, &what, &writer, NULL) == STATUS_OK);
    for (int i = 0; i < 12; i++)
        expect(s, storage_checkpoint_write(writer, bytes, sizeof bytes, NULL) == STATUS_OK);
    expect(s, storage_checkpoint_commit(writer, &seq, NULL) == STATUS_OK);
    enum job_state now;
    expect(s, storage_job_leave(s->f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, &now, NULL) == STATUS_OK);
    expect(s, now == JOB_SUCCEEDED);
}

static void *executor(void *argument)
{
    struct shared *s = argument;
    while (!atomic_load(&s->stop)) {
        char id[STORAGE_ID];
        enum status status = storage_job_claim(s->f->storage, id, NULL);
        if (status == STATUS_NOT_FOUND) {
            sleep_ms(1);
            continue;
        }
        expect(s, status == STATUS_OK);
        run_job(s, id);
        /* delete jobs only after the submitting threads have ended, because they read their jobs until then */
        if (atomic_fetch_add(&s->finished, 1) % 4 == 0 && atomic_load(&s->submitted) == 45) {
            expect(s, storage_job_delete(s->f->storage, id, NULL) == STATUS_OK);
            atomic_fetch_add(&s->removed, 1);
        }
    }
    return NULL;
}

/* At any time, a reader must see each series without gaps, and each checkpoint complete. */
static void *reader(void *argument)
{
    struct shared *s = argument;
    struct arena arena;
    arena_init(&arena, 65536, 0);
    while (!atomic_load(&s->stop)) {
        struct storage_job *jobs;
        size_t count, series_count;
        bool more;
        struct storage_job_filter filter = {
            .limit = 5, .by_state = atomic_load(&s->reads) % 2 == 0, .state = JOB_SUCCEEDED};
        struct storage_stats stats;
        expect(s, storage_job_list(s->f->storage, &filter, &arena, &jobs, &count, &more, NULL) == STATUS_OK);
        expect(s, storage_stats_read(s->f->storage, &stats, NULL) == STATUS_OK);
        expect(s, storage_writable(s->f->storage, NULL) == STATUS_OK);
        for (size_t i = 0; i < count; i++) {
            struct storage_metric_query query = {.since = INT64_MIN};
            struct storage_series *series;
            enum status status =
                storage_metric_read(s->f->storage, jobs[i].id, &query, &arena, &series, &series_count, NULL);
            expect(s, status == STATUS_OK || status == STATUS_NOT_FOUND);
            for (size_t k = 0; k < series_count; k++)
                for (size_t p = 0; p < series[k].count; p++)
                    expect(s, series[k].points[p].step == (int64_t)p);
            struct storage_checkpoint_reader *checkpoint;
            struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
            status = storage_checkpoint_open(s->f->storage, jobs[i].id, pick, &checkpoint, NULL, NULL);
            if (status == STATUS_OK)
                expect(s, storage_checkpoint_verify(checkpoint, NULL) == STATUS_OK);
            else
                expect(s, status == STATUS_NOT_FOUND);
            storage_checkpoint_close(checkpoint);
        }
        atomic_fetch_add(&s->reads, 1);
        arena_reset(&arena);
    }
    arena_close(&arena);
    return NULL;
}

static void concurrent_calls_stay_consistent(void **state)
{
    struct fixture *f = *state;
    struct shared s = {.f = f};
    pthread_t submitters[3], executors[3], readers[6]; /* more readers than connections */
    for (int i = 0; i < 3; i++)
        pthread_create(&submitters[i], NULL, submitter, &s);
    for (int i = 0; i < 3; i++)
        pthread_create(&executors[i], NULL, executor, &s);
    for (int i = 0; i < 6; i++)
        pthread_create(&readers[i], NULL, reader, &s);
    for (int i = 0; i < 3; i++)
        pthread_join(submitters[i], NULL);
    struct storage_stats stats;
    do {
        sleep_ms(20);
        OK(storage_stats_read(f->storage, &stats, &f->err));
    } while (stats.jobs[JOB_QUEUED] + stats.jobs[JOB_RUNNING] > 0);
    atomic_store(&s.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(executors[i], NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(atomic_load(&s.faults), 0);
    assert_int_equal(atomic_load(&s.submitted), 45);
    assert_true(atomic_load(&s.reads) > 10);
    fixture_reopen(f);
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    int removed = atomic_load(&s.removed);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 45 - removed);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job WHERE state = 'succeeded'"),
                     atomic_load(&s.finished) - removed);
}

/* Claims jobs until none is queued. The test then asserts that no job was claimed twice. */
static void *claimer(void *argument)
{
    struct shared *s = argument;
    char id[STORAGE_ID];
    while (storage_job_claim(s->f->storage, id, NULL) == STATUS_OK)
        atomic_fetch_add(&s->finished, 1);
    return NULL;
}

static void no_job_is_claimed_twice(void **state)
{
    struct fixture *f = *state;
    struct shared s = {.f = f};
    char id[STORAGE_ID];
    pthread_t threads[4];
    for (int i = 0; i < 60; i++)
        submit(f, "sparling", 0, id);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, claimer, &s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&s.finished), 60);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event WHERE data = 'running'"), 60);
}

/* Submits jobs. Each submission waits for its commit. */
static void *pinger(void *argument)
{
    struct shared *s = argument;
    struct storage_submit in = {.kind = "sparling", .config = "{}"};
    enum storage_submit_outcome outcome;
    char id[STORAGE_ID];
    for (int i = 0; i < 30; i++)
        expect(s, storage_job_submit(s->f->storage, &in, id, &outcome, NULL) == STATUS_OK);
    return NULL;
}

static void waiting_commands_share_a_commit(void **state)
{
    struct fixture *f = *state;
    struct shared s = {.f = f};
    pthread_t threads[16];
    struct storage_stats stats;
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, pinger, &s);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_int_equal(atomic_load(&s.faults), 0);
    assert_int_equal(stats.commands, 480);
    assert_true(stats.commits < 480 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(concurrent_calls_stay_consistent),
        TEST_OPEN(no_job_is_claimed_twice),
        TEST_OPEN(waiting_commands_share_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
