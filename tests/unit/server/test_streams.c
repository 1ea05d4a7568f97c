/* Tests the thread that feeds event streams, on a real store. A mutex and a flag simulate each connection. */
#include "tests/unit/storage/storage_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "server/http/streams.h"

#define READERS 6
#define EVENTS 3000
#define MOST 64 /* default of streams_options.most */

struct reader {
    struct stream *stream;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool suspended, cut;
    size_t piece; /* largest number of bytes that the reader takes at once */
    int pause_ms; /* milliseconds that the reader waits between two takes */
    char *text;
    size_t bytes, room;
    atomic_size_t received; /* copy of `bytes` for other threads */
};

static void suspend(void *context)
{
    struct reader *reader = context;
    (void)pthread_mutex_lock(&reader->lock);
    assert_false(reader->suspended); /* a connection must not be suspended twice */
    reader->suspended = true;
    (void)pthread_mutex_unlock(&reader->lock);
}

static void wake(void *context)
{
    struct reader *reader = context;
    (void)pthread_mutex_lock(&reader->lock);
    assert_true(reader->suspended); /* the thread must wake only a suspended connection */
    reader->suspended = false;
    (void)pthread_cond_signal(&reader->woken);
    (void)pthread_mutex_unlock(&reader->lock);
}

static void cut(void *context)
{
    struct reader *reader = context;
    (void)pthread_mutex_lock(&reader->lock);
    reader->cut = true;
    (void)pthread_mutex_unlock(&reader->lock);
}

/* Behaves like a connection: takes bytes, waits while it is suspended, and closes the stream at its end. */
static void *read_to_the_end(void *context)
{
    struct reader *reader = context;
    char piece[4096];
    for (;;) {
        ptrdiff_t got = streams_take(reader->stream, piece, reader->piece);
        if (got < 0)
            break;
        if (got > 0) {
            if (reader->bytes + (size_t)got > reader->room) {
                reader->room = 2 * reader->room + 65536;
                reader->text = realloc(reader->text, reader->room + 1);
            }
            memcpy(reader->text + reader->bytes, piece, (size_t)got);
            reader->bytes += (size_t)got;
            reader->text[reader->bytes] = '\0';
            atomic_store(&reader->received, reader->bytes);
            if (reader->pause_ms > 0)
                sleep_ms(reader->pause_ms);
            continue;
        }
        (void)pthread_mutex_lock(&reader->lock);
        while (reader->suspended)
            (void)pthread_cond_wait(&reader->woken, &reader->lock);
        (void)pthread_mutex_unlock(&reader->lock);
    }
    streams_close(reader->stream);
    return NULL;
}

static const char *caller = "token/one"; /* open_for() opens its streams in the name of this caller */
static bool only_stored;                 /* open_for() opens streams that end after the stored events */

static struct stream *open_for(struct streams *streams, struct reader *reader, const char *job, int64_t after)
{
    struct stream_line line = {
        .context = reader, .caller = caller, .fd = -1, .suspend = suspend, .wake = wake, .cut = cut};
    (void)pthread_mutex_init(&reader->lock, NULL);
    (void)pthread_cond_init(&reader->woken, NULL);
    reader->stream = streams_open(streams, &line, job, after, only_stored, "retry: 1\n\n", 10);
    return reader->stream;
}

static void start(struct reader *reader)
{
    assert_int_equal(pthread_create(&reader->thread, NULL, read_to_the_end, reader), 0);
}

static void notify(void *context)
{
    streams_notify(context);
}

static struct streams *make(struct fixture *f, int64_t heartbeat_ms, int64_t stall_ms)
{
    struct streams *streams;
    struct streams_options options = {.heartbeat_ms = heartbeat_ms, .stall_ms = stall_ms};
    OK(streams_create(&options, &streams, &f->err));
    fixture_close(f);
    f->options.durability = STORAGE_DURABLE_NOT;
    f->options.events_added = notify;
    f->options.events_context = streams;
    fixture_open(f);
    OK(streams_start(streams, f->storage, &f->err));
    return streams;
}

static void end(struct fixture *f, struct streams *streams)
{
    streams_end(streams);
    fixture_close(f); /* close the store first, because it notifies the streams while it closes */
    streams_destroy(streams);
    f->options.events_added = NULL;
    fixture_open(f);
}

/* Asserts that the ids of the events in the reader's text are first, first + 1, and so on. Returns the last id. */
static int64_t check_ids(const struct reader *reader, int64_t first)
{
    int64_t expected = first;
    for (const char *at = reader->text; (at = strstr(at, "id: ")) != NULL; at += 4)
        assert_int_equal(strtoll(at + 4, NULL, 10), expected++);
    return expected - 1;
}

/* Some readers are fast, others slow. Some read all jobs, others one job. Some start at the first event, others at a
 * later one. Each must get every event once. */
