/* The thread that feeds event streams. It makes one pass at most every PACE_MS. A pass has these steps:
 *
 *   1. wait for new events, or for a suspended peer that disconnects
 *   2. queue events for each stream that may have more events and has space
 *   3. send heartbeats to quiet streams, and cut readers that take nothing
 *   4. wake the suspended streams that have queued bytes
 *
 * The lock guards the list and every stream in it. The thread does not hold the lock while it reads the database. It
 * marks the stream for which it reads as `held`, and streams_close() waits until this mark is removed. */
#include "server/http/streams.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "api/jobs/events.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/descriptor.h"

#define PACE_MS 20
#define ROWS 64   /* upper limit of the events that are read for one stream at a time */
#define CACHE 256 /* number of formatted events that are kept; a power of two */
#define HEARTBEAT_MS 15000
#define STALL_MS 60000
#define STREAMS 64

struct stream {
    struct streams *owner;
    struct stream *next, *previous;
    struct stream_line line;
    char caller[STREAM_CALLER];
    char job[STORAGE_ID]; /* id of the job whose events the stream sends; "": all jobs */
    struct viewer viewer; /* the stream sends only events of jobs that the viewer may see */
    int64_t after;        /* id of the last event that was queued */
    struct buf queue;
    size_t taken; /* bytes of the queue that streams_take() has returned */
    bool more;    /* storage may have events after `after` */
    bool stored;  /* the stream ends when storage has no events after `after` */
    bool ended;   /* no more events are queued: the stream ends after the queued bytes */
    bool gone;    /* the peer disconnected, or the stream was cut */
    bool suspended, held;
    bool fed;                    /* this pass has already fed the stream */
    int64_t taken_at, queued_at; /* monotonic ms; taken_at: begin of the reader's time limit, which streams_take()
                                    renews; queued_at: last queued bytes */
};

struct written { /* a formatted event */
    int64_t id;
    char *text;
    size_t bytes;
};

