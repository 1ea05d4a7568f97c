/* Tests the scheduler and the executor on a real store, with a method whose result shows every lost or repeated step.
 * The thread sanitizer must report nothing. */
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/arena.h"
#include "server/executors/executor.h"
#include "server/scheduler.h"
#include "storage/storage.h"
#include "tests/unit/api/fake_method.h"

#define PATIENCE_MS 60000 /* upper limit of every wait for an event */

struct bench { /* Each test has a store and an executor; some also start a scheduler. */
    char path[64];
    struct storage *storage;
    struct executor executor;
    struct scheduler *scheduler;
};

static void open_store(struct bench *bench)
{
    struct error err = {0};
    struct storage_options options = {.path = bench->path, .durability = STORAGE_DURABLE_NOT};
    assert_int_equal(storage_open(&options, &bench->storage, &err), STATUS_OK);
    struct executor_options executor = {
        .storage = bench->storage,
        .methods = fake_methods,
        .method_count = 1,
        .threads_default = 2,
        .threads_max = 3,
        .build = "test",
        .cpu = "a processor",
        .blas_core = "none",
    };
    executor_init(&bench->executor, &executor);
}

static int setup(void **state)
{
    static int number;
    struct bench *bench = calloc(1, sizeof *bench);
    (void)snprintf(bench->path, sizeof bench->path, "/tmp/motifd_scheduler_%d_%d.db", (int)getpid(), number++);
    open_store(bench);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    char path[80];
    scheduler_stop(bench->scheduler);
    storage_close(bench->storage);
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", bench->path, ends[i]);
        (void)unlink(path);
    }
    free(bench);
    return 0;
}

static void start(struct bench *bench, int workers)
{
    struct scheduler_options options = {
        .storage = bench->storage, .workers = workers, .run = executor_run, .context = &bench->executor};
    assert_int_equal(scheduler_start(&options, &bench->scheduler, NULL), STATUS_OK);
}

static void submit(struct bench *bench, const char *config, int priority, char id[STORAGE_ID])
{
    enum storage_submit_outcome outcome;
    struct error err = {0};
    struct storage_submit what = {.kind = "fake", .config = config, .priority = priority};
    assert_int_equal(storage_job_submit(bench->storage, &what, id, &outcome, &err), STATUS_OK);
    if (bench->scheduler != NULL)
        scheduler_wake(bench->scheduler);
}

static void sleep_ms(int ms)
{
    (void)usleep((useconds_t)ms * 1000);
}

static enum job_state state_of(struct bench *bench, const char *id)
{
    struct arena arena;
    struct storage_job job;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(bench->storage, id, &arena, &job, NULL), STATUS_OK);
    arena_close(&arena);
    return job.state;
}

static void await(struct bench *bench, const char *id, enum job_state wanted)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += 2) {
        if (state_of(bench, id) == wanted)
            return;
        sleep_ms(2);
    }
    fail_msg("job is %s and not %s", job_state_name(state_of(bench, id)), job_state_name(wanted));
}

static void await_busy(struct bench *bench, int wanted)
{
    for (int waited = 0; scheduler_busy(bench->scheduler) != wanted; waited += 2) {
        if (waited > PATIENCE_MS)
            fail_msg("%d workers are busy and not %d", scheduler_busy(bench->scheduler), wanted);
        sleep_ms(2);
    }
}

/* Lets the runs make `count` more steps in total, and waits until they have made them. After that the runs wait. */
static void make_steps(struct bench *bench, int count)
{
    uint64_t wanted = bench->executor.steps + (uint64_t)count;
    atomic_store(&fake_allowed, count);
    for (int waited = 0; bench->executor.steps < wanted; waited += 2) {
        if (waited > PATIENCE_MS)
            fail_msg("the steps are not made");
        sleep_ms(2);
    }
}

static void hold_steps(void)
{
    atomic_store(&fake_allowed, 0);
}

static void release_steps(void)
{
    atomic_store(&fake_allowed, -1);
}

/* Copies the result document of the job, or its error document. */
static void document(struct bench *bench, const char *id, char *out, size_t out_bytes)
{
    struct arena arena;
    struct storage_job job;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(bench->storage, id, &arena, &job, NULL), STATUS_OK);
    const char *text = job.result != NULL ? job.result : job.error;
    (void)snprintf(out, out_bytes, "%s", text != NULL ? text : "");
    arena_close(&arena);
}

static void hash_of(struct bench *bench, const char *id, char hash[17])
{
    char text[2048];
    document(bench, id, text, sizeof text);
    const char *at = strstr(text, "\"hash\":\"");
    assert_non_null(at);
    memcpy(hash, at + 8, 16);
    hash[16] = '\0';
}

