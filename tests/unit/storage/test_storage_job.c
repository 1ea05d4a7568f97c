/* Tests the calls that submit, read, list, change, claim and delete jobs. */
#include "tests/unit/storage/storage_fixture.h"

static void submitted_job_is_read_back(void **state)
{
    struct fixture *f = *state;
    struct storage_submit in = {.kind = "sparling",
                                .preset = "digitcircle",
                                .name = "first \xc3\xa4",
                                .config = "{\"density\":0.5}",
                                .priority = -3,
                                .threads = 2};
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    for (int round = 0; round < 2; round++) {
        struct storage_job job = job_of(f, id);
        assert_string_equal(job.id, id);
        assert_string_equal(job.kind, "sparling");
        assert_string_equal(job.preset, "digitcircle");
        assert_string_equal(job.name, "first \xc3\xa4");
        assert_string_equal(job.config, "{\"density\":0.5}");
        assert_string_equal(job.source_job, "");
        assert_null(job.params);
        assert_null(job.progress);
        assert_null(job.result);
        assert_null(job.error);
        assert_int_equal(job.task, JOB_TRAIN);
        assert_int_equal(job.state, JOB_QUEUED);
        assert_int_equal(job.requested, REQUESTED_NONE);
        assert_int_equal(job.priority, -3);
        assert_int_equal(job.threads, 2);
        assert_int_equal(job.version, 1);
        assert_int_equal(job.started_at, 0);
        assert_int_equal(job.finished_at, 0);
        assert_true(llabs((long long)job.created_at - (long long)time(NULL) * 1000) < 60000);
        fixture_reopen(f);
    }
    struct storage_job job;
    REFUSED(STATUS_NOT_FOUND, storage_job_get(f->storage, "01ARZ3NDEKTSV4RRFFQ69G5FAV", &f->arena, &job, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_get(f->storage, "' OR 1=1 --", &f->arena, &job, &f->err));
    in.config = NULL;
    REFUSED(STATUS_INVALID, storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    assert_string_equal(id, "");
}

static void ids_sort_by_creation(void **state)
{
    struct fixture *f = *state;
    char last[STORAGE_ID] = "", id[STORAGE_ID];
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_reopen(f);
    for (int i = 0; i < 300; i++) {
        submit(f, "sparling", 0, id);
        assert_true(strcmp(last, id) < 0);
        assert_int_equal(strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
        memcpy(last, id, sizeof id);
        if (i % 50 == 49)
            fixture_reopen(f);
    }
}

static void same_key_returns_same_job(void **state)
{
    struct fixture *f = *state;
    char first[STORAGE_ID], again[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit in = {.kind = "sparling", .config = "{}", .key = "abc", .fingerprint = {1, 2, 3}};
    OK(storage_job_submit(f->storage, &in, first, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_REPLAYED);
    assert_string_equal(first, again);
    fixture_reopen(f);
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_REPLAYED);
    assert_string_equal(first, again);
    in.fingerprint[31] = 9;
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_KEY_REUSED);
    assert_string_equal(first, again);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 1);
    in.key = "abd";
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    assert_string_not_equal(first, again);
    /* deleting a job frees its key */
    OK(storage_job_request(f->storage, again, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_job_delete(f->storage, again, &f->err));
    OK(storage_job_submit(f->storage, &in, first, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    char key[STORAGE_KEY + 1];
    memset(key, 'k', sizeof key);
    key[STORAGE_KEY] = '\0';
    in.key = key;
    REFUSED(STATUS_INVALID, storage_job_submit(f->storage, &in, first, &outcome, &f->err));
}

/* A key expires after a week: a key that is eight days old is forgotten, one that is six days old is not. */
static void keys_expire_after_a_week(void **state)
{
    struct fixture *f = *state;
    char ids[2][STORAGE_ID], again[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit in = {.kind = "sparling", .config = "{}", .key = "old"};
    OK(storage_job_submit(f->storage, &in, ids[0], &outcome, &f->err));
    in.key = "recent";
    OK(storage_job_submit(f->storage, &in, ids[1], &outcome, &f->err));
    fixture_close(f);
    sqlite3 *db = open_to_change(f->path);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE idempotency SET created_at = created_at - 8*86400000 WHERE key = 'old';"
                                  "UPDATE idempotency SET created_at = created_at - 6*86400000 WHERE key = 'recent'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    fixture_open(f);
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_REPLAYED);
    assert_string_equal(again, ids[1]);
    in.key = "other";
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM idempotency WHERE key = 'old'"), 0);
    in.key = "old";
    OK(storage_job_submit(f->storage, &in, again, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    assert_string_not_equal(again, ids[0]);
}

static void full_queue_refuses_jobs(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    f->options.queue_limit = 2;
    fixture_reopen(f);
    struct storage_submit in = {.kind = "sparling", .config = "{}", .key = "k"};
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    submit(f, "sparling", 0, id);
    struct storage_submit third = {.kind = "sparling", .config = "{}"};
    REFUSED(STATUS_UNAVAILABLE, storage_job_submit(f->storage, &third, id, &outcome, &f->err));
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_REPLAYED);
    OK(storage_job_claim(f->storage, id, &f->err));
    submit(f, "sparling", 0, id);
}

static void pages_are_stable_and_filtered(void **state)
{
    struct fixture *f = *state;
    char ids[25][STORAGE_ID], page_end[STORAGE_ID] = "", claimed[STORAGE_ID];
    struct storage_job *jobs;
    size_t count;
    bool more;
    for (int i = 0; i < 25; i++)
        submit(f, i % 5 == 0 ? "factors" : "sparling", i == 7 ? 1 : 0, ids[i]);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    assert_string_equal(claimed, ids[7]);
    struct storage_job_filter filter = {.limit = 10};
    int next = 24;
    for (int page = 0; page < 3; page++) {
        OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
        assert_int_equal(count, page < 2 ? 10 : 5);
        assert_int_equal(more, page < 2);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(jobs[i].id, ids[next--]);
        (void)snprintf(page_end, sizeof page_end, "%s", jobs[count - 1].id);
        filter.before = page_end;
        char extra[STORAGE_ID]; /* jobs that are submitted between two pages do not shift the pages */
        submit(f, "late", 0, extra);
    }
    assert_int_equal(next, -1);
    filter = (struct storage_job_filter){.kind = "factors", .limit = 5};
    OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
    assert_int_equal(count, 5);
    assert_false(more);
    assert_string_equal(jobs[0].id, ids[20]);
    filter = (struct storage_job_filter){.by_state = true, .state = JOB_RUNNING};
    OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
    assert_int_equal(count, 1);
    assert_string_equal(jobs[0].id, ids[7]);
    filter = (struct storage_job_filter){.by_state = true, .state = JOB_QUEUED, .kind = "sparling", .limit = 1000};
    OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
    assert_int_equal(count, 19);
    filter = (struct storage_job_filter){.by_task = true, .task = JOB_EVALUATE};
    OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
    assert_int_equal(count, 0);
    filter = (struct storage_job_filter){.limit = 1001};
    REFUSED(STATUS_INVALID, storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
}

static void source_is_kept_until_job_is_final(void **state)
{
    struct fixture *f = *state;
    char base[STORAGE_ID], id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    submit_running(f, base);
    struct storage_submit in = {.kind = "sparling",
                                .config = "{}",
                                .params = "{\"samples\":10}",
                                .task = JOB_EVALUATE,
                                .source_job = base,
                                .source_checkpoint = 1};
    REFUSED(STATUS_NOT_FOUND, storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 10, .density = (double)NAN, .accuracy = (double)NAN};
    int64_t seq;
    OK(storage_checkpoint_begin(f->storage, base, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, "x", 1, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    assert_int_equal(seq, 1);
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
    struct storage_job job = job_of(f, id);
    assert_int_equal(job.task, JOB_EVALUATE);
    assert_string_equal(job.params, "{\"samples\":10}");
    assert_string_equal(job.source_job, base);
    assert_int_equal(job.source_checkpoint, 1);
    struct storage_job *jobs;
    size_t count;
    bool more;
    struct storage_job_filter filter = {.source_job = base, .by_task = true, .task = JOB_EVALUATE};
    OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
    assert_int_equal(count, 1);
    assert_string_equal(jobs[0].id, id);
    /* `base` cannot be deleted while an unfinished job starts from it */
    finish(f, base);
    REFUSED(STATUS_CONFLICT, storage_job_delete(f->storage, base, &f->err));
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_job_delete(f->storage, base, &f->err));
    in.source_job = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    REFUSED(STATUS_NOT_FOUND, storage_job_submit(f->storage, &in, id, &outcome, &f->err));
}

static void patch_changes_name_and_priority(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    int priority = 7;
    submit(f, "sparling", 0, id);
    struct storage_job_patch patch = {.name = "other", .expected_version = 1};
    OK(storage_job_patch(f->storage, id, &patch, &f->err));
    struct storage_job job = job_of(f, id);
    assert_string_equal(job.name, "other");
    assert_int_equal(job.priority, 0);
    assert_int_equal(job.version, 2);
    REFUSED(STATUS_CONFLICT, storage_job_patch(f->storage, id, &patch, &f->err));
    patch = (struct storage_job_patch){.priority = &priority};
    OK(storage_job_patch(f->storage, id, &patch, &f->err));
    job = job_of(f, id);
    assert_string_equal(job.name, "other");
    assert_int_equal(job.priority, 7);
    assert_int_equal(job.version, 3);
    REFUSED(STATUS_NOT_FOUND, storage_job_patch(f->storage, "no-such-job", &patch, &f->err));
    char name[STORAGE_NAME + 1];
    memset(name, 'n', sizeof name);
    name[STORAGE_NAME] = '\0';
    patch = (struct storage_job_patch){.name = name};
    REFUSED(STATUS_INVALID, storage_job_patch(f->storage, id, &patch, &f->err));
}

static void claims_follow_priority_and_age(void **state)
{
    struct fixture *f = *state;
    const int priorities[6] = {0, 5, 0, -1, 5, 1}, order[6] = {1, 4, 5, 0, 2, 3};
    char ids[6][STORAGE_ID], id[STORAGE_ID];
    REFUSED(STATUS_NOT_FOUND, storage_job_claim(f->storage, id, &f->err));
    assert_string_equal(id, "");
    for (int i = 0; i < 6; i++)
        submit(f, "sparling", priorities[i], ids[i]);
    for (int i = 0; i < 6; i++) {
        OK(storage_job_claim(f->storage, id, &f->err));
        assert_string_equal(id, ids[order[i]]);
        struct storage_job job = job_of(f, id);
        assert_int_equal(job.state, JOB_RUNNING);
        assert_true(job.started_at >= job.created_at);
    }
    REFUSED(STATUS_NOT_FOUND, storage_job_claim(f->storage, id, &f->err));
}

static void claim_of_a_task_skips_other_tasks(void **state)
{
    struct fixture *f = *state;
    char train[STORAGE_ID], evaluate[STORAGE_ID], id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    submit(f, "sparling", 9, train);
    REFUSED(STATUS_NOT_FOUND, storage_job_claim_task(f->storage, JOB_EVALUATE, id, &f->err));
    assert_string_equal(id, "");
    struct storage_submit what = {.kind = "sparling", .config = "{}", .task = JOB_EVALUATE, .params = "{}"};
    OK(storage_job_submit(f->storage, &what, evaluate, &outcome, &f->err));
    OK(storage_job_claim_task(f->storage, JOB_EVALUATE, id, &f->err));
    assert_string_equal(id, evaluate);
    REFUSED(STATUS_NOT_FOUND, storage_job_claim_task(f->storage, JOB_EVALUATE, id, &f->err));
    OK(storage_job_claim_task(f->storage, JOB_TRAIN, id, &f->err));
    assert_string_equal(id, train);
}

/* A client requests a pause and revokes it. Then it requests a pause, a resume and a cancellation. The test checks what
 * the executor and the client read after each request. */
static void requests_reach_the_running_job(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], claimed[STORAGE_ID];
    enum job_state now;
    enum requested_state requested;
    submit_running(f, id);
    int64_t started = job_of(f, id).started_at;
    OK(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, &now, &requested, &f->err));
    assert_int_equal(now, JOB_RUNNING);
    assert_int_equal(requested, REQUESTED_PAUSED);
    int64_t version = job_of(f, id).version;
    OK(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, &now, &requested, &f->err));
    assert_int_equal(job_of(f, id).version, version); /* repeating the request changes nothing */
    OK(storage_job_request(f->storage, id, JOB_EVENT_RESUME, &now, &requested, &f->err));
    OK(storage_job_requested(f->storage, id, &requested, &f->err));
    assert_int_equal(requested, REQUESTED_NONE);
    REFUSED(STATUS_CONFLICT, storage_job_request(f->storage, id, JOB_EVENT_RESUME, &now, &requested, &f->err));
    assert_int_equal(now, JOB_RUNNING);
    OK(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, &now, &requested, &f->err));
    fixture_close(f); /* the requested state survives the end of the process, and the job is then paused */
    fixture_open(f);
    assert_int_equal(job_of(f, id).state, JOB_PAUSED);
    assert_int_equal(job_of(f, id).requested, REQUESTED_NONE);
    REFUSED(STATUS_CONFLICT, storage_job_request(f->storage, id, JOB_EVENT_PAUSE, &now, &requested, &f->err));
    assert_int_equal(now, JOB_PAUSED);
    assert_non_null(strstr(f->err.message, "paused"));
    OK(storage_job_request(f->storage, id, JOB_EVENT_RESUME, &now, &requested, &f->err));
    assert_int_equal(now, JOB_QUEUED);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    assert_int_equal(job_of(f, id).started_at, started); /* started_at is still the time of the first start */
    OK(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, &now, &f->err));
    assert_int_equal(now, JOB_QUEUED);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, &now, &requested, &f->err));
    assert_int_equal(now, JOB_RUNNING);
    REFUSED(STATUS_CONFLICT, storage_job_request(f->storage, id, JOB_EVENT_PAUSE, &now, &requested, &f->err));
    assert_int_equal(requested, REQUESTED_CANCELLED);
    OK(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, &now, &f->err));
    assert_int_equal(now, JOB_CANCELLED);
    assert_true(job_of(f, id).finished_at >= started);
    REFUSED(STATUS_CONFLICT, storage_job_request(f->storage, id, JOB_EVENT_CANCEL, &now, &requested, &f->err));
    REFUSED(STATUS_NOT_FOUND,
            storage_job_request(f->storage, "no-such-job", JOB_EVENT_CANCEL, &now, &requested, &f->err));
    REFUSED(STATUS_INVALID, storage_job_request(f->storage, id, JOB_EVENT_CLAIM, &now, &requested, &f->err));
}