struct streams {
    struct streams_options options;
    struct storage *storage;
    int notice; /* an eventfd that wakes the thread */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t released; /* signalled when a stream is no longer held */
    struct stream *first;
    int count;
    bool ending;
    atomic_bool news; /* storage has committed events that the thread has not read */
    struct streams_stats stats;
    struct pollfd *polled;       /* [1 + options.most]; only the thread uses it */
    struct written cache[CACHE]; /* only the thread uses it */
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void stir(struct streams *streams)
{
    uint64_t one = 1;
    ssize_t written =
        write(streams->notice, &one, sizeof one); /* fails only if the counter is full: the thread wakes anyway */
    (void)written;
}

static size_t waiting(const struct stream *stream)
{
    return stream->queue.size - stream->taken;
}

static bool has_room(const struct stream *stream)
{
    return waiting(stream) < STREAM_BYTES / 2;
}

/* ---- the thread: feeding ------------------------------------------------------------------------------ */

static void queue_bytes(struct stream *stream, const char *bytes, size_t count, int64_t now)
{
    if (waiting(stream) == 0)
        stream->taken_at = now; /* the time limit of the reader starts here */
    if (stream->taken >= STREAM_BYTES / 2) {
        stream->queue.size -= stream->taken;
        memmove(stream->queue.data, stream->queue.data + stream->taken, stream->queue.size);
        stream->taken = 0;
    }
    buf_append(&stream->queue, bytes, count);
    stream->queued_at = now;
    if (stream->queue.failed) /* out of memory: the stream ends, and the client reconnects */
        stream->ended = true;
}

/* Returns the text of an event. The cache keeps texts, so that an event that several streams need is formatted once.
 * Returns NULL if the event cannot be read or if there is not enough memory. */
static const struct written *written_of(struct streams *streams, const struct storage_event *event, struct error *err)
{
    struct written *place = &streams->cache[(uint64_t)event->id & (CACHE - 1)];
    if (place->id == event->id)
        return place;
    struct arena arena;
    struct buf out;
    arena_init(&arena, 1 << 16, 0);
    buf_init(&out, EVENT_BYTES_MAX);
    enum status status = event_write(streams->storage, event, &arena, &out, err);
    arena_close(&arena);
    free(place->text);
    *place = (struct written){0};
    if (!status && (place->text = buf_take(&out, &place->bytes)) != NULL) {
        place->id = event->id;
        return place;
    }
    buf_close(&out);
    return NULL;
}

/* Queues events for a stream, as many as its buffer has space for. */
static void queue_events(struct streams *streams, struct stream *stream, const struct storage_event *events,
                         size_t count, int64_t now)
{
    struct error err = {0};
    for (size_t i = 0; i < count && !stream->ended; i++) {
        const struct written *text = written_of(streams, &events[i], &err);
        (void)pthread_mutex_lock(&streams->lock);
        bool room = waiting(stream) < STREAM_BYTES;
        if (text == NULL) {
            stream->ended = true; /* the client reconnects after its last event */
        } else if (room) {
            queue_bytes(stream, text->text, text->bytes, now);
            stream->after = events[i].id;
            stream->ended = stream->ended || (stream->job[0] != '\0' && event_is_last(&events[i]));
            streams->stats.events++;
        }
        (void)pthread_mutex_unlock(&streams->lock);
        if (!room)
            return;
    }
    if (count < ROWS) {
        (void)pthread_mutex_lock(&streams->lock);
        stream->more = false; /* nothing to read until storage reports new events */
        stream->ended = stream->ended || stream->stored;
        (void)pthread_mutex_unlock(&streams->lock);
    }
}

static void feed(struct streams *streams, struct stream *stream, struct arena *arena, int64_t now)
{
    struct storage_event *events;
    struct error err = {0};
    size_t count = 0;
    int64_t newest = 0;
    bool all = stream->job[0] == '\0';
    enum status status = all ? storage_event_newest(streams->storage, &newest, &err) : STATUS_OK;
    if (!status)
        status = storage_event_read(streams->storage, all ? NULL : stream->job, &stream->viewer, stream->after, ROWS,
                                    arena, &events, &count, &err);
    if (!status) {
        queue_events(streams, stream, events, count, now);
        if (count == 0 && newest > stream->after)
            stream->after = newest; /* the next pass need not skip the events of jobs that the viewer may not see */
    } else {
        (void)pthread_mutex_lock(&streams->lock);
        stream->ended = true; /* the job was deleted, or the database cannot be read */
        (void)pthread_mutex_unlock(&streams->lock);
    }
    arena_reset(arena);
}

static bool is_hungry(const struct stream *stream)
{
    return stream->more && has_room(stream) && !stream->ended && !stream->gone;
}

/* Returns the next stream that this pass has not fed yet and that needs events, and marks it as held; NULL: there is
 * none. */
static struct stream *hold_next(struct streams *streams)
{
    (void)pthread_mutex_lock(&streams->lock);
    struct stream *stream = streams->first;
    while (stream != NULL && (stream->fed || !is_hungry(stream)))
        stream = stream->next;
    if (stream != NULL) {
        stream->held = true;
        stream->fed = true;
    }
    (void)pthread_mutex_unlock(&streams->lock);
    return stream;
}

static void streams_release(struct streams *streams, struct stream *stream)
{
    (void)pthread_mutex_lock(&streams->lock);
    stream->held = false;
    (void)pthread_cond_broadcast(&streams->released);
    (void)pthread_mutex_unlock(&streams->lock);
}

/* ---- the thread: everything else ---------------------------------------------------------------------- */

static bool peer_is_gone(int fd)
{
    struct pollfd peer = {.fd = fd, .events = POLLRDHUP};
    return fd >= 0 && poll(&peer, 1, 0) == 1;
}

static void wake_suspended(struct stream *stream)
{
    if (stream->suspended && (waiting(stream) > 0 || stream->ended || stream->gone || stream->owner->ending)) {
        stream->suspended = false;
        stream->line.wake(stream->line.context);
    }
}

static void look_after(struct streams *streams, struct stream *stream, int64_t now)
{
    if (stream->suspended && !stream->gone && peer_is_gone(stream->line.fd)) {
        stream->gone = true;
    } else if (waiting(stream) == 0 && !stream->ended && now - stream->queued_at >= streams->options.heartbeat_ms) {
        queue_bytes(stream, ":\n\n", 3, now);
    } else if (waiting(stream) > 0 && !stream->gone && now - stream->taken_at >= streams->options.stall_ms) {
        stream->gone = true;
        streams->stats.cut++;
        stream->line.cut(stream->line.context);
    }
    wake_suspended(stream);
}

/* Sleeps until events are committed, a suspended peer disconnects or a deadline is near. Does not sleep while a stream
 * has space and may have more events. */
static void sleep_until_work(struct streams *streams)
{
    struct pollfd *set = streams->polled;
    nfds_t count = 1;
    set[0] = (struct pollfd){.fd = streams->notice, .events = POLLIN};
    int64_t tick = streams->options.heartbeat_ms / 4;
    bool hungry = false;
    (void)pthread_mutex_lock(&streams->lock);
    int timeout = streams->count == 0 ? -1 : tick < 1000 ? (int)tick : 1000;
    for (struct stream *stream = streams->first; stream != NULL; stream = stream->next) {
        hungry = hungry || is_hungry(stream);
        if (stream->suspended && !stream->gone && stream->line.fd >= 0)
            set[count++] = (struct pollfd){.fd = stream->line.fd, .events = POLLRDHUP};
    }
    (void)pthread_mutex_unlock(&streams->lock);
    if (hungry)
        return;
    (void)poll(set, count, timeout);
    uint64_t notices;
    ssize_t got = read(streams->notice, &notices, sizeof notices);
    (void)got;
    (void)poll(NULL, 0, PACE_MS); /* waits, so that one pass handles many commits */
}

static bool streams_pass(struct streams *streams, struct arena *arena)
{
    int64_t now = now_ms();
    bool news = atomic_exchange(&streams->news, false);
    (void)pthread_mutex_lock(&streams->lock);
    bool ending = streams->ending; /* true: this is the last pass; read before the queries, so that the queries of
                                      the last pass find all events */
    for (struct stream *stream = streams->first; stream != NULL; stream = stream->next) {
        stream->more = stream->more || news || ending;
        stream->fed = false;
    }
    (void)pthread_mutex_unlock(&streams->lock);
    for (struct stream *stream; (stream = hold_next(streams)) != NULL;) {
        feed(streams, stream, arena, now);
        streams_release(streams, stream);
    }
    (void)pthread_mutex_lock(&streams->lock);
    for (struct stream *stream = streams->first; stream != NULL; stream = stream->next) {
        stream->ended = stream->ended || ending;
        look_after(streams, stream, now);
    }
    (void)pthread_mutex_unlock(&streams->lock);
    return !ending;
}

static void *streams_run(void *context)
{
    struct streams *streams = context;
    struct arena arena;
    arena_init(&arena, 1 << 16, 0);
    while (streams_pass(streams, &arena))
        sleep_until_work(streams);
    arena_close(&arena);
    return NULL;
}

/* ---- create, start, end, destroy ----------------------------------------------------------------------- */

enum status streams_create(const struct streams_options *options, struct streams **streams, struct error *err)
{
    struct streams *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_memory(err, "event streams");
    made->options = *options;
    made->options.heartbeat_ms = options->heartbeat_ms > 0 ? options->heartbeat_ms : HEARTBEAT_MS;
    made->options.stall_ms = options->stall_ms > 0 ? options->stall_ms : STALL_MS;
    made->options.most = options->most > 0 ? options->most : STREAMS;
    made->options.per_caller = options->per_caller > 0 ? options->per_caller : made->options.most;
    made->polled = calloc(1 + (size_t)made->options.most, sizeof *made->polled);
    if (made->polled == NULL) {
        free(made);
        return error_memory(err, "event streams");
    }
    made->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->notice < 0) {
        free(made->polled);
        free(made);
        return error_set(err, STATUS_UNAVAILABLE, NULL, "no descriptor for event streams");
    }
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->released, NULL);
    *streams = made;
    return STATUS_OK;
}

