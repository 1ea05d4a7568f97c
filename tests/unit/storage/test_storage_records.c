/* Tests imports, the hash chain of checkpoints, events, artifacts and tokens. */
#include "tests/unit/storage/storage_fixture.h"

#include <stdatomic.h>

static void changes_of_state_add_events(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], other[STORAGE_ID];
    struct storage_event *events;
    size_t count;
    submit_running(f, id);
    submit(f, "sparling", 0, other);
    OK(storage_job_request(f->storage, id, JOB_EVENT_PAUSE, NULL, NULL, &f->err));
    OK(storage_job_leave(f->storage, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err));
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_event_read(f->storage, id, NULL, 0, 100, &f->arena, &events, &count, &f->err));
    static const char *const states[] = {"queued", "running", "paused", "cancelled"};
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(events[i].type, "state");
        assert_string_equal(events[i].data, states[i]);
        assert_string_equal(events[i].job, id);
        assert_true(events[i].time > 0 && (i == 0 || events[i].id > events[i - 1].id));
    }
    int64_t third = events[2].id;
    OK(storage_event_read(f->storage, id, NULL, third, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 1);
    assert_string_equal(events[0].data, "cancelled");
    OK(storage_event_read(f->storage, NULL, NULL, 0, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 5);
    OK(storage_event_read(f->storage, NULL, NULL, 0, 2, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 2);
    REFUSED(STATUS_NOT_FOUND,
            storage_event_read(f->storage, "no-such-job", NULL, 0, 2, &f->arena, &events, &count, &f->err));
    REFUSED(STATUS_INVALID, storage_event_read(f->storage, NULL, NULL, 0, 0, &f->arena, &events, &count, &f->err));
}

static void count_up(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void appended_events_are_read_in_order(void **state)
{
    struct fixture *f = *state;
    atomic_int woken = 0;
    char id[STORAGE_ID], text[32];
    struct storage_event *events;
    size_t count;
    f->options.events_added = count_up;
    f->options.events_context = &woken;
    fixture_reopen(f);
    submit_running(f, id);
    OK(storage_event_read(f->storage, id, NULL, 0, 100, &f->arena, &events, &count, &f->err));
    int64_t last = events[count - 1].id;
    int before = atomic_load(&woken);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(text, sizeof text, "{\"n\":%d}", i);
        OK(storage_event_append(f->storage, id, "progress", text, &f->err));
    }
    OK(storage_flush(f->storage, &f->err));
    OK(storage_event_read(f->storage, id, NULL, last, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 10);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(text, sizeof text, "{\"n\":%d}", i);
        assert_string_equal(events[i].type, "progress");
        assert_string_equal(events[i].data, text);
    }
    /* the writing thread calls the hook after the commit, so the call may come shortly after the flush */
    for (int i = 0; i < 6000 && atomic_load(&woken) == before; i++)
        sleep_ms(10);
    assert_true(atomic_load(&woken) > before);
    OK(storage_event_append(f->storage, "no-such-job", "progress", "x", &f->err));
    OK(storage_flush(f->storage, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event"), 12);
    fixture_close(f); /* close the store while `woken` still exists, because the hook uses it */
    fixture_open(f);
    f->options.events_added = NULL;
    fixture_reopen(f);
}

/* Points and progress add events. Of the progress events, only the newest are kept. */
static void points_and_progress_add_events(void **state)
{
    struct fixture *f = *state;
    struct storage_event *events;
    struct storage_series *series;
    size_t count;
    int64_t newest;
    char id[STORAGE_ID], text[32];
    OK(storage_event_newest(f->storage, &newest, &f->err));
    assert_int_equal(newest, 0);
    submit_running(f, id);
    OK(storage_event_newest(f->storage, &newest, &f->err));
    assert_int_equal(newest, 2);
    const struct storage_metric points[] = {
        {"loss", {10, 0.5}}, {"loss", {20, 0.25}}, {"density", {12, 0.1}}, {"loss", {30, 0.125}}};
    OK(storage_metric_append(f->storage, id, points, 3, &f->err));
    OK(storage_flush(f->storage, &f->err));
    OK(storage_metric_append(f->storage, id, points + 3, 1, &f->err));
    OK(storage_metric_append(f->storage, "no-such-job", points, 3, &f->err));
    OK(storage_flush(f->storage, &f->err));
    OK(storage_event_read(f->storage, id, NULL, newest, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 2);
    assert_string_equal(events[0].type, "metric");
    assert_string_equal(events[0].data, "10 20");
    assert_string_equal(events[1].data, "30 30");
    /* an event contains the first and the last step of its points, and a query reads these points */
    int64_t until = 20;
    struct storage_metric_query query = {.since = 9, .until = &until};
    OK(storage_metric_read(f->storage, id, &query, &f->arena, &series, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(series[0].count, 1);
    assert_int_equal(series[1].count, 2);
    assert_int_equal(series[1].points[1].step, 20);
    for (int i = 0; i < 650; i++) {
        (void)snprintf(text, sizeof text, "{\"n\":%d}", i);
        OK(storage_job_progress(f->storage, id, text, &f->err));
        OK(storage_flush(f->storage, &f->err));
    }
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event WHERE type = 'progress'"), 600);
    OK(storage_event_newest(f->storage, &newest, &f->err));
    OK(storage_event_read(f->storage, id, NULL, newest - 1, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 1);
    assert_string_equal(events[0].type, "progress");
    assert_string_equal(events[0].data, "{\"n\":649}");
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err));
    OK(storage_job_progress(f->storage, id, "{}", &f->err)); /* the job is finished, so no event is added */
    OK(storage_flush(f->storage, &f->err));
    OK(storage_event_read(f->storage, id, NULL, newest, 100, &f->arena, &events, &count, &f->err));
    assert_int_equal(count, 1);
    assert_string_equal(events[0].data, "succeeded");
}

static void artifacts_are_stored_listed_and_replaced(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_artifact *list, one;
    const void *bytes;
    size_t count;
    unsigned char picture[5000];
    for (size_t i = 0; i < sizeof picture; i++)
        picture[i] = (unsigned char)(i * 31);
    submit_running(f, id);
    OK(storage_artifact_list(f->storage, id, &f->arena, &list, &count, &f->err));
    assert_int_equal(count, 0);
    OK(storage_artifact_put(f->storage, id, "motifs-1.png", "image/png", picture, sizeof picture, &f->err));
    OK(storage_artifact_put(f->storage, id, "confusion.csv", "text/csv", "a,b\n", 4, &f->err));
    OK(storage_artifact_put(f->storage, id, "confusion.csv", "text/csv", "c\n", 2, &f->err));
    OK(storage_artifact_put(f->storage, id, "empty", "text/plain", NULL, 0, &f->err));
    fixture_reopen(f);
    OK(storage_artifact_list(f->storage, id, &f->arena, &list, &count, &f->err));
    assert_int_equal(count, 3);
    assert_string_equal(list[0].name, "confusion.csv");
    assert_int_equal(list[0].bytes, 2);
    assert_string_equal(list[2].media_type, "image/png");
    OK(storage_artifact_get(f->storage, id, "motifs-1.png", &f->arena, &one, &bytes, &f->err));
    assert_int_equal(one.bytes, sizeof picture);
    assert_memory_equal(bytes, picture, sizeof picture);
    OK(storage_artifact_get(f->storage, id, "empty", &f->arena, &one, &bytes, &f->err));
    assert_int_equal(one.bytes, 0);
    assert_non_null(bytes);
    REFUSED(STATUS_NOT_FOUND, storage_artifact_get(f->storage, id, "none", &f->arena, &one, &bytes, &f->err));
    REFUSED(STATUS_NOT_FOUND,
            storage_artifact_get(f->storage, "no-such-job", "empty", &f->arena, &one, &bytes, &f->err));
    static const char *const bad[] = {
        "",  "../x", ".hidden",  "a/b",
        "A", "a b",  "\xc3\xa4", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        REFUSED(STATUS_INVALID, storage_artifact_put(f->storage, id, bad[i], "text/plain", "x", 1, &f->err));
    REFUSED(STATUS_LIMIT,
            storage_artifact_put(f->storage, id, "big", "text/plain", picture, STORAGE_ARTIFACT_BYTES + 1, &f->err));
}

static void tokens_expire_and_are_revoked(void **state)
{
    struct fixture *f = *state;
    struct storage_token a = {.hash = {1}, .name = "ci", .scope = 2}, b = {.hash = {2}, .name = "short", .scope = 1};
    struct storage_token found, *list;
    size_t count;
    b.expires_at = (int64_t)time(NULL) * 1000 - 1; /* this token has already expired */
    OK(storage_token_list(f->storage, &f->arena, &list, &count, &f->err));
    assert_int_equal(count, 0);
    OK(storage_token_add(f->storage, &a, &f->err));
    OK(storage_token_add(f->storage, &b, &f->err));
    REFUSED(STATUS_CONFLICT, storage_token_add(f->storage, &a, &f->err));
    struct storage_token c = {.hash = {3}, .name = "ci", .scope = 3};
    /* refused, because a valid token has this name */
    REFUSED(STATUS_CONFLICT, storage_token_add(f->storage, &c, &f->err));
    fixture_reopen(f);
    OK(storage_token_find(f->storage, a.hash, &found, &f->err));
    assert_string_equal(found.name, "ci");
    assert_int_equal(found.scope, 2);
    assert_true(found.created_at > 0 && found.expires_at == 0 && !found.revoked && !found.expired);
    OK(storage_token_find(f->storage, b.hash, &found, &f->err));
    assert_true(found.expired);
    REFUSED(STATUS_NOT_FOUND, storage_token_find(f->storage, c.hash, &found, &f->err));
    OK(storage_token_revoke(f->storage, "ci", &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_token_find(f->storage, a.hash, &found, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_token_revoke(f->storage, "ci", &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_token_revoke(f->storage, "short", &f->err));
    OK(storage_token_add(f->storage, &c, &f->err)); /* accepted, because no valid token has this name any more */
    OK(storage_token_find(f->storage, c.hash, &found, &f->err));
    REFUSED(STATUS_CONFLICT, storage_token_add(f->storage, &a, &f->err)); /* a revoked secret cannot be added again */
    OK(storage_token_list(f->storage, &f->arena, &list, &count, &f->err));
    assert_int_equal(count, 3);
    struct storage_token bad = {.hash = {4}, .name = ""};
    REFUSED(STATUS_INVALID, storage_token_add(f->storage, &bad, &f->err));
    memset(bad.name, 'x', sizeof bad.name);
    REFUSED(STATUS_INVALID, storage_token_add(f->storage, &bad, &f->err));
}

static void import_stores_a_whole_job(void **state)
{
    struct fixture *f = *state;
    static unsigned char bytes[(2u << 20) + 17];
    enum { PART = (1 << 20) + 5 };
    struct storage_point points[500];
    uint64_t lot = 5;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)lcg(&lot);
    for (int i = 0; i < 500; i++)
        points[i] = (struct storage_point){10 * i, (double)i / 3};
    struct storage_series series = {.name = "loss", .points = points, .count = 500};
    struct storage_import_checkpoint checkpoints[] = {
        {.what = {.step = 5, .samples = 50, .density = 0.5, .accuracy = NAN, .stage_end = true},
         .seq = 2,
         .bytes = {{bytes}, {9}}},
        {.what = {.step = 9, .samples = 90, .density = 0.25, .accuracy = 0.75},
         .seq = 7,
         .bytes = {{bytes, bytes + PART}, {PART, sizeof bytes - PART}}}, /* the second part begins within a chunk */
    };
    struct storage_import in = {.kind = "sparling",
                                .preset = "",
                                .name = "borrowed",
                                .config = "{}",
                                .progress = "{}",
                                .result = "{\"a\":1}",
                                .checkpoints = checkpoints,
                                .count = 2,
                                .series = &series,
                                .series_count = 1};
    char id[STORAGE_ID];
    f->options.maker = "the test";
    fixture_reopen(f);
    OK(storage_job_import(f->storage, &in, id, &(enum storage_submit_outcome){0}, &f->err));
    fixture_reopen(f);
    struct storage_job job = job_of(f, id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_string_equal(job.result, "{\"a\":1}");
    assert_true(job.finished_at > 0);

    struct storage_checkpoint info;
    struct storage_checkpoint_reader *reader;
    static unsigned char read[sizeof bytes];
    OK(storage_checkpoint_open(f->storage, id, (struct storage_checkpoint_pick){.by = STORAGE_LATEST}, &reader, &info,
                               &f->err));
    assert_int_equal(info.seq, 7);
    assert_true(info.pinned && info.density == 0.25 && info.accuracy == 0.75);
    OK(storage_checkpoint_verify(reader, &f->err));
    OK(storage_checkpoint_read(reader, 0, read, sizeof read, &f->err));
    assert_memory_equal(read, bytes, sizeof bytes);
    storage_checkpoint_close(reader);

    struct storage_series *back;
    size_t count;
    struct storage_metric_query query = {.since = INT64_MIN};
    OK(storage_metric_read(f->storage, id, &query, &f->arena, &back, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(back[0].count, 500);
    assert_memory_equal(back[0].points, points, sizeof points);

    struct storage_link *links;
    OK(storage_chain_list(f->storage, id, &f->arena, &links, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(links[0].seq, 2);
    assert_true(links[0].kept && links[0].stage_end && links[1].step == 9);
    assert_string_equal(links[1].maker, "the test");
    assert_memory_equal(links[1].sha256, info.sha256, sizeof info.sha256);

    checkpoints[1].seq = 2;
    REFUSED(STATUS_INVALID, storage_job_import(f->storage, &in, id, &(enum storage_submit_outcome){0}, &f->err));
    checkpoints[1].seq = 7;
    points[3].step = 20;
    REFUSED(STATUS_INVALID, storage_job_import(f->storage, &in, id, &(enum storage_submit_outcome){0}, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 1);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint"), 2);
    OK(storage_job_delete(f->storage, job.id, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM chain"), 0);
}

/* The rows of the hash chain remain when the retention rule removes their checkpoints. */
static void chain_keeps_removed_checkpoints(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_link *links;
    size_t count;
    int64_t seq;
    submit_running(f, id);
    for (int i = 1; i <= 5; i++) {
        struct storage_checkpoint_new what = {.step = i, .samples = i, .density = NAN, .accuracy = NAN};
        struct storage_checkpoint_writer *writer;
        OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
        OK(storage_checkpoint_write(writer, &i, sizeof i, &f->err));
        OK(storage_checkpoint_commit(writer, &seq, &f->err));
    }
    OK(storage_chain_list(f->storage, id, &f->arena, &links, &count, &f->err));
    assert_int_equal(count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(links[i].seq, i + 1);
        assert_true(links[i].kept == (i == 4) && isnan(links[i].density));
    }
    REFUSED(STATUS_NOT_FOUND, storage_chain_list(f->storage, "no-such-job", &f->arena, &links, &count, &f->err));
}

static void notice_of_an_ended_job_waits_until_it_is_delivered(void **state)
{
    struct fixture *f = *state;
    struct storage_notice notice;
    char id[STORAGE_ID], claimed[STORAGE_ID];
    int64_t count, now;
    submit(f, "sparling", 0, id);
    assert_int_equal(storage_notice_next(f->storage, INT64_MAX / 2, &f->arena, &notice, &f->err), STATUS_NOT_FOUND);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{\"verdict\":\"partly\"}", NULL, NULL, &f->err));
    now = (int64_t)time(NULL) * 1000 + 1000;
    OK(storage_notice_next(f->storage, now, &f->arena, &notice, &f->err));
    assert_string_equal(notice.job, id);
    assert_string_equal(notice.state, "succeeded");
    assert_non_null(strstr(notice.data, "\"verdict\":\"partly\""));
    assert_int_equal(notice.tries, 0);
    OK(storage_notice_failed(f->storage, notice.id, now + 5000, &f->err));
    assert_int_equal(storage_notice_next(f->storage, now + 4999, &f->arena, &notice, &f->err), STATUS_NOT_FOUND);
    /* the job may be deleted, and the store closed, before the delivery */
    OK(storage_job_delete(f->storage, id, &f->err));
    fixture_reopen(f);
    OK(storage_notice_next(f->storage, now + 5000, &f->arena, &notice, &f->err));
    assert_int_equal(notice.tries, 1);
    /* when somebody has set the clock back by a day, the notice is due at once, not a day later */
    OK(storage_notice_next(f->storage, now - 86400000, &f->arena, &notice, &f->err));
    OK(storage_notice_count(f->storage, &count, &f->err));
    assert_int_equal(count, 1);
    OK(storage_notice_delivered(f->storage, notice.id, &f->err));
    OK(storage_notice_count(f->storage, &count, &f->err));
    assert_int_equal(count, 0);
}

static void store_without_notices_keeps_none(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    int64_t count;
    fixture_close(f);
    f->options.notices = false;
    fixture_open(f);
    submit(f, "sparling", 0, id);
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_notice_count(f->storage, &count, &f->err));
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(import_stores_a_whole_job),        TEST_OPEN(chain_keeps_removed_checkpoints),
        TEST_OPEN(changes_of_state_add_events),      TEST_OPEN(appended_events_are_read_in_order),
        TEST_OPEN(points_and_progress_add_events),   TEST_OPEN(artifacts_are_stored_listed_and_replaced),
        TEST_OPEN(tokens_expire_and_are_revoked),    TEST_OPEN(notice_of_an_ended_job_waits_until_it_is_delivered),
        TEST_OPEN(store_without_notices_keeps_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