static void leaving_job_records_its_result_or_error(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    enum job_state now;
    submit_running(f, id);
    REFUSED(STATUS_INVALID, storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, NULL, "{}", &now, &f->err));
    REFUSED(STATUS_INVALID, storage_job_leave(f->storage, id, JOB_EVENT_PAUSE, NULL, NULL, &now, &f->err));
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{\"fpe\":0}", NULL, &now, &f->err));
    assert_int_equal(now, JOB_SUCCEEDED);
    assert_string_equal(job_of(f, id).result, "{\"fpe\":0}");
    REFUSED(STATUS_CONFLICT, storage_job_leave(f->storage, id, JOB_EVENT_FAIL, NULL, "{}", &now, &f->err));
    assert_int_equal(now, JOB_SUCCEEDED);
    assert_string_equal(job_of(f, id).result, "{\"fpe\":0}");
    submit_running(f, id);
    OK(storage_job_leave(f->storage, id, JOB_EVENT_FAIL, NULL, "{\"title\":\"loss\"}", &now, &f->err));
    assert_int_equal(now, JOB_FAILED);
    assert_string_equal(job_of(f, id).error, "{\"title\":\"loss\"}");
    assert_null(job_of(f, id).result);
    /* storage_job_leave() is refused, because this job is queued and has no executor */
    submit(f, "sparling", 0, id);
    REFUSED(STATUS_CONFLICT, storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, &now, &f->err));
}