enum status streams_start(struct streams *streams, struct storage *storage, struct error *err)
{
    streams->storage = storage;
    if (pthread_create(&streams->thread, NULL, streams_run, streams) != 0)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "no thread for event streams");
    streams->started = true;
    return STATUS_OK;
}

void streams_notify(struct streams *streams)
{
    atomic_store(&streams->news, true);
    stir(streams);
}

void streams_end(struct streams *streams)
{
    (void)pthread_mutex_lock(&streams->lock);
    streams->ending = true;
    (void)pthread_mutex_unlock(&streams->lock);
    stir(streams);
    if (streams->started) {
        (void)pthread_join(streams->thread, NULL);
        streams->started = false;
    }
}

void streams_destroy(struct streams *streams)
{
    if (streams == NULL)
        return;
    for (size_t i = 0; i < CACHE; i++)
        free(streams->cache[i].text);
    (void)pthread_cond_destroy(&streams->released);
    (void)pthread_mutex_destroy(&streams->lock);
    descriptor_close(&streams->notice);
    free(streams->polled);
    free(streams);
}

/* ---- a connection's side --------------------------------------------------------------------------------- */

/* True if a caller has as many open streams as it may have. The caller of this function holds the lock. */
static bool caller_full(const struct streams *streams, const char *caller)
{
    int open = 0;
    for (const struct stream *stream = streams->first; stream != NULL; stream = stream->next)
        open += strncmp(stream->caller, caller, STREAM_CALLER - 1) == 0;
    return open >= streams->options.per_caller;
}

