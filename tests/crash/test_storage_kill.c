/* The test starts a process that writes to a store from several threads, and kills it at random moments. The process
 * reports each acknowledged change through a pipe. After each kill, the database file must be sound, contain all
 * reported changes, and contain no incomplete checkpoint. */
#include "tests/unit/storage/storage_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define ROUNDS 12
#define WORKERS 3

struct report { /* one report; smaller than PIPE_BUF, so the pipe writes it atomically */
    char what;  /* 'j': submitted, 'c': checkpoint, 'd': deleted, 's': succeeded */
    char id[STORAGE_ID];
    int64_t number; /* 'c': number of the checkpoint; 'j': index of the job's idempotency key */
    int64_t samples;
};

static struct storage *store;
static int out;
static int the_round;

static void send_report(char what, const char *id, int64_t number, int64_t samples)
{
    struct report report;
    memset(&report, 0, sizeof report);
    report.what = what;
    (void)snprintf(report.id, sizeof report.id, "%s", id);
    report.number = number;
    report.samples = samples;
    if (write(out, &report, sizeof report) != (ssize_t)sizeof report)
        _exit(3);
}

/* ---- the child --------------------------------------------------------------------------------------- */

static void *submitter(void *argument)
{
    for (int i = 0;; i++) {
        char key[64], id[STORAGE_ID], again[STORAGE_ID];
        (void)snprintf(key, sizeof key, "%d-%d", the_round, i);
        struct storage_submit in = {.kind = "sparling", .config = "{}", .key = key, .fingerprint = {(uint8_t)i}};
        enum storage_submit_outcome outcome;
        if (storage_job_submit(store, &in, id, &outcome, NULL) != STATUS_OK || outcome != STORAGE_CREATED)
            _exit(4);
        send_report('j', id, i, 0);
        if (i % 5 == 0) { /* repeats the request, like a client that did not receive the answer */
            if (storage_job_submit(store, &in, again, &outcome, NULL) != STATUS_OK || outcome != STORAGE_REPLAYED ||
                strcmp(id, again) != 0)
                _exit(5);
        }
    }
    return argument;
}

/* Runs jobs: appends series, stores checkpoints, reports success, and deletes some of the jobs. */
static void *executor(void *argument)
{
    static unsigned char bytes[700000];
    for (int run = 0;; run++) {
        char id[STORAGE_ID];
        if (storage_job_claim(store, id, NULL) != STATUS_OK) {
            sleep_ms(1);
            continue;
        }
        for (int64_t samples = 1; samples <= 30; samples++) {
            struct storage_metric metric = {.name = "loss", .point = {samples, (double)samples}};
            if (storage_metric_append(store, id, &metric, 1, NULL) != STATUS_OK)
                _exit(6);
            if (samples % 10 != 0)
                continue;
            struct storage_checkpoint_writer *writer;
            struct storage_checkpoint_new what = {.step = samples,
                                                  .samples = samples,
                                                  .density = (double)samples,
                                                  .accuracy = (double)NAN,
                                                  .stage_end = true};
            int64_t seq;
            if (storage_checkpoint_begin(store, id, &what, &writer, NULL) != STATUS_OK ||
                storage_checkpoint_write(writer, bytes, sizeof bytes, NULL) != STATUS_OK ||
                storage_checkpoint_write(writer, bytes, sizeof bytes, NULL) != STATUS_OK ||
                storage_checkpoint_commit(writer, &seq, NULL) != STATUS_OK)
                _exit(7);
            send_report('c', id, seq, samples);
        }
        if (storage_job_leave(store, id, JOB_EVENT_SUCCEED, "{\"fpe\":0}", NULL, NULL, NULL) != STATUS_OK)
            _exit(8);
        send_report('s', id, 0, 0);
        if (run % 3 == 0) {
            if (storage_job_delete(store, id, NULL) != STATUS_OK)
                _exit(9);
            send_report('d', id, 0, 0);
        }
    }
    return argument;
}

static void child(struct fixture *f)
{
    pthread_t threads[WORKERS];
    if (storage_open(&f->options, &store, &f->err) != STATUS_OK)
        _exit(2);
    pthread_create(&threads[0], NULL, submitter, NULL);
    for (int i = 1; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, executor, NULL);
    for (;;)
        pause();
}

/* ---- the parent -------------------------------------------------------------------------------------- */

struct log {
    struct report *report;
    size_t count, capacity;
};