static void newest_progress_is_stored(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], text[32];
    submit_running(f, id);
    int64_t version = job_of(f, id).version;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "{\"step\":%d}", i);
        OK(storage_job_progress(f->storage, id, text, &f->err));
    }
    OK(storage_flush(f->storage, &f->err));
    struct storage_job job = job_of(f, id);
    assert_string_equal(job.progress, "{\"step\":99}");
    assert_int_equal(job.version, version);
    /* of the progress texts in the queue, only the last is stored */
    assert_true(job.progress_version >= 1 && job.progress_version <= 3);
    OK(storage_job_progress(f->storage, id, "{\"step\":100}", &f->err));
    finish(f, id);
    OK(storage_job_progress(f->storage, id, "{\"step\":101}", &f->err));
    OK(storage_flush(f->storage, &f->err));
    assert_string_equal(job_of(f, id).progress, "{\"step\":100}");
}

/* storage_job_progress() returns before its change is on disk. The change must also reach the disk if no other call of
 * storage follows. */
static void progress_reaches_the_disk_without_another_call(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    OK(storage_job_progress(f->storage, id, "{\"step\":5}", &f->err));
    assert_null(job_of(f, id).progress);
    await_integer(f, "SELECT count(*) FROM job WHERE progress IS NOT NULL", 1); /* reads the file, not storage */
    assert_string_equal(job_of(f, id).progress, "{\"step\":5}");
}