/* Asserts that the series has every step once, without a gap. */
static void assert_series(struct bench *bench, const char *id, size_t steps)
{
    struct arena arena;
    struct storage_series *series = NULL;
    size_t count = 0;
    struct storage_metric_query query = {.since = INT64_MIN};
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_flush(bench->storage, NULL), STATUS_OK);
    assert_int_equal(storage_metric_read(bench->storage, id, &query, &arena, &series, &count, NULL), STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(series[0].count, steps);
    for (size_t i = 0; i < steps; i++)
        assert_int_equal(series[0].points[i].step, (int64_t)(i + 1) * 10);
    arena_close(&arena);
}

/* ---- the scheduler alone ------------------------------------------------------------------------------ */

struct order {
    struct storage *storage;
    char ids[8][STORAGE_ID];
    int together; /* each run waits until this number of runs is active at the same time */
    atomic_int count, inside, most, nice;
};

static void note_run(void *context, const char *job, struct job_control *control)
{
    struct order *order = context;
    int inside = atomic_fetch_add(&order->inside, 1) + 1;
    for (int most = order->most; inside > most && !atomic_compare_exchange_weak(&order->most, &most, inside);) {
    }
    memcpy(order->ids[atomic_fetch_add(&order->count, 1)], job, STORAGE_ID);
    for (int waited = 0; order->most < order->together && waited < PATIENCE_MS; waited += 2)
        sleep_ms(2);
    atomic_fetch_sub(&order->inside, 1);
    assert_int_equal(storage_job_leave(order->storage, job, JOB_EVENT_SUCCEED, "{}", NULL, NULL, NULL), STATUS_OK);
}

static void higher_priorities_run_first(void **state)
{
    struct bench *bench = *state;
    struct order order = {.storage = bench->storage};
    char low[STORAGE_ID], first[STORAGE_ID], second[STORAGE_ID], high[STORAGE_ID];
    submit(bench, "{}", -5, low);
    submit(bench, "{}", 0, first);
    submit(bench, "{}", 0, second);
    submit(bench, "{}", 9, high);
    struct scheduler_options options = {.storage = bench->storage, .workers = 1, .run = note_run, .context = &order};
    assert_int_equal(scheduler_start(&options, &bench->scheduler, NULL), STATUS_OK);
    await(bench, low, JOB_SUCCEEDED);
    assert_string_equal(order.ids[0], high);
    assert_string_equal(order.ids[1], first);
    assert_string_equal(order.ids[2], second);
    assert_string_equal(order.ids[3], low);
    assert_int_equal(order.most, 1);
    scheduler_stop(bench->scheduler);
    bench->scheduler = NULL;
}

static void workers_run_jobs_at_the_same_time(void **state)
{
    struct bench *bench = *state;
    struct order order = {.storage = bench->storage, .together = 3};
    char ids[6][STORAGE_ID];
    struct scheduler_options options = {.storage = bench->storage, .workers = 3, .run = note_run, .context = &order};
    assert_int_equal(scheduler_start(&options, &bench->scheduler, NULL), STATUS_OK);
    for (int i = 0; i < 6; i++)
        submit(bench, "{}", 0, ids[i]);
    for (int i = 0; i < 6; i++)
        await(bench, ids[i], JOB_SUCCEEDED);
    assert_int_equal(order.count, 6);
    assert_int_equal(order.most, 3);
    scheduler_stop(bench->scheduler);
    bench->scheduler = NULL;
}

/* Runs that go on until the test releases them. The variable is static, because the runs may outlive a test that fails.
 */
static struct held {
    struct storage *storage;
    atomic_bool released;
} held;

static int release(void **state)
{
    held.released = true;
    return teardown(state);
}

static void hold_run(void *context, const char *job, struct job_control *control)
{
    while (!held.released)
        sleep_ms(1);
    assert_int_equal(storage_job_leave(held.storage, job, JOB_EVENT_SUCCEED, "{}", NULL, NULL, NULL), STATUS_OK);
}