static void every_reader_gets_every_event_once(void **state)
{
    struct fixture *f = *state;
    struct reader readers[READERS] = {{.piece = 4096}, {.piece = 100}, {.piece = 4096, .pause_ms = 2},
                                      {.piece = 1000}, {.piece = 7},   {.piece = 4096}};
    char id[STORAGE_ID], text[200];
    struct streams *streams = make(f, 0, 0);
    submit_running(f, id); /* this makes two events */
    for (int i = 0; i < READERS; i++) {
        assert_non_null(open_for(streams, &readers[i], i % 2 == 0 ? "" : id, i == 5 ? 2 : 0));
        start(&readers[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        (void)snprintf(text, sizeof text, "{\"n\":%d,\"filler\":\"%0*d\"}", i, i % 100 + 1, 0);
        OK(storage_event_append(f->storage, id, "note", text, &f->err));
        if (i % 500 == 0)
            OK(storage_flush(f->storage, &f->err));
    }
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err));
    for (int i = 1; i < READERS; i += 2) /* a stream of one job ends when the job ends */
        (void)pthread_join(readers[i].thread, NULL);
    struct streams_stats stats = {0};
    for (int i = 0; i < 6000 && stats.events < READERS * (EVENTS + 3) - 2; i++) {
        sleep_ms(10);
        streams_stats_read(streams, &stats);
    }
    assert_int_equal(stats.events, READERS * (EVENTS + 3) - 2);
    streams_end(streams); /* a stream of all jobs ends after it has delivered its queued bytes */
    for (int i = 0; i < READERS; i += 2)
        (void)pthread_join(readers[i].thread, NULL);
    for (int i = 0; i < READERS; i++) {
        assert_memory_equal(readers[i].text, "retry: 1\n\n", 10);
        assert_int_equal(check_ids(&readers[i], i == 5 ? 3 : 1), EVENTS + 3);
        free(readers[i].text);
    }
    streams_stats_read(streams, &stats);
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.opened, READERS);
    end(f, streams);
}

/* The job is running, so a stream without `stored` would stay open. */
static void stream_of_stored_events_ends_after_them(void **state)
{
    struct fixture *f = *state;
    struct reader reader = {.piece = 100};
    char id[STORAGE_ID];
    struct streams *streams = make(f, 0, 0);
    submit_running(f, id);
    for (int i = 0; i < EVENTS; i++)
        OK(storage_event_append(f->storage, id, "note", "{}", &f->err));
    OK(storage_flush(f->storage, &f->err));
    only_stored = true;
    assert_non_null(open_for(streams, &reader, id, 0));
    only_stored = false;
    start(&reader);
    (void)pthread_join(reader.thread, NULL);
    assert_int_equal(check_ids(&reader, 1), EVENTS + 2);
    free(reader.text);
    end(f, streams);
}

static void open_streams_are_limited(void **state)
{
    struct fixture *f = *state;
    static struct reader readers[MOST + 1];
    struct streams *streams = make(f, 0, 0);
    struct streams_stats stats;
    for (int i = 0; i < MOST; i++)
        assert_non_null(open_for(streams, &readers[i], "", 0));
    assert_null(open_for(streams, &readers[MOST], "", 0));
    streams_close(readers[17].stream);
    assert_non_null(open_for(streams, &readers[17], "", 0));
    streams_stats_read(streams, &stats);
    assert_int_equal(stats.open, MOST);
    assert_int_equal(stats.refused, 1);
    for (int i = 0; i < MOST; i++)
        streams_close(readers[i].stream);
    streams_end(streams);
    assert_null(open_for(streams, &readers[0], "", 0)); /* no stream can be opened after streams_end() */
    end(f, streams);
}

static void one_caller_cannot_hold_all_streams(void **state)
{
    struct fixture *f = *state;
    static struct reader readers[6];
    struct streams *streams = NULL;
    assert_int_equal(streams_create(&(struct streams_options){.per_caller = 2}, &streams, &f->err), STATUS_OK);
    assert_non_null(open_for(streams, &readers[0], "", 0));
    assert_false(streams_caller_full(streams, caller));
    assert_non_null(open_for(streams, &readers[1], "", 0));
    assert_true(streams_caller_full(streams, caller));
    assert_null(open_for(streams, &readers[2], "", 0));
    caller = "token/other";
    assert_false(streams_caller_full(streams, caller));
    assert_non_null(open_for(streams, &readers[3], "", 0));
    caller = "token/one";
    streams_close(readers[0].stream);
    assert_non_null(open_for(streams, &readers[4], "", 0));
    streams_close(readers[1].stream);
    streams_close(readers[3].stream);
    streams_close(readers[4].stream);
    streams_end(streams);
    streams_destroy(streams);
}

static void quiet_streams_get_comments_and_stuck_ones_are_cut(void **state)
{
    struct fixture *f = *state;
    struct reader quiet = {.piece = 4096}, stuck = {.piece = 1};
    struct streams *streams = make(f, 50, 200);
    assert_non_null(open_for(streams, &quiet, "", 0));
    assert_non_null(open_for(streams, &stuck, "", 0)); /* a reader that takes nothing, not even the opening text */
    start(&quiet);
    struct streams_stats stats = {0};
    for (int i = 0; i < 6000 && stats.cut == 0; i++) {
        sleep_ms(10);
        streams_stats_read(streams, &stats);
    }
    assert_int_equal(stats.cut, 1);
    assert_true(stuck.cut);
    assert_false(quiet.cut);
    char byte;
    assert_int_equal(streams_take(stuck.stream, &byte, 1), -1);
    streams_close(stuck.stream);
    static const char opening[] = "retry: 1\n\n:\n\n:\n\n";
    for (int i = 0; i < 6000 && atomic_load(&quiet.received) < sizeof opening - 1; i++)
        sleep_ms(10);
    streams_end(streams);
    (void)pthread_join(quiet.thread, NULL);
    assert_memory_equal(quiet.text, opening, sizeof opening - 1);
    free(quiet.text);
    end(f, streams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(every_reader_gets_every_event_once), TEST_OPEN(stream_of_stored_events_ends_after_them),
        TEST_OPEN(open_streams_are_limited), TEST_OPEN(one_caller_cannot_hold_all_streams),
        TEST_OPEN(quiet_streams_get_comments_and_stuck_ones_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