static void only_final_jobs_are_deleted(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], other[STORAGE_ID];
    struct storage_job job;
    struct storage_metric point = {.name = "loss", .point = {1, 2.0}};
    submit_running(f, other);
    OK(storage_metric_append(f->storage, other, &point, 1, &f->err));
    submit_running(f, id);
    for (int i = 0; i < 1000; i++) {
        point.point.step = i;
        OK(storage_metric_append(f->storage, id, &point, 1, &f->err));
        OK(storage_event_append(f->storage, id, "note", "x", &f->err));
    }
    OK(storage_artifact_put(f->storage, id, "a.txt", "text/plain", "abc", 3, &f->err));
    REFUSED(STATUS_CONFLICT, storage_job_delete(f->storage, id, &f->err));
    finish(f, id);
    OK(storage_job_delete(f->storage, id, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_get(f->storage, id, &f->arena, &job, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_delete(f->storage, id, &f->err));
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM block"), 1);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM series"), 1);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM artifact"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event WHERE job NOT IN (SELECT num FROM job)"), 0);
    assert_int_equal(job_of(f, other).state, JOB_RUNNING);
    /* writes for a deleted job are ignored */
    OK(storage_metric_append(f->storage, id, &point, 1, &f->err));
    OK(storage_job_progress(f->storage, id, "{}", &f->err));
    OK(storage_flush(f->storage, &f->err));
}