static void drain(struct log *log, int in)
{
    struct report report;
    while (read(in, &report, sizeof report) == (ssize_t)sizeof report) {
        if (log->count == log->capacity) {
            log->capacity = log->capacity * 2 + 256;
            log->report = realloc(log->report, log->capacity * sizeof *log->report);
            assert_non_null(log->report);
        }
        log->report[log->count++] = report;
    }
}

static bool said_later(const struct log *log, size_t from, char what, const char *id)
{
    for (size_t i = from; i < log->count; i++)
        if (log->report[i].what == what && strcmp(log->report[i].id, id) == 0)
            return true;
    return false;
}

static void check_checkpoint(struct fixture *f, const struct report *report)
{
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = report->number};
    struct storage_checkpoint_reader *reader;
    struct storage_checkpoint info;
    OK(storage_checkpoint_open(f->storage, report->id, pick, &reader, &info, &f->err));
    assert_int_equal(info.samples, report->samples);
    assert_int_equal(info.bytes, 1400000);
    OK(storage_checkpoint_verify(reader, &f->err));
    storage_checkpoint_close(reader);
    /* the series must reach at least the step of the checkpoint, without a gap */
    struct storage_series *series;
    size_t count;
    struct storage_metric_query query = {.since = INT64_MIN};
    OK(storage_metric_read(f->storage, report->id, &query, &f->arena, &series, &count, &f->err));
    assert_int_equal(count, 1);
    assert_true(series[0].count >= (size_t)report->samples);
    for (size_t i = 0; i < series[0].count; i++)
        assert_int_equal(series[0].points[i].step, i + 1);
}

/* Compares the store with all reports. Reads the checkpoints of the reports from index `from` on; earlier rounds
 * have checked the others. */
static void check(struct fixture *f, const struct log *log, size_t from)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct report *report = &log->report[i];
        struct storage_job job;
        enum status status = storage_job_get(f->storage, report->id, &f->arena, &job, NULL);
        if (report->what == 'd') {
            assert_int_equal(status, STATUS_NOT_FOUND);
            continue;
        }
        /* The process has deleted the job, and was killed before it could report the deletion. It deletes only jobs
         * whose success it has reported. */
        if (status == STATUS_NOT_FOUND) {
            assert_true(said_later(log, 0, 's', report->id));
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        if (report->what == 's')
            assert_int_equal(job.state, JOB_SUCCEEDED);
        if (report->what == 'c' && i >= from)
            check_checkpoint(f, report);
    }
    assert_int_equal(
        file_integer(f, "SELECT count(*) FROM (SELECT key FROM idempotency GROUP BY job HAVING count(*) > 1)"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job WHERE state = 'running'"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job WHERE num NOT IN (SELECT job FROM idempotency)"), 0);
}

static void acknowledged_changes_survive_a_kill(void **state)
{
    struct fixture *f = *state;
    struct log log = {0};
    uint64_t chance = (uint64_t)time(NULL);
    for (the_round = 0; the_round < ROUNDS; the_round++) {
        int ends[2];
        size_t from = log.count;
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            close(ends[0]);
            out = ends[1];
            child(f);
        }
        close(ends[1]);
        int wait_ms = 20 + (int)(lcg(&chance) % 700);
        /* let the process work; its reports stay in the pipe until the process is killed */
        for (int i = 0; i < wait_ms; i += 5)
            sleep_ms(5);
        assert_int_equal(kill(pid, SIGKILL), 0);
        int result;
        assert_int_equal(waitpid(pid, &result, 0), pid);
        if (WIFEXITED(result))
            fail_msg("the child ended by itself with %d", WEXITSTATUS(result));
        drain(&log, ends[0]);
        close(ends[0]);
        fixture_open(f);
        check(f, &log, from);
        await_integer(f, "SELECT count(*) FROM pending_delete", 0);
        assert_int_equal(
            file_integer(f, "SELECT count(*) FROM chunk WHERE id >> 20 NOT IN (SELECT id FROM checkpoint)"), 0);
        fixture_close(f);
        assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
                         0);
        assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        arena_reset(&f->arena);
    }
    int kinds[256] = {0};
    for (size_t i = 0; i < log.count; i++)
        kinds[(unsigned char)log.report[i].what]++;
    print_message("acknowledged: %d jobs, %d checkpoints, %d results, %d removals\n", kinds['j'], kinds['c'],
                  kinds['s'], kinds['d']);
    assert_true(kinds['j'] > ROUNDS && kinds['c'] > 0);
    free(log.report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_CLOSED(acknowledged_changes_survive_a_kill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