/* With one worker for trainings, an evaluation starts at once, and a second training waits. */
static void evaluations_do_not_wait_for_trainings(void **state)
{
    struct bench *bench = *state;
    char training[STORAGE_ID], waiting[STORAGE_ID], evaluation[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit evaluate = {.kind = "fake", .config = "{}", .task = JOB_EVALUATE, .params = "{}"};
    struct scheduler_options options = {.storage = bench->storage, .workers = 1, .evaluators = 1, .run = hold_run};
    held.storage = bench->storage;
    held.released = false;
    submit(bench, "{}", 0, training);
    assert_int_equal(scheduler_start(&options, &bench->scheduler, NULL), STATUS_OK);
    await(bench, training, JOB_RUNNING);
    submit(bench, "{}", 0, waiting);
    assert_int_equal(storage_job_submit(bench->storage, &evaluate, evaluation, &outcome, NULL), STATUS_OK);
    scheduler_wake(bench->scheduler);
    await(bench, evaluation, JOB_RUNNING);
    assert_int_equal(state_of(bench, waiting), JOB_QUEUED);
    /* the store shows the job as running shortly before the scheduler counts its worker as busy */
    await_busy(bench, 1);
    held.released = true;
    await(bench, evaluation, JOB_SUCCEEDED);
    await(bench, waiting, JOB_SUCCEEDED);
    scheduler_stop(bench->scheduler);
    bench->scheduler = NULL;
}

static void note_nice(void *context, const char *job, struct job_control *control)
{
    struct order *order = context;
    order->nice = getpriority(PRIO_PROCESS, 0);
    note_run(context, job, control);
}

static void workers_have_the_requested_nice_value(void **state)
{
    struct bench *bench = *state;
    struct order order = {.storage = bench->storage};
    char id[STORAGE_ID];
    int before = getpriority(PRIO_PROCESS, 0);
    struct scheduler_options options = {
        .storage = bench->storage, .workers = 1, .nice = 3, .run = note_nice, .context = &order};
    submit(bench, "{}", 0, id);
    assert_int_equal(scheduler_start(&options, &bench->scheduler, NULL), STATUS_OK);
    await(bench, id, JOB_SUCCEEDED);
    assert_int_equal(order.nice, before + 3 < 19 ? before + 3 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
    scheduler_stop(bench->scheduler);
    bench->scheduler = NULL;
}

/* ---- the executor -------------------------------------------------------------------------------------- */

static void a_result_has_every_member(void **state)
{
    struct bench *bench = *state;
    char id[STORAGE_ID], text[2048];
    start(bench, 1);
    submit(bench, "{\"seed\":7,\"steps\":12}", 0, id);
    await(bench, id, JOB_SUCCEEDED);
    document(bench, id, text, sizeof text);
    static const char *const members[] = {"\"hash\":",
                                          "\"seed\":7",
                                          "\"samples\":120",
                                          "\"seconds\":",
                                          "\"threads\":2",
                                          "\"build\":\"test\"",
                                          "\"cpu\":\"a processor\"",
                                          "\"blas_core\":\"none\"",
                                          "\"weights_sha256\":\""};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_non_null(strstr(text, members[i]));
    assert_series(bench, id, 12);
    assert_int_equal(bench->executor.jobs_succeeded, 1);
    assert_int_equal(bench->executor.steps, 13); /* 12 steps of training, and a last one that only reports the end */
    assert_int_equal(bench->executor.samples, 120);
}

static void checkpoints_are_stored_at_their_steps(void **state)
{
    struct bench *bench = *state;
    struct storage_checkpoint *list = NULL;
    struct arena arena;
    char id[STORAGE_ID];
    size_t count = 0;
    start(bench, 1);
    submit(bench, "{\"steps\":20,\"stage_every\":8,\"checkpoint_every\":6}", 0, id);
    await(bench, id, JOB_SUCCEEDED);
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_checkpoint_list(bench->storage, id, &arena, &list, &count, NULL), STATUS_OK);
    int64_t stages = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].stage_end, list[i].step == 8 || list[i].step == 16);
        stages += list[i].stage_end;
    }
    assert_int_equal(stages, 2);
    assert_int_equal(list[count - 1].step, 20);
    arena_close(&arena);
}

static void uninterrupted(struct bench *bench, const char *config, char hash[17])
{
    char id[STORAGE_ID];
    submit(bench, config, 0, id);
    await(bench, id, JOB_SUCCEEDED);
    hash_of(bench, id, hash);
}