bool streams_caller_full(struct streams *streams, const char *caller)
{
    (void)pthread_mutex_lock(&streams->lock);
    bool full = caller_full(streams, caller);
    (void)pthread_mutex_unlock(&streams->lock);
    return full;
}

struct stream *streams_open(struct streams *streams, const struct stream_line *line, const char *job, int64_t after,
                            bool stored, const char *opening, size_t bytes)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->owner = streams;
    stream->line = *line;
    stream->viewer = line->viewer != NULL ? *line->viewer : (struct viewer){.sees = VIEWER_SEES_ALL};
    stream->after = after;
    stream->more = true;
    stream->stored = stored;
    (void)snprintf(stream->caller, sizeof stream->caller, "%s", line->caller);
    (void)snprintf(stream->job, sizeof stream->job, "%s", job);
    buf_init(&stream->queue, 2 * STREAM_BYTES + EVENT_BYTES_MAX);
    queue_bytes(stream, opening, bytes, now_ms());
    (void)pthread_mutex_lock(&streams->lock);
    bool room = streams->count < streams->options.most && !caller_full(streams, stream->caller) && !streams->ending;
    if (room) {
        stream->next = streams->first;
        if (streams->first != NULL)
            streams->first->previous = stream;
        streams->first = stream;
        streams->count++;
        streams->stats.opened++;
    } else {
        streams->stats.refused++;
    }
    (void)pthread_mutex_unlock(&streams->lock);
    if (!room) {
        buf_close(&stream->queue);
        free(stream);
        return NULL;
    }
    stir(streams);
    return stream;
}

ptrdiff_t streams_take(struct stream *stream, void *to, size_t count)
{
    struct streams *streams = stream->owner;
    ptrdiff_t got = -1;
    bool want = false;
    (void)pthread_mutex_lock(&streams->lock);
    size_t there = waiting(stream);
    if (there > 0 && !stream->gone) {
        bool had_room = has_room(stream);
        got = (ptrdiff_t)(there < count ? there : count);
        memcpy(to, stream->queue.data + stream->taken, (size_t)got);
        stream->taken += (size_t)got;
        stream->taken_at = now_ms();
        if (waiting(stream) == 0) {
            buf_clear(&stream->queue);
            stream->taken = 0;
        }
        want = stream->more && !had_room && has_room(stream);
    } else if (!stream->ended && !stream->gone) {
        got = 0;
        stream->suspended = true;
        want = stream->line.fd >= 0; /* wakes the thread, because it must poll this descriptor from now on */
        stream->line.suspend(stream->line.context);
    }
    (void)pthread_mutex_unlock(&streams->lock);
    if (want)
        stir(streams);
    return got;
}

void streams_close(struct stream *stream)
{
    if (stream == NULL)
        return;
    struct streams *streams = stream->owner;
    (void)pthread_mutex_lock(&streams->lock);
    while (stream->held)
        (void)pthread_cond_wait(&streams->released, &streams->lock);
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        streams->first = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    streams->count--;
    (void)pthread_mutex_unlock(&streams->lock);
    buf_close(&stream->queue);
    free(stream);
}

void streams_stats_read(struct streams *streams, struct streams_stats *out)
{
    (void)pthread_mutex_lock(&streams->lock);
    *out = streams->stats;
    out->open = streams->count;
    (void)pthread_mutex_unlock(&streams->lock);
}