static void statistics_count_jobs_and_bytes(void **state)
{
    struct fixture *f = *state;
    struct storage_stats stats;
    char id[STORAGE_ID];
    for (int i = 0; i < 3; i++)
        submit(f, "sparling", 0, id);
    OK(storage_job_claim(f->storage, id, &f->err));
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_int_equal(stats.jobs[JOB_QUEUED], 2);
    assert_int_equal(stats.jobs[JOB_RUNNING], 1);
    assert_int_equal(stats.jobs[JOB_SUCCEEDED], 0);
    assert_int_equal(stats.commits, 4);
    assert_int_equal(stats.commands, 4);
    assert_true(stats.commit_seconds > 0 && stats.commit_seconds_max <= stats.commit_seconds);
    assert_true(stats.file_bytes > 0 && stats.wal_bytes > 0);
    assert_int_equal(stats.queue_depth, 0);
    OK(storage_writable(f->storage, &f->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(submitted_job_is_read_back),        TEST_OPEN(ids_sort_by_creation),
        TEST_OPEN(same_key_returns_same_job),         TEST_OPEN(keys_expire_after_a_week),
        TEST_OPEN(full_queue_refuses_jobs),           TEST_OPEN(pages_are_stable_and_filtered),
        TEST_OPEN(source_is_kept_until_job_is_final), TEST_OPEN(patch_changes_name_and_priority),
        TEST_OPEN(claims_follow_priority_and_age),    TEST_OPEN(claim_of_a_task_skips_other_tasks),
        TEST_OPEN(requests_reach_the_running_job),    TEST_OPEN(leaving_job_records_its_result_or_error),
        TEST_OPEN(newest_progress_is_stored),         TEST_OPEN(progress_reaches_the_disk_without_another_call),
        TEST_OPEN(only_final_jobs_are_deleted),       TEST_OPEN(statistics_count_jobs_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