static void a_resumed_job_loses_and_repeats_no_step(void **state)
{
    struct bench *bench = *state;
    char id[STORAGE_ID], once[17], again[17];
    enum job_state now;
    start(bench, 1);
    uninterrupted(bench, "{\"steps\":60,\"checkpoint_every\":7}", once);
    hold_steps();
    submit(bench, "{\"steps\":60,\"checkpoint_every\":7}", 0, id);
    for (int round = 0; round < 3; round++) {
        await(bench, id, JOB_RUNNING);
        make_steps(bench, 11);
        assert_int_equal(storage_job_request(bench->storage, id, JOB_EVENT_PAUSE, &now, NULL, NULL), STATUS_OK);
        scheduler_poke(bench->scheduler, id);
        release_steps();
        await(bench, id, JOB_PAUSED);
        hold_steps();
        assert_int_equal(storage_job_request(bench->storage, id, JOB_EVENT_RESUME, &now, NULL, NULL), STATUS_OK);
        assert_int_equal(now, JOB_QUEUED);
        scheduler_wake(bench->scheduler);
    }
    release_steps();
    await(bench, id, JOB_SUCCEEDED);
    hash_of(bench, id, again);
    assert_string_equal(once, again);
    assert_series(bench, id, 60);
}

/* Another program changes the bytes of the checkpoint of a paused job. The job must not go on with them. */
static void a_damaged_checkpoint_fails_the_job(void **state)
{
    struct bench *bench = *state;
    enum job_state now;
    char id[STORAGE_ID], text[2048];
    sqlite3 *db;
    start(bench, 1);
    hold_steps();
    submit(bench, "{\"steps\":50}", 0, id);
    await(bench, id, JOB_RUNNING);
    make_steps(bench, 5);
    assert_int_equal(storage_job_request(bench->storage, id, JOB_EVENT_PAUSE, &now, NULL, NULL), STATUS_OK);
    scheduler_poke(bench->scheduler, id);
    release_steps();
    await(bench, id, JOB_PAUSED);
    assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000); /* the store may be writing */
    assert_int_equal(sqlite3_exec(db, "UPDATE chunk SET data = zeroblob(length(data))", NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    sqlite3_close(db);
    assert_int_equal(storage_job_request(bench->storage, id, JOB_EVENT_RESUME, &now, NULL, NULL), STATUS_OK);
    scheduler_wake(bench->scheduler);
    await(bench, id, JOB_FAILED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "SHA-256"));
}

static void a_cancelled_job_keeps_its_model(void **state)
{
    struct bench *bench = *state;
    char id[STORAGE_ID];
    struct storage_checkpoint latest;
    enum job_state now;
    start(bench, 1);
    hold_steps();
    submit(bench, "{\"steps\":100000,\"checkpoint_every\":100000}", 0, id);
    await(bench, id, JOB_RUNNING);
    make_steps(bench, 5);
    assert_int_equal(storage_job_request(bench->storage, id, JOB_EVENT_CANCEL, &now, NULL, NULL), STATUS_OK);
    scheduler_poke(bench->scheduler, id);
    release_steps();
    await(bench, id, JOB_CANCELLED);
    /* The model of a cancelled job can still be queried. */
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    assert_int_equal(storage_checkpoint_find(bench->storage, id, pick, &latest, NULL), STATUS_OK);
    assert_true(latest.step == 5 || latest.step == 6); /* the cancellation may arrive before or after the sixth step */
}

static void a_drained_job_continues_after_a_restart(void **state)
{
    struct bench *bench = *state;
    char ids[2][STORAGE_ID], once[17], again[17];
    start(bench, 2);
    uninterrupted(bench, "{\"steps\":50,\"checkpoint_every\":9}", once);
    hold_steps();
    for (int i = 0; i < 2; i++)
        submit(bench, "{\"steps\":50,\"checkpoint_every\":9}", 0, ids[i]);
    for (int round = 0; round < 3; round++) {
        await(bench, ids[0], JOB_RUNNING);
        await(bench, ids[1], JOB_RUNNING);
        make_steps(bench, 10);
        scheduler_drain(bench->scheduler);
        release_steps();
        assert_true(scheduler_drained(bench->scheduler, PATIENCE_MS));
        assert_int_equal(scheduler_busy(bench->scheduler), 0);
        assert_int_equal(state_of(bench, ids[0]), JOB_QUEUED);
        assert_int_equal(state_of(bench, ids[1]), JOB_QUEUED);
        scheduler_stop(bench->scheduler);
        bench->scheduler = NULL;
        storage_close(bench->storage);
        open_store(bench);
        hold_steps();
        start(bench, 2);
    }
    release_steps();
    for (int i = 0; i < 2; i++) {
        await(bench, ids[i], JOB_SUCCEEDED);
        hash_of(bench, ids[i], again);
        assert_string_equal(once, again);
        assert_series(bench, ids[i], 50);
    }
}

static void failures_have_an_error_document(void **state)
{
    struct bench *bench = *state;
    char id[STORAGE_ID], text[2048];
    start(bench, 1);
    submit(bench, "{\"fail_at\":8,\"checkpoint_every\":5,\"numeric\":true}", 0, id);
    await(bench, id, JOB_FAILED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "\"code\":\"not-finite\""));
    assert_non_null(strstr(text, "\"detail\":\"step 8 does not work\""));
    assert_non_null(strstr(text, "\"step\":7"));
    assert_non_null(strstr(text, "\"checkpoint\":1"));
    submit(bench, "{\"steps\":-1}", 0, id);
    await(bench, id, JOB_FAILED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "\"code\":\"invalid\""));
    assert_non_null(strstr(text, "\"pointer\":\"/config/steps\""));
    enum storage_submit_outcome outcome;
    struct storage_submit unknown = {.kind = "gone", .config = "{}"};
    assert_int_equal(storage_job_submit(bench->storage, &unknown, id, &outcome, NULL), STATUS_OK);
    scheduler_wake(bench->scheduler);
    await(bench, id, JOB_FAILED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "\"code\":\"not-found\""));
    assert_int_equal(bench->executor.jobs_failed, 3);
}

/* With --job-memory 10000000, a run may allocate 15 MB + 64 MiB. Each step of this run keeps 16 MiB. */
static void a_job_that_reaches_its_memory_limit_fails_with_that_reason(void **state)
{
    struct bench *bench = *state;
    char id[STORAGE_ID], text[2048];
    bench->executor.options.job_memory = 10000000;
    start(bench, 1);
    submit(bench, "{\"steps\":50,\"grow\":16}", 0, id);
    await(bench, id, JOB_FAILED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "\"code\":\"out-of-memory\""));
    assert_non_null(strstr(text, "reached the limit of its memory, 82.1 MB"));
    assert_non_null(strstr(text, "--job-memory"));
    assert_non_null(strstr(text, "\"step\":4")); /* the fifth step would have kept 80 MiB */
    /* succeeds: 50 MiB are within the limit, and the failed job has freed its memory */
    submit(bench, "{\"steps\":50,\"grow\":1}", 0, id);
    await(bench, id, JOB_SUCCEEDED);
}

static void evaluations_and_warm_starts_use_the_source_model(void **state)
{
    struct bench *bench = *state;
    enum storage_submit_outcome outcome;
    struct storage_checkpoint latest;
    char trained[STORAGE_ID], id[STORAGE_ID], first[17], text[2048];
    start(bench, 1);
    submit(bench, "{\"steps\":10}", 0, trained);
    await(bench, trained, JOB_SUCCEEDED);
    hash_of(bench, trained, first);
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    assert_int_equal(storage_checkpoint_find(bench->storage, trained, pick, &latest, NULL), STATUS_OK);
    struct storage_submit evaluate = {
        .kind = "fake",
        .config = "{\"steps\":10}",
        .task = JOB_EVALUATE,
        .params = "{\"samples\":3,\"seed\":-2}",
        .source_job = trained,
        .source_checkpoint = latest.seq,
    };
    assert_int_equal(storage_job_submit(bench->storage, &evaluate, id, &outcome, NULL), STATUS_OK);
    scheduler_wake(bench->scheduler);
    await(bench, id, JOB_SUCCEEDED);
    document(bench, id, text, sizeof text);
    /* the evaluation used the weights of the training, so its result contains the same text */
    assert_non_null(strstr(text, first));
    struct storage_submit warm = {
        .kind = "fake", .config = "{\"steps\":2}", .source_job = trained, .source_checkpoint = latest.seq};
    assert_int_equal(storage_job_submit(bench->storage, &warm, id, &outcome, NULL), STATUS_OK);
    scheduler_wake(bench->scheduler);
    await(bench, id, JOB_SUCCEEDED);
    document(bench, id, text, sizeof text);
    assert_non_null(strstr(text, "\"warm\":1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(higher_priorities_run_first),
        TEST(workers_run_jobs_at_the_same_time),
        cmocka_unit_test_setup_teardown(evaluations_do_not_wait_for_trainings, setup, release),
        TEST(workers_have_the_requested_nice_value),
        TEST(a_result_has_every_member),
        TEST(checkpoints_are_stored_at_their_steps),
        TEST(a_resumed_job_loses_and_repeats_no_step),
        TEST(a_damaged_checkpoint_fails_the_job),
        TEST(a_cancelled_job_keeps_its_model),
        TEST(a_drained_job_continues_after_a_restart),
        TEST(failures_have_an_error_document),
        TEST(a_job_that_reaches_its_memory_limit_fails_with_that_reason),
        TEST(evaluations_and_warm_starts_use_the_source_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
